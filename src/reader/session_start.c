#include "reader/session_start.h"

#include "base/file.h"
#include "base/json_read.h"
#include "base/memory.h"

enum { LIMIT_BYTES = 1 << 30 };

/* Lists of ticks, nanoseconds of the monotonic clock and of the wall's. */
static int read_times(struct json_reader *json, struct session_start *start)
{
    int rc = json_enter_array(json);
    while (rc >= 0 && (rc = json_next_element(json)) > 0) {
        struct clock_point point = {0};
        uint64_t wall_ns;
        rc = json->event == JSON_ARRAY_BEGIN
                 ? LAM_OK
                 : json_fail(json, LAM_E_CORRUPT, "a reading of the clocks is no list");
        if (rc >= 0)
            rc = json_read_u64(json, &point.ticks);
        if (rc >= 0)
            rc = json_read_u64(json, &point.mono_ns);
        if (rc >= 0)
            rc = json_read_u64(json, &wall_ns);
        if (rc >= 0 && (rc = json_next_element(json)) > 0)
            rc = json_fail(json, LAM_E_CORRUPT,
                           "a reading of the clocks has more than three numbers");
        if (rc >= 0 && array_push(&start->times, point) < 0)
            rc = json_fail(json, LAM_E_NOMEM, "out of memory");
    }
    return rc;
}

static int read_members(struct json_reader *json, struct session_start *start)
{
    int rc = json_enter_object(json);
    while (rc >= 0 && (rc = json_next_key(json)) > 0) {
        if (json_key_is(json, "started_at_unix_ns"))
            rc = json_read_u64(json, &start->unix_ns);
        else if (json_key_is(json, "start_mono_ns"))
            rc = json_read_u64(json, &start->mono_ns);
        else if (json_key_is(json, "start_ticks"))
            rc = json_read_u64(json, &start->ticks);
        else if (json_key_is(json, "tick_rate_hz"))
            rc = json_read_u64(json, &start->tick_rate_hz);
        else if (json_key_is(json, "times"))
            rc = read_times(json, start);
        else
            rc = json_skip_value(json);
    }
    return rc < 0 ? rc : json_next(json); /* nothing may follow */
}

int session_start_parse(struct session_start *start, const char *text, size_t size)
{
    const struct json_options options = {.allow_bytes = true};
    struct json_reader *json = mem_alloc(sizeof *json);
    if (!json)
        return LAM_E_NOMEM;
    json_open_memory(json, text, size, &options);
    int rc = read_members(json, start);
    json_close(json);
    mem_free(json);
    if (rc < 0)
        session_start_free(start);
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

int session_start_load(struct session_start *start, const char *directory)
{
    char *path = path_join(directory, "session.json"), *text = NULL;
    size_t size = 0;
    int rc = path ? file_read_all(path, LIMIT_BYTES, &text, &size, NULL) : LAM_E_NOMEM;
    if (rc >= 0)
        rc = session_start_parse(start, text, size);
    mem_free(text);
    mem_free(path);
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

void session_start_free(struct session_start *start)
{
    array_free(&start->times);
    *start = (struct session_start){0};
}
