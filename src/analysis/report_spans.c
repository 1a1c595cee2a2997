/* Spans of a report: each is kept where they are wanted, and what they say of when a thread worked in any case. */
#include "analysis/report_state.h"

static int keep_span(struct report_state *state, uint32_t thread, const struct span *span)
{
    struct report *report = &state->report;
    const struct sample_group *group = &state->groups.items[span->group];
    struct report_span kept = {.process = report->threads.items[thread].process,
                               .thread = thread,
                               .role = group->role,
                               .phase = span->phase,
                               .cgu = group->cgu,
                               .start_ns = span->start_ns,
                               .end_ns = span->end_ns,
                               .cpu_ns = span->cpu_ns,
                               .samples = (uint32_t)span->samples,
                               .gap_ns =
                                   span->gap_ns < UINT32_MAX ? (uint32_t)span->gap_ns : UINT32_MAX};
    return array_push(&report->spans, kept);
}

int report_end_span(struct report_state *state, uint32_t thread, const struct span *span)
{
    struct work_stretch stretch = {span->start_ns, span->end_ns, thread};
    int rc =
        work_stretch_add(&state->work, stretch, &state->thread_states.items[thread].last_stretch);
    if (rc == LAM_OK && state->options.want_spans)
        rc = keep_span(state, thread, span);
    return rc;
}

static int compare_spans(const void *left, const void *right)
{
    const struct report_span *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* An input that pushes one thread after another leaves them in order. */
static bool are_in_order(const struct report *report)
{
    for (size_t i = 1; i < report->spans.count; i++)
        if (compare_spans(&report->spans.items[i - 1], &report->spans.items[i]) > 0)
            return false;
    return true;
}

int report_finish_spans(struct report_state *state)
{
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < state->thread_states.count; i++) {
        struct span done;
        if (span_finish(&state->thread_states.items[i].span, &done))
            rc = report_end_span(state, (uint32_t)i, &done);
    }
    if (rc == LAM_OK && !are_in_order(&state->report))
        array_sort(&state->report.spans, compare_spans);
    return rc;
}
