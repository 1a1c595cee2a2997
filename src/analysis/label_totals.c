#include "analysis/label_totals.h"

#include <string.h>

#include "analysis/labels_state.h"
#include "base/memory.h"

enum { ID_MAX = 1u << 28 };

int labels_open(struct labels **out, const struct labels_options *options, struct lam_error *err)
{
    struct labels_state *state = mem_zalloc(1, sizeof *state);
    if (!state)
        return lam_error_set(err, LAM_E_NOMEM, "labels: out of memory");
    state->options = *options;
    state->labels.session.elapsed_ns = PROFILE_UNKNOWN;
    state->labels.one_in = 1;
    *out = &state->labels;
    return LAM_OK;
}

static void free_open(struct open_process *open)
{
    array_each(&open->slots, slot) duration_histogram_free(&slot->histogram);
    array_free(&open->slots);
    array_free(&open->touched);
    mem_free(open);
}

void labels_close(struct labels **out)
{
    if (!*out)
        return;
    struct labels *labels = *out;
    struct labels_state *state = labels_state(labels);
    intern_free(&labels->texts);
    array_free(&labels->names);
    array_free(&labels->rows);
    array_free(&labels->unit_rows);
    array_free(&labels->kinds);
    array_free(&labels->marks);
    array_free(&labels->artifacts);
    array_free(&labels->counters);
    array_free(&labels->processes);
    array_free(&labels->threads);
    array_free(&labels->tracks);
    label_arguments_free(&labels->arguments);
    label_paths_free(&labels->paths);
    array_free(&state->infos);
    map_free(&state->name_ids);
    array_each(&state->totals, total) duration_histogram_free(&total->histogram);
    array_free(&state->totals);
    array_free(&state->marks);
    for (struct open_process *next, *open = state->open; open; open = next) {
        next = open->next;
        free_open(open);
    }
    array_free(&state->process_of);
    array_free(&state->threads);
    array_free(&state->in_tracks);
    array_free(&state->tracks);
    array_free(&state->process_rows);
    array_free(&state->process_row_of);
    map_free(&state->kind_ids);
    map_free(&state->artifact_ids);
    map_free(&state->counter_ids);
    mem_free(state);
    *out = NULL;
}

const char *labels_text(const struct labels *labels, uint32_t text, size_t *length)
{
    return intern_text(&labels->texts, text, length);
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static int add_text(struct labels_state *state, struct profile_text text, uint32_t *id)
{
    return intern_add(&state->labels.texts, text.bytes ? text.bytes : "",
                      text.bytes ? text.size : 0, id);
}

int labels_name(struct labels_state *state, uint32_t kind, uint32_t text, uint32_t *name)
{
    bool added;
    uint64_t *slot =
        map_slot(&state->name_ids, (uint64_t)kind << 32 | text, state->labels.names.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    *name = (uint32_t)*slot;
    if (!added)
        return LAM_OK;
    struct label_name fresh = {kind, text};
    if (array_push(&state->labels.names, fresh) < 0 || !array_add(&state->totals) ||
        !array_add(&state->marks) || !array_add(&state->process_row_of))
        return LAM_E_NOMEM;
    return LAM_OK;
}

/* The kinds by which rustc's self-profiles store parts of a query. */
static enum label_part part_of(const struct labels *labels, uint32_t kind)
{
    static const struct {
        const char *kind;
        enum label_part part;
    } parts[] = {
        {"QueryBlocked", PART_BLOCKED},
        {"QueryCacheHit", PART_CACHE_HIT},
        {"QueryCacheHitCount", PART_CACHE_HIT_COUNT},
        {"IncrementalLoadResult", PART_LOAD},
        {"IncrementalResultHashing", PART_HASHING},
        {"ArtifactSize", PART_ARTIFACT},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(labels_text(labels, kind, NULL), parts[i].kind) == 0)
            return parts[i].part;
    return PART_OWN;
}

static int on_label(void *ctx, const struct profile_label *label)
{
    struct labels_state *state = ctx;
    if (label->label == 0 || label->label > ID_MAX ||
        (label->kind &&
         (label->kind >= state->infos.count || !state->infos.items[label->kind].is_known)))
        return LAM_E_INVAL;
    if (label->label >= state->infos.count &&
        array_resize(&state->infos, (size_t)label->label + 1) < 0)
        return LAM_E_NOMEM;
    struct label_info info = {.is_known = true, .own_name = LABELS_ALL};
    int rc = add_text(state, label->text, &info.text);
    if (rc < 0)
        return rc;
    info.kind = label->kind ? state->infos.items[label->kind].text : INTERN_EMPTY;
    info.part = (uint8_t)part_of(&state->labels, info.kind);
    info.name = LABELS_ALL; /* made at its first event: kinds and unused labels have no row */
    state->infos.items[label->label] = info;
    return LAM_OK;
}

/* The row of a label: of a helper, its query's. */
static int row_name(struct labels_state *state, struct label_info *info)
{
    uint32_t kind = info->kind;
    int rc = LAM_OK;
    if (info->part != PART_OWN && info->part != PART_ARTIFACT)
        rc = intern_add_str(&state->labels.texts, "Query", &kind);
    return rc < 0 ? rc : labels_name(state, kind, info->text, &info->name);
}

/* ---- processes and threads --------------------------------------------------------------------------------------- */

static int on_session(void *ctx, const struct profile_session *session)
{
    struct labels *labels = &((struct labels_state *)ctx)->labels;
    labels->session = *session;
    labels->session.command = labels->session.directory = labels->session.tool_version = NULL;
    labels->session.host = labels->session.self_profile = labels->session.session_json = NULL;
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct labels_state *state = ctx;
    if (process->process == 0 || process->process > ID_MAX)
        return LAM_E_INVAL;
    if (process->process >= state->process_of.count &&
        array_resize(&state->process_of, (size_t)process->process + 1) < 0)
        return LAM_E_NOMEM;
    struct label_process fresh = {.process = process->process, .pid = process->pid};
    for (size_t i = 0; i < LABEL_TOP_COUNT; i++)
        fresh.top[i] = LABELS_ALL;
    fresh.is_wanted =
        !state->options.wants_process || state->options.wants_process(state->options.ctx, process);
    state->process_of.items[process->process] = (uint32_t)state->labels.processes.count + 1;
    return array_push(&state->labels.processes, fresh);
}

/* Makes the process of the next event the current one. */
static int open_process(struct labels_state *state, uint32_t process)
{
    if (process == 0 || process >= state->process_of.count || !state->process_of.items[process])
        return LAM_E_INVAL;
    struct open_process *found = NULL;
    for (struct open_process *open = state->open; open; open = open->next) {
        if (open->process == process) {
            state->current = open;
            return LAM_OK;
        }
        if (open->process == 0)
            found = open;
    }
    if (!found) {
        found = mem_zalloc(1, sizeof *found);
        if (!found)
            return LAM_E_NOMEM;
        found->next = state->open;
        state->open = found;
    }
    found->process = process;
    found->index = state->process_of.items[process] - 1;
    state->current = found;
    return LAM_OK;
}

static int on_process_end(void *ctx, const struct profile_process_end *end)
{
    struct labels_state *state = ctx;
    for (struct open_process *open = state->open; open; open = open->next)
        if (open->process == end->process)
            return labels_flush(state, open);
    return LAM_OK;
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct labels_state *state = ctx;
    if (thread->thread > ID_MAX || thread->process >= state->process_of.count ||
        !state->process_of.items[thread->process])
        return LAM_E_INVAL;
    if (thread->thread >= state->threads.count &&
        array_resize(&state->threads, (size_t)thread->thread + 1) < 0)
        return LAM_E_NOMEM;
    struct label_thread *own = &state->threads.items[thread->thread];
    own->process = state->process_of.items[thread->process] - 1;
    own->tid = thread->tid;
    own->is_again = thread->origin == PROFILE_THREAD_AGAIN;
    return add_text(state, thread->name, &own->name);
}

static int on_thread_name(void *ctx, const struct profile_thread_name *name)
{
    struct labels_state *state = ctx;
    if (name->thread >= state->threads.count)
        return LAM_E_INVAL;
    return add_text(state, name->name, &state->threads.items[name->thread].name);
}

static int on_track(void *ctx, const struct profile_track *track)
{
    struct labels_state *state = ctx;
    if (track->track == 0 || track->track > ID_MAX)
        return LAM_E_INVAL;
    if (track->track >= state->tracks.count &&
        array_resize(&state->tracks, (size_t)track->track + 1) < 0)
        return LAM_E_NOMEM;
    return add_text(state, track->name, &state->tracks.items[track->track].name);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* The slot of a label in the current process, where it is not there yet or was never touched. */
static struct label_slot *first_touch(struct labels_state *state, uint32_t label)
{
    struct open_process *open = state->current;
    if (label >= state->infos.count || !state->infos.items[label].is_known)
        return NULL;
    if (label >= open->slots.count && array_resize(&open->slots, state->infos.count) < 0)
        return NULL;
    struct label_info *info = &state->infos.items[label];
    if ((info->name == LABELS_ALL && row_name(state, info) < 0) ||
        array_push(&open->touched, label) < 0)
        return NULL;
    open->slots.items[label].min_ns = UINT64_MAX;
    open->slots.items[label].min_value = UINT64_MAX;
    return &open->slots.items[label];
}

static inline struct label_slot *find_slot(struct labels_state *state, uint32_t label)
{
    const struct open_process *open = state->current;
    if (label < open->slots.count) {
        struct label_slot *slot = &open->slots.items[label];
        if (slot->events + slot->marks > 0)
            return slot;
    }
    return first_touch(state, label);
}

/* Why find_slot() gave none. */
static int no_slot(const struct labels_state *state, uint32_t label)
{
    bool is_known = label < state->infos.count && state->infos.items[label].is_known;
    return is_known ? LAM_E_NOMEM : LAM_E_INVAL;
}

/* The current process is that of the event, and its events count. LAM_OK, 1: they do not, or a code. */
static inline int enter_process(struct labels_state *state, uint32_t process)
{
    if (!state->current || state->current->process != process) {
        int rc = open_process(state, process);
        if (rc < 0)
            return rc;
    }
    return state->labels.processes.items[state->current->index].is_wanted ? LAM_OK : 1;
}

static void count_odd(struct labels *labels, const struct profile_interval *interval,
                      struct label_slot *slot)
{
    if (interval->flags & PROFILE_INTERVAL_OPEN) {
        slot->open += interval->weight;
        labels->open++;
    }
    labels->backward += (interval->flags & PROFILE_INTERVAL_BACKWARD) != 0;
    labels->overlapping += (interval->flags & PROFILE_INTERVAL_OVERLAPS) != 0;
}

static inline void stretch_add(struct label_stretch *to, int64_t start_ns, int64_t end_ns,
                               uint64_t events, uint64_t self_ns)
{
    if (to->events == 0 || start_ns < to->start_ns)
        to->start_ns = start_ns;
    if (to->events == 0 || end_ns > to->end_ns)
        to->end_ns = end_ns;
    to->events += events;
    to->self_ns += self_ns;
}

/* Where the intervals of a thread (of one of its tracks) are added up. *of_track: once more, those of the track; NULL. LAM_OK or
 * a code. */
static inline int find_stretches(struct labels_state *state, uint32_t thread, uint32_t track,
                                 struct label_stretch **of_thread, struct label_stretch **of_track)
{
    if (thread == 0 || thread >= state->threads.count)
        return LAM_E_INVAL;
    *of_thread = &state->threads.items[thread].own;
    *of_track = NULL;
    if (track == 0)
        return LAM_OK;
    if (track >= state->tracks.count)
        return LAM_E_INVAL;
    if (thread >= state->in_tracks.count && array_resize(&state->in_tracks, state->threads.count) < 0)
        return LAM_E_NOMEM;
    struct label_track *found = &state->tracks.items[track];
    if (found->all.events == 0)
        found->thread = thread;
    found->has_moved |= found->thread != thread;
    *of_thread = &state->in_tracks.items[thread];
    *of_track = &found->all;
    return LAM_OK;
}

static inline int add_to_thread(struct labels_state *state, const struct profile_interval *interval)
{
    struct label_stretch *of_thread, *of_track;
    uint64_t self_ns = interval->self_ns * interval->weight;
    int rc = find_stretches(state, interval->thread, interval->track, &of_thread, &of_track);
    if (rc < 0)
        return rc;
    if (interval->flags & PROFILE_INTERVAL_DETACHED) {
        state->labels.detached_ns += self_ns;
        return LAM_OK;
    }
    stretch_add(of_thread, interval->start_ns, interval->end_ns, interval->weight, self_ns);
    if (of_track)
        stretch_add(of_track, interval->start_ns, interval->end_ns, interval->weight, self_ns);
    return LAM_OK;
}

static int add_counted(struct labels_state *state, const struct profile_interval *interval)
{
    const struct label_info *info = &state->infos.items[interval->label];
    for (size_t i = 0; i < interval->counted_count; i++) {
        const struct profile_counted *counted = &interval->counted[i];
        uint32_t counter;
        bool added;
        int rc = add_text(state, counted->name, &counter);
        if (rc < 0)
            return rc;
        uint64_t *at = map_slot(&state->counter_ids, (uint64_t)info->name << 32 | counter,
                                state->labels.counters.count, &added);
        struct label_counter fresh = {
            .name = info->name, .counter = counter, .measure = counted->measure};
        if (!at || (added && array_push(&state->labels.counters, fresh) < 0))
            return LAM_E_NOMEM;
        struct label_counter *row = &state->labels.counters.items[*at];
        row->count += interval->weight;
        row->self += counted->self * interval->weight;
        if (!(interval->flags & PROFILE_INTERVAL_RECURSIVE))
            row->total += counted->value * interval->weight;
        row->max = counted->value > row->max ? counted->value : row->max;
    }
    return LAM_OK;
}

static int add_views(struct labels_state *state, const struct profile_interval *interval)
{
    const struct label_info *info = &state->infos.items[interval->label];
    int rc = LAM_OK;
    if (state->options.by_argument)
        rc = label_arguments_add(&state->labels.arguments, info->name, interval,
                                 info->part != PART_OWN);
    if (rc == LAM_OK && state->options.by_path)
        rc = label_paths_add(&state->labels.paths, interval);
    return rc;
}

/* The hot path: tens of millions a second come through here. */
static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct labels_state *state = ctx;
    int rc = enter_process(state, interval->process);
    if (rc != LAM_OK)
        return rc < 0 ? rc : LAM_OK;
    struct label_slot *slot = find_slot(state, interval->label);
    if (!slot)
        return no_slot(state, interval->label);
    uint64_t weight = interval->weight, active = interval->active_ns,
             wall = interval->end_ns > interval->start_ns
                        ? (uint64_t)(interval->end_ns - interval->start_ns)
                        : 0;
    slot->events++;
    slot->count += weight;
    if (interval->weight > state->labels.one_in)
        state->labels.one_in = interval->weight;
    slot->self_ns += interval->self_ns * weight;
    slot->wall_ns += wall * weight;
    if (!(interval->flags & PROFILE_INTERVAL_RECURSIVE)) {
        slot->active_ns += active * weight;
        slot->time_ns += wall * weight;
    }
    slot->min_ns = active < slot->min_ns ? active : slot->min_ns;
    slot->max_ns = active > slot->max_ns ? active : slot->max_ns;
    if (duration_histogram_add(&slot->histogram, active, weight) < 0)
        return LAM_E_NOMEM;
    if (interval->flags &
        (PROFILE_INTERVAL_OPEN | PROFILE_INTERVAL_BACKWARD | PROFILE_INTERVAL_OVERLAPS))
        count_odd(&state->labels, interval, slot);
    rc = add_to_thread(state, interval);
    if (rc == LAM_OK && interval->counted_count)
        rc = add_counted(state, interval);
    if (rc == LAM_OK && (state->options.by_argument || state->options.by_path))
        rc = add_views(state, interval);
    return rc;
}

static int on_fold(void *ctx, const struct profile_fold *fold)
{
    struct labels_state *state = ctx;
    int rc = enter_process(state, fold->process);
    if (rc != LAM_OK)
        return rc < 0 ? rc : LAM_OK;
    struct label_slot *slot = find_slot(state, fold->label);
    if (!slot)
        return no_slot(state, fold->label);
    struct label_stretch *stretches[2];
    rc = find_stretches(state, fold->thread, fold->track, &stretches[0], &stretches[1]);
    if (rc < 0)
        return rc;
    slot->events++;
    slot->count += fold->count;
    slot->folded += fold->count;
    slot->open += fold->open;
    state->labels.open += fold->open;
    slot->self_ns += fold->self_ns;
    slot->active_ns += fold->total_ns;
    slot->time_ns += fold->total_ns;
    slot->wall_ns += fold->total_ns;
    for (size_t i = 0; i < 2 && stretches[i]; i++) {
        struct label_stretch *stretch = stretches[i];
        bool has_span = fold->until_ns > fold->at_ns;
        int64_t start_ns = has_span || stretch->events == 0 ? fold->at_ns : stretch->start_ns;
        int64_t end_ns = has_span               ? fold->until_ns
                         : stretch->events == 0 ? start_ns
                                                : stretch->end_ns;
        stretch_add(stretch, start_ns, end_ns, fold->count, fold->self_ns);
        stretch->folded += fold->count;
    }
    state->labels.folded += fold->count;
    return state->options.by_path ? label_paths_fold(&state->labels.paths, fold) : LAM_OK;
}

static void take_values(struct label_slot *slot, uint64_t values, uint64_t sum, uint64_t min,
                        uint64_t max)
{
    slot->values += values;
    slot->sum += sum;
    slot->min_value = min < slot->min_value ? min : slot->min_value;
    slot->max_value = max > slot->max_value ? max : slot->max_value;
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct labels_state *state = ctx;
    int rc = enter_process(state, instant->process);
    if (rc != LAM_OK)
        return rc < 0 ? rc : LAM_OK;
    struct label_slot *slot = find_slot(state, instant->label);
    if (!slot)
        return no_slot(state, instant->label);
    slot->marks++;
    if (instant->has_value)
        take_values(slot, 1, instant->value, instant->value, instant->value);
    if (instant->has_value && !instant->is_undated &&
        (!slot->has_last || instant->at_ns >= slot->last_at_ns)) {
        slot->has_last = true;
        slot->last_at_ns = instant->at_ns;
        slot->last_value = instant->value;
    }
    return LAM_OK;
}

/* What would have come one by one. */
static int on_sum(void *ctx, const struct profile_sum *sum)
{
    struct labels_state *state = ctx;
    int rc = enter_process(state, sum->process);
    if (rc != LAM_OK)
        return rc < 0 ? rc : LAM_OK;
    if (sum->intervals + sum->instants == 0)
        return LAM_OK;
    struct label_slot *slot = find_slot(state, sum->label);
    if (!slot)
        return no_slot(state, sum->label);
    slot->marks += sum->instants;
    if (sum->values)
        take_values(slot, sum->values, sum->value_sum, sum->value_min, sum->value_max);
    if (sum->intervals == 0)
        return LAM_OK;
    slot->events += sum->intervals;
    slot->count += sum->intervals;
    slot->self_ns += sum->self_ns;
    slot->active_ns += sum->time_ns;
    slot->time_ns += sum->time_ns;
    slot->wall_ns += sum->wall_ns;
    slot->min_ns = sum->min_ns < slot->min_ns ? sum->min_ns : slot->min_ns;
    slot->max_ns = sum->max_ns > slot->max_ns ? sum->max_ns : slot->max_ns;
    return duration_histogram_merge(&slot->histogram, sum->durations);
}

static int on_thread_sum(void *ctx, const struct profile_thread_sum *sum)
{
    struct labels_state *state = ctx;
    int rc = enter_process(state, sum->process);
    if (rc != LAM_OK)
        return rc < 0 ? rc : LAM_OK;
    if (sum->thread == 0 || sum->thread >= state->threads.count)
        return LAM_E_INVAL;
    stretch_add(&state->threads.items[sum->thread].own, sum->start_ns, sum->end_ns, sum->intervals,
                sum->self_ns);
    state->labels.backward += sum->backward;
    state->labels.overlapping += sum->overlapping;
    return LAM_OK;
}

static int on_path(void *ctx, const struct profile_path *path)
{
    struct labels_state *state = ctx;
    if (path->label >= state->infos.count || !state->infos.items[path->label].is_known)
        return LAM_E_INVAL;
    /* Not the row's: a query being loaded and the same one being computed are two places in the tree. */
    struct label_info *info = &state->infos.items[path->label];
    int rc = LAM_OK;
    if (info->own_name == LABELS_ALL)
        rc = labels_name(state, info->kind, info->text, &info->own_name);
    if (rc == LAM_OK && info->name == LABELS_ALL)
        rc = row_name(state, info);
    struct label_path is = {
        .name = info->own_name, .row = info->name, .is_part = info->part != PART_OWN};
    return rc < 0 ? rc : label_paths_node(&state->labels.paths, path, &is);
}

static int on_session_end(void *ctx, const struct profile_session_end *end)
{
    struct labels_state *state = ctx;
    state->labels.end = *end;
    for (struct open_process *open = state->open; open; open = open->next) {
        int rc = open->process ? labels_flush(state, open) : LAM_OK;
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

struct profile_sink labels_sink(struct labels *labels)
{
    static const struct profile_sink_ops ops = {
        .session = on_session,
        .process = on_process,
        .thread = on_thread,
        .thread_name = on_thread_name,
        .track = on_track,
        .label = on_label,
        .path = on_path,
        .interval = on_interval,
        .instant = on_instant,
        .fold = on_fold,
        .sum = on_sum,
        .thread_sum = on_thread_sum,
        .process_end = on_process_end,
        .session_end = on_session_end,
    };
    struct labels_state *state = labels_state(labels);
    return (struct profile_sink){
        .ctx = state,
        .ops = &ops,
        .wants = {.order = PROFILE_ORDER_ANY,
                  .args = state->options.by_argument,
                  .counted = true,
                  .paths = state->options.by_path,
                  .sums = !state->options.by_argument && !state->options.by_path}};
}
