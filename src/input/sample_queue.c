#include "input/sample_queue.h"

#include "base/error.h"

int sample_queue_add(struct sample_queue *queue, const struct profile_sample *sample)
{
    bool is_new;
    uint64_t *span = map_slot(&queue->by_thread, sample->thread, queue->spans.count + 1, &is_new);
    size_t at = queue->samples.count;
    if (!span || (is_new && array_push(&queue->spans, ((struct sample_span){at, at})) < 0) ||
        array_push(&queue->samples, *sample) < 0)
        return LAM_E_NOMEM;
    queue->spans.items[*span - 1].end = at + 1;
    return LAM_OK;
}

const struct profile_sample *sample_queue_take(struct sample_queue *queue, uint32_t thread,
                                               int64_t until_ns)
{
    uint64_t number = map_get_or(&queue->by_thread, thread, 0);
    struct sample_span *span = number ? &queue->spans.items[number - 1] : NULL;
    if (!span || span->at == span->end || queue->samples.items[span->at].at_ns >= until_ns)
        return NULL;
    return &queue->samples.items[span->at++];
}

int sample_queue_push_rest(struct sample_queue *queue, const struct profile_sink *sink)
{
    int rc = LAM_OK;
    array_each(&queue->spans, span)
    {
        for (; rc >= 0 && span->at < span->end; span->at++) {
            struct profile_sample_path told = {.sample = queue->samples.items[span->at]};
            rc = sink->ops->sample_path(sink->ctx, &told);
        }
    }
    return rc;
}

void sample_queue_free(struct sample_queue *queue)
{
    array_free(&queue->samples);
    array_free(&queue->spans);
    map_free(&queue->by_thread);
}
