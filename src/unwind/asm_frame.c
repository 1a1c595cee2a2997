#include "unwind/asm_frame.h"

enum { MOST_INSTRUCTIONS = 24, MOST_JUMP_BYTES = 1024, MOST_CODE_BYTES = 32768 };

struct entry_state {
    uint32_t depth; /* bytes pushed or reserved since entry */
    uint32_t depth_at_frame, depth_at_fp;
    bool framed;
};

/* 16 bytes at addr; those that cannot be read are zero. */
static int fetch(const struct unwind_space *space, uint64_t addr, uint8_t bytes[16])
{
    uint64_t words[2] = {0, 0};
    if (unwind_read(&space->memory, addr, &words[0]) < 0)
        return -1;
    (void)unwind_read(&space->memory, addr + 8, &words[1]);
    memcpy(bytes, words, 16);
    return 0;
}

static void pushed(struct entry_state *state, unsigned reg)
{
    state->depth += 8;
    if (reg == 5) /* rbp, in the encoding's numbering */
        state->depth_at_fp = state->depth;
}

/* Length of the instruction if it belongs to a prologue, with its effect on state; 0 if it does not. */
static unsigned entry_step(struct entry_state *state, const uint8_t *bytes)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t mov_rbp_rsp[] = {0x48, 0x89, 0xe5}, mov_rbp_rsp2[] = {0x48, 0x8b, 0xec};
    static const uint8_t sub8[] = {0x48, 0x83, 0xec}, sub32[] = {0x48, 0x81, 0xec};
    static const uint8_t and8[] = {0x48, 0x83, 0xe4}, and32[] = {0x48, 0x81, 0xe4};
    uint32_t value;
    if (memcmp(bytes, endbr64, 4) == 0)
        return 4;
    if ((bytes[0] & 0xf8) == 0x50) {
        pushed(state, bytes[0] & 7);
        return 1;
    }
    if (bytes[0] == 0x41 && (bytes[1] & 0xf8) == 0x50) {
        pushed(state, 8 + (bytes[1] & 7u));
        return 2;
    }
    if (memcmp(bytes, mov_rbp_rsp, 3) == 0 || memcmp(bytes, mov_rbp_rsp2, 3) == 0) {
        state->framed = true;
        state->depth_at_frame = state->depth;
        return 3;
    }
    if (memcmp(bytes, sub8, 3) == 0 && bytes[3] < 0x80) {
        state->depth += bytes[3];
        return 4;
    }
    if (memcmp(bytes, sub32, 3) == 0) {
        memcpy(&value, bytes + 3, sizeof value);
        state->depth += value & 0xffffff; /* more is not a frame */
        return 7;
    }
    if (state->framed && memcmp(bytes, and8, 3) == 0)
        return 4;
    return state->framed && memcmp(bytes, and32, 3) == 0 ? 7 : 0;
}

int asm_frame_from_entry(const struct unwind_space *space, uint64_t entry, uint64_t pc,
                         struct asm_frame *out)
{
    struct entry_state state = {0};
    uint8_t bytes[16];
    uint64_t at = entry;
    if (entry > pc)
        return -1;
    for (int i = 0; i < MOST_INSTRUCTIONS && at < pc; i++) {
        if (fetch(space, at, bytes) < 0)
            return -1;
        unsigned size = entry_step(&state, bytes);
        if (size == 0)
            break;
        at += size;
    }
    *out = (struct asm_frame){
        .framed = state.framed,
        .distance = state.framed ? state.depth_at_frame : state.depth,
        .saved_fp = state.depth_at_fp,
    };
    return 0;
}

struct exit_state {
    uint32_t distance; /* bytes released from here on */
    uint32_t fp_at;    /* distance at which rbp is popped */
    bool framed, fp_popped, done;
};

/* As entry_step(), of the way out. */
static unsigned exit_step(struct exit_state *state, const uint8_t *bytes)
{
    static const uint8_t mov_rsp_rbp[] = {0x48, 0x89, 0xec}, mov_rsp_rbp2[] = {0x48, 0x8b, 0xe5};
    static const uint8_t add8[] = {0x48, 0x83, 0xc4}, add32[] = {0x48, 0x81, 0xc4};
    static const uint8_t vzeroupper[] = {0xc5, 0xf8, 0x77};
    unsigned prefix = bytes[0] == 0x41;
    uint32_t value;
    if (bytes[0] == 0xc3) {
        state->done = true;
        return 1;
    }
    if (memcmp(bytes, vzeroupper, 3) == 0)
        return 3;
    if ((bytes[prefix] & 0xf8) == 0x58 || (bytes[0] == 0xc9 && !state->fp_popped)) {
        if (bytes[0] == 0xc9) { /* leave: mov %rbp, %rsp; pop %rbp */
            state->framed = true;
            state->distance = 0;
        }
        if (bytes[0] == 0x5d || bytes[0] == 0xc9) {
            state->fp_popped = true;
            state->fp_at = state->distance;
        }
        state->distance += 8;
        return 1 + prefix;
    }
    if ((memcmp(bytes, mov_rsp_rbp, 3) == 0 || memcmp(bytes, mov_rsp_rbp2, 3) == 0) &&
        !state->fp_popped) {
        state->framed = true;
        state->distance = 0;
        return 3;
    }
    if (memcmp(bytes, add8, 3) == 0 && bytes[3] < 0x80) {
        state->distance += bytes[3];
        return 4;
    }
    if (memcmp(bytes, add32, 3) != 0)
        return 0;
    memcpy(&value, bytes + 3, sizeof value);
    state->distance += value & 0xffffff;
    return 7;
}

/* A stub of a PLT: `jmp *slot`, `push index; jmp first`, and the first `push; jmp *resolver`. How much of the stub's own
 * lies on the stack at pc; -1 when this is none. */
static int plt_depth(const struct unwind_space *space, uint64_t pc, const uint8_t *bytes)
{
    uint64_t word;
    uint8_t before[8];
    unsigned prefix = bytes[0] == 0xf2 ? 1 : 0; /* bnd */
    if (unwind_read(&space->memory, pc - 8, &word) < 0)
        return -1;
    memcpy(before, &word, 8);
    if (bytes[prefix] == 0xff && bytes[prefix + 1] == 0x25)
        return before[2] == 0xff && before[3] == 0x35 ? 16 : 0;
    if (bytes[0] == 0xff && bytes[1] == 0x35 && bytes[6] == 0xff && bytes[7] == 0x25)
        return 8;
    if (bytes[0] == 0x68 && bytes[5 + (bytes[5] == 0xf2)] == 0xe9)
        return 0;
    return bytes[prefix] == 0xe9 && before[3] == 0x68 ? 8 : -1;
}

int asm_frame_from_exit(const struct unwind_space *space, uint64_t pc, struct asm_frame *out)
{
    struct exit_state state = {0};
    uint8_t bytes[16];
    int depth = fetch(space, pc, bytes) == 0 ? plt_depth(space, pc, bytes) : -1;
    if (depth >= 0) {
        *out = (struct asm_frame){.distance = (uint32_t)depth};
        return 0;
    }
    for (int i = 0; i < MOST_INSTRUCTIONS && !state.done; i++) {
        if (fetch(space, pc, bytes) < 0)
            return -1;
        if (bytes[0] == 0xeb) { /* jmp rel8, to the end that several paths share */
            pc += 2 + (uint64_t)(int64_t)(int8_t)bytes[1];
            continue;
        }
        unsigned size = exit_step(&state, bytes);
        if (size == 0)
            return -1;
        pc += size;
    }
    *out = (struct asm_frame){
        .framed = state.framed,
        .distance = state.distance,
        .saved_fp = state.fp_popped ? state.distance - state.fp_at : 0,
    };
    return state.done ? 0 : -1;
}

/* Padding in front, or the end of another function: ret, int3, or a nop, of which the long ones end in zero. */
static bool ends_code(uint8_t byte)
{
    return byte == 0xc3 || byte == 0xcc || byte == 0x90 || byte == 0x00;
}

uint64_t asm_find_entry(const struct unwind_space *space, uint64_t pc)
{
    uint8_t bytes[16];
    uint64_t at = pc & ~(uint64_t)15, word;
    for (uint64_t seen = 0; seen < MOST_CODE_BYTES && at >= 4096; seen += 16, at -= 16) {
        struct entry_state state = {0};
        if (unwind_read(&space->memory, at - 8, &word) < 0)
            return 0;
        if (ends_code((uint8_t)(word >> 56)) && fetch(space, at, bytes) == 0 &&
            entry_step(&state, bytes) != 0 && !state.framed)
            return at;
    }
    return 0;
}

uint64_t asm_find_jump(const struct unwind_space *space, uint64_t begin, uint64_t end,
                       bool (*wanted)(void *ctx, uint64_t target), void *ctx)
{
    uint64_t word;
    if (end - begin > MOST_JUMP_BYTES)
        begin = end - MOST_JUMP_BYTES; /* a tail call is nearer to the end */
    for (uint64_t at = begin; at + 5 <= end; at++) {
        if (unwind_read(&space->memory, at, &word) < 0)
            return 0;
        if ((word & 0xff) != 0xe9) /* jmp rel32 */
            continue;
        uint64_t target = at + 5 + (uint64_t)(int64_t)(int32_t)(uint32_t)(word >> 8);
        if (wanted(ctx, target))
            return target;
    }
    return 0;
}
