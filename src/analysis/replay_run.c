/* The schedule, simulated: from event to event, each running unit going as fast as cores and tokens let it. */
#include <math.h>
#include <string.h>

#include "analysis/replay.h"
#include "base/memory.h"

enum stage { STAGE_START, STAGE_BEFORE, STAGE_CODEGEN, STAGE_AFTER, STAGE_DONE };

struct running {
    uint32_t task;
    enum stage stage;
    double left;    /* of the stage, 1 to 0 */
    double seconds; /* that the stage takes as things are */
    double threads, others;
};

struct run {
    const struct replay *replay;
    struct replay_task *tasks; /* changed, and counting down */
    LAM_ARRAY(struct running) running;
    LAM_ARRAY(uint32_t) ready; /* tasks; the one to start next last */
    double cores, jobs, at_s;
    int rc;
};

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Those that most others wait for first; then those that began first in the build that was. */
static bool goes_first(const struct run *run, uint32_t left, uint32_t right)
{
    const struct replay_task *a = &run->tasks[left], *b = &run->tasks[right];
    const struct build_node *nodes = run->replay->report->graph.nodes.items;
    if (a->dependents != b->dependents)
        return a->dependents > b->dependents;
    return nodes[a->unit].start_ns < nodes[b->unit].start_ns;
}

static void make_ready(struct run *run, uint32_t task)
{
    if (array_push(&run->ready, task) < 0) {
        run->rc = LAM_E_NOMEM;
        return;
    }
    for (size_t i = run->ready.count - 1; i > 0 && goes_first(run, run->ready.items[i - 1], task);
         i--) {
        run->ready.items[i] = run->ready.items[i - 1];
        run->ready.items[i - 1] = task;
    }
}

static void need_is_there(struct run *run, uint32_t unit, enum build_need need);

/* An edge's dep has made what the edge needs: the other unit waits for one thing less. */
static void settle(struct run *run, const struct build_edge *edge, enum build_need need)
{
    uint32_t other = run->replay->task_of.items[edge->unit];
    bool is_it = edge->need == need || (need == NEED_FILE && edge->need == NEED_RUN);
    if (is_it && !edge->is_contradicted && --run->tasks[other].needs == 0)
        make_ready(run, other);
    bool carries = edge->need == NEED_METADATA || edge->need == NEED_OBJECTS;
    if (need == NEED_OBJECTS && carries && --run->tasks[other].objects == 0)
        need_is_there(run, edge->unit, NEED_OBJECTS);
}

/* Recursion is as deep as libraries are above each other. */
static void need_is_there(struct run *run, uint32_t unit, enum build_need need)
{
    const struct replay *replay = run->replay;
    for (uint32_t i = replay->first_of.items[unit]; i < replay->first_of.items[unit + 1]; i++)
        settle(run, &replay->report->graph.edges.items[replay->by_dep.items[i]], need);
}

static void end_task(struct run *run, struct replay_task *task)
{
    need_is_there(run, task->unit, NEED_FILE);
    if (--task->objects == 0)
        need_is_there(run, task->unit, NEED_OBJECTS);
}

/* The next stage that takes time; metadata is there when the first one ends. */
static void advance(struct run *run, struct running *it)
{
    struct replay_task *task = &run->tasks[it->task];
    bool takes_time = false;
    while (!takes_time && it->stage != STAGE_DONE) {
        it->stage++;
        if (it->stage == STAGE_BEFORE) {
            takes_time = task->before.seconds > 0;
        } else if (it->stage == STAGE_CODEGEN) {
            need_is_there(run, task->unit, NEED_METADATA);
            takes_time = replay_codegen_s(task, 1) > 0;
        } else if (it->stage == STAGE_AFTER) {
            takes_time = task->after.seconds > 0;
        }
    }
    it->left = 1;
    if (it->stage == STAGE_DONE)
        end_task(run, task);
}

static void start_ready(struct run *run)
{
    while (run->ready.count > 0 && (double)run->running.count < run->jobs && run->rc == LAM_OK) {
        uint32_t task = array_pop(&run->ready);
        struct running it = {.task = task, .stage = STAGE_START, .left = 1};
        /* The first ones' is in the time before them. */
        bool is_late = run->at_s > 0 && run->replay->latency_s > 0;
        if (!is_late || !(run->tasks[task].before.seconds > 0))
            advance(run, &it); /* may make others ready */
        if (it.stage != STAGE_DONE && array_push(&run->running, it) < 0)
            run->rc = LAM_E_NOMEM;
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* What a unit's stage takes and how many threads work in it, had they all the cores they want. */
static void look_up_stage(const struct run *run, struct running *it, double tokens)
{
    const struct replay_task *task = &run->tasks[it->task];
    /* The build tool's latency is as it was, however many want cores. */
    const struct replay_stage start = {.seconds = run->replay->latency_s};
    const struct replay_stage *stage = it->stage == STAGE_START    ? &start
                                       : it->stage == STAGE_BEFORE ? &task->before
                                                                   : &task->after;
    it->seconds = stage->seconds;
    it->threads = stage->threads;
    it->others = stage->others;
    if (it->stage == STAGE_CODEGEN) {
        it->seconds = replay_codegen_s(task, fmax(tokens, task->own_tokens));
        it->threads = task->code_s / it->seconds;
        it->others = task->code_others;
    }
}

/* How much longer a unit takes than with all the cores it wants: only its time on them does. */
static double stretch_of(const struct run *run, const struct running *it, double own)
{
    double on_cores = fmin(it->threads, 1);
    double slower = replay_slower(run->replay->shares, run->cores, own, it->others);
    return 1 - on_cores + on_cores * slower;
}

static void set_pace(struct run *run)
{
    enum { ROUNDS = 8 };
    size_t making_code = 0;
    array_each(&run->running, it) making_code += it->stage == STAGE_CODEGEN;
    double spare = run->jobs - (double)run->running.count, own = 0;
    double tokens = making_code > 0 && spare > 0 ? 1 + spare / (double)making_code : 1;
    double bursts = run->replay->bursts * ((double)run->running.count - 1);
    array_each(&run->running, it)
    {
        look_up_stage(run, it, tokens);
        own += it->threads;
    }
    /* A thread that waits for something else most of its time wants a core for more of it where it has to wait for that, too: it is a
     * while until all agree. */
    for (int round = 0; round < ROUNDS; round++) {
        double wanted = bursts;
        array_each(&run->running, it)
        {
            double on_cores = fmin(it->threads, 1), all = stretch_of(run, it, own + bursts);
            wanted += it->threads >= 1 ? it->threads : 1 - (1 - on_cores) / all;
        }
        own = wanted - bursts;
    }
    array_each(&run->running, it) it->seconds *= stretch_of(run, it, own + bursts);
}

/* Up to the next end of a stage. Several that end at once are taken one by one. */
static void step(struct run *run)
{
    size_t first = 0;
    double least_s = INFINITY;
    set_pace(run);
    for (size_t i = 0; i < run->running.count; i++) {
        double left_s = run->running.items[i].left * run->running.items[i].seconds;
        if (left_s < least_s) {
            least_s = left_s;
            first = i;
        }
    }
    run->at_s += least_s;
    array_each(&run->running, it) it->left -= it->seconds > 0 ? least_s / it->seconds : it->left;
    struct running it = run->running.items[first];
    advance(run, &it);
    if (it.stage == STAGE_DONE)
        run->running.items[first] = array_pop(&run->running);
    else
        run->running.items[first] = it;
}

static int simulate(struct run *run)
{
    for (uint32_t i = 0; i < run->replay->tasks.count; i++)
        if (run->tasks[i].needs == 0)
            make_ready(run, i);
    start_ready(run);
    while (run->running.count > 0 && run->rc == LAM_OK) {
        step(run);
        start_ready(run);
    }
    return run->rc;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void scale(struct replay_task *task, double factor)
{
    task->before.seconds *= factor;
    task->code_s *= factor;
    task->feed_s *= factor;
    task->floor_s *= factor;
    task->after.seconds *= factor;
}

/* Two crates that need the same and that the same units need, each with half of the work, side by side: what one crate does in
 * half of the time with twice the threads. */
static void split(struct replay_task *task)
{
    task->before.seconds /= 2;
    task->before.threads *= 2;
    task->feed_s /= 2;
    task->floor_s /= 2;
    task->most_threads *= 2;
    task->after.seconds /= 2;
    task->after.threads *= 2;
}

static void cut_code(struct replay_task *task, uint32_t codegen_units)
{
    task->most_threads = codegen_units + 1;
    task->floor_s = fmax(task->feed_s, (task->code_s - task->feed_s) / codegen_units);
}

static void change_units(struct run *run, const struct what_if *change)
{
    const struct report *report = run->replay->report;
    for (uint32_t i = 0; i < run->replay->tasks.count; i++) {
        struct replay_task *task = &run->tasks[i];
        const struct report_unit *unit = &report->units.items[task->unit];
        array_each(&change->units, named)
        {
            if (!what_if_names(named, unit))
                continue;
            if (named->is_split)
                split(task);
            else
                scale(task, 1 / named->speed);
        }
        if (unit->info.kind == UNIT_LINK)
            scale(task, 1 / change->link_speed);
        else
            task->after.seconds *= 1 - task->link_share + task->link_share / change->link_speed;
        if (change->codegen_units > 0 && unit->info.kind == UNIT_RUSTC)
            cut_code(task, change->codegen_units);
    }
}

static void change_machine(struct run *run, const struct what_if *change)
{
    const struct replay *replay = run->replay;
    double had = replay->report->session.cores;
    run->cores = replay->cores;
    run->jobs = replay->jobs;
    if (change && change->cores > 0) {
        run->cores = change->cores;
        bool follows = replay->jobs >= had;
        run->jobs = follows ? fmax(change->cores, replay->jobs * change->cores / had) : run->jobs;
    }
    if (change && change->jobs > 0) {
        run->jobs = change->jobs;
        for (size_t i = 0; i < replay->tasks.count; i++)
            run->tasks[i].own_tokens = 0;
    }
}

int replay_run(const struct replay *replay, const struct what_if *change, double *wall_s)
{
    size_t count = replay->tasks.count;
    struct run run = {.replay = replay, .rc = LAM_OK};
    run.tasks = mem_alloc(count * sizeof *run.tasks);
    if (!run.tasks)
        return LAM_E_NOMEM;
    memcpy(run.tasks, replay->tasks.items, count * sizeof *run.tasks);
    change_machine(&run, change);
    if (change)
        change_units(&run, change);
    int rc = simulate(&run);
    if (rc == LAM_OK)
        *wall_s = replay->lead_s + run.at_s + replay->trail_s;
    mem_free(run.tasks);
    array_free(&run.running);
    array_free(&run.ready);
    return rc;
}
