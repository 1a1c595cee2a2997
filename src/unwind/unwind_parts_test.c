/* The pieces by themselves, on bytes written by hand: numbers, records, programs, expressions, rules, call sites. */
#include "unwind/unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- a module whose window is assembled here --- */

enum { BASE = 0x400000 };

static uint8_t window[4096];
static size_t window_size;
static struct unwind_module module;

static void start_window(void)
{
    window_size = 0;
    module = (struct unwind_module){.start = BASE,
                                    .end = BASE + 0x100000,
                                    .bytes = window,
                                    .bytes_addr = BASE,
                                    .eh_frame_addr = BASE};
}

static void put(const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(window + window_size, bytes, size);
    window_size += size;
    module.bytes_size = window_size;
}

static void put_u8(unsigned value)
{
    uint8_t byte = (uint8_t)value;
    put(&byte, 1);
}

static void put_u32(uint64_t value)
{
    uint32_t word = (uint32_t)value;
    put(&word, 4);
}

/* A record: returns where its length is, to be closed by end_record(). */
static size_t begin_record(void)
{
    put_u32(0);
    return window_size - 4;
}

static void end_record(size_t at)
{
    while (window_size % 4 != 0)
        put_u8(0);
    uint32_t size = (uint32_t)(window_size - at - 4);
    memcpy(window + at, &size, 4);
}

/* zR, absolute 4-byte addresses, code alignment 1, data alignment -8. */
static size_t put_cie(const char *letters, const uint8_t *program, size_t size)
{
    size_t at = begin_record();
    put_u32(0);
    put_u8(1);
    put(letters, strlen(letters) + 1);
    put_u8(1);
    put_u8(0x78);
    put_u8(16);
    if (strcmp(letters, "zR") == 0) {
        put_u8(1);
        put_u8(0x03);
    } else if (strcmp(letters, "zPLRS") == 0) {
        put_u8(7);
        put_u8(0x03); /* personality: 4 bytes */
        put_u32(0x1234);
        put_u8(0x03); /* language data */
        put_u8(0x03); /* addresses */
    } else if (letters[0] == 'z') {
        put_u8(0);
    }
    put(program, size);
    end_record(at);
    return at;
}

static void put_fde(size_t cie, uint64_t begin, uint64_t length, const uint8_t *program, size_t size)
{
    size_t at = begin_record();
    put_u32(window_size - cie);
    put_u32(begin);
    put_u32(length);
    put_u8(0);
    put(program, size);
    end_record(at);
}

static const uint8_t cie_program[] = {0x0c, 7, 8, 0x90, 1}; /* def_cfa rsp+8; RA at CFA-8 */

static int row_at(uint64_t pc, struct cfi_program *program)
{
    static struct cfi_fde fde;
    int rc = cfi_find_fde(&module, pc, 100, &fde);
    return rc < 0 ? rc : cfi_program_run(program, &fde, pc);
}

static struct cfi_program program;

static void rows_follow_the_program(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x41, 0x0e, 16,   0x86, 2,                /* +1: CFA 16, rbp at CFA-16 */
        0x43, 0x0d, 6,                            /* +4: CFA from rbp */
        0x0a, 0x02, 100,  0x0c, 7,    8,    0xc6, /* +104: remembered; CFA rsp+8, rbp restored */
        0x03, 0x00, 0x01, 0x0b,                   /* +360: as remembered */
        0x04, 0x00, 0x10, 0x00, 0x00, 0x07, 16,   /* +4456: RA undefined */
    };
    start_window();
    put_fde(put_cie("zR", cie_program, sizeof cie_program), 0x1000, 0x2000, code, sizeof code);
    const struct cfi_row *row = &program.row;
    assert_int_equal(row_at(0x1000, &program), 0);
    assert_int_equal(row->cfa.offset, 8);
    assert_int_equal(row_at(0x1003, &program), 0);
    assert_int_equal(row->cfa.reg, 7);
    assert_int_equal(row->cfa.offset, 16);
    assert_int_equal(row->columns[6].offset, -16);
    assert_int_equal(row_at(0x1004, &program), 0);
    assert_int_equal(row->cfa.reg, 6);
    assert_int_equal(row_at(0x1000 + 104, &program), 0);
    assert_int_equal(row->columns[6].how, CFI_UNSPECIFIED);
    assert_int_equal(row->cfa.reg, 7);
    assert_int_equal(row_at(0x1000 + 360, &program), 0);
    assert_int_equal(row->cfa.reg, 6);
    assert_int_equal(row_at(0x1000 + 4455, &program), 0);
    assert_int_equal(row->columns[16].how, CFI_OFFSET);
    assert_int_equal(row_at(0x1000 + 4456, &program), 0);
    assert_int_equal(row->columns[16].how, CFI_UNDEFINED);
    assert_int_equal(row_at(0xfff, &program), -UNWIND_NO_RULE);
    assert_int_equal(row_at(0x3000, &program), -UNWIND_NO_RULE);
}

static void every_register_rule(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x05, 3,    4,          /* offset_extended: rbx at CFA-32 */
        0x11, 12,   0x7b,       /* offset_extended_sf: r12 at CFA+40 */
        0x14, 13,   2,          /* val_offset */
        0x15, 14,   0x7f,       /* val_offset_sf */
        0x09, 15,   11,         /* register */
        0x08, 6,                /* same_value */
        0x2f, 1,    2,          /* GNU_negative_offset_extended: at CFA+16 */
        0x2e, 0x90, 0x01,       /* GNU_args_size */
        0x2d,                   /* AARCH64_negate_ra_state */
        0x12, 3,    0x7e,       /* def_cfa_sf: rbx+16 */
        0x13, 0x7d,             /* def_cfa_offset_sf: 24 */
        0x07, 0x92, 0x02,       /* undefined of a column nobody keeps */
        0x10, 2,    1,    0x30, /* expression */
        0x16, 4,    1,    0x31, /* val_expression */
    };
    start_window();
    put_fde(put_cie("zPLRS", cie_program, sizeof cie_program), 0x1000, 0x10, code, sizeof code);
    struct cfi_fde fde;
    assert_int_equal(cfi_find_fde(&module, 0x1000, 100, &fde), 0);
    assert_true(fde.signal);
    assert_int_equal(row_at(0x1000, &program), 0);
    const struct cfi_rule *columns = program.row.columns;
    static const struct {
        unsigned column, how;
        int offset;
    } expected[] = {
        {3, CFI_OFFSET, -32},    {12, CFI_OFFSET, 40},  {13, CFI_VAL_OFFSET, -16},
        {14, CFI_VAL_OFFSET, 8}, {15, CFI_REGISTER, 0}, {6, CFI_SAME, 0},
        {1, CFI_OFFSET, 16},     {16, CFI_OFFSET, -8},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(columns[expected[i].column].how, expected[i].how);
        assert_int_equal(columns[expected[i].column].offset, expected[i].offset);
    }
    assert_int_equal(columns[15].reg, 11);
    assert_int_equal(columns[2].how, CFI_EXPRESSION);
    assert_int_equal(columns[4].how, CFI_VAL_EXPRESSION);
    assert_int_equal(program.row.cfa.reg, 3);
    assert_int_equal(program.row.cfa.offset, 24);
}

/* Each breaks one thing; all must be refused as damage and none crash. */
static void damaged_records_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint8_t code[12];
        size_t size;
    } programs[] = {
        {"unknown operation", {0x17}, 1},
        {"restore_state without remember_state", {0x0b}, 1},
        {"cut operand", {0x0c, 7, 0x80}, 3},
        {"expression longer than the record", {0x0f, 0x7f}, 2},
        {"register out of range", {0x0c, 40, 8}, 3},
        {"offset out of range", {0x05, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 8},
        {"number without end",
         {0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
         12},
        {"nine remember_state", {0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a}, 9},
        {"def_cfa_offset after an expression", {0x0f, 1, 0x30, 0x0e, 8}, 5},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        start_window();
        put_fde(put_cie("zR", cie_program, sizeof cie_program), 0x1000, 0x10, programs[i].code,
                programs[i].size);
        int rc = row_at(0x1000, &program);
        if (rc != -UNWIND_BAD_CFI)
            fail_msg("%s: %d", programs[i].what, rc);
    }
    /* The whole section cut at every byte: an answer or a refusal. */
    start_window();
    put_fde(put_cie("zPLRS", cie_program, sizeof cie_program), 0x1000, 0x10, cie_program,
            sizeof cie_program);
    size_t whole = window_size;
    for (size_t cut = 0; cut < whole; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, window, cut);
        module.bytes = part;
        module.bytes_size = cut;
        assert_true(row_at(0x1000, &program) < 0);
        free(part);
    }
    start_window();
    put_fde(put_cie("eh", cie_program, sizeof cie_program), 0x1000, 0x10, NULL, 0);
    assert_int_equal(row_at(0x1000, &program), -UNWIND_BAD_CFI);
}

static void put_hdr(unsigned table_encoding, uint64_t count, uint64_t eh_frame)
{
    put_u8(1);
    put_u8(0x3b);
    put_u8(0x03);
    put_u8(table_encoding);
    put_u32(eh_frame);
    put_u32(count);
}

/* A search table of three; then the same without a table that we read, by a walk; then damaged ones. */
static void search_tables(void **state)
{
    (void)state;
    struct cfi_fde fde;
    static const uint64_t begins[] = {0x401000, 0x401100, 0x402000};
    for (unsigned encoding = 0; encoding < 2; encoding++) {
        start_window();
        size_t frame_at = 12 + 3 * 8, places[3];
        put_hdr(encoding == 0 ? 0x3b : 0x1b, 3, frame_at);
        for (int i = 0; i < 6; i++)
            put_u32(0);
        size_t cie = put_cie("zR", cie_program, sizeof cie_program);
        for (int i = 0; i < 3; i++) {
            places[i] = window_size;
            put_fde(cie, begins[i], 0x80, NULL, 0);
        }
        put_u32(0);
        for (int i = 0; i < 3; i++) {
            uint32_t entry[2] = {(uint32_t)(begins[i] - BASE), (uint32_t)places[i]};
            memcpy(window + 12 + 8 * i, entry, 8);
        }
        module.eh_frame_addr = 0;
        module.hdr_addr = BASE;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(cfi_find_fde(&module, begins[i], 100, &fde), 0);
            assert_int_equal(fde.pc_begin, begins[i]);
            assert_int_equal(cfi_find_fde(&module, begins[i] + 0x7f, 100, &fde), 0);
            assert_int_equal(cfi_find_fde(&module, begins[i] + 0x80, 100, &fde), -UNWIND_NO_RULE);
        }
        assert_int_equal(cfi_find_fde(&module, begins[0] - 1, 100, &fde), -UNWIND_NO_RULE);
        /* A walk is bounded: the common part and one description. */
        assert_int_equal(cfi_find_fde(&module, begins[2], 2, &fde),
                         encoding == 0 ? 0 : -UNWIND_NO_RULE);
        uint64_t first_end = begins[0] + 0x80;
        if (encoding == 0) {
            assert_true(cfi_same_gap(&module, first_end, begins[1] - 1));
            assert_false(cfi_same_gap(&module, first_end, begins[1] + 0x90));
        }
        window[8] = 200; /* more entries than there are bytes */
        int rc = cfi_find_fde(&module, begins[0], 100, &fde);
        assert_int_equal(rc, encoding == 0 ? -UNWIND_BAD_CFI : 0);
        window[0] = 2; /* a version nobody knows */
        assert_int_equal(cfi_find_fde(&module, begins[0], 100, &fde), -UNWIND_BAD_CFI);
    }
}

/* --- expressions --- */

static int read_test_word(void *ctx, uint64_t addr, uint64_t *out)
{
    (void)ctx;
    *out = addr * 3;
    return addr < 0x1000 ? -1 : 0;
}

static void expressions(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint8_t code[16];
        uint32_t size;
        int rc;
        uint64_t value;
    } rows[] = {
        {"literal", {0x35}, 1, 0, 5},
        {"negative constant", {0x09, 0xff}, 2, 0, UINT64_MAX},
        {"constant of 2 bytes", {0x0a, 0x34, 0x12}, 3, 0, 0x1234},
        {"constant of 8 bytes", {0x0e, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 0, 0x0807060504030201},
        {"constu, consts", {0x10, 0x80, 1, 0x11, 0x7f, 0x22}, 6, 0, 127},
        {"register", {0x77, 0x10}, 2, 0, 0x7010},
        {"bregx", {0x92, 3, 0x7f}, 3, 0, 0x2fff},
        {"pc", {0x80, 1}, 2, 0, 0x5001},
        {"word", {0x77, 0, 0x06}, 3, 0, 0x7000 * 3},
        {"two bytes", {0x77, 0, 0x94, 2}, 4, 0, 0x7000 * 3 & 0xffff},
        {"no memory", {0x31, 0x06}, 2, -UNWIND_UNREADABLE, 0},
        {"lost register", {0x7b, 0}, 2, -UNWIND_LOST_REGISTER, 0},
        {"dup, mul", {0x33, 0x12, 0x1e}, 3, 0, 9},
        {"drop", {0x33, 0x34, 0x13}, 3, 0, 3},
        {"over, minus", {0x39, 0x32, 0x14, 0x1c}, 4, 0, (uint64_t)-7},
        {"pick", {0x31, 0x32, 0x33, 0x15, 2}, 5, 0, 1},
        {"swap, minus", {0x39, 0x32, 0x16, 0x1c}, 4, 0, (uint64_t)-7},
        {"rot", {0x31, 0x32, 0x33, 0x17}, 4, 0, 2},
        {"neg, abs, not", {0x33, 0x1f, 0x19, 0x20}, 4, 0, ~(uint64_t)3},
        {"div, mod", {0x11, 0x78, 0x32, 0x1b, 0x33, 0x1d}, 6, 0, (uint64_t)-4 % 3},
        {"division by zero", {0x31, 0x30, 0x1b}, 3, -UNWIND_BAD_CFI, 0},
        {"and, or, xor", {0x3e, 0x37, 0x1a, 0x31, 0x21, 0x33, 0x27}, 7, 0, 4},
        {"shifts", {0x11, 0x70, 0x32, 0x26, 0x34, 0x24}, 6, 0, (uint64_t)-64},
        {"shift by 64", {0x31, 0x08, 64, 0x24}, 4, 0, 0},
        {"comparison", {0x11, 0x7f, 0x31, 0x2d}, 4, 0, 1},
        {"branch taken", {0x31, 0x31, 0x28, 1, 0, 0x35, 0x36}, 7, 0, 6},
        {"branch not taken", {0x31, 0x30, 0x28, 1, 0, 0x35}, 6, 0, 5},
        {"endless loop", {0x31, 0x2f, 0xfc, 0xff}, 4, -UNWIND_BAD_CFI, 0},
        {"jump out", {0x2f, 0x40, 0}, 3, -UNWIND_BAD_CFI, 0},
        {"empty stack", {0x22}, 1, -UNWIND_BAD_CFI, 0},
        {"nothing left", {0x31, 0x13}, 2, -UNWIND_BAD_CFI, 0},
        {"unknown operation", {0xf0}, 1, -UNWIND_BAD_CFI, 0},
        {"cut", {0x0c, 1, 2}, 3, -UNWIND_BAD_CFI, 0},
        {"plt", {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 11, 0, 0x7008},
    };
    struct unwind_memory memory = {.read_word = read_test_word};
    struct unwind_regs regs = {.pc = 0x5000, .valid = 1u << 7 | 1u << 3};
    regs.r[7] = 0x7000;
    regs.r[3] = 0x3000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct expression expression = {.arch = &unwind_x86_64,
                                        .regs = &regs,
                                        .memory = &memory,
                                        .code = rows[i].code,
                                        .size = rows[i].size};
        uint64_t value = 0;
        int rc = expression_run(&expression, &value);
        if (rc != rows[i].rc || value != rows[i].value)
            fail_msg("%s: %d, %llx", rows[i].what, rc, (unsigned long long)value);
    }
    /* A stack that grows for ever. */
    uint8_t grow[EXPRESSION_DEPTH + 1];
    memset(grow, 0x31, sizeof grow);
    struct expression expression = {
        .arch = &unwind_x86_64, .regs = &regs, .memory = &memory, .code = grow, .size = sizeof grow};
    uint64_t value;
    assert_int_equal(expression_run(&expression, &value), -UNWIND_BAD_CFI);
    expression.size--;
    assert_int_equal(expression_run(&expression, &value), 0);
}

/* What expression_form() says must be what expression_run() computes. */
static void simple_expressions(void **state)
{
    (void)state;
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    static const uint8_t realigned[] = {0x76, 0x78, 0x06};
    static const uint8_t masked[] = {0x77, 0, 0x3f, 0x1a};
    struct expression_form form;
    for (uint64_t pc = 0x1000; pc < 0x1010; pc++) {
        assert_int_equal(expression_form(&unwind_x86_64, plt, sizeof plt, &pc, &form), 0);
        assert_int_equal(form.reg, 7);
        assert_false(form.deref);
        assert_int_equal(form.offset, pc % 16 >= 11 ? 16 : 8);
    }
    assert_int_equal(expression_form(&unwind_x86_64, plt, sizeof plt, NULL, &form), -1);
    assert_int_equal(expression_form(&unwind_x86_64, realigned, sizeof realigned, NULL, &form), 0);
    assert_true(form.deref && form.reg == 6 && form.offset == -8);
    assert_int_equal(expression_form(&unwind_x86_64, masked, sizeof masked, NULL, &form), -1);
    assert_int_equal(expression_form(&unwind_x86_64, masked, 1, NULL, &form), -1);
    assert_int_equal(expression_form(&unwind_x86_64, masked, 0, NULL, &form), -1);
}

static void compact_rules(void **state)
{
    (void)state;
    struct cfi_fde fde = {.module = &module, .ra_column = 16};
    static struct cfi_row row;
    memset(&row, 0, sizeof row);
    for (int64_t offset = -(1 << 22); offset <= 1 << 22; offset += 1 << 19) {
        row.cfa = (struct cfi_rule){.how = CFI_OFFSET, .reg = 7, .offset = (int32_t)offset};
        row.columns[16] = (struct cfi_rule){.how = CFI_OFFSET, .offset = -8};
        row.columns[6] = (struct cfi_rule){.how = CFI_OFFSET, .offset = -16};
        row.columns[3] = (struct cfi_rule){.how = CFI_REGISTER, .reg = 1};
        unwind_rule rule = rule_from_row(&unwind_x86_64, &fde, &row, NULL);
        if (offset == 1 << 22) {
            assert_int_equal(rule_kind(rule), RULE_SLOW);
            continue;
        }
        assert_int_equal(rule_kind(rule), RULE_FRAME);
        assert_int_equal(rule_offset(rule), offset);
        assert_int_equal(rule_reg(rule), 7);
        assert_int_equal(rule_place(rule, RULE_FP_AT), 2);
        assert_int_equal(rule_place(rule, RULE_BX_AT), RULE_PLACE_LOST);
        assert_int_equal(rule_place(rule, RULE_RA_AT), 1);
    }
    row.cfa.offset = 12; /* not a multiple of 8 */
    assert_int_equal(rule_kind(rule_from_row(&unwind_x86_64, &fde, &row, NULL)), RULE_SLOW);
    row.cfa.offset = 16;
    row.columns[16].how = CFI_UNDEFINED;
    assert_int_equal(rule_from_row(&unwind_x86_64, &fde, &row, NULL), RULE_END);
    row.columns[16].how = CFI_UNSPECIFIED; /* x86-64 has no link register to leave it in */
    assert_int_equal(rule_kind(rule_from_row(&unwind_x86_64, &fde, &row, NULL)), RULE_SLOW);
    fde.ra_column = 30;
    assert_int_equal(rule_kind(rule_from_row(&unwind_aarch64, &fde, &row, NULL)), RULE_FRAME);
    fde.signal = true;
    assert_int_equal(rule_kind(rule_from_row(&unwind_aarch64, &fde, &row, NULL)), RULE_SLOW);
}

static void caches_keep_and_forget(void **state)
{
    (void)state;
    static struct rule_entry entries[16] __attribute__((aligned(64)));
    const struct rule_cache cache = {entries, 4};
    uint64_t kept = 0;
    for (uint64_t pc = 1; pc <= 1000; pc++) {
        assert_int_equal(rule_cache_get(&cache, pc, 7), RULE_NONE);
        rule_cache_put(&cache, pc, 7, pc << 3 | RULE_FRAME);
        assert_int_equal(rule_cache_get(&cache, pc, 7), pc << 3 | RULE_FRAME);
        assert_int_equal(rule_cache_get(&cache, pc, 8), RULE_NONE);
        kept += pc > 1 && rule_cache_get(&cache, pc - 1, 7) != RULE_NONE;
    }
    assert_true(kept > 900); /* a pair of entries keeps the one before in nearly all cases */
}

/* --- call sites --- */

static uint8_t code_bytes[16];

static int read_code(void *ctx, uint64_t addr, uint64_t *out)
{
    (void)ctx;
    if (addr != 0x10000)
        return -1;
    memcpy(out, code_bytes, 8);
    return 0;
}

static void call_sites(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint8_t bytes[8]; /* before the return address */
        bool aarch64;
        int call;
        uint64_t target;
    } rows[] = {
        {"call rel32", {0x90, 0x90, 0x90, 0xe8, 0x10, 0, 0, 0}, 0, 1, 0x10018},
        {"call rel32 backwards", {0x90, 0x90, 0x90, 0xe8, 0xf8, 0xff, 0xff, 0xff}, 0, 1, 0x10000},
        {"call *%rax", {0, 0, 0, 0, 0, 0, 0xff, 0xd0}, 0, 1, 0},
        {"call *%r11", {0, 0, 0, 0, 0, 0x41, 0xff, 0xd3}, 0, 1, 0},
        {"call *(%rax)", {0, 0, 0, 0, 0, 0, 0xff, 0x10}, 0, 1, 0},
        {"call *8(%rax)", {0, 0, 0, 0, 0, 0xff, 0x50, 0x08}, 0, 1, 0},
        {"call *8(%rsp)", {0, 0, 0, 0, 0xff, 0x54, 0x24, 0x08}, 0, 1, 0},
        {"call *(%rax,%rbx,8)", {0, 0, 0, 0, 0, 0xff, 0x14, 0xd8}, 0, 1, 0},
        {"call *x(%rip)", {0, 0, 0xff, 0x15, 1, 2, 3, 4}, 0, 1, 0},
        {"call *x(%rbx)", {0, 0, 0xff, 0x93, 1, 2, 3, 4}, 0, 1, 0},
        {"call *x(%rsp)", {0, 0xff, 0x94, 0x24, 1, 2, 3, 4}, 0, 1, 0},
        {"call *x(,%rax,8)", {0, 0xff, 0x14, 0xc5, 1, 2, 3, 4}, 0, 1, 0},
        {"jmp *%rax", {0, 0, 0, 0, 0, 0, 0xff, 0xe0}, 0, 0, 0},
        {"push (%rax)", {0, 0, 0, 0, 0, 0, 0xff, 0x30}, 0, 0, 0},
        {"nothing", {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, 0, 0, 0},
        {"bl", {0, 0, 0, 0, 0x04, 0, 0, 0x94}, 1, 1, 0x10014},
        {"bl backwards", {0, 0, 0, 0, 0xff, 0xff, 0xff, 0x97}, 1, 1, 0x10000},
        {"blr x3", {0, 0, 0, 0, 0x60, 0x00, 0x3f, 0xd6}, 1, 1, 0},
        {"blraa x3, x4", {0, 0, 0, 0, 0x64, 0x08, 0x3f, 0xd7}, 1, 1, 0},
        {"br x3", {0, 0, 0, 0, 0x60, 0x00, 0x1f, 0xd6}, 1, 0, 0},
        {"b", {0, 0, 0, 0, 0x04, 0, 0, 0x14}, 1, 0, 0},
    };
    struct unwind_space space = {.memory = {.read_word = read_code}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t target;
        memcpy(code_bytes, rows[i].bytes, 8);
        space.arch = rows[i].aarch64 ? &unwind_aarch64 : &unwind_x86_64;
        int call = unwind_follows_call(&space, 0x10008, &target);
        if (call != rows[i].call || target != rows[i].target)
            fail_msg("%s: %d, target %llx", rows[i].what, call, (unsigned long long)target);
        assert_int_equal(unwind_follows_call(&space, 0x20008, &target), 0);
    }
}

static void end_names(void **state)
{
    (void)state;
    for (unsigned end = 0; end < UNWIND_END_COUNT; end++)
        assert_true(strlen(unwind_end_name(end)) > 3);
    assert_string_equal(unwind_end_name(UNWIND_ROOT), "root");
    assert_string_equal(unwind_end_name(UNWIND_END_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_program),
        cmocka_unit_test(every_register_rule),
        cmocka_unit_test(damaged_records_are_refused),
        cmocka_unit_test(search_tables),
        cmocka_unit_test(expressions),
        cmocka_unit_test(simple_expressions),
        cmocka_unit_test(compact_rules),
        cmocka_unit_test(caches_keep_and_forget),
        cmocka_unit_test(call_sites),
        cmocka_unit_test(end_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
