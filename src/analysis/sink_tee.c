#include "analysis/sink_tee.h"

#include <assert.h>

#include "base/error.h"

/* Every member of struct profile_sink_ops that takes something. */
#define CALLS(X)                        \
    X(session, profile_session)         \
    X(process, profile_process)         \
    X(module, profile_module)           \
    X(frame, profile_frame)             \
    X(stack, profile_stack)             \
    X(thread, profile_thread)           \
    X(thread_name, profile_thread_name) \
    X(sample, profile_sample)           \
    X(sample_path, profile_sample_path) \
    X(wait, profile_wait)               \
    X(track, profile_track)             \
    X(label, profile_label)             \
    X(path, profile_path)               \
    X(interval, profile_interval)       \
    X(instant, profile_instant)         \
    X(fold, profile_fold)               \
    X(sum, profile_sum)                 \
    X(thread_sum, profile_thread_sum)   \
    X(thread_end, profile_thread_end)   \
    X(notice, profile_notice)           \
    X(process_end, profile_process_end) \
    X(session_end, profile_session_end)

#define COUNT_CALL(name, type) +1
static_assert(sizeof(struct profile_sink_ops) / sizeof(void *) ==
                  1 CALLS(COUNT_CALL), /* and knows_args */
              "a call of the sink is missing above");

#define DEFINE_CALL(name, type)                              \
    static int tee_##name(void *ctx, const struct type *it)  \
    {                                                        \
        const struct sink_tee *tee = ctx;                    \
        int rc = LAM_OK;                                     \
        if (tee->first.ops->name)                            \
            rc = tee->first.ops->name(tee->first.ctx, it);   \
        if (rc >= 0 && tee->second.ops->name)                \
            rc = tee->second.ops->name(tee->second.ctx, it); \
        return rc;                                           \
    }
CALLS(DEFINE_CALL)

static bool is_content(const struct profile_sink *sink, uint32_t process, uint64_t args_id)
{
    return !sink->wants.args ||
           (sink->ops->knows_args && sink->ops->knows_args(sink->ctx, process, args_id));
}

static bool tee_knows_args(void *ctx, uint32_t process, uint64_t args_id)
{
    const struct sink_tee *tee = ctx;
    return is_content(&tee->first, process, args_id) && is_content(&tee->second, process, args_id);
}

/* Whether a sink does not miss the events where it gets their sums. */
static bool is_content_with_sums(const struct profile_sink *sink)
{
    return sink->wants.sums || (!sink->ops->interval && !sink->ops->instant);
}

#define SET_CALL(name, type) \
    tee->ops.name = first->ops->name || second->ops->name ? tee_##name : NULL;

struct profile_sink sink_tee(struct sink_tee *tee, const struct profile_sink *first,
                             const struct profile_sink *second)
{
    tee->first = *first;
    tee->second = *second;
    CALLS(SET_CALL)
    tee->ops.knows_args = tee_knows_args;
    return (struct profile_sink){
        .ctx = tee,
        .ops = &tee->ops,
        .wants = {.order = second->wants.order,
                  .args = first->wants.args || second->wants.args,
                  .counters = first->wants.counters || second->wants.counters,
                  .counted = first->wants.counted || second->wants.counted,
                  .paths = first->wants.paths || second->wants.paths,
                  .fold_paths = first->wants.fold_paths || second->wants.fold_paths,
                  .sample_paths = first->wants.sample_paths || second->wants.sample_paths,
                  .sums = is_content_with_sums(first) && is_content_with_sums(second)}};
}
