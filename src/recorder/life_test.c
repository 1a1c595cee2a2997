/* ctest: TIMEOUT 900 */
/* Threads that come and go, forks of all sorts, signals in the middle, budgets, clocks that jump. */
#include "lamella/lamella.h"
#include "recorder/recorder_state.h"
#include "recorder/recording_test.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* A clock of the test's own, in front of libc's: the library reads it when it is opened with clock=monotonic. */
static uint64_t fake_ns;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    uint64_t fake = __atomic_load_n(&fake_ns, __ATOMIC_RELAXED);
    if (fake && clock == CLOCK_MONOTONIC) {
        ts->tv_sec = (time_t)(fake / 1000000000u);
        ts->tv_nsec = (long)(fake % 1000000000u);
        return 0;
    }
    long rc = syscall(SYS_clock_gettime, clock, ts);
    return (int)rc;
}

static void begin_at(const char *where, const char *text)
{
    struct lam_options options;
    lam_options_init(&options);
    assert_int_equal(lam_options_parse(&options, text), LAM_OK);
    options.path = where;
    assert_int_equal(lam_open(&options), LAM_OK);
}

/* ---- threads ---- */

static void *one_event(void *arg)
{
    (void)arg;
    LAM_SCOPE("short life");
    return NULL;
}

static void threads_share_pages(void **state)
{
    (void)state;
    begin_with("");
    enum { THREADS = 3000 };
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, one_event, NULL), 0);
        pthread_join(thread, NULL);
    }
    struct lam_stats stats = {.size = sizeof stats};
    lam_recorder_stats(LAM_DEFAULT, &stats);
    assert_int_equal(stats.lanes, 2);
    finish();
    assert_true(in.pages[STREAM_PAGE_EVENTS] < 12);
    char *seen = calloc(THREADS + 2, 1);
    size_t events = 0;
    for (size_t i = 0; i < in.count; i++)
        if (in.events[i].code >= 32) {
            assert_in_range(in.events[i].thread, 2, THREADS + 1);
            assert_int_equal(seen[in.events[i].thread]++, 0);
            assert_true(in.events[i].end != 0);
            events++;
        }
    free(seen);
    assert_int_equal(events, THREADS);
    assert_non_null(decoded_record(&in, STREAM_REC_THREAD, THREADS + 1, 0));
    assert_non_null(decoded_record(&in, STREAM_REC_THREAD_END, THREADS + 1, 0));
    end();
}

enum { WRITERS = 8, EVENTS = 20000 };

static void *write_many(void *arg)
{
    char name[32];
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Work");
    snprintf(name, sizeof name, "writer %d", (int)(intptr_t)arg);
    struct lam_label own = label(name);
    for (int i = 0; i < EVENTS; i++) {
        lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, own));
        if (i % 100 == 0) {
            snprintf(name, sizeof name, "shared %d", i);
            label(name);
        }
    }
    return NULL;
}

static void threads_at_once(void **state)
{
    (void)state;
    begin_with("");
    pthread_t threads[WRITERS];
    for (intptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)i), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    finish();
    size_t counts[WRITERS] = {0};
    uint32_t ids[WRITERS] = {0};
    for (int i = 0; i < WRITERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "writer %d", i);
        struct decoded_event *first = decoded_find(&in, name, 0);
        assert_non_null(first);
        ids[i] = first->id;
    }
    for (size_t i = 0; i < in.count; i++)
        for (int k = 0; k < WRITERS; k++)
            counts[k] += in.events[i].code >= 32 && in.events[i].id == ids[k] && in.events[i].end;
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(counts[i], EVENTS);
    end();
}

/* ---- signals ---- */

static struct lam_label struck_label;
static struct lam_kind struck_kind;
static uint32_t struck; /* atomic */

static void strike(int number)
{
    (void)number;
    int error = errno;
    struct lam_handle handle = lam_begin(LAM_DEFAULT, struck_kind, struck_label);
    lam_instant(LAM_DEFAULT, struck_kind, struck_label);
    if (lam_end(LAM_DEFAULT, handle) == LAM_OK)
        __atomic_fetch_add(&struck, 1, __ATOMIC_RELAXED); /* another one may come in between */
    errno = error;
}

/* `handler` from now on, all the time. flags: SA_NODEFER: also in the middle of itself. */
static timer_t strikes_begin(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | flags};
    sigaction(SIGALRM, &action, NULL);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    const long every_ns =
        1000000; /* a sanitizer's own handling of a signal takes longer than the event */
#else
    const long every_ns = 20000;
#endif
    struct itimerspec period = {{0, every_ns}, {0, every_ns}};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    timer_settime(timer, 0, &period, NULL);
    return timer;
}

static void strikes_end(timer_t timer)
{
    timer_delete(timer);
    signal(SIGALRM, SIG_IGN);
}

static void handlers_in_the_middle(void **state)
{
    (void)state;
    begin_with("");
    struck_kind = lam_kind_intern(LAM_DEFAULT, "Signal");
    struck_label = label("handler");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Work");
    struct lam_label work = label("interrupted");
    timer_t timer = strikes_begin(strike, SA_NODEFER);
    uint32_t done = 0;
    for (; done < 300000 || (__atomic_load_n(&struck, __ATOMIC_RELAXED) < 100 && done < 1000000);
         done++)
        lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, work));
    strikes_end(timer);
    finish();
    uint64_t last = 0;
    uint32_t works = 0, handlers = 0, points = 0;
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *ev = &in.events[i];
        assert_true(ev->start >= last);
        last = ev->start;
        if (ev->code < 32)
            continue;
        const struct stream_rec_kind *of = decoded_kind(&in, ev->code);
        if (ev->id == work.id) {
            works++;
            assert_true(ev->end >= ev->start);
        } else if (ev->id == struck_label.id && of->flags & STREAM_KIND_INSTANT) {
            points++;
        } else if (ev->id == struck_label.id) {
            handlers++;
            assert_true(ev->end >= ev->start);
        }
    }
    assert_int_equal(works, done);
    assert_int_equal(handlers, struck);
    assert_int_equal(points, struck);
    end();
}

static struct lam_track main_track, struck_track; /* main_track: that the test runs, or is about to */

static void strike_elsewhere(int number)
{
    struct lam_track back = {__atomic_load_n(&main_track.id, __ATOMIC_RELAXED)};
    lam_track_switch(LAM_DEFAULT, struck_track);
    strike(number);
    lam_track_switch(LAM_DEFAULT, back);
}

/* Where calls are folded a switch is told with the next event: wherever a handler comes that switches itself, each event is told of
 * its own track. */
static void handlers_that_switch(void **state)
{
    (void)state;
    begin_with("calls=one_in:100,max_bytes=100M");
    struck = 0;
    struck_kind = lam_kind_intern(LAM_DEFAULT, "Signal");
    struck_label = label("elsewhere");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Work");
    struct lam_label works[2] = {label("one"), label("two")}, call = label("call");
    struct lam_track tracks[2];
    for (int i = 0; i < 2; i++)
        tracks[i] = lam_track_create(LAM_DEFAULT, works[i]);
    struck_track = lam_track_create(LAM_DEFAULT, struck_label);
    timer_t timer = strikes_begin(strike_elsewhere, 0);
    uint32_t done = 0;
    for (; done < 100000 || (__atomic_load_n(&struck, __ATOMIC_RELAXED) < 100 && done < 1000000);
         done++) {
        __atomic_store_n(&main_track.id, tracks[done % 2].id, __ATOMIC_RELAXED);
        lam_track_switch(LAM_DEFAULT, tracks[done % 2]);
        lam_call_enter(LAM_DEFAULT, call);
        lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, works[done % 2]));
        lam_call_exit(LAM_DEFAULT, call);
    }
    strikes_end(timer);
    finish();
    uint32_t seen[3] = {0};
    const uint32_t ids[3] = {works[0].id, works[1].id, struck_label.id};
    const uint32_t of[3] = {tracks[0].id, tracks[1].id, struck_track.id};
    for (size_t i = 0; i < in.count; i++)
        for (int k = 0; k < 3; k++)
            if (in.events[i].code >= 32 && in.events[i].id == ids[k]) {
                assert_int_equal(in.events[i].track, of[k]);
                seen[k]++;
            }
    assert_int_equal(seen[0] + seen[1], done);
    assert_int_equal(seen[2], 2 * struck); /* an interval and a point each */
    end();
}

/* ---- forks ---- */

static int by_fork(void)
{
    return fork();
}

static int by_clone(void)
{
    return (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void count_streams(const char *dir, int *streams, char child[static 512], const char *parents)
{
    DIR *list = opendir(dir);
    assert_non_null(list);
    *streams = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (!strstr(entry->d_name, ".lam"))
            continue;
        ++*streams;
        if (!strstr(entry->d_name, parents))
            snprintf(child, 512, "%s/%s", dir, entry->d_name);
    }
    closedir(list);
}

static void remove_directory(const char *dir)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

static void check_fork(int (*make_child)(void), int records, int how)
{
    char dir[96], child_file[512] = "", parents[32];
    strcpy(dir, scratch_file(".lamella"));
    begin_at(dir, "");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Fork");
    struct lam_label named_before = label("named before");
    struct lam_handle outer = lam_begin(LAM_DEFAULT, kind, label("outer"));
    int child = make_child();
    assert_true(child >= 0);
    if (child == 0) {
        if (records) {
            struct lam_handle c = lam_begin(LAM_DEFAULT, kind, named_before);
            if (lam_end(LAM_DEFAULT, outer) != LAM_E_INVAL)
                _exit(3);
            lam_end(LAM_DEFAULT, c);
            LAM_SCOPE("named in the child");
        }
        if (how == SIGKILL)
            raise(SIGKILL);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (how == SIGKILL)
        assert_true(WIFSIGNALED(status));
    else
        assert_int_equal(status, 0);
    lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, label("p")));
    lam_end(LAM_DEFAULT, outer);
    lam_close();
    int streams;
    snprintf(parents, sizeof parents, "-%d.lam", (int)getpid());
    count_streams(dir, &streams, child_file, parents);
    assert_int_equal(streams, 1 + records);
    if (records) {
        decode(&in, child_file);
        assert_int_equal(in.header->flags, STREAM_FLAG_FORK);
        assert_int_equal(in.header->pid, child);
        assert_null(decoded_find(&in, "outer", 0));
        assert_null(decoded_find(&in, "p", 0));
        assert_true(decoded_find(&in, "named before", 0)->end != 0);
        assert_null(decoded_find(&in, "named before", 1));
        assert_non_null(decoded_find(&in, "named in the child", 0));
        assert_int_equal(in.header->counts[STREAM_COUNT_FOREIGN_ENDS], 1);
        decoded_free(&in);
    }
    DIR *list = opendir(dir);
    for (struct dirent *entry; (entry = readdir(list));)
        if (strstr(entry->d_name, parents)) {
            snprintf(child_file, sizeof child_file, "%s/%s", dir, entry->d_name);
            decode(&in, child_file);
        }
    closedir(list);
    assert_true(decoded_find(&in, "outer", 0)->end != 0);
    assert_null(decoded_find(&in, "outer", 1));
    assert_true(decoded_find(&in, "p", 0)->end != 0);
    assert_null(decoded_find(&in, "named before", 0));
    decoded_free(&in);
    strcat(dir, "/session.json");
    assert_int_equal(access(dir, R_OK), 0);
    *strrchr(dir, '/') = 0;
    remove_directory(dir);
}

static void forks(void **state)
{
    (void)state;
    check_fork(by_fork, 1, 0);
    check_fork(by_fork, 0, 0);
    check_fork(by_fork, 1, SIGKILL);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    check_fork(by_clone, 1, 0); /* past the sanitizers' own hooks */
    check_fork(_Fork, 1, 0);
#else
    (void)by_clone;
#endif
}

static int go_on;

static void *record_on(void *arg)
{
    char name[32];
    for (unsigned i = 0; __atomic_load_n(&go_on, __ATOMIC_RELAXED); i++) {
        LAM_SCOPE("background");
        snprintf(name, sizeof name, "label %u of %d", i % 300, (int)(intptr_t)arg);
        label(name);
        if (i % 64 == 0)
            usleep(500);
    }
    return NULL;
}

/* Locks held by other threads at the time of the fork must not stop the child. */
static void forks_among_threads(void **state)
{
    (void)state;
    begin_with("");
    pthread_t threads[3];
    __atomic_store_n(&go_on, 1, __ATOMIC_RELAXED);
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, record_on, (void *)i);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0) {
            LAM_SCOPE("in the child");
            char name[32];
            for (int k = 0; k < 100; k++) {
                snprintf(name, sizeof name, "child %d %d", i, k);
                label(name);
            }
            _exit(lam_label_intern(LAM_DEFAULT, name, 5).id == 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
        char file[128];
        snprintf(file, sizeof file, "%.*s-%d.lam", (int)strlen(path) - 4, path, (int)child);
        decode(&in, file);
        assert_non_null(decoded_find(&in, "in the child", 0));
        decoded_free(&in);
        unlink(file);
    }
    __atomic_store_n(&go_on, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    finish();
    end();
}

/* ---- budgets ---- */

static void stops_at_the_budget(void **state)
{
    (void)state;
    begin_with("max_bytes=256K");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_label some = label("some");
    uint32_t kept = 0, refused = 0;
    struct lam_handle first = lam_begin(LAM_DEFAULT, kind, label("first"));
    for (int i = 0; i < 50000; i++) {
        struct lam_handle handle = lam_begin(LAM_DEFAULT, kind, some);
        kept += handle.ref != 0;
        refused += handle.ref == 0;
        lam_end(LAM_DEFAULT, handle);
    }
    assert_true(kept > 1000 && refused > 10000);
    assert_int_equal(lam_instant(LAM_DEFAULT, kind, some), LAM_E_FULL);
    assert_int_equal(lam_end(LAM_DEFAULT, first), LAM_E_FULL);
    assert_true(label("still named").id != 0);
    finish();
    assert_true(in.size <= 256 << 10);
    assert_int_equal(in.header->lost[STREAM_LOSS_FILE_LIMIT], refused + 2);
    uint32_t found = 0;
    for (size_t i = 0; i < in.count; i++)
        found += in.events[i].id == some.id && in.events[i].code >= 32;
    assert_int_equal(found, kept);
    end();
}

static void stops_at_the_file_limit(void **state)
{
    (void)state;
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    begin_with("");
    limit = before;
    limit.rlim_cur = 512 << 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    int refused = 0;
    for (int i = 0; i < 50000; i++)
        refused += lam_instant(LAM_DEFAULT, kind, (struct lam_label){1}) == LAM_E_FULL;
    setrlimit(RLIMIT_FSIZE, &before);
    finish();
    assert_true(refused > 1000);
    assert_int_equal(in.header->lost[STREAM_LOSS_FILE_LIMIT], refused);
    assert_true(in.size <= 512 << 10);
    end();
}

static void flight_keeps_the_newest(void **state)
{
    (void)state;
    begin_with("max_bytes=2M,mode=flight");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    char name[32];
    struct lam_handle old = lam_begin(LAM_DEFAULT, kind, label("old"));
    for (int i = 0; i < 1000000; i++)
        lam_integer(LAM_DEFAULT, kind, (struct lam_label){1}, (uint64_t)i);
    snprintf(name, sizeof name, "newest");
    lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, label(name)));
    assert_int_equal(lam_end(LAM_DEFAULT, old), LAM_OK);
    finish();
    assert_true(in.header->flags & STREAM_FLAG_FLIGHT);
    assert_true(in.size <= 2 << 20);
    assert_true(in.header->counts[STREAM_COUNT_RECYCLED_PAGES] > 30);
    assert_null(decoded_find(&in, "old", 0));
    assert_non_null(decoded_find(&in, "newest", 0));
    /* What is left is the end of the row, without a gap. */
    uint64_t expected = 0;
    for (size_t i = 0; i < in.count; i++) {
        if (in.events[i].id != 1 || in.events[i].code < 32)
            continue;
        if (expected)
            assert_int_equal(in.events[i].payload, expected);
        expected = in.events[i].payload + 1;
    }
    assert_int_equal(expected, 1000000);
    assert_true(in.count > 40000);
    end();
}

/* A file beyond 4 GiB, most of it a hole. */
static void offsets_of_more_than_32_bits(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    const uint64_t far_away = 5ull << 30;
    __atomic_fetch_add(&default_recorder->stream.header->next_offset, far_away, __ATOMIC_RELAXED);
    struct lam_handle outer = lam_begin(LAM_DEFAULT, kind, (struct lam_label){1});
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(lam_integer(LAM_DEFAULT, kind, (struct lam_label){1}, i), LAM_OK);
    assert_int_equal(lam_end(LAM_DEFAULT, outer), LAM_OK);
    lam_close();
    int fd = open(path, O_RDONLY);
    struct stat st;
    fstat(fd, &st);
    assert_true((uint64_t)st.st_size > far_away && st.st_blocks * 512 < 16 << 20);
    uint32_t pages = 0;
    for (uint64_t at = far_away; at < (uint64_t)st.st_size; at += 4096) {
        struct stream_page page;
        assert_int_equal(pread(fd, &page, sizeof page, (off_t)at), sizeof page);
        pages += page.magic == STREAM_PAGE_MAGIC && page.self_offset == at;
    }
    close(fd);
    assert_true(pages > 7);
    unlink(path);
}

/* ---- clocks ---- */

static void a_hundred_days_of_uptime(void **state)
{
    (void)state;
    const uint64_t day = 24ull * 3600 * 1000000000u;
    __atomic_store_n(&fake_ns, 100 * day + 7, __ATOMIC_RELAXED);
    begin_with("clock=monotonic");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_handle whole = lam_begin(LAM_DEFAULT, kind, label("whole"));
    lam_instant(LAM_DEFAULT, kind, label("at first"));
    fake_ns += 1ull << 39;
    lam_instant(LAM_DEFAULT, kind, label("same base"));
    struct lam_handle base = lam_begin(LAM_DEFAULT, kind, label("long"));
    fake_ns += 3 * day;
    lam_instant(LAM_DEFAULT, kind, label("days later"));
    lam_end(LAM_DEFAULT, base);
    fake_ns -= 1000000;
    lam_instant(LAM_DEFAULT, kind, label("a step back"));
    struct lam_handle backward = lam_begin(LAM_DEFAULT, kind, label("backward"));
    fake_ns -= 1000000;
    assert_int_equal(lam_end(LAM_DEFAULT, backward), LAM_OK);
    lam_end(LAM_DEFAULT, whole);
    finish();
    const uint64_t begun = 100 * day + 7;
    assert_true(decoded_find(&in, "at first", 0)->start == begun);
    assert_true(decoded_find(&in, "same base", 0)->start == begun + (1ull << 39));
    struct decoded_event *later = decoded_find(&in, "days later", 0);
    assert_true(later->start == begun + (1ull << 39) + 3 * day);
    assert_int_equal(later->sequence, 0); /* a new base, not a new page */
    struct decoded_event *interval = decoded_find(&in, "long", 0);
    assert_true(interval->end - interval->start == 3 * day);
    assert_true(decoded_find(&in, "backward", 0)->end == decoded_find(&in, "backward", 0)->start);
    assert_true(in.header->counts[STREAM_COUNT_CLAMPED_TIMES] >= 2);
    assert_true(decoded_find(&in, "whole", 0)->end > begun + 3 * day);
    end();
    __atomic_store_n(&fake_ns, 0, __ATOMIC_RELAXED);
}

/* An interval too long for its slot's 48 bits. */
static void longer_than_a_slot_can_tell(void **state)
{
    (void)state;
    __atomic_store_n(&fake_ns, 1000, __ATOMIC_RELAXED);
    begin_with("clock=monotonic");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_handle handle = lam_begin(LAM_DEFAULT, kind, label("four days"));
    fake_ns += 1ull << 48;
    assert_int_equal(lam_end(LAM_DEFAULT, handle), LAM_OK);
    finish();
    struct decoded_event *event = decoded_find(&in, "four days", 0);
    assert_true(event->ended_elsewhere && event->end - event->start == 1ull << 48);
    end();
    __atomic_store_n(&fake_ns, 0, __ATOMIC_RELAXED);
}

static void *burn(void *arg)
{
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_handle handle = lam_begin(LAM_DEFAULT, kind, label(arg));
    for (volatile int i = 0; i < 1000000; i++)
        continue;
    lam_end(LAM_DEFAULT, handle);
    return NULL;
}

static void cpu_time_and_counters(void **state)
{
    (void)state;
    begin_with("clock=cpu,counters=cpu");
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, burn, "burn");
        pthread_join(thread, NULL);
    }
    struct lam_handle idle = lam_begin(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "A"), label("idle"));
    usleep(50000);
    lam_end(LAM_DEFAULT, idle);
    finish();
    assert_int_equal(in.header->measure, STREAM_MEASURE_CPU_TIME);
    assert_non_null(decoded_record(&in, STREAM_REC_COUNTER, 1, 0));
    for (unsigned i = 0; i < 3; i++) {
        struct decoded_event *event = decoded_find(&in, "burn", i);
        assert_non_null(event);
        assert_true(event->end > event->start);
        assert_int_equal(event->more_count, 1);
        assert_int_equal(event->more[0].head >> 40 & 1, 1);
        assert_true(event->more[0].rest <= event->end - event->start + 10000000);
    }
    struct decoded_event *event = decoded_find(&in, "idle", 0);
    assert_true(event->end - event->start < 40000000);
    end();
}

static void counters_that_are_not_there(void **state)
{
    (void)state;
    struct lam_options options;
    lam_options_init(&options);
    strcpy(path, scratch_file(".lam"));
    options.path = path;
    options.clock = LAM_CLOCK_INSTRUCTIONS;
    int rc = lam_open(&options);
    if (rc == LAM_OK) {
        /* This machine has them: then they count. */
        burn("counted");
        finish();
        struct decoded_event *event = decoded_find(&in, "counted", 0);
        assert_true(event->end - event->start > 1000000);
        end();
        return;
    }
    assert_true(rc == LAM_E_UNSUPPORTED || rc == LAM_E_PERM);
    assert_int_equal(lam_on, 0);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_pages),
        cmocka_unit_test(threads_at_once),
        cmocka_unit_test(handlers_in_the_middle),
        cmocka_unit_test(handlers_that_switch),
        cmocka_unit_test(forks),
        cmocka_unit_test(forks_among_threads),
        cmocka_unit_test(stops_at_the_budget),
        cmocka_unit_test(stops_at_the_file_limit),
        cmocka_unit_test(flight_keeps_the_newest),
        cmocka_unit_test(offsets_of_more_than_32_bits),
        cmocka_unit_test(a_hundred_days_of_uptime),
        cmocka_unit_test(longer_than_a_slot_can_tell),
        cmocka_unit_test(cpu_time_and_counters),
        cmocka_unit_test(counters_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
