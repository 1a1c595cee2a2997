/* Any bytes as events, walked in both orders, into sums and to branches, by one and by many; all must agree. */
#include <stddef.h>

#include "input/interval_chains_test.h"
#include "input/profdata_heard_test.h"
#include "input/profdata_tally_test.h"
#include "profdata_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
    uint64_t intervals, instants, depth;
    struct chains chains; /* of the first ones */
};

enum { CHAINED_MAX = 300 };

static int add_interval(void *ctx, const struct profile_interval *interval)
{
    struct sums *sums = ctx;
    if (interval->end_ns < interval->start_ns ||
        (interval->self_ns != PROFILE_UNKNOWN && interval->self_ns > interval->active_ns))
        __builtin_trap();
    sums->intervals++;
    sums->depth += interval->depth;
    return sums->chains.count < CHAINED_MAX ? chains_add(&sums->chains, interval) : LAM_OK;
}

static int add_instant(void *ctx, const struct profile_instant *instant)
{
    (void)instant;
    ((struct sums *)ctx)->instants++;
    return LAM_OK;
}

static void walk(struct profdata_file *file, enum profile_order order, struct sums *sums)
{
    static const struct profile_sink_ops ops = {.interval = add_interval, .instant = add_instant};
    struct profile_sink sink = {.ctx = sums, .ops = &ops};
    sink.wants = (struct profile_wants){.order = order, .args = true, .paths = true};
    struct profdata_rig rig;
    profdata_rig_open(&rig, file, &sink, NULL, 0);
    int rc = order == PROFILE_ORDER_START ? profdata_walk_forward(&rig.walk, &rig.order)
                                          : profdata_walk_backward(&rig.walk, &rig.order);
    if (rc < 0 || chains_cross(&sums->chains))
        __builtin_trap();
    array_free(&sums->chains);
    profdata_rig_close(&rig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "Query\xfftypeck\x1emain\xff";
    if (size < 1)
        return 0;
    uint32_t version = data[0] & 1 ? 8 : 9;
    struct strbuf bytes = {0};
    struct profdata_file file;
    struct sums any = {.depth = 0}, start = {.depth = 0};
    fuzz_begin(&bytes, version);
    fuzz_page(&bytes, version, 1, text, sizeof text - 1);
    fuzz_page(&bytes, version, 0, data + 1, size - 1);
    if (profdata_open_memory(&file, bytes.data, bytes.length, "fuzz", NULL) < 0)
        __builtin_trap();
    walk(&file, PROFILE_ORDER_ANY, &any);
    walk(&file, PROFILE_ORDER_START, &start);
    if (any.intervals != start.intervals || any.instants != start.instants)
        __builtin_trap();
    static struct pool *pool;
    static const uint64_t sizes[] = {1, 3};
    if ((!pool && pool_open(&pool, 2, NULL) < 0) || tally_check(&file, pool, sizes, 2, NULL) < 0 ||
        heard_check(&file, pool, sizes, 2) < 0)
        __builtin_trap();
    profdata_close(&file);
    strbuf_free(&bytes);
    return 0;
}
