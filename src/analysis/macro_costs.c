#include "analysis/macro_costs.h"

#include <string.h>

#include "base/map.h"

struct placed_use {
    struct macro_use use;
    uint32_t bucket;
};

struct macro_search {
    const struct report *report;
    bool (*wanted)(void *ctx, uint32_t process);
    void *ctx;
    struct macro_costs *costs;
    struct map known; /* process and bucket → place in uses */
    LAM_ARRAY(struct placed_use) uses;
};

static bool is_macro(const struct phase_bucket *bucket)
{
    return strcmp(bucket->phase_name, "proc_macro") == 0 && bucket->detail_kind == PHASE_DETAIL_NAMED;
}

/* NULL with *rc: not a macro's, not wanted, or out of memory. */
static struct macro_use *use_of(struct macro_search *search, uint32_t process, uint32_t bucket,
                                int *rc)
{
    struct phase_bucket place = classifier_bucket(search->report->cls, bucket);
    if (!is_macro(&place) || (search->wanted && !search->wanted(search->ctx, process)))
        return NULL;
    bool added;
    uint64_t *slot =
        map_slot(&search->known, (uint64_t)process << 32 | bucket, search->uses.count, &added);
    struct placed_use fresh = {.use = {.process = process}, .bucket = bucket};
    if (!slot || (added && array_push(&search->uses, fresh) < 0)) {
        *rc = LAM_E_NOMEM;
        return NULL;
    }
    return &search->uses.items[*slot].use;
}

static int collect_uses(struct macro_search *search)
{
    const struct report *report = search->report;
    int rc = LAM_OK;
    for (size_t i = 0; i < report->cells.count && rc == LAM_OK; i++) {
        const struct report_cell *cell = &report->cells.items[i];
        struct macro_use *use = use_of(search, cell->process, cell->bucket, &rc);
        if (!use)
            continue;
        use->samples += cell->amount.samples;
        use->cpu_ns += cell->amount.cpu_ns;
    }
    for (size_t i = 0; i < report->wait_cells.count && rc == LAM_OK; i++) {
        const struct report_wait_cell *cell = &report->wait_cells.items[i];
        struct macro_use *use = use_of(search, cell->process, cell->bucket, &rc);
        if (!use)
            continue;
        use->waits += cell->count;
        use->wait_ns += cell->ns;
    }
    return rc;
}

static int compare_uses(const void *a, const void *b)
{
    const struct placed_use *left = a, *right = b;
    if (left->bucket != right->bucket)
        return left->bucket < right->bucket ? -1 : 1;
    if (left->use.cpu_ns != right->use.cpu_ns)
        return left->use.cpu_ns > right->use.cpu_ns ? -1 : 1;
    return left->use.process < right->use.process ? -1 : left->use.process > right->use.process;
}

static int compare_crates(const void *a, const void *b)
{
    const struct macro_cost *left = a, *right = b;
    if (left->cpu_ns != right->cpu_ns)
        return left->cpu_ns > right->cpu_ns ? -1 : 1;
    return strcmp(left->crate, right->crate);
}

/* Uses of one crate stand together, and are added up. */
static int group_uses(struct macro_search *search)
{
    struct macro_costs *costs = search->costs;
    array_sort(&search->uses, compare_uses);
    int rc = LAM_OK;
    uint32_t at = 0, bucket = UINT32_MAX;
    array_each(&search->uses, one)
    {
        struct phase_bucket place = classifier_bucket(search->report->cls, one->bucket);
        if (rc == LAM_OK)
            rc = array_push(&costs->uses, one->use);
        if (one->bucket != bucket && rc == LAM_OK)
            rc = array_push(&costs->crates,
                            (struct macro_cost){.crate = place.detail, .first_use = at});
        bucket = one->bucket;
        at++;
        if (rc < 0)
            continue;
        struct macro_cost *crate = &array_last(&costs->crates);
        crate->samples += one->use.samples;
        crate->cpu_ns += one->use.cpu_ns;
        crate->waits += one->use.waits;
        crate->wait_ns += one->use.wait_ns;
        crate->use_count++;
    }
    array_sort(&costs->crates, compare_crates);
    return rc;
}

int macro_costs_make(const struct report *report, bool (*wanted)(void *ctx, uint32_t process),
                     void *ctx, struct macro_costs *costs)
{
    memset(costs, 0, sizeof *costs);
    struct macro_search search = {.report = report, .wanted = wanted, .ctx = ctx, .costs = costs};
    int rc = collect_uses(&search);
    if (rc == LAM_OK)
        rc = group_uses(&search);
    map_free(&search.known);
    array_free(&search.uses);
    if (rc < 0)
        macro_costs_free(costs);
    return rc;
}

void macro_costs_free(struct macro_costs *costs)
{
    array_free(&costs->crates);
    array_free(&costs->uses);
}
