#include "output/write_perfetto.h"

#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/protobuf.h"
#include "base/units.h"
#include "output/export_rows.h"
#include "output/export_tables.h"
#include "output/open_stack.h"
#include "output/perfetto_branch.h"
#include "output/perfetto_fields.h"
#include "output/safe_text.h"
#include "reader/stream_names.h"

struct perfetto_row {
    uint64_t track;
    uint64_t waits; /* track of the thread's waits; 0: none yet */
    struct open_stack open;
};

struct perfetto {
    struct export_options options;
    struct byteout *out;
    struct export_labels labels;
    struct export_frames frames;
    struct export_rows rows;
    LAM_ARRAY(struct perfetto_row) states; /* by row */
    LAM_ARRAY(uint64_t) process_tracks;    /* by process */
    LAM_ARRAY(bool) known_labels; /* interned as event names, and their kinds as categories */
    LAM_ARRAY(bool) known_kinds;
    LAM_ARRAY(bool) known_stacks, known_modules, known_functions;
    LAM_ARRAY(uint32_t) chain;
    struct map counters; /* (row, label) → track */
    uint64_t last_track;
    int64_t base_ns; /* of the times written: they may not be negative */
    struct strbuf packet, inner, text, piece, event;
    struct strbuf start;  /* what the stretches of branches begin with */
    pthread_mutex_t lock; /* of labels and rows, while there are branches */
    bool has_samples;
    enum profile_measure measure;
    uint64_t clamped, folds;
    int failed;
};

/* Names of arguments and of what is said about an event, interned once: id 1 is the first. */
static const char *const annotation_names[] = {"arg0",
                                               "arg1",
                                               "arg2",
                                               "arg3",
                                               "arg4",
                                               "arg5",
                                               "arg6",
                                               "arg7",
                                               "open",
                                               "detached",
                                               "ended_before_start",
                                               "weight",
                                               "calls",
                                               "total_ns",
                                               "self_ns",
                                               "call",
                                               "cpu_ns",
                                               "exit_code",
                                               "signal",
                                               "max_rss_bytes",
                                               "command"};
enum {
    NAME_OPEN = 9,
    NAME_DETACHED,
    NAME_WEIGHT = PERFETTO_NAME_BACKWARD + 1,
    NAME_CALLS,
    NAME_TOTAL,
    NAME_SELF,
    NAME_CALL,
    NAME_CPU,
    NAME_EXIT_CODE,
    NAME_SIGNAL,
    NAME_RSS,
    NAME_COMMAND,
};

/* ---- packets ---- */

static int put_packet(struct perfetto *perfetto, const struct strbuf *packet)
{
    unsigned char head[2 * PROTO_VARINT_MAX];
    unsigned char *end = proto_varint(proto_tag(head, TRACE_PACKET, PROTO_BYTES), packet->length);
    if (!strbuf_ok(packet))
        return LAM_E_NOMEM;
    byteout_write(perfetto->out, head, (size_t)(end - head));
    byteout_write(perfetto->out, strbuf_text(packet), packet->length);
    return perfetto->out->failed;
}

static void begin_packet(struct perfetto *perfetto, uint32_t flags)
{
    strbuf_clear(&perfetto->packet);
    proto_add_uint(&perfetto->packet, PACKET_SEQUENCE_ID, 1);
    proto_add_uint(&perfetto->packet, PACKET_SEQUENCE_FLAGS, flags);
}

static uint64_t time_of(struct perfetto *perfetto, int64_t at_ns)
{
    int64_t time;
    if (__builtin_add_overflow(at_ns, perfetto->base_ns, &time) || time < 0) {
        perfetto->clamped++;
        return 0;
    }
    return (uint64_t)time;
}

static void add_text(struct perfetto *perfetto, struct strbuf *to, uint32_t field,
                     struct profile_text value)
{
    strbuf_clear(&perfetto->piece);
    safe_text_add(&perfetto->piece, SAFE_UTF8, value.bytes, value.size);
    proto_add_message(to, field, &perfetto->piece);
}

static struct profile_text text_of(const char *text)
{
    return (struct profile_text){text, strlen(text)};
}

/* One more string of a kind, as a packet of its own. */
static int put_interned(struct perfetto *perfetto, uint32_t kind, uint64_t id,
                        struct profile_text value)
{
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, INTERNED_IID, id);
    add_text(perfetto, &perfetto->inner, INTERNED_NAME, value);
    strbuf_clear(&perfetto->text);
    proto_add_message(&perfetto->text, kind, &perfetto->inner);
    begin_packet(perfetto, SEQUENCE_NEEDS_STATE);
    proto_add_message(&perfetto->packet, PACKET_INTERNED_DATA, &perfetto->text);
    return put_packet(perfetto, &perfetto->packet);
}

/* The names of annotations, of a sequence that begins; into perfetto->packet. */
static void begin_sequence(struct perfetto *perfetto, uint32_t sequence)
{
    strbuf_clear(&perfetto->packet);
    proto_add_uint(&perfetto->packet, PACKET_SEQUENCE_ID, sequence);
    proto_add_uint(&perfetto->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
    strbuf_clear(&perfetto->text);
    for (size_t i = 0; i < sizeof annotation_names / sizeof *annotation_names; i++) {
        strbuf_clear(&perfetto->inner);
        proto_add_uint(&perfetto->inner, INTERNED_IID, i + 1);
        proto_add_text(&perfetto->inner, INTERNED_NAME, annotation_names[i]);
        proto_add_message(&perfetto->text, INTERNED_ANNOTATION_NAMES, &perfetto->inner);
    }
    proto_add_message(&perfetto->packet, PACKET_INTERNED_DATA, &perfetto->text);
}

static int put_start(struct perfetto *perfetto, int64_t started_at_unix_ns, uint32_t period_ns)
{
    begin_sequence(perfetto, PERFETTO_STRETCHES);
    strbuf_clear(&perfetto->start);
    proto_add_message(&perfetto->start, TRACE_PACKET, &perfetto->packet);
    begin_sequence(perfetto, 1);
    if (perfetto->has_samples) {
        strbuf_clear(&perfetto->inner);
        proto_add_uint(&perfetto->inner, TIMEBASE_PERIOD, period_ns ? period_ns : 1);
        proto_add_text(&perfetto->inner, TIMEBASE_NAME, "cpu time");
        strbuf_clear(&perfetto->text);
        proto_add_message(&perfetto->text, SAMPLE_DEFAULTS_TIMEBASE, &perfetto->inner);
        strbuf_clear(&perfetto->inner);
        proto_add_message(&perfetto->inner, DEFAULTS_PERF_SAMPLE, &perfetto->text);
        proto_add_message(&perfetto->packet, PACKET_DEFAULTS, &perfetto->inner);
    }
    int rc = put_packet(perfetto, &perfetto->packet);
    if (rc < 0 || started_at_unix_ns <= 0)
        return rc;
    strbuf_clear(&perfetto->text); /* what the trace's clock reads is the time of day */
    for (unsigned clock = CLOCK_ID_REALTIME; clock <= CLOCK_ID_BOOTTIME;
         clock += CLOCK_ID_BOOTTIME - CLOCK_ID_REALTIME) {
        strbuf_clear(&perfetto->inner);
        proto_add_uint(&perfetto->inner, CLOCK_SNAPSHOT_ID, clock);
        proto_add_uint(&perfetto->inner, CLOCK_SNAPSHOT_TIME, (uint64_t)started_at_unix_ns);
        proto_add_message(&perfetto->text, CLOCK_SNAPSHOT_CLOCKS, &perfetto->inner);
    }
    strbuf_clear(&perfetto->packet);
    proto_add_uint(&perfetto->packet, PACKET_SEQUENCE_ID, 1);
    proto_add_message(&perfetto->packet, PACKET_CLOCK_SNAPSHOT, &perfetto->text);
    return put_packet(perfetto, &perfetto->packet);
}

/* ---- tracks ---- */

/* A descriptor that is in perfetto->text but for its id and parent. */
static int put_track(struct perfetto *perfetto, uint64_t parent, uint64_t *track)
{
    *track = ++perfetto->last_track;
    proto_add_uint(&perfetto->text, TRACK_UUID, *track);
    if (parent)
        proto_add_uint(&perfetto->text, TRACK_PARENT, parent);
    strbuf_clear(&perfetto->packet);
    proto_add_uint(&perfetto->packet, PACKET_SEQUENCE_ID, 1);
    proto_add_message(&perfetto->packet, PACKET_TRACK_DESCRIPTOR, &perfetto->text);
    return put_packet(perfetto, &perfetto->packet);
}

static int put_named_track(struct perfetto *perfetto, uint64_t parent, struct profile_text name,
                           uint64_t *track)
{
    strbuf_clear(&perfetto->text);
    add_text(perfetto, &perfetto->text, TRACK_NAME, name);
    return put_track(perfetto, parent, track);
}

static int put_counter_track(struct perfetto *perfetto, uint64_t parent, struct profile_text name,
                             uint64_t *track)
{
    strbuf_clear(&perfetto->text);
    add_text(perfetto, &perfetto->text, TRACK_NAME, name);
    proto_add_bytes(&perfetto->text, TRACK_COUNTER, "", 0);
    return put_track(perfetto, parent, track);
}

static int put_process_track(struct perfetto *perfetto, const struct profile_process *process,
                             const struct export_process *kept, uint64_t *track)
{
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, PROCESS_PID, kept->shown_pid);
    add_text(perfetto, &perfetto->inner, PROCESS_NAME, kept->name);
    for (size_t i = 0; i < process->argc && !perfetto->options.redacts; i++)
        add_text(perfetto, &perfetto->inner, PROCESS_CMDLINE, process->argv[i]);
    strbuf_clear(&perfetto->text);
    proto_add_message(&perfetto->text, TRACK_PROCESS, &perfetto->inner);
    return put_track(perfetto, 0, track);
}

static uint64_t process_track(const struct perfetto *perfetto, uint32_t process)
{
    return process < perfetto->process_tracks.count ? perfetto->process_tracks.items[process] : 0;
}

static int put_row_track(struct perfetto *perfetto, const struct export_row *row, uint64_t *track)
{
    uint64_t parent = process_track(perfetto, row->process);
    struct strbuf title = {0};
    export_rows_title(row, &title);
    struct profile_text name = {strbuf_text(&title), title.length};
    int rc;
    if (row->track || row->beside) {
        rc = put_named_track(perfetto, parent, name, track);
    } else {
        strbuf_clear(&perfetto->inner);
        proto_add_uint(&perfetto->inner, THREAD_PID,
                       export_rows_process_of(&perfetto->rows, row->process).shown_pid);
        proto_add_uint(&perfetto->inner, THREAD_TID, row->shown_tid);
        add_text(perfetto, &perfetto->inner, THREAD_NAME, name);
        strbuf_clear(&perfetto->text);
        proto_add_message(&perfetto->text, TRACK_THREAD, &perfetto->inner);
        rc = put_track(perfetto, parent, track);
    }
    strbuf_free(&title);
    return rc;
}

static int ready_row(struct perfetto *perfetto, int rc, uint32_t row, bool is_new)
{
    if (rc < 0 || !is_new)
        return rc;
    if (array_resize(&perfetto->states, (size_t)row + 1) < 0)
        return LAM_E_NOMEM;
    uint64_t track = 0;
    rc = put_row_track(perfetto, &perfetto->rows.rows.items[row], &track);
    perfetto->states.items[row].track = track;
    return rc;
}

static int own_row(struct perfetto *perfetto, uint32_t process, uint32_t thread, uint32_t track,
                   uint32_t *row)
{
    bool is_new;
    int rc = export_rows_own(&perfetto->rows, process, thread, track, row, &is_new);
    return ready_row(perfetto, rc, *row, is_new);
}

/* ---- events ---- */

static int know_label(struct perfetto *perfetto, uint32_t label, uint32_t *kind)
{
    const struct export_label *kept = export_labels_get(&perfetto->labels, label);
    *kind = kept->kind;
    if (label < perfetto->known_labels.count && perfetto->known_labels.items[label])
        return LAM_OK;
    uint32_t larger = label > *kind ? label : *kind;
    if ((larger >= perfetto->known_labels.count &&
         array_resize(&perfetto->known_labels, (size_t)larger + 1) < 0) ||
        (larger >= perfetto->known_kinds.count &&
         array_resize(&perfetto->known_kinds, (size_t)larger + 1) < 0))
        return LAM_E_NOMEM;
    perfetto->known_labels.items[label] = true;
    int rc = put_interned(perfetto, INTERNED_EVENT_NAMES, (uint64_t)label + 1, kept->text);
    if (rc < 0 || !*kind || perfetto->known_kinds.items[*kind])
        return rc;
    perfetto->known_kinds.items[*kind] = true;
    return put_interned(perfetto, INTERNED_CATEGORIES, (uint64_t)*kind + 1,
                        export_labels_get(&perfetto->labels, *kind)->text);
}

/* The event's message so far is in perfetto->event. */
static void begin_event(struct perfetto *perfetto, enum track_event_type type, uint64_t track,
                        uint32_t label, uint32_t kind)
{
    unsigned char bytes[8 * PROTO_VARINT_MAX], *at = bytes;
    at = proto_uint(at, EVENT_TYPE, type);
    at = proto_uint(at, EVENT_TRACK, track);
    if (label)
        at = proto_uint(at, EVENT_NAME_IID, (uint64_t)label + 1);
    if (kind)
        at = proto_uint(at, EVENT_CATEGORY_IIDS, (uint64_t)kind + 1);
    strbuf_clear(&perfetto->event);
    strbuf_add_bytes(&perfetto->event, bytes, (size_t)(at - bytes));
}

static int end_event(struct perfetto *perfetto, int64_t at_ns)
{
    unsigned char bytes[8 * PROTO_VARINT_MAX], *at = bytes;
    if (!strbuf_ok(&perfetto->event))
        return LAM_E_NOMEM;
    at = proto_uint(at, PACKET_TIMESTAMP, time_of(perfetto, at_ns));
    at = proto_uint(at, PACKET_SEQUENCE_ID, 1);
    at = proto_uint(at, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    at = proto_varint(proto_tag(at, PACKET_TRACK_EVENT, PROTO_BYTES), perfetto->event.length);
    unsigned char head[2 * PROTO_VARINT_MAX];
    unsigned char *end = proto_varint(proto_tag(head, TRACE_PACKET, PROTO_BYTES),
                                      (size_t)(at - bytes) + perfetto->event.length);
    byteout_write(perfetto->out, head, (size_t)(end - head));
    byteout_write(perfetto->out, bytes, (size_t)(at - bytes));
    byteout_write(perfetto->out, strbuf_text(&perfetto->event), perfetto->event.length);
    return perfetto->out->failed;
}

static int put_end(struct perfetto *perfetto, uint64_t track, int64_t at_ns)
{
    begin_event(perfetto, TRACK_EVENT_SLICE_END, track, 0, 0);
    return end_event(perfetto, at_ns);
}

static void add_number(struct perfetto *perfetto, uint32_t name, uint64_t value)
{
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, ANNOTATION_NAME_IID, name);
    proto_add_uint(&perfetto->inner, ANNOTATION_UINT, value);
    proto_add_message(&perfetto->event, EVENT_ANNOTATIONS, &perfetto->inner);
}

static void add_flag(struct perfetto *perfetto, uint32_t name)
{
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, ANNOTATION_NAME_IID, name);
    proto_add_uint(&perfetto->inner, ANNOTATION_BOOL, 1);
    proto_add_message(&perfetto->event, EVENT_ANNOTATIONS, &perfetto->inner);
}

static void add_string(struct perfetto *perfetto, uint32_t name, struct profile_text value)
{
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, ANNOTATION_NAME_IID, name);
    add_text(perfetto, &perfetto->inner, ANNOTATION_STRING, value);
    proto_add_message(&perfetto->event, EVENT_ANNOTATIONS, &perfetto->inner);
}

static void add_args(struct perfetto *perfetto, const struct profile_text *args, size_t argc)
{
    for (size_t i = 0; i < argc && !perfetto->options.redacts; i++) {
        if (i < PERFETTO_ARG_NAMES) {
            add_string(perfetto, PERFETTO_NAME_ARG0 + (uint32_t)i, args[i]);
            continue;
        }
        char name[32];
        snprintf(name, sizeof name, "arg%zu", i);
        strbuf_clear(&perfetto->inner);
        proto_add_text(&perfetto->inner, ANNOTATION_NAME, name);
        add_text(perfetto, &perfetto->inner, ANNOTATION_STRING, args[i]);
        proto_add_message(&perfetto->event, EVENT_ANNOTATIONS, &perfetto->inner);
    }
}

static int close_before(struct perfetto *perfetto, struct perfetto_row *state, int64_t start_ns,
                        uint32_t depth)
{
    struct open_interval ended;
    int rc = LAM_OK;
    while (rc == LAM_OK && open_stack_ended(&state->open, start_ns, depth, &ended))
        rc = put_end(perfetto, state->track, ended.end_ns);
    return rc;
}

/* ---- the sink ---- */

static int on_session(void *ctx, const struct profile_session *session)
{
    struct perfetto *perfetto = ctx;
    perfetto->rows.names_units = !session->has_samples;
    perfetto->has_samples = session->has_samples;
    perfetto->measure = session->measure;
    if (session->started_at_unix_ns > 0)
        perfetto->base_ns = session->started_at_unix_ns;
    uint32_t period_ns = session->rate_hz ? 1000000000u / session->rate_hz : 0;
    return put_start(perfetto, session->started_at_unix_ns, period_ns);
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct perfetto *perfetto = ctx;
    uint64_t track = 0;
    int rc = export_rows_process(&perfetto->rows, process);
    if (rc == LAM_OK && process->process >= perfetto->process_tracks.count)
        rc = array_resize(&perfetto->process_tracks, (size_t)process->process + 1);
    if (rc < 0)
        return rc;
    struct export_process kept = export_rows_process_of(&perfetto->rows, process->process);
    rc = put_process_track(perfetto, process, &kept, &track);
    perfetto->process_tracks.items[process->process] = track;
    return rc;
}

EXPORT_FRAMES_CALLS(struct perfetto, frames)

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct perfetto *perfetto = ctx;
    uint32_t row;
    int rc = export_rows_thread(&perfetto->rows, thread);
    return rc < 0 ? rc : own_row(perfetto, thread->process, thread->thread, 0, &row);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    return export_rows_thread_name(&((struct perfetto *)ctx)->rows, name);
}

static int on_track(void *ctx, const struct profile_track *track)
{
    struct perfetto *perfetto = ctx;
    uint32_t row;
    int rc = export_rows_track(&perfetto->rows, track);
    return rc < 0 ? rc : own_row(perfetto, track->process, 0, track->track, &row);
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct perfetto *perfetto = ctx;
    pthread_mutex_lock(&perfetto->lock);
    int rc = export_labels_add(&perfetto->labels, label);
    pthread_mutex_unlock(&perfetto->lock);
    return rc;
}

static void add_interval_details(struct perfetto *perfetto, const struct profile_interval *interval)
{
    add_args(perfetto, interval->args, interval->argc);
    if (interval->flags & PROFILE_INTERVAL_OPEN)
        add_flag(perfetto, NAME_OPEN);
    if (interval->flags & PROFILE_INTERVAL_DETACHED)
        add_flag(perfetto, NAME_DETACHED);
    if (interval->flags & PROFILE_INTERVAL_BACKWARD)
        add_flag(perfetto, PERFETTO_NAME_BACKWARD);
    if (interval->weight > 1)
        add_number(perfetto, NAME_WEIGHT, interval->weight);
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct perfetto *perfetto = ctx;
    uint32_t row, kind;
    bool is_new;
    int rc = export_rows_interval(&perfetto->rows, interval, &row, &is_new);
    rc = ready_row(perfetto, rc, row, is_new);
    if (rc == LAM_OK)
        rc = know_label(perfetto, interval->label, &kind);
    if (rc != LAM_OK)
        return rc;
    struct perfetto_row *state = &perfetto->states.items[row];
    rc = close_before(perfetto, state, interval->start_ns, interval->depth);
    if (rc < 0)
        return rc;
    begin_event(perfetto, TRACK_EVENT_SLICE_BEGIN, state->track, interval->label, kind);
    if (interval->argc || interval->flags || interval->weight > 1)
        add_interval_details(perfetto, interval);
    rc = end_event(perfetto, interval->start_ns);
    struct open_interval opened = {interval->end_ns, interval->label, interval->depth};
    if (state->open.count && array_last(&state->open).end_ns < opened.end_ns)
        opened.end_ns = array_last(&state->open).end_ns; /* an input that breaks its own nesting */
    return rc < 0 ? rc : array_push(&state->open, opened);
}

static int counter_of(struct perfetto *perfetto, uint32_t row, uint32_t label, uint64_t *track)
{
    bool is_new;
    uint64_t *slot = map_slot(&perfetto->counters, (uint64_t)row << 32 | label, 0, &is_new);
    if (!slot)
        return LAM_E_NOMEM;
    if (is_new) {
        int rc = put_counter_track(perfetto, perfetto->states.items[row].track,
                                   export_labels_get(&perfetto->labels, label)->text, slot);
        if (rc < 0)
            return rc;
    }
    *track = *slot;
    return LAM_OK;
}

static int put_counter(struct perfetto *perfetto, uint32_t row, const struct profile_instant *instant)
{
    uint64_t track;
    int rc = counter_of(perfetto, row, instant->label, &track);
    if (rc < 0)
        return rc;
    begin_event(perfetto, TRACK_EVENT_COUNTER, track, 0, 0);
    if (instant->value <= INT64_MAX) {
        proto_add_uint(&perfetto->event, EVENT_COUNTER_VALUE, instant->value);
    } else {
        double value = (double)instant->value;
        unsigned char tag[PROTO_VARINT_MAX];
        unsigned char *end =
            proto_varint(tag, (uint64_t)EVENT_DOUBLE_COUNTER_VALUE << 3 | PROTO_FIXED64);
        strbuf_add_bytes(&perfetto->event, tag, (size_t)(end - tag));
        strbuf_add_bytes(&perfetto->event, &value,
                         sizeof value); /* little endian, as all our hosts are */
    }
    return end_event(perfetto, instant->at_ns);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct perfetto *perfetto = ctx;
    uint32_t row, kind;
    int rc = own_row(perfetto, instant->process, instant->thread, instant->track, &row);
    if (rc != LAM_OK)
        return rc;
    if (instant->has_value)
        return put_counter(perfetto, row, instant);
    rc = know_label(perfetto, instant->label, &kind);
    if (rc == LAM_OK)
        rc = close_before(perfetto, &perfetto->states.items[row], instant->at_ns, OPEN_STACK_INSTANT);
    if (rc != LAM_OK)
        return rc;
    begin_event(perfetto, TRACK_EVENT_INSTANT, perfetto->states.items[row].track, instant->label,
                kind);
    add_args(perfetto, instant->args, instant->argc);
    return end_event(perfetto, instant->at_ns);
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    struct perfetto *perfetto = ctx;
    uint32_t row, kind;
    int rc = own_row(perfetto, fold->process, fold->thread, fold->track, &row);
    if (rc == LAM_OK)
        rc = know_label(perfetto, fold->label, &kind);
    if (rc != LAM_OK)
        return rc;
    perfetto->folds += fold->count;
    begin_event(perfetto, TRACK_EVENT_INSTANT, perfetto->states.items[row].track, fold->label, kind);
    add_number(perfetto, NAME_CALLS, fold->count);
    add_number(perfetto, NAME_TOTAL, fold->total_ns);
    add_number(perfetto, NAME_SELF, fold->self_ns);
    return end_event(perfetto, fold->at_ns);
}

/* An event whose name is not a label. */
static void begin_plain_event(struct perfetto *perfetto, uint64_t track, struct profile_text name,
                              const char *category)
{
    begin_event(perfetto, TRACK_EVENT_SLICE_BEGIN, track, 0, 0);
    add_text(perfetto, &perfetto->event, EVENT_NAME, name);
    proto_add_text(&perfetto->event, EVENT_CATEGORIES, category);
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct perfetto *perfetto = ctx;
    uint32_t row;
    int rc = own_row(perfetto, wait->process, wait->thread, 0, &row);
    if (rc != LAM_OK)
        return rc;
    if (!perfetto->states.items[row].waits) {
        uint64_t track = 0;
        rc = put_named_track(perfetto, perfetto->states.items[row].track, text_of("waits"), &track);
        perfetto->states.items[row].waits = track;
        if (rc < 0)
            return rc;
    }
    uint64_t track = perfetto->states.items[row].waits;
    begin_plain_event(perfetto, track, text_of(stream_wait_kind_name(wait->kind)), "wait");
    add_string(perfetto, NAME_CALL, text_of(stream_wait_call_name(wait->call)));
    add_number(perfetto, NAME_CPU, wait->cpu_ns);
    rc = end_event(perfetto, wait->start_ns);
    return rc < 0 ? rc : put_end(perfetto, track, wait->start_ns + (int64_t)wait->duration_ns);
}

static int on_process_end(void *ctx, const struct profile_process_end *ended)
{
    struct perfetto *perfetto = ctx;
    struct export_process process = export_rows_process_of(&perfetto->rows, ended->process);
    uint64_t track;
    if (!perfetto->has_samples || ended->end_ns < process.start_ns)
        return LAM_OK;
    int rc = put_named_track(perfetto, process_track(perfetto, ended->process), text_of("process"),
                             &track);
    if (rc < 0)
        return rc;
    begin_plain_event(perfetto, track, process.name, "process");
    if (ended->cpu_ns != PROFILE_UNKNOWN)
        add_number(perfetto, NAME_CPU, ended->cpu_ns);
    if (ended->own.max_rss_bytes != PROFILE_UNKNOWN)
        add_number(perfetto, NAME_RSS, ended->own.max_rss_bytes);
    if (ended->exit_code >= 0)
        add_number(perfetto, NAME_EXIT_CODE, (uint64_t)ended->exit_code);
    if (ended->signal > 0)
        add_number(perfetto, NAME_SIGNAL, (uint64_t)ended->signal);
    rc = end_event(perfetto, process.start_ns);
    return rc < 0 ? rc : put_end(perfetto, track, ended->end_ns);
}

/* ---- samples ---- */

#define KNOW(list, id)                                                                             \
    ((id) < (list)->count || array_resize((list), (size_t)(id) + 1) == LAM_OK ? &(list)->items[id] \
                                                                              : NULL)

/* Module 0, of code that no module held, is one too: a frame without would be dropped. Into perfetto->text. */
static int know_module(struct perfetto *perfetto, uint32_t id)
{
    bool *known = KNOW(&perfetto->known_modules, id);
    if (!known)
        return LAM_E_NOMEM;
    if (*known)
        return LAM_OK;
    *known = true;
    static const struct export_module nowhere;
    const struct export_module *module =
        id < perfetto->frames.modules.count ? &perfetto->frames.modules.items[id] : &nowhere;
    size_t size;
    const char *path = intern_text(&perfetto->frames.names, module->path, &size);
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, INTERNED_IID, (uint64_t)id + 1);
    add_text(perfetto, &perfetto->inner, INTERNED_NAME,
             size ? (struct profile_text){path, size} : text_of("[unknown]"));
    proto_add_message(&perfetto->text, INTERNED_MAPPING_PATHS, &perfetto->inner);
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, INTERNED_IID, (uint64_t)id + 1);
    proto_add_bytes(&perfetto->inner, INTERNED_NAME, module->build_id, module->build_id_bytes);
    proto_add_message(&perfetto->text, INTERNED_BUILD_IDS, &perfetto->inner);
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, INTERNED_IID, (uint64_t)id + 1);
    proto_add_uint(&perfetto->inner, MAPPING_BUILD_ID, (uint64_t)id + 1);
    proto_add_uint(&perfetto->inner, MAPPING_PATH_IDS, (uint64_t)id + 1);
    proto_add_message(&perfetto->text, INTERNED_MAPPINGS, &perfetto->inner);
    return LAM_OK;
}

/* A frame a function: those of inlined calls share the address. Into perfetto->text. */
static int know_function(struct perfetto *perfetto, uint32_t id, uint64_t offset)
{
    bool *known = KNOW(&perfetto->known_functions, id);
    if (!known)
        return LAM_E_NOMEM;
    if (*known)
        return LAM_OK;
    *known = true;
    struct export_function function = perfetto->frames.functions.items[id];
    int rc = know_module(perfetto, function.module);
    size_t size;
    const char *name = intern_text(&perfetto->frames.names, function.name, &size);
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, INTERNED_IID, (uint64_t)id + 1);
    add_text(perfetto, &perfetto->inner, INTERNED_NAME, (struct profile_text){name, size});
    proto_add_message(&perfetto->text, INTERNED_FUNCTION_NAMES, &perfetto->inner);
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, INTERNED_IID, (uint64_t)id + 1);
    proto_add_uint(&perfetto->inner, FRAME_FUNCTION_NAME, (uint64_t)id + 1);
    proto_add_uint(&perfetto->inner, FRAME_MAPPING, (uint64_t)function.module + 1);
    proto_add_uint(&perfetto->inner, FRAME_REL_PC, offset);
    proto_add_message(&perfetto->text, INTERNED_FRAMES, &perfetto->inner);
    return rc;
}

static int gather_stack(struct perfetto *perfetto, uint32_t stack)
{
    int rc = LAM_OK;
    array_clear(&perfetto->chain);
    for (; stack && stack < perfetto->frames.stacks.count && rc == LAM_OK;
         stack = perfetto->frames.stacks.items[stack].parent) {
        uint32_t frame = perfetto->frames.stacks.items[stack].frame, count;
        if (!export_frames_functions(&perfetto->frames, frame, &count))
            return LAM_E_NOMEM;
        const struct export_frame *kept = &perfetto->frames.frames.items[frame];
        for (uint32_t i = 0; i < count && rc == LAM_OK; i++) {
            rc = know_function(perfetto, kept->first + i, kept->offset);
            if (rc == LAM_OK)
                rc = array_push(&perfetto->chain, kept->first + i);
        }
    }
    return rc;
}

static int know_stack(struct perfetto *perfetto, uint32_t stack)
{
    bool *known = KNOW(&perfetto->known_stacks, stack);
    if (!known)
        return LAM_E_NOMEM;
    if (*known)
        return LAM_OK;
    *known = true;
    strbuf_clear(&perfetto->text);
    int rc = gather_stack(perfetto, stack);
    if (rc < 0)
        return rc;
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, INTERNED_IID, stack);
    for (size_t i = perfetto->chain.count; i-- > 0;) /* outermost first */
        proto_add_uint(&perfetto->inner, CALLSTACK_FRAME_IDS, (uint64_t)perfetto->chain.items[i] + 1);
    proto_add_message(&perfetto->text, INTERNED_CALLSTACKS, &perfetto->inner);
    begin_packet(perfetto, SEQUENCE_NEEDS_STATE);
    proto_add_message(&perfetto->packet, PACKET_INTERNED_DATA, &perfetto->text);
    return put_packet(perfetto, &perfetto->packet);
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct perfetto *perfetto = ctx;
    uint32_t row;
    if (sample->flags & PROFILE_SAMPLE_CLOSING)
        return LAM_OK; /* time, and no look at the thread */
    int rc = own_row(perfetto, sample->process, sample->thread, 0, &row);
    if (rc == LAM_OK && sample->stack)
        rc = know_stack(perfetto, sample->stack);
    if (rc < 0)
        return rc;
    const struct export_row *kept = &perfetto->rows.rows.items[row];
    strbuf_clear(&perfetto->inner);
    proto_add_uint(&perfetto->inner, SAMPLE_CPU, 0);
    proto_add_uint(&perfetto->inner, SAMPLE_PID,
                   export_rows_process_of(&perfetto->rows, kept->process).shown_pid);
    proto_add_uint(&perfetto->inner, SAMPLE_TID, kept->shown_tid);
    if (sample->stack)
        proto_add_uint(&perfetto->inner, SAMPLE_CALLSTACK, sample->stack);
    proto_add_uint(&perfetto->inner, SAMPLE_CPU_MODE, CPU_MODE_USER);
    begin_packet(perfetto, SEQUENCE_NEEDS_STATE);
    proto_add_uint(&perfetto->packet, PACKET_TIMESTAMP, time_of(perfetto, sample->at_ns));
    proto_add_message(&perfetto->packet, PACKET_PERF_SAMPLE, &perfetto->inner);
    return put_packet(perfetto, &perfetto->packet);
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    export_note_losses(&((struct perfetto *)ctx)->options, ended);
    return LAM_OK;
}

/* ---- branches ---- */

static int trunk_label(void *ctx, uint32_t label, uint32_t *kind, struct strbuf *text)
{
    struct perfetto *perfetto = ctx;
    pthread_mutex_lock(&perfetto->lock);
    const struct export_label *kept = export_labels_get(&perfetto->labels, label);
    *kind = kept->kind;
    strbuf_add_bytes(text, kept->text.bytes, kept->text.size);
    pthread_mutex_unlock(&perfetto->lock);
    return strbuf_ok(text) ? LAM_OK : LAM_E_NOMEM;
}

/* The sink has heard of the thread, and so has a row for it. */
static int trunk_track(void *ctx, uint32_t process, uint32_t thread, uint64_t *track)
{
    struct perfetto *perfetto = ctx;
    uint32_t row;
    bool is_new;
    pthread_mutex_lock(&perfetto->lock);
    int rc = export_rows_own(&perfetto->rows, process, thread, 0, &row, &is_new);
    if (rc >= 0)
        *track = row < perfetto->states.count ? perfetto->states.items[row].track : 0;
    pthread_mutex_unlock(&perfetto->lock);
    return rc;
}

static int on_branch_open(void *ctx, size_t max_bytes, struct profile_branch *branch)
{
    struct perfetto *perfetto = ctx;
    const struct perfetto_trunk trunk = {
        .ctx = perfetto,
        .base_ns = perfetto->base_ns,
        .redacts = perfetto->options.redacts,
        .start = {strbuf_text(&perfetto->start), perfetto->start.length},
        .track = trunk_track,
        .label = trunk_label,
    };
    return perfetto_branch_open(&trunk, max_bytes, branch);
}

static int on_branch_take(void *ctx, struct profile_branch *branch)
{
    struct perfetto *perfetto = ctx;
    struct perfetto_held held = perfetto_branch_take(branch);
    int rc = LAM_OK;
    perfetto->clamped += held.clamped;
    byteout_write(perfetto->out, held.packets.bytes, held.packets.size);
    pthread_mutex_lock(&perfetto->lock);
    for (size_t i = 0; rc >= 0 && i < held.count; i++) {
        const struct perfetto_count *count = &held.counts[i];
        const struct profile_instant instant = {.process = count->process,
                                                .thread = count->thread,
                                                .label = count->label,
                                                .at_ns = count->at_ns,
                                                .has_value = true,
                                                .value = count->value};
        rc = on_instant(perfetto, &instant);
    }
    pthread_mutex_unlock(&perfetto->lock);
    return rc < 0 ? rc : perfetto->out->failed;
}

static void on_branch_close(void *ctx, struct profile_branch *branch)
{
    (void)ctx;
    perfetto_branch_close(branch);
}

static const struct profile_branch_ops branch_ops = {
    .open = on_branch_open, .take = on_branch_take, .close = on_branch_close};

static const struct profile_sink_ops perfetto_ops = {
    .session_end = on_session_end,
    .session = on_session,
    .process = on_process,
    .module = on_module,
    .frame = on_frame,
    .stack = on_stack,
    .thread = on_thread,
    .thread_name = on_thread_name,
    .track = on_track,
    .label = on_label,
    .interval = on_interval,
    .instant = on_instant,
    .fold = on_fold,
    .sample = on_sample,
    .wait = on_wait,
    .process_end = on_process_end,
};

int write_perfetto_open(void **state, const struct export_options *options, struct byteout *out,
                        struct lam_error *err)
{
    struct perfetto *perfetto = mem_zalloc(1, sizeof *perfetto);
    *state = perfetto;
    if (!perfetto)
        return lam_error_set(err, LAM_E_NOMEM, "perfetto: out of memory");
    pthread_mutex_init(&perfetto->lock, NULL);
    perfetto->options = *options;
    perfetto->out = out;
    perfetto->rows.in_order = true;
    perfetto->frames.symbols = options->symbols;
    perfetto->frames.saw_modules = options->saw_modules;
    perfetto->frames.redacts = options->redacts;
    return LAM_OK;
}

struct profile_sink write_perfetto_sink(void *state)
{
    const struct perfetto *perfetto = state;
    return (struct profile_sink){
        .ctx = state,
        .ops = &perfetto_ops,
        .branches = &branch_ops,
        .wants = {.order = PROFILE_ORDER_START, .args = !perfetto->options.redacts, .counters = true}};
}

int write_perfetto_finish(void *state, struct lam_error *err)
{
    struct perfetto *perfetto = state;
    int rc = LAM_OK;
    array_each(&perfetto->states, row)
    {
        struct open_interval ended;
        while (rc == LAM_OK && open_stack_last(&row->open, &ended))
            rc = put_end(perfetto, row->track, ended.end_ns);
    }
    if (rc < 0)
        return lam_error_set(err, rc, "perfetto: %s", lam_code_text(rc));
    if (perfetto->clamped)
        export_note(&perfetto->options, "%s time%s before the trace's start shown at its start",
                    unit_count(perfetto->clamped).text, unit_plural(perfetto->clamped));
    if (perfetto->folds)
        export_note(&perfetto->options,
                    "%s call%s counted and not stored one by one: each sum of them is an instant",
                    unit_count(perfetto->folds).text, unit_plural(perfetto->folds));
    export_note_measure(&perfetto->options, perfetto->measure);
    return LAM_OK;
}

void write_perfetto_close(void **state)
{
    if (!state || !*state)
        return;
    struct perfetto *perfetto = *state;
    array_each(&perfetto->states, row) array_free(&row->open);
    array_free(&perfetto->states);
    array_free(&perfetto->process_tracks);
    array_free(&perfetto->known_labels);
    array_free(&perfetto->known_kinds);
    array_free(&perfetto->known_stacks);
    array_free(&perfetto->known_modules);
    array_free(&perfetto->known_functions);
    array_free(&perfetto->chain);
    map_free(&perfetto->counters);
    export_labels_free(&perfetto->labels);
    export_frames_free(&perfetto->frames);
    export_rows_free(&perfetto->rows);
    strbuf_free(&perfetto->packet);
    strbuf_free(&perfetto->inner);
    strbuf_free(&perfetto->text);
    strbuf_free(&perfetto->piece);
    strbuf_free(&perfetto->event);
    strbuf_free(&perfetto->start);
    pthread_mutex_destroy(&perfetto->lock);
    mem_free(perfetto);
    *state = NULL;
}
