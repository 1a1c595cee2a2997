/* Who started whom, and which kernel process each image belonged to. Pids are used again within a session, so a pid names a
 * process at a time only; the kernel's start time and the order of events tell them apart. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "input/recording.h"
#include "input/recording_usage.h"

/* A record about a process and the process's own records are made by different processes at different moments of one call. */
#define SLACK_NS 1000000000

struct linker {
    struct recording *rec;
    struct map by_pid;  /* pid → newest life + 1 */
    struct map by_life; /* pid and kernel start → life + 1 */
    struct map inner; /* pid as the launcher's namespace has it → the newest of session.seen that has another within + 1 */
};

static struct image *image_at(const struct linker *link, uint32_t index)
{
    return &link->rec->images.items[index];
}

static struct life *life_at(const struct linker *link, uint32_t index)
{
    return &link->rec->lives.items[index];
}

static uint64_t life_key(uint32_t pid, uint64_t kernel_start)
{
    return hash_combine(hash_u64(pid), kernel_start);
}

static uint32_t newest_of_pid(const struct linker *link, uint32_t pid)
{
    return (uint32_t)map_get_or(&link->by_pid, pid, 0) - 1;
}

static uint32_t exact_life(const struct linker *link, uint32_t pid, uint64_t kernel_start)
{
    uint32_t index = (uint32_t)map_get_or(&link->by_life, life_key(pid, kernel_start), 0) - 1;
    if (!kernel_start || index == NO_INDEX)
        return NO_INDEX;
    const struct life *life = life_at(link, index);
    return life->pid == pid && life->kernel_start == kernel_start ? index : NO_INDEX;
}

/* The process that the outside calls pid, and that calls itself otherwise. */
static uint32_t inner_life(const struct linker *link, uint32_t pid)
{
    uint64_t at = map_get_or(&link->inner, pid, 0);
    const struct session_seen *seen = at ? &link->rec->session.seen.items[at - 1] : NULL;
    return seen ? exact_life(link, seen->inner_pid, seen->kernel_start) : NO_INDEX;
}

static int note_inner(struct linker *link)
{
    const struct session_json *session = &link->rec->session;
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < session->seen.count; i++)
        if (session->seen.items[i].inner_pid)
            rc = map_put(&link->inner, session->seen.items[i].pid, i + 1);
    return rc;
}

/* A life with its first image. */
static int add_life(struct linker *link, uint32_t image_index, uint32_t *out)
{
    struct recording *rec = link->rec;
    struct life *life = array_add(&rec->lives);
    if (!life)
        return LAM_E_NOMEM;
    uint32_t index = (uint32_t)(rec->lives.count - 1);
    struct image *image = image_at(link, image_index);
    *life = (struct life){
        .pid = image->pid,
        .kernel_start = image->kernel_start,
        .first = image_index,
        .last = image_index,
        .ppid = image->ppid,
        .parent = NO_INDEX,
        .start_ns = image->start_ns,
        .seen_cpu_ns = PROFILE_UNKNOWN,
        .next_of_pid = newest_of_pid(link, image->pid),
    };
    image->life = index;
    if (map_put(&link->by_pid, life->pid, (uint64_t)index + 1) < 0)
        return LAM_E_NOMEM;
    if (life->kernel_start &&
        map_put(&link->by_life, life_key(life->pid, life->kernel_start), (uint64_t)index + 1) < 0)
        return LAM_E_NOMEM;
    *out = index;
    return LAM_OK;
}

/* ---- images with a stream ---- */

static int compare_starts(const void *left, const void *right)
{
    const struct image *a = left, *b = right;
    if (a->agent_start_ns != b->agent_start_ns)
        return a->agent_start_ns < b->agent_start_ns ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* The life that an image goes on: the same kernel process, seen before. */
static uint32_t life_of_stream(const struct linker *link, const struct image *image)
{
    if (image->kernel_start)
        return exact_life(link, image->pid, image->kernel_start);
    /* Without the kernel's word (no /proc there) only an exec that was announced joins two images. */
    uint32_t index = newest_of_pid(link, image->pid);
    if (index == NO_INDEX)
        return NO_INDEX;
    const struct image *before = image_at(link, life_at(link, index)->last);
    return before->has_end && before->end_how == STREAM_END_EXEC ? index : NO_INDEX;
}

static void join_image(struct linker *link, uint32_t life_index, uint32_t image_index)
{
    struct life *life = life_at(link, life_index);
    struct image *image = image_at(link, image_index), *before = image_at(link, life->last);
    image->life = life_index;
    image->previous = life->last;
    before->next = image_index;
    life->last = image_index;
    /* It began when the one before it gave up, and what that one had used is not its own. */
    if (before->has_end && before->end_how == STREAM_END_EXEC &&
        before->end_ns <= image->agent_start_ns)
        image->start_ns = before->end_ns;
    if (!image->image_cpu_ns && before->has_end)
        image->image_cpu_ns = before->end_cpu_ns;
    if (before->has_main_end)
        image->main_before = before->main_end;
}

/* When the first image of a process began is told by nobody if it is sampled: not later than the CPU time before the agent's
 * start takes, for it had one thread. */
static void begin_first(struct image *image)
{
    if (image->producer == STREAM_PRODUCER_LIBRARY)
        return; /* opened at any moment, by a program that may have had many threads by then */
    uint64_t used = image->exec_cpu_ns < INT64_MAX / 2 ? image->exec_cpu_ns : 0;
    image->start_ns = image->agent_start_ns - (int64_t)used;
}

/* ---- streams of one image ---- */

static bool is_same_process(const struct image *a, const struct image *b)
{
    return a->pid == b->pid && a->kernel_start == b->kernel_start;
}

static bool is_same_text(struct recording_text a, struct recording_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

/* Whether a recorder's stream belongs to an image that began before it. An exec that nobody announced shows in the program. */
static bool is_of_image(const struct image *image, const struct image *recorder)
{
    if (!is_same_process(image, recorder) || image->agent_start_ns > recorder->agent_start_ns ||
        (image->flags & STREAM_FLAG_FORK && !(recorder->flags & STREAM_FLAG_FORK) &&
         image->producer == STREAM_PRODUCER_LIBRARY))
        return false;
    if (image->has_end && image->end_how == STREAM_END_EXEC &&
        image->end_ns < recorder->agent_start_ns)
        return false;
    return image->producer == STREAM_PRODUCER_AGENT ||
           (is_same_text(image->exe, recorder->exe) && is_same_text(image->argv, recorder->argv));
}

static int join_recorder(struct image *image, struct image *recorder)
{
    if (array_push(&image->more, recorder->path) < 0)
        return LAM_E_NOMEM;
    recorder->path = NULL;
    for (unsigned i = 0; i < STREAM_LOSS_KINDS; i++)
        image->lost[i] += recorder->lost[i];
    if (recorder->last_ns > image->last_ns)
        image->last_ns = recorder->last_ns;
    if (recorder->has_events && !image->has_events)
        image->measure = recorder->measure;
    image->has_events |= recorder->has_events;
    if (!image->has_end && recorder->has_end) {
        image->has_end = true;
        image->end_how = recorder->end_how;
        image->end_ns = recorder->end_ns;
        image->end_code = recorder->end_code;
        image->end_cpu_ns = recorder->end_cpu_ns;
        image->end_self = recorder->end_self;
        image->end_children = recorder->end_children;
    }
    array_free(&recorder->spawns);
    array_free(&recorder->exits);
    return LAM_OK;
}

/* The streams of recorders go to the image that the agent, or another recorder, saw begin: the last one before them. Images
 * are in the order of their starts. */
static int join_recorders(struct linker *link)
{
    struct recording *rec = link->rec;
    struct map newest = {0}; /* process → its newest image + 1 */
    size_t kept = 0;
    int rc = LAM_OK;
    for (size_t i = 0; i < rec->images.count; i++) {
        struct image *image = &rec->images.items[i];
        uint64_t key = life_key(image->pid, image->kernel_start);
        uint64_t before = map_get_or(&newest, key, 0);
        if (rc >= 0 && before && image->producer == STREAM_PRODUCER_LIBRARY &&
            is_of_image(&rec->images.items[before - 1], image)) {
            rc = join_recorder(&rec->images.items[before - 1], image);
            if (rc >= 0)
                continue;
        }
        rec->images.items[kept++] = *image;
        if (rc >= 0)
            rc = map_put(&newest, key, kept);
    }
    rec->images.count = kept;
    map_free(&newest);
    return rc;
}

static int join_streams(struct linker *link)
{
    struct recording *rec = link->rec;
    array_sort(&rec->images, compare_starts);
    if (join_recorders(link) < 0)
        return LAM_E_NOMEM;
    for (uint32_t i = 0; i < rec->images.count; i++) {
        uint32_t life = life_of_stream(link, image_at(link, i));
        if (life != NO_INDEX) {
            join_image(link, life, i);
            continue;
        }
        begin_first(image_at(link, i));
        if (add_life(link, i, &life) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

/* ---- programs without a stream ---- */

static uint32_t add_unseen_image(struct linker *link, uint32_t pid, uint32_t ppid, int64_t start_ns)
{
    uint32_t index = recording_add_image(link->rec);
    if (index == NO_INDEX)
        return NO_INDEX;
    struct image *image = image_at(link, index);
    image->pid = pid;
    image->ppid = ppid;
    image->start_ns = image->agent_start_ns = image->last_ns = start_ns;
    return index;
}

static void describe(struct image *image, const struct spawned *spawned)
{
    image->exe = spawned->path;
    image->argv = spawned->argv;
    image->why_not = spawned->why_not;
}

/* An exec that worked, into a program without a stream: the last that the image told, and nothing after it. */
static const struct spawned *exec_without_stream(const struct image *image)
{
    const struct spawned *last = NULL;
    for (size_t i = 0; i < image->spawns.count; i++) {
        const struct spawned *spawned = &image->spawns.items[i];
        if (spawned->kind == STREAM_SPAWN_EXEC)
            last = spawned->rc == 0 ? spawned : NULL;
    }
    if (!last || image->next != NO_INDEX || !image->has_end || image->end_how != STREAM_END_EXEC ||
        last->at_ns + SLACK_NS < image->end_ns)
        return NULL;
    return last;
}

static int add_execs(struct linker *link)
{
    size_t count = link->rec->images.count;
    for (uint32_t i = 0; i < count; i++) {
        const struct spawned *spawned = exec_without_stream(image_at(link, i));
        if (!spawned)
            continue;
        struct spawned copy = *spawned; /* the images move when one is added */
        uint32_t pid = image_at(link, i)->pid, life = image_at(link, i)->life;
        uint32_t added = add_unseen_image(link, pid, image_at(link, i)->ppid, copy.at_ns);
        if (added == NO_INDEX)
            return LAM_E_NOMEM;
        describe(image_at(link, added), &copy);
        image_at(link, added)->kernel_start = image_at(link, i)->kernel_start;
        join_image(link, life, added);
    }
    return LAM_OK;
}

/* ---- what others tell, in the order of time ---- */

enum told_kind { TOLD_SPAWN, TOLD_EXIT, TOLD_REAPED };

struct told {
    int64_t at_ns;
    enum told_kind kind;
    uint32_t image; /* that told it */
    uint32_t item;  /* index in its list, or in session.reaped */
};

struct told_list LAM_ARRAY_BODY(struct told);

static int compare_told(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static int collect_told(const struct linker *link, struct told_list *list)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; i < link->rec->images.count; i++) {
        const struct image *image = image_at(link, i);
        for (uint32_t k = 0; rc >= 0 && k < image->spawns.count; k++) {
            const struct spawned *spawned = &image->spawns.items[k];
            if (spawned->child_pid && spawned->rc == 0 && spawned->kind != STREAM_SPAWN_EXEC)
                rc = array_push(list, ((struct told){spawned->at_ns, TOLD_SPAWN, i, k}));
        }
        for (uint32_t k = 0; rc >= 0 && k < image->exits.count; k++)
            rc = array_push(list, ((struct told){image->exits.items[k].at_ns, TOLD_EXIT, i, k}));
    }
    const struct session_json *session = &link->rec->session;
    for (uint32_t k = 0; rc >= 0 && k < session->reaped.count; k++)
        rc = array_push(list,
                        ((struct told){session->reaped.items[k].at_ns, TOLD_REAPED, NO_INDEX, k}));
    array_sort(list, compare_told);
    return rc;
}

static uint64_t distance(int64_t left, int64_t right)
{
    return left > right ? (uint64_t)left - (uint64_t)right : (uint64_t)right - (uint64_t)left;
}

/* The process that a SPAWN record speaks of: of that pid, not claimed by another, begun nearest to the record. */
static uint32_t spawned_life(const struct linker *link, const struct spawned *spawned, uint32_t teller)
{
    uint32_t best = NO_INDEX;
    uint64_t best_off = UINT64_MAX;
    uint32_t own_life = image_at(link, teller)->life;
    /* A program that is left alone has no stream; only what a fork began may have one. */
    bool has_stream = spawned->kind == STREAM_SPAWN_FORK || spawned->why_not == STREAM_UNSAMPLED_NO;
    uint32_t inner = inner_life(link, spawned->child_pid);
    if (inner != NO_INDEX && !life_at(link, inner)->is_claimed &&
        distance(life_at(link, inner)->start_ns, spawned->at_ns) <= SLACK_NS)
        return inner;
    for (uint32_t i = newest_of_pid(link, spawned->child_pid); i != NO_INDEX;
         i = life_at(link, i)->next_of_pid) {
        const struct life *life = life_at(link, i);
        uint64_t off = distance(life->start_ns, spawned->at_ns);
        bool is_ours = life->ppid == image_at(link, teller)->pid || off <= SLACK_NS;
        bool is_free = !life->is_claimed || life->parent == teller;
        bool is_over = life->has_exit && life->exit_ns + SLACK_NS < spawned->at_ns;
        if (!has_stream && image_at(link, life->first)->path)
            continue;
        if (i != own_life && is_ours && is_free && !is_over && off < best_off) {
            best = i;
            best_off = off;
        }
    }
    return best;
}

static int on_spawn(struct linker *link, const struct told *told)
{
    struct spawned spawned = image_at(link, told->image)->spawns.items[told->item];
    uint32_t index = spawned_life(link, &spawned, told->image);
    if (index == NO_INDEX) {
        uint32_t added = add_unseen_image(link, spawned.child_pid, image_at(link, told->image)->pid,
                                          spawned.at_ns);
        if (added == NO_INDEX || add_life(link, added, &index) < 0)
            return LAM_E_NOMEM;
    }
    struct life *life = life_at(link, index);
    life->is_claimed = true;
    life->parent = told->image;
    struct image *first = image_at(link, life->first);
    if (spawned.at_ns < first->start_ns && distance(spawned.at_ns, first->start_ns) <= SLACK_NS)
        life->start_ns = first->start_ns = spawned.at_ns;
    if (!first->path && !first->exe.size && spawned.kind != STREAM_SPAWN_FORK)
        describe(first, &spawned);
    return LAM_OK;
}

/* The process whose end is told: the newest of that pid that had begun, and has not ended yet. */
static uint32_t ended_life(const struct linker *link, uint32_t pid, uint64_t kernel_start,
                           int64_t at_ns)
{
    uint32_t best = NO_INDEX, inner = inner_life(link, pid);
    if (inner != NO_INDEX && !life_at(link, inner)->has_exit &&
        life_at(link, inner)->start_ns <= at_ns + SLACK_NS)
        return inner;
    for (uint32_t i = newest_of_pid(link, pid); i != NO_INDEX; i = life_at(link, i)->next_of_pid) {
        const struct life *life = life_at(link, i);
        if (life->has_exit || life->start_ns > at_ns + SLACK_NS)
            continue;
        if (kernel_start && life->kernel_start && life->kernel_start != kernel_start)
            continue;
        if (best == NO_INDEX || life->start_ns > life_at(link, best)->start_ns)
            best = i;
    }
    return best;
}

static int on_exit_told(struct linker *link, uint32_t teller, uint32_t pid, uint64_t kernel_start,
                        int64_t at_ns, uint32_t *out)
{
    uint32_t index = ended_life(link, pid, kernel_start, at_ns);
    if (index == NO_INDEX) {
        uint32_t ppid = teller == NO_INDEX ? (uint32_t)link->rec->session.launcher_pid
                                           : image_at(link, teller)->pid;
        uint32_t added = add_unseen_image(link, pid, ppid, at_ns);
        if (added == NO_INDEX)
            return LAM_E_NOMEM;
        /* Before the life is made: it is found by it when /proc tells of the same process. */
        image_at(link, added)->kernel_start = kernel_start;
        if (add_life(link, added, &index) < 0)
            return LAM_E_NOMEM;
    }
    struct life *life = life_at(link, index);
    life->has_exit = true;
    life->exit_ns = at_ns;
    if (!life->is_claimed && teller != NO_INDEX) {
        life->is_claimed = true; /* who waits for a process is its parent */
        life->parent = teller;
    }
    *out = index;
    return LAM_OK;
}

static struct stream_usage usage_of(const struct profile_usage *from)
{
    return (struct stream_usage){
        .user_ns = from->user_ns,
        .sys_ns = from->sys_ns,
        .max_rss_bytes = from->max_rss_bytes,
        .minor_faults = from->minor_faults,
        .major_faults = from->major_faults,
        .switches_voluntary = from->switches_voluntary,
        .switches_forced = from->switches_forced,
        .blocks_in = from->blocks_in,
        .blocks_out = from->blocks_out,
    };
}

static int on_told(struct linker *link, const struct told *told)
{
    uint32_t index = NO_INDEX;
    if (told->kind == TOLD_SPAWN)
        return on_spawn(link, told);
    if (told->kind == TOLD_EXIT) {
        struct child_exit ended = image_at(link, told->image)->exits.items[told->item];
        if (on_exit_told(link, told->image, ended.pid, 0, ended.at_ns, &index) < 0)
            return LAM_E_NOMEM;
        life_at(link, index)->status = ended.status;
        life_at(link, index)->total = ended.usage;
        return LAM_OK;
    }
    const struct session_reaped *reaped = &link->rec->session.reaped.items[told->item];
    if (on_exit_told(link, NO_INDEX, reaped->pid, reaped->kernel_start, reaped->at_ns, &index) < 0)
        return LAM_E_NOMEM;
    struct life *life = life_at(link, index);
    life->status = (int32_t)reaped->status;
    life->total = usage_of(&reaped->usage.usage);
    life->by_launcher = true;
    struct image *first = image_at(link, life->first);
    /* The command itself has no parent of ours that could have said why it is left alone. */
    const struct session_json *session = &link->rec->session;
    if (!first->path && !first->why_not && reaped->pid == session->command_pid &&
        session->command_why_not <= STREAM_UNSAMPLED_FAILED)
        first->why_not = (uint16_t)session->command_why_not;
    if (!first->path && !first->comm.size && reaped->comm)
        first->comm = (struct recording_text){reaped->comm, strlen(reaped->comm)};
    return LAM_OK;
}

static int hear_others(struct linker *link)
{
    struct told_list list = {0};
    int rc = collect_told(link, &list);
    for (size_t i = 0; rc >= 0 && i < list.count; i++)
        rc = on_told(link, &list.items[i]);
    array_free(&list);
    return rc;
}

/* ---- what the launcher saw in /proc ---- */

static uint32_t seen_life(const struct linker *link, const struct session_seen *seen)
{
    uint32_t exact = NO_INDEX;
    if (seen->inner_pid)
        exact = exact_life(link, seen->inner_pid, seen->kernel_start);
    if (exact == NO_INDEX)
        exact = exact_life(link, seen->pid, seen->kernel_start);
    if (exact != NO_INDEX)
        return exact;
    for (uint32_t i = newest_of_pid(link, seen->pid); i != NO_INDEX;
         i = life_at(link, i)->next_of_pid) {
        const struct life *life = life_at(link, i);
        if (life->kernel_start && seen->kernel_start)
            continue; /* another process of that pid */
        bool begun = life->start_ns <= seen->last_ns + SLACK_NS;
        bool alive = !life->has_exit || life->exit_ns + SLACK_NS >= seen->first_ns;
        /* One whose start nobody told begins, as far as we know, with its end. */
        bool unknown_start = life->has_exit && life->start_ns == life->exit_ns;
        if ((begun || unknown_start) && alive)
            return i;
    }
    return NO_INDEX;
}

static int join_argv(struct recording *rec, const struct session_texts *texts,
                     struct recording_text *out)
{
    size_t size = 0;
    for (size_t i = 0; i < texts->count; i++)
        size += strlen(texts->items[i]) + 1;
    char *at = arena_alloc(&rec->arena, size + 1);
    if (!at)
        return LAM_E_NOMEM;
    *out = (struct recording_text){at, size};
    for (size_t i = 0; i < texts->count; i++)
        at = stpcpy(at, texts->items[i]) + 1;
    return LAM_OK;
}

static int describe_seen(struct linker *link, struct life *life, const struct session_seen *seen)
{
    struct image *first = image_at(link, life->first), *last = image_at(link, life->last);
    life->is_running = seen->is_running;
    life->seen_cpu_ns = seen->cpu_ns;
    if (!life->kernel_start)
        life->kernel_start = first->kernel_start = seen->kernel_start;
    if (!life->ppid)
        life->ppid = first->ppid = seen->ppid;
    last->peak_rss_bytes = seen->peak_rss_bytes;
    if (life->has_exit && life->start_ns == life->exit_ns && seen->first_ns < life->start_ns &&
        !first->path)
        life->start_ns = first->start_ns = first->agent_start_ns = seen->first_ns;
    if (!last->path && seen->last_ns > last->last_ns)
        last->last_ns = seen->last_ns;
    if (last->path)
        return LAM_OK;
    if (!last->exe.size && seen->exe)
        last->exe = (struct recording_text){seen->exe, strlen(seen->exe)};
    if (!last->comm.size && seen->comm.count) {
        const char *comm = seen->comm.items[seen->comm.count - 1];
        last->comm = (struct recording_text){comm, strlen(comm)};
    }
    return last->argv.size || !seen->argv.count ? LAM_OK
                                                : join_argv(link->rec, &seen->argv, &last->argv);
}

static int add_seen(struct linker *link)
{
    const struct session_json *session = &link->rec->session;
    for (size_t i = 0; i < session->seen.count; i++) {
        const struct session_seen *seen = &session->seen.items[i];
        uint32_t index = seen_life(link, seen);
        if (index == NO_INDEX) {
            uint32_t added = add_unseen_image(link, seen->pid, seen->ppid, seen->first_ns);
            if (added == NO_INDEX)
                return LAM_E_NOMEM;
            image_at(link, added)->kernel_start = seen->kernel_start;
            if (add_life(link, added, &index) < 0)
                return LAM_E_NOMEM;
        }
        if (describe_seen(link, life_at(link, index), seen) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

/* ---- parents ---- */

/* The image of a life that ran at a time. */
static uint32_t image_in_force(const struct linker *link, const struct life *life, int64_t at_ns)
{
    uint32_t index = life->first;
    while (image_at(link, index)->next != NO_INDEX &&
           image_at(link, image_at(link, index)->next)->start_ns <= at_ns)
        index = image_at(link, index)->next;
    return index;
}

static void find_parent(const struct linker *link, uint32_t life_index)
{
    struct life *life = life_at(link, life_index);
    uint32_t best = NO_INDEX;
    for (uint32_t i = newest_of_pid(link, life->ppid); i != NO_INDEX;
         i = life_at(link, i)->next_of_pid) {
        const struct life *parent = life_at(link, i);
        bool begun = parent->start_ns <= life->start_ns && i != life_index;
        bool alive = !parent->has_exit || parent->exit_ns + SLACK_NS >= life->start_ns;
        if (begun && alive && (best == NO_INDEX || parent->start_ns > life_at(link, best)->start_ns))
            best = i;
    }
    if (best != NO_INDEX)
        life->parent = image_in_force(link, life_at(link, best), life->start_ns);
}

static void link_parents(const struct linker *link)
{
    struct recording *rec = link->rec;
    for (uint32_t i = 0; i < rec->lives.count; i++) {
        struct life *life = life_at(link, i);
        if (!life->is_claimed && life->ppid && life->ppid != rec->session.launcher_pid)
            find_parent(link, i);
        /* A claim may name an image that had not begun yet, by the clock; a process is never older than its parent. */
        if (life->parent != NO_INDEX && image_at(link, life->parent)->life == i)
            life->parent = NO_INDEX;
        for (uint32_t k = life->first; k != NO_INDEX; k = image_at(link, k)->next)
            image_at(link, k)->parent = life->parent;
    }
    /* A forked child runs its parent's program, with its arguments. Parents come first in most cases, so one pass does. */
    for (uint32_t i = 0; i < rec->images.count; i++) {
        struct image *image = image_at(link, i);
        const struct image *parent = image->parent == NO_INDEX ? NULL : image_at(link, image->parent);
        if (image->flags & STREAM_FLAG_FORK && parent && !image->argv.size) {
            image->argv = parent->argv;
            image->argv_cut = parent->argv_cut;
        }
    }
}

int recording_link(struct recording *rec, struct lam_error *err)
{
    struct linker link = {.rec = rec};
    int rc = note_inner(&link);
    if (rc >= 0)
        rc = join_streams(&link);
    if (rc >= 0)
        rc = add_execs(&link);
    if (rc >= 0)
        rc = hear_others(&link);
    if (rc >= 0)
        rc = add_seen(&link);
    if (rc >= 0) {
        link_parents(&link);
        rc = recording_divide_usage(rec);
    }
    map_free(&link.by_pid);
    map_free(&link.by_life);
    map_free(&link.inner);
    return rc < 0 ? lam_error_set(err, rc, "%s: out of memory", rec->path) : LAM_OK;
}
