/* For tests: self-profiles put together piece by piece, and a sink that keeps what it was told. */
#ifndef LAMELLA_INPUT_PROFDATA_MAKE_TEST_H
#define LAMELLA_INPUT_PROFDATA_MAKE_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "input/profdata_events.h"
#include "input/profdata_strings.h"
#include "profile/sink.h"

struct made {
    uint32_t version;
    struct strbuf streams[3]; /* events, strings, index; headers included */
    struct strbuf file;
};

static inline void made_u32(struct strbuf *buf, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        strbuf_add_char(buf, (char)(value >> 8 * i));
}

static inline void made_id(struct made *made, struct strbuf *buf, uint64_t value)
{
    made_u32(buf, (uint32_t)value);
    if (made->version >= 9)
        made_u32(buf, (uint32_t)(value >> 32));
}

static inline void made_begin(struct made *made, uint32_t version)
{
    static const char *const magics[3] = {"MMES", "MMSD", "MMSI"};
    *made = (struct made){.version = version};
    for (unsigned i = 0; i < 3; i++) {
        strbuf_add(&made->streams[i], magics[i]);
        made_u32(&made->streams[i], version);
    }
}

/* Bytes as they are, 0xFE and 0xFF too; the end is the caller's. */
static inline uint64_t made_bytes(struct made *made, const void *bytes, size_t size)
{
    uint64_t id = made->streams[1].length + PROFDATA_FIRST_ADDRESS_ID;
    strbuf_add_bytes(&made->streams[1], bytes, size);
    return id;
}

static inline uint64_t made_text(struct made *made, const char *text)
{
    uint64_t id = made_bytes(made, text, strlen(text));
    strbuf_add_char(&made->streams[1], (char)0xff);
    return id;
}

/* A reference to a string, and text behind it. */
static inline uint64_t made_reference(struct made *made, uint64_t to, const char *text)
{
    uint64_t id = made_bytes(made, "\xfe", 1);
    made_id(made, &made->streams[1], to);
    made_text(made, text);
    return id;
}

static inline void made_map(struct made *made, uint64_t virtual_id, uint64_t id)
{
    made_id(made, &made->streams[2], virtual_id);
    made_id(made, &made->streams[2], id - PROFDATA_FIRST_ADDRESS_ID);
}

static inline void made_metadata(struct made *made)
{
    made_map(made, PROFDATA_METADATA_ID,
             made_text(made, "{ \"start_time\": 1000000000, \"process_id\": 42, \"cmd\": "
                             "\"/bin/rustc --crate-name leaf x.rs \", \"counter\": { \"name\": "
                             "\"wall-time\", \"units\": [[\"ns\", 1]] } }"));
}

static inline void made_event(struct made *made, uint64_t kind, uint64_t id, uint32_t tid,
                              uint64_t start, uint64_t end)
{
    struct strbuf *events = &made->streams[0];
    made_id(made, events, kind);
    made_id(made, events, id);
    made_u32(events, tid);
    made_u32(events, (uint32_t)start);
    made_u32(events, (uint32_t)end);
    made_u32(events, (uint32_t)(start >> 16 & 0xffff0000) | (uint32_t)(end >> 32 & 0xffff));
}

/* Pages of at most page_bytes, one of each stream in turn. */
static inline const struct strbuf *made_file(struct made *made, size_t page_bytes)
{
    size_t at[3] = {0, 0, 0};
    strbuf_clear(&made->file);
    strbuf_add(&made->file, "MMPD");
    made_u32(&made->file, made->version);
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < 3; i++) {
            size_t left = made->streams[i].length - at[i];
            size_t size = left < page_bytes ? left : page_bytes;
            if (size == 0)
                continue;
            strbuf_add_char(&made->file, (char)i);
            made_u32(&made->file, (uint32_t)size);
            strbuf_add_bytes(&made->file, made->streams[i].data + at[i], size);
            at[i] += size;
            more = true;
        }
    }
    return &made->file;
}

static inline void made_free(struct made *made)
{
    for (unsigned i = 0; i < 3; i++)
        strbuf_free(&made->streams[i]);
    strbuf_free(&made->file);
}

/* ---- what a sink was told ---- */

struct told_interval {
    struct profile_interval interval;
    char name[64]; /* of the label */
    char kind[32];
    char args[256]; /* each with a bar before it */
};

struct told {
    LAM_ARRAY(struct told_interval) intervals;
    LAM_ARRAY(struct profile_instant) instants;
    LAM_ARRAY(struct strbuf) labels; /* by id */
    LAM_ARRAY(uint32_t) kinds;       /* of them */
    LAM_ARRAY(struct profile_path) paths;
    LAM_ARRAY(uint32_t) tids; /* by thread id */
    struct profile_session session;
    struct profile_session_end end;
    char command[256], comm[64];
    uint32_t pid, processes;
    struct profile_wants wants;
};

static inline int told_label(void *ctx, const struct profile_label *label)
{
    struct told *told = ctx;
    if (array_resize(&told->labels, (size_t)label->label + 1) < 0 ||
        array_resize(&told->kinds, (size_t)label->label + 1) < 0)
        return LAM_E_NOMEM;
    told->kinds.items[label->label] = label->kind;
    strbuf_add_bytes(&told->labels.items[label->label], label->text.bytes, label->text.size);
    return LAM_OK;
}

static inline int told_interval(void *ctx, const struct profile_interval *interval)
{
    struct told *told = ctx;
    struct told_interval kept = {.interval = *interval};
    snprintf(kept.name, sizeof kept.name, "%s", strbuf_text(&told->labels.items[interval->label]));
    snprintf(kept.kind, sizeof kept.kind, "%s",
             strbuf_text(&told->labels.items[told->kinds.items[interval->label]]));
    for (size_t i = 0; i < interval->argc; i++)
        snprintf(kept.args + strlen(kept.args), sizeof kept.args - strlen(kept.args), "|%.*s",
                 (int)interval->args[i].size, interval->args[i].bytes);
    return array_push(&told->intervals, kept);
}

static inline int told_instant(void *ctx, const struct profile_instant *instant)
{
    return array_push(&((struct told *)ctx)->instants, *instant);
}

static inline int told_path(void *ctx, const struct profile_path *path)
{
    return array_push(&((struct told *)ctx)->paths, *path);
}

static inline int told_session(void *ctx, const struct profile_session *session)
{
    struct told *told = ctx;
    told->session = *session;
    snprintf(told->command, sizeof told->command, "%s", session->command);
    return LAM_OK;
}

static inline int told_process(void *ctx, const struct profile_process *process)
{
    struct told *told = ctx;
    told->pid = process->pid;
    told->processes++;
    snprintf(told->comm, sizeof told->comm, "%.*s", (int)process->comm.size, process->comm.bytes);
    return LAM_OK;
}

static inline int told_thread(void *ctx, const struct profile_thread *thread)
{
    struct told *told = ctx;
    int rc = array_resize(&told->tids, (size_t)thread->thread + 1);
    if (rc >= 0)
        told->tids.items[thread->thread] = thread->tid;
    return rc;
}

static inline int told_session_end(void *ctx, const struct profile_session_end *end)
{
    ((struct told *)ctx)->end = *end;
    return LAM_OK;
}

static inline struct profile_sink told_sink(struct told *told)
{
    static const struct profile_sink_ops ops = {
        .session = told_session,
        .process = told_process,
        .thread = told_thread,
        .label = told_label,
        .path = told_path,
        .interval = told_interval,
        .instant = told_instant,
        .session_end = told_session_end,
    };
    return (struct profile_sink){.ctx = told, .ops = &ops, .wants = told->wants};
}

static inline void told_free(struct told *told)
{
    for (size_t i = 0; i < told->labels.count; i++)
        strbuf_free(&told->labels.items[i]);
    array_free(&told->labels);
    array_free(&told->kinds);
    array_free(&told->intervals);
    array_free(&told->instants);
    array_free(&told->paths);
    array_free(&told->tids);
}

/* A file of its own; removed by the caller. */
static inline void made_write(const struct strbuf *file, char path[64])
{
    static unsigned number;
    snprintf(path, 64, "/tmp/lamella-made-%d-%u.mm_profdata", (int)getpid(), number++);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(strbuf_text(file), 1, file->length, out) != file->length || fclose(out) != 0)
        abort();
}

#endif
