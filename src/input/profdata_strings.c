#include "input/profdata_strings.h"

#include <string.h>

#include "base/memory.h"
#include "base/sixteen.h"

enum {
    STRING_END = 0xff,
    STRING_REFERENCE = 0xfe,
    DEPTH_MAX = 256, /* references inside references; rustc's are as deep as its modules */
    CHAIN_MAX = 16,  /* references that are followed without looking for circles */
    PLAIN_LABELS_MAX = 1 << 20, /* remembered by their address */
    COPIED_MAX = 4096,          /* at a time */
    AHEAD = 16, /* entries of the index whose strings are fetched before they are needed */
    PIECES_MAX = 1 << 10,  /* parts of one string: circles of empty ones have no bytes to count */
    LENGTH_MAX = 32 << 10, /* a longer text is no more than that: how long is not looked for */
};

struct expansion {
    struct profdata_strings *strings;
    struct strbuf *out;
    size_t start_length, max_bytes;
    bool only_label;
    bool is_cut; /* a label that goes on with arguments */
    unsigned depth, pieces;
    uint64_t begins[DEPTH_MAX]; /* addresses of the strings we are inside of */
    uint64_t resume[DEPTH_MAX]; /* where each goes on */
};

static unsigned id_bytes(const struct profdata_strings *strings)
{
    return strings->file->is_wide ? 8 : 4;
}

static uint64_t read_id(const struct profdata_strings *strings, const uint8_t *at)
{
    return strings->file->is_wide ? profdata_u64(at) : profdata_u32(at);
}

static inline const uint8_t *string_at(const struct profdata_strings *strings, uint64_t address,
                                       uint64_t *left)
{
    return profdata_at(strings->file, PROFDATA_STRINGS, address, left);
}

/* ---- the index ---- */

struct index_entry {
    uint64_t id, address;
};

typedef int (*index_fn)(struct profdata_strings *strings, struct index_entry entry, void *ctx);

static struct index_entry read_entry(const struct profdata_strings *strings, const uint8_t *at)
{
    return (struct index_entry){read_id(strings, at), read_id(strings, at + id_bytes(strings))};
}

static inline void fetch_string(const struct profdata_strings *strings, uint64_t address)
{
    uint64_t left;
    const uint8_t *bytes = string_at(strings, address, &left);
    __builtin_prefetch(bytes);
    __builtin_prefetch(bytes + 2 * id_bytes(strings)); /* of a label and an argument */
}

/* Every entry of the index, in order; the last one of an id counts. Made anew for each fn: entries are as many as events. */
static inline __attribute__((always_inline)) int each_entry(struct profdata_strings *strings,
                                                            index_fn fn, bool reads_strings,
                                                            void *ctx)
{
    const struct profdata_file *file = strings->file;
    uint64_t size = file->streams[PROFDATA_INDEX].size, step = file->entry_bytes;
    uint64_t fetched = PROFDATA_NO_ADDRESS; /* ids of one label come in long runs */
    int rc = LAM_OK;
    for (uint64_t at = PROFDATA_HEADER_BYTES; rc >= 0 && at < size && size - at >= step;) {
        uint8_t whole[16];
        uint64_t left;
        const uint8_t *bytes = profdata_at(file, PROFDATA_INDEX, at, &left);
        if (left < step) { /* it lies across two pages */
            profdata_copy(file, PROFDATA_INDEX, at, whole, step);
            rc = fn(strings, read_entry(strings, whole), ctx);
            at += step;
        }
        for (; rc >= 0 && left >= step; left -= step, bytes += step, at += step) {
            uint64_t soon = reads_strings && left >= AHEAD * step + step
                                ? read_entry(strings, bytes + AHEAD * step).address
                                : fetched;
            if (soon != fetched)
                fetch_string(strings, soon);
            fetched = soon;
            rc = fn(strings, read_entry(strings, bytes), ctx);
        }
    }
    return rc;
}

static int find_last_id(struct profdata_strings *strings, struct index_entry entry, void *ctx)
{
    uint64_t *count_and_last = ctx;
    count_and_last[0]++;
    if (entry.id == PROFDATA_METADATA_ID)
        strings->metadata_address = entry.address;
    else if (entry.id <= PROFDATA_VIRTUAL_LAST && entry.id >= count_and_last[1])
        count_and_last[1] = entry.id + 1;
    return LAM_OK;
}

static int name_at(struct profdata_strings *strings, uint64_t address, uint32_t *name,
                   bool *has_args);

struct last_entry { /* rustc maps ids in long runs to one label */
    uint64_t address;
    uint32_t name, argument;
    bool has_args;
};

static int add_name(struct profdata_strings *strings, struct index_entry entry, void *ctx)
{
    struct last_entry *last = ctx;
    if (entry.id > PROFDATA_VIRTUAL_LAST)
        return LAM_OK;
    if (entry.address != last->address) {
        int rc = name_at(strings, entry.address, &last->name, &last->has_args);
        if (rc < 0)
            return rc;
        last->address = entry.address;
        last->argument = last->has_args && strings->virtual_arguments
                             ? profdata_args_place(strings, entry.address)
                             : PROFDATA_LONG_WAY;
    }
    if (entry.id >= strings->virtual_count)
        return map_put(&strings->sparse_names, entry.id, last->name);
    strings->virtual_names[entry.id] = last->name;
    if (last->has_args)
        strings->virtual_args[entry.id / 64] |= UINT64_C(1) << entry.id % 64;
    else
        strings->virtual_args[entry.id / 64] &= ~(UINT64_C(1) << entry.id % 64);
    if (strings->virtual_arguments)
        strings->virtual_arguments[entry.id] = last->argument;
    return LAM_OK;
}

static int add_address(struct profdata_strings *strings, struct index_entry entry, void *ctx)
{
    (void)ctx;
    if (entry.id < strings->virtual_count) {
        strings->virtual_addresses[entry.id] = entry.address;
        return LAM_OK;
    }
    return map_put(&strings->addresses, entry.id, entry.address);
}

static int borrow_addresses(struct profdata_strings *shared)
{
    pthread_mutex_lock(shared->lender_lock);
    int rc = profdata_strings_load(shared->lender);
    if (rc >= 0) {
        shared->virtual_addresses = shared->lender->virtual_addresses;
        shared->addresses = shared->lender->addresses; /* which are only read from here on */
        shared->has_addresses = true;
    }
    pthread_mutex_unlock(shared->lender_lock);
    return rc;
}

int profdata_strings_load(struct profdata_strings *strings)
{
    if (strings->has_addresses)
        return LAM_OK;
    if (strings->lender)
        return borrow_addresses(strings);
    size_t bytes = (size_t)strings->virtual_count * sizeof *strings->virtual_addresses;
    strings->virtual_addresses = mem_alloc(bytes + 1);
    if (!strings->virtual_addresses)
        return LAM_E_NOMEM;
    strings->has_addresses = true;
    memset(strings->virtual_addresses, 0xff, bytes); /* PROFDATA_NO_ADDRESS */
    return each_entry(strings, add_address, false, NULL);
}

void profdata_strings_share(struct profdata_strings *shared, struct profdata_strings *strings,
                            pthread_mutex_t *lock, struct profdata_file *file)
{
    *shared = *strings;
    shared->file = file;
    shared->plain = (struct map){0};
    shared->scratch = (struct strbuf){0};
    shared->args = strings->args ? profdata_args_new() : NULL;
    shared->lender = strings;
    shared->lender_lock = lock;
}

void profdata_strings_unshare(struct profdata_strings *shared)
{
    map_free(&shared->plain);
    profdata_args_free(shared->args);
    strbuf_free(&shared->scratch);
}

static int address_of(struct profdata_strings *strings, uint64_t id, uint64_t *address)
{
    *address = PROFDATA_NO_ADDRESS;
    if (id >= PROFDATA_FIRST_ADDRESS_ID) {
        *address = id - PROFDATA_FIRST_ADDRESS_ID;
        return LAM_OK;
    }
    int rc = profdata_strings_load(strings);
    if (rc >= 0 && id < strings->virtual_count)
        *address = strings->virtual_addresses[id];
    else if (rc >= 0)
        *address = map_get_or(&strings->addresses, id, PROFDATA_NO_ADDRESS);
    return rc;
}

/* ---- expanding ---- */

static void tell(struct profdata_strings *strings, uint64_t address, const char *what)
{
    profdata_fault(strings->file, LAM_E_CORRUPT,
                   profdata_offset_of(strings->file, PROFDATA_STRINGS, address), "string %llu %s",
                   (unsigned long long)address + PROFDATA_FIRST_ADDRESS_ID, what);
}

/* Goes on with another string; the one we are in is resumed at `after`. False when it cannot be. */
static bool enter(struct expansion *exp, uint64_t address, uint64_t after)
{
    for (unsigned i = 0; i < exp->depth; i++) {
        if (exp->begins[i] == address) {
            tell(exp->strings, address, "refers to itself");
            return false;
        }
    }
    if (exp->depth == DEPTH_MAX) {
        tell(exp->strings, address, "is nested too deeply");
        return false;
    }
    if (exp->depth)
        exp->resume[exp->depth - 1] = after;
    exp->begins[exp->depth++] = address;
    return true;
}

static void add_text(const struct expansion *exp, const char *bytes, size_t size)
{
    strbuf_add_bytes(exp->out, bytes, size);
}

static bool is_full(const struct expansion *exp)
{
    return exp->out->length - exp->start_length > exp->max_bytes || exp->out->failed;
}

/* One reference at `at`, with so many bytes in place. *next is where reading goes on. */
static int follow(struct expansion *exp, uint64_t at, const uint8_t *in_place, uint64_t left,
                  uint64_t *next)
{
    struct profdata_strings *strings = exp->strings;
    uint8_t copy[8];
    const uint8_t *bytes = in_place + 1;
    uint64_t address;
    if (left <= id_bytes(strings)) { /* it lies across two pages */
        bytes = copy;
        left =
            profdata_copy(strings->file, PROFDATA_STRINGS, at + 1, copy, id_bytes(strings)) ? 9 : 0;
    }
    if (left == 0) {
        tell(strings, exp->begins[exp->depth - 1], "ends inside a reference");
        *next = strings->file->streams[PROFDATA_STRINGS].size;
        return LAM_E_TRUNCATED;
    }
    uint64_t id = read_id(strings, bytes), after = at + 1 + id_bytes(strings);
    int rc = address_of(strings, id, &address);
    *next = after;
    if (rc < 0)
        return rc;
    if (address >= strings->file->streams[PROFDATA_STRINGS].size) {
        if (address != PROFDATA_NO_ADDRESS)
            tell(strings, exp->begins[exp->depth - 1], "refers to one past the end");
        add_text(exp, PROFDATA_UNKNOWN_TEXT, strlen(PROFDATA_UNKNOWN_TEXT));
    } else if (enter(exp, address, after)) {
        *next = address;
    } else {
        return LAM_E_CORRUPT;
    }
    return LAM_OK;
}

/* Copies bytes up to the next end, reference or, of a label, separator: how many. There is room for all and 16 more. */
static inline size_t copy_plain(char *to, const uint8_t *bytes, size_t left, bool only_label)
{
    const unsigned char separator = only_label ? PROFDATA_SEPARATOR : STRING_END;
    size_t size = 0;
    for (; left - size >= 16; size += 16) {
        sixteen some = sixteen_load(bytes + size);
        memcpy(to + size, &some, sizeof some);
        unsigned end = sixteen_first((sixteen)((some >= STRING_REFERENCE) | (some == separator)));
        if (end < 16)
            return size + end;
    }
    for (; size < left && bytes[size] < STRING_REFERENCE && bytes[size] != separator; size++)
        to[size] = (char)bytes[size];
    return size;
}

/* Reads on to the string's end, or to the label's. A fault ends it where it stands. */
static int expand_into(struct expansion *exp, uint64_t address)
{
    struct profdata_strings *strings = exp->strings;
    uint64_t at = address;
    enter(exp, address, 0);
    for (;;) {
        uint64_t left;
        const uint8_t *bytes = string_at(strings, at, &left);
        if (left == 0) {
            tell(strings, exp->begins[exp->depth - 1], "has no end");
            return LAM_E_TRUNCATED;
        }
        size_t most = left < COPIED_MAX ? (size_t)left : COPIED_MAX;
        char *to = strbuf_room(exp->out, most + 16);
        if (!to)
            return LAM_E_NOMEM;
        size_t size = copy_plain(to, bytes, most, exp->only_label);
        strbuf_advance(exp->out, size);
        if (is_full(exp) || exp->pieces++ == PIECES_MAX)
            return exp->out->failed ? LAM_E_NOMEM : LAM_E_TOOBIG;
        at += size;
        if (size == most)
            continue;
        if (bytes[size] == STRING_REFERENCE) {
            int rc = follow(exp, at, bytes + size, left - size, &at);
            if (rc < 0)
                return rc;
        } else if (bytes[size] == STRING_END && --exp->depth > 0) {
            at = exp->resume[exp->depth - 1];
        } else {
            exp->is_cut = bytes[size] == PROFDATA_SEPARATOR;
            return LAM_OK; /* the end, or a separator behind the label */
        }
    }
}

/* label_is_cut: only the label is wanted, and whether it goes on; NULL: all of it. */
static int expand(struct profdata_strings *strings, uint64_t address, bool *label_is_cut,
                  size_t max_bytes, struct strbuf *out)
{
    struct expansion exp; /* its stacks are filled as they are used */
    exp.strings = strings;
    exp.out = out;
    exp.start_length = out->length;
    exp.max_bytes = max_bytes;
    exp.only_label = label_is_cut != NULL;
    exp.is_cut = false;
    exp.depth = exp.pieces = 0;
    int rc = expand_into(&exp, address);
    if (label_is_cut)
        *label_is_cut = exp.is_cut;
    return rc;
}

int profdata_strings_text_at(struct profdata_strings *strings, uint64_t address, struct strbuf *out)
{
    size_t start = out->length;
    int rc = expand(strings, address, NULL, PROFDATA_STRING_MAX_BYTES, out);
    if (rc == LAM_E_TOOBIG) {
        strbuf_truncate(out, start);
        tell(strings, address, "is too long");
    }
    return rc == LAM_E_NOMEM || out->failed ? LAM_E_NOMEM : LAM_OK;
}

/* Keeps the beginning, whole characters of it, and says what is not there: the length, where it was looked for, and a hash, which
 * tells apart what begins alike. */
static void cut(struct strbuf *out, size_t start, size_t max_bytes, bool is_whole)
{
    size_t size = out->length - start, kept = size < max_bytes ? size : max_bytes;
    const char *text = strbuf_text(out) + start;
    uint32_t hash = (uint32_t)hash_bytes(text, size);
    for (unsigned i = 0; i < 3 && kept > 0 && kept < size && (text[kept] & 0xc0) == 0x80; i++)
        kept--;
    strbuf_truncate(out, start + kept);
    strbuf_addf(out, "… (cut, %s%zu bytes, %08x)", is_whole ? "" : "over ", size, hash);
}

/* The text of an event. */
static int event_text(struct profdata_strings *strings, uint64_t address, struct strbuf *out)
{
    size_t start = out->length;
    int rc = expand(strings, address, NULL, LENGTH_MAX, out);
    if (rc == LAM_E_TOOBIG || (rc >= 0 && out->length - start > PROFDATA_TEXT_MAX_BYTES)) {
        cut(out, start, PROFDATA_TEXT_MAX_BYTES, rc >= 0);
        strings->cut_texts++;
    }
    return rc == LAM_E_NOMEM || out->failed ? LAM_E_NOMEM : LAM_OK;
}

int profdata_strings_text(struct profdata_strings *strings, uint64_t id, struct strbuf *out)
{
    uint64_t address;
    int rc = address_of(strings, id, &address);
    if (rc < 0)
        return rc;
    if (address < strings->file->streams[PROFDATA_STRINGS].size)
        return event_text(strings, address, out);
    if (address != PROFDATA_NO_ADDRESS)
        profdata_fault(strings->file, LAM_E_CORRUPT, strings->file->size,
                       "an event's string %llu lies past the end", (unsigned long long)id);
    strbuf_add(out, PROFDATA_UNKNOWN_TEXT);
    return out->failed ? LAM_E_NOMEM : LAM_OK;
}

/* ---- names ---- */

/* Puts it into scratch. Labels that are too long are no labels of a compiler's; when all of them together are, the rest has none. */
static int label_text(struct profdata_strings *strings, uint64_t address, bool *is_cut)
{
    struct strbuf *text = &strings->scratch;
    strbuf_clear(text);
    int rc = expand(strings, address, is_cut, LENGTH_MAX, text);
    if (rc == LAM_E_NOMEM || text->failed)
        return LAM_E_NOMEM;
    if (rc == LAM_E_TOOBIG || text->length > PROFDATA_LABEL_MAX_BYTES) {
        cut(text, 0, PROFDATA_LABEL_MAX_BYTES, rc >= 0);
        tell(strings, address, "is too long for a label");
    }
    if (text->length > strings->budget_bytes) {
        strbuf_clear(text);
        tell(strings, address, "is left out: the labels are too long together");
        return LAM_E_TOOBIG;
    }
    strings->budget_bytes -= text->length;
    return rc;
}

/* A label that is written out at this address. */
static int plain_name(struct profdata_strings *strings, uint64_t address, uint32_t *name,
                      bool *has_args)
{
    uint64_t known;
    if (map_get(&strings->plain, address, &known)) {
        *name = (uint32_t)known;
        *has_args = *has_args || known >> 32;
        return LAM_OK;
    }
    bool is_cut;
    int rc = label_text(strings, address, &is_cut);
    if (rc == LAM_E_NOMEM || strings->scratch.failed)
        return LAM_E_NOMEM;
    is_cut = is_cut || rc < 0; /* who knows */
    *has_args = *has_args || is_cut;
    *name = strings->unknown;
    if (rc >= 0 || strings->scratch.length > 0)
        rc = intern_add(strings->names, strbuf_text(&strings->scratch), strings->scratch.length,
                        name);
    else
        rc = LAM_OK;
    if (rc >= 0 && strings->plain.count < PLAIN_LABELS_MAX)
        rc = map_put(&strings->plain, address, *name | (uint64_t)is_cut << 32);
    return rc;
}

/* Follows references that stand where a label does, as rustc writes them, to the string that spells the label. */
static int name_at(struct profdata_strings *strings, uint64_t address, uint32_t *name, bool *has_args)
{
    unsigned size = id_bytes(strings);
    *has_args = false;
    for (unsigned i = 0; i < CHAIN_MAX; i++) {
        uint64_t left;
        const uint8_t *bytes = string_at(strings, address, &left);
        if (left == 0) {
            profdata_fault(strings->file, LAM_E_CORRUPT, strings->file->size,
                           "string %llu lies past the end",
                           (unsigned long long)address + PROFDATA_FIRST_ADDRESS_ID);
            *name = strings->unknown;
            return LAM_OK;
        }
        if (left < size + 2 || bytes[0] != STRING_REFERENCE ||
            (bytes[size + 1] != STRING_END && bytes[size + 1] != PROFDATA_SEPARATOR))
            break;
        uint64_t id = read_id(strings, bytes + 1);
        if (id < PROFDATA_FIRST_ADDRESS_ID)
            break; /* virtual, or none: the slow way knows */
        *has_args = *has_args || bytes[size + 1] == PROFDATA_SEPARATOR;
        address = id - PROFDATA_FIRST_ADDRESS_ID;
    }
    return plain_name(strings, address, name, has_args);
}

int profdata_strings_name_slow(struct profdata_strings *strings, uint64_t id, uint32_t *name)
{
    bool has_args;
    *name = strings->unknown;
    if (id >= PROFDATA_FIRST_ADDRESS_ID)
        return name_at(strings, id - PROFDATA_FIRST_ADDRESS_ID, name, &has_args);
    uint64_t known;
    if (id >= strings->virtual_count && map_get(&strings->sparse_names, id, &known))
        *name = (uint32_t)known;
    return LAM_OK;
}

bool profdata_strings_has_args_slow(struct profdata_strings *strings, uint64_t id)
{
    uint32_t name;
    bool has_args;
    if (id < PROFDATA_FIRST_ADDRESS_ID ||
        id - PROFDATA_FIRST_ADDRESS_ID >= strings->file->streams[PROFDATA_STRINGS].size)
        return true;
    return name_at(strings, id - PROFDATA_FIRST_ADDRESS_ID, &name, &has_args) < 0 || has_args;
}

/* ---- opening ---- */

/* A table by id where the ids are dense, as a compiler's are; what a file may make us allocate stays a small multiple of its
 * own size. */
static int make_table(struct profdata_strings *strings, uint64_t entries, uint64_t end,
                      bool wants_args)
{
    if (end == 0 || end > 4 * entries + 65536)
        return LAM_OK;
    strings->virtual_names = mem_alloc((size_t)end * sizeof *strings->virtual_names);
    strings->virtual_args = mem_zalloc((size_t)end / 64 + 1, sizeof *strings->virtual_args);
    if (wants_args)
        strings->virtual_arguments = mem_alloc((size_t)end * sizeof *strings->virtual_arguments);
    if (!strings->virtual_names || !strings->virtual_args ||
        (wants_args && !strings->virtual_arguments))
        return LAM_E_NOMEM;
    if (wants_args)
        memset(strings->virtual_arguments, 0xff,
               (size_t)end * sizeof *strings->virtual_arguments); /* PROFDATA_LONG_WAY */
    memset(strings->virtual_names, 0xff, (size_t)end * sizeof *strings->virtual_names);
    strings->virtual_count = end;
    return LAM_OK;
}

static int load_index(struct profdata_strings *strings)
{
    struct profdata_file *file = strings->file;
    uint64_t count_and_end[2] = {0, 0};
    struct last_entry last = {PROFDATA_NO_ADDRESS, strings->unknown, PROFDATA_LONG_WAY, false};
    uint64_t size = file->streams[PROFDATA_INDEX].size;
    if (size > PROFDATA_HEADER_BYTES && (size - PROFDATA_HEADER_BYTES) % file->entry_bytes != 0)
        profdata_fault(file, LAM_E_TRUNCATED, profdata_offset_of(file, PROFDATA_INDEX, size - 1),
                       "the string index ends inside an entry");
    int rc = each_entry(strings, find_last_id, false, count_and_end);
    if (rc >= 0)
        rc = make_table(strings, count_and_end[0], count_and_end[1], strings->args != NULL);
    if (rc >= 0)
        rc = each_entry(strings, add_name, true, &last);
    return rc;
}

/* Programs store the metadata first. A code ends the walk over the index. */
static int find_metadata(struct profdata_strings *strings, struct index_entry entry, void *ctx)
{
    (void)ctx;
    if (entry.id == PROFDATA_METADATA_ID)
        strings->metadata_address = entry.address;
    return entry.id == PROFDATA_METADATA_ID ? LAM_E_EXISTS : LAM_OK;
}

void profdata_strings_peek(struct profdata_strings *strings, struct profdata_file *file)
{
    *strings = (struct profdata_strings){.file = file, .metadata_address = PROFDATA_NO_ADDRESS};
    each_entry(strings, find_metadata, false, NULL);
}

int profdata_strings_open(struct profdata_strings *strings, struct profdata_file *file,
                          struct intern *names, bool wants_args, struct lam_error *err)
{
    *strings = (struct profdata_strings){
        .file = file, .names = names, .metadata_address = PROFDATA_NO_ADDRESS};
    strings->budget_bytes = 8 * file->streams[PROFDATA_STRINGS].size + (16 << 20);
    if (wants_args)
        strings->args = profdata_args_new();
    int rc = wants_args && !strings->args ? LAM_E_NOMEM : LAM_OK;
    if (rc >= 0)
        rc = intern_add_str(names, PROFDATA_UNKNOWN_TEXT, &strings->unknown);
    if (rc >= 0)
        rc = load_index(strings);
    if (rc >= 0)
        return LAM_OK;
    profdata_strings_close(strings);
    return lam_error_set(err, rc, "%s: %s", file->name, lam_code_text(rc));
}

void profdata_strings_close(struct profdata_strings *strings)
{
    mem_free(strings->virtual_names);
    mem_free(strings->virtual_args);
    mem_free(strings->virtual_arguments);
    mem_free(strings->virtual_addresses);
    profdata_args_free(strings->args);
    map_free(&strings->sparse_names);
    map_free(&strings->addresses);
    map_free(&strings->plain);
    strbuf_free(&strings->scratch);
    *strings = (struct profdata_strings){.file = NULL};
}
