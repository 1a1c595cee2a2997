/* ctest: TIMEOUT 300 */
/* Killed by SIGKILL at a random moment: every event whose call had returned is read back, open intervals as open, and nothing is
 * invented. LAMELLA_KILLS says how often (60; the promise is checked with 1000). */
#include "lamella/lamella.h"
#include "recorder/decode_test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS = 2, IDS = 1 << 20 };

struct progress { /* of one thread, in memory that outlives it */
    uint64_t begun, ended, points;
    uint8_t unused[40];
};

static struct progress *progress;
static char path[96];

static void *write_events(void *arg)
{
    uint32_t thread = (uint32_t)(uintptr_t)arg;
    struct progress *own = &progress[thread];
    struct lam_space space = {1};
    struct lam_kind kind = lam_kind_keyed(LAM_DEFAULT, thread ? "B" : "A", NULL, space);
    struct lam_handle outer = lam_begin_id(LAM_DEFAULT, kind, IDS);
    for (uint32_t i = 0; i < IDS; i++) {
        struct lam_handle handle = lam_begin_id(LAM_DEFAULT, kind, i);
        __atomic_store_n(&own->begun, i + 1, __ATOMIC_SEQ_CST);
        if (i % 3 == 0)
            lam_instant_id(LAM_DEFAULT, kind, i);
        __atomic_store_n(&own->points, i + 1, __ATOMIC_SEQ_CST);
        lam_end(LAM_DEFAULT, handle);
        __atomic_store_n(&own->ended, i + 1, __ATOMIC_SEQ_CST);
    }
    lam_end(LAM_DEFAULT, outer);
    for (;;)
        pause();
    return NULL;
}

static void run_child(const char *mode)
{
    struct lam_options options;
    lam_options_init(&options);
    lam_options_parse(&options, mode);
    options.path = path;
    if (lam_open(&options) < 0)
        _exit(1);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_events, (void *)i);
    for (;;)
        pause();
}

/* ---- reading back ---- */

struct seen {
    uint8_t begun[THREADS][IDS + 1], ended[THREADS][IDS + 1], point[THREADS][IDS + 1];
};

static struct decoded in;
static struct seen *seen;

/* The page of that lane and sequence which counts: the first in the file. */
static const struct stream_page *find_page(uint32_t lane, uint32_t sequence)
{
    for (size_t at = 4096; at < in.size;) {
        const struct stream_page *page = decoded_page(&in, at);
        if (page && page->kind == STREAM_PAGE_EVENTS && page->thread == lane &&
            page->sequence == sequence)
            return page;
        at += page ? page->size_bytes : 4096;
    }
    return NULL;
}

/* 0, 1, or THREADS for what is none of the test's kinds. */
static uint32_t thread_of(uint32_t code)
{
    const struct stream_rec_kind *kind = decoded_kind(&in, code);
    if (!kind || !kind->space)
        return THREADS;
    return strcmp(decoded_string(&in, kind->name), "A") == 0 ? 0 : 1;
}

static void note_slot(const struct stream_slot *slot, const uint32_t threads[256],
                      const uint8_t points[256])
{
    uint32_t code = stream_slot_code(slot), id = stream_slot_id(slot);
    if (code == STREAM_SLOT_END) {
        const struct stream_page *page = find_page(id, (uint32_t)(stream_slot_payload(slot) >> 16));
        assert_non_null(page);
        const struct stream_slot *of =
            (const struct stream_slot *)(const void *)page + (stream_slot_payload(slot) & 0xffff);
        seen->ended[threads[stream_slot_code(of)]][stream_slot_id(of)]++;
        return;
    }
    if (code < 32)
        return;
    assert_true(threads[code] < THREADS && id <= IDS);
    if (points[code]) {
        seen->point[threads[code]][id]++;
        return;
    }
    seen->begun[threads[code]][id]++;
    if (stream_slot_payload(slot))
        seen->ended[threads[code]][id]++;
}

static void read_back(void)
{
    uint32_t threads[256];
    uint8_t points[256];
    for (uint32_t code = 0; code < 256; code++) {
        threads[code] = code >= 32 ? thread_of(code) : THREADS;
        points[code] =
            threads[code] < THREADS && decoded_kind(&in, code)->flags & STREAM_KIND_INSTANT;
    }
    for (size_t at = 4096; at < in.size;) {
        const struct stream_page *page = decoded_page(&in, at);
        size_t size = page ? page->size_bytes : 4096;
        if (page && page->kind == STREAM_PAGE_EVENTS &&
            find_page(page->thread, page->sequence) == page) {
            assert_true(at + size <= in.size);
            for (size_t slot = 4; slot < size / 16; slot++)
                note_slot((const struct stream_slot *)(const void *)page + slot, threads, points);
        }
        at += size;
    }
}

static void check(void)
{
    for (uint32_t t = 0; t < THREADS; t++) {
        uint64_t begun = progress[t].begun, ended = progress[t].ended, points = progress[t].points;
        for (uint64_t i = 0; i < begun; i++)
            if (seen->begun[t][i] != 1)
                fail_msg("thread %u: interval %llu of %llu is there %u times", t,
                         (unsigned long long)i, (unsigned long long)begun, seen->begun[t][i]);
        for (uint64_t i = 0; i < ended; i++)
            if (seen->ended[t][i] != 1)
                fail_msg("thread %u: interval %llu of %llu ended %u times", t,
                         (unsigned long long)i, (unsigned long long)ended, seen->ended[t][i]);
        for (uint64_t i = 0; i < points; i++)
            if (seen->point[t][i] != (i % 3 == 0))
                fail_msg("thread %u: point %llu is there %u times", t, (unsigned long long)i,
                         seen->point[t][i]);
        /* What had not returned may be there or not; what had not begun is not. */
        for (uint64_t i = begun + 1; i < IDS; i++)
            assert_int_equal(seen->begun[t][i], 0);
        for (uint64_t i = ended + 1; i < IDS; i++)
            assert_int_equal(seen->ended[t][i], 0);
        if (begun && begun < IDS) {
            assert_int_equal(seen->begun[t][IDS], 1);
            assert_int_equal(seen->ended[t][IDS], 0);
        }
    }
}

static void decode_pages(void)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    memset(&in, 0, sizeof in);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < 4096) {
        if (fd >= 0)
            close(fd);
        return; /* killed before there was a file */
    }
    in.size = (size_t)st.st_size;
    in.bytes = malloc(in.size);
    assert_int_equal(read(fd, in.bytes, in.size), st.st_size);
    close(fd);
}

static void kill_one(const char *mode, unsigned microseconds)
{
    snprintf(path, sizeof path, "%s", scratch_file(".lam"));
    memset(progress, 0, THREADS * sizeof *progress);
    pid_t child = fork();
    if (child == 0)
        run_child(mode);
    /* From the first event on, so that short times are not all spent in opening. */
    for (int i = 0; i < 2000 && !__atomic_load_n(&progress[0].begun, __ATOMIC_SEQ_CST); i++)
        usleep(100);
    usleep(microseconds);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    decode_pages();
    memset(seen, 0, sizeof *seen);
    if (in.bytes) {
        read_back();
        check();
    }
    free(in.bytes);
    unlink(path);
}

static void killed_at_random(void **state)
{
    (void)state;
    const char *wanted = getenv("LAMELLA_KILLS");
    int kills = wanted ? (int)strtol(wanted, NULL, 10) : 60;
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    seen = malloc(sizeof *seen);
    unsigned random = (unsigned)time(NULL);
    print_message("seed %u\n", random);
    for (int i = 0; i < kills; i++) {
        random = random * 1664525u + 1013904223u;
        kill_one("", (random >> 16) % (i % 2 ? 200 : 8000));
    }
    free(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_at_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
