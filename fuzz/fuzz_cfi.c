/* Unwind tables as an attacker or a broken disk would have them: every record, every row, and stacks unwound by them.
 * Byte 0 chooses: bit 0 aarch64, bit 1 the window begins with .eh_frame and has no .eh_frame_hdr. The rest is the window. */
#include "unwind/unwind.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BASE = 0x10000, MOST_RECORDS = 64, MOST_ROWS = 256, FRAMES = 64 };

static struct unwind_scratch scratch;
static struct unwind_module module;
static uint64_t code[MOST_RECORDS]; /* addresses that the tables speak of */
static size_t code_count;

static int find(void *ctx, uint64_t pc, struct unwind_module *out)
{
    (void)ctx;
    (void)pc;
    *out = module;
    return 0;
}

/* Memory without end, in which every other word is an address of the code and the rest points around. */
static int read_word(void *ctx, uint64_t addr, uint64_t *out)
{
    (void)ctx;
    uint64_t hash = (addr ^ addr >> 7) * 0x9e3779b97f4a7c15u;
    if (hash >> 60 == 0)
        return -1;
    if ((hash >> 32 & 1) && code_count)
        *out = code[(hash >> 33) % code_count] + (hash >> 56);
    else
        *out = addr + (hash >> 40) % 512;
    return 0;
}

static void rows_of(const struct unwind_arch *arch, const struct cfi_fde *fde)
{
    static struct cfi_program program;
    int rc = cfi_program_start(&program, fde);
    for (int i = 0; rc == 0 && i < MOST_ROWS; i++) {
        rc = cfi_program_row(&program);
        if (rc != 1)
            break;
        rc = 0;
        if (program.row_begin >= program.row_end)
            abort();
        unwind_rule rule = rule_from_row(arch, fde, &program.row, &program.row_begin);
        if (rule_kind(rule) == RULE_NONE || rule_kind(rule) == RULE_MISSING)
            abort();
    }
}

static void unwind_from(const struct unwind_arch *arch, uint64_t pc, bool all_registers)
{
    static struct rule_entry entries[64] __attribute__((aligned(64)));
    const struct rule_cache cache = {entries, 6};
    struct unwind_space space = {
        .arch = arch,
        .find_module = find,
        .memory = {.read_word = read_word},
        .cache = all_registers ? NULL : &cache,
        .all_registers = all_registers,
        .walk_limit = MOST_RECORDS,
        .scratch = &scratch,
    };
    struct unwind_result result;
    uint64_t frames[FRAMES + 1];
    struct unwind_regs regs = {.pc = pc, .valid = UINT32_MAX};
    for (unsigned i = 0; i < UNWIND_REGS; i++)
        regs.r[i] = 0x7000000 + 64 * i;
    memset(entries, 0, sizeof entries);
    frames[FRAMES] = 42;
    enum unwind_end end = unwind_stack(&space, &regs, frames, FRAMES, &result);
    if (end >= UNWIND_END_COUNT || result.depth > FRAMES || frames[FRAMES] != 42)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cfi_fde fde;
    if (size < 2)
        return 0;
    const struct unwind_arch *arch = data[0] & 1 ? &unwind_aarch64 : &unwind_x86_64;
    module = (struct unwind_module){
        .end = UINT64_MAX, .bytes = data + 1, .bytes_addr = BASE, .bytes_size = size - 1};
    *(data[0] & 2 ? &module.eh_frame_addr : &module.hdr_addr) = BASE;
    code_count = 0;
    uint64_t addr;
    int rc = cfi_eh_frame_start(&module, &addr);
    for (int i = 0; rc >= 0 && i < MOST_RECORDS; i++) {
        rc = cfi_next_record(&module, &addr, &fde);
        if (rc != 1)
            continue;
        code[code_count++] = fde.pc_begin;
        rows_of(arch, &fde);
    }
    for (size_t i = 0; i < code_count; i += 1 + code_count / 8) {
        unwind_from(arch, code[i] + 4, false);
        unwind_from(arch, code[i] + 4, true);
    }
    unwind_from(arch, BASE, false);
    return 0;
}
