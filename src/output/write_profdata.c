#include "output/write_profdata.h"

#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/units.h"
#include "output/profdata_pages.h"
#include "output/safe_text.h"

#define FIRST_ADDRESS_ID UINT64_C(100000003)
#define METADATA_ID      UINT64_C(100000001)
#define TIME_MAX         UINT64_C(0xfffffffffffd) /* 78 hours of nanoseconds: a time has 48 bits */
#define VALUE_MAX        UINT64_C(0xffffffffffff)
#define INSTANT_END      UINT64_C(0xffffffffffff)
#define INTEGER_END      UINT64_C(0xfffffffffffe)

enum {
    EVENT_BYTES = 32,
    SEPARATOR = 0x1e,
    REFERENCE = 0xfe,
    STRING_END = 0xff,
    KNOWN_ARGS = 1 << 15, /* strings of labels with arguments that are found again */
    KNOWN_IDS = 3 << 18,  /* the same by the input's number, which says it at once: 32 MiB of map */
    SPARE_TID = 1 << 20,  /* threads whose number is taken are numbered from here */
};

struct label {
    uint64_t text_id; /* strings */
    uint64_t kind_id;
};

struct open_interval {
    uint64_t start, end, id, kind;
    uint64_t order; /* of its start */
};

struct lane { /* a thread or a track */
    uint32_t tid;
    LAM_ARRAY(struct open_interval)
    open; /* in the order of their starts, or, tangled, a heap: what ends first is at the root */
    bool is_tangled; /* some overlap */
};

struct known_args { /* what a string holds, as 128 bits of hash */
    uint64_t hash, check, id;
};

struct writer {
    struct export_options options;
    struct profdata_pages pages;
    LAM_ARRAY(struct label) labels; /* by id */
    struct map lanes_by_place;      /* track << 32 | thread → index of lanes */
    struct map tids;                /* taken */
    LAM_ARRAY(struct lane) lanes;
    LAM_ARRAY(uint32_t) thread_tids; /* by thread id */
    uint32_t spare_tid;
    uint64_t generic_id; /* the kind of labels without one; 0: not written yet */
    struct known_args known[KNOWN_ARGS];
    struct map known_ids; /* args_id of the process known_process → string */
    uint32_t known_process;
    struct strbuf text, command;
    /* The process of the first event gives the file its metadata. */
    int64_t zero_ns;
    uint64_t started_unix_ns;
    uint32_t pid, process;
    bool has_process;
    enum profile_measure measure;
    uint64_t events, begun, clamped, folds, samples, tracks_away, processes;
};

/* ---- strings ---- */

static uint64_t end_string(struct writer *writer)
{
    strbuf_add_char(&writer->text, (char)STRING_END);
    return FIRST_ADDRESS_ID + profdata_pages_add(&writer->pages, PROFDATA_PAGE_STRINGS,
                                                 writer->text.data, writer->text.length);
}

/* An empty text would be no label to other readers. */
static void add_safe(struct writer *writer, struct profile_text text)
{
    if (text.size == 0)
        strbuf_add(&writer->text, "(empty)");
    safe_text_add(&writer->text, SAFE_PROFDATA, text.bytes, text.size);
}

static int write_text(struct writer *writer, struct profile_text text, uint64_t *id)
{
    strbuf_clear(&writer->text);
    add_safe(writer, text);
    *id = end_string(writer);
    return strbuf_ok(&writer->text) ? LAM_OK : LAM_E_NOMEM;
}

static int on_label(void *ctx, const struct profile_label *told)
{
    struct writer *writer = ctx;
    struct label label = {0, 0};
    int rc = write_text(writer, told->text, &label.text_id);
    if (rc < 0)
        return rc;
    if (told->kind < writer->labels.count)
        label.kind_id = writer->labels.items[told->kind].text_id;
    if (told->label >= writer->labels.count &&
        array_resize(&writer->labels, (size_t)told->label + 1) < 0)
        return LAM_E_NOMEM;
    writer->labels.items[told->label] = label;
    return LAM_OK;
}

static int kind_of(struct writer *writer, uint32_t label, uint64_t *kind)
{
    static const char generic[] = "GenericActivity";
    *kind = label < writer->labels.count ? writer->labels.items[label].kind_id : 0;
    if (*kind)
        return LAM_OK;
    int rc = LAM_OK;
    if (!writer->generic_id)
        rc = write_text(writer, (struct profile_text){generic, sizeof generic - 1},
                        &writer->generic_id);
    *kind = writer->generic_id;
    return rc;
}

/* The string of a label with its arguments: a reference, and each argument behind a separator. The same one again is mostly
 * found; that it is the same is known by 128 bits of hash. */
static int id_of(struct writer *writer, uint32_t label, const struct profile_text *args,
                 size_t argc, uint64_t *id)
{
    *id = label < writer->labels.count ? writer->labels.items[label].text_id : 0;
    if (argc == 0 || writer->options.redacts)
        return LAM_OK;
    unsigned char reference[9] = {REFERENCE};
    profdata_put_u64(reference + 1, *id);
    strbuf_clear(&writer->text);
    strbuf_add_bytes(&writer->text, reference, sizeof reference);
    for (size_t i = 0; i < argc; i++) {
        strbuf_add_char(&writer->text, SEPARATOR);
        add_safe(writer, args[i]);
    }
    if (!strbuf_ok(&writer->text))
        return LAM_E_NOMEM;
    uint64_t hash = hash_bytes_seed(writer->text.data, writer->text.length, 1);
    uint64_t check = hash_bytes_seed(writer->text.data, writer->text.length, 0x9e3779b97f4a7c15);
    struct known_args *known = &writer->known[hash % KNOWN_ARGS];
    if (known->id == 0 || known->hash != hash || known->check != check)
        *known = (struct known_args){hash, check, end_string(writer)};
    *id = known->id;
    return strbuf_ok(&writer->text) ? LAM_OK : LAM_E_NOMEM;
}

static bool knows_args(void *ctx, uint32_t process, uint64_t args_id)
{
    const struct writer *writer = ctx;
    return process == writer->known_process && map_get(&writer->known_ids, args_id, NULL);
}

/* What the input knows to be the same string is written once, as far as that fits into memory. */
static int known_id_of(struct writer *writer, uint32_t process, uint32_t label, uint64_t args_id,
                       const struct profile_text *args, size_t argc, uint64_t *id)
{
    if (process != writer->known_process) {
        map_clear(&writer->known_ids);
        writer->known_process = process;
    }
    if (args_id && map_get(&writer->known_ids, args_id, id))
        return LAM_OK;
    int rc = id_of(writer, label, args, argc, id);
    if (rc >= 0 && args_id && writer->known_ids.count < KNOWN_IDS)
        rc = map_put(&writer->known_ids, args_id, *id);
    return rc;
}

/* ---- events ---- */

static void write_event(struct writer *writer, uint64_t kind, uint64_t id, uint32_t tid,
                        uint64_t start, uint64_t end)
{
    unsigned char event[EVENT_BYTES];
    profdata_put_u64(event, kind);
    profdata_put_u64(event + 8, id);
    profdata_put_u32(event + 16, tid);
    profdata_put_u32(event + 20, (uint32_t)start);
    profdata_put_u32(event + 24, (uint32_t)end);
    profdata_put_u32(event + 28,
                     (uint32_t)(start >> 16 & 0xffff0000) | (uint32_t)(end >> 32 & 0xffff));
    profdata_pages_add(&writer->pages, PROFDATA_PAGE_EVENTS, event, sizeof event);
    writer->events++;
}

static uint64_t time_of(struct writer *writer, int64_t at_ns)
{
    uint64_t time = at_ns > writer->zero_ns ? (uint64_t)at_ns - (uint64_t)writer->zero_ns : 0;
    if (at_ns < writer->zero_ns || time > TIME_MAX)
        writer->clamped++;
    return time < TIME_MAX ? time : TIME_MAX;
}

/* ---- what is under way ---- */

/* Of those with the same end the inner one ends first: the one that began last. */
static bool ends_before(const struct open_interval *a, const struct open_interval *b)
{
    return a->end < b->end || (a->end == b->end && a->order > b->order);
}

static void swap_open(struct open_interval *a, struct open_interval *b)
{
    struct open_interval kept = *a;
    *a = *b;
    *b = kept;
}

/* While they nest the last one ends first: the other way round they are a heap. */
static void become_heap(struct lane *lane)
{
    for (size_t i = 0, k = lane->open.count; i + 1 < k--; i++)
        swap_open(&lane->open.items[i], &lane->open.items[k]);
    lane->is_tangled = true;
}

static int heap_push(struct lane *lane, const struct open_interval *item)
{
    if (array_push(&lane->open, *item) < 0)
        return LAM_E_NOMEM;
    struct open_interval *heap = lane->open.items;
    for (size_t at = lane->open.count - 1; at > 0 && ends_before(&heap[at], &heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        swap_open(&heap[at], &heap[(at - 1) / 2]);
    return LAM_OK;
}

static void heap_pop(struct lane *lane)
{
    struct open_interval *heap = lane->open.items;
    size_t count = --lane->open.count, at = 0;
    heap[0] = heap[count];
    for (;;) {
        size_t first = 2 * at + 1;
        if (first >= count)
            return;
        if (first + 1 < count && ends_before(&heap[first + 1], &heap[first]))
            first++;
        if (!ends_before(&heap[first], &heap[at]))
            return;
        swap_open(&heap[at], &heap[first]);
        at = first;
    }
}

/* Writes what has ended by then, what ended first first. */
static void close_until(struct writer *writer, struct lane *lane, uint64_t until)
{
    while (lane->open.count) {
        struct open_interval item = lane->is_tangled ? lane->open.items[0] : array_last(&lane->open);
        if (item.end > until)
            return;
        write_event(writer, item.kind, item.id, lane->tid, item.start, item.end);
        if (lane->is_tangled)
            heap_pop(lane);
        else
            lane->open.count--;
    }
    lane->is_tangled = false;
}

static uint32_t free_tid(struct writer *writer, uint32_t wanted)
{
    while (map_get(&writer->tids, wanted, NULL))
        wanted = writer->spare_tid++;
    return wanted;
}

static int lane_of(struct writer *writer, uint32_t thread, uint32_t track, struct lane **out)
{
    bool added;
    uint64_t place = (uint64_t)track << 32 | (track ? 0 : thread);
    uint64_t *index = map_slot(&writer->lanes_by_place, place, writer->lanes.count, &added);
    if (!index)
        return LAM_E_NOMEM;
    if (added) {
        struct lane fresh = {.tid = writer->spare_tid};
        if (!track && thread < writer->thread_tids.count)
            fresh.tid = writer->thread_tids.items[thread];
        fresh.tid = free_tid(writer, fresh.tid);
        if (map_put(&writer->tids, fresh.tid, 1) < 0 || array_push(&writer->lanes, fresh) < 0)
            return LAM_E_NOMEM;
    }
    *out = &writer->lanes.items[*index];
    return LAM_OK;
}

static int on_interval(void *ctx, const struct profile_interval *told)
{
    struct writer *writer = ctx;
    struct lane *lane;
    struct open_interval item;
    writer->has_process = true;
    int rc = lane_of(writer, told->thread, told->track, &lane);
    if (rc >= 0)
        rc = kind_of(writer, told->label, &item.kind);
    if (rc >= 0)
        rc = known_id_of(writer, told->process, told->label, told->args_id, told->args, told->argc,
                         &item.id);
    if (rc < 0)
        return rc;
    item.start = time_of(writer, told->start_ns);
    item.end = time_of(writer, told->end_ns);
    item.end = item.end < item.start ? item.start : item.end;
    writer->tracks_away += told->active_ns != PROFILE_UNKNOWN && told->end_ns >= told->start_ns &&
                           told->active_ns < (uint64_t)told->end_ns - (uint64_t)told->start_ns;
    close_until(writer, lane, item.start);
    item.order = writer->begun++;
    if (item.start < item.end) {
        if (!lane->is_tangled && lane->open.count && array_last(&lane->open).end < item.end)
            become_heap(lane);
        return lane->is_tangled ? heap_push(lane, &item) : array_push(&lane->open, item);
    }
    write_event(writer, item.kind, item.id, lane->tid, item.start, item.end);
    return LAM_OK;
}

static int on_instant(void *ctx, const struct profile_instant *told)
{
    struct writer *writer = ctx;
    struct lane *lane;
    uint64_t kind, id;
    writer->has_process = true;
    int rc = lane_of(writer, told->thread, told->track, &lane);
    if (rc >= 0)
        rc = kind_of(writer, told->label, &kind);
    if (rc >= 0)
        rc = known_id_of(writer, told->process, told->label, told->args_id, told->args, told->argc,
                         &id);
    if (rc < 0)
        return rc;
    uint64_t at = time_of(writer, told->at_ns);
    close_until(writer, lane, at);
    writer->clamped += told->has_value && told->value > VALUE_MAX;
    uint64_t value = told->value < VALUE_MAX ? told->value : VALUE_MAX;
    write_event(writer, kind, id, lane->tid, told->has_value ? value : at,
                told->has_value ? INTEGER_END : INSTANT_END);
    return LAM_OK;
}

static int on_fold(void *ctx, const struct profile_fold *told)
{
    ((struct writer *)ctx)->folds += told->count;
    return LAM_OK;
}

static int on_sample(void *ctx, const struct profile_sample *told)
{
    ((struct writer *)ctx)->samples += !(told->flags & PROFILE_SAMPLE_CLOSING);
    return LAM_OK;
}

/* ---- around the events ---- */

static int on_session(void *ctx, const struct profile_session *session)
{
    struct writer *writer = ctx;
    writer->started_unix_ns =
        session->started_at_unix_ns > 0 ? (uint64_t)session->started_at_unix_ns : 0;
    writer->measure = session->measure;
    return LAM_OK;
}

/* Programs put a space behind each argument. */
static int keep_command(struct writer *writer, const struct profile_process *process)
{
    strbuf_clear(&writer->command);
    if (writer->options.redacts)
        return LAM_OK;
    for (size_t i = 0; i < process->argc; i++) {
        strbuf_add_json_escaped(&writer->command, process->argv[i].bytes, process->argv[i].size);
        strbuf_add_char(&writer->command, ' ');
    }
    return strbuf_ok(&writer->command) ? LAM_OK : LAM_E_NOMEM;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct writer *writer = ctx;
    if (writer->has_process)
        return LAM_OK;
    writer->process = process->process;
    writer->pid = process->pid;
    writer->zero_ns = process->start_ns;
    return keep_command(writer, process);
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct writer *writer = ctx;
    if (thread->thread >= writer->thread_tids.count &&
        array_resize(&writer->thread_tids, (size_t)thread->thread + 1) < 0)
        return LAM_E_NOMEM;
    writer->thread_tids.items[thread->thread] = thread->tid;
    return LAM_OK;
}

static int on_process_end(void *ctx, const struct profile_process_end *end)
{
    struct writer *writer = ctx;
    (void)end;
    bool has_events = false;
    array_each(&writer->lanes, lane)
    {
        has_events = true;
        close_until(writer, lane, UINT64_MAX);
        array_free(&lane->open);
    }
    writer->processes += has_events;
    array_clear(&writer->lanes); /* threads and tracks of later processes are others */
    map_clear(&writer->lanes_by_place);
    return writer->pages.out->failed;
}

static const char *counter_of(enum profile_measure measure)
{
    switch (measure) {
    case PROFILE_MEASURE_INSTRUCTIONS:
        return "{ \"name\": \"instructions:u\", \"units\": [[\"instructions\", 1]] }";
    case PROFILE_MEASURE_INSTRUCTIONS_MINUS_IRQS:
        return "{ \"name\": \"instructions-minus-irqs:u\", \"units\": [[\"instructions\", 1]] }";
    case PROFILE_MEASURE_CYCLES:
        return "{ \"name\": \"cycles:u\", \"units\": [[\"cycles\", 1]] }";
    case PROFILE_MEASURE_CPU_TIME:
        return "{ \"name\": \"cpu-time\", \"units\": [[\"ns\", 1], [\"μs\", 1000], [\"ms\", "
               "1000000], [\"s\", 1000000000]] }";
    case PROFILE_MEASURE_OTHER:
        return "{ \"name\": \"other\", \"units\": [[\"events\", 1]] }";
    case PROFILE_MEASURE_TIME:
        break;
    }
    return "{ \"name\": \"wall-time\", \"units\": [[\"ns\", 1], [\"μs\", 1000], [\"ms\", 1000000], "
           "[\"s\", 1000000000]] }";
}

static int write_metadata(struct writer *writer)
{
    unsigned char entry[16];
    uint64_t zero = writer->measure == PROFILE_MEASURE_TIME && writer->zero_ns > 0
                        ? (uint64_t)writer->zero_ns
                        : 0;
    strbuf_clear(&writer->text);
    strbuf_add(&writer->text, "{ \"start_time\": ");
    strbuf_add_u64(&writer->text, writer->started_unix_ns + zero);
    strbuf_addf(&writer->text, ", \"process_id\": %u, \"cmd\": \"%s\", ", writer->pid,
                strbuf_text(&writer->command));
    strbuf_addf(&writer->text, "\"counter\": %s }", counter_of(writer->measure));
    profdata_put_u64(entry, METADATA_ID);
    profdata_put_u64(entry + 8, end_string(writer) - FIRST_ADDRESS_ID);
    profdata_pages_add(&writer->pages, PROFDATA_PAGE_INDEX, entry, sizeof entry);
    return strbuf_ok(&writer->text) ? LAM_OK : LAM_E_NOMEM;
}

static void tell_losses(const struct writer *writer)
{
    const struct export_options *options = &writer->options;
    if (writer->processes > 1)
        export_note(options,
                    "%llu processes share the file, which knows one: the first one's name, and all "
                    "their threads",
                    (unsigned long long)writer->processes);
    if (writer->clamped)
        export_note(options, "%llu time%s or value%s beyond 48 bits cut to them",
                    (unsigned long long)writer->clamped, unit_plural(writer->clamped),
                    unit_plural(writer->clamped));
    if (writer->samples)
        export_note(options, "%s sample%s left out: the format holds events only",
                    unit_count(writer->samples).text, unit_plural(writer->samples));
    if (writer->folds)
        export_note(options, "%llu call%s left out: counted, and not stored one by one",
                    (unsigned long long)writer->folds, unit_plural(writer->folds));
    if (writer->tracks_away)
        export_note(options, "%llu interval%s paused meanwhile, which the format cannot say",
                    (unsigned long long)writer->tracks_away, unit_plural(writer->tracks_away));
}

int write_profdata_finish(void *state, struct lam_error *err)
{
    struct writer *writer = state;
    if (writer->events == 0)
        return lam_error_set(err, LAM_E_UNSUPPORTED,
                             "mm_profdata: there are no intervals in the input, and it holds "
                             "nothing else");
    if (write_metadata(writer) < 0)
        return lam_error_set(err, LAM_E_NOMEM, "mm_profdata: out of memory");
    profdata_pages_end(&writer->pages);
    tell_losses(writer);
    return LAM_OK;
}

int write_profdata_open(void **state, const struct export_options *options, struct byteout *out,
                        struct lam_error *err)
{
    struct writer *writer = mem_zalloc(1, sizeof *writer);
    *state = writer;
    if (!writer)
        return lam_error_set(err, LAM_E_NOMEM, "mm_profdata: out of memory");
    writer->options = *options;
    writer->spare_tid = SPARE_TID;
    profdata_pages_begin(&writer->pages, out);
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    export_note_losses(&((struct writer *)ctx)->options, ended);
    return LAM_OK;
}

struct profile_sink write_profdata_sink(void *state)
{
    static const struct profile_sink_ops ops = {
        .session_end = on_session_end,
        .session = on_session,
        .process = on_process,
        .thread = on_thread,
        .label = on_label,
        .interval = on_interval,
        .instant = on_instant,
        .fold = on_fold,
        .sample = on_sample,
        .knows_args = knows_args,
        .process_end = on_process_end,
    };
    const struct writer *writer = state;
    return (struct profile_sink){
        .ctx = state,
        .ops = &ops,
        .wants = {.order = PROFILE_ORDER_START, .args = !writer->options.redacts}};
}

void write_profdata_close(void **state)
{
    if (!state || !*state)
        return;
    struct writer *writer = *state;
    array_each(&writer->lanes, lane) array_free(&lane->open);
    array_free(&writer->lanes);
    array_free(&writer->labels);
    array_free(&writer->thread_tids);
    map_free(&writer->lanes_by_place);
    map_free(&writer->tids);
    map_free(&writer->known_ids);
    strbuf_free(&writer->text);
    strbuf_free(&writer->command);
    mem_free(writer);
    *state = NULL;
}
