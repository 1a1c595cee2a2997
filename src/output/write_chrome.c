#include "output/write_chrome.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "output/chrome_branch.h"
#include "output/chrome_counts.h"
#include "output/export_rows.h"
#include "output/export_tables.h"
#include "output/time_text.h"
#include "reader/stream_names.h"

/* A row's last interval waits for the one after it: where both have the same start and end, the outer one must be written
 * first, because viewers then go by the order in the file. */
struct chrome_row {
    struct chrome_piece tail; /* "pid":1,"tid":2 */
    struct strbuf waiting;    /* one event, or several of the same times */
    bool is_plain;            /* instead: one that is all told by its label and the times below */
    uint32_t label;
    int64_t start_ns, end_ns;
    uint32_t depth;
};

/* Arguments of an args_id, as they stand in an event. */
struct chrome_args {
    struct chrome_piece piece; /* ,"args":{"arg0":"…"; nothing where there are none */
    uint32_t argc;
};

struct chrome {
    struct export_options options;
    struct byteout *out;
    struct export_labels labels;
    struct export_rows rows;
    struct arena arena;
    LAM_ARRAY(struct chrome_piece) heads;    /* by label: {"name":"…","cat":"…" */
    LAM_ARRAY(struct chrome_row) row_states; /* by row */
    struct map args_ids; /* args_id of the process args_process → index of args */
    LAM_ARRAY(struct chrome_args) args;
    struct arena args_text;
    uint32_t args_process;
    uint64_t asked_id; /* that knows_args() said yes to the last time: its event comes next */
    uint64_t asked_index;
    struct strbuf event; /* an interval in the making */
    struct strbuf scratch;
    bool has_events; /* a comma is due */
    char *block;     /* bytes on their way to `out`, which gets many at a time */
    size_t block_used;
    struct chrome_last { /* the row that the last interval went to */
        uint32_t process, thread, track, row;
    } last;
    bool has_samples;
    enum profile_measure measure;
    uint64_t samples_left_out, folds;
    struct chrome_counts counts;
    pthread_mutex_t lock; /* of labels, rows and the block, while there are branches */
};

/* So much of arguments is kept ready: 16 MiB of numbers, 9 of pieces, and texts. */
enum { ARGS_MAX = 3 << 17, ARGS_TEXT_MAX = 16 << 20 };

/* Copying what waits again and again must not take forever, however many intervals share their times. */
enum { WAITING_MAX = 1 << 15 };

enum {
    NUMBERS_BYTES = 160, /* more than two times with their keys take */
    NAME_MAX_PLAIN = 1 << 14,
    BLOCK_BYTES = 1 << 18,
};

/* ---- pieces ---- */

static void put_block(struct chrome *chrome)
{
    byteout_write(chrome->out, chrome->block, chrome->block_used);
    chrome->block_used = 0;
}

static void put_bytes_out(struct chrome *chrome, const char *bytes, size_t size)
{
    if (size > BLOCK_BYTES - chrome->block_used)
        put_block(chrome);
    if (size > BLOCK_BYTES) {
        byteout_write(chrome->out, bytes, size);
        return;
    }
    memcpy(chrome->block + chrome->block_used, bytes, size);
    chrome->block_used += size;
}

static void put_text_out(struct chrome *chrome, const char *text)
{
    put_bytes_out(chrome, text, strlen(text));
}

static void begin_event(struct chrome *chrome)
{
    if (chrome->has_events)
        put_bytes_out(chrome, ",\n", 2);
    chrome->has_events = true;
}

static void add_head(const struct chrome *chrome, uint32_t label, struct strbuf *text)
{
    strbuf_add(text, "{\"name\":");
    chrome_add_json(text, export_labels_get(&chrome->labels, label)->text);
    strbuf_add(text, ",\"cat\":");
    chrome_add_json(text, export_labels_kind(&chrome->labels, label));
}

static int head_of(struct chrome *chrome, uint32_t label, struct chrome_piece **head)
{
    if (label >= chrome->heads.count && array_resize(&chrome->heads, (size_t)label + 1) < 0)
        return LAM_E_NOMEM;
    *head = &chrome->heads.items[label];
    if ((*head)->text)
        return LAM_OK;
    strbuf_clear(&chrome->scratch);
    add_head(chrome, label, &chrome->scratch);
    return chrome_piece_keep(&chrome->arena, &chrome->scratch, *head);
}

/* {"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"…"}} */
static void put_metadata(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid,
                         const char *key, struct profile_text value)
{
    struct strbuf *text = &chrome->scratch;
    strbuf_clear(text);
    strbuf_addf(text, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"%s\":", what,
                pid, tid, key);
    chrome_add_json(text, value);
    strbuf_add(text, "}}");
    begin_event(chrome);
    put_bytes_out(chrome, strbuf_text(text), text->length);
}

static void put_sort_index(struct chrome *chrome, const char *what, uint32_t pid, uint32_t tid,
                           uint32_t index)
{
    struct strbuf *text = &chrome->scratch;
    strbuf_clear(text);
    strbuf_addf(text,
                "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"sort_index\":%u}}",
                what, pid, tid, index);
    begin_event(chrome);
    put_bytes_out(chrome, strbuf_text(text), text->length);
}

/* At the end, once: a thread may have had many names, and its row has the last one. */
static void name_row(struct chrome *chrome, uint32_t index)
{
    const struct export_row *row = &chrome->rows.rows.items[index];
    uint32_t pid = export_rows_process_of(&chrome->rows, row->process).shown_pid;
    struct strbuf title = {0};
    export_rows_title(row, &title);
    put_metadata(chrome, "thread_name", pid, row->shown_tid, "name",
                 (struct profile_text){strbuf_text(&title), title.length});
    strbuf_free(&title);
}

/* Rows stand in the order in which they came up, those beside a thread below it as far as viewers sort by this. */
static int new_row(struct chrome *chrome, uint32_t index)
{
    const struct export_row *row = &chrome->rows.rows.items[index];
    uint32_t pid = export_rows_process_of(&chrome->rows, row->process).shown_pid;
    struct chrome_piece piece;
    struct strbuf *text = &chrome->scratch;
    strbuf_clear(text);
    strbuf_addf(text, "\"pid\":%u,\"tid\":%u", pid, row->shown_tid);
    int rc = chrome_piece_keep(&chrome->arena, text, &piece);
    if (rc == LAM_OK)
        rc = array_push(&chrome->row_states, ((struct chrome_row){.tail = piece}));
    if (rc == LAM_OK)
        put_sort_index(chrome, "thread_sort_index", pid, row->shown_tid, index);
    return rc;
}

static int own_row(struct chrome *chrome, uint32_t process, uint32_t thread, uint32_t track,
                   uint32_t *row)
{
    bool is_new;
    int rc = export_rows_own(&chrome->rows, process, thread, track, row, &is_new);
    return rc == LAM_OK && is_new ? new_row(chrome, *row) : rc;
}

/* ---- arguments ---- */

/* Begins or goes on with "args":{ */
static void add_key(struct strbuf *to, unsigned *count, const char *key)
{
    strbuf_add(to, (*count)++ ? ",\"" : ",\"args\":{\"");
    strbuf_add(to, key);
    strbuf_add(to, "\":");
}

static void add_texts(struct chrome *chrome, struct strbuf *to, unsigned *count,
                      const struct profile_text *args, size_t argc)
{
    for (size_t i = 0; i < argc && !chrome->options.redacts; i++) {
        char key[24] = "arg0";
        if (i < 10)
            key[3] = (char)('0' + i);
        else
            snprintf(key, sizeof key, "arg%zu", i);
        add_key(to, count, key);
        chrome_add_json(to, args[i]);
    }
}

static const struct chrome_args *find_args(const struct chrome *chrome, uint32_t process,
                                           uint64_t args_id)
{
    uint64_t index = chrome->asked_index;
    if (!args_id || process != chrome->args_process ||
        (args_id != chrome->asked_id && !map_get(&chrome->args_ids, args_id, &index)))
        return NULL;
    return &chrome->args.items[index];
}

static bool knows_args(void *ctx, uint32_t process, uint64_t args_id)
{
    struct chrome *chrome = ctx;
    const struct chrome_args *known = find_args(chrome, process, args_id);
    if (!known)
        return false;
    chrome->asked_id = args_id;
    chrome->asked_index = (uint64_t)(known - chrome->args.items);
    return true;
}

static int keep_args(struct chrome *chrome, uint32_t process, uint64_t args_id,
                     struct profile_text text, size_t argc)
{
    if (process != chrome->args_process) {
        map_clear(&chrome->args_ids);
        array_clear(&chrome->args);
        arena_free(&chrome->args_text);
        chrome->args_process = process;
        chrome->asked_id = 0;
    }
    if (!args_id || chrome->args.count >= ARGS_MAX ||
        chrome->args_text.used_bytes + text.size > ARGS_TEXT_MAX)
        return LAM_OK;
    struct chrome_args kept = {
        {arena_strndup(&chrome->args_text, text.bytes, text.size), (uint32_t)text.size},
        (uint32_t)argc};
    if (!kept.piece.text || map_put(&chrome->args_ids, args_id, chrome->args.count) < 0)
        return LAM_E_NOMEM;
    return array_push(&chrome->args, kept);
}

/* The arguments of an event, as they were the last time; a failure shows in the text. known: of find_args(). */
static void add_args(struct chrome *chrome, struct strbuf *to, unsigned *count,
                     const struct chrome_args *known, uint32_t process, uint64_t args_id,
                     const struct profile_text *args, size_t argc)
{
    if (known) {
        strbuf_add_bytes(to, known->piece.text, known->piece.size);
        *count += known->argc;
        return;
    }
    size_t begin = to->length;
    add_texts(chrome, to, count, args, argc);
    struct profile_text text = {strbuf_text(to) + begin, to->length - begin};
    if (strbuf_ok(to) && keep_args(chrome, process, args_id, text, *count) < 0)
        to->failed = true;
}

static void add_number(struct strbuf *to, unsigned *count, const char *key, uint64_t value)
{
    add_key(to, count, key);
    strbuf_add_u64(to, value);
}

static void add_end(struct strbuf *to, unsigned count)
{
    strbuf_add(to, count ? "}}" : "}");
}

static void add_flags(struct strbuf *to, unsigned *count, const struct profile_interval *interval)
{
    static const struct {
        uint32_t flag;
        const char *key;
    } flags[] = {{PROFILE_INTERVAL_OPEN, "open"},
                 {PROFILE_INTERVAL_DETACHED, "detached"},
                 {PROFILE_INTERVAL_BACKWARD, "ended_before_start"}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (interval->flags & flags[i].flag) {
            add_key(to, count, flags[i].key);
            strbuf_add(to, "true");
        }
    }
    if (interval->weight > 1)
        add_number(to, count, "weight", interval->weight);
}

/* Writes what is in chrome->event, arguments and all. */
static int put_event(struct chrome *chrome, unsigned count)
{
    add_end(&chrome->event, count);
    if (!strbuf_ok(&chrome->event))
        return LAM_E_NOMEM;
    put_bytes_out(chrome, chrome->event.data, chrome->event.length);
    return chrome->out->failed;
}

/* ---- the sink ---- */

static int on_session(void *ctx, const struct profile_session *session)
{
    struct chrome *chrome = ctx;
    chrome->rows.names_units = !session->has_samples;
    chrome->has_samples = session->has_samples;
    chrome->measure = session->measure;
    struct strbuf *text = &chrome->event;
    strbuf_clear(text);
    strbuf_addf(text,
                "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"lamella " LAM_VERSION
                "\",\"started_at_unix_ns\":%lld",
                (long long)session->started_at_unix_ns);
    if (!chrome->options.redacts && session->command) {
        strbuf_add(text, ",\"command\":");
        chrome_add_json(text, (struct profile_text){session->command, strlen(session->command)});
    }
    strbuf_addf(text, ",\"unit\":\"%s\"},\n\"traceEvents\":[\n",
                export_measure_name(session->measure));
    put_bytes_out(chrome, strbuf_text(text), text->length);
    return strbuf_ok(text) ? chrome->out->failed : LAM_E_NOMEM;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct chrome *chrome = ctx;
    int rc = export_rows_process(&chrome->rows, process);
    if (rc < 0)
        return rc;
    struct export_process kept = export_rows_process_of(&chrome->rows, process->process);
    put_metadata(chrome, "process_name", kept.shown_pid, 0, "name", kept.name);
    put_sort_index(chrome, "process_sort_index", kept.shown_pid, 0, process->process);
    if (kept.shown_pid != kept.pid) {
        char label[32];
        int size = snprintf(label, sizeof label, "pid %u", kept.pid);
        put_metadata(chrome, "process_labels", kept.shown_pid, 0, "labels",
                     (struct profile_text){label, (size_t)size});
    }
    return chrome->out->failed;
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct chrome *chrome = ctx;
    uint32_t row;
    int rc = export_rows_thread(&chrome->rows, thread);
    return rc < 0 ? rc : own_row(chrome, thread->process, thread->thread, 0, &row);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    return export_rows_thread_name(&((struct chrome *)ctx)->rows, name);
}

static int on_track(void *ctx, const struct profile_track *track)
{
    struct chrome *chrome = ctx;
    uint32_t row;
    int rc = export_rows_track(&chrome->rows, track);
    return rc < 0 ? rc : own_row(chrome, track->process, 0, track->track, &row);
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct chrome *chrome = ctx;
    pthread_mutex_lock(&chrome->lock);
    int rc = export_labels_add(&chrome->labels, label);
    pthread_mutex_unlock(&chrome->lock);
    return rc;
}

/* All of an interval up to its arguments; there is room for the pieces, NUMBERS_BYTES and CHROME_COPY_BYTES. */
static inline char *put_interval(char *at, const struct chrome_piece *head,
                                 const struct chrome_piece *tail, int64_t start_ns, int64_t end_ns)
{
    at = chrome_piece_copy(at, head);
    at = put_literal(at, CHROME_COMPLETE);
    at = put_microseconds(at, start_ns);
    at = put_literal(at, ",\"dur\":");
    at = put_microseconds(at, end_ns - start_ns);
    *at++ = ',';
    return chrome_piece_copy(at, tail);
}

/* The room that put_interval() and a few bytes more take. */
static size_t interval_room(const struct chrome_piece *head, const struct chrome_piece *tail)
{
    return (size_t)head->size + tail->size + NUMBERS_BYTES + CHROME_COPY_BYTES;
}

/* Where the next event is written, in the block itself; so many bytes, far less than a block, are free. */
static inline char *begin_in_block(struct chrome *chrome, size_t room)
{
    if (room > BLOCK_BYTES - chrome->block_used)
        put_block(chrome);
    char *at = chrome->block + chrome->block_used;
    if (chrome->has_events)
        at = put_literal(at, ",\n");
    chrome->has_events = true;
    return at;
}

static inline void end_in_block(struct chrome *chrome, char *at)
{
    *at++ = '}';
    chrome->block_used = (size_t)(at - chrome->block);
}

static void put_plain(struct chrome *chrome, const struct chrome_row *row)
{
    const struct chrome_piece *head = &chrome->heads.items[row->label];
    char *at = begin_in_block(chrome, interval_room(head, &row->tail));
    at = put_interval(at, head, &row->tail, row->start_ns, row->end_ns);
    end_in_block(chrome, at);
}

static void put_waiting(struct chrome *chrome, struct chrome_row *row)
{
    if (row->is_plain)
        put_plain(chrome, row);
    row->is_plain = false;
    if (!row->waiting.length)
        return;
    begin_event(chrome);
    put_bytes_out(chrome, row->waiting.data, row->waiting.length);
    strbuf_clear(&row->waiting);
}

/* As text, to stand among others of the same times. */
static int write_out_plain(struct chrome *chrome, struct chrome_row *row)
{
    if (!row->is_plain)
        return LAM_OK;
    const struct chrome_piece *head = &chrome->heads.items[row->label];
    strbuf_clear(&row->waiting);
    char *start = strbuf_room(&row->waiting, interval_room(head, &row->tail));
    if (!start)
        return LAM_E_NOMEM;
    char *at = put_interval(start, head, &row->tail, row->start_ns, row->end_ns);
    *at++ = '}';
    strbuf_advance(&row->waiting, (size_t)(at - start));
    row->is_plain = false;
    return LAM_OK;
}

/* Whether an interval of a row must stand in front of what waits there: it is around it, and has the same times. */
static bool is_around(const struct chrome_row *row, const struct profile_interval *interval)
{
    return (row->is_plain || row->waiting.length) && row->start_ns == interval->start_ns &&
           row->end_ns == interval->end_ns && row->depth > interval->depth &&
           row->waiting.length < WAITING_MAX;
}

/* The event that is around the waiting one takes its place, with it behind. */
static void put_in_front(struct chrome *chrome, struct chrome_row *row)
{
    strbuf_add(&chrome->event, ",\n");
    strbuf_add_bytes(&chrome->event, row->waiting.data, row->waiting.length);
    struct strbuf emptied = row->waiting;
    row->waiting = chrome->event;
    chrome->event = emptied;
}

static void add_interval(struct chrome *chrome, struct strbuf *to, const struct chrome_piece *tail,
                         const struct profile_interval *interval, const struct chrome_args *known)
{
    const struct chrome_piece *head = &chrome->heads.items[interval->label];
    char *start = strbuf_room(to, interval_room(head, tail));
    unsigned count = 0;
    if (!start)
        return;
    char *at = put_interval(start, head, tail, interval->start_ns, interval->end_ns);
    strbuf_advance(to, (size_t)(at - start));
    add_args(chrome, to, &count, known, interval->process, interval->args_id, interval->args,
             interval->argc);
    add_flags(to, &count, interval);
    add_end(to, count);
}

/* The row of an interval; mostly that of the last one. */
static inline int row_of(struct chrome *chrome, const struct profile_interval *interval,
                         uint32_t *index)
{
    struct chrome_last *last = &chrome->last;
    bool is_aside = interval->chain || interval->flags & PROFILE_INTERVAL_DETACHED;
    if (!is_aside && last->process == interval->process && last->thread == interval->thread &&
        last->track == interval->track) {
        *index = last->row;
        return LAM_OK;
    }
    bool is_new;
    int rc = export_rows_interval(&chrome->rows, interval, index, &is_new);
    if (rc == LAM_OK && is_new)
        rc = new_row(chrome, *index);
    if (rc == LAM_OK && !is_aside)
        *last = (struct chrome_last){interval->process, interval->thread, interval->track, *index};
    return rc;
}

/* Nothing about it but its name and times. */
static bool is_plain(const struct profile_interval *interval)
{
    return !interval->args_id && !interval->argc && interval->weight <= 1 &&
           !(interval->flags &
             (PROFILE_INTERVAL_OPEN | PROFILE_INTERVAL_DETACHED | PROFILE_INTERVAL_BACKWARD));
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct chrome *chrome = ctx;
    struct chrome_piece *head;
    uint32_t index;
    int rc = row_of(chrome, interval, &index);
    if (rc == LAM_OK)
        rc = head_of(chrome, interval->label, &head);
    if (rc != LAM_OK)
        return rc;
    struct chrome_row *row = &chrome->row_states.items[index];
    const struct chrome_args *known =
        interval->args_id ? find_args(chrome, interval->process, interval->args_id) : NULL;
    bool stands_in_front = is_around(row, interval);
    if (!stands_in_front)
        put_waiting(chrome, row);
    else if (write_out_plain(chrome, row) < 0)
        return LAM_E_NOMEM;
    row->start_ns = interval->start_ns;
    row->end_ns = interval->end_ns;
    row->depth = interval->depth;
    row->label = interval->label;
    if (!stands_in_front && is_plain(interval) && head->size <= NAME_MAX_PLAIN) {
        row->is_plain = true;
        return chrome->out->failed;
    }
    strbuf_clear(&chrome->event);
    add_interval(chrome, stands_in_front ? &chrome->event : &row->waiting, &row->tail, interval,
                 known);
    if (stands_in_front)
        put_in_front(chrome, row);
    return strbuf_ok(&row->waiting) ? chrome->out->failed : LAM_E_NOMEM;
}

/* An event without a duration: all up to its arguments, into chrome->event. */
static int begin_point(struct chrome *chrome, uint32_t label, const char *phase, int64_t at_ns,
                       uint32_t row)
{
    struct chrome_piece *head;
    char number[TIME_TEXT_BYTES];
    int rc = head_of(chrome, label, &head);
    if (rc != LAM_OK)
        return rc;
    const struct chrome_piece *tail = &chrome->row_states.items[row].tail;
    begin_event(chrome);
    strbuf_clear(&chrome->event);
    strbuf_add_bytes(&chrome->event, head->text, head->size);
    strbuf_add(&chrome->event, phase);
    strbuf_add_bytes(&chrome->event, number, (size_t)(put_microseconds(number, at_ns) - number));
    strbuf_add_char(&chrome->event, ',');
    strbuf_add_bytes(&chrome->event, tail->text, tail->size);
    return LAM_OK;
}

/* Those of the last interval's thread, mostly. */
static int row_of_instant(struct chrome *chrome, const struct profile_instant *instant, uint32_t *row)
{
    struct chrome_last *last = &chrome->last;
    if (last->process == instant->process && last->thread == instant->thread &&
        last->track == instant->track) {
        *row = last->row;
        return LAM_OK;
    }
    int rc = own_row(chrome, instant->process, instant->thread, instant->track, row);
    if (rc == LAM_OK)
        *last = (struct chrome_last){instant->process, instant->thread, instant->track, *row};
    return rc;
}

/* An integer, or an instant without arguments: most of them. */
static void put_plain_instant(struct chrome *chrome, const struct profile_instant *instant,
                              const struct chrome_piece *head, const struct chrome_piece *tail)
{
    char *at = begin_in_block(chrome, interval_room(head, tail));
    at = chrome_piece_copy(at, head);
    at = instant->has_value ? put_literal(at, CHROME_COUNTER) : put_literal(at, CHROME_INSTANT);
    at = put_microseconds(at, instant->at_ns);
    *at++ = ',';
    at = chrome_piece_copy(at, tail);
    if (instant->has_value) { /* each number among a counter's arguments is a line of its own */
        at = put_literal(at, ",\"args\":{\"value\":");
        at = put_decimal(at, instant->value);
        *at++ = '}';
    }
    end_in_block(chrome, at);
}

static int put_instant(void *ctx, const struct profile_instant *instant)
{
    struct chrome *chrome = ctx;
    struct chrome_piece *head = NULL;
    uint32_t row;
    unsigned count = 0;
    int rc = row_of_instant(chrome, instant, &row);
    if (rc == LAM_OK)
        rc = head_of(chrome, instant->label, &head);
    if (rc < 0 || !head)
        return rc;
    bool has_args = !instant->has_value && (instant->args_id || instant->argc);
    if (!has_args && head->size <= NAME_MAX_PLAIN) {
        put_plain_instant(chrome, instant, head, &chrome->row_states.items[row].tail);
        return chrome->out->failed;
    }
    rc = begin_point(chrome, instant->label, instant->has_value ? CHROME_COUNTER : CHROME_INSTANT,
                     instant->at_ns, row);
    if (rc < 0)
        return rc;
    if (instant->has_value)
        add_number(&chrome->event, &count, "value", instant->value);
    else
        add_args(chrome, &chrome->event, &count,
                 find_args(chrome, instant->process, instant->args_id), instant->process,
                 instant->args_id, instant->args, instant->argc);
    return put_event(chrome, count);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct chrome *chrome = ctx;
    return chrome_counts_add(&chrome->counts, instant, put_instant, chrome);
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    struct chrome *chrome = ctx;
    uint32_t row;
    unsigned count = 0;
    int rc = own_row(chrome, fold->process, fold->thread, fold->track, &row);
    if (rc == LAM_OK)
        rc = begin_point(chrome, fold->label, CHROME_INSTANT, fold->at_ns, row);
    if (rc < 0)
        return rc;
    add_number(&chrome->event, &count, "calls", fold->count);
    add_number(&chrome->event, &count, "total_ns", fold->total_ns);
    add_number(&chrome->event, &count, "self_ns", fold->self_ns);
    chrome->folds += fold->count;
    return put_event(chrome, count);
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct chrome *chrome = ctx;
    chrome->samples_left_out += !(sample->flags & PROFILE_SAMPLE_CLOSING);
    return LAM_OK;
}

/* Up to the arguments, of what has no label, into chrome->event. */
static void begin_plain_event(struct chrome *chrome, struct profile_text name, const char *category,
                              int64_t start_ns, int64_t duration_ns)
{
    char number[TIME_TEXT_BYTES];
    struct strbuf *event = &chrome->event;
    begin_event(chrome);
    strbuf_clear(event);
    strbuf_add(event, "{\"name\":");
    chrome_add_json(event, name);
    strbuf_addf(event, ",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":", category);
    strbuf_add_bytes(event, number, (size_t)(put_microseconds(number, start_ns) - number));
    strbuf_add(event, ",\"dur\":");
    strbuf_add_bytes(event, number, (size_t)(put_microseconds(number, duration_ns) - number));
    strbuf_add_char(event, ',');
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct chrome *chrome = ctx;
    const char *kind = stream_wait_kind_name(wait->kind), *call = stream_wait_call_name(wait->call);
    uint32_t row;
    unsigned count = 0;
    int rc = own_row(chrome, wait->process, wait->thread, 0, &row);
    if (rc < 0)
        return rc;
    begin_plain_event(chrome, (struct profile_text){kind, strlen(kind)}, "wait", wait->start_ns,
                      (int64_t)wait->duration_ns);
    const struct chrome_piece *tail = &chrome->row_states.items[row].tail;
    strbuf_add_bytes(&chrome->event, tail->text, tail->size);
    add_key(&chrome->event, &count, "call");
    chrome_add_json(&chrome->event, (struct profile_text){call, strlen(call)});
    add_number(&chrome->event, &count, "cpu_ns", wait->cpu_ns);
    return put_event(chrome, count);
}

/* In a sampled recording the processes themselves are what there is to see. */
static int on_process_end(void *ctx, const struct profile_process_end *ended)
{
    struct chrome *chrome = ctx;
    struct export_process process = export_rows_process_of(&chrome->rows, ended->process);
    struct strbuf *event = &chrome->event;
    uint32_t tid;
    unsigned count = 0;
    if (!chrome->has_samples || ended->end_ns < process.start_ns)
        return LAM_OK;
    int rc = export_rows_extra(&chrome->rows, ended->process, &tid);
    if (rc < 0)
        return rc;
    put_metadata(chrome, "thread_name", process.shown_pid, tid, "name",
                 (struct profile_text){"process", strlen("process")});
    begin_plain_event(chrome, process.name, "process", process.start_ns,
                      ended->end_ns - process.start_ns);
    strbuf_addf(event, "\"pid\":%u,\"tid\":%u", process.shown_pid, tid);
    if (ended->cpu_ns != PROFILE_UNKNOWN)
        add_number(event, &count, "cpu_ns", ended->cpu_ns);
    if (ended->own.max_rss_bytes != PROFILE_UNKNOWN)
        add_number(event, &count, "max_rss_bytes", ended->own.max_rss_bytes);
    if (ended->exit_code >= 0)
        add_number(event, &count, "exit_code", (uint64_t)ended->exit_code);
    if (ended->signal > 0)
        add_number(event, &count, "signal", (uint64_t)ended->signal);
    return put_event(chrome, count);
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    export_note_losses(&((struct chrome *)ctx)->options, ended);
    return LAM_OK;
}

/* ---- branches ---- */

static int trunk_head(void *ctx, uint32_t label, struct strbuf *text)
{
    struct chrome *chrome = ctx;
    pthread_mutex_lock(&chrome->lock);
    add_head(chrome, label, text);
    pthread_mutex_unlock(&chrome->lock);
    return strbuf_ok(text) ? LAM_OK : LAM_E_NOMEM;
}

static int trunk_tail(void *ctx, uint32_t process, uint32_t thread, struct strbuf *text)
{
    struct chrome *chrome = ctx;
    uint32_t row;
    pthread_mutex_lock(&chrome->lock);
    int rc = own_row(chrome, process, thread, 0, &row);
    if (rc == LAM_OK) {
        const struct chrome_piece *tail = &chrome->row_states.items[row].tail;
        strbuf_add_bytes(text, tail->text, tail->size);
    }
    pthread_mutex_unlock(&chrome->lock);
    return rc < 0 ? rc : strbuf_ok(text) ? LAM_OK : LAM_E_NOMEM;
}

static int on_branch_open(void *ctx, size_t max_bytes, struct profile_branch *branch)
{
    struct chrome *chrome = ctx;
    const struct chrome_trunk trunk = {chrome, trunk_head, trunk_tail};
    return chrome_branch_open(&trunk, max_bytes, chrome->options.redacts, branch);
}

/* The bytes go past the block: they are many. */
static int on_branch_take(void *ctx, struct profile_branch *branch)
{
    struct chrome *chrome = ctx;
    struct profile_text held = chrome_branch_take(branch);
    if (!held.size)
        return chrome->out->failed;
    pthread_mutex_lock(&chrome->lock);
    size_t comma = chrome->has_events ? 0 : 2; /* each event has one before it */
    chrome->has_events = true;
    put_block(chrome);
    pthread_mutex_unlock(&chrome->lock);
    byteout_write(chrome->out, held.bytes + comma, held.size - comma);
    return chrome->out->failed;
}

static void on_branch_close(void *ctx, struct profile_branch *branch)
{
    (void)ctx;
    chrome_branch_close(branch);
}

static const struct profile_branch_ops branch_ops = {
    .open = on_branch_open, .take = on_branch_take, .close = on_branch_close};

static const struct profile_sink_ops chrome_ops = {
    .session_end = on_session_end,
    .session = on_session,
    .process = on_process,
    .thread = on_thread,
    .thread_name = on_thread_name,
    .track = on_track,
    .label = on_label,
    .interval = on_interval,
    .instant = on_instant,
    .fold = on_fold,
    .knows_args = knows_args,
    .sample = on_sample,
    .wait = on_wait,
    .process_end = on_process_end,
};

int write_chrome_open(void **state, const struct export_options *options, struct byteout *out,
                      struct lam_error *err)
{
    struct chrome *chrome = mem_zalloc(1, sizeof *chrome);
    *state = chrome;
    if (!chrome)
        return lam_error_set(err, LAM_E_NOMEM, "chrome: out of memory");
    chrome->block = mem_alloc(BLOCK_BYTES);
    if (!chrome->block)
        return lam_error_set(err, LAM_E_NOMEM, "chrome: out of memory");
    pthread_mutex_init(&chrome->lock, NULL);
    chrome->options = *options;
    chrome->out = out;
    chrome->rows.shared = options->thread_rows;
    chrome->rows.shared_count = options->thread_row_count;
    return LAM_OK;
}

struct profile_sink write_chrome_sink(void *state)
{
    struct chrome *chrome = state;
    return (struct profile_sink){
        .ctx = chrome,
        .ops = &chrome_ops,
        .branches = &branch_ops,
        .wants = {.order = PROFILE_ORDER_ANY, .args = !chrome->options.redacts, .counters = true}};
}

int write_chrome_finish(void *state, struct lam_error *err)
{
    struct chrome *chrome = state;
    array_each(&chrome->row_states, row) put_waiting(chrome, row);
    int rc = chrome_counts_end(&chrome->counts, put_instant, chrome);
    if (rc < 0)
        return lam_error_set(err, rc, "chrome: %s", lam_code_text(rc));
    for (uint32_t row = 0; row < chrome->row_states.count; row++)
        name_row(chrome, row);
    put_text_out(chrome, "\n]}\n");
    put_block(chrome);
    if (chrome->samples_left_out)
        export_note(&chrome->options,
                    "%s sample%s without a place in a Chrome trace (processes and waits have one); "
                    "firefox, perfetto, speedscope and flamegraph show samples",
                    unit_count(chrome->samples_left_out).text, unit_plural(chrome->samples_left_out));
    if (chrome->folds)
        export_note(&chrome->options,
                    "%s call%s counted and not stored one by one: each sum of them is an instant",
                    unit_count(chrome->folds).text, unit_plural(chrome->folds));
    export_note_measure(&chrome->options, chrome->measure);
    return chrome->out->failed < 0 ? lam_error_set(err, chrome->out->failed, "chrome: cannot write")
                                   : LAM_OK;
}

void write_chrome_close(void **state)
{
    if (!state || !*state)
        return;
    struct chrome *chrome = *state;
    if (chrome->block)
        pthread_mutex_destroy(&chrome->lock);
    chrome_counts_free(&chrome->counts);
    export_labels_free(&chrome->labels);
    export_rows_free(&chrome->rows);
    arena_free(&chrome->arena);
    array_free(&chrome->heads);
    array_each(&chrome->row_states, row) strbuf_free(&row->waiting);
    array_free(&chrome->row_states);
    map_free(&chrome->args_ids);
    array_free(&chrome->args);
    arena_free(&chrome->args_text);
    strbuf_free(&chrome->event);
    strbuf_free(&chrome->scratch);
    mem_free(chrome->block);
    mem_free(chrome);
    *state = NULL;
}
