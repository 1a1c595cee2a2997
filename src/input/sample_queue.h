/* The samples of a process, kept until its events tell in which interval each of them fell. Only for sinks that want that. */
#ifndef LAMELLA_INPUT_SAMPLE_QUEUE_H
#define LAMELLA_INPUT_SAMPLE_QUEUE_H

#include "base/array.h"
#include "base/map.h"
#include "profile/sink.h"

struct sample_span { /* a thread's samples that are left */
    size_t at, end;
};

/* All-zero is empty and valid. */
struct sample_queue {
    LAM_ARRAY(struct profile_sample) samples;
    LAM_ARRAY(struct sample_span) spans;
    struct map by_thread; /* the sink's id → index in spans + 1 */
};

/* Samples of one thread come together and in the order of time. LAM_OK or LAM_E_NOMEM. */
int sample_queue_add(struct sample_queue *queue, const struct profile_sample *sample);

/* Takes the thread's next sample if it is before until_ns, else NULL. Lives until the queue is added to. */
const struct profile_sample *sample_queue_take(struct sample_queue *queue, uint32_t thread,
                                               int64_t until_ns);

/* Pushes what is left: in no interval. LAM_OK or the sink's code. */
int sample_queue_push_rest(struct sample_queue *queue, const struct profile_sink *sink);

void sample_queue_free(struct sample_queue *queue);

#endif
