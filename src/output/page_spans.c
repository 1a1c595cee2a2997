#include "output/page_spans.h"

#include <string.h>

#include "output/page_reduce.h"

enum {
    NS_A_SECOND = 1000000000,
    MICROSECOND_NS = 1000,
    PARTS_OF_A_PERIOD = 10,
    USUAL_SPANS = 1 << 16
};

uint64_t page_quantum_ns(const struct report *report)
{
    uint64_t rate = report->session.rate_hz;
    uint64_t most = rate ? NS_A_SECOND / rate / PARTS_OF_A_PERIOD : MICROSECOND_NS;
    uint64_t quantum = MICROSECOND_NS;
    for (;;) {
        static const uint64_t steps[] = {1, 2, 5};
        for (size_t i = 3; i-- > 0;) {
            if (quantum * steps[i] <= most && quantum * 10 > most)
                return quantum * steps[i];
        }
        if (quantum * 10 > most)
            return quantum;
        quantum *= 10;
    }
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
        to.gap->per = to.length->per = to.cpu->per = NS_A_SECOND / quantum_ns;
    return to;
}

/* The running sums are rounded and not the spans: what one loses its neighbour gains. */
struct thread_walk {
    int64_t end; /* of the span before, in quanta */
    uint64_t cpu_ns;
    int64_t cpu;
};

static void put_span(struct page_columns *data, const struct span_columns *to,
                     const struct report_span *span, uint64_t quantum_ns, struct thread_walk *walk)
{
    int64_t start = page_quanta(span->start_ns, quantum_ns),
            end = page_quanta(span->end_ns, quantum_ns);
    walk->cpu_ns += span->cpu_ns;
    int64_t cpu = page_quanta((int64_t)walk->cpu_ns, quantum_ns);
    page_int(data, to->gap, start - walk->end);
    page_int(data, to->length, end - start);
    page_int(data, to->phase, span->phase);
    page_int(data, to->role, (int64_t)span->role);
    page_text(data, to->cgu, span->cgu, span->cgu ? strlen(span->cgu) : 0);
    page_int(data, to->samples, span->samples);
    page_int(data, to->cpu, cpu - walk->cpu);
    walk->end = end;
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
    to.cpu->related = (struct page_term){to.samples, page_usual_cpu(report, quantum_ns)};
    to.length->related = (struct page_term){to.cpu, 1};
    for (size_t thread = 0; thread < report->threads.count && data->failed == LAM_OK; thread++) {
        struct thread_walk walk = {
            .end = page_quanta(report->threads.items[thread].start_ns, quantum_ns)};
        size_t first = next;
        for (; next < report->spans.count && report->spans.items[next].thread == thread; next++)
            put_span(data, &to, &report->spans.items[next], quantum_ns, &walk);
        page_int(data, counts, (int64_t)(next - first));
    }
    if (data->failed == LAM_OK)
        page_table(data, "spans")->rows = next;
    return data->failed;
}
