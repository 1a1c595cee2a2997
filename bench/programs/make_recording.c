/* make_recording DIR SAMPLES PROCESSES [THREADS [APART_MS]]: writes a recording of a build that never was, for bench/reading and
 * bench/page. Its stacks grow and shrink as those of a compiler do: about 70% of a sample's frames are those of the sample before,
 * 3 to 4 nodes are new. With samples more than 10 ms apart each is a span of its own. */
#include <sys/stat.h>

#include "reader/stream_make_test.h"

enum {
    MAX_DEPTH = 128,
    ADDRESSES = 60000,
    EDGE_SLOTS = 1 << 21,
    TICKS_A_MS = 1000000 * MAKE_TICKS_PER_NS
};

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)((next_random() >> 32) * limit >> 32);
}

/* A few functions are met all the time, most of them rarely. */
static uint64_t address(uint64_t base)
{
    uint32_t which = below(100) < 60   ? below(600)
                     : below(100) < 70 ? below(8000)
                                       : below(ADDRESSES);
    return base + 0x1000 + (uint64_t)which * 0x351;
}

struct edge {
    uint64_t address;
    uint32_t parent, node; /* node 0: free */
};

static struct edge *edges;
static uint32_t edge_count;

static uint32_t child_of(struct make *make, uint32_t parent, uint64_t where)
{
    uint64_t hash = (where ^ (uint64_t)parent * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    uint32_t at = (uint32_t)(hash >> 40) % EDGE_SLOTS;
    for (; edges[at].node; at = (at + 1) % EDGE_SLOTS) {
        if (edges[at].parent == parent && edges[at].address == where)
            return edges[at].node;
    }
    uint32_t node = make_node(make, parent, where, 1);
    if (edge_count < EDGE_SLOTS * 3 / 4) {
        edges[at] = (struct edge){where, parent, node};
        edge_count++;
    }
    return node;
}

struct stack {
    uint32_t depth;
    uint32_t nodes[MAX_DEPTH];
};

static void step(struct make *make, struct stack *stack, const uint64_t *bases)
{
    uint32_t pops = 1 + below(5) + (below(10) == 0 ? below(15) : 0);
    stack->depth = stack->depth > pops + 5 ? stack->depth - pops
                   : stack->depth < 5      ? stack->depth
                                           : 5;
    uint32_t pushes = 1 + below(6) + (below(12) == 0 ? below(14) : 0);
    for (uint32_t i = 0; (i < pushes || stack->depth < 6) && stack->depth < MAX_DEPTH; i++) {
        uint32_t parent = stack->depth ? stack->nodes[stack->depth - 1] : 0;
        stack->nodes[stack->depth++] = child_of(make, parent, address(bases[below(8) / 3]));
    }
}

static uint32_t thread_count = 3;
static uint32_t apart_ticks = 400000; /* from sample to sample, at least */

static void run_thread(struct make *make, uint32_t thread, uint64_t samples, uint64_t start,
                       const uint64_t *bases)
{
    struct stack stack = {0};
    make_thread(make, thread, thread == 1 ? STREAM_THREAD_MAIN : STREAM_THREAD_CREATED,
                thread == 1 ? "rustc" : "opt cgu.1");
    uint64_t ticks = start;
    for (uint64_t i = 0; i < samples; i++) {
        step(make, &stack, bases);
        ticks += apart_ticks + below(20000);
        make_sample(make, thread, ticks, stack.nodes[stack.depth - 1], 200000 + below(3000), 0);
        if (i % 200 == 199)
            make_wait(make, thread, ticks, 3000000, stack.nodes[stack.depth - 1], STREAM_WAIT_LOCK);
    }
    make_thread_end(make, thread, ticks + 1000, samples * 201000, (uint32_t)samples);
}

static int run_process(const char *dir, uint32_t index, uint64_t samples)
{
    uint64_t start = 2000000000ull + index * 10000000ull;
    struct make *make = make_open(1000 + index, 1, start);
    char argv[256], name[32], path[4096];
    int size = snprintf(
        argv,
        sizeof argv, "rustc%c--crate-name%ccrate_%u%c--edition=2021%csrc/lib.rs%c--crate-type%clib%c-C%cmetadata=%08x",
        0, 0, index, 0, 0, 0, 0, 0, 0, index);
    make_process(make, "/usr/bin/rustc", "/build", "rustc", argv, (size_t)size + 1, 6000000, 0);
    make_config(make, STREAM_ENGINE_SIGTRAP, 200000);
    /* The loader puts libraries elsewhere in each process. */
    uint64_t bases[3];
    for (unsigned i = 0; i < 3; i++) {
        bases[i] = 0x7f0000000000ull + (uint64_t)(index % 512 * 3 + i) * 0x10000000ull;
        snprintf(name, sizeof name, "/lib/part%u.so", i);
        make_module(make, i + 1, bases[i], bases[i] + 0x8000000, bases[i], 1, name,
                    &"\x11\x22\x33"[i], 1);
    }
    memset(edges, 0, EDGE_SLOTS * sizeof *edges);
    edge_count = 0;
    /* The first thread has as many as two others; each begins when the one before has ended, as a page's times rise. */
    uint64_t workers = samples / (thread_count + 1);
    run_thread(make, 1, samples - (thread_count - 1) * workers, start, bases);
    for (uint32_t thread = 2; thread <= thread_count; thread++)
        run_thread(make, thread, workers, make->now + 1000, bases);
    make_process_end(make, STREAM_END_EXIT, make->now + 5000, samples * 201000, 0, 0);
    snprintf(path, sizeof path, "%s/%u.lam", dir, index);
    bool ok = make_save(make, path);
    make_close(make);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 6) {
        fprintf(stderr, "usage: make_recording DIR SAMPLES PROCESSES [THREADS [APART_MS]]\n");
        return 2;
    }
    if (argc > 4)
        thread_count = (uint32_t)strtoul(argv[4], NULL, 10);
    if (argc > 5)
        apart_ticks = (uint32_t)strtoul(argv[5], NULL, 10) * TICKS_A_MS;
    uint64_t samples = strtoull(argv[2], NULL, 10);
    uint32_t processes = (uint32_t)strtoul(argv[3], NULL, 10);
    edges = calloc(EDGE_SLOTS, sizeof *edges);
    if (!edges || !processes || !thread_count || (mkdir(argv[1], 0777) < 0)) {
        perror(argv[1]);
        return 1;
    }
    /* As in a build: many small ones, and a few that take half of the time. */
    uint64_t left = samples;
    int failed = 0;
    for (uint32_t i = 0; i < processes && !failed; i++) {
        uint64_t mine = i % 16 == 0 ? samples / 2 / (processes / 16 + 1) : samples / 2 / processes;
        if (i == processes - 1 || mine > left)
            mine = left;
        left -= mine;
        failed = run_process(argv[1], i, mine);
    }
    free(edges);
    return failed;
}
