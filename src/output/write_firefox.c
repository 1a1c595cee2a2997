#include "output/write_firefox.h"

#include <string.h>

#include "analysis/symbol_names.h"
#include "base/memory.h"
#include "base/spool.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "output/export_rows.h"
#include "output/export_tables.h"
#include "output/firefox_tables.h"
#include "output/time_text.h"
#include "reader/stream_names.h"

/* The processed format, whose strings are shared by all threads from 56 on, and whose functions name their file as a
 * string up to 57. */
enum { FIREFOX_VERSION = 57, GECKO_VERSION = 24 };

/* Behind the segments come kinds of intervals. */
enum { CATEGORY_OTHER = 0, CATEGORY_KINDS = SEGMENT_COUNT };

enum marker_phase_kind { MARKER_INSTANT = 0, MARKER_INTERVAL = 1 };
enum marker_type { MARKER_LAMELLA, MARKER_WAIT };

/* A marker on its way; data_bytes of JSON members follow it. */
struct firefox_marker {
    int64_t start_ns, end_ns;
    uint32_t name; /* string */
    uint32_t data_bytes;
    uint16_t category;
    uint8_t phase, type;
    uint32_t unused;
};

struct firefox_sample {
    int64_t at_ns;
    uint64_t cpu_ns;
    uint32_t stack, unused;
};

struct firefox_row {
    uint64_t markers, samples;
    int64_t start_ns, end_ns;
    bool has_start, has_end;
};

struct firefox {
    struct export_options options;
    struct byteout *out;
    struct export_labels labels;
    struct export_frames frames;
    struct export_rows rows;
    struct symbol_names names;
    struct stack_states states;
    struct firefox_tables tables;
    LAM_ARRAY(struct firefox_row) threads;   /* by row */
    LAM_ARRAY(struct profile_text) programs; /* by process: as the classifier wants them */
    LAM_ARRAY(int64_t) process_ends;         /* by process; INT64_MIN: not known */
    LAM_ARRAY(uint32_t) label_strings;       /* label → string + 1 */
    LAM_ARRAY(uint32_t) kind_categories;     /* label of a kind → category; 0: none yet */
    LAM_ARRAY(uint32_t) kinds;               /* labels, in the order of their categories */
    struct intern strings;
    struct arena text;
    struct spool *spool; /* row * 2: markers; row * 2 + 1: samples */
    struct strbuf data, scratch;
    int64_t started_at_unix_ns;
    uint32_t period_ns;
    enum profile_measure measure;
    bool has_samples;
    uint64_t folds;
    char *product;
};

/* ---- what markers are made of ---- */

static int row_of(struct firefox *firefox, uint32_t process, uint32_t thread, uint32_t track,
                  uint32_t *row)
{
    bool is_new;
    int rc = export_rows_own(&firefox->rows, process, thread, track, row, &is_new);
    if (rc == LAM_OK && *row >= firefox->threads.count)
        rc = array_resize(&firefox->threads, (size_t)*row + 1);
    return rc;
}

static int string_of_label(struct firefox *firefox, uint32_t label, uint32_t *string)
{
    if (label >= firefox->label_strings.count &&
        array_resize(&firefox->label_strings, (size_t)label + 1) < 0)
        return LAM_E_NOMEM;
    uint32_t *known = &firefox->label_strings.items[label];
    if (!*known) {
        struct profile_text text = export_labels_get(&firefox->labels, label)->text;
        int rc = intern_add(&firefox->strings, text.bytes, text.size, known);
        if (rc < 0)
            return rc;
        ++*known;
    }
    *string = *known - 1;
    return LAM_OK;
}

static int category_of_label(struct firefox *firefox, uint32_t label, uint16_t *category)
{
    uint32_t kind = export_labels_get(&firefox->labels, label)->kind;
    *category = CATEGORY_OTHER;
    if (!kind)
        return LAM_OK;
    if (kind >= firefox->kind_categories.count &&
        array_resize(&firefox->kind_categories, (size_t)kind + 1) < 0)
        return LAM_E_NOMEM;
    uint32_t *known = &firefox->kind_categories.items[kind];
    if (!*known && firefox->kinds.count < UINT16_MAX - CATEGORY_KINDS) {
        if (array_push(&firefox->kinds, kind) < 0)
            return LAM_E_NOMEM;
        *known = CATEGORY_KINDS + (uint32_t)firefox->kinds.count - 1;
    }
    *category = (uint16_t)*known;
    return LAM_OK;
}

static void add_member(struct firefox *firefox, const char *key)
{
    strbuf_addf(&firefox->data, ",\"%s\":", key);
}

static void add_text(struct firefox *firefox, const char *key, struct profile_text value)
{
    add_member(firefox, key);
    strbuf_add_char(&firefox->data, '"');
    strbuf_add_json_escaped(&firefox->data, value.bytes, value.size);
    strbuf_add_char(&firefox->data, '"');
}

static void add_number(struct firefox *firefox, const char *key, uint64_t value)
{
    add_member(firefox, key);
    strbuf_add_u64(&firefox->data, value);
}

static void add_flag(struct firefox *firefox, const char *key)
{
    add_member(firefox, key);
    strbuf_add(&firefox->data, "true");
}

static void add_args(struct firefox *firefox, const struct profile_text *args, size_t argc)
{
    for (size_t i = 0; i < argc && !firefox->options.redacts; i++) {
        char key[32];
        snprintf(key, sizeof key, "arg%zu", i);
        add_text(firefox, key, args[i]);
    }
}

/* The marker with the members that are in firefox->data. */
static int add_marker(struct firefox *firefox, uint32_t row, struct firefox_marker marker)
{
    if (!strbuf_ok(&firefox->data))
        return LAM_E_NOMEM;
    if (firefox->data.length > UINT32_MAX)
        return LAM_E_TOOBIG;
    marker.data_bytes = (uint32_t)firefox->data.length;
    firefox->threads.items[row].markers++;
    spool_add(firefox->spool, row * 2, &marker, sizeof marker);
    spool_add(firefox->spool, row * 2, strbuf_text(&firefox->data), firefox->data.length);
    return LAM_OK;
}

static int label_marker(struct firefox *firefox, uint32_t label, struct firefox_marker *marker)
{
    int rc = string_of_label(firefox, label, &marker->name);
    strbuf_clear(&firefox->data);
    return rc < 0 ? rc : category_of_label(firefox, label, &marker->category);
}

/* ---- the sink ---- */

static int on_session(void *ctx, const struct profile_session *session)
{
    struct firefox *firefox = ctx;
    firefox->rows.names_units = !session->has_samples;
    firefox->started_at_unix_ns = session->started_at_unix_ns;
    firefox->measure = session->measure;
    firefox->has_samples = session->has_samples;
    const char *product = "lamella";
    if (session->command && *session->command && !firefox->options.redacts)
        product = session->command;
    firefox->product = arena_strdup(&firefox->text, product);
    return firefox->product ? LAM_OK : LAM_E_NOMEM;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct firefox *firefox = ctx;
    uint32_t id = process->process;
    int rc = export_rows_process(&firefox->rows, process);
    if (rc == LAM_OK && id >= firefox->programs.count)
        rc = array_resize(&firefox->programs, (size_t)id + 1);
    if (rc == LAM_OK && id >= firefox->process_ends.count)
        rc = array_resize(&firefox->process_ends, (size_t)id + 1);
    if (rc < 0)
        return rc;
    const struct profile_text *exe = process->exe.size ? &process->exe : &process->comm;
    const char *kept = arena_strndup(&firefox->text, exe->size ? exe->bytes : "", exe->size);
    firefox->programs.items[id] = (struct profile_text){kept, exe->size};
    firefox->process_ends.items[id] = INT64_MIN;
    return kept ? LAM_OK : LAM_E_NOMEM;
}

static int on_process_end(void *ctx, const struct profile_process_end *ended)
{
    struct firefox *firefox = ctx;
    if (ended->process < firefox->process_ends.count)
        firefox->process_ends.items[ended->process] = ended->end_ns;
    return LAM_OK;
}

static int on_module(void *ctx, const struct profile_module *module)
{
    struct firefox *firefox = ctx;
    int rc = export_frames_module(&firefox->frames, module);
    return rc < 0 || !firefox->options.cls ? rc : stack_states_module(&firefox->states, module);
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct firefox *firefox = ctx;
    int rc = export_frames_frame(&firefox->frames, frame);
    return rc < 0 || !firefox->options.cls ? rc : stack_states_frame(&firefox->states, frame);
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct firefox *firefox = ctx;
    int rc = export_frames_stack(&firefox->frames, stack);
    return rc < 0 || !firefox->options.cls ? rc : stack_states_stack(&firefox->states, stack);
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct firefox *firefox = ctx;
    uint32_t row;
    int rc = export_rows_thread(&firefox->rows, thread);
    if (rc == LAM_OK)
        rc = row_of(firefox, thread->process, thread->thread, 0, &row);
    if (rc != LAM_OK)
        return rc;
    firefox->threads.items[row].start_ns = thread->start_ns;
    firefox->threads.items[row].has_start = true;
    return LAM_OK;
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    return export_rows_thread_name(&((struct firefox *)ctx)->rows, name);
}

static int on_thread_end(void *ctx, const struct profile_thread_end *ended)
{
    struct firefox *firefox = ctx;
    uint32_t row;
    int rc = row_of(firefox, 0, ended->thread, 0, &row);
    if (rc != LAM_OK)
        return rc;
    firefox->threads.items[row].end_ns = ended->end_ns;
    firefox->threads.items[row].has_end = true;
    return LAM_OK;
}

static int on_track(void *ctx, const struct profile_track *track)
{
    struct firefox *firefox = ctx;
    uint32_t row;
    int rc = export_rows_track(&firefox->rows, track);
    return rc < 0 ? rc : row_of(firefox, track->process, 0, track->track, &row);
}

static int on_label(void *ctx, const struct profile_label *label)
{
    return export_labels_add(&((struct firefox *)ctx)->labels, label);
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct firefox *firefox = ctx;
    struct firefox_marker marker = {
        .start_ns = interval->start_ns, .end_ns = interval->end_ns, .phase = MARKER_INTERVAL};
    uint32_t row;
    int rc = row_of(firefox, interval->process, interval->thread, interval->track, &row);
    if (rc == LAM_OK)
        rc = label_marker(firefox, interval->label, &marker);
    if (rc != LAM_OK)
        return rc;
    add_args(firefox, interval->args, interval->argc);
    if (interval->flags & PROFILE_INTERVAL_OPEN)
        add_flag(firefox, "open");
    if (interval->flags & PROFILE_INTERVAL_DETACHED)
        add_flag(firefox, "detached");
    if (interval->flags & PROFILE_INTERVAL_BACKWARD)
        add_flag(firefox, "ended_before_start");
    if (interval->weight > 1)
        add_number(firefox, "weight", interval->weight);
    return add_marker(firefox, row, marker);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct firefox *firefox = ctx;
    struct firefox_marker marker = {.start_ns = instant->at_ns, .phase = MARKER_INSTANT};
    uint32_t row;
    int rc = row_of(firefox, instant->process, instant->thread, instant->track, &row);
    if (rc == LAM_OK)
        rc = label_marker(firefox, instant->label, &marker);
    if (rc != LAM_OK)
        return rc;
    add_args(firefox, instant->args, instant->argc);
    if (instant->has_value)
        add_number(firefox, "value", instant->value);
    return add_marker(firefox, row, marker);
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    struct firefox *firefox = ctx;
    struct firefox_marker marker = {.start_ns = fold->at_ns, .phase = MARKER_INSTANT};
    uint32_t row;
    int rc = row_of(firefox, fold->process, fold->thread, fold->track, &row);
    if (rc == LAM_OK)
        rc = label_marker(firefox, fold->label, &marker);
    if (rc != LAM_OK)
        return rc;
    firefox->folds += fold->count;
    add_number(firefox, "calls", fold->count);
    add_number(firefox, "total_ns", fold->total_ns);
    add_number(firefox, "self_ns", fold->self_ns);
    return add_marker(firefox, row, marker);
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct firefox *firefox = ctx;
    const char *kind = stream_wait_kind_name(wait->kind), *call = stream_wait_call_name(wait->call);
    struct firefox_marker marker = {.start_ns = wait->start_ns,
                                    .end_ns = wait->start_ns + (int64_t)wait->duration_ns,
                                    .phase = MARKER_INTERVAL,
                                    .type = MARKER_WAIT,
                                    .category = SEGMENT_WAIT};
    uint32_t row;
    int rc = row_of(firefox, wait->process, wait->thread, 0, &row);
    if (rc == LAM_OK)
        rc = intern_add_str(&firefox->strings, kind, &marker.name);
    if (rc != LAM_OK)
        return rc;
    strbuf_clear(&firefox->data);
    add_text(firefox, "call", (struct profile_text){call, strlen(call)});
    add_number(firefox, "cpu_ns", wait->cpu_ns);
    return add_marker(firefox, row, marker);
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct firefox *firefox = ctx;
    struct firefox_sample kept = {
        .at_ns = sample->at_ns, .cpu_ns = sample->cpu_ns, .stack = sample->stack};
    uint32_t row;
    int rc = row_of(firefox, sample->process, sample->thread, 0, &row);
    if (rc != LAM_OK)
        return rc;
    firefox->period_ns = sample->period_ns ? sample->period_ns : firefox->period_ns;
    firefox->threads.items[row].samples++;
    spool_add(firefox->spool, row * 2 + 1, &kept, sizeof kept);
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    export_note_losses(&((struct firefox *)ctx)->options, ended);
    return LAM_OK;
}

static const struct profile_sink_ops firefox_ops = {
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
    .thread_end = on_thread_end,
    .process_end = on_process_end,
};

int write_firefox_open(void **state, const struct export_options *options, struct byteout *out,
                       struct lam_error *err)
{
    struct firefox *firefox = mem_zalloc(1, sizeof *firefox);
    *state = firefox;
    if (!firefox)
        return lam_error_set(err, LAM_E_NOMEM, "firefox: out of memory");
    firefox->options = *options;
    firefox->out = out;
    firefox->rows.in_order = true;
    firefox->frames.symbols = options->symbols;
    firefox->frames.saw_modules = options->saw_modules;
    firefox->frames.redacts = options->redacts;
    firefox->names.symbols = options->symbols;
    struct frame_names names = symbol_names_frames(&firefox->names);
    stack_states_init(&firefox->states, options->cls, &names);
    firefox->tables.shared = (struct firefox_shared){&firefox->frames, &firefox->strings,
                                                     options->cls ? &firefox->states : NULL};
    int rc = spool_open(&firefox->spool, options->scratch_dir, err);
    if (rc < 0)
        write_firefox_close(state);
    return rc;
}

struct profile_sink write_firefox_sink(void *state)
{
    const struct firefox *firefox = state;
    return (struct profile_sink){
        .ctx = state,
        .ops = &firefox_ops,
        .wants = {.order = PROFILE_ORDER_START, .args = !firefox->options.redacts, .counters = true}};
}

/* ---- the file ---- */

static void put_json(struct firefox *firefox, const char *text, size_t size)
{
    strbuf_clear(&firefox->scratch);
    strbuf_add_char(&firefox->scratch, '"');
    strbuf_add_json_escaped(&firefox->scratch, text, size);
    strbuf_add_char(&firefox->scratch, '"');
    byteout_write(firefox->out, strbuf_text(&firefox->scratch), firefox->scratch.length);
}

static void put_ms(struct byteout *out, int64_t ns)
{
    char *start = byteout_room(out, TIME_TEXT_BYTES);
    byteout_advance(out, (size_t)(put_milliseconds(start, ns) - start));
}

enum marker_column {
    COLUMN_NAME,
    COLUMN_START,
    COLUMN_END,
    COLUMN_PHASE,
    COLUMN_CATEGORY,
    COLUMN_DATA,
    COLUMNS
};

static const char *const marker_columns[COLUMNS] = {"name",  "startTime", "endTime",
                                                    "phase", "category",  "data"};

static int put_data(struct firefox *firefox, struct spool_reader *reader,
                    const struct firefox_marker *marker)
{
    static const char *const types[] = {[MARKER_LAMELLA] = "lamella", [MARKER_WAIT] = "wait"};
    byteout_printf(firefox->out, "{\"type\":\"%s\"", types[marker->type]);
    char piece[1024];
    for (uint32_t left = marker->data_bytes; left;) {
        uint32_t part = left < sizeof piece ? left : (uint32_t)sizeof piece;
        int rc = spool_take(reader, piece, part);
        if (rc < 0)
            return rc;
        byteout_write(firefox->out, piece, part);
        left -= part;
    }
    byteout_char(firefox->out, '}');
    return LAM_OK;
}

static int put_cell(struct firefox *firefox, enum marker_column column, struct spool_reader *reader,
                    const struct firefox_marker *marker)
{
    char number[TIME_TEXT_BYTES];
    uint64_t value = 0;
    switch (column) {
    case COLUMN_DATA:
        return put_data(firefox, reader, marker);
    case COLUMN_START:
        put_ms(firefox->out, marker->start_ns);
        return spool_skip(reader, marker->data_bytes);
    case COLUMN_END:
        if (marker->phase == MARKER_INTERVAL)
            put_ms(firefox->out, marker->end_ns);
        else
            byteout_text(firefox->out, "null");
        return spool_skip(reader, marker->data_bytes);
    case COLUMN_NAME:
        value = marker->name;
        break;
    case COLUMN_PHASE:
        value = marker->phase;
        break;
    case COLUMN_CATEGORY:
        value = marker->category;
        break;
    case COLUMNS:
        break;
    }
    byteout_write(firefox->out, number, (size_t)(put_decimal(number, value) - number));
    return spool_skip(reader, marker->data_bytes);
}

static int put_markers(struct firefox *firefox, uint32_t row)
{
    uint64_t count = firefox->threads.items[row].markers;
    byteout_text(firefox->out, "\"markers\":{");
    for (unsigned column = 0; column < COLUMNS; column++) {
        struct spool_reader reader;
        spool_read(firefox->spool, row * 2, &reader);
        byteout_printf(firefox->out, "\"%s\":[", marker_columns[column]);
        for (uint64_t i = 0; i < count; i++) {
            struct firefox_marker marker;
            byteout_text(firefox->out, i ? "," : "");
            int rc = spool_take(&reader, &marker, sizeof marker);
            if (rc == LAM_OK)
                rc = put_cell(firefox, (enum marker_column)column, &reader, &marker);
            if (rc < 0)
                return rc;
        }
        byteout_text(firefox->out, "],\n");
    }
    byteout_printf(firefox->out, "\"length\":%llu},\n", (unsigned long long)count);
    return firefox->out->failed;
}

enum sample_column { SAMPLES_STACK, SAMPLES_TIME, SAMPLES_WEIGHT, SAMPLES_CPU, SAMPLES_COLUMNS };

static int put_sample_cell(struct firefox *firefox, unsigned column,
                           const struct firefox_sample *sample)
{
    uint32_t entry = 0;
    int rc = LAM_OK;
    switch (column) {
    case SAMPLES_STACK:
        rc = firefox_tables_stack(&firefox->tables, sample->stack, &entry);
        if (entry)
            byteout_printf(firefox->out, "%u", entry - 1);
        else
            byteout_text(firefox->out, "null");
        break;
    case SAMPLES_TIME:
        put_ms(firefox->out, sample->at_ns);
        break;
    case SAMPLES_WEIGHT:
        put_ms(firefox->out, (int64_t)sample->cpu_ns);
        break;
    default:
        byteout_printf(firefox->out, "%llu", (unsigned long long)sample->cpu_ns);
    }
    return rc;
}

/* A sample weighs the CPU time it stands for; the profiler sums that up as milliseconds. */
static int put_samples(struct firefox *firefox, uint32_t row)
{
    static const char *const names[SAMPLES_COLUMNS] = {"stack", "time", "weight", "threadCPUDelta"};
    uint64_t count = firefox->threads.items[row].samples;
    byteout_text(firefox->out, "\"samples\":{");
    for (unsigned column = 0; column < SAMPLES_COLUMNS; column++) {
        struct spool_reader reader;
        spool_read(firefox->spool, row * 2 + 1, &reader);
        byteout_printf(firefox->out, "\"%s\":[", names[column]);
        for (uint64_t i = 0; i < count; i++) {
            struct firefox_sample sample;
            byteout_text(firefox->out, i ? "," : "");
            int rc = spool_take(&reader, &sample, sizeof sample);
            if (rc == LAM_OK)
                rc = put_sample_cell(firefox, column, &sample);
            if (rc < 0)
                return rc;
        }
        byteout_text(firefox->out, "],\n");
    }
    byteout_printf(firefox->out, "\"weightType\":\"tracing-ms\",\"length\":%llu},\n",
                   (unsigned long long)count);
    return firefox->out->failed;
}

static void put_time_or_null(struct firefox *firefox, const char *key, bool is_known, int64_t ns)
{
    byteout_printf(firefox->out, "\"%s\":", key);
    if (is_known)
        put_ms(firefox->out, ns);
    else
        byteout_text(firefox->out, "null");
    byteout_char(firefox->out, ',');
}

static void put_thread_head(struct firefox *firefox, uint32_t index)
{
    const struct export_row *row = &firefox->rows.rows.items[index];
    const struct firefox_row *thread = &firefox->threads.items[index];
    struct export_process process = export_rows_process_of(&firefox->rows, row->process);
    struct strbuf title = {0};
    export_rows_title(row, &title);
    byteout_text(firefox->out, "{\"name\":");
    put_json(firefox, strbuf_text(&title), title.length);
    strbuf_free(&title);
    byteout_text(firefox->out, ",\"processName\":");
    put_json(firefox, process.name.bytes ? process.name.bytes : "", process.name.size);
    byteout_printf(
        firefox->out, ",\"processType\":\"default\",\"isMainThread\":%s,\"tid\":%u,\"pid\":\"%u",
        !row->track && row->tid == process.pid ? "true" : "false", row->shown_tid, process.pid);
    if (process.shown_pid != process.pid) /* the profiler takes one pid for one process */
        byteout_printf(firefox->out, ".%u", row->process);
    byteout_text(firefox->out, "\",\"pausedRanges\":[],");
    int64_t end_ns = row->process < firefox->process_ends.count
                         ? firefox->process_ends.items[row->process]
                         : INT64_MIN;
    put_time_or_null(firefox, "processStartupTime", true, process.start_ns);
    put_time_or_null(firefox, "processShutdownTime", end_ns != INT64_MIN, end_ns);
    put_time_or_null(firefox, "registerTime", true,
                     thread->has_start ? thread->start_ns : process.start_ns);
    put_time_or_null(firefox, "unregisterTime", thread->has_end, thread->end_ns);
    byteout_char(firefox->out, '\n');
}

static void prepare_tables(struct firefox *firefox, uint32_t index)
{
    const struct export_row *row = &firefox->rows.rows.items[index];
    firefox_tables_clear(&firefox->tables);
    if (!firefox->options.cls || row->process >= firefox->programs.count)
        return;
    struct export_process process = export_rows_process_of(&firefox->rows, row->process);
    const char *program = firefox->programs.items[row->process].bytes;
    firefox->tables.fallback =
        classifier_thread(firefox->options.cls, program ? program : "",
                          row->name.size ? row->name.bytes : "", row->name.size,
                          !row->track && row->tid == process.pid)
            .fallback;
}

static int put_threads(struct firefox *firefox)
{
    byteout_text(firefox->out, "{\"threads\":[\n");
    for (uint32_t row = 0; row < firefox->threads.count; row++) {
        byteout_text(firefox->out, row ? ",\n" : "");
        prepare_tables(firefox, row);
        put_thread_head(firefox, row);
        int rc = put_samples(firefox, row);
        if (rc == LAM_OK)
            rc = put_markers(firefox, row);
        if (rc == LAM_OK)
            rc = firefox_tables_put(&firefox->tables, firefox->out);
        byteout_char(firefox->out, '}');
        if (rc < 0)
            return rc;
    }
    byteout_text(firefox->out, "],\n");
    return firefox->out->failed;
}

static void put_libs(struct firefox *firefox)
{
    byteout_text(firefox->out, "\"libs\":[");
    for (size_t i = 1; i < firefox->frames.modules.count; i++) {
        const struct export_module *module = &firefox->frames.modules.items[i];
        size_t size;
        const char *path = intern_text(&firefox->frames.names, module->path, &size);
        struct profile_text name = export_base_name((struct profile_text){path, size});
        static const struct {
            const char *key;
            bool is_path;
        } members[] = {{"name", false}, {"path", true}, {"debugName", false}, {"debugPath", true}};
        byteout_text(firefox->out, i > 1 ? ",\n{" : "\n{");
        for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
            byteout_printf(firefox->out, "\"%s\":", members[m].key);
            put_json(firefox, members[m].is_path ? path : name.bytes,
                     members[m].is_path ? size : name.size);
            byteout_char(firefox->out, ',');
        }
        byteout_text(firefox->out, "\"arch\":\"x86_64\",\"breakpadId\":\"\",\"codeId\":\"");
        for (unsigned b = 0; b < module->build_id_bytes && b < sizeof module->build_id; b++)
            byteout_printf(firefox->out, "%02x", module->build_id[b]);
        byteout_text(firefox->out, "\"}");
    }
    byteout_text(firefox->out, "],\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\n");
}

static void put_strings(struct firefox *firefox)
{
    byteout_text(firefox->out, "\"shared\":{\"stringArray\":[");
    for (uint32_t i = 0; i < intern_count(&firefox->strings); i++) {
        size_t size;
        const char *text = intern_text(&firefox->strings, i, &size);
        byteout_text(firefox->out, i ? ",\n" : "\n");
        put_json(firefox, text, size);
    }
    byteout_text(firefox->out, "]},\n");
}

static void put_category(struct firefox *firefox, const char *name, size_t size, const char *color)
{
    byteout_text(firefox->out, "{\"name\":");
    put_json(firefox, name, size);
    byteout_printf(firefox->out, ",\"color\":\"%s\",\"subcategories\":[\"Other\"", color);
}

static void put_categories(struct firefox *firefox)
{
    static const char *const colors[SEGMENT_COUNT] = {
        [SEGMENT_NONE] = "grey",       [SEGMENT_FRONTEND] = "blue", [SEGMENT_BACKEND] = "orange",
        [SEGMENT_LINK] = "green",      [SEGMENT_PROCESS] = "brown", [SEGMENT_WAIT] = "yellow",
        [SEGMENT_UNKNOWN] = "darkgrey"};
    static const char *const kind_colors[] = {"lightblue", "purple", "magenta",
                                              "lightred",  "red",    "green"};
    const struct classifier *cls = firefox->options.cls;
    byteout_text(firefox->out, "\"categories\":[");
    for (unsigned segment = 0; segment < SEGMENT_COUNT; segment++) {
        const char *name =
            segment == SEGMENT_NONE ? "Other" : phase_segment_name((enum phase_segment)segment);
        byteout_text(firefox->out, segment ? ",\n" : "\n");
        put_category(firefox, name, strlen(name), colors[segment]);
        for (uint32_t i = 0; cls && i < classifier_phase_count(cls); i++) {
            struct phase_bucket phase = classifier_phase(cls, i);
            if (phase.segment != segment)
                continue;
            byteout_char(firefox->out, ',');
            put_json(firefox, phase.phase_name, strlen(phase.phase_name));
        }
        byteout_text(firefox->out, "]}");
    }
    for (size_t i = 0; i < firefox->kinds.count; i++) {
        struct profile_text name = export_labels_get(&firefox->labels, firefox->kinds.items[i])->text;
        byteout_text(firefox->out, ",\n");
        put_category(firefox, name.bytes, name.size,
                     kind_colors[i % (sizeof kind_colors / sizeof *kind_colors)]);
        byteout_text(firefox->out, "]}");
    }
    byteout_text(firefox->out, "],\n");
}

static void put_schema(struct firefox *firefox, const char *type, const char *label,
                       const char *const fields[][2], bool is_last)
{
    byteout_printf(
        firefox->out,
        "{\"name\":\"%s\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
        "\"chartLabel\":\"%s\",\"tableLabel\":\"%s\",\"tooltipLabel\":\"{marker.name}\",\"fields\":"
        "[",
        type, label, label);
    for (size_t i = 0; fields[i][0]; i++)
        byteout_printf(firefox->out, "%s{\"key\":\"%s\",\"label\":\"%s\",\"format\":\"%s\"}",
                       i ? "," : "", fields[i][0], fields[i][0], fields[i][1]);
    byteout_text(firefox->out, is_last ? "]}" : "]},\n");
}

static void put_schemas(struct firefox *firefox)
{
    static const char *const own[][2] = {{"arg0", "string"},
                                         {"arg1", "string"},
                                         {"arg2", "string"},
                                         {"arg3", "string"},
                                         {"open", "string"},
                                         {"detached", "string"},
                                         {"ended_before_start", "string"},
                                         {"weight", "integer"},
                                         {"value", "integer"},
                                         {"calls", "integer"},
                                         {"total_ns", "nanoseconds"},
                                         {"self_ns", "nanoseconds"},
                                         {NULL, NULL}};
    static const char *const wait[][2] = {{"call", "string"}, {"cpu_ns", "nanoseconds"}, {NULL, NULL}};
    byteout_text(firefox->out, "\"markerSchema\":[\n");
    put_schema(firefox, "lamella", "{marker.name} {marker.data.arg0}", own, false);
    put_schema(firefox, "wait", "{marker.name}", wait, true);
    byteout_text(firefox->out, "],\n");
}

static void put_meta(struct firefox *firefox)
{
    byteout_text(firefox->out, "\"meta\":{");
    put_categories(firefox);
    put_schemas(firefox);
    byteout_text(firefox->out, "\"interval\":");
    put_ms(firefox->out, firefox->period_ns ? firefox->period_ns : 1000000);
    byteout_text(firefox->out, ",\"startTime\":");
    put_ms(firefox->out, firefox->started_at_unix_ns > 0 ? firefox->started_at_unix_ns : 0);
    byteout_text(firefox->out, ",\"product\":");
    put_json(firefox, firefox->product ? firefox->product : "lamella",
             strlen(firefox->product ? firefox->product : "lamella"));
    byteout_printf(
        firefox->out,
        ",\"importedFrom\":\"lamella " LAM_VERSION
        "\",\"processType\":0,\"stackwalk\":1,\"debug\":false,"
        "\"version\":%d,\"preprocessedProfileVersion\":%d,\"symbolicated\":true,"
        "\"sourceCodeIsNotOnSearchfox\":true,\"usesOnlyOneStackType\":true,"
        "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
        "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]}}}\n",
        GECKO_VERSION, FIREFOX_VERSION);
}

int write_firefox_finish(void *state, struct lam_error *err)
{
    struct firefox *firefox = state;
    int rc = put_threads(firefox);
    if (rc == LAM_OK) {
        put_libs(firefox);
        put_strings(firefox);
        put_meta(firefox);
        rc = firefox->out->failed;
    }
    if (spool_status(firefox->spool, err) < 0)
        return err ? err->code : LAM_E_IO;
    if (rc < 0)
        return lam_error_set(err, rc, "firefox: %s", lam_code_text(rc));
    if (firefox->folds)
        export_note(
            &firefox->options,
            "%s call%s counted and not stored one by one: each sum of them is a marker at a point",
            unit_count(firefox->folds).text, unit_plural(firefox->folds));
    export_note_measure(&firefox->options, firefox->measure);
    return LAM_OK;
}

void write_firefox_close(void **state)
{
    if (!state || !*state)
        return;
    struct firefox *firefox = *state;
    export_labels_free(&firefox->labels);
    export_frames_free(&firefox->frames);
    export_rows_free(&firefox->rows);
    symbol_names_free(&firefox->names);
    stack_states_free(&firefox->states);
    firefox_tables_free(&firefox->tables);
    array_free(&firefox->threads);
    array_free(&firefox->programs);
    array_free(&firefox->process_ends);
    array_free(&firefox->label_strings);
    array_free(&firefox->kind_categories);
    array_free(&firefox->kinds);
    intern_free(&firefox->strings);
    arena_free(&firefox->text);
    spool_close(&firefox->spool);
    strbuf_free(&firefox->data);
    strbuf_free(&firefox->scratch);
    mem_free(firefox);
    *state = NULL;
}
