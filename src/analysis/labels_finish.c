/* From slots by process to rows: at the end of each process, and of the whole. */
#include <stdlib.h>
#include <string.h>

#include "analysis/label_totals.h"
#include "analysis/labels_state.h"
#include "base/memory.h"

/* ---- one process ------------------------------------------------------------------------------------------------- */

static struct process_row *row_of(struct labels_state *state, uint32_t name)
{
    uint32_t at = state->process_row_of.items[name];
    if (at)
        return &state->process_rows.items[at - 1];
    struct process_row fresh = {.row = {.name = name, .min_ns = UINT64_MAX}};
    if (array_push(&state->process_rows, fresh) < 0)
        return NULL;
    state->process_row_of.items[name] = (uint32_t)state->process_rows.count;
    return &array_last(&state->process_rows);
}

/* Intervals of a slot: of the row's own kind, or a part of a query. */
static void add_intervals(struct process_row *to, enum label_part part, struct label_slot *slot)
{
    struct label_row *row = &to->row;
    row->self_ns += slot->self_ns;
    if (part == PART_HASHING) {
        row->hashing_ns += slot->self_ns;
        return;
    }
    row->active_ns += slot->active_ns;
    row->time_ns += slot->time_ns;
    row->wall_ns += slot->wall_ns;
    if (part == PART_BLOCKED)
        row->blocked_ns += slot->wall_ns;
    else if (part == PART_LOAD)
        row->load_ns += slot->self_ns;
    if (part == PART_BLOCKED || part == PART_LOAD)
        return;
    row->count += slot->count;
    row->open += slot->open;
    row->folded += slot->folded;
    if (slot->min_ns < row->min_ns)
        row->min_ns = slot->min_ns;
    if (slot->max_ns > row->max_ns)
        row->max_ns = slot->max_ns;
    to->own = slot;
}

static int add_artifact(struct labels_state *state, uint32_t process, uint32_t text, uint64_t bytes)
{
    bool added;
    uint64_t *at = map_slot(&state->artifact_ids, (uint64_t)process << 32 | text,
                            state->labels.artifacts.count, &added);
    struct label_artifact fresh = {.process = process, .label = text};
    if (!at || (added && array_push(&state->labels.artifacts, fresh) < 0))
        return LAM_E_NOMEM;
    state->labels.artifacts.items[*at].bytes += bytes;
    return LAM_OK;
}

static int add_marks(struct labels_state *state, struct label_info *info,
                     const struct label_slot *slot)
{
    if (info->own_name == LABELS_ALL) {
        int rc = labels_name(state, info->kind, info->text, &info->own_name);
        if (rc < 0)
            return rc;
    }
    struct label_mark *mark = &state->marks.items[info->own_name];
    mark->count += slot->marks;
    if (slot->values > 0) {
        mark->min = mark->values == 0 || slot->min_value < mark->min ? slot->min_value : mark->min;
        mark->max = slot->max_value > mark->max ? slot->max_value : mark->max;
        if (slot->has_last && (!mark->has_last || slot->last_at_ns >= mark->last_at_ns)) {
            mark->has_last = true;
            mark->last_at_ns = slot->last_at_ns;
            mark->last = slot->last_value;
        }
        mark->values += slot->values;
        mark->sum += slot->sum;
    }
    return LAM_OK;
}

/* Cache hits belong to a query's row, bytes to an artifact; all else stays an instant. */
static int add_slot_marks(struct labels_state *state, uint32_t process, struct label_info *info,
                          const struct label_slot *slot)
{
    bool is_hits = info->part == PART_CACHE_HIT && slot->marks > slot->values,
         is_counts = info->part == PART_CACHE_HIT_COUNT && slot->values > 0;
    state->labels.marks_seen += slot->marks;
    if (info->part == PART_ARTIFACT && slot->values > 0) {
        int rc = add_artifact(state, LABELS_ALL, info->text, slot->sum);
        if (rc == LAM_OK && state->options.by_unit)
            rc = add_artifact(state, process, info->text, slot->sum);
        return rc;
    }
    if (!is_hits && !is_counts)
        return add_marks(state, info, slot);
    struct process_row *row = row_of(state, info->name);
    if (!row)
        return LAM_E_NOMEM;
    row->hit_marks += is_hits ? slot->marks - slot->values : 0;
    row->hit_counts += is_counts ? slot->sum : 0;
    row->has_hit_counts |= is_counts;
    return LAM_OK;
}

static int add_kind(struct labels_state *state, uint32_t kind, const struct label_slot *slot)
{
    uint64_t *at = map_slot(&state->kind_ids, kind, state->labels.kinds.count, NULL);
    struct label_kind fresh = {.kind = kind};
    if (!at || (*at == state->labels.kinds.count && array_push(&state->labels.kinds, fresh) < 0))
        return LAM_E_NOMEM;
    state->labels.kinds.items[*at].count += slot->count;
    state->labels.kinds.items[*at].self_ns += slot->self_ns;
    return LAM_OK;
}

static int collect_rows(struct labels_state *state, const struct open_process *open)
{
    for (size_t i = 0; i < open->touched.count; i++) {
        uint32_t label = open->touched.items[i];
        struct label_slot *slot = &open->slots.items[label];
        struct label_info *info = &state->infos.items[label];
        if (slot->events > 0) {
            struct process_row *row = row_of(state, info->name);
            if (!row || add_kind(state, info->kind, slot) < 0)
                return LAM_E_NOMEM;
            add_intervals(row, info->part, slot);
            state->labels.processes.items[open->index].events += slot->count;
            state->labels.events += slot->count;
        }
        int rc = slot->marks > 0 ? add_slot_marks(state, open->index, info, slot) : LAM_OK;
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* histogram: NULL where the row has them already. */
static void fill_percentiles(struct label_row *row, const struct duration_histogram *histogram)
{
    if (row->count == row->folded || row->min_ns == UINT64_MAX) {
        row->min_ns = row->max_ns = 0;
        return;
    }
    if (!histogram)
        return;
    static const double shares[] = {0.50, 0.90, 0.99};
    uint64_t quantiles[3];
    duration_histogram_quantiles(histogram, shares, quantiles, 3);
    row->p50_ns = clamp(quantiles[0], row->min_ns, row->max_ns);
    row->p90_ns = clamp(quantiles[1], row->min_ns, row->max_ns);
    row->p99_ns = clamp(quantiles[2], row->min_ns, row->max_ns);
}

/* Texts decide where times are equal: equal inputs give equal reports. */
static int compare_texts(const struct labels *labels, uint32_t left, uint32_t right)
{
    size_t left_size, right_size;
    const char *a = labels_text(labels, left, &left_size),
               *b = labels_text(labels, right, &right_size);
    int order = memcmp(a, b, left_size < right_size ? left_size : right_size);
    return order ? order : left_size < right_size ? -1 : left_size > right_size;
}

static int compare_names(const struct labels *labels, uint32_t left, uint32_t right)
{
    const struct label_name *a = &labels->names.items[left], *b = &labels->names.items[right];
    int order = compare_texts(labels, a->label, b->label);
    return order ? order : compare_texts(labels, a->kind, b->kind);
}

static void note_top(const struct labels *labels, struct label_process *process,
                     const struct label_row *row)
{
    uint32_t name = row->name;
    uint64_t self = row->self_ns;
    for (size_t i = 0; i < LABEL_TOP_COUNT; i++) {
        bool is_behind =
            process->top[i] != LABELS_ALL &&
            (self < process->top_ns[i] ||
             (self == process->top_ns[i] && compare_names(labels, process->top[i], name) < 0));
        if (is_behind)
            continue;
        uint32_t old_name = process->top[i];
        uint64_t old_self = process->top_ns[i];
        process->top[i] = name;
        process->top_ns[i] = self;
        name = old_name;
        self = old_self;
        if (name == LABELS_ALL)
            return;
    }
}

static void add_to_total(struct label_total *total, const struct label_row *row)
{
    struct label_row *to = &total->row;
    if (!total->is_touched)
        *to = (struct label_row){.process = LABELS_ALL, .name = row->name, .min_ns = UINT64_MAX};
    total->is_touched = true;
    to->count += row->count;
    to->self_ns += row->self_ns;
    to->active_ns += row->active_ns;
    to->time_ns += row->time_ns;
    to->wall_ns += row->wall_ns;
    to->blocked_ns += row->blocked_ns;
    to->load_ns += row->load_ns;
    to->hashing_ns += row->hashing_ns;
    to->cache_hits += row->cache_hits;
    to->open += row->open;
    to->folded += row->folded;
    to->min_ns = row->min_ns < to->min_ns ? row->min_ns : to->min_ns;
    to->max_ns = row->max_ns > to->max_ns ? row->max_ns : to->max_ns;
}

/* They are taken out of the slot if they can. */
static int add_durations(struct label_total *total, struct label_slot *own)
{
    if (!own || total->histogram.size > 0)
        return own ? duration_histogram_merge(&total->histogram, &own->histogram) : LAM_OK;
    total->histogram = own->histogram;
    own->histogram = (struct duration_histogram){0};
    return LAM_OK;
}

/* The row of its process alone. Of the first one the totals have the same percentiles. */
static int add_unit_row(struct labels_state *state, struct process_row *source,
                        struct label_total *total, bool is_first)
{
    static const struct duration_histogram none;
    struct label_row *row = &source->row;
    fill_percentiles(row, source->own ? &source->own->histogram : &none);
    if (is_first) {
        total->row.p50_ns = row->p50_ns;
        total->row.p90_ns = row->p90_ns;
        total->row.p99_ns = row->p99_ns;
        total->has_percentiles = true;
    }
    return array_push(&state->labels.unit_rows, *row);
}

static int add_process_row(struct labels_state *state, uint32_t index, struct process_row *source)
{
    struct label_process *process = &state->labels.processes.items[index];
    struct label_row *row = &source->row;
    row->process = index;
    /* Where a compiler counted its hits it may have stored single ones as well: they are the same. */
    row->cache_hits = source->has_hit_counts ? source->hit_counts : source->hit_marks;
    process->self_ns += row->self_ns;
    note_top(&state->labels, process, row);
    struct label_total *total = &state->totals.items[row->name];
    bool is_first = !total->is_touched;
    add_to_total(total, row);
    total->has_percentiles = false;
    int rc = state->options.by_unit ? add_unit_row(state, source, total, is_first) : LAM_OK;
    return rc < 0 ? rc : add_durations(total, source->own);
}

static void empty(struct labels_state *state, struct open_process *open)
{
    for (size_t i = 0; i < open->touched.count; i++) {
        struct label_slot *slot = &open->slots.items[open->touched.items[i]];
        struct duration_histogram histogram = slot->histogram;
        duration_histogram_clear(&histogram);
        *slot = (struct label_slot){.histogram = histogram};
    }
    array_clear(&open->touched);
    open->process = 0;
    if (state->current == open)
        state->current = NULL;
}

int labels_flush(struct labels_state *state, struct open_process *open)
{
    int rc = collect_rows(state, open);
    for (size_t i = 0; i < state->process_rows.count; i++) {
        struct process_row *row = &state->process_rows.items[i];
        state->process_row_of.items[row->row.name] = 0;
        if (rc == LAM_OK)
            rc = add_process_row(state, open->index, row);
    }
    array_clear(&state->process_rows);
    empty(state, open);
    return rc;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b, void *labels)
{
    const struct label_row *left = a, *right = b;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->self_ns != right->self_ns)
        return left->self_ns > right->self_ns ? -1 : 1;
    return compare_names(labels, left->name, right->name);
}

static int compare_marks(const void *a, const void *b, void *labels)
{
    const struct label_mark *left = a, *right = b;
    return compare_names(labels, left->name, right->name);
}

static int compare_counters(const void *a, const void *b, void *labels)
{
    const struct label_counter *left = a, *right = b;
    int order = compare_texts(labels, left->counter, right->counter);
    if (order || left->self == right->self)
        return order ? order : compare_names(labels, left->name, right->name);
    return left->self > right->self ? -1 : 1;
}

static int compare_artifacts(const void *a, const void *b, void *labels)
{
    const struct label_artifact *left = a, *right = b;
    if (left->process != right->process) /* all together first */
        return left->process + 1 < right->process + 1 ? -1 : 1;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return compare_texts(labels, left->label, right->label);
}

static int compare_kinds(const void *a, const void *b, void *labels)
{
    const struct label_kind *left = a, *right = b;
    if (left->self_ns != right->self_ns)
        return left->self_ns > right->self_ns ? -1 : 1;
    return compare_texts(labels, left->kind, right->kind);
}

#define SORT(a, compare, ctx) \
    ((a)->count > 1 ? qsort_r((a)->items, (a)->count, sizeof *(a)->items, compare, ctx) : (void)0)

static int finish_rows(struct labels_state *state)
{
    struct labels *labels = &state->labels;
    for (size_t i = 0; i < state->totals.count; i++) {
        struct label_total *total = &state->totals.items[i];
        if (!total->is_touched)
            continue;
        fill_percentiles(&total->row, total->has_percentiles ? NULL : &total->histogram);
        labels->self_ns += total->row.self_ns;
        if (array_push(&labels->rows, total->row) < 0)
            return LAM_E_NOMEM;
    }
    for (uint32_t i = 0; i < state->marks.count; i++) {
        state->marks.items[i].name = i;
        if (state->marks.items[i].count > 0 && array_push(&labels->marks, state->marks.items[i]) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

/* Sums alone have no first and last, but those of a tree, whose beginning and end are known. */
static bool is_timed(const struct label_stretch *stretch)
{
    return stretch->folded < stretch->events || stretch->end_ns > stretch->start_ns;
}

static struct label_stretch together(const struct label_stretch *a, const struct label_stretch *b)
{
    if (a->events == 0 || b->events == 0)
        return a->events ? *a : *b;
    struct label_stretch both = {.start_ns = a->start_ns < b->start_ns ? a->start_ns : b->start_ns,
                                 .end_ns = a->end_ns > b->end_ns ? a->end_ns : b->end_ns,
                                 .events = a->events + b->events,
                                 .self_ns = a->self_ns + b->self_ns,
                                 .folded = a->folded + b->folded};
    const struct label_stretch *timed = is_timed(a) ? a : b, *other = timed == a ? b : a;
    if (is_timed(timed) && !is_timed(other)) {
        both.start_ns = timed->start_ns;
        both.end_ns = timed->end_ns;
    }
    return both;
}

/* Where there are sums alone, they took so long, one after the other. */
static void stretch_finish(struct label_stretch *stretch)
{
    if (!is_timed(stretch) && stretch->self_ns <= (uint64_t)(INT64_MAX / 2))
        stretch->end_ns = stretch->start_ns + (int64_t)stretch->self_ns;
}

/* thread_of: by the input's id, indexes in labels.threads. */
static int finish_tracks(struct labels_state *state, const uint32_t *thread_of)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < state->tracks.count; i++) {
        struct label_track track = state->tracks.items[i];
        if (track.all.events == 0)
            continue;
        track.thread = thread_of[track.thread];
        stretch_finish(&track.all);
        rc = array_push(&state->labels.tracks, track);
    }
    return rc;
}

static int finish_threads(struct labels_state *state, uint32_t *thread_of)
{
    struct labels *labels = &state->labels;
    static const struct label_stretch none;
    labels->whole_ns = labels->detached_ns;
    for (size_t i = 0; i < state->threads.count; i++) {
        struct label_thread *thread = &state->threads.items[i];
        thread->all =
            together(&thread->own, i < state->in_tracks.count ? &state->in_tracks.items[i] : &none);
        if (thread->all.events == 0)
            continue;
        struct label_process *process = &labels->processes.items[thread->process];
        stretch_finish(&thread->own);
        stretch_finish(&thread->all);
        uint64_t span = (uint64_t)(thread->all.end_ns - thread->all.start_ns);
        process->threads += !thread->is_again;
        labels->rows_again += thread->is_again;
        process->thread_ns += span;
        labels->thread_ns += span;
        labels->whole_ns += span > thread->all.self_ns ? span : thread->all.self_ns;
        thread_of[i] = (uint32_t)labels->threads.count;
        if (array_push(&labels->threads, *thread) < 0)
            return LAM_E_NOMEM;
    }
    return finish_tracks(state, thread_of);
}

int labels_finish(struct labels *labels, struct lam_error *err)
{
    struct labels_state *state = labels_state(labels);
    int rc = finish_rows(state);
    uint32_t *thread_of = mem_zalloc(state->threads.count + 1, sizeof *thread_of);
    if (rc == LAM_OK)
        rc = thread_of ? finish_threads(state, thread_of) : LAM_E_NOMEM;
    mem_free(thread_of);
    if (rc == LAM_OK && state->options.by_path)
        rc = label_paths_finish(&labels->paths);
    SORT(&labels->rows, compare_rows, labels);
    SORT(&labels->unit_rows, compare_rows, labels);
    SORT(&labels->marks, compare_marks, labels);
    SORT(&labels->artifacts, compare_artifacts, labels);
    SORT(&labels->counters, compare_counters, labels);
    SORT(&labels->kinds, compare_kinds, labels);
    label_arguments_sort(&labels->arguments);
    return rc < 0 ? lam_error_set(err, rc, "labels: %s", lam_code_text(rc)) : LAM_OK;
}

struct label_rows_of labels_of_process(const struct labels *labels, uint32_t process)
{
    size_t low = 0, high = labels->unit_rows.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (labels->unit_rows.items[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    struct label_rows_of found = {labels->unit_rows.items + low, 0};
    while (low + found.count < labels->unit_rows.count && found.items[found.count].process == process)
        found.count++;
    return found;
}
