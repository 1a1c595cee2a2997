#include "reader/event_names.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* Beyond what the file itself holds: strings with pages missing claim more than is there. */
#define SPARE_BYTES (16ull << 20)

/* A text put together of others stops here: parts that hold each other twice would double with every step. */
#define EXPANSION_MAX_BYTES (64ull << 20)
#define EXPANSION_ALL_BYTES (1ull << 30)

static uint32_t load_u32(const struct stream_file *file, const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return file->is_swapped ? __builtin_bswap32(word) : word;
}

struct load {
    struct event_names *names;
    const struct stream_file *file;
    uint64_t told; /* strings so far */
};

/* Numbers are dense, and pages may be missing; one far out of reach is damage. */
static bool is_string_number(const struct load *load, uint32_t id)
{
    return id > 0 && id <= (1u << 20) + 64 * load->told;
}

/* ---- strings ---- */

/* The entry of a string; NULL when memory is short. */
static struct event_string *string_at(struct event_names *names, uint32_t id)
{
    if (id >= names->strings.count) {
        size_t count = names->strings.count + names->strings.count / 2;
        count = count > id ? count : (size_t)id + 1;
        if (array_resize(&names->strings, count) < 0)
            return NULL;
    }
    return &names->strings.items[id];
}

/* 1: fine; 0: damage; LAM_E_NOMEM. */
static int on_string(struct load *load, const struct stream_record_view *rec)
{
    struct event_names *names = load->names;
    const struct stream_rec_string *body = &rec->body.string;
    if (!is_string_number(load, rec->aux) || body->offset > body->total_bytes ||
        rec->text[0].size > body->total_bytes - body->offset)
        return 0;
    struct event_string *string = string_at(names, rec->aux);
    if (!string)
        return LAM_E_NOMEM;
    if (!string->is_there) {
        uint64_t missing = body->total_bytes - rec->text[0].size;
        if (missing > names->budget_bytes)
            return 0;
        names->budget_bytes -= missing;
        string->bytes = arena_alloc(&names->arena, (size_t)body->total_bytes + 1);
        if (!string->bytes)
            return LAM_E_NOMEM;
        if (body->total_bytes != rec->text[0].size)
            memset(string->bytes, '?', body->total_bytes);
        string->size = body->total_bytes;
        string->is_there = 1;
        load->told++;
    } else if (string->is_composed || string->size != body->total_bytes) {
        return 0;
    } else {
        uint32_t left = string->size - string->filled;
        names->budget_bytes += rec->text[0].size < left ? rec->text[0].size : left;
    }
    string->filled += (uint32_t)(rec->text[0].size < string->size - string->filled
                                     ? rec->text[0].size
                                     : string->size - string->filled);
    memcpy(string->bytes + body->offset, rec->text[0].bytes, rec->text[0].size);
    return 1;
}

static int on_composed(struct load *load, const struct stream_record_view *rec)
{
    struct event_names *names = load->names;
    uint32_t count = rec->body.composed.count;
    if (!is_string_number(load, rec->aux) || (uint64_t)count * 4 > rec->tail.size)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t part = load_u32(load->file, rec->tail.bytes + (size_t)i * 4);
        if (part >= rec->aux) /* so that no string holds itself */
            return 0;
    }
    struct event_string *string = string_at(names, rec->aux);
    uint32_t *parts = arena_array(&names->arena, count + 1, sizeof *parts);
    if (!string || !parts)
        return LAM_E_NOMEM;
    if (string->is_there)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        parts[i] = load_u32(load->file, rec->tail.bytes + (size_t)i * 4);
    string->parts = parts;
    string->size = count;
    string->is_there = string->is_composed = 1;
    load->told++;
    string->has_args = (rec->body.composed.flags & STREAM_COMPOSED_ARGS) != 0;
    return 1;
}

/* ---- kinds, counters, tracks ---- */

static int on_kind(struct load *load, const struct stream_record_view *rec)
{
    struct event_names *names = load->names;
    const struct stream_rec_kind *body = &rec->body.kind;
    if (rec->aux < STREAM_SLOT_KIND_MIN || rec->aux == STREAM_SLOT_KIND_ELSEWHERE)
        return 0;
    struct event_kind kind = {
        .name = body->name,
        .label = body->label,
        .space = body->space,
        .weight = body->weight ? body->weight : 1,
        .flags = body->flags,
        .is_there = true,
    };
    if (rec->aux < 256) {
        if (!names->kinds[rec->aux].is_there)
            names->kinds[rec->aux] = kind;
        return 1;
    }
    bool added;
    if (!map_slot(&names->more_by_number, rec->aux, names->more_kinds.count, &added))
        return LAM_E_NOMEM;
    return added && array_push(&names->more_kinds, kind) < 0 ? LAM_E_NOMEM : 1;
}

static int on_counter(struct load *load, const struct stream_record_view *rec)
{
    struct event_names *names = load->names;
    if (rec->aux == 0 || rec->aux > 65535)
        return 0;
    if (rec->aux >= names->counters.count && array_resize(&names->counters, (size_t)rec->aux + 1) < 0)
        return LAM_E_NOMEM;
    names->counters.items[rec->aux] =
        (struct event_counter){rec->body.counter.name, rec->body.counter.measure};
    return 1;
}

static int on_track(struct load *load, const struct stream_record_view *rec)
{
    struct event_track track = {rec->body.track.ticks, rec->aux, rec->body.track.name};
    return array_push(&load->names->tracks, track) < 0 ? LAM_E_NOMEM : 1;
}

/* ---- virtual ids ---- */

/* The first name that an id is given counts. */
static int add_name(struct event_names *names, uint32_t space, uint32_t id, struct event_name name)
{
    bool added;
    if (!map_slot(&names->by_id, (uint64_t)space << 32 | id, names->names.count, &added))
        return LAM_E_NOMEM;
    return added ? array_push(&names->names, name) : LAM_OK;
}

static int on_names(struct load *load, const struct stream_record_view *rec)
{
    const struct stream_rec_names *body = &rec->body.names;
    uint64_t heads = (uint64_t)body->count * 8;
    if (heads > rec->tail.size || body->text_bytes > rec->tail.size - heads)
        return 0;
    const char *ids = rec->tail.bytes, *ends = ids + heads / 2;
    char *text = arena_strndup(&load->names->arena, rec->tail.bytes + heads, body->text_bytes);
    if (!text)
        return LAM_E_NOMEM;
    uint32_t from = 0;
    for (uint32_t i = 0; i < body->count; i++) {
        uint32_t end = load_u32(load->file, ends + (size_t)i * 4);
        if (end < from || end > body->text_bytes)
            return 0;
        struct event_name name = {text + from, end - from, 0};
        if (add_name(load->names, rec->aux, load_u32(load->file, ids + (size_t)i * 4), name) < 0)
            return LAM_E_NOMEM;
        from = end;
    }
    return 1;
}

static int on_map(struct load *load, const struct stream_record_view *rec)
{
    uint32_t count = rec->body.map.count;
    if ((uint64_t)count * 8 > rec->tail.size)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *pair = rec->tail.bytes + (size_t)i * 8;
        struct event_name name = {.string = load_u32(load->file, pair + 4)};
        if (add_name(load->names, rec->aux, load_u32(load->file, pair), name) < 0)
            return LAM_E_NOMEM;
    }
    return 1;
}

static int on_time(struct load *load, uint64_t ticks)
{
    if (ticks > load->names->last_ticks)
        load->names->last_ticks = ticks;
    return 1;
}

static int on_thread_end(struct load *load, const struct stream_record_view *rec)
{
    uint64_t ticks = rec->body.thread_end.ticks;
    int rc = map_put(&load->names->thread_ends, rec->aux, ticks);
    return rc < 0 ? rc : on_time(load, ticks);
}

static int on_record(struct load *load, const struct stream_record_view *rec)
{
    switch (rec->type) {
    case STREAM_REC_TIME:
        return on_time(load, rec->body.time.ticks);
    case STREAM_REC_THREAD_END:
        return on_thread_end(load, rec);
    case STREAM_REC_PROCESS_END:
        return on_time(load, rec->body.process_end.ticks);
    case STREAM_REC_STRING:
        return on_string(load, rec);
    case STREAM_REC_COMPOSED:
        return on_composed(load, rec);
    case STREAM_REC_KIND:
        return on_kind(load, rec);
    case STREAM_REC_COUNTER:
        return on_counter(load, rec);
    case STREAM_REC_TRACK:
        return on_track(load, rec);
    case STREAM_REC_NAMES:
        return on_names(load, rec);
    case STREAM_REC_MAP:
        return on_map(load, rec);
    default:
        return 1;
    }
}

int event_names_load(struct event_names *names, const struct stream_file *file,
                     struct stream_faults *faults)
{
    struct load load = {names, file, 0};
    names->budget_bytes = file->size_bytes + SPARE_BYTES;
    names->expansion_bytes = EXPANSION_ALL_BYTES;
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    stream_walk_begin(&walk, stream_pages_of_kind(file, STREAM_PAGE_RECORDS));
    struct stream_record_view rec;
    int rc;
    while ((rc = stream_next_record(&walk, &rec)) > 0) {
        rc = on_record(&load, &rec);
        if (rc < 0)
            break;
        if (rc == 0)
            stream_faults_add(&walk.faults, STREAM_DAMAGE_RECORDS, rec.offset, 1);
    }
    stream_faults_merge(faults, &walk.faults);
    stream_walk_close(&walk);
    return rc < 0 ? rc : LAM_OK;
}

void event_names_free(struct event_names *names)
{
    array_free(&names->strings);
    array_free(&names->more_kinds);
    map_free(&names->more_by_number);
    array_free(&names->counters);
    array_free(&names->tracks);
    array_free(&names->names);
    map_free(&names->by_id);
    map_free(&names->thread_ends);
    arena_free(&names->arena);
    array_free(&names->stack);
    *names = (struct event_names){0};
}

/* ---- texts ---- */

const struct event_kind *event_names_kind(const struct event_names *names, uint32_t number)
{
    static const struct event_kind lost = {.weight = 1};
    uint64_t index;
    if (number < 256)
        return names->kinds[number].is_there ? &names->kinds[number] : &lost;
    return map_get(&names->more_by_number, number, &index) ? &names->more_kinds.items[index] : &lost;
}

static const struct event_string *string_get(const struct event_names *names, uint32_t id)
{
    return id && id < names->strings.count && names->strings.items[id].is_there
               ? &names->strings.items[id]
               : NULL;
}

static void add_number(struct strbuf *out, uint32_t id)
{
    strbuf_add_char(out, '#');
    strbuf_add_u64(out, id);
}

/* Marks on the stack of parts that are no strings. No string has such a number: every one took bytes of the file. */
enum { MARK_COMMA = 0x7ffffff0, MARK_OPEN, MARK_CLOSE };

static void add_mark(struct strbuf *out, uint32_t mark)
{
    strbuf_add(out, mark == MARK_COMMA ? ", " : mark == MARK_OPEN ? "(" : ")");
}

/* Puts a composed string's parts onto the stack, the first one on top. */
static int stack_parts(struct event_names *names, const struct event_string *string)
{
    int rc = LAM_OK;
    if (string->has_args && string->size > 1)
        rc = array_push(&names->stack, MARK_CLOSE);
    for (uint32_t i = string->size; rc >= 0 && i > 0; i--) {
        rc = array_push(&names->stack, string->parts[i - 1]);
        if (rc >= 0 && string->has_args && i > 1)
            rc = array_push(&names->stack, i == 2 ? MARK_OPEN : MARK_COMMA);
    }
    return rc;
}

void event_names_add_string(struct event_names *names, uint32_t id, struct strbuf *out)
{
    size_t begin = out->length;
    array_clear(&names->stack);
    if (id >= MARK_COMMA && id <= MARK_CLOSE) {
        add_number(out, id);
        return;
    }
    int rc = array_push(&names->stack, id);
    uint64_t steps = 0; /* parts may be empty and many */
    while (rc >= 0 && names->stack.count && !out->failed) {
        uint32_t top = array_pop(&names->stack);
        if (out->length - begin > EXPANSION_MAX_BYTES || names->expansion_bytes == 0 ||
            ++steps > EXPANSION_MAX_BYTES / 16) {
            strbuf_add(out, "...");
            break;
        }
        const struct event_string *string = string_get(names, top);
        if (top >= MARK_COMMA && top <= MARK_CLOSE) {
            add_mark(out, top);
        } else if (top == 0) {
            continue; /* the empty label */
        } else if (!string) {
            add_number(out, top);
        } else if (!string->is_composed) {
            strbuf_add_bytes(out, string->bytes, string->size);
        } else {
            rc = stack_parts(names, string);
        }
    }
    size_t grown = out->length - begin;
    const struct event_string *whole = string_get(names, id);
    if (whole && whole->is_composed)
        names->expansion_bytes -= grown < names->expansion_bytes ? grown : names->expansion_bytes;
    out->failed |= rc < 0;
}

/* The label of a string: of one with arguments its first part. */
static void add_string_label(struct event_names *names, uint32_t id, struct strbuf *out)
{
    const struct event_string *string = string_get(names, id);
    bool has_label = string && string->is_composed && string->has_args && string->size;
    event_names_add_string(names, has_label ? string->parts[0] : id, out);
}

static const struct event_name *name_of(const struct event_names *names, uint32_t space, uint32_t id)
{
    uint64_t index;
    return map_get(&names->by_id, (uint64_t)space << 32 | id, &index) ? &names->names.items[index]
                                                                      : NULL;
}

void event_names_add_label(struct event_names *names, uint32_t number, uint32_t id, struct strbuf *out)
{
    const struct event_kind *kind = event_names_kind(names, number);
    if (kind->label) {
        add_string_label(names, kind->label, out);
        return;
    }
    const struct event_name *name = kind->space ? name_of(names, kind->space, id) : NULL;
    if (kind->space && !name)
        add_number(out, id);
    else if (name && name->bytes)
        strbuf_add_bytes(out, name->bytes, name->size);
    else
        add_string_label(names, name ? name->string : id, out);
}

void event_names_add_kind(struct event_names *names, uint32_t number, struct strbuf *out)
{
    const struct event_kind *kind = event_names_kind(names, number);
    if (kind->is_there && kind->name)
        event_names_add_string(names, kind->name, out);
    else
        add_number(out, number);
}

/* ---- arguments ---- */

void event_args_clear(struct event_args *args)
{
    strbuf_clear(&args->texts);
    array_clear(&args->ends);
}

void event_args_free(struct event_args *args)
{
    strbuf_free(&args->texts);
    array_free(&args->ends);
}

static int end_arg(struct event_args *args)
{
    return args->texts.failed ? LAM_E_NOMEM : array_push(&args->ends, args->texts.length);
}

static int add_string_args(struct event_names *names, uint32_t id, struct event_args *args)
{
    const struct event_string *string = string_get(names, id);
    int rc = LAM_OK;
    if (!string || !string->is_composed || !string->has_args)
        return rc;
    for (uint32_t i = 1; rc >= 0 && i < string->size; i++) {
        event_names_add_string(names, string->parts[i], &args->texts);
        rc = end_arg(args);
    }
    return rc;
}

int event_names_add_args(struct event_names *names, uint32_t number, uint32_t id,
                         struct event_args *args)
{
    const struct event_kind *kind = event_names_kind(names, number);
    const struct event_name *name = kind->space ? name_of(names, kind->space, id) : NULL;
    int rc = kind->label ? add_string_args(names, kind->label, args) : LAM_OK;
    if (rc < 0)
        return rc;
    if (kind->label && kind->space) {
        if (name && name->bytes)
            strbuf_add_bytes(&args->texts, name->bytes, name->size);
        else if (name)
            event_names_add_string(names, name->string, &args->texts);
        else
            add_number(&args->texts, id);
        return end_arg(args);
    }
    if (kind->label && id) {
        event_names_add_string(names, id, &args->texts);
        return end_arg(args);
    }
    if (kind->label || (kind->space && (!name || name->bytes)))
        return LAM_OK;
    return add_string_args(names, kind->space ? name->string : id, args);
}

static void add_text_slots(const struct stream_slot *slots, size_t count, uint64_t size,
                           struct strbuf *out)
{
    for (size_t i = 0; i < count && size > 0; i++) {
        unsigned char bytes[16];
        uint64_t head = slots[i].head, rest = slots[i].rest;
        for (unsigned k = 0; k < 4; k++)
            bytes[k] = (unsigned char)(head >> (8 * k));
        for (unsigned k = 4; k < 7; k++)
            bytes[k] = (unsigned char)(head >> (8 * (k + 1)));
        for (unsigned k = 0; k < 8; k++)
            bytes[7 + k] = (unsigned char)(rest >> (8 * k));
        size_t take = size < STREAM_TEXT_BYTES ? (size_t)size : (size_t)STREAM_TEXT_BYTES;
        strbuf_add_bytes(out, bytes, take);
        size -= take;
    }
}

static size_t text_slots_behind(const struct stream_slot *slots, size_t count)
{
    size_t texts = 0;
    while (texts < count && stream_slot_code(&slots[texts]) == STREAM_SLOT_TEXT)
        texts++;
    return texts;
}

static void add_value(struct event_names *names, const struct stream_slot *slot, size_t behind,
                      struct strbuf *out)
{
    double number;
    switch (slot->head >> 40 & 0xff) {
    case STREAM_ARG_I64:
        strbuf_add_i64(out, (int64_t)slot->rest);
        return;
    case STREAM_ARG_DOUBLE:
        memcpy(&number, &slot->rest, sizeof number);
        strbuf_addf(out, "%.17g", number);
        return;
    case STREAM_ARG_STRING:
        event_names_add_string(names, slot->rest > UINT32_MAX ? 0 : (uint32_t)slot->rest, out);
        return;
    case STREAM_ARG_TEXT:
        add_text_slots(slot + 1, text_slots_behind(slot + 1, behind), slot->rest, out);
        return;
    default:
        strbuf_add_u64(out, slot->rest);
        return;
    }
}

static void add_counter(struct event_names *names, uint32_t counter, uint64_t value,
                        struct strbuf *out)
{
    struct event_counter info = {0};
    if (counter < names->counters.count)
        info = names->counters.items[counter];
    if (info.name)
        event_names_add_string(names, info.name, out);
    else
        add_number(out, counter);
    strbuf_add_char(out, '=');
    strbuf_add_u64(out, value);
    if (info.measure == STREAM_MEASURE_CPU_TIME)
        strbuf_add(out, " ns");
}

/* What a COUNTER slot says of the interval before it. False: nothing that is known. */
static bool counted_by(const struct stream_slot *slot, const struct event_end_counters *at_end,
                       uint32_t *number, uint64_t *value)
{
    *number = stream_slot_id(slot) - 1;
    *value = slot->rest;
    if (stream_slot_code(slot) != STREAM_SLOT_COUNTER)
        return false;
    if (slot->head >> STREAM_SLOT_TIME_SHIFT & 1)
        return true;
    if (!at_end || *number >= EVENT_COUNTERS_MAX || !(at_end->known >> *number & 1))
        return false;
    *value = at_end->value[*number] - *value; /* as it began */
    return true;
}

struct event_end_counters event_counted(const struct stream_slot *slots, size_t count,
                                        const struct event_end_counters *at_end)
{
    struct event_end_counters counted = {0};
    for (size_t i = 0; i < count; i++) {
        uint32_t number;
        uint64_t value;
        if (!counted_by(&slots[i], at_end, &number, &value) || number >= EVENT_COUNTERS_MAX)
            continue;
        counted.known |= 1u << number;
        counted.value[number] = value;
    }
    return counted;
}

int event_names_add_counters(struct event_names *names, const struct stream_slot *slots, size_t count,
                             const struct event_end_counters *at_end, struct event_args *args)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        uint32_t number;
        uint64_t value;
        if (!counted_by(&slots[i], at_end, &number, &value))
            continue;
        add_counter(names, number + 1, value, &args->texts);
        rc = end_arg(args);
    }
    return rc;
}

int event_names_add_slots(struct event_names *names, const struct stream_slot *slots, size_t count,
                          struct event_args *args)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        uint32_t code = stream_slot_code(&slots[i]);
        if (code == STREAM_SLOT_ARG) {
            if (stream_slot_id(&slots[i])) {
                event_names_add_string(names, stream_slot_id(&slots[i]), &args->texts);
                strbuf_add_char(&args->texts, '=');
            }
            add_value(names, &slots[i], count - i - 1, &args->texts);
        } else {
            continue;
        }
        rc = end_arg(args);
    }
    return rc;
}
