#include "reader/stream_names.h"

#include <stddef.h>
#include <string.h>

#include "stream/layout.h"

#define NAME_OF(table, value) \
    ((value) < sizeof(table) / sizeof *(table) && (table)[value] ? (table)[value] : "?")

static const char *const engines[] = {
    [STREAM_ENGINE_AUTO] = "auto",
    [STREAM_ENGINE_SIGTRAP] = "sigtrap",
    [STREAM_ENGINE_THREAD_PERF] = "thread_perf",
    [STREAM_ENGINE_CPU_TIMER] = "cpu_timer",
    [STREAM_ENGINE_NONE] = "none",
};

const char *stream_engine_name(uint32_t engine)
{
    return NAME_OF(engines, engine);
}

static const char *const unsampled_names[] = {
    [STREAM_UNSAMPLED_NO] = "no",
    [STREAM_UNSAMPLED_STATIC] = "static",
    [STREAM_UNSAMPLED_CLASS] = "class",
    [STREAM_UNSAMPLED_LIBC] = "libc",
    [STREAM_UNSAMPLED_SETUID] = "setuid",
    [STREAM_UNSAMPLED_ASAN] = "asan",
    [STREAM_UNSAMPLED_CGO] = "cgo",
    [STREAM_UNSAMPLED_TRACED] = "traced",
    [STREAM_UNSAMPLED_SKIPPED] = "skipped",
    [STREAM_UNSAMPLED_UNREADABLE] = "unreadable",
    [STREAM_UNSAMPLED_NO_RECORDING] = "no_recording",
    [STREAM_UNSAMPLED_FAILED] = "failed",
};
static const char *const unsampled_texts[] = {
    [STREAM_UNSAMPLED_NO] = "left nothing in the recording",
    [STREAM_UNSAMPLED_STATIC] = "statically linked",
    [STREAM_UNSAMPLED_CLASS] = "of another machine or word size",
    [STREAM_UNSAMPLED_LIBC] = "not linked against glibc",
    [STREAM_UNSAMPLED_SETUID] = "runs with other rights than its caller",
    [STREAM_UNSAMPLED_ASAN] = "address-sanitized, refuses a preload",
    [STREAM_UNSAMPLED_CGO] = "a Go program with C code",
    [STREAM_UNSAMPLED_TRACED] = "under a debugger",
    [STREAM_UNSAMPLED_SKIPPED] = "left out by --only or --skip",
    [STREAM_UNSAMPLED_UNREADABLE] = "its file cannot be read",
    [STREAM_UNSAMPLED_NO_RECORDING] = "could not write to the recording",
    [STREAM_UNSAMPLED_FAILED] = "the sampler could not be started in it",
};

const char *stream_unsampled_name(uint32_t why_not)
{
    return NAME_OF(unsampled_names, why_not);
}

const char *stream_unsampled_text(uint32_t why_not)
{
    return NAME_OF(unsampled_texts, why_not);
}

static const char *const wait_kinds[] = {
    [STREAM_WAIT_LOCK] = "lock",           [STREAM_WAIT_CHILD] = "child",
    [STREAM_WAIT_JOBSERVER] = "jobserver", [STREAM_WAIT_IO] = "io",
    [STREAM_WAIT_SLEEP] = "sleep",         [STREAM_WAIT_OTHER] = "other",
};

const char *stream_wait_kind_name(uint32_t kind)
{
    return NAME_OF(wait_kinds, kind);
}

static const char *const wait_calls[] = {
#define WAIT_CALL_NAME(number, name) [number] = #name,
    STREAM_WAIT_CALLS(WAIT_CALL_NAME)
#undef WAIT_CALL_NAME
};

const char *stream_wait_call_name(uint32_t call)
{
    return NAME_OF(wait_calls, call);
}

static const char *const spawn_kinds[] = {
    [STREAM_SPAWN_EXEC] = "exec",
    [STREAM_SPAWN_SPAWN] = "spawn",
    [STREAM_SPAWN_FORK] = "fork",
    [STREAM_SPAWN_VFORK_EXEC] = "vfork_exec",
};

const char *stream_spawn_kind_name(uint32_t kind)
{
    return NAME_OF(spawn_kinds, kind);
}

static const char *const end_hows[] = {
    [STREAM_END_EXIT] = "exit",
    [STREAM_END__EXIT] = "_exit",
    [STREAM_END_EXEC] = "exec",
    [STREAM_END_ABORT] = "abort",
};

const char *stream_end_how_name(uint32_t how)
{
    return NAME_OF(end_hows, how);
}

static const char *const origins[] = {
    [STREAM_THREAD_MAIN] = "main",
    [STREAM_THREAD_CREATED] = "created",
    [STREAM_THREAD_FOUND] = "found",
};

const char *stream_thread_origin_name(uint32_t origin)
{
    return NAME_OF(origins, origin);
}

static const char *const notice_names[] = {
    [STREAM_NOTICE_REOPENED] = "reopened",   [STREAM_NOTICE_SILENT] = "silent",
    [STREAM_NOTICE_TRUNCATED] = "truncated", [STREAM_NOTICE_SIGBUS] = "sigbus",
    [STREAM_NOTICE_NO_STACK] = "no_stack",   [STREAM_NOTICE_SECCOMP] = "seccomp",
};
static const char *const notice_texts[] = {
    [STREAM_NOTICE_REOPENED] = "the program closed the sampler's event; it was opened again",
    [STREAM_NOTICE_SILENT] =
        "the program closed the sampler's event, and it could not be opened again",
    [STREAM_NOTICE_TRUNCATED] = "somebody truncated the stream file while it was written",
    [STREAM_NOTICE_SIGBUS] = "a page of the stream file was lost while it was written",
    [STREAM_NOTICE_NO_STACK] = "samples were skipped: the signal stack was too small",
    [STREAM_NOTICE_SECCOMP] =
        "the program put itself under a system-call filter; the sampler withdrew before it",
};

const char *stream_notice_name(uint32_t notice)
{
    return NAME_OF(notice_names, notice);
}

const char *stream_notice_text(uint32_t notice)
{
    return NAME_OF(notice_texts, notice);
}

static const char *const loss_names[] = {
    [STREAM_LOSS_NO_SPACE] = "no_space",
    [STREAM_LOSS_FILE_LIMIT] = "file_limit",
    [STREAM_LOSS_IO] = "io",
    [STREAM_LOSS_TRUNCATED] = "truncated",
    [STREAM_LOSS_NO_MEMORY] = "no_memory",
    [STREAM_LOSS_IN_HANDLER] = "in_handler",
    [STREAM_LOSS_NO_COUNTER] = "no_counter",
};
static const char *const loss_texts[] = {
    [STREAM_LOSS_NO_SPACE] = "no space on the disk",
    [STREAM_LOSS_FILE_LIMIT] =
        "the file-size limit, or the recording's budget (max_bytes), was reached",
    [STREAM_LOSS_IO] = "the stream file could not be extended",
    [STREAM_LOSS_TRUNCATED] = "somebody truncated the stream file",
    [STREAM_LOSS_NO_MEMORY] = "no memory for a thread's state",
    [STREAM_LOSS_IN_HANDLER] = "a signal handler came while the thread's page was being changed",
    [STREAM_LOSS_NO_COUNTER] = "a thread's counters could not be opened: its values are 0",
};

const char *stream_loss_name(uint32_t loss)
{
    return NAME_OF(loss_names, loss);
}

const char *stream_loss_text(uint32_t loss)
{
    return NAME_OF(loss_texts, loss);
}

static const char *const damage_names[] = {
    [STREAM_DAMAGE_UNBEGUN_BYTES] = "unbegun_bytes",
    [STREAM_DAMAGE_MISSING_BYTES] = "missing_bytes",
    [STREAM_DAMAGE_PAGES] = "damaged_pages",
    [STREAM_DAMAGE_UNKNOWN_PAGES] = "unknown_pages",
    [STREAM_DAMAGE_GAPS] = "missing_pages",
    [STREAM_DAMAGE_RECORDS] = "damaged_records",
    [STREAM_DAMAGE_NODES] = "incomplete_nodes",
};
static const char *const damage_texts[STREAM_DAMAGE_KINDS][2] = {
    [STREAM_DAMAGE_UNBEGUN_BYTES] = {"byte claimed and never used", "bytes claimed and never used"},
    [STREAM_DAMAGE_MISSING_BYTES] = {"byte missing at the end of the file",
                                     "bytes missing at the end of the file"},
    [STREAM_DAMAGE_PAGES] = {"page damaged", "pages damaged"},
    [STREAM_DAMAGE_UNKNOWN_PAGES] = {"page of a kind that this version does not know",
                                     "pages of a kind that this version does not know"},
    [STREAM_DAMAGE_GAPS] = {"page missing in between", "pages missing in between"},
    [STREAM_DAMAGE_RECORDS] = {"record damaged", "records damaged"},
    [STREAM_DAMAGE_NODES] = {"stack with frames that were never completed",
                             "stacks with frames that were never completed"},
};

const char *stream_damage_name(uint32_t damage)
{
    return NAME_OF(damage_names, damage);
}

const char *stream_damage_text(uint32_t damage, uint64_t amount)
{
    return damage < STREAM_DAMAGE_KINDS ? damage_texts[damage][amount != 1] : "?";
}

static const char *const page_kinds[] = {
    [STREAM_PAGE_META] = "meta",       [STREAM_PAGE_SAMPLES] = "samples",
    [STREAM_PAGE_STACKS] = "stacks",   [STREAM_PAGE_MODULES] = "modules",
    [STREAM_PAGE_VOID] = "void",       [STREAM_PAGE_EVENTS] = "events",
    [STREAM_PAGE_RECORDS] = "records", [STREAM_PAGE_TREE] = "tree",
};

const char *stream_page_kind_name(uint32_t kind)
{
    return NAME_OF(page_kinds, kind);
}

static const char *const producers[] = {
    [STREAM_PRODUCER_AGENT] = "agent",
    [STREAM_PRODUCER_LIBRARY] = "library",
};

const char *stream_producer_name(uint32_t producer)
{
    return NAME_OF(producers, producer);
}

static const char *const clocks[] = {
    [STREAM_CLOCK_TSC] = "tsc",
    [STREAM_CLOCK_MONOTONIC] = "monotonic",
};

const char *stream_clock_name(uint32_t clock)
{
    return NAME_OF(clocks, clock);
}

static const char *const slot_codes[] = {
    [STREAM_SLOT_NONE] = "none",
    [STREAM_SLOT_OWNER] = "owner",
    [STREAM_SLOT_BASE] = "base",
    [STREAM_SLOT_END] = "end",
    [STREAM_SLOT_PAUSE] = "pause",
    [STREAM_SLOT_RESUME] = "resume",
    [STREAM_SLOT_TRACK_SWITCH] = "track_switch",
    [STREAM_SLOT_TRACK_END] = "track_end",
    [STREAM_SLOT_FOLD] = "fold",
    [STREAM_SLOT_CALLS] = "calls",
    [STREAM_SLOT_KIND] = "kind",
    [STREAM_SLOT_ARG] = "arg",
    [STREAM_SLOT_TEXT] = "text",
    [STREAM_SLOT_VALUE] = "value",
    [STREAM_SLOT_SELF] = "self",
    [STREAM_SLOT_COUNTER] = "counter",
    [STREAM_SLOT_COUNT] = "count",
    [STREAM_SLOT_TOTAL] = "total",
    [STREAM_SLOT_ACTIVE] = "active",
    [STREAM_SLOT_NODE] = "node",
};

const char *stream_slot_code_name(uint32_t code)
{
    if (code >= STREAM_SLOT_KIND_MIN && code <= STREAM_SLOT_KIND_ELSEWHERE)
        return "event";
    return NAME_OF(slot_codes, code);
}
