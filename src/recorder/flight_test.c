/* ctest: TIMEOUT 900 */
/* The flight recorder: of each thread the newest events are there, whatever the budget and the other threads. */
#include "recorder/flight.h"
#include "recorder/recording_test.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

static struct lam_kind kind;
static pthread_barrier_t together;

static void begin(uint64_t max_bytes)
{
    struct lam_options options;
    lam_options_init(&options);
    options.mode = LAM_MODE_FLIGHT;
    options.max_bytes = max_bytes;
    begin_with_options(&options);
    kind = lam_kind_intern(LAM_DEFAULT, "A");
}

/* ---- a signal handler that always comes while an event is being stored: when it has read the clock ---- */

static int is_handling;
static uint32_t clock_reads, handled;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    if (is_handling && ++clock_reads % 4 == 0) { /* not each time that the event is tried again */
        is_handling = 0;
        lam_integer_event(LAM_DEFAULT, kind.id, 0, handled++);
        is_handling = 1;
    }
    return (int)syscall(SYS_clock_gettime, clock, ts);
}

/* ---- numbers, counted up by each writer under an id of its own ---- */

enum { WRITERS = 1000 };

struct writer {
    pthread_t thread;
    uint32_t id;
    uint32_t count;
    int waits;
    uint32_t refused;
};

static void *write_numbers(void *arg)
{
    struct writer *writer = arg;
    if (writer->waits)
        pthread_barrier_wait(&together);
    for (uint32_t i = 0; i < writer->count; i++)
        writer->refused += lam_integer_event(LAM_DEFAULT, kind.id, writer->id, i) != LAM_OK;
    if (writer->waits)
        pthread_barrier_wait(&together); /* nobody has ended yet */
    return NULL;
}

struct found {
    uint32_t count;
    uint32_t last;
    int has_gap;
};

/* What is left of each writer. Its pages lie in the order of their sequences within a lane, which it may share with others. */
static void look(struct found *found, uint32_t ids)
{
    memset(found, 0, ids * sizeof *found);
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *event = &in.events[i];
        if (event->code < 32)
            continue;
        assert_true(event->id < ids);
        struct found *own = &found[event->id];
        uint32_t value = (uint32_t)event->payload;
        if (own->count && value != own->last + 1)
            own->has_gap = 1;
        own->last = value;
        own->count++;
    }
}

static uint32_t most_pages(uint64_t max_bytes)
{
    return (uint32_t)((max_bytes - max_bytes / 8) / flight_page_bytes(max_bytes));
}

static void run_matrix(uint64_t max_bytes, uint32_t threads, int is_together)
{
    static struct writer writers[64];
    static struct found found[65];
    begin(max_bytes);
    pthread_barrier_init(&together, NULL, threads);
    uint32_t slots = flight_page_bytes(max_bytes) / 16, pages = most_pages(max_bytes);
    uint32_t count = (uint32_t)(max_bytes / 16 / threads) * 2 + 3 * slots;
    for (uint32_t i = 0; i < threads; i++) {
        writers[i] = (struct writer){.id = i + 1, .count = count, .waits = is_together};
        pthread_create(&writers[i].thread, NULL, write_numbers, &writers[i]);
        if (!is_together)
            pthread_join(writers[i].thread, NULL);
    }
    for (uint32_t i = 0; is_together && i < threads; i++)
        pthread_join(writers[i].thread, NULL);
    pthread_barrier_destroy(&together);
    finish();
    assert_true(in.size <= max_bytes);
    look(found, threads + 1);
    uint32_t seen = 0, refused = 0;
    for (uint32_t i = 1; i <= threads; i++) {
        refused += writers[i - 1].refused;
        if (!found[i].count)
            continue;
        seen++;
        assert_false(found[i].has_gap);
        assert_int_equal(found[i].last, count - 1);
        /* Two pages for each: what it writes to, and a full one. Some of the pages are for records. */
        if (2 * threads + 4 <= pages)
            assert_true(found[i].count >= slots - 8);
    }
    if (threads + 4 <= pages || !is_together) {
        assert_int_equal(refused, 0);
        assert_int_equal(in.header->lost[STREAM_LOSS_FILE_LIMIT], 0);
    } else {
        assert_int_equal(in.header->lost[STREAM_LOSS_FILE_LIMIT], refused);
        assert_true(refused > 0);
    }
    if (threads + 4 <= pages)
        assert_int_equal(seen, threads);
    else
        /* A thread is refused while all pages are held, by each other thread one, and another while it goes on to the next. */
        assert_true(seen + 8 >= pages / 2);
    assert_true(in.header->counts[STREAM_COUNT_RECYCLED_PAGES] > 0);
    if (2 * threads + 4 <= pages) /* the budget is used */
        assert_true(in.count > max_bytes / 16 / 2);
    end();
}

static void newest_of_every_thread(void **state)
{
    (void)state;
    static const uint64_t budgets[] = {256 << 10, 1 << 20, 4 << 20, 16 << 20};
    static const uint32_t threads[] = {1, 2, 8, 64};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            for (int is_together = 0; is_together < 2; is_together++)
                run_matrix(budgets[i], threads[j], is_together);
}

/* A quiet thread and one that rests keep what they have, beside one that writes all the time and a thousand short ones. */
static void threads_that_come_and_go(void **state)
{
    (void)state;
    static struct writer writers[WRITERS];
    static struct found found[WRITERS + 3];
    begin(1 << 20);
    uint32_t quiet = WRITERS + 1, busy = WRITERS + 2;
    struct writer resting = {.id = quiet, .count = 100, .waits = 1};
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&resting.thread, NULL, write_numbers, &resting);
    pthread_barrier_wait(&together);
    uint32_t value = 0;
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.id = i + 1, .count = i % 4 ? 20 : 2000};
        pthread_create(&writers[i].thread, NULL, write_numbers, &writers[i]);
        for (uint32_t j = 0; j < 300; j++)
            lam_integer_event(LAM_DEFAULT, kind.id, busy, value++);
        pthread_join(writers[i].thread, NULL);
        assert_int_equal(writers[i].refused, 0);
    }
    pthread_barrier_wait(&together);
    pthread_join(resting.thread, NULL);
    finish();
    look(found, WRITERS + 3);
    assert_int_equal(found[quiet].count, 100);
    assert_int_equal(found[busy].last, value - 1);
    assert_true(found[busy].count > 250);
    assert_int_equal(found[WRITERS].last, writers[WRITERS - 1].count - 1);
    for (uint32_t i = 1; i < WRITERS + 3; i++) {
        assert_false(found[i].has_gap);
        if (i <= WRITERS && found[i].count)
            assert_int_equal(found[i].last, writers[i - 1].count - 1);
    }
    assert_true(in.size <= 1 << 20);
    for (int i = 0; i < STREAM_LOSS_KINDS; i++)
        assert_int_equal(in.header->lost[i], 0);
    end();
}

/* However long it runs, there is room for names: what grows with time and threads is bounded. */
static void names_after_many_threads(void **state)
{
    (void)state;
    begin(256 << 10);
    for (int i = 0; i < 3000; i++) {
        struct writer writer = {.id = 1, .count = 5};
        pthread_create(&writer.thread, NULL, write_numbers, &writer);
        pthread_join(writer.thread, NULL);
    }
    struct lam_label late = lam_label_intern(LAM_DEFAULT, "a late name", 11);
    lam_instant(LAM_DEFAULT, kind, late);
    finish();
    assert_non_null(decoded_find(&in, "a late name", 0));
    for (int i = 0; i < STREAM_LOSS_KINDS; i++)
        assert_int_equal(in.header->lost[i], 0);
    end();
}

/* A hundred arguments and long texts fit the smallest pages. */
static void large_events(void **state)
{
    (void)state;
    begin(256 << 10);
    static char text[4000];
    struct lam_arg args[100];
    for (int i = 0; i < 100; i++)
        args[i] = (struct lam_arg){.type = LAM_ARG_TEXT, .value = {.text_bytes = 1}, .text = "x"};
    struct lam_label label = lam_label_intern(LAM_DEFAULT, "large", 5);
    for (int i = 0; i < 1000; i++) {
        memset(text, 'a' + i % 26, sizeof text);
        args[i % 100].value.text_bytes = i % 2 ? sizeof text : 40;
        args[i % 100].text = text;
        assert_int_equal(lam_instant_args(LAM_DEFAULT, kind, label, args, 100), LAM_OK);
    }
    finish();
    assert_true(in.count > 20);
    end();
}

/* Ended by the thread that has the lane next, when the page is no longer there. */
static void *begin_detached(void *arg)
{
    for (int i = 0; i < 600; i++) /* more than a quarter of the page: it is left when the thread ends */
        lam_instant(LAM_DEFAULT, kind, label("filler"));
    *(struct lam_handle *)arg = lam_begin_detached(LAM_DEFAULT, kind, label("handed over"));
    return NULL;
}

static void *end_detached(void *arg)
{
    assert_int_equal(lam_end(LAM_DEFAULT, *(struct lam_handle *)arg), LAM_OK);
    return NULL;
}

static void ended_by_the_next_thread(void **state)
{
    (void)state;
    struct lam_handle handle;
    begin(4 << 20); /* the labels of the tests before it are told in it as well */
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, i ? end_detached : begin_detached, &handle);
        pthread_join(thread, NULL);
    }
    finish();
    const struct decoded_event *event = decoded_find(&in, "handed over", 0);
    assert_true(event->end > event->start);
    assert_int_not_equal(event->end_thread, event->thread);
    end();
}

/* A page that a handler left while an event was still being stored in it is as old as it is, whenever it is let go: intervals that
 * began in it do not outlive the pages with their ends. */
static void handlers_in_the_middle(void **state)
{
    (void)state;
    enum { OPEN = 700, INTERVALS = 30000 }; /* open at a time: ends lie some pages behind */
    static struct lam_handle handles[OPEN];
    struct lam_options options;
    lam_options_init(&options);
    assert_int_equal(lam_options_parse(&options, "clock=monotonic,mode=flight,max_bytes=256K"),
                     LAM_OK);
    begin_with_options(&options);
    kind = lam_kind_intern(LAM_DEFAULT, "A");
    handled = 0;
    is_handling = 1;
    for (uint32_t i = 0; i < INTERVALS; i++) {
        if (i >= OPEN)
            lam_end(LAM_DEFAULT, handles[i % OPEN]);
        handles[i % OPEN] = lam_begin(LAM_DEFAULT, kind, label("interval"));
    }
    is_handling = 0;
    finish();
    assert_true(handled > INTERVALS / 2);
    uint32_t open = 0, intervals = 0, sequence = 0, gaps = 0;
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *event = &in.events[i];
        gaps += i && event->sequence > sequence + 1;
        sequence = event->sequence;
        if (event->code < 32 || decoded_kind(&in, event->code)->flags & STREAM_KIND_INTEGER)
            continue;
        intervals++;
        open += !event->end;
    }
    assert_true(intervals > 2 * OPEN);
    assert_int_equal(gaps, 0); /* what is left is the end, and all of it */
    assert_int_equal(open, OPEN);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_of_every_thread),   cmocka_unit_test(threads_that_come_and_go),
        cmocka_unit_test(names_after_many_threads), cmocka_unit_test(large_events),
        cmocka_unit_test(ended_by_the_next_thread), cmocka_unit_test(handlers_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
