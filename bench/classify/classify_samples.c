/* classify_samples RECORDING SAMPLES: how long the classifier takes for SAMPLES samples, once their frames have names. The
 * recording's stacks and samples are pushed again and again, each time as new ones, until there are enough: the number of
 * different stacks grows with that of samples, as in a longer build. Prints CPU seconds of this one thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/symbol_names.h"
#include "base/array.h"
#include "input/read_recording.h"

struct looked { /* at: a sample */
    uint32_t stack;
    uint32_t fallback;
};

struct capture {
    struct classifier *cls;
    struct frame_names source;
    struct stack_states states;
    LAM_ARRAY(struct profile_frame) frames;
    LAM_ARRAY(struct profile_stack) stacks;
    LAM_ARRAY(struct looked) samples;
    LAM_ARRAY(uint32_t) fallbacks; /* by thread */
    LAM_ARRAY(char *) programs;    /* by process */
};

static int on_process(void *ctx, const struct profile_process *process)
{
    struct capture *cap = ctx;
    if (process->process >= cap->programs.count &&
        array_resize(&cap->programs, (size_t)process->process + 1) < 0)
        return LAM_E_NOMEM;
    cap->programs.items[process->process] =
        strndup(process->exe.bytes ? process->exe.bytes : "", process->exe.size);
    return LAM_OK;
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct capture *cap = ctx;
    if (thread->thread >= cap->fallbacks.count &&
        array_resize(&cap->fallbacks, (size_t)thread->thread + 1) < 0)
        return LAM_E_NOMEM;
    cap->fallbacks.items[thread->thread] =
        classifier_thread(cap->cls, cap->programs.items[thread->process], thread->name.bytes,
                          thread->name.size, false)
            .fallback;
    return LAM_OK;
}

static int on_module(void *ctx, const struct profile_module *module)
{
    return stack_states_module(&((struct capture *)ctx)->states, module);
}

/* Symbols are looked up here, outside of what is timed. */
static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct capture *cap = ctx;
    return array_push(&cap->frames, *frame) < 0 ? LAM_E_NOMEM
                                                : stack_states_frame(&cap->states, frame);
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    return array_push(&((struct capture *)ctx)->stacks, *stack);
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct capture *cap = ctx;
    struct looked looked = {sample->stack, cap->fallbacks.items[sample->thread]};
    return array_push(&cap->samples, looked);
}

static const struct profile_sink_ops ops = {.process = on_process,
                                            .module = on_module,
                                            .frame = on_frame,
                                            .stack = on_stack,
                                            .thread = on_thread,
                                            .sample = on_sample};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The recording once more, its stacks with ids from `base` on. */
static int push_again(struct capture *cap, uint32_t base, size_t samples, uint64_t *sum)
{
    int rc = LAM_OK;
    for (size_t i = 0; i < cap->stacks.count && rc == LAM_OK; i++) {
        struct profile_stack stack = cap->stacks.items[i];
        stack.stack += base;
        stack.parent += stack.parent ? base : 0;
        rc = stack_states_stack(&cap->states, &stack);
    }
    for (size_t i = 0; i < samples && rc == LAM_OK; i++) {
        const struct looked *looked = &cap->samples.items[i];
        uint32_t bucket = 0;
        struct stack_info info = stack_states_get(&cap->states, looked->stack + base);
        rc = classifier_decide(cap->cls, info.state, looked->fallback, &bucket);
        *sum += bucket;
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct capture cap = {0};
    struct symbols *symbols = NULL;
    struct symbol_names names = {0};
    size_t wanted = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (wanted == 0) {
        fprintf(stderr, "usage: classify_samples RECORDING SAMPLES\n");
        return 2;
    }
    int rc = classifier_open(&cap.cls, NULL, &err);
    if (rc == LAM_OK)
        rc = symbols_open(&symbols, argv[1], &err);
    names.symbols = symbols;
    struct frame_names source = symbol_names_frames(&names);
    if (rc == LAM_OK) {
        stack_states_init(&cap.states, cap.cls, &source);
        struct profile_sink sink = {.ctx = &cap, .ops = &ops};
        rc = read_recording(argv[1], &sink, &err);
    }
    if (rc < 0 || cap.samples.count == 0) {
        fprintf(stderr, "%s\n", rc < 0 ? err.msg : "no samples");
        return 1;
    }
    uint32_t base = 0;
    uint64_t sum = 0;
    double begin = cpu_seconds();
    for (size_t done = 0; done < wanted && rc == LAM_OK;) {
        size_t now = wanted - done < cap.samples.count ? wanted - done : cap.samples.count;
        rc = push_again(&cap, base, now, &sum);
        base += (uint32_t)cap.stacks.count;
        done += now;
    }
    double took = cpu_seconds() - begin;
    printf("%zu samples, %u stacks: %.3f s, %.1f ns a sample (%llu)\n", wanted, base, took,
           took * 1e9 / (double)wanted, (unsigned long long)sum);
    return rc < 0;
}
