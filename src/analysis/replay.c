#include "analysis/replay.h"

#include <math.h>
#include <string.h>

#include "analysis/report_state.h"
#include "base/memory.h"

/* ---- what is replayed -------------------------------------------------------------------------------------------- */

double replay_codegen_threads(const struct replay_task *task, double threads)
{
    double most = task->most_threads > 0 ? task->most_threads : 1;
    double seconds = fmax(task->code_s / fmax(1, fmin(threads, most)), task->floor_s);
    return seconds > 0 ? task->code_s / seconds : 1;
}

double replay_codegen_s(const struct replay_task *task, double threads)
{
    double busy = 1 + task->gain * (replay_codegen_threads(task, threads) - 1);
    return task->code_s / busy * task->drag;
}

/* By group: the build's threads share what its group gets of the cores that they run on. One that wants a core wants one, whatever
 * the mean. */
double replay_slower(enum replay_shares shares, double cores, double own, double others)
{
    if (shares == REPLAY_BY_THREAD)
        return fmax(1, (own + others) / cores);
    return fmax(1, own / cores) + fmax(1, own) * others / cores;
}

double replay_others(enum replay_shares shares, double cores, double own, double slower)
{
    if (shares == REPLAY_BY_THREAD)
        return fmax(0, cores * slower - own);
    return fmax(0, (slower - fmax(1, own / cores)) * cores / fmax(1, own));
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static int add_tasks(struct replay *replay)
{
    const struct build_graph *graph = &replay->report->graph;
    int rc = array_resize(&replay->task_of, graph->nodes.count);
    for (uint32_t i = 0; rc == LAM_OK && i < graph->nodes.count; i++) {
        struct replay_task task = {.unit = i, .gain = 1, .drag = 1};
        replay->task_of.items[i] = GRAPH_NONE;
        if (graph->nodes.items[i].inside != GRAPH_NONE)
            continue;
        replay->task_of.items[i] = (uint32_t)replay->tasks.count;
        rc = array_push(&replay->tasks, task);
    }
    return rc;
}

/* Edges by dep: a counting sort. */
static int index_edges(struct replay *replay)
{
    const struct build_graph *graph = &replay->report->graph;
    size_t units = graph->nodes.count;
    if (array_resize(&replay->by_dep, graph->edges.count) < 0 ||
        array_resize(&replay->first_of, units + 2) < 0)
        return LAM_E_NOMEM;
    uint32_t *first = replay->first_of.items;
    array_each(&graph->edges, edge) first[edge->dep + 2]++;
    for (size_t i = 2; i < units + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < graph->edges.count; i++)
        replay->by_dep.items[first[graph->edges.items[i].dep + 1]++] = i;
    return LAM_OK;
}

static bool carries_objects(const struct build_edge *edge)
{
    return edge->need == NEED_METADATA || edge->need == NEED_OBJECTS;
}

static void count_needs(struct replay *replay)
{
    const struct build_graph *graph = &replay->report->graph;
    array_each(&replay->tasks, task)
    {
        const struct build_node *node = &graph->nodes.items[task->unit];
        task->objects = 1;
        for (uint32_t i = 0; i < node->edge_count; i++) {
            const struct build_edge *edge = &graph->edges.items[node->first_edge + i];
            task->needs += !edge->is_contradicted;
            task->objects += carries_objects(edge);
        }
    }
}

/* How many wait for a unit in the end: cargo starts those first that most others wait for. Each unit looks at all above it once. */
static int count_dependents(struct replay *replay)
{
    const struct build_graph *graph = &replay->report->graph;
    size_t units = graph->nodes.count;
    uint32_t *seen = mem_zalloc(units + 1, sizeof *seen),
             *queue = mem_zalloc(units + 1, sizeof *queue);
    int rc = seen && queue ? LAM_OK : LAM_E_NOMEM;
    for (uint32_t t = 0; rc == LAM_OK && t < replay->tasks.count; t++) {
        struct replay_task *task = &replay->tasks.items[t];
        size_t count = 1;
        queue[0] = task->unit;
        seen[task->unit] = t + 1;
        for (size_t at = 0; at < count; at++)
            for (uint32_t i = replay->first_of.items[queue[at]];
                 i < replay->first_of.items[queue[at] + 1]; i++) {
                uint32_t unit = graph->edges.items[replay->by_dep.items[i]].unit;
                if (seen[unit] == t + 1)
                    continue;
                seen[unit] = t + 1;
                queue[count++] = unit;
            }
        task->dependents = (uint32_t)count - 1;
    }
    mem_free(seen);
    mem_free(queue);
    return rc;
}

/* ---- the machine and the build tool ------------------------------------------------------------------------------ */

struct life {
    int64_t at_ns;
    int change;
};

static int compare_lives(const void *left, const void *right)
{
    const struct life *a = left, *b = right;
    return a->at_ns != b->at_ns ? (a->at_ns < b->at_ns ? -1 : 1) : a->change - b->change;
}

/* The most units that ran at once, for longer than a moment in which one ends and the next begins. */
static int most_at_once(const struct replay *replay, uint32_t *most)
{
    enum { MOMENT_NS = 20000000 };
    LAM_ARRAY(struct life) lives = {0};
    int rc = LAM_OK;
    array_each(&replay->tasks, task)
    {
        const struct build_node *node = &replay->report->graph.nodes.items[task->unit];
        struct life begin = {node->start_ns, 1}, end = {node->end_ns, -1};
        if (rc == LAM_OK && node->end_ns - node->start_ns > MOMENT_NS)
            rc = array_push(&lives, begin) < 0 || array_push(&lives, end) < 0 ? LAM_E_NOMEM : LAM_OK;
    }
    array_sort(&lives, compare_lives);
    int count = 0, highest = 1;
    for (size_t i = 0; i < lives.count; i++) {
        count += lives.items[i].change;
        bool is_moment =
            i + 1 < lives.count && lives.items[i + 1].at_ns - lives.items[i].at_ns < MOMENT_NS;
        if (count > highest && !is_moment)
            highest = count;
    }
    *most = (uint32_t)highest;
    array_free(&lives);
    return rc;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* How long the build tool takes to start a unit: the median of the times from what it needed, or from the end of another unit that
 * made a job free, whichever was later. */
static int find_latency(struct replay *replay)
{
    LAM_ARRAY(double) ends = {0}, waits = {0};
    const struct build_node *nodes = replay->report->graph.nodes.items;
    int rc = LAM_OK;
    array_each(&replay->tasks, task) if (rc == LAM_OK) rc =
        array_push(&ends, (double)nodes[task->unit].end_ns);
    array_sort(&ends, compare_doubles);
    array_each(&replay->tasks, task)
    {
        const struct build_node *node = &nodes[task->unit];
        double start_ns = (double)node->start_ns, from_ns = (double)node->ready_ns;
        size_t low = 0, high = ends.count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (ends.items[middle] <= start_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && ends.items[low - 1] > from_ns)
            from_ns = ends.items[low - 1];
        if (rc == LAM_OK && (low > 0 || node->unblocked_by != GRAPH_NONE))
            rc = array_push(&waits, (start_ns - from_ns) / 1e9);
    }
    array_sort(&waits, compare_doubles);
    replay->latency_s = waits.count ? waits.items[waits.count / 2] : 0;
    array_free(&ends);
    array_free(&waits);
    return rc;
}

/* How many threads of the build want cores when one of them does, in the mean over their time. */
static int find_company(const struct replay *replay, double run_s, double wait_s, double *company)
{
    const struct report_state *state = (const struct report_state *)replay->report;
    struct work_sweep sweep;
    struct work_step step;
    double sum = 0, squares = 0;
    int rc = work_sweep_open(&sweep, &state->work);
    while (rc == LAM_OK && work_sweep_next(&sweep, &step)) {
        double length_s = seconds(step.end_ns - step.start_ns), working = (double)step.working;
        sum += working * length_s;
        squares += working * working * length_s;
    }
    work_sweep_close(&sweep);
    /* A thread that waits for long is in no stretch meanwhile: the account knows of it. */
    double mean = replay->measured_s > 0 ? (run_s + wait_s) / replay->measured_s : 0;
    *company = fmax(sum > 0 ? squares / sum : 0, mean);
    return rc;
}

/* Units that ran at once, in the mean from the first one's start to the last one's end. */
static double mean_units(const struct replay *replay)
{
    double sum = 0;
    array_each(&replay->tasks, task)
    {
        const struct build_node *node = &replay->report->graph.nodes.items[task->unit];
        sum += seconds(node->end_ns - node->start_ns);
    }
    double length_s = replay->measured_s - replay->lead_s - replay->trail_s;
    return length_s > 0 ? sum / length_s : 1;
}

/* Threads of other programs that wanted cores: as many as it takes for the build's threads to wait as long for one as they did. A
 * thread runs cores / (own + others) of the time when these are more than cores. */
static int find_others(struct replay *replay)
{
    const struct report *report = replay->report;
    double run_s = 0, wait_s = 0;
    array_each(&report->processes, process)
    {
        run_s += seconds((int64_t)process->ledger.run_ns);
        wait_s += seconds((int64_t)process->ledger.core_wait_ns);
    }
    const char *shares = report->machine.cpu_shares;
    replay->shares = shares && (strcmp(shares, "groups") == 0 || strcmp(shares, "sessions") == 0)
                         ? REPLAY_BY_GROUP
                         : REPLAY_BY_THREAD;
    replay->cores = report->session.cores ? report->session.cores : 1;
    replay->others = 0;
    int rc = find_company(replay, run_s, wait_s, &replay->company);
    if (rc == LAM_OK && wait_s > 0.02 * run_s)
        replay->others = replay->cores * (run_s + wait_s) / run_s - replay->company;
    replay->others = fmax(replay->others, 0);
    /* Less than one is no other program: the build's own threads wake up together for moments, as many as units run side by side. */
    double beside = mean_units(replay) - 1;
    if (replay->others < 1 && beside > 0.1) {
        replay->bursts = replay->others / beside;
        replay->others = 0;
    }
    return rc;
}

static int find_jobs(struct replay *replay)
{
    const struct report *report = replay->report;
    uint32_t most;
    int rc = most_at_once(replay, &most);
    bool is_said = report->cargo && report->cargo->jobs > 0 && report->cargo->jobs < UINT32_MAX;
    replay->jobs_are_seen = !is_said;
    /* Threads that make code have a job each, but for one of each unit. */
    uint32_t threads =
        report->peak_threads < report->session.cores ? report->peak_threads : report->session.cores;
    replay->jobs = is_said ? (uint32_t)report->cargo->jobs : most > threads ? most : threads;
    return rc;
}

static void find_ends(struct replay *replay)
{
    int64_t first_ns = INT64_MAX, last_ns = 0;
    array_each(&replay->tasks, task)
    {
        const struct build_node *node = &replay->report->graph.nodes.items[task->unit];
        first_ns = node->start_ns < first_ns ? node->start_ns : first_ns;
        last_ns = node->end_ns > last_ns ? node->end_ns : last_ns;
    }
    uint64_t elapsed = replay->report->session.elapsed_ns;
    replay->measured_s = elapsed != PROFILE_UNKNOWN ? report_seconds(elapsed) : seconds(last_ns);
    replay->lead_s = fmax(seconds(first_ns), 0);
    replay->trail_s = fmax(replay->measured_s - seconds(last_ns), 0);
}

int replay_open(struct replay *replay, const struct report *report, struct lam_error *err)
{
    *replay = (struct replay){.report = report};
    if (report->graph.path.count == 0)
        return lam_error_set(err, LAM_E_NOTFOUND, "replay: no unit of a build was recorded");
    int rc = add_tasks(replay);
    if (rc == LAM_OK)
        rc = index_edges(replay);
    if (rc == LAM_OK)
        rc = count_dependents(replay);
    if (rc == LAM_OK)
        rc = find_latency(replay);
    if (rc == LAM_OK)
        rc = find_jobs(replay);
    if (rc == LAM_OK) {
        count_needs(replay);
        find_ends(replay);
        rc = find_others(replay);
    }
    if (rc == LAM_OK)
        rc = replay_measure_work(replay);
    if (rc < 0) {
        replay_close(replay);
        return lam_error_set(err, rc, "replay: out of memory");
    }
    return LAM_OK;
}

void replay_close(struct replay *replay)
{
    array_free(&replay->tasks);
    array_free(&replay->task_of);
    array_free(&replay->by_dep);
    array_free(&replay->first_of);
}
