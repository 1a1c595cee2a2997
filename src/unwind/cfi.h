/* .eh_frame and .eh_frame_hdr: from an address to the row of rules that restores its caller's registers.
 *
 * Everything here reads only inside the module's window and inside the record it is in, whatever the bytes say, does a
 * bounded amount of work and is async-signal-safe. Functions return 0 or more on success, or -(enum unwind_end). */
#ifndef LAM_UNWIND_CFI_H
#define LAM_UNWIND_CFI_H

#include "unwind/cfi_cursor.h"
#include "unwind/module.h"
#include "unwind/regs.h"

/* Why a stack ended; also, negated, the error of every function of the unwinder. */
enum unwind_end {
    UNWIND_ROOT = 0,      /* the thread's first function: its return address is undefined or null */
    UNWIND_NO_MODULE,     /* no module holds the address */
    UNWIND_NO_RULE,       /* its module says nothing about the address */
    UNWIND_UNREADABLE,    /* memory the rule names cannot be read */
    UNWIND_DEEP,          /* more frames than there is room for */
    UNWIND_BAD_CFI,       /* damaged tables, or a form that no compiler makes */
    UNWIND_LOOP,          /* the same frame twice */
    UNWIND_LOST_REGISTER, /* the rule needs a register that is not known any more */
    UNWIND_END_COUNT
};

/* What one frame description says, decoded. Pointers point into the module's window. */
struct cfi_fde {
    uint64_t pc_begin, pc_end;
    struct cfi_cursor cie_code, fde_code;
    const struct unwind_module *module; /* the caller's, alive as long as this */
    uint64_t code_align;
    int64_t data_align;
    uint8_t ra_column;
    uint8_t encoding;      /* DW_EH_PE_* of code addresses */
    bool has_augmentation; /* frame descriptions carry a length of data to skip */
    bool signal;           /* augmentation S: the frame below was interrupted, not called */
};

/* Finds the description of pc by the table of .eh_frame_hdr, or by a walk of at most walk_limit records where there is
 * no table. -UNWIND_NO_RULE when none covers pc. */
int cfi_find_fde(const struct unwind_module *module, uint64_t pc, uint32_t walk_limit,
                 struct cfi_fde *out);

/* No description begins between a and b: code without rules that is one piece. Also true where there is no table. */
bool cfi_same_gap(const struct unwind_module *module, uint64_t a, uint64_t b);

/* One record of .eh_frame at *addr; moves *addr to the next. 1 and *out for a frame description, 0 for a common
 * information record, -UNWIND_NO_RULE at the end of the section. */
int cfi_next_record(const struct unwind_module *module, uint64_t *addr, struct cfi_fde *out);

/* Where .eh_frame begins: the module's eh_frame_addr or what .eh_frame_hdr says. */
int cfi_eh_frame_start(const struct unwind_module *module, uint64_t *addr);

enum cfi_how {
    CFI_UNSPECIFIED = 0, /* as the calling convention has it: taken as unchanged */
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_OFFSET,     /* saved at CFA + offset; for the CFA itself: register + offset */
    CFI_VAL_OFFSET, /* is CFA + offset */
    CFI_REGISTER,   /* is in another register */
    CFI_EXPRESSION, /* saved at what an expression computes; for the CFA itself: is what it computes */
    CFI_VAL_EXPRESSION, /* is what an expression computes */
};

struct cfi_rule {
    uint8_t how;    /* enum cfi_how */
    uint8_t reg;    /* CFI_REGISTER, and the CFA's */
    uint16_t size;  /* of an expression */
    int32_t offset; /* in bytes; of an expression: from the window's start, unsigned */
};

struct cfi_row {
    struct cfi_rule cfa;
    struct cfi_rule columns[UNWIND_COLUMNS];
};

enum { CFI_REMEMBER_MAX = 8 };

/* The program of a frame description being run; 2.9 KiB, so it lives in the caller's scratch and not on a stack. */
struct cfi_program {
    const struct cfi_fde *fde;
    struct cfi_cursor code;
    uint64_t row_begin, row_end; /* the row in force covers [row_begin, row_end) */
    uint64_t next_begin;
    uint32_t instructions_left;
    uint8_t depth;
    bool done;
    struct cfi_row row, initial;
    struct cfi_row remembered[CFI_REMEMBER_MAX];
};

/* Runs the common part. fde is used until the last call of cfi_program_row(). */
int cfi_program_start(struct cfi_program *program, const struct cfi_fde *fde);

/* Goes on to the next row: 1 and program->row for [row_begin, row_end), 0 when there are no more. */
int cfi_program_row(struct cfi_program *program);

/* The row in force at pc, left in program->row. */
int cfi_program_run(struct cfi_program *program, const struct cfi_fde *fde, uint64_t pc);

/* An encoded pointer, DW_EH_PE_*. cur must read inside the module's window. -UNWIND_BAD_CFI for forms that say
 * "indirect" or name a base that does not exist here. */
int cfi_pointer(const struct unwind_module *module, struct cfi_cursor *cur, uint8_t encoding,
                uint64_t *out);

#endif
