#include "session/tree_poll.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "session/session_clock.h"

enum {
    INTERVAL_NS = 100000000,
    FIRST_NS = 10000000, /* a short command is seen at least once */
    COST_SHARE = 100,    /* a pass may take a hundredth of the time from pass to pass */
    INTERVAL_MAX_NS = 2000000000,
    ROWS_MAX = 20000, /* then every two rows become one, and the interval doubles */
    SEEN_MAX = 200000,
    ARGV_MAX = 4096,
    STATUS_MAX = 4096,
    NAMESPACE_BYTES = 32, /* "pid:[4026531836]" */
    RECHECK_PASSES =
        64, /* strangers are looked at again so often: their number may have gone to one of ours */
};

enum { FILE_STAT, FILE_LOAD, FILE_PSI_CPU, FILE_PSI_IO, FILE_PSI_MEM, FILE_MEMINFO, FILE_COUNT };
static const char *const file_names[FILE_COUNT] = {
    "/proc/stat",        "/proc/loadavg",         "/proc/pressure/cpu",
    "/proc/pressure/io", "/proc/pressure/memory", "/proc/meminfo",
};

/* What is known of a number under /proc. Kept as one word in a map: the pass it was last met in, and whose it is. */
struct known {
    uint32_t pass;
    uint32_t member; /* index in seen plus 1; 0: not of our tree */
};

struct candidate {
    struct proc_stat stat;
    bool is_decided;
};

struct pid_list LAM_ARRAY_BODY(uint32_t);

struct tree_poll {
    pid_t launcher;
    uint64_t start_mono_ns;
    uint64_t due_ns, interval_ns;
    DIR *proc;
    int files[FILE_COUNT];
    uint64_t tick_ns, page_bytes;
    char namespace[NAMESPACE_BYTES]; /* the launcher's, of pids */
    uint32_t pass;
    struct map known;          /* by pid */
    struct pid_list pids;      /* met in this pass */
    struct pid_list last_pids; /* ... in the one before */
    LAM_ARRAY(struct candidate) candidates;
    struct seen_list seen;
    struct timeline rows;
    struct memory_peak peak;
    size_t alive;
    double tree_cpu_ns; /* used by the tree since the last row, as far as seen */
    struct proc_cpu cpu;
    bool has_cpu;
    uint64_t psi_us[3];
    bool has_psi[3];
    uint64_t last_ns;
    struct poll_cost cost;
};

static uint64_t pack(struct known known)
{
    return (uint64_t)known.pass << 32 | known.member;
}

static struct known unpack(uint64_t word)
{
    return (struct known){(uint32_t)(word >> 32), (uint32_t)word};
}

/* False when it cannot be read, which leaves name empty. */
static bool read_namespace(const char *process, char name[NAMESPACE_BYTES])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%s/ns/pid", process);
    ssize_t length = readlink(link, name, NAMESPACE_BYTES - 1);
    name[length > 0 ? length : 0] = '\0';
    return length > 0;
}

int tree_poll_open(struct tree_poll **out, pid_t launcher, uint64_t start_mono_ns,
                   struct lam_error *err)
{
    struct tree_poll *poll = mem_zalloc(1, sizeof *poll);
    if (!poll)
        return lam_error_set(err, LAM_E_NOMEM, "out of memory");
    poll->launcher = launcher;
    poll->start_mono_ns = start_mono_ns;
    poll->last_ns = start_mono_ns;
    poll->interval_ns = INTERVAL_NS;
    poll->due_ns = session_mono_ns() + FIRST_NS;
    long hz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    poll->tick_ns = 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
    poll->page_bytes = (uint64_t)(page > 0 ? page : 4096);
    poll->proc = opendir("/proc");
    read_namespace("self", poll->namespace);
    for (int i = 0; i < FILE_COUNT; i++)
        poll->files[i] = open(file_names[i], O_RDONLY | O_CLOEXEC); /* -1: its columns stay empty */
    *out = poll;
    return LAM_OK;
}

void tree_poll_close(struct tree_poll **out)
{
    struct tree_poll *poll = *out;
    if (!poll)
        return;
    if (poll->proc)
        closedir(poll->proc);
    for (int i = 0; i < FILE_COUNT; i++)
        if (poll->files[i] >= 0)
            close(poll->files[i]);
    array_each(&poll->seen, it)
    {
        array_free(&it->names);
        memory_series_free(&it->memory);
        mem_free(it->exe);
        mem_free(it->argv);
    }
    array_free(&poll->seen);
    array_free(&poll->rows);
    array_free(&poll->peak.holders);
    array_free(&poll->candidates);
    array_free(&poll->pids);
    array_free(&poll->last_pids);
    map_free(&poll->known);
    mem_free(poll);
    *out = NULL;
}

/* Reads at most capacity bytes; -1 when the file is gone. */
static ssize_t read_proc(uint32_t pid, const char *name, char *buffer, size_t capacity)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t used = 0;
    ssize_t got = 0;
    while (used < capacity && (got = read(fd, buffer + used, capacity - used)) > 0)
        used += (size_t)got;
    close(fd);
    return got < 0 && !used ? -1 : (ssize_t)used;
}

bool tree_poll_peek(pid_t pid, struct proc_stat *stat)
{
    char text[1024];
    ssize_t length = read_proc((uint32_t)pid, "stat", text, sizeof text);
    return length > 0 && proc_parse_stat(text, (size_t)length, stat) >= 0;
}

static int note_name(struct seen_process *seen, const struct proc_stat *stat, bool *is_new)
{
    struct seen_name name = {.bytes = stat->comm_bytes};
    memcpy(name.text, stat->comm, stat->comm_bytes);
    *is_new = !seen->names.count || array_last(&seen->names).bytes != name.bytes ||
              memcmp(array_last(&seen->names).text, name.text, name.bytes) != 0;
    /* A program that renames itself without end must not fill our memory. */
    if (*is_new && seen->names.count < 64)
        return array_push(&seen->names, name);
    return LAM_OK;
}

static void note_program(struct seen_process *seen)
{
    char text[ARGV_MAX], link[64];
    ssize_t length = read_proc(seen->pid, "cmdline", text, sizeof text);
    if (length > 0) {
        mem_free(seen->argv);
        seen->argv = mem_strndup(text, (size_t)length);
        seen->argv_bytes = seen->argv ? (size_t)length : 0;
    }
    snprintf(link, sizeof link, "/proc/%u/exe", seen->pid);
    length = readlink(link, text, sizeof text - 1);
    if (length > 0) {
        mem_free(seen->exe);
        seen->exe = mem_strndup(text, (size_t)length);
    }
}

/* A process in another pid namespace calls itself by another number, and so do its stream and its children. */
static void note_inner_pid(const struct tree_poll *poll, struct seen_process *seen)
{
    char digits[16], namespace[NAMESPACE_BYTES], text[STATUS_MAX];
    snprintf(digits, sizeof digits, "%u", seen->pid);
    if (!read_namespace(digits, namespace) || strcmp(namespace, poll->namespace) == 0)
        return;
    ssize_t length = read_proc(seen->pid, "status", text, sizeof text);
    if (length > 0)
        (void)proc_parse_inner_pid(text, (size_t)length, &seen->inner_pid);
}

/* One that is gone meanwhile keeps what was read before. */
static void note_memory(const struct tree_poll *poll, struct seen_process *seen, uint64_t rss_pages,
                        int64_t now_ns)
{
    char text[256];
    uint64_t resident, shared, most = UINT64_MAX / poll->page_bytes;
    seen->rss_bytes = rss_pages > most ? 0 : rss_pages * poll->page_bytes;
    if (seen->rss_bytes > seen->peak_rss_bytes)
        seen->peak_rss_bytes = seen->rss_bytes;
    ssize_t length = read_proc(seen->pid, "statm", text, sizeof text);
    if (length > 0 && proc_parse_statm(text, (size_t)length, &resident, &shared) == LAM_OK)
        seen->anon_bytes = resident - shared > most ? 0 : (resident - shared) * poll->page_bytes;
    /* Out of memory: a reading less. */
    (void)memory_series_add(&seen->memory,
                            (struct memory_reading){now_ns, seen->rss_bytes, seen->anon_bytes});
}

static void note_stat(struct tree_poll *poll, struct seen_process *seen,
                      const struct proc_stat *stat, int64_t now_ns)
{
    bool renamed = false;
    note_name(seen, stat, &renamed);
    if (stat->state != 'Z' && stat->state != 'X') {
        /* A fork may not have reached its exec at the first look, and may keep its name through it. */
        if (renamed || seen->looks < 2)
            note_program(seen);
        seen->threads = stat->threads > UINT32_MAX ? UINT32_MAX : (uint32_t)stat->threads;
        note_memory(poll, seen, stat->rss_pages, now_ns);
    } else { /* ended, and its parent has not waited yet */
        seen->threads = 0;
        seen->rss_bytes = seen->anon_bytes = 0;
    }
    uint64_t cpu_ns = (stat->user_ticks + stat->sys_ticks) * poll->tick_ns;
    if (cpu_ns > seen->cpu_ns) {
        poll->tree_cpu_ns += (double)(cpu_ns - seen->cpu_ns);
        seen->cpu_ns = cpu_ns;
    }
    seen->looks++;
    seen->last_ns = now_ns;
    seen->is_alive = true;
}

/* A new member of the tree. Its index in seen plus 1; 0 when it cannot be kept. */
static uint32_t add_member(struct tree_poll *poll, const struct proc_stat *stat, int64_t now_ns)
{
    if (poll->seen.count >= SEEN_MAX) {
        poll->cost.not_kept++;
        return 0;
    }
    struct seen_process *seen = array_add(&poll->seen);
    if (!seen)
        return 0;
    seen->pid = stat->pid;
    seen->ppid = stat->ppid;
    seen->kernel_start = stat->kernel_start;
    seen->first_ns = now_ns;
    note_inner_pid(poll, seen);
    note_stat(poll, seen, stat, now_ns);
    return (uint32_t)poll->seen.count;
}

/* Looks at one number. A process not met before becomes a candidate, to be decided when all parents are known. */
static void visit(struct tree_poll *poll, uint32_t pid, int64_t now_ns)
{
    uint64_t word = 0;
    bool is_known = map_get(&poll->known, pid, &word);
    struct known known = unpack(word);
    array_push(&poll->pids, pid);
    if (is_known && !known.member && (pid + poll->pass) % RECHECK_PASSES != 0) {
        known.pass = poll->pass;
        map_put(&poll->known, pid, pack(known));
        return;
    }
    struct candidate candidate = {0};
    if (!tree_poll_peek((pid_t)pid, &candidate.stat) || candidate.stat.pid != pid)
        return;
    if (is_known && known.member &&
        poll->seen.items[known.member - 1].kernel_start == candidate.stat.kernel_start) {
        note_stat(poll, &poll->seen.items[known.member - 1], &candidate.stat, now_ns);
        known.pass = poll->pass;
        map_put(&poll->known, pid, pack(known));
        return;
    }
    map_remove(&poll->known, pid);
    array_push(&poll->candidates, candidate);
}

/* Decides one candidate by its parent; false when the parent is not known (yet). */
static bool decide(struct tree_poll *poll, const struct proc_stat *stat, int64_t now_ns)
{
    uint64_t word = 0;
    struct known known = {.pass = poll->pass};
    bool is_ours = stat->ppid == (uint32_t)poll->launcher;
    if (!is_ours && stat->ppid != 0 && stat->pid != (uint32_t)poll->launcher) {
        if (!map_get(&poll->known, stat->ppid, &word))
            return false;
        is_ours = unpack(word).member != 0;
    }
    if (is_ours)
        known.member = add_member(poll, stat, now_ns);
    map_put(&poll->known, stat->pid, pack(known));
    return true;
}

/* Parents may come behind their children in the directory: go over the rest until nothing changes. Those whose parent ended
 * in between are left for the next pass, when they have a new one. */
static void decide_all(struct tree_poll *poll, int64_t now_ns)
{
    bool moved = true;
    while (moved) {
        moved = false;
        array_each(&poll->candidates, it)
        {
            if (!it->is_decided && decide(poll, &it->stat, now_ns))
                moved = it->is_decided = true;
        }
    }
    array_clear(&poll->candidates);
}

static void forget_the_dead(struct tree_poll *poll)
{
    array_each(&poll->last_pids, pid)
    {
        uint64_t word;
        if (!map_get(&poll->known, *pid, &word) || unpack(word).pass == poll->pass)
            continue;
        map_remove(&poll->known, *pid);
    }
    struct pid_list spare = poll->last_pids;
    poll->last_pids = poll->pids;
    poll->pids = spare;
    array_clear(&poll->pids);
}

static void scan_processes(struct tree_poll *poll, int64_t now_ns)
{
    if (!poll->proc)
        return;
    poll->pass++;
    rewinddir(poll->proc);
    for (struct dirent *entry; (entry = readdir(poll->proc));) {
        char *end;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        unsigned long pid = strtoul(entry->d_name, &end, 10);
        if (!*end && pid <= INT32_MAX)
            visit(poll, (uint32_t)pid, now_ns);
    }
    decide_all(poll, now_ns);
    forget_the_dead(poll);
}

/* Out of memory: the list is short, and the sums are right. */
static void note_peak(struct tree_poll *poll, int64_t t_ns, uint64_t rss_bytes, uint64_t anon_bytes)
{
    poll->peak.t_ns = t_ns;
    poll->peak.rss_bytes = rss_bytes;
    poll->peak.anon_bytes = anon_bytes;
    array_clear(&poll->peak.holders);
    array_each(&poll->last_pids, pid)
    {
        uint32_t member = unpack(map_get_or(&poll->known, *pid, 0)).member;
        if (!member || poll->seen.items[member - 1].rss_bytes == 0)
            continue;
        const struct seen_process *seen = &poll->seen.items[member - 1];
        struct memory_holder holder = {member - 1, seen->rss_bytes, seen->anon_bytes};
        (void)array_push(&poll->peak.holders, holder);
    }
}

/* Adds up the living. */
static void sum_tree(struct tree_poll *poll, struct timeline_row *row)
{
    uint64_t threads = 0, rss = 0, anon = 0;
    poll->alive = 0;
    array_each(&poll->last_pids, pid)
    {
        uint32_t member = unpack(map_get_or(&poll->known, *pid, 0)).member;
        if (!member)
            continue;
        const struct seen_process *seen = &poll->seen.items[member - 1];
        poll->alive += seen->threads > 0;
        threads += seen->threads;
        rss += seen->rss_bytes;
        anon += seen->anon_bytes;
    }
    if (anon > poll->peak.anon_bytes)
        note_peak(poll, row->t_ns, rss, anon);
    row->processes = (double)poll->alive;
    row->threads = (double)threads;
    row->rss_bytes = (double)rss;
    row->anon_bytes = (double)anon;
    row->tree_busy = row->span_ns ? poll->tree_cpu_ns / (double)row->span_ns : NAN;
    poll->tree_cpu_ns = 0;
}

static ssize_t read_again(int fd, char *buffer, size_t capacity)
{
    return fd < 0 ? -1 : pread(fd, buffer, capacity, 0);
}

static void read_machine(struct tree_poll *poll, struct timeline_row *row)
{
    char text[4096];
    struct proc_cpu cpu;
    uint64_t available;
    ssize_t length = read_again(poll->files[FILE_STAT], text, sizeof text);
    row->cpu_busy = NAN;
    if (length > 0 && proc_parse_cpu(text, (size_t)length, &cpu) >= 0) {
        uint64_t busy = cpu.busy - poll->cpu.busy;
        /* /proc/stat may step back a little on some kernels: such a row is left out */
        if (poll->has_cpu && cpu.busy >= poll->cpu.busy && row->span_ns)
            row->cpu_busy = (double)(busy * poll->tick_ns) / (double)row->span_ns;
        poll->cpu = cpu;
        poll->has_cpu = true;
    }
    length = read_again(poll->files[FILE_LOAD], text, sizeof text);
    if (length <= 0 || proc_parse_load(text, (size_t)length, &row->load1) < 0)
        row->load1 = NAN;
    length = read_again(poll->files[FILE_MEMINFO], text, sizeof text);
    bool has_available =
        length > 0 && proc_parse_meminfo(text, (size_t)length, "MemAvailable", &available) >= 0;
    row->mem_available_bytes = has_available ? (double)available : NAN;
    double *shares[] = {&row->psi_cpu, &row->psi_io, &row->psi_mem};
    for (int i = 0; i < 3; i++) {
        uint64_t total_us;
        length = read_again(poll->files[FILE_PSI_CPU + i], text, sizeof text);
        *shares[i] = NAN;
        if (length <= 0 || proc_parse_pressure(text, (size_t)length, &total_us) < 0)
            continue;
        if (poll->has_psi[i] && total_us >= poll->psi_us[i] && row->span_ns)
            *shares[i] =
                fmin((double)(total_us - poll->psi_us[i]) * 1000.0 / (double)row->span_ns, 1.0);
        poll->psi_us[i] = total_us;
        poll->has_psi[i] = true;
    }
}

static double blend(double a, uint64_t a_ns, double b, uint64_t b_ns)
{
    if (isnan(a) || isnan(b) || !(a_ns + b_ns))
        return isnan(b) ? a : b;
    return (a * (double)a_ns + b * (double)b_ns) / (double)(a_ns + b_ns);
}

/* Two rows become one that spans both: shares are averaged over time, states are those at its end. */
static void halve_rows(struct tree_poll *poll)
{
    size_t out = 0;
    for (size_t i = 0; i + 1 < poll->rows.count; i += 2) {
        const struct timeline_row *a = &poll->rows.items[i], *b = &poll->rows.items[i + 1];
        struct timeline_row row = *b;
        row.span_ns = a->span_ns + b->span_ns;
        row.tree_busy = blend(a->tree_busy, a->span_ns, b->tree_busy, b->span_ns);
        row.cpu_busy = blend(a->cpu_busy, a->span_ns, b->cpu_busy, b->span_ns);
        row.psi_cpu = blend(a->psi_cpu, a->span_ns, b->psi_cpu, b->span_ns);
        row.psi_io = blend(a->psi_io, a->span_ns, b->psi_io, b->span_ns);
        row.psi_mem = blend(a->psi_mem, a->span_ns, b->psi_mem, b->span_ns);
        row.rss_bytes = fmax(a->rss_bytes, b->rss_bytes);
        row.anon_bytes = fmax(a->anon_bytes, b->anon_bytes);
        row.mem_available_bytes = fmin(a->mem_available_bytes, b->mem_available_bytes);
        poll->rows.items[out++] = row;
    }
    poll->rows.count = out;
    if (poll->interval_ns < INTERVAL_MAX_NS)
        poll->interval_ns *= 2;
}

static void plan_next(struct tree_poll *poll, uint64_t began_ns, uint64_t cost_ns)
{
    uint64_t interval_ns = poll->interval_ns;
    if (cost_ns * COST_SHARE > interval_ns)
        interval_ns = cost_ns * COST_SHARE < INTERVAL_MAX_NS ? cost_ns * COST_SHARE : INTERVAL_MAX_NS;
    poll->due_ns = began_ns + interval_ns;
}

int tree_poll_pass(struct tree_poll *poll)
{
    uint64_t cpu_ns = session_thread_cpu_ns(), now_ns = session_mono_ns();
    struct timeline_row row = {
        .t_ns = (int64_t)(now_ns - poll->start_mono_ns),
        .span_ns = now_ns - poll->last_ns,
    };
    poll->last_ns = now_ns;
    array_each(&poll->last_pids, pid)
    {
        uint32_t member = unpack(map_get_or(&poll->known, *pid, 0)).member;
        if (member)
            poll->seen.items[member - 1].is_alive = false; /* until met again */
    }
    scan_processes(poll, row.t_ns);
    sum_tree(poll, &row);
    read_machine(poll, &row);
    if (poll->rows.count >= ROWS_MAX)
        halve_rows(poll);
    int rc = array_push(&poll->rows, row);
    uint64_t cost_ns = session_thread_cpu_ns() - cpu_ns;
    poll->cost.passes++;
    poll->cost.cpu_ns += cost_ns;
    plan_next(poll, now_ns, cost_ns);
    return rc;
}

uint64_t tree_poll_due_ns(const struct tree_poll *poll)
{
    return poll->due_ns;
}

const struct seen_list *tree_poll_seen(const struct tree_poll *poll)
{
    return &poll->seen;
}

const struct timeline *tree_poll_rows(const struct tree_poll *poll)
{
    return &poll->rows;
}

const struct memory_peak *tree_poll_memory_peak(const struct tree_poll *poll)
{
    return &poll->peak;
}

struct poll_cost tree_poll_cost(const struct tree_poll *poll)
{
    return poll->cost;
}
