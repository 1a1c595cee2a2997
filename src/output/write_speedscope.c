#include "output/write_speedscope.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/spool.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "output/export_rows.h"
#include "output/export_tables.h"
#include "output/open_stack.h"
#include "output/time_text.h"

/* An event on its way: the format wants the events of a thread together, and threads take turns. */
struct scope_event {
    int64_t at_ns;
    uint32_t frame; /* of the file */
    uint32_t is_close;
};

struct scope_sample {
    uint64_t weight;
    uint32_t stack, unused;
};

struct scope_row {
    struct open_stack open;
    int64_t first_ns, last_ns;
    uint64_t events, samples;
};

struct scope {
    struct export_options options;
    struct byteout *out;
    struct export_labels labels;
    struct export_frames frames;
    struct export_rows rows;
    LAM_ARRAY(struct scope_row) states; /* by row */
    struct spool *spool;                /* row * 2: events; row * 2 + 1: samples */
    LAM_ARRAY(uint32_t) label_frames;   /* label → frame + 1 */
    struct map function_frames;         /* (name, file) → frame */
    LAM_ARRAY(uint64_t) names;          /* frame → label, or function + 2^32 */
    LAM_ARRAY(uint32_t) chain;
    struct strbuf text;
    const char *unit;
    uint64_t integers, folds, waits;
};

#define IS_FUNCTION UINT64_C(0x100000000)

/* ---- frames ---- */

static int frame_of_label(struct scope *scope, uint32_t label, uint32_t *frame)
{
    if (label >= scope->label_frames.count &&
        array_resize(&scope->label_frames, (size_t)label + 1) < 0)
        return LAM_E_NOMEM;
    uint32_t *known = &scope->label_frames.items[label];
    if (!*known) {
        if (array_push(&scope->names, (uint64_t)label) < 0)
            return LAM_E_NOMEM;
        *known = (uint32_t)scope->names.count;
    }
    *frame = *known - 1;
    return LAM_OK;
}

static int frame_of_function(struct scope *scope, const struct export_function *function,
                             uint32_t *frame)
{
    uint64_t id = (uint64_t)(function - scope->frames.functions.items);
    bool is_new;
    uint64_t *slot =
        map_slot(&scope->function_frames, (uint64_t)function->file << 32 | function->name,
                 scope->names.count, &is_new);
    if (!slot || (is_new && array_push(&scope->names, IS_FUNCTION + id) < 0))
        return LAM_E_NOMEM;
    *frame = (uint32_t)*slot;
    return LAM_OK;
}

/* ---- the sink ---- */

static int state_of(struct scope *scope, uint32_t row, struct scope_row **state)
{
    if (row >= scope->states.count && array_resize(&scope->states, (size_t)row + 1) < 0)
        return LAM_E_NOMEM;
    *state = &scope->states.items[row];
    return LAM_OK;
}

/* Times never fall: that is what the format's readers stop at. */
static void add_event(struct scope *scope, struct scope_row *state, uint32_t row, int64_t at_ns,
                      uint32_t frame, bool is_close)
{
    if (!state->events)
        state->first_ns = at_ns;
    else if (at_ns < state->last_ns)
        at_ns = state->last_ns;
    state->last_ns = at_ns;
    state->events++;
    struct scope_event event = {.at_ns = at_ns, .frame = frame, .is_close = is_close};
    spool_add(scope->spool, row * 2, &event, sizeof event);
}

static void close_before(struct scope *scope, struct scope_row *state, uint32_t row,
                         int64_t start_ns, uint32_t depth)
{
    struct open_interval ended;
    while (open_stack_ended(&state->open, start_ns, depth, &ended))
        add_event(scope, state, row, ended.end_ns, ended.label, true);
}

static int on_session(void *ctx, const struct profile_session *session)
{
    struct scope *scope = ctx;
    scope->rows.names_units = !session->has_samples;
    scope->unit = session->measure <= PROFILE_MEASURE_CPU_TIME ? "nanoseconds" : "none";
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    return export_rows_process(&((struct scope *)ctx)->rows, process);
}

EXPORT_FRAMES_CALLS(struct scope, frames)

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    return export_rows_thread(&((struct scope *)ctx)->rows, thread);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    return export_rows_thread_name(&((struct scope *)ctx)->rows, name);
}

static int on_track(void *ctx, const struct profile_track *track)
{
    return export_rows_track(&((struct scope *)ctx)->rows, track);
}

static int on_label(void *ctx, const struct profile_label *label)
{
    return export_labels_add(&((struct scope *)ctx)->labels, label);
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct scope *scope = ctx;
    struct scope_row *state = NULL;
    uint32_t row, frame;
    bool is_new;
    int rc = export_rows_interval(&scope->rows, interval, &row, &is_new);
    if (rc == LAM_OK)
        rc = frame_of_label(scope, interval->label, &frame);
    if (rc == LAM_OK)
        rc = state_of(scope, row, &state);
    if (rc != LAM_OK)
        return rc;
    close_before(scope, state, row, interval->start_ns, interval->depth);
    add_event(scope, state, row, interval->start_ns, frame, false);
    struct open_interval opened = {interval->end_ns, frame, interval->depth};
    if (state->open.count && array_last(&state->open).end_ns < opened.end_ns)
        opened.end_ns = array_last(&state->open).end_ns; /* an input that breaks its own nesting */
    return array_push(&state->open, opened);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct scope *scope = ctx;
    struct scope_row *state = NULL;
    uint32_t row, frame;
    bool is_new;
    if (instant->has_value) {
        scope->integers++;
        return LAM_OK;
    }
    int rc = export_rows_own(&scope->rows, instant->process, instant->thread, instant->track, &row,
                             &is_new);
    if (rc == LAM_OK)
        rc = frame_of_label(scope, instant->label, &frame);
    if (rc == LAM_OK)
        rc = state_of(scope, row, &state);
    if (rc != LAM_OK)
        return rc;
    close_before(scope, state, row, instant->at_ns, OPEN_STACK_INSTANT);
    add_event(scope, state, row, instant->at_ns, frame, false);
    add_event(scope, state, row, instant->at_ns, frame, true);
    return LAM_OK;
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    ((struct scope *)ctx)->folds += fold->count;
    return LAM_OK;
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    (void)wait;
    ((struct scope *)ctx)->waits++;
    return LAM_OK;
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct scope *scope = ctx;
    struct scope_row *state = NULL;
    uint32_t row;
    bool is_new;
    int rc = export_rows_own(&scope->rows, sample->process, sample->thread, 0, &row, &is_new);
    if (rc == LAM_OK)
        rc = state_of(scope, row, &state);
    if (rc != LAM_OK)
        return rc;
    struct scope_sample kept = {.weight = sample->cpu_ns, .stack = sample->stack};
    state->samples++;
    spool_add(scope->spool, row * 2 + 1, &kept, sizeof kept);
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *ended)
{
    export_note_losses(&((struct scope *)ctx)->options, ended);
    return LAM_OK;
}

static const struct profile_sink_ops scope_ops = {
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
    .wait = on_wait,
    .sample = on_sample,
};

int write_speedscope_open(void **state, const struct export_options *options, struct byteout *out,
                          struct lam_error *err)
{
    struct scope *scope = mem_zalloc(1, sizeof *scope);
    *state = scope;
    if (!scope)
        return lam_error_set(err, LAM_E_NOMEM, "speedscope: out of memory");
    scope->options = *options;
    scope->out = out;
    scope->unit = "nanoseconds";
    scope->rows.in_order = true;
    scope->frames.symbols = options->symbols;
    scope->frames.saw_modules = options->saw_modules;
    scope->frames.redacts = options->redacts;
    int rc = spool_open(&scope->spool, options->scratch_dir, err);
    if (rc < 0)
        write_speedscope_close(state);
    return rc;
}

struct profile_sink write_speedscope_sink(void *state)
{
    return (struct profile_sink){
        .ctx = state, .ops = &scope_ops, .wants = {.order = PROFILE_ORDER_START}};
}

/* ---- the file ---- */

static void put_json(struct scope *scope, const char *text, size_t size)
{
    strbuf_clear(&scope->text);
    strbuf_add_char(&scope->text, '"');
    strbuf_add_json_escaped(&scope->text, text, size);
    strbuf_add_char(&scope->text, '"');
    byteout_write(scope->out, strbuf_text(&scope->text), scope->text.length);
}

/* {"type":"evented","name":"cc1 - main (12)","unit":"nanoseconds" */
static void begin_profile(struct scope *scope, uint32_t index, const char *type, const char *unit,
                          bool *is_first)
{
    const struct export_row *row = &scope->rows.rows.items[index];
    struct export_process process = export_rows_process_of(&scope->rows, row->process);
    struct strbuf name = {0};
    strbuf_add_bytes(&name, process.name.bytes, process.name.size);
    strbuf_addf(&name, " %u - ", process.pid);
    export_rows_title(row, &name);
    byteout_printf(scope->out, "%s{\"type\":\"%s\",\"name\":", *is_first ? "" : ",\n", type);
    put_json(scope, strbuf_text(&name), name.length);
    byteout_printf(scope->out, ",\"unit\":\"%s\"", unit);
    strbuf_free(&name);
    *is_first = false;
}

static int put_events(struct scope *scope, uint32_t row)
{
    struct spool_reader reader;
    struct scope_event event;
    const struct scope_row *state = &scope->states.items[row];
    byteout_printf(scope->out, ",\"startValue\":%lld,\"endValue\":%lld,\"events\":[",
                   (long long)state->first_ns, (long long)state->last_ns);
    spool_read(scope->spool, row * 2, &reader);
    for (uint64_t i = 0; i < state->events; i++) {
        int rc = spool_take(&reader, &event, sizeof event);
        if (rc < 0)
            return rc;
        char *start = byteout_room(scope->out, 128), *at = start;
        at = put_bytes(at, i ? ",\n" : "\n", i ? 2 : 1);
        at = put_literal(at, "{\"type\":\"");
        *at++ = event.is_close ? 'C' : 'O';
        at = put_literal(at, "\",\"frame\":");
        at = put_decimal(at, event.frame);
        at = put_literal(at, ",\"at\":");
        if (event.at_ns < 0)
            *at++ = '-';
        at = put_decimal(at, event.at_ns < 0 ? (uint64_t)0 - (uint64_t)event.at_ns
                                             : (uint64_t)event.at_ns);
        *at++ = '}';
        byteout_advance(scope->out, (size_t)(at - start));
    }
    byteout_text(scope->out, "\n]}");
    return scope->out->failed;
}

/* The frames of a stack, outermost first. */
static int put_stack(struct scope *scope, uint32_t stack)
{
    int rc = LAM_OK;
    array_clear(&scope->chain);
    for (; stack && stack < scope->frames.stacks.count && rc == LAM_OK;
         stack = scope->frames.stacks.items[stack].parent) {
        uint32_t count, frame;
        const struct export_function *functions =
            export_frames_functions(&scope->frames, scope->frames.stacks.items[stack].frame, &count);
        rc = functions ? LAM_OK : LAM_E_NOMEM;
        for (uint32_t i = 0; rc == LAM_OK && i < count; i++) {
            rc = frame_of_function(scope, &functions[i], &frame);
            if (rc == LAM_OK)
                rc = array_push(&scope->chain, frame);
        }
    }
    byteout_char(scope->out, '[');
    for (size_t i = scope->chain.count; i-- > 0;) {
        char *start = byteout_room(scope->out, TIME_TEXT_BYTES), *at = start;
        at = put_decimal(at, scope->chain.items[i]);
        if (i)
            *at++ = ',';
        byteout_advance(scope->out, (size_t)(at - start));
    }
    byteout_char(scope->out, ']');
    return rc;
}

static int put_samples(struct scope *scope, uint32_t row)
{
    struct spool_reader reader;
    struct scope_sample sample;
    uint64_t count = scope->states.items[row].samples, total = 0;
    byteout_text(scope->out, ",\"startValue\":0,\"samples\":[");
    spool_read(scope->spool, row * 2 + 1, &reader);
    int rc = LAM_OK;
    for (uint64_t i = 0; i < count && rc == LAM_OK; i++) {
        rc = spool_take(&reader, &sample, sizeof sample);
        byteout_text(scope->out, i ? ",\n" : "\n");
        if (rc == LAM_OK)
            rc = put_stack(scope, sample.stack);
    }
    byteout_text(scope->out, "\n],\"weights\":[");
    spool_read(scope->spool, row * 2 + 1, &reader);
    for (uint64_t i = 0; i < count && rc == LAM_OK; i++) {
        rc = spool_take(&reader, &sample, sizeof sample);
        byteout_printf(scope->out, "%s%llu", i ? "," : "", (unsigned long long)sample.weight);
        total += sample.weight;
    }
    byteout_printf(scope->out, "],\"endValue\":%llu}", (unsigned long long)total);
    return rc < 0 ? rc : scope->out->failed;
}

static int put_profiles(struct scope *scope)
{
    bool is_first = true;
    int rc = LAM_OK;
    byteout_text(scope->out, "\"profiles\":[");
    for (uint32_t row = 0; row < scope->states.count && rc == LAM_OK; row++) {
        struct scope_row *state = &scope->states.items[row];
        struct open_interval ended;
        while (open_stack_last(&state->open, &ended))
            add_event(scope, state, row, ended.end_ns, ended.label, true);
    }
    for (uint32_t row = 0; row < scope->states.count && rc == LAM_OK; row++) {
        if (scope->states.items[row].events) {
            begin_profile(scope, row, "evented", scope->unit, &is_first);
            rc = put_events(scope, row);
        }
        if (rc == LAM_OK && scope->states.items[row].samples) {
            begin_profile(scope, row, "sampled", "nanoseconds", &is_first);
            rc = put_samples(scope, row);
        }
    }
    byteout_text(scope->out, "],\n");
    return rc;
}

static void put_frames(struct scope *scope)
{
    byteout_text(scope->out, "\"shared\":{\"frames\":[");
    for (size_t i = 0; i < scope->names.count; i++) {
        uint64_t id = scope->names.items[i];
        byteout_text(scope->out, i ? ",\n{\"name\":" : "\n{\"name\":");
        if (id < IS_FUNCTION) {
            struct profile_text name = export_labels_get(&scope->labels, (uint32_t)id)->text;
            put_json(scope, name.bytes, name.size);
        } else {
            const struct export_function *function = &scope->frames.functions.items[id - IS_FUNCTION];
            size_t size;
            const char *text = intern_text(&scope->frames.names, function->name, &size);
            put_json(scope, text, size);
            if (function->file) {
                text = intern_text(&scope->frames.names, function->file, &size);
                byteout_text(scope->out, ",\"file\":");
                put_json(scope, text, size);
            }
        }
        byteout_char(scope->out, '}');
    }
    byteout_text(scope->out, "\n]}}\n");
}

static void note_left_out(const struct scope *scope)
{
    if (scope->integers)
        export_note(&scope->options,
                    "%s integer%s left out: speedscope's format has no place for them",
                    unit_count(scope->integers).text, unit_plural(scope->integers));
    if (scope->folds)
        export_note(
            &scope->options, "%s call%s counted and not stored one by one: speedscope's format has no place for them",
            unit_count(scope->folds).text, unit_plural(scope->folds));
    if (scope->waits)
        export_note(&scope->options, "%s wait%s left out: speedscope's format has no place for them",
                    unit_count(scope->waits).text, unit_plural(scope->waits));
}

int write_speedscope_finish(void *state, struct lam_error *err)
{
    struct scope *scope = state;
    byteout_text(scope->out,
                 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                 "\"exporter\":\"lamella " LAM_VERSION "\",\"name\":");
    const char *title = scope->options.title ? scope->options.title : "lamella";
    put_json(scope, title, strlen(title));
    byteout_text(scope->out, ",\"activeProfileIndex\":0,\n");
    int rc = put_profiles(scope);
    put_frames(scope);
    if (spool_status(scope->spool, err) < 0)
        return err ? err->code : LAM_E_IO;
    if (rc < 0)
        return lam_error_set(err, rc, "speedscope: %s", lam_code_text(rc));
    note_left_out(scope);
    return LAM_OK;
}

void write_speedscope_close(void **state)
{
    if (!state || !*state)
        return;
    struct scope *scope = *state;
    array_each(&scope->states, row) array_free(&row->open);
    array_free(&scope->states);
    export_labels_free(&scope->labels);
    export_frames_free(&scope->frames);
    export_rows_free(&scope->rows);
    spool_close(&scope->spool);
    array_free(&scope->label_frames);
    map_free(&scope->function_frames);
    array_free(&scope->names);
    array_free(&scope->chain);
    strbuf_free(&scope->text);
    mem_free(scope);
    *state = NULL;
}
