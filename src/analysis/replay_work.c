/* What each unit did, without waiting for cores: from the stretches in which its threads worked, and their account. */
#include <math.h>

#include "analysis/core_demand.h"
#include "analysis/replay.h"
#include "analysis/report_state.h"

enum section { SECTION_BEFORE, SECTION_CODEGEN, SECTION_AFTER, SECTIONS };

/* Of one unit, in thread-seconds. */
struct section_work {
    double run_s, wait_s; /* on a core; waiting for one */
};

struct unit_work {
    int64_t codegen_ns, after_ns; /* where its sections begin */
    struct section_work sections[SECTIONS];
    double feed_s, work_s, longest_s, link_s;
    uint32_t workers;
};

struct measure {
    struct replay *replay;
    const struct report_state *state;
    const struct report *report;
    LAM_ARRAY(struct unit_work) units; /* by unit, the outermost */
    LAM_ARRAY(double) worked_s;        /* by worker of state->work */
    struct core_demand demand;
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static bool makes_code(enum thread_role role)
{
    return role == ROLE_OPT || role == ROLE_CODEGEN || role == ROLE_LTO || role == ROLE_COPY;
}

static uint32_t process_of(const struct report *report, uint32_t worker)
{
    return worker < report->threads.count ? report->threads.items[worker].process
                                          : worker - (uint32_t)report->threads.count;
}

/* The outermost unit that a process works for; GRAPH_NONE. */
static uint32_t unit_of(const struct report *report, uint32_t process)
{
    uint32_t found = GRAPH_NONE;
    for (; process != REPORT_NO_UNIT; process = report->processes.items[process].parent)
        if (report->processes.items[process].unit != REPORT_NO_UNIT)
            found = report->processes.items[process].unit;
    return found;
}

static enum thread_role role_of(const struct report *report, uint32_t worker)
{
    return worker < report->threads.count ? report->threads.items[worker].role : ROLE_OTHER;
}

/* Codegen lasts from the first to the last stretch of a thread that makes code, and begins after the metadata. Where none was seen
 * a linker's start ends what comes before. */
static void find_sections(struct measure *measure)
{
    const struct build_graph *graph = &measure->report->graph;
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct build_node *node = &graph->nodes.items[i];
        struct unit_work *work = &measure->units.items[i];
        work->codegen_ns = node->rmeta_from != RMETA_NONE ? node->rmeta_ns : node->end_ns;
        work->after_ns = node->start_ns;
    }
    array_each(&measure->state->work, stretch)
    {
        uint32_t process = process_of(measure->report, stretch->worker),
                 unit = measure->report->processes.items[process].unit;
        if (unit == REPORT_NO_UNIT || !makes_code(role_of(measure->report, stretch->worker)))
            continue;
        struct unit_work *work = &measure->units.items[unit];
        const struct build_node *node = &graph->nodes.items[unit];
        if (node->rmeta_from == RMETA_NONE && stretch->start_ns < work->codegen_ns)
            work->codegen_ns = stretch->start_ns;
        if (stretch->end_ns > work->after_ns)
            work->after_ns = stretch->end_ns;
    }
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct build_node *node = &graph->nodes.items[i];
        if (node->inside == GRAPH_NONE || measure->report->units.items[i].info.kind != UNIT_LINK)
            continue;
        struct unit_work *work = &measure->units.items[node->inside];
        bool has_code = work->after_ns > graph->nodes.items[node->inside].start_ns;
        if (!has_code && node->start_ns < work->codegen_ns)
            work->codegen_ns = node->start_ns;
    }
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
        const struct build_node *node = &graph->nodes.items[i];
        struct unit_work *work = &measure->units.items[i];
        if (work->codegen_ns > node->end_ns)
            work->codegen_ns = node->end_ns;
        if (work->after_ns < work->codegen_ns)
            work->after_ns = work->codegen_ns;
        if (work->after_ns > node->end_ns)
            work->after_ns = node->end_ns;
    }
}

static double overlap_s(const struct work_stretch *stretch, int64_t start_ns, int64_t end_ns)
{
    int64_t from = stretch->start_ns > start_ns ? stretch->start_ns : start_ns,
            to = stretch->end_ns < end_ns ? stretch->end_ns : end_ns;
    return to > from ? seconds(to - from) : 0;
}

/* CPU time and waiting for a core of a worker: a thread's own, else its process's. */
static void account_of(const struct report *report, uint32_t worker, double *run_s, double *wait_s)
{
    *run_s = *wait_s = 0;
    if (worker < report->threads.count) {
        const struct report_thread *thread = &report->threads.items[worker];
        *run_s = seconds((int64_t)thread->ledger.run_ns);
        if (thread->cpu_ns != PROFILE_UNKNOWN)
            *run_s = seconds((int64_t)thread->cpu_ns);
        *wait_s = seconds((int64_t)thread->ledger.core_wait_ns);
    } else {
        const struct report_process *process = &report->processes.items[process_of(report, worker)];
        if (process->cpu_ns != PROFILE_UNKNOWN)
            *run_s = seconds((int64_t)process->cpu_ns);
    }
}

/* A thread's account is spread over its stretches by their length. */
static void add_stretch(struct measure *measure, const struct work_stretch *stretch)
{
    const struct report *report = measure->report;
    uint32_t process = process_of(report, stretch->worker), unit = unit_of(report, process);
    double all_s = measure->worked_s.items[stretch->worker], run_s, wait_s;
    if (unit == GRAPH_NONE || !(all_s > 0))
        return;
    account_of(report, stretch->worker, &run_s, &wait_s);
    struct unit_work *work = &measure->units.items[unit];
    const struct build_node *node = &report->graph.nodes.items[unit];
    const int64_t bounds[SECTIONS + 1] = {node->start_ns, work->codegen_ns, work->after_ns,
                                          node->end_ns};
    for (int i = 0; i < SECTIONS; i++) {
        double share = overlap_s(stretch, bounds[i], bounds[i + 1]) / all_s;
        work->sections[i].run_s += run_s * share;
        work->sections[i].wait_s += wait_s * share;
        if (i == SECTION_CODEGEN && makes_code(role_of(report, stretch->worker)))
            work->work_s += run_s * share;
        else if (i == SECTION_CODEGEN)
            work->feed_s += run_s * share;
    }
}

static void add_threads(struct measure *measure)
{
    const struct report *report = measure->report;
    array_each(&report->threads, thread)
    {
        uint32_t unit = report->processes.items[thread->process].unit;
        if (unit == REPORT_NO_UNIT || !makes_code(thread->role))
            continue;
        struct unit_work *work = &measure->units.items[unit];
        double run_s = thread->cpu_ns != PROFILE_UNKNOWN ? seconds((int64_t)thread->cpu_ns) : 0;
        work->workers++;
        if (run_s > work->longest_s)
            work->longest_s = run_s;
    }
    for (uint32_t i = 0; i < report->graph.nodes.count; i++) {
        const struct build_node *node = &report->graph.nodes.items[i];
        if (node->inside != GRAPH_NONE && report->units.items[i].info.kind == UNIT_LINK)
            measure->units.items[node->inside].link_s += seconds(node->end_ns - node->start_ns);
    }
}

/* Other programs come and go while a build runs: how many of them wanted cores is told from this section's own waiting, and from
 * how many threads of the build wanted one beside it. Of short sections that says little, and the whole build's mean counts for
 * more. */
static double others_in(const struct measure *measure, const struct section_work *work,
                        int64_t start_ns, int64_t end_ns)
{
    const double prior_s = 0.02;
    const struct replay *replay = measure->replay;
    double mean = (replay->others + replay->company) / replay->cores;
    double slower = (work->run_s + work->wait_s + prior_s * mean) / (work->run_s + prior_s);
    double own = core_demand_mean(&measure->demand, start_ns, end_ns);
    return replay->others > 0 ? replay_others(replay->shares, replay->cores, own, slower) : 0;
}

/* Several threads wait side by side: of the section's length they are what they are of the threads' time. */
static struct replay_stage stage_of(const struct measure *measure, const struct section_work *work,
                                    int64_t start_ns, int64_t end_ns)
{
    double busy_s = work->run_s + work->wait_s, wall_s = seconds(end_ns - start_ns);
    double inherent_s = busy_s <= wall_s ? wall_s - work->wait_s : wall_s * work->run_s / busy_s;
    struct replay_stage stage = {.seconds = inherent_s > 0 ? inherent_s : 0};
    stage.threads = stage.seconds > 0 ? work->run_s / stage.seconds : 0;
    stage.others = others_in(measure, work, start_ns, end_ns);
    return stage;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* Mean over the section of the job tokens that the unit could have had: those that no other unit took, shared by those that make
 * code at the time. */
static double tokens_had(const struct measure *measure, uint32_t unit)
{
    const struct build_graph *graph = &measure->report->graph;
    const struct unit_work *own = &measure->units.items[unit];
    double length_s = seconds(own->after_ns - own->codegen_ns), taken = 0, sharing = 0;
    if (!(length_s > 0))
        return 1;
    array_each(&measure->replay->tasks, task)
    {
        const struct build_node *node = &graph->nodes.items[task->unit];
        const struct unit_work *work = &measure->units.items[task->unit];
        const struct work_stretch life = {node->start_ns, node->end_ns, 0},
                                  code = {work->codegen_ns, work->after_ns, 0};
        taken += overlap_s(&life, own->codegen_ns, own->after_ns);
        sharing += overlap_s(&code, own->codegen_ns, own->after_ns);
    }
    double free = (double)measure->replay->jobs - taken / length_s;
    return free > 0 ? 1 + free / (sharing / length_s) : 1;
}

static void fill_codegen(struct measure *measure, struct replay_task *task)
{
    const struct unit_work *work = &measure->units.items[task->unit];
    struct replay_stage stage =
        stage_of(measure, &work->sections[SECTION_CODEGEN], work->codegen_ns, work->after_ns);
    task->feed_s = work->feed_s;
    task->code_s = work->feed_s + work->work_s;
    task->floor_s = fmax(work->feed_s, fmin(work->longest_s, work->work_s));
    task->most_threads = work->workers + 1;
    task->code_others = stage.others;
    if (!(task->code_s > 0) || !(stage.seconds > 0)) {
        task->code_s = task->feed_s = task->floor_s = 0;
        task->after.seconds += stage.seconds;
        return;
    }
    double busy = task->code_s / stage.seconds, tokens = tokens_had(measure, task->unit);
    /* A compiler that no build tool gave tokens takes as many as it likes. */
    if (measure->replay->jobs_are_seen && busy > tokens)
        task->own_tokens = tokens = busy;
    double could = replay_codegen_threads(task, tokens);
    task->drag = busy < 1 ? 1 / busy : 1;
    if (could > 1.05)
        task->gain = fmin(fmax((busy - 1) / (could - 1), 0), 2);
}

static void fill_tasks(struct measure *measure)
{
    const struct build_graph *graph = &measure->report->graph;
    array_each(&measure->replay->tasks, task)
    {
        const struct build_node *node = &graph->nodes.items[task->unit];
        const struct unit_work *work = &measure->units.items[task->unit];
        double after_s = seconds(node->end_ns - work->after_ns);
        task->before =
            stage_of(measure, &work->sections[SECTION_BEFORE], node->start_ns, work->codegen_ns);
        task->after = stage_of(measure, &work->sections[SECTION_AFTER], work->after_ns, node->end_ns);
        fill_codegen(measure, task);
        if (measure->report->units.items[task->unit].info.kind == UNIT_LINK)
            task->link_share = 1;
        else if (after_s > 0)
            task->link_share = work->link_s < after_s ? work->link_s / after_s : 1;
    }
}

static int find_demand(struct measure *measure)
{
    int rc = LAM_OK;
    array_each(&measure->state->work, stretch)
    {
        double worked_s = measure->worked_s.items[stretch->worker], run_s, wait_s;
        account_of(measure->report, stretch->worker, &run_s, &wait_s);
        if (rc == LAM_OK && worked_s > 0)
            rc = core_demand_add(&measure->demand, stretch->start_ns, stretch->end_ns,
                                 (run_s + wait_s) / worked_s);
    }
    core_demand_sort(&measure->demand);
    return rc;
}

static int gather(struct measure *measure)
{
    const struct report *report = measure->report;
    int rc = array_resize(&measure->units, report->units.count);
    if (rc == LAM_OK)
        rc = array_resize(&measure->worked_s, report->threads.count + report->processes.count);
    if (rc < 0)
        return rc;
    array_each(&measure->state->work, stretch) measure->worked_s.items[stretch->worker] +=
        seconds(stretch->end_ns - stretch->start_ns);
    find_sections(measure);
    array_each(&measure->state->work, stretch) add_stretch(measure, stretch);
    add_threads(measure);
    return find_demand(measure);
}

int replay_measure_work(struct replay *replay)
{
    struct measure measure = {.replay = replay, .report = replay->report};
    measure.state = (const struct report_state *)replay->report;
    int rc = gather(&measure);
    if (rc == LAM_OK)
        fill_tasks(&measure);
    array_free(&measure.units);
    array_free(&measure.worked_s);
    core_demand_free(&measure.demand);
    return rc;
}
