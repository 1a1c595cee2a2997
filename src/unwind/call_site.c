#include "unwind/unwind.h"

/* The 8 bytes before a return address, last byte last. call rel32, or call r/m in one of its lengths (opcode FF /2). */
static int x86_64_call(const uint8_t *bytes, uint64_t addr, uint64_t *target)
{
    if (bytes[3] == 0xe8) {
        int32_t distance;
        memcpy(&distance, bytes + 4, sizeof distance);
        *target = addr + (uint64_t)(int64_t)distance;
        return 1;
    }
    for (unsigned size = 2; size <= 7; size++) {
        const uint8_t *at = bytes + 8 - size;
        if (at[0] != 0xff || (at[1] >> 3 & 7) != 2)
            continue;
        unsigned mode = at[1] >> 6, rm = at[1] & 7;
        unsigned expected = 2;
        if (mode != 3) {
            expected += rm == 4; /* a SIB byte */
            if (mode == 1)
                expected += 1;
            else if (mode == 2 || rm == 5 || (rm == 4 && size > 2 && (at[2] & 7) == 5))
                expected += 4;
        }
        if (expected == size)
            return 1;
    }
    return 0;
}

static int aarch64_call(uint32_t instruction, uint64_t addr, uint64_t *target)
{
    if (instruction >> 26 == 0x25) { /* bl */
        int64_t words = (int64_t)((uint64_t)instruction << 38) >> 38;
        *target = addr - 4 + (uint64_t)(words * 4);
        return 1;
    }
    /* blr, and blraa, blrab and their zero forms */
    return (instruction & 0xfffffc1f) == 0xd63f0000 || (instruction & 0xfefff800) == 0xd63f0800;
}

int unwind_follows_call(const struct unwind_space *space, uint64_t addr, uint64_t *target)
{
    uint64_t word;
    uint8_t bytes[8];
    *target = 0;
    if (addr < 4096 || unwind_read(&space->memory, addr - 8, &word) < 0)
        return 0;
    memcpy(bytes, &word, 8);
    if (space->arch->id == UNWIND_X86_64)
        return x86_64_call(bytes, addr, target);
    return aarch64_call((uint32_t)(word >> 32), addr, target);
}
