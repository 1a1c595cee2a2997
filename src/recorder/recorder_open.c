/* recorder_open.c: how a recorder begins, goes over a fork, and ends. */
#include "recorder/flight.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "core/bytes.h"

static struct lam_recorder no_recorder = {.is_default = 1};
struct lam_recorder *default_recorder = &no_recorder;

/* Opening, and beginning in a child, are one at a time. Wiped on fork, like all locks. */
static uint32_t *open_lock;
static uint32_t last_generation; /* of recorders of the program's own */

static uint32_t *get_open_lock(void)
{
    uint32_t *lock = __atomic_load_n(&open_lock, __ATOMIC_ACQUIRE);
    if (lock)
        return lock;
    uint32_t *fresh = lexicon_wiped_memory(4096);
    if (!fresh)
        return NULL;
    if (__atomic_compare_exchange_n(&open_lock, &lock, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    sys_munmap(fresh, 4096);
    return lock;
}

/* ---- what the recording says about itself ---- */

void recorder_write_time(struct lam_recorder *rec, struct lane *lane)
{
    struct stream_rec_time record = {0};
    clock_read_three(rec->stream.use_counter, &record);
    struct stream_piece piece = {&record, sizeof record};
    lane_append(lane, STREAM_REC_TIME, 0, &piece, 1, record.ticks);
}

static void write_policy(struct lam_recorder *rec, struct lane *lane)
{
    struct stream_rec_policy record = {
        .ticks = rec->start_ticks,
        .threshold = rec->calls & LAM_CALLS_THRESHOLD ? rec->threshold : 0,
        .auto_bytes = rec->calls & LAM_CALLS_AUTO ? rec->auto_bytes : 0,
        .tree_bytes = rec->calls & (LAM_CALLS_TREE | LAM_CALLS_AUTO) ? rec->tree_bytes : 0,
        .one_in = rec->calls & LAM_CALLS_ONE_IN ? rec->one_in : 0,
    };
    struct stream_piece piece = {&record, sizeof record};
    lane_append(lane, STREAM_REC_POLICY, rec->calls, &piece, 1, record.ticks);
}

static void write_counters(struct lam_recorder *rec, struct lane *lane)
{
    static const struct {
        enum lam_counter bit;
        uint32_t measure;
        const char *name;
    } rows[] = {
        {LAM_COUNTER_CPU_TIME, STREAM_MEASURE_CPU_TIME, "cpu time"},
        {LAM_COUNTER_INSTRUCTIONS, STREAM_MEASURE_INSTRUCTIONS, "instructions"},
        {LAM_COUNTER_INSTRUCTIONS_MINUS_IRQS, STREAM_MEASURE_INSTRUCTIONS_MINUS_IRQS,
         "instructions minus irqs"},
        {LAM_COUNTER_CYCLES, STREAM_MEASURE_CYCLES, "cycles"},
    };
    uint32_t number = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!(rec->counters & rows[i].bit))
            continue;
        struct stream_rec_counter record = {
            .name = label_intern_id(rec, rows[i].name, bytes_length(rows[i].name)),
            .measure = rows[i].measure};
        struct stream_piece piece = {&record, sizeof record};
        lane_append(lane, STREAM_REC_COUNTER, ++number, &piece, 1, rec->start_ticks);
    }
}

static size_t put_text(char *out, const char *text)
{
    size_t length = bytes_length(text);
    __builtin_memcpy(out, text, length);
    return length;
}

static void write_settings(struct lam_recorder *rec, struct lane *lane)
{
    char text[sizeof rec->kinds_filter + 256];
    size_t at = put_text(text, "library=" LAM_VERSION "\nmax_bytes=");
    at += text_from_u64(text + at, rec->max_bytes);
    at += put_text(text + at, rec->mode == LAM_MODE_FLIGHT ? "\nmode=flight" : "\nmode=stop");
    at += put_text(text + at, "\nclock=");
    at += text_from_u64(text + at, rec->clock);
    at += put_text(text + at, "\ncounters=");
    at += text_from_u64(text + at, rec->counters);
    at += put_text(text + at, "\nkinds=");
    at += put_text(text + at, rec->kinds_filter);
    text[at++] = '\n';
    struct stream_rec_settings record = {.text_bytes = (uint32_t)at};
    struct stream_piece pieces[] = {{&record, sizeof record}, {text, at}};
    lane_append(lane, STREAM_REC_SETTINGS, 0, pieces, 2, rec->start_ticks);
}

static void write_opening(struct lam_recorder *rec, struct lane *lane, int is_child)
{
    recorder_write_time(rec, lane);
    session_write_process(rec, lane, is_child);
    write_settings(rec, lane);
    write_policy(rec, lane);
}

/* ---- the stream ---- */

static int code_of(int rc)
{
    switch (-rc) {
    case EACCES:
    case EPERM:
    case EROFS:
        return LAM_E_PERM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return LAM_E_FULL;
    case ENOMEM:
        return LAM_E_NOMEM;
    case EEXIST:
        return LAM_E_EXISTS;
    case ENOENT:
    case ENOTDIR:
        return LAM_E_NOTFOUND;
    case ENAMETOOLONG:
        return LAM_E_TOOBIG;
    default:
        return LAM_E_IO;
    }
}

static int begin_stream(struct lam_recorder *rec, int is_child)
{
    struct stream_rec_time now = {0};
    clock_read_three(rec->stream.use_counter, &now);
    rec->pid = (uint32_t)sys_getpid();
    rec->start_ticks = now.ticks;
    static struct stream_header header; /* one at a time */
    header = (struct stream_header){
        .byte_order = STREAM_BYTE_ORDER,
        .version_major = STREAM_VERSION_MAJOR,
        .version_minor = STREAM_VERSION_MINOR,
        .arch = STREAM_HOST_ARCH,
        .producer = STREAM_PRODUCER_LIBRARY,
        .clock = rec->stream.use_counter ? STREAM_CLOCK_TSC : STREAM_CLOCK_MONOTONIC,
        .flags = (is_child ? STREAM_FLAG_FORK : 0) |
                 (rec->mode == LAM_MODE_FLIGHT ? STREAM_FLAG_FLIGHT : 0),
        .tick_rate_hz = rec->tick_rate_hz,
        .start_ticks = now.ticks,
        .start_mono_ns = now.mono_ns,
        .start_wall_ns = now.wall_ns,
        .pid = rec->pid,
        .ppid = (uint32_t)sys_call0(SYS_getppid),
        .kernel_start = session_kernel_start(),
        .session_id = rec->session_id,
        .measure = (uint8_t)rec->measure,
    };
    int use_counter = rec->stream.use_counter;
    int rc = -EEXIST;
    for (uint32_t attempt = 0; rc == -EEXIST; attempt++) {
        if (!session_stream_name(rec, is_child, now.mono_ns + attempt, attempt))
            return LAM_E_EXISTS;
        rec->stream = (struct stream){.use_counter = use_counter};
        rc = stream_create(&rec->stream, AT_FDCWD, rec->path, &header, rec->max_bytes);
    }
    rec->stream.file.path = rec->path;
    rec->stream.use_counter = use_counter;
    return rc < 0 ? code_of(rc) : LAM_OK;
}

/* ---- a forked child ---- */

static int begin_child(struct lam_recorder *rec)
{
    struct live *live = rec->live;
    live->first_lane = __atomic_load_n(&rec->lane_numbers, __ATOMIC_RELAXED) + 1;
    stream_forget(&rec->stream);
    if (flight_init(rec) < 0 || begin_stream(rec, 1) < 0)
        return -1;
    struct lane *lane = lane_new(rec, recorder_generation(rec));
    if (!lane)
        return -1;
    write_opening(rec, lane, 1);
    labels_tell(lane);
    kinds_tell(lane);
    write_counters(rec, lane);
    return 0;
}

int recorder_begin_child(struct lam_recorder *rec)
{
    uint32_t *lock = get_open_lock();
    if (!lock)
        return -1;
    futex_lock(lock);
    struct live *live = rec->live;
    if (!live->alive && !live->failed) {
        if (begin_child(rec) == 0)
            __atomic_store_n(&live->alive, 1, __ATOMIC_RELEASE);
        else
            live->failed = 1;
    }
    int rc = live->alive ? 0 : -1;
    futex_unlock(lock);
    return rc;
}

/* ---- opening ---- */

/* Under `lamella record` the launcher chose the clock. */
static int read_control(struct lam_recorder *rec)
{
    char path[RECORDER_PATH_MAX + 16];
    size_t at = put_text(path, rec->directory);
    at += put_text(path + at, "/control");
    path[at] = 0;
    int fd = rec->directory[0] ? sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (fd < 0)
        return 0;
    static struct control_page page;
    long got = sys_pread(fd, &page, sizeof page, 0);
    sys_close(fd);
    if (got != (long)sizeof page || !bytes_equal(page.magic, CONTROL_MAGIC, 8) ||
        page.version != 1 || page.stop)
        return 0;
    rec->stream.use_counter = page.tsc_usable != 0;
    rec->tick_rate_hz = page.tick_rate_hz;
    rec->session_id = page.session_id;
    return 1;
}

static int choose_clock(struct lam_recorder *rec, uint32_t clock)
{
    static const uint32_t measures[] = {
        [LAM_CLOCK_CPU_TIME] = STREAM_MEASURE_CPU_TIME,
        [LAM_CLOCK_INSTRUCTIONS] = STREAM_MEASURE_INSTRUCTIONS,
        [LAM_CLOCK_INSTRUCTIONS_MINUS_IRQS] = STREAM_MEASURE_INSTRUCTIONS_MINUS_IRQS,
        [LAM_CLOCK_CYCLES] = STREAM_MEASURE_CYCLES,
    };
    if (clock > LAM_CLOCK_CYCLES)
        return LAM_E_INVAL;
    int is_invariant = clock == LAM_CLOCK_MONOTONIC ? 0 : clock_is_invariant();
    if (clock == LAM_CLOCK_TSC && !is_invariant)
        return open_error_set(LAM_E_UNSUPPORTED, "clock=tsc",
                              "this machine's counter does not run at one rate");
    rec->measure = measures[clock];
    rec->stream.use_counter = is_invariant;
    rec->clock = clock;
    rec->session_id = 0;
    rec->tick_rate_hz = 0;
    if (clock != LAM_CLOCK_MONOTONIC && clock != LAM_CLOCK_TSC)
        read_control(rec);
    if (clock == LAM_CLOCK_AUTO || clock == LAM_CLOCK_TSC)
        rec->clock = rec->stream.use_counter ? 0 : (uint32_t)LAM_CLOCK_MONOTONIC;
    if (!rec->tick_rate_hz)
        rec->tick_rate_hz = rec->stream.use_counter ? clock_counter_rate() : 1000000000u;
    rec->time_every = rec->tick_rate_hz;
    return LAM_OK;
}

static int take_options(struct lam_recorder *rec, const struct lam_options *options)
{
    const char *kinds = options->kinds ? options->kinds : "";
    size_t length = bytes_length(kinds);
    const char *fault = options_fault(options);
    if (fault)
        return open_error_set(LAM_E_INVAL, "options", fault);
    __builtin_memcpy(rec->kinds_filter, kinds, length + 1);
    rec->wants_names = filter_passes(kinds, "keys") || !text_find(kinds, "-keys");
    rec->wants_args = filter_passes(kinds, "args") || !text_find(kinds, "-args");
    rec->max_bytes = options->max_bytes;
    rec->mode = options->mode;
    rec->calls = options->calls;
    int is_thinned = (options->calls & (LAM_CALLS_ONE_IN | LAM_CALLS_THRESHOLD)) &&
                     options->max_bytes && options->mode == LAM_MODE_STOP &&
                     !(options->calls & (LAM_CALLS_TREE | LAM_CALLS_AUTO));
    /* However few calls are stored: a program can run for longer. */
    if (is_thinned)
        rec->calls |= LAM_CALLS_AUTO;
    rec->one_in = options->one_in ? options->one_in : 64;
    rec->tree_bytes = options->tree_bytes ? options->tree_bytes : 4u << 20;
    if (options->mode == LAM_MODE_FLIGHT && rec->tree_bytes > options->max_bytes / 4)
        rec->tree_bytes = options->max_bytes / 4;
    rec->auto_bytes = options->auto_bytes  ? options->auto_bytes
                      : is_thinned         ? options->max_bytes / 4 * 3
                      : options->max_bytes ? options->max_bytes / 2
                                           : 64u << 20;
    enum lam_counter list[4];
    rec->counters = options->counters;
    rec->counter_count = counters_list(options->counters, list);
    int rc = counters_probe(options->clock, options->counters);
    if (rc == LAM_E_PERM)
        open_error_set(rc, "hardware counters",
                       "not permitted: see kernel.perf_event_paranoid, or the container's filter");
    else if (rc < 0)
        open_error_set(rc, "hardware counters", "this machine does not have what is asked for");
    return rc;
}

static int prepare(struct lam_recorder *rec, const struct lam_options *options)
{
    const char *path = options->path ? options->path : secure_getenv("LAMELLA_OUT");
    if (!path || !*path)
        return open_error_set(LAM_E_NOTFOUND, "liblamella",
                              "no path is given, and LAMELLA_OUT is not set");
    if (options->size < offsetof(struct lam_options, reserved))
        return LAM_E_INVAL;
    int rc = take_options(rec, options);
    if (rc < 0)
        return rc;
    rec->pid = (uint32_t)sys_getpid();
    /* The directory first, for its control page; its session.json needs the clock. */
    if ((rc = session_find(rec, path)) < 0 || (rc = choose_clock(rec, options->clock)) < 0 ||
        (rc = session_prepare(rec)) < 0)
        return rc;
    /* What threads count cannot be compared: where a track goes from one to another, only the recorder can tell how long was what is
     * open in it. So every call and interval is measured, as with one in N (which leaves no room for counters of calls). */
    if (rec->measure != STREAM_MEASURE_TICKS && !rec->calls && !rec->counters) {
        rec->calls = LAM_CALLS_ONE_IN;
        rec->one_in = 1;
    }
    uint64_t threshold = options->threshold_ns;
    rec->threshold = rec->measure == STREAM_MEASURE_TICKS && rec->stream.use_counter
                         ? (uint64_t)((double)threshold * (double)rec->tick_rate_hz / 1e9)
                         : threshold;
    return LAM_OK;
}

static int begin(struct lam_recorder *rec, uint32_t generation)
{
    if (!rec->live)
        rec->live = lexicon_wiped_memory(sizeof *rec->live);
    if (!rec->lexicon)
        rec->lexicon = lexicon_new();
    if (!rec->live || !rec->lexicon)
        return LAM_E_NOMEM;
    rec->live->first_lane = __atomic_load_n(&rec->lane_numbers, __ATOMIC_RELAXED) + 1;
    int rc;
    if ((rc = flight_init(rec)) < 0 || (rc = lane_init_threads()) < 0 ||
        (rc = begin_stream(rec, 0)) < 0)
        return rc;
    rec->live->alive = 1;
    /* release: who sees the generation sees the recorder. */
    __atomic_store_n(&rec->generation, generation, __ATOMIC_RELEASE);
    struct lane *lane = lane_attach(rec);
    if (!lane) {
        __atomic_store_n(&rec->generation, 0, __ATOMIC_RELEASE);
        stream_forget(&rec->stream);
        return LAM_E_NOMEM;
    }
    uint64_t signals = signals_block();
    write_opening(rec, lane, 0);
    /* A recorder that was open before: its labels and kinds keep their numbers. */
    labels_tell(lane);
    kinds_tell(lane);
    signals_restore(signals);
    write_counters(rec, lane);
    rec->names_kind = kind_intern(rec, "Lamella", 0);
    rec->names_kind = rec->names_kind == KIND_FAILED ? 0 : rec->names_kind;
    rec->names_label = label_intern_id(rec, "name ids", 8);
    rec->call_kind = kind_intern(rec, "Call", STREAM_KIND_CALL);
    rec->call_kind = rec->call_kind == KIND_FAILED ? 0 : rec->call_kind;
    return LAM_OK;
}

static int open_recorder(struct lam_recorder *rec, const struct lam_options *options,
                         uint32_t generation)
{
    int rc = prepare(rec, options);
    if (rc >= 0) {
        thread_state.opening = 1;
        rc = begin(rec, generation);
        thread_state.opening = 0;
    }
    return open_error_keep(rc, options->path ? options->path : secure_getenv("LAMELLA_OUT"));
}

static struct lam_recorder *new_recorder(void)
{
    struct lam_recorder *rec =
        sys_mmap(NULL, sizeof *rec, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return sys_is_error(rec) ? NULL : rec;
}

static struct lam_recorder *next_default; /* what was not opened for an error is tried again */

static struct lam_recorder *get_next_default(void)
{
    if (!next_default && (next_default = new_recorder()))
        next_default->is_default = 1;
    return next_default;
}

/* Each time another recorder: threads that still write for the last one, or hold its lanes, do not notice. */
static int open_default(const struct lam_options *options)
{
    static uint32_t opened; /* 16 bits of call sites' caches: 65,535 times */
    struct lam_recorder *last = default_recorder, *next = get_next_default();
    if (__atomic_load_n(&lam_on, __ATOMIC_RELAXED))
        return open_error_set(LAM_E_BUSY, last->path,
                              "the default recorder is open, and records there");
    if (opened >= 65535)
        return open_error_set(LAM_E_TOOBIG, "liblamella", "opened 65,535 times already");
    if (!next)
        return open_error_keep(LAM_E_NOMEM, NULL);
    next->lexicon = last->lexicon;
    next->lane_numbers =
        __atomic_load_n(&last->lane_numbers,
                        __ATOMIC_RELAXED); /* so that handles of the last one are known as such */
    /* release: pairs with recorder_of(). Opening itself records by that name. */
    __atomic_store_n(&default_recorder, next, __ATOMIC_RELEASE);
    int rc = open_recorder(next, options, opened + 1);
    if (rc < 0) {
        __atomic_store_n(&default_recorder, last, __ATOMIC_RELEASE);
        return rc;
    }
    next_default = NULL;
    __atomic_store_n(&lam_on, ++opened, __ATOMIC_RELEASE);
    return LAM_OK;
}

/* The options that the environment says. */
static int read_environment(struct lam_options *options)
{
    char why[256];
    const char *text = secure_getenv("LAMELLA_OPTIONS");
    lam_options_init(options);
    if (!text || lam_options_parse(options, text) == LAM_OK)
        return LAM_OK;
    lam_options_explain(text, why, sizeof why);
    return open_error_set(LAM_E_INVAL, "LAMELLA_OPTIONS", why);
}

/* The environment asked for a recording that could not be begun: whoever looks there finds why. Once a process. */
static void tell_refusal(int code)
{
    static uint32_t told_pid;
    struct lam_recorder *rec = get_next_default();
    const char *path = secure_getenv("LAMELLA_OUT");
    if (code == LAM_E_BUSY || code == LAM_E_TOOBIG || !rec || !path || !*path ||
        told_pid == (uint32_t)sys_getpid())
        return;
    rec->pid = told_pid = (uint32_t)sys_getpid();
    if (session_find(rec, path) < 0 || choose_clock(rec, LAM_CLOCK_AUTO) < 0 ||
        session_prepare(rec) < 0)
        return;
    rec->max_bytes = 0;
    rec->mode = LAM_MODE_STOP;
    if (begin_stream(rec, 0) == LAM_OK)
        open_error_tell(rec, code);
}

int lam_open(const struct lam_options *options)
{
    struct lam_options own;
    uint32_t *lock = get_open_lock();
    if (!lock)
        return LAM_E_NOMEM;
    futex_lock(lock);
    open_error_clear();
    int rc = options ? LAM_OK : read_environment(&own);
    if (rc == LAM_OK)
        rc = open_default(options ? options : &own);
    if (rc < 0 && !options)
        tell_refusal(rc);
    futex_unlock(lock);
    return rc;
}

static void close_recorder(struct lam_recorder *rec)
{
    /* In a forked child that never recorded there is nothing of its own to end. */
    if (rec->live->alive) {
        struct lane *lane = lane_of(rec->is_default ? LAM_DEFAULT : rec);
        uint64_t signals = signals_block();
        if (lane)
            recorder_write_time(rec, lane);
        signals_restore(signals);
        lane_detach(rec);
    }
    if (rec->is_default)
        __atomic_store_n(&lam_on, 0, __ATOMIC_RELEASE);
    /* The header stays mapped, as others may count in it. The generation under the lock: no lane is taken afterwards. */
    struct live *live = rec->live;
    uint64_t signals = signals_block();
    futex_lock(&live->lock);
    __atomic_store_n(&rec->generation, 0, __ATOMIC_RELEASE);
    live->closed_fd = rec->stream.file.fd + 1;
    lane_close_file(live);
    futex_unlock(&live->lock);
    signals_restore(signals);
}

void lam_close(void)
{
    uint32_t *lock = get_open_lock();
    if (!lock)
        return;
    futex_lock(lock);
    if (__atomic_load_n(&lam_on, __ATOMIC_RELAXED))
        close_recorder(default_recorder);
    futex_unlock(lock);
}

int lam_recorder_open(struct lam_recorder **out, const struct lam_options *options)
{
    if (!out || !options || !options->path)
        return LAM_E_INVAL;
    uint32_t *lock = get_open_lock();
    if (!lock)
        return LAM_E_NOMEM;
    struct lam_recorder *rec = new_recorder();
    if (!rec)
        return LAM_E_NOMEM;
    futex_lock(lock);
    open_error_clear();
    int rc = open_recorder(rec, options, ++last_generation ? last_generation : ++last_generation);
    futex_unlock(lock);
    if (rc < 0) {
        sys_munmap(rec, sizeof *rec);
        return rc;
    }
    *out = rec;
    return LAM_OK;
}

void lam_recorder_close(struct lam_recorder **rec)
{
    uint32_t *lock = get_open_lock();
    if (!rec || !*rec || !lock)
        return;
    futex_lock(lock);
    if (recorder_generation(*rec))
        close_recorder(*rec);
    futex_unlock(lock);
    *rec = NULL;
}

int lam_recorder_stats(struct lam_recorder *rec, struct lam_stats *stats)
{
    if (!stats || stats->size < sizeof *stats)
        return LAM_E_INVAL;
    if (lam_is_off(rec))
        return LAM_E_CLOSED;
    rec = recorder_of(rec);
    struct stream_header *header = rec->stream.header;
    if (!recorder_generation(rec) || !header || !rec->live->alive)
        return LAM_E_CLOSED;
    uint64_t lost = 0;
    for (int i = 0; i < STREAM_LOSS_KINDS; i++)
        lost += __atomic_load_n(&header->lost[i], __ATOMIC_RELAXED);
    uint64_t counts[STREAM_COUNT_KINDS];
    for (int i = 0; i < STREAM_COUNT_KINDS; i++)
        counts[i] = __atomic_load_n(&header->counts[i], __ATOMIC_RELAXED);
    *stats = (struct lam_stats){
        .size = sizeof *stats,
        .file_bytes = __atomic_load_n(&header->next_offset, __ATOMIC_RELAXED),
        .lost_events = lost,
        .clamped_times = counts[STREAM_COUNT_CLAMPED_TIMES],
        .unbalanced_exits = counts[STREAM_COUNT_UNBALANCED_EXITS],
        .refused_ends = counts[STREAM_COUNT_REPEATED_ENDS] + counts[STREAM_COUNT_FOREIGN_ENDS],
        .recycled_pages = counts[STREAM_COUNT_RECYCLED_PAGES],
        .untold_calls = counts[STREAM_COUNT_UNTOLD_CALLS],
        .labels = __atomic_load_n(&rec->lexicon->next_label, __ATOMIC_RELAXED),
        .lanes = __atomic_load_n(&rec->live->most_lanes, __ATOMIC_RELAXED),
    };
    return LAM_OK;
}

/* ---- the environment ---- */

/* Nothing happens unless the environment names a recording. Early (101 is the first number that is free), so that constructors
 * of C++ are recorded. */
__attribute__((constructor(101))) static void open_by_environment(void)
{
    if (getauxval(AT_SECURE))
        return;
    const char *path = getenv("LAMELLA_OUT");
    if (path && *path)
        (void)lam_open(NULL);
}

/* Late: the recorder stays open, for what others do after this. */
__attribute__((destructor(101))) static void tell_end(void)
{
    struct lam_recorder *rec = recorder_of(LAM_DEFAULT);
    if (!__atomic_load_n(&lam_on, __ATOMIC_RELAXED) || !rec->live->alive)
        return;
    struct lane *lane = lane_of(LAM_DEFAULT);
    if (!lane)
        return;
    uint64_t signals = signals_block();
    if (!lane->changing) {
        calls_tell(lane);
        recorder_write_time(rec, lane);
        session_write_end(rec, lane);
    }
    signals_restore(signals);
}
