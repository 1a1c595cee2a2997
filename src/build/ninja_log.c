#include "build/ninja_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum { VERSION_MIN = 5, VERSION_MAX = 7, FIELDS = 5, NUMBER_MAX = 24 };

struct field {
    const char *text;
    size_t length;
};

static bool read_number(struct field field, uint64_t *value)
{
    char copy[NUMBER_MAX];
    if (field.length == 0 || field.length >= sizeof copy)
        return false;
    memcpy(copy, field.text, field.length);
    copy[field.length] = '\0';
    return unit_parse_u64(copy, value);
}

static bool read_hash(struct field field, uint64_t *value)
{
    *value = 0;
    if (field.length == 0 || field.length > 16)
        return false;
    for (size_t i = 0; i < field.length; i++) {
        const char *digit = strchr("0123456789abcdef", field.text[i]);
        if (!digit || !field.text[i])
            return false;
        *value = *value << 4 | (uint64_t)(digit - "0123456789abcdef");
    }
    return true;
}

/* START END MTIME OUTPUT HASH, tabs between; 1: an edge, 0: none, LAM_E_NOMEM. */
static int read_line(struct ninja_log *log, const char *line, size_t length)
{
    struct field fields[FIELDS];
    const char *at = line, *end = line + length;
    for (int i = 0; i < FIELDS; i++) {
        const char *tab = at <= end ? memchr(at, '\t', (size_t)(end - at)) : NULL;
        if (!tab == (i + 1 < FIELDS))
            return 0; /* a tab too few, or one too many */
        fields[i] = (struct field){at, (size_t)((tab ? tab : end) - at)};
        at = tab ? tab + 1 : end + 1;
    }
    struct ninja_edge edge;
    uint64_t mtime_ns;
    if (!read_number(fields[0], &edge.start_ms) || !read_number(fields[1], &edge.end_ms) ||
        !read_number(fields[2], &mtime_ns) || !read_hash(fields[4], &edge.command) ||
        mtime_ns > INT64_MAX || edge.end_ms < edge.start_ms || fields[3].length == 0)
        return 0;
    edge.mtime_ns = (int64_t)mtime_ns;
    edge.output = arena_strndup(&log->arena, fields[3].text, fields[3].length);
    return edge.output && array_push(&log->edges, edge) == LAM_OK ? 1 : LAM_E_NOMEM;
}

static int read_header(struct ninja_log *log, struct field line, const char *name,
                       struct lam_error *err)
{
    static const char start[] = "# ninja log v";
    size_t length = sizeof start - 1;
    if (line.length <= length || memcmp(line.text, start, length) != 0 ||
        !read_number((struct field){line.text + length, line.length - length}, &log->version))
        return lam_error_set(err, LAM_E_CORRUPT, "%s: no log of ninja's", name);
    if (log->version < VERSION_MIN || log->version > VERSION_MAX)
        return lam_error_set(err, LAM_E_UNSUPPORTED, "%s: version %" PRIu64 " of ninja's log", name,
                             log->version);
    return LAM_OK;
}

int ninja_log_parse(struct ninja_log *log, const char *text, size_t size, const char *name,
                    struct lam_error *err)
{
    *log = (struct ninja_log){0};
    const char *stop = memchr(text, '\n', size), *end = text + size;
    int rc = read_header(log, (struct field){text, (size_t)((stop ? stop : end) - text)}, name, err);
    for (const char *at = stop ? stop + 1 : end; rc >= 0 && at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((next ? next : end) - at);
        rc = length == 0 || at[0] == '#' ? 1 : next ? read_line(log, at, length) : 0;
        log->damaged += rc == 0; /* also a last line without its end */
        at += length + 1;
    }
    if (rc == LAM_E_NOMEM)
        lam_error_set(err, rc, "%s: out of memory", name);
    if (rc < 0)
        ninja_log_free(log);
    return rc < 0 ? rc : LAM_OK;
}

void ninja_log_free(struct ninja_log *log)
{
    array_free(&log->edges);
    arena_free(&log->arena);
    *log = (struct ninja_log){0};
}

int ninja_log_write(const struct ninja_log *log, int64_t since_ns, struct strbuf *text)
{
    strbuf_addf(text, "# ninja log v%" PRIu64 "\n", log->version);
    array_each(&log->edges, edge)
    {
        if (edge->mtime_ns >= since_ns)
            strbuf_addf(text, "%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%s\t%" PRIx64 "\n",
                        edge->start_ms, edge->end_ms, edge->mtime_ns, edge->output, edge->command);
    }
    return strbuf_ok(text) ? LAM_OK : LAM_E_NOMEM;
}
