/* The trie of stacks against a plain list of what was put in, by many threads, with handlers striking; and without space. */
#include "agent/agent.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void begin(uint64_t max_bytes)
{
    struct stream_header header = {.byte_order = STREAM_BYTE_ORDER, .clock = STREAM_CLOCK_TSC};
    strcpy(path, "/dev/shm/lamella-stacks-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    stacks_init();
    modules_init();
    agent.stream = (struct stream){0};
    assert_int_equal(stream_create(&agent.stream, AT_FDCWD, path, &header, max_bytes), 0);
}

static void end(void)
{
    stacks_init();
    stream_cursor_close(modules_cursor());
    stream_forget(&agent.stream);
    unlink(path);
}

/* ---- what the file says, read by code of its own ---- */

struct node {
    uint32_t parent;
    uint64_t address;
};

static struct node *nodes; /* by id */
static uint32_t node_count;

static uint32_t chunk_size(uint32_t chunk)
{
    return chunk < 6 ? 4096u << chunk : 262144;
}

static void load(void)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    fstat(fd, &st);
    unsigned char *bytes = malloc((size_t)st.st_size);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    nodes = calloc((size_t)st.st_size / 12, sizeof *nodes);
    node_count = 0;
    for (uint32_t at = 4096; at < st.st_size; at += 4096) {
        uint32_t magic, size, sequence, first = 1;
        memcpy(&magic, bytes + at, 4);
        memcpy(&size, bytes + at + 8, 4);
        memcpy(&sequence, bytes + at + 32, 4);
        if (magic != 0x3147504c || bytes[at + 4] != 3)
            continue;
        assert_int_equal(size, chunk_size(sequence));
        for (uint32_t chunk = 0; chunk < sequence; chunk++)
            first += (chunk_size(chunk) - 64) / 12;
        for (uint32_t i = 0; i < (size - 64) / 12; i++) {
            uint32_t parent, low;
            uint16_t high;
            memcpy(&parent, bytes + at + 64 + i * 12, 4);
            memcpy(&low, bytes + at + 64 + i * 12 + 4, 4);
            memcpy(&high, bytes + at + 64 + i * 12 + 8, 2);
            if (!parent)
                continue;
            nodes[first + i] = (struct node){parent - 1, (uint64_t)high << 32 | low};
            if (first + i > node_count)
                node_count = first + i;
        }
    }
    free(bytes);
}

static void is_stack(uint32_t id, const uint64_t *frames, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_in_range(id, 1, node_count);
        assert_true(nodes[id].address == frames[i]);
        id = nodes[id].parent;
    }
    assert_int_equal(id, 0);
}

/* ---- tests ---- */

static void one_stack(void **state)
{
    (void)state;
    begin(0);
    static struct stack_path own, other;
    memset(&own, 0, sizeof own);
    memset(&other, 0, sizeof other);
    uint64_t frames[] = {0x7fff00000003, 0x400002, 0x400001};
    uint32_t id = stacks_intern(&own, frames, 3);
    assert_int_equal(stacks_intern(&own, frames, 3), id);
    assert_int_equal(stacks_intern(&other, frames, 3), id); /* by the table, not the path */
    assert_int_equal(stacks_intern(&own, frames, 0), 0);
    uint32_t parent = stacks_intern(&own, frames + 1, 2);
    assert_int_not_equal(parent, id);
    load();
    is_stack(id, frames, 3);
    is_stack(parent, frames + 1, 2);
    assert_int_equal(node_count, 3);
    free(nodes);
    end();
}

static void deeper_than_a_path_is_kept(void **state)
{
    (void)state;
    begin(0);
    static struct stack_path own;
    memset(&own, 0, sizeof own);
    static uint64_t frames[1000];
    for (uint32_t i = 0; i < 1000; i++)
        frames[i] = 0x1000 + i * 16;
    uint32_t id = stacks_intern(&own, frames, 1000);
    assert_int_equal(stacks_intern(&own, frames, 1000), id);
    frames[0] = 1;
    uint32_t next = stacks_intern(&own, frames, 1000);
    load();
    assert_int_equal(node_count, 1001);
    is_stack(next, frames, 1000);
    frames[0] = 0x1000;
    is_stack(id, frames, 1000);
    free(nodes);
    end();
}

enum { THREADS = 8, STACKS = 6000, DEPTH = 24 };

static __thread uint64_t seed;

static uint64_t next_random(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

/* Stacks that share their outer frames, as real ones do. */
static uint32_t make_stack(uint64_t number, uint64_t *frames)
{
    uint64_t before = seed;
    seed = number / 8 % 500 + 1;
    uint32_t count = 2 + (uint32_t)(next_random() % (DEPTH - 2));
    for (uint32_t i = 0; i < count; i++)
        frames[i] = 0x10000 + (next_random() % 40 << 4);
    seed = number + 1;
    frames[0] = 0x900000 + (next_random() % 300 << 4);
    seed = before;
    return count;
}

struct worker {
    uint32_t index;
    struct stack_path path, struck_path;
    uint64_t numbers[STACKS];
    uint32_t ids[STACKS];
    uint64_t struck_numbers[STACKS];
    uint32_t struck_ids[STACKS];
    volatile uint32_t struck;
};

static struct worker workers[THREADS];
static __thread struct worker *volatile current;

/* As the sampling handler: a path of its own, in the middle of whatever the thread was doing to the trie. */
static void strike(int number)
{
    (void)number;
    int error = errno;
    struct worker *worker = current;
    uint64_t frames[DEPTH];
    if (worker && worker->struck < STACKS) {
        uint32_t at = worker->struck;
        uint64_t which = (uint64_t)at * 7 + worker->index;
        uint32_t count = make_stack(which, frames);
        worker->struck_numbers[at] = which;
        worker->struck_ids[at] = stacks_intern(&worker->struck_path, frames, count);
        worker->struck = at + 1;
    }
    errno = error;
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    uint64_t frames[DEPTH];
    seed = worker->index;
    current = worker;
    for (uint32_t i = 0; i < STACKS; i++) {
        worker->numbers[i] = next_random() % 20000;
        uint32_t count = make_stack(worker->numbers[i], frames);
        worker->ids[i] = stacks_intern(&worker->path, frames, count);
    }
    current = NULL;
    return NULL;
}

static void many_threads_and_handlers(void **state)
{
    (void)state;
    begin(0);
    struct sigaction action = {.sa_handler = strike, .sa_flags = SA_RESTART}, before;
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, &before);
    struct itimerspec period = {{0, 100000}, {0, 100000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    timer_t timer;
    pthread_t threads[THREADS];
    memset(workers, 0, sizeof workers);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    timer_settime(timer, 0, &period, NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].index = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    timer_delete(timer);
    sigaction(SIGALRM, &before, NULL);
    load();
    uint64_t frames[DEPTH];
    for (int t = 0; t < THREADS; t++) {
        struct worker *worker = &workers[t];
        for (uint32_t i = 0; i < STACKS; i++) {
            uint32_t count = make_stack(worker->numbers[i], frames);
            is_stack(worker->ids[i], frames, count);
        }
        for (uint32_t i = 0; i < worker->struck; i++) {
            uint32_t count = make_stack(worker->struck_numbers[i], frames);
            is_stack(worker->struck_ids[i], frames, count);
        }
    }
    /* Nodes stored twice by racing threads are few. */
    uint32_t distinct = 0;
    static uint64_t seen[1 << 19];
    memset(seen, 0, sizeof seen);
    for (uint32_t id = 1; id <= node_count; id++) {
        /* Equal children of one parent: by address and parent, which is exact but for parents that are double themselves. */
        uint64_t key = (nodes[id].address << 24 ^ nodes[id].parent) + 1;
        uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 45);
        while (seen[at] && seen[at] != key)
            at = (at + 1) % (1 << 19);
        distinct += !seen[at];
        seen[at] = key;
    }
    assert_true(node_count - distinct <= node_count / 20 + 10);
    free(nodes);
    end();
}

static void without_space(void **state)
{
    (void)state;
    begin(2 * 4096); /* the header and the first chunk: 336 nodes */
    static struct stack_path own;
    memset(&own, 0, sizeof own);
    uint64_t frames[2] = {0, 0x5000};
    uint32_t stored = 0, refused = 0;
    for (uint64_t i = 0; i < 500; i++) {
        frames[0] = 0x6000 + i * 16;
        if (stacks_intern(&own, frames, 2))
            stored++;
        else
            refused++;
    }
    assert_int_equal(stored, 335);
    assert_int_equal(refused, 165);
    assert_true(agent.stream.header->lost[STREAM_LOSS_FILE_LIMIT] >= 1);
    frames[0] = 0x6000; /* what is there is still found */
    assert_int_equal(stacks_intern(&own, frames, 2), 2);
    end();
}

static void starting_over(void **state)
{
    (void)state;
    begin(0);
    static struct stack_path own;
    memset(&own, 0, sizeof own);
    uint64_t frames[2] = {0x6000, 0x5000};
    uint32_t id = stacks_intern(&own, frames, 2);
    stacks_start_over(); /* the next node goes to the next chunk */
    frames[0] = 0x7000;
    uint32_t after = stacks_intern(&own, frames, 2);
    assert_int_equal(id, 2);
    assert_int_equal(after, 337);
    load();
    is_stack(after, frames, 2);
    free(nodes);
    end();
}

static int setup(void **state)
{
    (void)state;
    static struct control_page control;
    agent.control = &control;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stack),
        cmocka_unit_test(deeper_than_a_path_is_kept),
        cmocka_unit_test(many_threads_and_handlers),
        cmocka_unit_test(without_space),
        cmocka_unit_test(starting_over),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
