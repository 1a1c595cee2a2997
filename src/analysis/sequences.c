#include "analysis/sequences.h"

#include <stdlib.h>

enum { ID_MAX = 1u << 28, INSTANT_DEPTH = 0xffff };

static struct sequence_run *current(struct sequences *sequences)
{
    return &array_last(&sequences->runs);
}

static int find_row(struct sequences *sequences, uint32_t kind, uint32_t label, uint32_t *row)
{
    bool added;
    uint64_t *slot =
        map_slot(&sequences->row_ids, (uint64_t)kind << 32 | label, sequences->rows.count, &added);
    struct sequence_row fresh = {.kind = kind, .label = label};
    if (!slot || (added && array_push(&sequences->rows, fresh) < 0))
        return LAM_E_NOMEM;
    *row = (uint32_t)*slot;
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct sequences *sequences = ctx;
    if (process->process > ID_MAX)
        return LAM_E_INVAL;
    current(sequences)->processes++;
    return process->process < sequences->first_thread.count
               ? LAM_OK
               : array_resize(&sequences->first_thread, (size_t)process->process + 1);
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct sequences *sequences = ctx;
    if (thread->thread == 0 || thread->thread > ID_MAX ||
        thread->process >= sequences->first_thread.count)
        return LAM_E_INVAL;
    if (!sequences->first_thread.items[thread->process])
        sequences->first_thread.items[thread->process] = thread->thread;
    return thread->thread < sequences->last.count
               ? LAM_OK
               : array_resize(&sequences->last, (size_t)thread->thread + 1);
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct sequences *sequences = ctx;
    if (label->label > ID_MAX || (label->kind && label->kind >= sequences->kind_of.count))
        return LAM_E_INVAL;
    if (label->label >= sequences->row_of.count &&
        (array_resize(&sequences->row_of, (size_t)label->label + 1) < 0 ||
         array_resize(&sequences->kind_of, (size_t)label->label + 1) < 0))
        return LAM_E_NOMEM;
    uint32_t text, row;
    int rc = intern_add(&sequences->texts, label->text.bytes ? label->text.bytes : "",
                        label->text.bytes ? label->text.size : 0, &text);
    if (rc < 0)
        return rc;
    sequences->kind_of.items[label->label] = text;
    rc = find_row(sequences, label->kind ? sequences->kind_of.items[label->kind] : INTERN_EMPTY,
                  text, &row);
    if (rc == LAM_OK)
        sequences->row_of.items[label->label] = row + 1;
    return rc;
}

/* The main thread's next event against the first run's: until they part. */
static int follow(struct sequences *sequences, uint32_t row, int64_t at_ns)
{
    struct sequence_run *run = current(sequences);
    uint64_t position = run->events++;
    if (run->processes > 1)
        return LAM_OK; /* their order is the scheduler's */
    if (sequences->runs.count == 1)
        return position < SEQUENCE_REFERENCE_EVENTS ? array_push(&sequences->reference, row) : LAM_OK;
    bool has_end = sequences->runs.items[0].events <= SEQUENCE_REFERENCE_EVENTS;
    if (run->has_difference || sequences->runs.items[0].processes != 1 ||
        (position >= sequences->reference.count && !has_end))
        return LAM_OK;
    uint32_t there =
        position < sequences->reference.count ? sequences->reference.items[position] : UINT32_MAX;
    if (there == row)
        return LAM_OK;
    run->has_difference = true;
    run->position = position;
    run->at_ns = at_ns;
    run->here = row;
    run->there = there;
    return LAM_OK;
}

/* Of the current run, for a label's row. NULL: out of memory. */
static struct sequence_cell *find_cell(struct sequences *sequences, uint32_t index)
{
    struct sequence_row *row = &sequences->rows.items[index];
    uint32_t run = (uint32_t)sequences->runs.count - 1;
    if ((row->cells.count == 0 || array_last(&row->cells).run != run) &&
        array_push(&row->cells, ((struct sequence_cell){.run = run})) < 0)
        return NULL;
    return &array_last(&row->cells);
}

static int add(struct sequences *sequences, uint32_t process, uint32_t thread, uint32_t label,
               uint32_t depth, int64_t at_ns)
{
    if (thread == 0 || thread >= sequences->last.count || label >= sequences->row_of.count ||
        !sequences->row_of.items[label] || process >= sequences->first_thread.count)
        return LAM_E_INVAL;
    uint32_t index = sequences->row_of.items[label] - 1;
    bool is_main = sequences->first_thread.items[process] == thread;
    uint64_t before = depth == 0 && !is_main ? 0 : sequences->last.items[thread];
    struct sequence_cell *cell = find_cell(sequences, index);
    if (!cell)
        return LAM_E_NOMEM;
    cell->count++;
    cell->order += hash_combine(before, depth);
    sequences->last.items[thread] = hash_combine(index + 1, depth);
    return is_main ? follow(sequences, index, at_ns) : LAM_OK;
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    return add(ctx, interval->process, interval->thread, interval->label, interval->depth,
               interval->start_ns);
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    struct sequences *sequences = ctx;
    if (fold->label >= sequences->row_of.count || !sequences->row_of.items[fold->label])
        return LAM_E_INVAL;
    struct sequence_cell *cell = find_cell(sequences, sequences->row_of.items[fold->label] - 1);
    if (!cell)
        return LAM_E_NOMEM;
    cell->count += fold->count;
    cell->is_folded = true;
    current(sequences)->is_folded = true;
    return LAM_OK;
}

/* Integers are sums that a program writes in the order of its tables: that says nothing. */
static int on_instant(void *ctx, const struct profile_instant *instant)
{
    return instant->has_value ? LAM_OK
                              : add(ctx, instant->process, instant->thread, instant->label,
                                    INSTANT_DEPTH, instant->at_ns);
}

int sequences_begin(struct sequences *sequences, struct profile_sink *sink)
{
    static const struct profile_sink_ops ops = {
        .process = on_process,
        .thread = on_thread,
        .label = on_label,
        .interval = on_interval,
        .fold = on_fold,
        .instant = on_instant,
    };
    array_clear(&sequences->row_of);
    array_clear(&sequences->kind_of);
    array_clear(&sequences->last);
    array_clear(&sequences->first_thread);
    *sink =
        (struct profile_sink){.ctx = sequences, .ops = &ops, .wants = {.order = PROFILE_ORDER_START}};
    struct sequence_run run = {.here = UINT32_MAX, .there = UINT32_MAX};
    return array_push(&sequences->runs, run);
}

void sequences_drop(struct sequences *sequences)
{
    uint32_t run = (uint32_t)sequences->runs.count - 1;
    array_each(&sequences->rows, row) if (row->cells.count > 0 && array_last(&row->cells).run == run)
        row->cells.count--;
    sequences->runs.count--;
    if (run == 0)
        array_clear(&sequences->reference);
}

static int compare_differences(const void *a, const void *b, void *ctx)
{
    const struct sequence_difference *left = a, *right = b;
    const struct sequences *sequences = ctx;
    if (left->what != right->what)
        return left->what < right->what ? -1 : 1;
    uint64_t x = left->what == SEQUENCE_COUNT ? left->most - left->least : left->most,
             y = right->what == SEQUENCE_COUNT ? right->most - right->least : right->most;
    if (x != y)
        return x > y ? -1 : 1;
    const char *p = intern_text(&sequences->texts, sequences->rows.items[left->row].label, NULL),
               *q = intern_text(&sequences->texts, sequences->rows.items[right->row].label, NULL);
    int order = strcmp(p, q);
    return order ? order : left->row < right->row ? -1 : left->row > right->row;
}

/* A run that ended earlier than the first one has parted from it as well. */
static void finish_runs(struct sequences *sequences)
{
    for (size_t i = 1; i < sequences->runs.count; i++) {
        struct sequence_run *run = &sequences->runs.items[i];
        if (run->is_folded || sequences->runs.items[0].is_folded) {
            run->has_difference = false;
            continue;
        }
        bool is_short = run->events < sequences->reference.count && run->processes == 1 &&
                        sequences->runs.items[0].processes == 1;
        if (run->has_difference || !is_short)
            continue;
        run->has_difference = true;
        run->position = run->events;
        run->there = sequences->reference.items[run->events];
    }
}

int sequences_finish(struct sequences *sequences)
{
    finish_runs(sequences);
    for (uint32_t i = 0; i < sequences->rows.count; i++) {
        const struct sequence_row *row = &sequences->rows.items[i];
        if (row->cells.count == 0)
            continue;
        struct sequence_difference made = {
            .row = i, .what = SEQUENCE_ORDER, .least = UINT64_MAX, .most = 0};
        bool is_other = row->cells.count < sequences->runs.count, is_folded = false;
        if (is_other)
            made.least = 0;
        array_each(&row->cells, cell)
        {
            made.least = cell->count < made.least ? cell->count : made.least;
            made.most = cell->count > made.most ? cell->count : made.most;
            is_other |= cell->order != row->cells.items[0].order;
            is_folded |= cell->is_folded;
        }
        if (made.least != made.most)
            made.what = SEQUENCE_COUNT;
        if (((is_other && !is_folded) || made.what == SEQUENCE_COUNT) &&
            array_push(&sequences->differences, made) < 0)
            return LAM_E_NOMEM;
    }
    if (sequences->differences.count > 1)
        qsort_r(sequences->differences.items, sequences->differences.count,
                sizeof *sequences->differences.items, compare_differences, sequences);
    return LAM_OK;
}

void sequences_free(struct sequences *sequences)
{
    array_each(&sequences->rows, row) array_free(&row->cells);
    array_free(&sequences->rows);
    array_free(&sequences->runs);
    array_free(&sequences->differences);
    array_free(&sequences->reference);
    array_free(&sequences->row_of);
    array_free(&sequences->kind_of);
    array_free(&sequences->last);
    array_free(&sequences->first_thread);
    map_free(&sequences->row_ids);
    intern_free(&sequences->texts);
}
