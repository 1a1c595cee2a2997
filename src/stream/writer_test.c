/* What the writer stores, decoded here by code of its own; pages, carries and bases; and what it does without space. */
#include "core/sys.h"
#include "stream/writer.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];
static struct stream stream;
static unsigned char *bytes; /* the file as it is */
static size_t size_bytes;

static void begin(uint64_t max_bytes)
{
    struct stream_header header = {.byte_order = STREAM_BYTE_ORDER,
                                   .version_major = STREAM_VERSION_MAJOR,
                                   .clock = STREAM_CLOCK_TSC,
                                   .pid = 77};
    strcpy(path, "/dev/shm/lamella-writer-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    stream = (struct stream){0};
    assert_int_equal(stream_create(&stream, AT_FDCWD, path, &header, max_bytes), 0);
    assert_int_equal(stream.use_counter, 1);
}

static void load(void)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    size_bytes = (size_t)st.st_size;
    bytes = malloc(size_bytes);
    assert_int_equal(read(fd, bytes, size_bytes), st.st_size);
    close(fd);
}

static void end(void)
{
    free(bytes);
    bytes = NULL;
    stream_forget(&stream);
    unlink(path);
}

static uint64_t word(size_t at, int width)
{
    uint64_t value = 0;
    assert_true(at + (size_t)width <= size_bytes);
    memcpy(&value, bytes + at, (size_t)width);
    return value;
}

/* The nth page of this kind and thread, by its place in the file; 0 when there is none. */
static size_t page_at(unsigned kind, unsigned thread, unsigned sequence)
{
    for (size_t at = 4096; at + 64 <= size_bytes; at += 4096)
        if (word(at, 4) == 0x3147504c && bytes[at + 4] == kind && word(at + 12, 4) == thread &&
            word(at + 32, 4) == sequence)
            return at;
    return 0;
}

static void the_header(void **state)
{
    (void)state;
    begin(0);
    load();
    assert_memory_equal(bytes, "\x89LAM\r\n\x1a\n", 8);
    assert_int_equal(word(8, 4), 0x01020304);
    assert_int_equal(word(128, 8), 4096); /* where the next page goes */
    struct stream other = {0};
    struct stream_header header = {0};
    assert_int_equal(stream_create(&other, AT_FDCWD, path, &header, 0), -EEXIST);
    end();
}

static void records(void **state)
{
    (void)state;
    begin(0);
    struct stream_cursor cur;
    stream_cursor_init(&cur, STREAM_PAGE_META, 3, 1234);
    struct stream_piece pieces[] = {{"abcdefgh", 8}, {"xy", 2}};
    assert_int_equal(stream_append(&stream, &cur, 14, 99, pieces, 2, 5000), 0);
    assert_int_equal(stream_append(&stream, &cur, 15, 98, NULL, 0, 5001), 0);
    load();
    size_t page = page_at(STREAM_PAGE_META, 3, 0);
    assert_int_equal(page, 4096);
    assert_int_equal(word(page + 8, 4), 4096);          /* size */
    assert_int_equal(word(page + 16, 8), 4096);         /* its own place */
    assert_int_equal(word(page + 24, 8), 5000);         /* base */
    assert_int_equal(word(page + 36, 4), 1234);         /* thread's id */
    assert_int_equal(word(page + 64, 4), 14 | 3 << 16); /* 8 + 10 bytes are three words */
    assert_int_equal(word(page + 68, 4), 99);
    assert_memory_equal(bytes + page + 72, "abcdefghxy\0\0\0\0\0\0", 16);
    assert_int_equal(word(page + 88, 4), 15 | 1 << 16);
    assert_int_equal(word(page + 96, 4), 0);
    stream_cursor_close(&cur);
    end();
}

static void pages_double(void **state)
{
    (void)state;
    begin(0);
    struct stream_cursor cur;
    stream_cursor_init(&cur, STREAM_PAGE_META, 1, 1);
    static char body[992];
    struct stream_piece piece = {body, sizeof body};
    for (int i = 0; i < 2000; i++) {
        memset(body, i, sizeof body);
        assert_int_equal(stream_append(&stream, &cur, 5, (uint32_t)i, &piece, 1, 1), 0);
    }
    load();
    unsigned seen = 0, sequence = 0;
    size_t expected = 4096;
    for (;; sequence++) {
        size_t page = page_at(STREAM_PAGE_META, 1, sequence);
        if (!page)
            break;
        size_t size = word(page + 8, 4);
        assert_int_equal(size, expected);
        expected = size < 262144 ? size * 2 : size;
        for (size_t at = page + 64; at + 8 <= page + size && word(at, 4); seen++) {
            assert_int_equal(word(at, 4), 5 | 125 << 16);
            assert_int_equal(word(at + 4, 4), seen);
            assert_int_equal(bytes[at + 8], (unsigned char)seen);
            at += 1000;
        }
    }
    assert_int_equal(seen, 2000);
    assert_true(sequence > 7);
    stream_cursor_close(&cur);
    end();
}

static void a_record_too_large(void **state)
{
    (void)state;
    begin(0);
    struct stream_cursor cur;
    stream_cursor_init(&cur, STREAM_PAGE_META, 1, 1);
    char *large = calloc(1, 300000);
    struct stream_piece fits = {large, 262144 - 64 - 8}, too_large = {large, 262144 - 64 - 7};
    assert_int_equal(stream_append(&stream, &cur, 5, 0, &too_large, 1, 1), -1);
    assert_int_equal(stream.header->lost[STREAM_LOSS_IO], 1);
    assert_int_equal(stream_append(&stream, &cur, 5, 0, &fits, 1, 1), 0);
    assert_int_equal(stream.header->lost[STREAM_LOSS_IO], 1);
    free(large);
    stream_cursor_close(&cur);
    load();
    end();
}

static void samples_and_carries(void **state)
{
    (void)state;
    begin(0);
    struct stream_cursor cur;
    stream_cursor_init(&cur, STREAM_PAGE_SAMPLES, 2, 2);
    const uint64_t base = 1000000;
    assert_int_equal(stream_append_sample(&stream, &cur, 7, 250000, base, 5), 0);
    assert_int_equal(stream_append_sample(&stream, &cur, 8, 0x500000007, base + 0x123456789a, 6), 0);
    assert_int_equal(stream_append_sample(&stream, &cur, 9, 1, base - 50, 0), 0); /* a lagging counter */
    load();
    size_t at = page_at(STREAM_PAGE_SAMPLES, 2, 0) + 64;
    assert_int_equal(word(at - 64 + 24, 8), base);
    assert_int_equal(word(at, 4), 7);
    assert_int_equal(word(at + 4, 4), 250000);
    assert_int_equal(word(at + 8, 6), 0);
    assert_int_equal(word(at + 14, 2), 5);
    assert_int_equal(word(at + 16, 4), 0xffffffff);
    assert_int_equal(word(at + 20, 4), 5);
    assert_int_equal(word(at + 32, 4), 8);
    assert_int_equal(word(at + 36, 4), 7);
    assert_int_equal(word(at + 40, 6), 0x123456789a);
    assert_int_equal(word(at + 46, 2), 6);
    assert_int_equal(word(at + 48, 4), 9);
    assert_int_equal(word(at + 56, 6), 0);
    assert_int_equal(word(at + 64, 4), 0);
    stream_cursor_close(&cur);
    end();
}

/* 252 samples fill the first page; the last place is no good for a carry, which must stand in its sample's page. */
static void a_carry_is_not_split(void **state)
{
    (void)state;
    begin(0);
    struct stream_cursor cur;
    stream_cursor_init(&cur, STREAM_PAGE_SAMPLES, 1, 1);
    for (uint32_t i = 1; i <= 251; i++)
        assert_int_equal(stream_append_sample(&stream, &cur, i, 1, 10, 0), 0);
    assert_int_equal(stream_append_sample(&stream, &cur, 1000, 1ull << 33, 20, 0), 0);
    load();
    size_t first = page_at(STREAM_PAGE_SAMPLES, 1, 0), second = page_at(STREAM_PAGE_SAMPLES, 1, 1);
    assert_int_equal(word(first + 64 + 250 * 16, 4), 251);
    assert_int_equal(word(first + 64 + 251 * 16, 4), 0);
    assert_int_equal(word(second + 64, 4), 0xffffffff);
    assert_int_equal(word(second + 80, 4), 1000);
    stream_cursor_close(&cur);
    end();
}

/* A hundred days of uptime in ticks of 3 GHz, and a page that outlives 48 bits of them. */
static void a_new_base_after_48_bits(void **state)
{
    (void)state;
    begin(0);
    struct stream_cursor cur;
    stream_cursor_init(&cur, STREAM_PAGE_SAMPLES, 1, 1);
    const uint64_t base = 100ull * 24 * 3600 * 3000000000u, span = 1ull << 48;
    assert_int_equal(stream_append_sample(&stream, &cur, 1, 1, base, 0), 0);
    assert_int_equal(stream_append_sample(&stream, &cur, 2, 1, base + span - 1, 0), 0);
    assert_int_equal(stream_append_sample(&stream, &cur, 3, 1, base + span, 0), 0);
    assert_int_equal(stream_append_sample(&stream, &cur, 4, 1, base + span + 5, 0), 0);
    load();
    size_t first = page_at(STREAM_PAGE_SAMPLES, 1, 0), second = page_at(STREAM_PAGE_SAMPLES, 1, 1);
    assert_true(word(first + 24, 8) == base);
    assert_true(word(first + 64 + 16 + 8, 6) == span - 1);
    assert_int_equal(word(first + 64 + 32, 4), 0);
    assert_true(word(second + 24, 8) == base + span);
    assert_int_equal(word(second + 64, 4), 3);
    assert_int_equal(word(second + 64 + 8, 6), 0);
    assert_int_equal(word(second + 64 + 16 + 8, 6), 5);
    stream_cursor_close(&cur);
    end();
}

static void without_space(void **state)
{
    (void)state;
    begin(3 * 4096);
    struct stream_cursor one, two;
    stream_cursor_init(&one, STREAM_PAGE_SAMPLES, 1, 1);
    stream_cursor_init(&two, STREAM_PAGE_SAMPLES, 2, 2);
    assert_int_equal(stream_append_sample(&stream, &one, 1, 1, 1, 0), 0);
    assert_int_equal(stream_append_sample(&stream, &two, 1, 1, 1, 0), 0);
    assert_null(stream_claim_page(&stream, STREAM_PAGE_STACKS, 4096, 0, 1));
    for (int i = 0; i < 251; i++)
        assert_int_equal(stream_append_sample(&stream, &one, 1, 1, 1, 0), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(stream_append_sample(&stream, &one, 1, 1, 1, 0), -1);
    assert_int_equal(stream_append_sample(&stream, &two, 1, 1, 1, 0), 0); /* its page has room */
    assert_int_equal(stream.header->lost[STREAM_LOSS_FILE_LIMIT], 11);
    stream_cursor_close(&one);
    stream_cursor_close(&two);
    load();
    assert_int_equal(size_bytes, 3 * 4096);
    end();
}

static void abandoned_pages(void **state)
{
    (void)state;
    begin(0);
    struct stream_cursor cur;
    stream_cursor_init(&cur, STREAM_PAGE_META, 1, 1);
    assert_int_equal(stream_append(&stream, &cur, 5, 1, NULL, 0, 1), 0);
    assert_int_equal(stream_append(&stream, &cur, 5, 2, NULL, 0, 1), 0);
    stream_abandon_pages(&stream);
    assert_int_equal(stream_append(&stream, &cur, 5, 3, NULL, 0, 1), 0);
    load();
    size_t second = page_at(STREAM_PAGE_META, 1, 1);
    assert_int_not_equal(second, 0);
    assert_int_equal(word(second + 68, 4), 3);
    stream_cursor_close(&cur);
    end();
}

/* ---- a handler that records in the middle of its thread's own records, by a timer that is real ---- */

static __thread struct stream_cursor *volatile handlers_cursor;
static __thread volatile uint32_t handled;

static void strike(int number)
{
    (void)number;
    int error = errno;
    struct stream_cursor *cur = handlers_cursor;
    if (cur && stream_append_sample(&stream, cur, handled + 1, 1, 1, 0) == 0)
        handled++;
    errno = error;
}

enum { WRITERS = 4, ROUNDS = 20000 };
static uint32_t struck[WRITERS + 1];

static void *write_records(void *arg)
{
    uint32_t index = (uint32_t)(uintptr_t)arg;
    struct stream_cursor own, handlers;
    stream_cursor_init(&own, STREAM_PAGE_META, index, index);
    stream_cursor_init(&handlers, STREAM_PAGE_SAMPLES, index, index);
    handlers_cursor = &handlers;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t body = (uint64_t)index << 32 | i;
        struct stream_piece piece = {&body, sizeof body};
        if (stream_append(&stream, &own, 9, i, &piece, 1, 1) < 0)
            return "refused";
    }
    handlers_cursor = NULL;
    struck[index] = handled;
    stream_cursor_close(&own);
    stream_cursor_close(&handlers);
    return NULL;
}

static void handlers_between_records(void **state)
{
    (void)state;
    begin(0);
    struct sigaction action = {.sa_handler = strike, .sa_flags = SA_RESTART}, before;
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, &before);
    struct itimerspec period = {{0, 100000}, {0, 100000}};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    timer_settime(timer, 0, &period, NULL);
    pthread_t threads[WRITERS];
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_records, (void *)(i + 1)), 0);
    for (int i = 0; i < WRITERS; i++) {
        void *why;
        pthread_join(threads[i], &why);
        assert_null(why);
    }
    timer_delete(timer);
    sigaction(SIGALRM, &before, NULL);
    load();
    for (unsigned thread = 1; thread <= WRITERS; thread++) {
        unsigned seen = 0, samples = 0;
        for (unsigned sequence = 0;; sequence++) {
            size_t page = page_at(STREAM_PAGE_META, thread, sequence);
            if (!page)
                break;
            for (size_t at = page + 64; at < page + word(page + 8, 4) && word(at, 4); at += 16) {
                assert_int_equal(word(at, 4), 9 | 2 << 16);
                assert_true(word(at + 8, 8) == ((uint64_t)thread << 32 | seen));
                seen++;
            }
        }
        assert_int_equal(seen, ROUNDS);
        for (unsigned sequence = 0;; sequence++) {
            size_t page = page_at(STREAM_PAGE_SAMPLES, thread, sequence);
            if (!page)
                break;
            for (size_t at = page + 64; at < page + word(page + 8, 4) && word(at, 4); at += 16)
                assert_int_equal(word(at, 4), ++samples);
        }
        assert_int_equal(samples, struck[thread]);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header),
        cmocka_unit_test(records),
        cmocka_unit_test(pages_double),
        cmocka_unit_test(a_record_too_large),
        cmocka_unit_test(samples_and_carries),
        cmocka_unit_test(a_carry_is_not_split),
        cmocka_unit_test(a_new_base_after_48_bits),
        cmocka_unit_test(without_space),
        cmocka_unit_test(abandoned_pages),
        cmocka_unit_test(handlers_between_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
