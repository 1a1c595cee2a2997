#include "input/profdata_string_args.h"

#include <string.h>

#include "base/json_plain.h"
#include "base/memory.h"
#include "input/profdata_strings.h"

enum {
    STRING_END = 0xff,
    STRING_REFERENCE = 0xfe,
    DEPTH_MAX = 16,  /* references inside references */
    PIECES_MAX = 64, /* parts of one text */
    TEXT_MAX =
        PROFDATA_TEXT_MAX_BYTES - PROFDATA_LABEL_MAX_BYTES - 1, /* longer ones may have to be cut */
    STRING_MAX = 1 << 13,                                       /* that is looked at */
    PLACES = 512, /* of what was fetched: many times the events that are ahead */
    LABELS = 256,
    SHARED = 512, /* texts that others begin with: those of one stretch of a profile */
    SHARED_BYTES = 112,
    COPY_BYTES = 16,   /* texts are copied in steps of so many, into room that is there */
    FETCH_BYTES = 256, /* of an argument: the machine goes on by itself when it is longer */
    LINE_BYTES = 64,
};

struct shared {
    uint64_t address;
    uint8_t size; /* 0: nothing is here */
    bool is_plain;
    char text[SHARED_BYTES];
};

struct profdata_args {
    struct shared shared[SHARED];
    uint64_t labels[LABELS]; /* address + 1 of one that is all text: no argument begins in it */
};

struct assembly {
    struct profdata_strings *strings;
    char *at, *end; /* COPY_BYTES more may be written behind the end */
    unsigned depth, pieces;
    bool is_plain;
};

struct profdata_args *profdata_args_new(void)
{
    return mem_zalloc(1, sizeof(struct profdata_args));
}

void profdata_args_free(struct profdata_args *args)
{
    mem_free(args);
}

static unsigned id_bytes(const struct profdata_strings *strings)
{
    return strings->file->is_wide ? 8 : 4;
}

static uint64_t read_id(const struct profdata_strings *strings, const uint8_t *at)
{
    return strings->file->is_wide ? profdata_u64(at) : profdata_u32(at);
}

static const uint8_t *bytes_at(const struct profdata_strings *strings, uint64_t address,
                               uint32_t *left)
{
    uint64_t there;
    const uint8_t *bytes = profdata_at(strings->file, PROFDATA_STRINGS, address, &there);
    *left = there < STRING_MAX ? (uint32_t)there : STRING_MAX;
    return bytes;
}

/* ---- scanning ---- */

/* Ends and references are not plain. */
static inline const uint8_t *skip_plain(const uint8_t *at, const uint8_t *end)
{
    return at + json_plain_length((const char *)at, (size_t)(end - at));
}

/* The end or the reference that text goes up to; NULL: neither is there, or a separator comes before. */
static inline const uint8_t *text_end(const uint8_t *at, const uint8_t *end, bool *is_plain)
{
    for (at = skip_plain(at, end); at < end && *at < STRING_REFERENCE; at = skip_plain(at + 1, end)) {
        if (*at == PROFDATA_SEPARATOR)
            return NULL;
        *is_plain = false;
    }
    return at < end ? at : NULL;
}

/* ---- where arguments are ---- */

static bool is_label(struct profdata_strings *strings, uint64_t id)
{
    if (id < PROFDATA_FIRST_ADDRESS_ID)
        return false;
    uint64_t address = id - PROFDATA_FIRST_ADDRESS_ID;
    uint64_t *known = &strings->args->labels[(address ^ address >> 8) % LABELS];
    if (*known == address + 1)
        return true;
    uint32_t left;
    bool is_plain = true;
    const uint8_t *bytes = bytes_at(strings, address, &left);
    const uint8_t *end = left ? text_end(bytes, bytes + left, &is_plain) : NULL;
    if (!end || *end != STRING_END || end - bytes > PROFDATA_LABEL_MAX_BYTES)
        return false;
    *known = address + 1;
    return true;
}

/* A reference to a label, a separator and a reference, and no more. */
uint32_t profdata_args_place(struct profdata_strings *strings, uint64_t address)
{
    unsigned size = id_bytes(strings);
    uint32_t left;
    const uint8_t *bytes = bytes_at(strings, address, &left);
    if (left < 2 * size + 4 || bytes[0] != STRING_REFERENCE ||
        bytes[size + 1] != PROFDATA_SEPARATOR || bytes[size + 2] != STRING_REFERENCE ||
        bytes[2 * size + 3] != STRING_END || !is_label(strings, read_id(strings, bytes + 1)))
        return PROFDATA_LONG_WAY;
    uint64_t id = read_id(strings, bytes + size + 3);
    bool has_address =
        id >= PROFDATA_FIRST_ADDRESS_ID && id - PROFDATA_FIRST_ADDRESS_ID < PROFDATA_LONG_WAY;
    return has_address ? (uint32_t)(id - PROFDATA_FIRST_ADDRESS_ID) : PROFDATA_LONG_WAY;
}

static uint32_t place_of(struct profdata_strings *strings, uint64_t id)
{
    if (id < strings->virtual_count)
        return strings->virtual_arguments ? strings->virtual_arguments[id] : PROFDATA_LONG_WAY;
    return id < PROFDATA_FIRST_ADDRESS_ID
               ? PROFDATA_LONG_WAY
               : profdata_args_place(strings, id - PROFDATA_FIRST_ADDRESS_ID);
}

void profdata_args_fetch(const struct profdata_strings *strings, uint64_t id, enum profdata_fetch step)
{
    if (id >= strings->virtual_count || !strings->virtual_arguments)
        return; /* those with an address of their own are few, and come again and again */
    const uint32_t *place = &strings->virtual_arguments[id];
    if (step == PROFDATA_FETCH_PLACE) {
        __builtin_prefetch(place);
        return;
    }
    if (*place == PROFDATA_LONG_WAY)
        return;
    uint32_t left;
    const uint8_t *bytes = bytes_at(strings, *place, &left);
    for (uint32_t at = 0; at < FETCH_BYTES && at < left; at += LINE_BYTES)
        __builtin_prefetch(bytes + at);
}

/* ---- putting together ---- */

static bool put_string(struct assembly *assembly, uint64_t address);

static bool put_text(struct assembly *assembly, const void *text, size_t size)
{
    if (size > (size_t)(assembly->end - assembly->at))
        return false;
    memcpy(assembly->at, text, size);
    assembly->at += size;
    return true;
}

static void keep_shared(struct shared *shared, uint64_t address, const char *text, size_t size,
                        bool is_plain)
{
    if (size == 0 || size > SHARED_BYTES)
        return;
    shared->address = address;
    shared->size = (uint8_t)size;
    shared->is_plain = is_plain;
    memcpy(shared->text, text, size);
}

static bool put_shared(struct assembly *assembly, uint64_t address)
{
    struct shared *shared =
        &assembly->strings->args->shared[(address ^ address >> 9 ^ address >> 18) % SHARED];
    if (shared->size && shared->address == address) {
        if (SHARED_BYTES > (size_t)(assembly->end - assembly->at))
            return false;
        for (size_t done = 0; done < shared->size; done += COPY_BYTES)
            memcpy(assembly->at + done, shared->text + done, COPY_BYTES);
        assembly->at += shared->size;
        assembly->is_plain = assembly->is_plain && shared->is_plain;
        return true;
    }
    bool was_plain = assembly->is_plain;
    size_t room = (size_t)(assembly->end - assembly->at);
    char *from = assembly->at;
    assembly->is_plain = true;
    if (!put_string(assembly, address))
        return false;
    keep_shared(shared, address, from, room - (size_t)(assembly->end - assembly->at),
                assembly->is_plain);
    assembly->is_plain = assembly->is_plain && was_plain;
    return true;
}

static bool put_parts(struct assembly *assembly, const uint8_t *at, const uint8_t *end)
{
    unsigned size = id_bytes(assembly->strings);
    for (;;) {
        const uint8_t *stop = text_end(at, end, &assembly->is_plain);
        if (!stop || assembly->pieces++ == PIECES_MAX || !put_text(assembly, at, (size_t)(stop - at)))
            return false;
        if (*stop == STRING_END)
            return true;
        if ((size_t)(end - stop) <= size)
            return false;
        uint64_t id = read_id(assembly->strings, stop + 1);
        if (id < PROFDATA_FIRST_ADDRESS_ID || !put_shared(assembly, id - PROFDATA_FIRST_ADDRESS_ID))
            return false;
        at = stop + 1 + size;
    }
}

static bool put_string(struct assembly *assembly, uint64_t address)
{
    uint32_t left;
    const uint8_t *bytes = bytes_at(assembly->strings, address, &left);
    if (!left || assembly->depth++ == DEPTH_MAX || !put_parts(assembly, bytes, bytes + left))
        return false;
    assembly->depth--;
    return true;
}

bool profdata_args_find(struct profdata_strings *strings, uint64_t id, struct strbuf *room,
                        struct profdata_arg *arg)
{
    uint32_t place = strings->args ? place_of(strings, id) : PROFDATA_LONG_WAY, left;
    if (place == PROFDATA_LONG_WAY)
        return false;
    const uint8_t *bytes = bytes_at(strings, place, &left), *end = bytes + left;
    arg->is_plain = true;
    const uint8_t *stop = text_end(bytes, end, &arg->is_plain);
    if (!stop)
        return false;
    if (*stop == STRING_END) {
        arg->bytes = (const char *)bytes;
        arg->size = (size_t)(stop - bytes);
        return arg->size <= TEXT_MAX;
    }
    strbuf_clear(room);
    char *to = strbuf_room(room, TEXT_MAX + COPY_BYTES);
    struct assembly assembly = {.strings = strings, .at = to, .end = to + TEXT_MAX, .is_plain = true};
    if (!to || !put_parts(&assembly, bytes, end))
        return false;
    arg->bytes = to;
    arg->size = (size_t)(assembly.at - to);
    arg->is_plain = assembly.is_plain;
    return true;
}
