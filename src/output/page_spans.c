#include "output/page_spans.h"

#include <string.h>

#include "output/page_reduce.h"

enum {
    NS_A_SECOND = 1000000000,
    MICROSECOND_NS = 1000,
    PARTS_OF_A_PERIOD = 10,
    USUAL_SPANS = 1 << 16,
    QUANTUM_UNIT_MAX = 1000,
};

/* Each divides a second, as do five of it. */
uint64_t page_quantum_ns(const struct report *report)
{
    static const uint64_t steps_ns[] = {1000, 1250, 1600, 2000, 2500, 4000, 5000, 8000};
    uint64_t rate = report->session.rate_hz;
    uint64_t most = rate ? NS_A_SECOND / rate / PARTS_OF_A_PERIOD : MICROSECOND_NS;
    uint64_t quantum = MICROSECOND_NS;
    for (uint64_t unit = 1; unit <= QUANTUM_UNIT_MAX; unit *= 10) {
        for (size_t i = 0; i < sizeof steps_ns / sizeof *steps_ns; i++) {
            if (steps_ns[i] * unit <= most)
                quantum = steps_ns[i] * unit;
        }
    }
    return quantum;
}

struct span_columns {
    struct page_column *gap, *length, *phase, *role, *cgu, *samples, *cpu;
};

static struct span_columns make_columns(struct page_columns *data, uint64_t quantum_ns)
{
    struct page_table *table = page_table(data, "spans");
    struct span_columns to = {
        .gap = page_column(data, table, "gap", PAGE_INT),
        .length = page_column(data, table, "length", PAGE_INT),
        .phase = page_column(data, table, "phase", PAGE_PHASE),
        .role = page_column(data, table, "role", PAGE_ROLE),
        .cgu = page_column(data, table, "cgu", PAGE_TEXT),
        .samples = page_column(data, table, "samples", PAGE_INT),
        .cpu = page_column(data, table, "cpu", PAGE_INT),
    };
    if (data->failed == LAM_OK)
        to.length->per = to.cpu->per = NS_A_SECOND / quantum_ns;
    return to;
}

/* The running sums are rounded and not the spans: what one loses its neighbour gains. */
struct thread_walk {
    int64_t end_ns; /* of the span before */
    int64_t end;    /* the same as the page has it, in quanta */
    uint64_t cpu_ns;
    int64_t cpu;
};

/* How many steps of a pause lie between the span before and this one. What the steps are too coarse for goes into the next. */
static int64_t pause_before(const struct report_span *span, uint64_t quantum_ns,
                            const struct thread_walk *walk)
{
    if (span->start_ns == walk->end_ns)
        return 0;
    return page_quanta(page_quanta(span->start_ns, quantum_ns) - walk->end, PAGE_PAUSE_QUANTA);
}

static void put_span(struct page_columns *data, const struct span_columns *to,
                     const struct report_span *span, uint64_t quantum_ns, struct thread_walk *walk)
{
    int64_t length = page_quanta(span->end_ns, quantum_ns) - page_quanta(span->start_ns, quantum_ns);
    int64_t pause = pause_before(span, quantum_ns, walk);
    walk->cpu_ns += span->cpu_ns;
    int64_t cpu = page_quanta((int64_t)walk->cpu_ns, quantum_ns);
    page_int(data, to->gap, pause);
    page_int(data, to->length, length);
    page_int(data, to->phase, span->phase);
    page_int(data, to->role, (int64_t)span->role);
    page_text(data, to->cgu, span->cgu, span->cgu ? strlen(span->cgu) : 0);
    page_int(data, to->samples, span->samples);
    page_int(data, to->cpu, cpu - walk->cpu);
    walk->end_ns = span->end_ns;
    walk->end += pause * PAGE_PAUSE_QUANTA + length;
    walk->cpu = cpu;
}

static int compare_numbers(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

int64_t page_usual_cpu(const struct report *report, uint64_t quantum_ns)
{
    LAM_ARRAY(int64_t) weights = {0};
    int64_t usual = 0;
    for (size_t i = 0; i < report->spans.count && i < USUAL_SPANS; i++) {
        const struct report_span *span = &report->spans.items[i];
        if (span->samples && array_push(&weights, (int64_t)(span->cpu_ns / span->samples)) < 0)
            break; /* any number will do */
    }
    array_sort(&weights, compare_numbers);
    if (weights.count)
        usual = page_quanta(weights.items[weights.count / 2], quantum_ns);
    array_free(&weights);
    return usual;
}

int page_spans(struct page_columns *data, const struct report *report, uint64_t quantum_ns)
{
    struct span_columns to = make_columns(data, quantum_ns);
    struct page_column *counts = page_column(data, page_table(data, "threads"), "spans", PAGE_INT);
    size_t next = 0;
    if (data->failed < 0)
        return data->failed;
    to.gap->per = NS_A_SECOND / quantum_ns / PAGE_PAUSE_QUANTA;
    to.cpu->related = (struct page_term){to.samples, page_usual_cpu(report, quantum_ns)};
    to.length->related = (struct page_term){to.cpu, 1};
    for (size_t thread = 0; thread < report->threads.count && data->failed == LAM_OK; thread++) {
        int64_t start_ns = report->threads.items[thread].start_ns;
        struct thread_walk walk = {.end_ns = start_ns, .end = page_quanta(start_ns, quantum_ns)};
        size_t first = next;
        for (; next < report->spans.count && report->spans.items[next].thread == thread; next++)
            put_span(data, &to, &report->spans.items[next], quantum_ns, &walk);
        page_int(data, counts, (int64_t)(next - first));
    }
    if (data->failed == LAM_OK)
        page_table(data, "spans")->rows = next;
    return data->failed;
}
