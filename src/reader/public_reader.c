/* The functions of lamella/reader.h. */
#include "lamella/reader.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/intern.h"
#include "base/memory.h"
#include "reader/event_read.h"
#include "reader/session_start.h"
#include "reader/tick_clock.h"

struct source { /* one stream */
    struct stream_file *file;
    struct event_names names;
    struct event_index index;
    struct map labels; /* kind << 32 | id → text + 1 */
    struct map kinds;
};

struct cursor_of_lane {
    struct event_lane lane;
    struct event event; /* the next one */
    uint32_t source;
    int64_t key; /* its start, never smaller than before */
};

struct lam_reader {
    LAM_ARRAY(struct source) sources;
    struct tick_clock clock;
    struct session_start start; /* of session.json; without one, of the first stream */
    bool has_start;             /* session.json said it */
    bool needs_readings;        /* of streams: there is no launcher's */
    struct intern texts;
    struct lam_reader_stats stats;
    struct strbuf text;

    LAM_ARRAY(struct cursor_of_lane *) lanes; /* a heap in the order of time, else a queue */
    size_t at;                                /* of the queue */
    enum lam_reader_order order;
    bool has_begun, must_advance;
    struct event_args args;
    LAM_ARRAY(struct lam_text) arg_texts;

    struct lam_event out;
    struct event given; /* of which it was made */
    uint32_t given_source;
    /* Folds below the interval that was given out. */
    size_t fold, fold_end;
};

/* ---- opening ---- */

static int add_readings(struct lam_reader *reader, const struct stream_file *file)
{
    static const enum stream_page_kind kinds[] = {STREAM_PAGE_META, STREAM_PAGE_RECORDS};
    struct stream_walk walk;
    struct stream_record_view rec;
    bool has_any = false;
    int rc = LAM_OK;
    const struct stream_header *header = &file->header;
    if (!reader->start.tick_rate_hz)
        reader->start.tick_rate_hz = header->tick_rate_hz;
    if (!reader->has_start &&
        (!reader->start.mono_ns || header->start_mono_ns < reader->start.mono_ns)) {
        reader->start.mono_ns = header->start_mono_ns;
        reader->start.unix_ns = header->start_wall_ns;
    }
    if (!reader->needs_readings)
        return LAM_OK;
    stream_walk_init(&walk, file);
    for (unsigned i = 0; rc >= 0 && i < sizeof kinds / sizeof *kinds; i++) {
        stream_walk_begin(&walk, stream_pages_of_kind(file, kinds[i]));
        while (rc >= 0 && (rc = stream_next_record(&walk, &rec)) > 0) {
            if (rec.type != STREAM_REC_TIME)
                continue;
            has_any = true;
            rc = tick_clock_add(&reader->clock, rec.body.time.ticks, rec.body.time.mono_ns);
        }
    }
    stream_walk_close(&walk);
    if (rc >= 0 && !has_any)
        rc = tick_clock_add(&reader->clock, header->start_ticks, header->start_mono_ns);
    return rc;
}

static bool has_events(const struct stream_file *file)
{
    struct stream_page_span span = stream_pages_of_kind(file, STREAM_PAGE_EVENTS);
    return span.first < span.end;
}

static void count_faults(struct lam_reader *reader, const struct stream_faults *faults)
{
    reader->stats.damaged += faults->counts[STREAM_DAMAGE_PAGES] +
                             faults->counts[STREAM_DAMAGE_GAPS] +
                             faults->counts[STREAM_DAMAGE_RECORDS];
    reader->stats.missing_bytes += faults->counts[STREAM_DAMAGE_MISSING_BYTES];
}

static int open_source(struct lam_reader *reader, struct stream_file *file)
{
    struct source *source = array_add(&reader->sources);
    if (!source) {
        stream_close(&file);
        return LAM_E_NOMEM;
    }
    source->file = file;
    struct stream_faults faults = file->faults;
    int rc = event_names_load(&source->names, file, &faults);
    if (rc >= 0)
        rc = event_index_build(&source->index, file, &source->names, true, &faults);
    count_faults(reader, &faults);
    reader->stats.streams++;
    for (unsigned i = 0; i < STREAM_LOSS_KINDS; i++)
        reader->stats.lost_events += file->header.lost[i];
    return rc;
}

/* Takes one file; of a directory one that is no stream is counted. */
static int add_file(struct lam_reader *reader, const char *path, bool is_alone, struct lam_error *err)
{
    struct stream_file *file = NULL;
    int rc = stream_open(&file, path, err);
    if (rc < 0 && (is_alone || rc == LAM_E_NOMEM))
        return rc;
    if (rc < 0) {
        reader->stats.unreadable_streams++;
        return LAM_OK;
    }
    rc = add_readings(reader, file);
    if (rc < 0 || !has_events(file)) {
        stream_close(&file);
        return rc;
    }
    return open_source(reader, file);
}

/* The recording's start and the launcher's readings of the clocks. */
static int load_start(struct lam_reader *reader, const char *path)
{
    struct session_start *start = &reader->start;
    int rc = session_start_load(start, path);
    reader->has_start = rc >= 0 && start->mono_ns;
    reader->needs_readings = !reader->has_start || !start->times.count;
    if (rc >= 0 && reader->has_start)
        rc = tick_clock_add(&reader->clock, start->ticks, start->mono_ns);
    for (size_t i = 0; rc >= 0 && reader->has_start && i < start->times.count; i++)
        rc = tick_clock_add(&reader->clock, start->times.items[i].ticks,
                            start->times.items[i].mono_ns);
    return rc;
}

static int add_directory(struct lam_reader *reader, const char *path, struct lam_error *err)
{
    struct dir_entries entries = {0};
    int rc = load_start(reader, path);
    if (rc >= 0)
        rc = dir_list(path, &entries, err);
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        if (!text_ends_with(entries.items[i].name, ".lam") || entries.items[i].kind == DIR_KIND_DIR)
            continue;
        char *file = path_join(path, entries.items[i].name);
        rc = file ? add_file(reader, file, false, err) : LAM_E_NOMEM;
        mem_free(file);
    }
    dir_entries_free(&entries);
    return rc;
}

static int set_clock(struct lam_reader *reader)
{
    const struct session_start *start = &reader->start;
    reader->stats.start_unix_ns = (int64_t)start->unix_ns;
    return tick_clock_ready(&reader->clock, start->tick_rate_hz, start->mono_ns);
}

int lam_reader_open(struct lam_reader **out, const char *path, char *message, size_t message_size)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct lam_reader *reader = mem_zalloc(1, sizeof *reader);
    if (reader)
        reader->needs_readings = true;
    int rc = !reader || !path    ? LAM_E_NOMEM
             : path_is_dir(path) ? add_directory(reader, path, &err)
                                 : add_file(reader, path, true, &err);
    if (reader && !path)
        rc = lam_error_set(&err, LAM_E_INVAL, "no path");
    if (rc >= 0 && !reader->sources.count)
        rc = lam_error_set(&err, LAM_E_NOTFOUND, "%s: no events of a program are in it", path);
    if (rc >= 0)
        rc = set_clock(reader);
    if (rc >= 0) {
        *out = reader;
        return LAM_OK;
    }
    if (message && message_size)
        snprintf(message, message_size, "%s", err.msg[0] ? err.msg : lam_code_text(rc));
    lam_reader_close(&reader);
    return rc;
}

static void end_lanes(struct lam_reader *reader)
{
    array_each(&reader->lanes, lane)
    {
        event_lane_close(&(*lane)->lane);
        mem_free(*lane);
    }
    array_clear(&reader->lanes);
    reader->at = 0;
    reader->has_begun = reader->must_advance = false;
    reader->fold = reader->fold_end = 0;
}

void lam_reader_close(struct lam_reader **reader)
{
    if (!reader || !*reader)
        return;
    end_lanes(*reader);
    array_free(&(*reader)->lanes);
    array_each(&(*reader)->sources, source)
    {
        event_names_free(&source->names);
        event_index_free(&source->index);
        map_free(&source->labels);
        map_free(&source->kinds);
        stream_close(&source->file);
    }
    array_free(&(*reader)->sources);
    tick_clock_free(&(*reader)->clock);
    session_start_free(&(*reader)->start);
    intern_free(&(*reader)->texts);
    strbuf_free(&(*reader)->text);
    event_args_free(&(*reader)->args);
    array_free(&(*reader)->arg_texts);
    mem_free(*reader);
    *reader = NULL;
}

void lam_reader_stats(const struct lam_reader *reader, struct lam_reader_stats *stats)
{
    *stats = reader->stats;
}

/* ---- walking ---- */

static bool is_time(const struct source *source)
{
    return source->file->header.measure == STREAM_MEASURE_TICKS;
}

static int64_t to_ns(struct lam_reader *reader, const struct source *source, uint64_t at)
{
    if (is_time(source))
        return tick_clock_ns(&reader->clock, at);
    return at < INT64_MAX ? (int64_t)at : INT64_MAX;
}

static uint64_t span_ns(struct lam_reader *reader, const struct source *source, uint64_t at,
                        uint64_t amount)
{
    return is_time(source) ? tick_clock_span_ns(&reader->clock, at, amount) : amount;
}

/* The lane's next event that is given out. 1, 0, LAM_E_NOMEM. */
static int advance(struct lam_reader *reader, struct cursor_of_lane *cursor)
{
    int rc;
    do {
        rc = event_lane_next(&cursor->lane, &cursor->event);
    } while (rc > 0 && cursor->event.type > EVENT_FOLD);
    if (rc > 0) {
        int64_t start = to_ns(reader, &reader->sources.items[cursor->source], cursor->event.start);
        cursor->key = start > cursor->key ? start : cursor->key;
    }
    return rc;
}

static void sift_down(struct lam_reader *reader, size_t at)
{
    struct cursor_of_lane **heap = reader->lanes.items;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child < 2 * at + 3 && child < reader->lanes.count; child++) {
            if (heap[child]->key < heap[least]->key)
                least = child;
        }
        if (least == at)
            return;
        struct cursor_of_lane *swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

static int add_lane(struct lam_reader *reader, uint32_t number, const struct event_lane_info *info)
{
    struct source *source = &reader->sources.items[number];
    struct cursor_of_lane *cursor = mem_zalloc(1, sizeof *cursor);
    if (!cursor || array_push(&reader->lanes, cursor) < 0) {
        mem_free(cursor);
        return LAM_E_NOMEM;
    }
    cursor->source = number;
    cursor->key = INT64_MIN;
    event_lane_open(&cursor->lane, source->file, &source->names, &source->index, info);
    if (reader->order == LAM_READER_STREAM_ORDER)
        return 1;
    int rc = advance(reader, cursor);
    if (rc == 0) {
        event_lane_close(&cursor->lane);
        mem_free(array_pop(&reader->lanes));
    }
    return rc;
}

int lam_reader_begin(struct lam_reader *reader, enum lam_reader_order order)
{
    if (!reader || (order != LAM_READER_STREAM_ORDER && order != LAM_READER_TIME_ORDER))
        return LAM_E_INVAL;
    end_lanes(reader);
    reader->order = order;
    int rc = LAM_OK;
    for (uint32_t i = 0; rc >= 0 && i < reader->sources.count; i++) {
        array_each(&reader->sources.items[i].index.lanes, info)
        {
            if (rc >= 0)
                rc = add_lane(reader, i, info);
        }
    }
    for (size_t i = reader->lanes.count / 2; order == LAM_READER_TIME_ORDER && i-- > 0;)
        sift_down(reader, i);
    reader->has_begun = rc >= 0;
    return rc < 0 ? rc : LAM_OK;
}

/* The lane whose event is next, in either order; NULL at the end. */
static int next_lane(struct lam_reader *reader, struct cursor_of_lane **out)
{
    *out = NULL;
    if (reader->order == LAM_READER_STREAM_ORDER) {
        while (reader->at < reader->lanes.count) {
            struct cursor_of_lane *cursor = reader->lanes.items[reader->at];
            int rc = advance(reader, cursor);
            if (rc != 0) {
                *out = cursor;
                return rc;
            }
            reader->at++;
        }
        return 0;
    }
    if (reader->must_advance && reader->lanes.count) {
        struct cursor_of_lane *cursor = reader->lanes.items[0];
        int rc = advance(reader, cursor);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            event_lane_close(&cursor->lane);
            reader->lanes.items[0] = array_last(&reader->lanes);
            reader->lanes.count--;
            mem_free(cursor);
        }
        sift_down(reader, 0);
    }
    reader->must_advance = true;
    if (!reader->lanes.count)
        return 0;
    *out = reader->lanes.items[0];
    return 1;
}

/* ---- what is given out ---- */

/* A text kept in the table, found by its key in a map. */
static int find_text(struct lam_reader *reader, struct source *source, bool is_kind, uint32_t kind,
                     uint32_t id, struct lam_text *out)
{
    struct map *map = is_kind ? &source->kinds : &source->labels;
    bool added;
    uint64_t *at = map_slot(map, is_kind ? kind : (uint64_t)kind << 32 | id, 0, &added);
    if (!at)
        return LAM_E_NOMEM;
    if (added) {
        uint32_t text;
        strbuf_clear(&reader->text);
        if (is_kind)
            event_names_add_kind(&source->names, kind, &reader->text);
        else
            event_names_add_label(&source->names, kind, id, &reader->text);
        int rc = reader->text.failed ? LAM_E_NOMEM
                                     : intern_add(&reader->texts, strbuf_text(&reader->text),
                                                  reader->text.length, &text);
        if (rc < 0) {
            (void)map_remove(map, is_kind ? kind : (uint64_t)kind << 32 | id);
            return rc;
        }
        *at = text;
    }
    out->bytes = intern_text(&reader->texts, (uint32_t)*at, &out->size);
    return LAM_OK;
}

static int find_texts(struct lam_reader *reader, struct source *source, uint32_t kind, uint32_t id)
{
    int rc = find_text(reader, source, true, kind, 0, &reader->out.kind);
    return rc < 0 ? rc : find_text(reader, source, false, kind, id, &reader->out.label);
}

static int give_fold(struct lam_reader *reader, const struct event_fold *fold)
{
    struct source *source = &reader->sources.items[reader->given_source];
    struct lam_event *out = &reader->out;
    out->type = LAM_EVENT_FOLD;
    out->flags = 0;
    out->thread = out->end_thread = fold->thread;
    out->weight = 1;
    out->start = out->end = to_ns(reader, source, fold->time);
    out->active = span_ns(reader, source, fold->time, fold->total);
    out->self = span_ns(reader, source, fold->time, fold->self);
    out->count = fold->count;
    out->value = 0;
    reader->given.more_count = 0;
    reader->given.kind = fold->kind;
    reader->given.id = fold->id;
    return find_texts(reader, source, fold->kind, fold->id);
}

static uint64_t last_of_thread(const struct source *source, uint32_t thread)
{
    uint64_t at = map_get_or(&source->index.thread_at, thread, UINT64_MAX);
    return at == UINT64_MAX ? source->index.last : source->index.threads.items[at].last;
}

static void give_interval(struct lam_reader *reader, const struct source *source,
                          const struct event *event)
{
    struct lam_event *out = &reader->out;
    uint64_t end = event->end;
    if (event->is_open) {
        uint64_t last = last_of_thread(source, event->thread);
        end = last > end ? last : end;
        out->flags |= LAM_EVENT_OPEN;
    }
    if (event_has_foreign_end(source->file, event)) {
        end = event->start + (event->has_active ? event->active : 0);
        out->flags |= event->has_active ? 0u : (unsigned)LAM_EVENT_BACKWARD;
    }
    bool is_detached = (event->flags & STREAM_KIND_DETACHED) != 0;
    out->flags |= is_detached ? (unsigned)LAM_EVENT_DETACHED : 0u;
    out->end = to_ns(reader, source, end);
    if (out->end < out->start) {
        out->flags |= LAM_EVENT_BACKWARD;
        out->end = out->start;
    }
    uint64_t wall = (uint64_t)out->end - (uint64_t)out->start;
    uint32_t track = is_detached ? 0 : event->track;
    uint64_t paused = 0;
    if (track || event->marks.count || event->has_active)
        paused =
            span_ns(reader, source, event->start, event_paused(&source->index, event, track, end));
    out->active = wall - (paused < wall ? paused : wall);
    if (event->has_self)
        out->self = span_ns(reader, source, event->start, event->self);
    /* Its folds follow it. */
    reader->fold = 0;
    reader->fold_end = event->marks.count;
}

static int give(struct lam_reader *reader, const struct cursor_of_lane *cursor)
{
    struct source *source = &reader->sources.items[cursor->source];
    const struct event *event = &cursor->event;
    reader->given = *event;
    reader->given_source = cursor->source;
    reader->out = (struct lam_event){
        .type = event->type == EVENT_INSTANT   ? LAM_EVENT_INSTANT
                : event->type == EVENT_INTEGER ? LAM_EVENT_INTEGER
                                               : LAM_EVENT_INTERVAL,
        .stream = cursor->source,
        .pid = source->file->header.pid,
        .tid = event->tid,
        .thread = event->thread,
        .end_thread = event->end_thread ? event->end_thread : event->thread,
        .track = event->track,
        .measure = source->file->header.measure,
        .weight = event->weight,
        .start = to_ns(reader, source, event->start),
        .self = UINT64_MAX,
    };
    reader->out.end = reader->out.start;
    if (event->type == EVENT_FOLD)
        return give_fold(reader, event->fold);
    if (event->type == EVENT_INTERVAL)
        give_interval(reader, source, event);
    else if (event->type == EVENT_INTEGER)
        reader->out.value = event->value;
    return find_texts(reader, source, event->kind, event->id);
}

int lam_reader_next(struct lam_reader *reader, const struct lam_event **event)
{
    if (!reader || !event || !reader->has_begun)
        return LAM_E_INVAL;
    while (reader->fold < reader->fold_end) {
        const struct event_mark *mark = &reader->given.marks.items[reader->fold++];
        if (mark->code != STREAM_SLOT_FOLD)
            continue;
        const struct source *source = &reader->sources.items[reader->given_source];
        int rc = give_fold(reader, &source->index.folds.items[mark->fold]);
        *event = &reader->out;
        return rc < 0 ? rc : 1;
    }
    struct cursor_of_lane *cursor;
    int rc = next_lane(reader, &cursor);
    if (rc <= 0)
        return rc;
    rc = give(reader, cursor);
    *event = &reader->out;
    return rc < 0 ? rc : 1;
}

int lam_reader_args(struct lam_reader *reader, const struct lam_text **args)
{
    if (!reader || !args || !reader->has_begun)
        return LAM_E_INVAL;
    struct source *source = &reader->sources.items[reader->given_source];
    const struct event *event = &reader->given;
    event_args_clear(&reader->args);
    array_clear(&reader->arg_texts);
    int rc = event_names_add_args(&source->names, event->kind, event->id, &reader->args);
    if (rc >= 0)
        rc = event_names_add_slots(&source->names, event->more, event->more_count, &reader->args);
    if (rc >= 0)
        rc = event_names_add_counters(&source->names, event->more, event->more_count, event->at_end,
                                      &reader->args);
    size_t from = 0;
    for (size_t i = 0; rc >= 0 && i < reader->args.ends.count; i++) {
        size_t end = reader->args.ends.items[i];
        rc = array_push(&reader->arg_texts,
                        ((struct lam_text){strbuf_text(&reader->args.texts) + from, end - from}));
        from = end;
    }
    *args = reader->arg_texts.items;
    return rc < 0 ? rc : (int)reader->arg_texts.count;
}
