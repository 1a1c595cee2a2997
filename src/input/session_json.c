#include "input/session_json.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/memory.h"

enum { SESSION_VERSION = 1 };

/* A gigabyte of poll would be 10 hours of 10,000 processes; beyond it something else is in the file. */
#define SESSION_LIMIT_BYTES ((size_t)1 << 30)

enum member_kind {
    MEMBER_TEXT,
    MEMBER_TEXTS,
    MEMBER_U64,
    MEMBER_U32,
    MEMBER_I64,
    MEMBER_BOOL,
    MEMBER_DOUBLE,
    MEMBER_U64_4,
    MEMBER_CALL
};

struct loader {
    struct json_reader json;
    struct session_json *session;
};

struct member {
    const char *key;
    enum member_kind kind;
    size_t offset;
    int (*call)(struct loader *loader, void *target); /* MEMBER_CALL: reads the value whole */
};

static int read_members(struct loader *loader, const struct member *members, void *object);

static int keep_text(struct loader *loader, const char **out)
{
    *out = arena_strndup(&loader->session->arena, loader->json.text, loader->json.length);
    return *out ? LAM_OK : json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
}

static int read_texts(struct loader *loader, struct session_texts *texts)
{
    LAM_ARRAY(const char *) list = {0};
    int rc = LAM_OK;
    while (rc >= 0 && (rc = json_next_element(&loader->json)) > 0) {
        const char *text = NULL;
        if (loader->json.event != JSON_STRING)
            rc = json_fail(&loader->json, LAM_E_CORRUPT, "expected a string in a list of strings");
        else
            rc = keep_text(loader, &text);
        if (rc >= 0 && array_push(&list, text) < 0)
            rc = json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
    }
    if (rc >= 0) {
        texts->items = arena_array(&loader->session->arena, list.count, sizeof *texts->items);
        if (!texts->items)
            rc = json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
        else if (list.count)
            memcpy(texts->items, list.items, list.count * sizeof *texts->items);
        texts->count = rc < 0 ? 0 : list.count;
    }
    array_free(&list);
    return rc < 0 ? rc : LAM_OK;
}

static int read_u64_4(struct loader *loader, uint64_t *values)
{
    int rc;
    size_t count = 0;
    while ((rc = json_next_element(&loader->json)) > 0) {
        uint64_t value = 0;
        if (loader->json.event != JSON_NUMBER || !json_get_u64(&loader->json, &value))
            return json_fail(&loader->json, LAM_E_CORRUPT,
                             "expected a whole number in a list of four");
        if (count < 4)
            values[count++] = value;
    }
    return rc;
}

/* The value whose first event was just read goes to its member. */
static int read_scalar(struct loader *loader, const struct member *member, void *target)
{
    struct json_reader *json = &loader->json;
    static const int wanted[] = {
        [MEMBER_TEXT] = JSON_STRING,   [MEMBER_TEXTS] = JSON_ARRAY_BEGIN,
        [MEMBER_U64] = JSON_NUMBER,    [MEMBER_U32] = JSON_NUMBER,
        [MEMBER_I64] = JSON_NUMBER,    [MEMBER_BOOL] = JSON_BOOL,
        [MEMBER_DOUBLE] = JSON_NUMBER, [MEMBER_U64_4] = JSON_ARRAY_BEGIN,
    };
    if (json->event != wanted[member->kind])
        return json_fail(json, LAM_E_CORRUPT, "a value of another type than its key has");
    uint64_t u64 = 0;
    int64_t i64 = 0;
    switch (member->kind) {
    case MEMBER_TEXT:
        return keep_text(loader, target);
    case MEMBER_TEXTS:
        return read_texts(loader, target);
    case MEMBER_U64_4:
        return read_u64_4(loader, target);
    case MEMBER_BOOL:
        *(bool *)target = json->boolean;
        return LAM_OK;
    case MEMBER_DOUBLE:
        *(double *)target = json->number;
        return LAM_OK;
    case MEMBER_I64:
        if (!json_get_i64(json, &i64))
            return json_fail(json, LAM_E_CORRUPT, "expected a whole number");
        *(int64_t *)target = i64;
        return LAM_OK;
    default:
        if (!json_get_u64(json, &u64) || (member->kind == MEMBER_U32 && u64 > UINT32_MAX))
            return json_fail(json, LAM_E_CORRUPT, "expected a whole number that is not negative");
        if (member->kind == MEMBER_U32)
            *(uint32_t *)target = (uint32_t)u64;
        else
            *(uint64_t *)target = u64;
        return LAM_OK;
    }
}

static const struct member *find_member(const struct json_reader *json, const struct member *members)
{
    for (; members->key; members++) {
        if (json_key_is(json, members->key))
            return members;
    }
    return NULL;
}

/* The rest of an object whose beginning was read. null leaves a member as it was, an unknown key is skipped. */
static int read_members(struct loader *loader, const struct member *members, void *object)
{
    struct json_reader *json = &loader->json;
    int rc;
    while ((rc = json_next_key(json)) > 0) {
        const struct member *member = find_member(json, members);
        rc = json_next(json);
        if (rc < 0)
            return rc;
        if (!member) {
            rc = json_skip_rest(json);
        } else if (json->event != JSON_NULL) {
            void *target = (char *)object + member->offset;
            rc = member->kind == MEMBER_CALL ? member->call(loader, target)
                                             : read_scalar(loader, member, target);
        }
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int want(struct loader *loader, int event, const char *reason)
{
    return loader->json.event == event ? LAM_OK : json_fail(&loader->json, LAM_E_CORRUPT, reason);
}

#define USAGE_MEMBER(name)                                                  \
    {                                                                       \
#name, MEMBER_U64, offsetof(struct session_usage, usage.name), NULL \
    }
static const struct member usage_members[] = {
    USAGE_MEMBER(user_ns),         USAGE_MEMBER(sys_ns),
    USAGE_MEMBER(max_rss_bytes),   USAGE_MEMBER(minor_faults),
    USAGE_MEMBER(major_faults),    USAGE_MEMBER(switches_voluntary),
    USAGE_MEMBER(switches_forced), USAGE_MEMBER(blocks_in),
    USAGE_MEMBER(blocks_out),      {0},
};

static int read_usage(struct loader *loader, void *target)
{
    struct session_usage *usage = target;
    int rc = want(loader, JSON_OBJECT_BEGIN, "'usage' is no object");
    if (rc < 0)
        return rc;
    usage->is_known = true;
    return read_members(loader, usage_members, usage);
}

#define REAPED(key, kind, member)                                \
    {                                                            \
        key, kind, offsetof(struct session_reaped, member), NULL \
    }
static const struct member reaped_members[] = {
    REAPED("pid", MEMBER_U32, pid),
    REAPED("kernel_start", MEMBER_U64, kernel_start),
    REAPED("comm", MEMBER_TEXT, comm),
    REAPED("status", MEMBER_I64, status),
    REAPED("at_ns", MEMBER_I64, at_ns),
    {"usage", MEMBER_CALL, offsetof(struct session_reaped, usage), read_usage},
    {0},
};

static int read_reaped(struct loader *loader, void *target)
{
    (void)target;
    struct session_json *session = loader->session;
    int rc = want(loader, JSON_ARRAY_BEGIN, "'reaped' is no list");
    while (rc >= 0 && (rc = json_next_element(&loader->json)) > 0) {
        struct session_reaped *reaped = array_add(&session->reaped);
        if (!reaped)
            return json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
        reaped->status = -1;
        rc = want(loader, JSON_OBJECT_BEGIN, "an item of 'reaped' is no object");
        if (rc >= 0)
            rc = read_members(loader, reaped_members, reaped);
    }
    return rc;
}

/* [a, b, c], whose '[' was read: a time or an index, and two sizes. */
static int read_three(struct loader *loader, const char *what, int64_t *first, uint64_t sizes[2])
{
    struct json_reader *json = &loader->json;
    int rc = want(loader, JSON_ARRAY_BEGIN, what);
    if (rc >= 0)
        rc = json_read_i64(json, first);
    for (int i = 0; rc >= 0 && i < 2; i++)
        rc = json_read_u64(json, &sizes[i]);
    if (rc >= 0 && (rc = json_next_element(json)) > 0)
        rc = json_fail(json, LAM_E_CORRUPT, what);
    return rc;
}

static int read_memory(struct loader *loader, void *target)
{
    struct session_json *session = loader->session;
    struct session_seen *seen = target;
    seen->first_memory = session->memory.count;
    int rc = want(loader, JSON_ARRAY_BEGIN, "'memory' is no list");
    while (rc >= 0 && (rc = json_next_element(&loader->json)) > 0) {
        struct session_memory reading = {0};
        uint64_t sizes[2];
        rc = read_three(loader, "an item of 'memory' is no list of three numbers", &reading.t_ns,
                        sizes);
        if (rc < 0)
            return rc;
        reading.rss_bytes = sizes[0];
        reading.anon_bytes = sizes[1];
        if (array_push(&session->memory, reading) < 0)
            return json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
    }
    seen->memory_count = session->memory.count - seen->first_memory;
    return rc;
}

static int read_holders(struct loader *loader, void *target)
{
    struct session_memory_peak *peak = target;
    int rc = want(loader, JSON_ARRAY_BEGIN, "'holders' is no list");
    while (rc >= 0 && (rc = json_next_element(&loader->json)) > 0) {
        int64_t seen = 0;
        uint64_t sizes[2];
        rc = read_three(loader, "an item of 'holders' is no list of three numbers", &seen, sizes);
        if (rc < 0)
            return rc;
        struct session_holder holder = {(uint64_t)seen, sizes[0], sizes[1]};
        if (array_push(&peak->holders, holder) < 0)
            return json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
    }
    return rc;
}

static const struct member peak_members[] = {
    {"t_ns", MEMBER_I64, offsetof(struct session_memory_peak, t_ns), NULL},
    {"rss_bytes", MEMBER_U64, offsetof(struct session_memory_peak, rss_bytes), NULL},
    {"anon_bytes", MEMBER_U64, offsetof(struct session_memory_peak, anon_bytes), NULL},
    {"holders", MEMBER_CALL, 0, read_holders},
    {0},
};

static int read_peak(struct loader *loader, void *target)
{
    int rc = want(loader, JSON_OBJECT_BEGIN, "'memory_peak' is no object");
    return rc < 0 ? rc : read_members(loader, peak_members, target);
}

#define SEEN(key, kind, member)                                \
    {                                                          \
        key, kind, offsetof(struct session_seen, member), NULL \
    }
static const struct member seen_members[] = {
    SEEN("pid", MEMBER_U32, pid),
    SEEN("ppid", MEMBER_U32, ppid),
    SEEN("inner_pid", MEMBER_U32, inner_pid),
    SEEN("kernel_start", MEMBER_U64, kernel_start),
    SEEN("comm", MEMBER_TEXTS, comm),
    SEEN("exe", MEMBER_TEXT, exe),
    SEEN("argv", MEMBER_TEXTS, argv),
    SEEN("first_ns", MEMBER_I64, first_ns),
    SEEN("last_ns", MEMBER_I64, last_ns),
    SEEN("cpu_ns", MEMBER_U64, cpu_ns),
    SEEN("peak_rss_bytes", MEMBER_U64, peak_rss_bytes),
    SEEN("running", MEMBER_BOOL, is_running),
    {"memory", MEMBER_CALL, 0, read_memory},
    {0},
};

static int read_seen(struct loader *loader, void *target)
{
    (void)target;
    struct session_json *session = loader->session;
    int rc = want(loader, JSON_ARRAY_BEGIN, "'seen' is no list");
    while (rc >= 0 && (rc = json_next_element(&loader->json)) > 0) {
        struct session_seen *seen = array_add(&session->seen);
        if (!seen)
            return json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
        seen->cpu_ns = seen->peak_rss_bytes = PROFILE_UNKNOWN;
        rc = want(loader, JSON_OBJECT_BEGIN, "an item of 'seen' is no object");
        if (rc >= 0)
            rc = read_members(loader, seen_members, seen);
    }
    return rc;
}

#define SETTING(key, member)                                             \
    {                                                                    \
        key, MEMBER_TEXT, offsetof(struct session_setting, member), NULL \
    }
static const struct member setting_members[] = {SETTING("key", key), SETTING("value", value), {0}};

static int read_settings(struct loader *loader, void *target)
{
    (void)target;
    struct session_json *session = loader->session;
    int rc = want(loader, JSON_ARRAY_BEGIN, "'settings' is no list");
    while (rc >= 0 && (rc = json_next_element(&loader->json)) > 0) {
        struct session_setting *setting = array_add(&session->settings);
        if (!setting)
            return json_fail(&loader->json, LAM_E_NOMEM, "out of memory");
        rc = want(loader, JSON_OBJECT_BEGIN, "an item of 'settings' is no object");
        if (rc >= 0)
            rc = read_members(loader, setting_members, setting);
        if (rc >= 0 && (!setting->key || !setting->value))
            rc = json_fail(&loader->json, LAM_E_CORRUPT,
                           "an item of 'settings' lacks its key or value");
    }
    return rc;
}

static int read_times(struct loader *loader, void *target)
{
    (void)target;
    struct json_reader *json = &loader->json;
    int rc = want(loader, JSON_ARRAY_BEGIN, "'times' is no list");
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        struct session_clock_reading reading = {0};
        rc = want(loader, JSON_ARRAY_BEGIN, "an item of 'times' is no list of three numbers");
        if (rc >= 0)
            rc = json_read_u64(json, &reading.ticks);
        if (rc >= 0)
            rc = json_read_u64(json, &reading.mono_ns);
        if (rc >= 0)
            rc = json_read_u64(json, &reading.wall_ns);
        if (rc >= 0 && (rc = json_next_element(json)) > 0)
            rc = json_fail(json, LAM_E_CORRUPT, "an item of 'times' has more than three numbers");
        if (rc >= 0 && array_push(&loader->session->times, reading) < 0)
            rc = json_fail(json, LAM_E_NOMEM, "out of memory");
    }
    return rc;
}

#define MACHINE(key, kind)                                      \
    {                                                           \
#key, kind, offsetof(struct session_machine, key), NULL \
    }
static const struct member machine_members[] = {
    MACHINE(machine_id, MEMBER_TEXT),
    MACHINE(host, MEMBER_TEXT),
    MACHINE(cpu_model, MEMBER_TEXT),
    MACHINE(kernel, MEMBER_TEXT),
    MACHINE(os, MEMBER_TEXT),
    MACHINE(arch, MEMBER_TEXT),
    MACHINE(virt, MEMBER_TEXT),
    MACHINE(cpu_shares, MEMBER_TEXT),
    MACHINE(cores, MEMBER_U64),
    MACHINE(mem_bytes, MEMBER_U64),
    {0},
};

static int read_machine(struct loader *loader, void *target)
{
    int rc = want(loader, JSON_OBJECT_BEGIN, "'machine' is no object");
    return rc < 0 ? rc : read_members(loader, machine_members, target);
}

#define PROFILE(key, kind, member)                                     \
    {                                                                  \
        key, kind, offsetof(struct session_self_profile, member), NULL \
    }
static const struct member self_profile_members[] = {
    PROFILE("events", MEMBER_TEXT, events),       PROFILE("compiler", MEMBER_TEXT, compiler),
    PROFILE("bootstrap", MEMBER_BOOL, bootstrap), PROFILE("target_dir", MEMBER_TEXT, target_dir),
    PROFILE("profiles", MEMBER_TEXTS, profiles),  {0},
};

static int read_self_profile(struct loader *loader, void *target)
{
    int rc = want(loader, JSON_OBJECT_BEGIN, "'self_profile' is no object");
    ((struct session_self_profile *)target)->is_asked = rc >= 0;
    return rc < 0 ? rc : read_members(loader, self_profile_members, target);
}

static int read_timeline_row(struct loader *loader, struct session_timeline *timeline)
{
    struct json_reader *json = &loader->json;
    size_t count = 0;
    int rc = want(loader, JSON_ARRAY_BEGIN, "a row of 'timeline' is no list");
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        bool is_number = json->event == JSON_NUMBER;
        if (!is_number && json->event != JSON_NULL)
            return json_fail(json, LAM_E_CORRUPT,
                             "a row of 'timeline' holds something else than numbers");
        if (count++ == timeline->columns.count)
            return json_fail(json, LAM_E_CORRUPT, "a row of 'timeline' is longer than its columns");
        if (array_push(&timeline->values, is_number ? json->number : (double)NAN) < 0)
            return json_fail(json, LAM_E_NOMEM, "out of memory");
    }
    if (rc >= 0 && count < timeline->columns.count)
        return json_fail(json, LAM_E_CORRUPT, "a row of 'timeline' is shorter than its columns");
    timeline->rows += rc >= 0;
    return rc;
}

static int read_timeline_rows(struct loader *loader, void *target)
{
    (void)target;
    struct session_timeline *timeline = &loader->session->timeline;
    int rc = want(loader, JSON_ARRAY_BEGIN, "'rows' is no list");
    if (rc >= 0 && !timeline->columns.count)
        rc = json_fail(&loader->json, LAM_E_CORRUPT, "'rows' stands before 'columns'");
    while (rc >= 0 && (rc = json_next_element(&loader->json)) > 0)
        rc = read_timeline_row(loader, timeline);
    return rc;
}

static const struct member timeline_members[] = {
    {"columns", MEMBER_TEXTS, offsetof(struct session_timeline, columns), NULL},
    {"rows", MEMBER_CALL, 0, read_timeline_rows},
    {0},
};

static int read_timeline(struct loader *loader, void *target)
{
    int rc = want(loader, JSON_OBJECT_BEGIN, "'timeline' is no object");
    return rc < 0 ? rc : read_members(loader, timeline_members, target);
}

#define SESSION(key, kind, member)                             \
    {                                                          \
        key, kind, offsetof(struct session_json, member), NULL \
    }
#define SESSION_CALL(key, member, call)                               \
    {                                                                 \
        key, MEMBER_CALL, offsetof(struct session_json, member), call \
    }
static const struct member session_members[] = {
    SESSION("version", MEMBER_U64, version),
    SESSION("tool_version", MEMBER_TEXT, tool_version),
    SESSION("session_id", MEMBER_TEXT, session_id),
    SESSION("complete", MEMBER_BOOL, is_complete),
    SESSION("recovered", MEMBER_BOOL, is_recovered),
    SESSION("redacted", MEMBER_BOOL, is_redacted),
    SESSION("command", MEMBER_TEXTS, command),
    SESSION("cwd", MEMBER_TEXT, cwd),
    SESSION("directory", MEMBER_TEXT, directory),
    SESSION("scratch", MEMBER_TEXT, scratch),
    SESSION("started_at_unix_ns", MEMBER_U64, started_at_unix_ns),
    SESSION("clock", MEMBER_TEXT, clock),
    SESSION("tick_rate_hz", MEMBER_U64, tick_rate_hz),
    SESSION("start_ticks", MEMBER_U64, start_ticks),
    SESSION("start_mono_ns", MEMBER_U64, start_mono_ns),
    SESSION_CALL("times", times, read_times),
    SESSION("elapsed_ns", MEMBER_U64, elapsed_ns),
    SESSION("exit_code", MEMBER_I64, exit_code),
    SESSION("signal", MEMBER_I64, signal),
    SESSION("launcher_pid", MEMBER_U64, launcher_pid),
    SESSION("command_pid", MEMBER_U64, command_pid),
    SESSION("command_why_not", MEMBER_U64, command_why_not),
    SESSION("wanted_engine", MEMBER_TEXT, wanted_engine),
    SESSION("engine", MEMBER_TEXT, engine),
    SESSION("engine_note", MEMBER_TEXT, engine_note),
    SESSION("kernel_mode", MEMBER_BOOL, kernel_mode),
    SESSION("rate_auto", MEMBER_BOOL, rate_auto),
    SESSION("rate_hz", MEMBER_DOUBLE, rate_hz),
    SESSION("period_ns", MEMBER_U64_4, period_ns),
    SESSION("step_cpu_ms", MEMBER_U64_4, step_cpu_ms),
    SESSION("sample_cost_ns", MEMBER_U64, sample_cost_ns),
    SESSION("max_bytes", MEMBER_U64, max_bytes),
    SESSION("charged_cpu_ns", MEMBER_U64, charged_cpu_ns),
    SESSION("only", MEMBER_TEXTS, only),
    SESSION("skip", MEMBER_TEXTS, skip),
    SESSION("warnings", MEMBER_TEXTS, warnings),
    SESSION("streams", MEMBER_TEXTS, streams),
    SESSION_CALL("self_profile", self_profile, read_self_profile),
    SESSION_CALL("machine", machine, read_machine),
    SESSION_CALL("settings", settings, read_settings),
    SESSION_CALL("reaped", reaped, read_reaped),
    SESSION_CALL("seen", seen, read_seen),
    SESSION_CALL("timeline", timeline, read_timeline),
    SESSION_CALL("memory_peak", memory_peak, read_peak),
    {0},
};

void session_json_init(struct session_json *session)
{
    *session = (struct session_json){
        .elapsed_ns = PROFILE_UNKNOWN,
        .exit_code = -1,
        .rate_hz = (double)NAN,
        .sample_cost_ns = PROFILE_UNKNOWN,
        .max_bytes = PROFILE_UNKNOWN,
        .charged_cpu_ns = PROFILE_UNKNOWN,
        .memory_peak = {.rss_bytes = PROFILE_UNKNOWN, .anon_bytes = PROFILE_UNKNOWN},
        .machine = {.cores = PROFILE_UNKNOWN, .mem_bytes = PROFILE_UNKNOWN},
    };
}

void session_json_free(struct session_json *session)
{
    array_free(&session->times);
    array_free(&session->settings);
    array_free(&session->reaped);
    array_free(&session->seen);
    array_free(&session->memory);
    array_free(&session->memory_peak.holders);
    array_free(&session->timeline.values);
    arena_free(&session->arena);
    session_json_init(session);
}

int session_json_parse(struct session_json *session, const char *text, size_t size,
                       const char *name, struct lam_error *err)
{
    struct loader *loader = mem_zalloc(1, sizeof *loader);
    session_json_init(session);
    if (!loader)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", name);
    const struct json_options options = {.allow_bytes = true};
    loader->session = session;
    json_open_memory(&loader->json, text, size, &options);
    int rc = json_enter_object(&loader->json);
    if (rc >= 0)
        rc = read_members(loader, session_members, session);
    if (rc >= 0)
        rc = json_next(&loader->json); /* nothing may follow */
    if (rc < 0)
        json_error(&loader->json, name, err);
    else if (session->version > SESSION_VERSION)
        rc = lam_error_set(err, LAM_E_UNSUPPORTED, "%s: version %llu, this lamella reads up to %d",
                           name, (unsigned long long)session->version, SESSION_VERSION);
    json_close(&loader->json);
    mem_free(loader);
    if (rc < 0)
        session_json_free(session);
    return rc < 0 ? rc : LAM_OK;
}

int session_json_load(struct session_json *session, const char *path, struct lam_error *err)
{
    char *text = NULL;
    size_t size = 0;
    session_json_init(session);
    int rc = file_read_all(path, SESSION_LIMIT_BYTES, &text, &size, err);
    if (rc >= 0)
        rc = session_json_parse(session, text, size, path, err);
    mem_free(text);
    return rc;
}

size_t session_timeline_column(const struct session_timeline *timeline, const char *name)
{
    for (size_t i = 0; i < timeline->columns.count; i++) {
        if (strcmp(timeline->columns.items[i], name) == 0)
            return i;
    }
    return SIZE_MAX;
}
