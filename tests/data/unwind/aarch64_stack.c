/* Writes two dumps of its own stack, for unwind_dump_test: taken inside a signal handler, once from where the signal
 * interrupted a leaf function, once from within the handler. Made by tests/data/unwind/make. No libc: everything a stack
 * goes through is in this file, and each function notes its own return address, which is what the test expects.
 *
 * A dump: u64 words "LAMSTACK", pieces, frames; pc, x0-x30, sp; the expected addresses, leaf first, as unwind_stack()
 * gives them; then for each piece its address, its size (a multiple of 8) and its bytes. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;
extern const char __ehdr_start[];
static u64 returns[32]; /* noted on the way in, outermost first */
static unsigned depth;
static u64 stack_top;

static long call3(long number, u64 a, u64 b, u64 c)
{
    register long x8 __asm__("x8") = number;
    register u64 x0 __asm__("x0") = a;
    register u64 x1 __asm__("x1") = b;
    register u64 x2 __asm__("x2") = c;
    register u64 x3 __asm__("x3") = 8;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return (long)x0;
}

static void put(const void *bytes, u64 size)
{
    call3(64, 1, (u64)bytes, size);
}

static void put_word(u64 word)
{
    put(&word, 8);
}

static void put_piece(u64 address, u64 size)
{
    put_word(address);
    put_word(size);
    put((const void *)address, size);
}

#define NOTE() (returns[depth++] = (u64)__builtin_return_address(0))

/* The segment with the program headers, the code and the tables: the first. */
static u64 segment_size(void)
{
    const unsigned char *phdr = (const unsigned char *)__ehdr_start + 64;
    while (*(const uint32_t *)phdr != 1)
        phdr += 56;
    return *(const u64 *)(phdr + 32);
}

/* regs: pc, x0-x30, sp. extra: code outside of the program, 16 bytes, or 0. */
static void dump(const u64 *regs, const u64 *frames, unsigned count, u64 extra)
{
    u64 sp = regs[32] & ~(u64)7;
    put("LAMSTACK", 8);
    put_word(extra ? 3 : 2);
    put_word(count);
    put(regs, 33 * 8);
    put(frames, count * 8);
    put_piece((u64)__ehdr_start, (segment_size() + 7) & ~(u64)7);
    put_piece(sp, stack_top - sp);
    if (extra)
        put_piece(extra, 16);
}

/* In x0 the array; fills pc, x0-x30, sp of the caller. */
void take_registers(u64 *regs);
__asm__(
    ".text\n.global take_registers\ntake_registers:\n .cfi_startproc\n"
    " str x30, [x0]\n stp x0, x1, [x0, #8]\n stp x18, x19, [x0, #152]\n stp x20, x21, [x0, #168]\n"
    " stp x22, x23, [x0, #184]\n stp x24, x25, [x0, #200]\n stp x26, x27, [x0, #216]\n"
    " stp x28, x29, [x0, #232]\n str x30, [x0, #248]\n mov x1, sp\n str x1, [x0, #256]\n ret\n"
    " .cfi_endproc\n");

static u64 own_regs[33];
static u64 leaf_pc;

/* Kept apart from the handler, so that the handler has a frame in between. */
static __attribute__((noinline)) void dump_here(const u64 *interrupted, u64 trampoline)
{
    u64 frames[40];
    unsigned n = 0;
    take_registers(own_regs);
    frames[n++] = own_regs[0]; /* where take_registers returned to: exact, as a top frame is */
    frames[n++] = (u64)__builtin_return_address(0) - 1;
    frames[n++] = trampoline - 1;
    frames[n++] = interrupted[0];
    for (unsigned i = depth; i-- > 0;)
        frames[n++] = returns[i] - 1;
    dump(own_regs, frames, n, trampoline);
    __asm__ volatile("");
}

static void on_fault(int signal, void *info, void *context)
{
    (void)signal;
    (void)info;
    u64 regs[33], frames[40];
    const u64 *machine = (const u64 *)((char *)context + 176 + 8); /* behind the fault address */
    unsigned n = 0;
    regs[0] = machine[32];
    for (unsigned i = 0; i < 32; i++)
        regs[i + 1] = machine[i];
    frames[n++] = regs[0];
    for (unsigned i = depth; i-- > 0;)
        frames[n++] = returns[i] - 1;
    dump(regs, frames, n, 0);
    dump_here(regs, (u64)__builtin_return_address(0));
    call3(94, 0, 0, 0);
}

/* A leaf: its return address is in x30 alone. */
__attribute__((noinline)) u64 leaf(u64 value)
{
    NOTE();
    __asm__ volatile("udf #0" : "+r"(value));
    return value * 3;
}

__attribute__((noinline)) u64 with_alloca(u64 size)
{
    NOTE();
    char *bytes = __builtin_alloca(size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    return leaf(size) + (u64)bytes[1];
}

__attribute__((noinline)) u64 big_frame(u64 value)
{
    NOTE();
    volatile char bytes[9000];
    bytes[value] = 1;
    return with_alloca(value + 40) + (u64)bytes[2];
}

__attribute__((noinline)) u64 saves_many(u64 a, u64 b, u64 c, u64 d)
{
    NOTE();
    u64 e = big_frame(a), f = big_frame(b);
    return a + b * c + d * e + f;
}

__attribute__((noinline)) u64 recursive(u64 n)
{
    NOTE();
    u64 result = n == 0 ? saves_many(1, 2, 3, 4) : recursive(n - 1);
    __asm__ volatile("" : "+r"(result)); /* no loop instead */
    return result * 2;
}

void start_c(u64 *sp)
{
    struct {
        void (*handler)(int, void *, void *);
        u64 flags, restorer, mask;
    } action = {on_fault, 4, 0, 0};
    NOTE();
    stack_top = (u64)sp + 16;
    call3(134, 4, (u64)&action, 0); /* SIGILL */
    recursive(3);
    call3(94, 1, 0, 0);
}

__asm__(".text\n.global _start\n_start:\n .cfi_startproc\n .cfi_undefined x30\n mov x0, sp\n bl "
        "start_c\n udf #1\n"
        " .cfi_endproc\n");
