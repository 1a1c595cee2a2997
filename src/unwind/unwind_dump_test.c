/* Stacks that were copied: of aarch64 programs (tests/data/unwind) on any host, and of this process after it went on. */
#include "unwind/find_object.h"
#include "unwind/unwind.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_PIECES = 4, MAX_FRAMES = 64, MAX_FILE = 1 << 20 };

struct piece {
    uint64_t address, size;
    const uint8_t *bytes;
};

/* One dump, as tests/data/unwind/aarch64_stack.c describes it. */
struct recorded {
    uint64_t piece_count, frame_count;
    struct unwind_regs regs;
    uint64_t expected[MAX_FRAMES];
    struct piece pieces[MAX_PIECES];
};

static struct unwind_scratch scratch;
static uint8_t file_bytes[MAX_FILE];
static size_t file_size, file_at;

static void read_file(const char *name)
{
    char path[4096];
    const char *source = getenv("LAMELLA_SRC");
    snprintf(path, sizeof path, "%s/tests/data/unwind/%s", source ? source : ".", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t size = read(fd, file_bytes, sizeof file_bytes);
    close(fd);
    assert_true(size > 0 && size < MAX_FILE);
    file_size = (size_t)size;
    file_at = 0;
}

static uint64_t next_word(void)
{
    uint64_t word;
    assert_true(file_at + 8 <= file_size);
    memcpy(&word, file_bytes + file_at, 8);
    file_at += 8;
    return word;
}

static void read_dump(struct recorded *out)
{
    assert_memory_equal(file_bytes + file_at, "LAMSTACK", 8);
    file_at += 8;
    out->piece_count = next_word();
    out->frame_count = next_word();
    assert_true(out->piece_count >= 2 && out->piece_count <= MAX_PIECES);
    assert_true(out->frame_count > 5 && out->frame_count <= MAX_FRAMES);
    out->regs.pc = next_word();
    for (unsigned i = 0; i < 32; i++)
        out->regs.r[i] = next_word();
    out->regs.valid = UINT32_MAX;
    for (uint64_t i = 0; i < out->frame_count; i++)
        out->expected[i] = next_word();
    for (uint64_t i = 0; i < out->piece_count; i++) {
        struct piece *piece = &out->pieces[i];
        piece->address = next_word();
        piece->size = next_word();
        piece->bytes = file_bytes + file_at;
        assert_true(piece->size <= file_size - file_at);
        file_at += piece->size;
    }
}

/* The program (piece 0) and the trampoline (piece 2), which the stack is not. */
static int read_code(void *ctx, uint64_t addr, uint64_t *out)
{
    const struct recorded *recorded = ctx;
    for (uint64_t i = 0; i < recorded->piece_count; i++) {
        const struct piece *piece = &recorded->pieces[i];
        if (i == 1 || addr < piece->address || addr - piece->address > piece->size - 8)
            continue;
        memcpy(out, piece->bytes + (addr - piece->address), 8);
        return 0;
    }
    return -1;
}

static int find_program(void *ctx, uint64_t pc, struct unwind_module *out)
{
    const struct recorded *recorded = ctx;
    const struct piece *piece = &recorded->pieces[0];
    if (unwind_module_from_file(piece->bytes, piece->size, 0, out) < 0)
        return -1;
    return pc >= out->start && pc < out->end ? 0 : -1;
}

static void check_recorded(struct recorded *recorded, bool all_registers)
{
    static struct rule_entry entries[256] __attribute__((aligned(64)));
    const struct rule_cache cache = {entries, 8};
    uint64_t frames[MAX_FRAMES], target;
    struct unwind_result result;
    struct unwind_dump dump = {
        .base = recorded->pieces[1].address,
        .bytes = recorded->pieces[1].bytes,
        .size = recorded->pieces[1].size,
        .other = read_code,
        .other_ctx = recorded,
    };
    struct unwind_space space = {
        .arch = &unwind_aarch64,
        .find_module = find_program,
        .module_ctx = recorded,
        .cache = &cache,
        .all_registers = all_registers,
        .scratch = &scratch,
    };
    memset(entries, 0, sizeof entries); /* another program was at the same addresses */
    unwind_memory_dump(&space.memory, &dump);
    for (int warm = 0; warm < 2; warm++) {
        memset(frames, 0, sizeof frames);
        enum unwind_end end = unwind_stack(&space, &recorded->regs, frames, MAX_FRAMES, &result);
        for (uint64_t i = 0; i < recorded->frame_count; i++)
            assert_int_equal(frames[i], recorded->expected[i]);
        /* And _start, which called the first function that noted an address. */
        assert_int_equal(end, UNWIND_ROOT);
        assert_int_equal(result.depth, recorded->frame_count);
        assert_int_equal(result.guessed, 0);
    }
    uint64_t calls = 0;
    for (uint64_t i = 1; i < recorded->frame_count; i++)
        calls += (uint64_t)unwind_follows_call(&space, frames[i] + 1, &target);
    assert_true(calls >= recorded->frame_count - 3); /* not the trampoline, nor what was interrupted */
    /* A truncated copy ends where it ends. */
    dump.size = 4096;
    assert_int_equal(unwind_stack(&space, &recorded->regs, frames, MAX_FRAMES, &result),
                     UNWIND_UNREADABLE);
    assert_true(result.depth > 1 && result.depth < recorded->frame_count);
}

static void check_file(const char *name, bool signed_addresses)
{
    struct recorded recorded;
    unsigned dumps = 0, with_code = 0;
    read_file(name);
    for (; file_at < file_size; dumps++) {
        read_dump(&recorded);
        check_recorded(&recorded, false);
        check_recorded(&recorded, true);
        for (uint64_t i = 0; i + 8 <= recorded.pieces[1].size; i += 8) {
            uint64_t word;
            memcpy(&word, recorded.pieces[1].bytes + i, 8);
            with_code +=
                word >> 48 != 0 && (word & unwind_aarch64.code_mask) == recorded.expected[1] + 1;
        }
    }
    assert_int_equal(dumps, 2);
    assert_int_equal(with_code > 0, signed_addresses);
}

static void aarch64_stacks(void **state)
{
    (void)state;
    check_file("aarch64_none.stack", false);
}

static void aarch64_stacks_with_signed_addresses(void **state)
{
    (void)state;
    check_file("aarch64_pac-ret.stack", true);
}

/* --- this process's own stack, copied and unwound later --- */

static struct unwind_finder finder;
static struct unwind_regs regs_then;
static uint64_t live[MAX_FRAMES], live_depth;
static uint8_t copy[16384];
static size_t copied;
static volatile int sink;

UNWIND_RAW static void copy_stack(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    struct unwind_space space;
    struct unwind_result result;
    unwind_regs_from_ucontext(&regs_then, context);
    unwind_space_self(&space, &scratch, unwind_finder_find, &finder);
    unwind_stack(&space, &regs_then, live, MAX_FRAMES, &result);
    live_depth = result.depth;
    uint64_t sp = regs_then.r[unwind_host_arch()->sp], word;
    for (copied = 0; copied < sizeof copy; copied += 8) {
        if (unwind_read(&space.memory, sp + copied, &word) < 0)
            break;
        memcpy(copy + copied, &word, 8);
    }
}

static __attribute__((noinline)) int descend(int n)
{
    if (n == 0)
        raise(SIGUSR1);
    else
        sink += descend(n - 1);
    return sink;
}

static int read_live(void *ctx, uint64_t addr, uint64_t *out)
{
    (void)ctx;
    if (!unwind_readable(addr) || !unwind_readable(addr + 7))
        return -1;
    *out = unwind_load(addr);
    return 0;
}

static void own_stack_later(void **state)
{
    (void)state;
    struct unwind_result result;
    uint64_t frames[MAX_FRAMES];
    unwind_finder_init(&finder, NULL);
    struct sigaction action = {.sa_sigaction = copy_stack, .sa_flags = SA_SIGINFO}, before;
    sigaction(SIGUSR1, &action, &before);
    sink += descend(10);
    sigaction(SIGUSR1, &before, NULL);
    struct unwind_dump dump = {regs_then.r[unwind_host_arch()->sp], copy, copied, read_live, NULL};
    struct unwind_space space;
    unwind_space_self(&space, &scratch, unwind_finder_find, &finder);
    unwind_memory_dump(&space.memory, &dump);
    assert_int_equal(unwind_stack(&space, &regs_then, frames, MAX_FRAMES, &result), UNWIND_ROOT);
    assert_int_equal(result.depth, live_depth);
    assert_true(live_depth > 12);
    assert_memory_equal(frames, live, live_depth * sizeof *live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aarch64_stacks),
        cmocka_unit_test(aarch64_stacks_with_signed_addresses),
        cmocka_unit_test(own_stack_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
