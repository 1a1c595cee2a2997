#include "output/chrome_branch.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "output/branch_bytes.h"
#include "output/chrome_counts.h"

/* What stands in front of an interval's start, ,\n{"name":"…","cat":"…","ph":"X","ts": */
struct head {
    struct chrome_piece piece;
    uint32_t name_size; /* up to the phase */
};

struct branch {
    struct chrome_trunk trunk;
    struct profile_branch *public;
    bool redacts;
    LAM_ARRAY(struct head) heads;         /* by label */
    LAM_ARRAY(struct chrome_piece) tails; /* by thread: ,"pid":1,"tid":2} */
    struct arena arena;
    struct strbuf scratch;
    struct chrome_counts counts;
    struct branch_bytes held;
};

enum {
    NUMBERS_BYTES =
        256, /* more than two times and a value with their keys take, and what copies write behind pieces */
    ESCAPED_MAX = 6, /* times as long may text become */
    KEY_BYTES = 48,  /* of an argument, and its quotes */
};

static inline int want_room(struct branch *branch, size_t room)
{
    return branch_bytes_room(&branch->held, branch->public, room);
}

/* ---- pieces ---- */

static int make_head(struct branch *branch, uint32_t label)
{
    if (label >= branch->heads.count &&
        array_resize(&branch->heads, (size_t)label + label / 2 + 64) < 0)
        return LAM_E_NOMEM;
    struct head *head = &branch->heads.items[label];
    struct strbuf text = {0};
    strbuf_clear(&branch->scratch);
    int rc = branch->trunk.head(branch->trunk.ctx, label, &branch->scratch);
    if (rc < 0)
        return rc;
    strbuf_add(&text, ",\n");
    strbuf_add_bytes(&text, strbuf_text(&branch->scratch), branch->scratch.length);
    head->name_size = (uint32_t)text.length;
    strbuf_add(&text, CHROME_COMPLETE);
    rc = chrome_piece_keep(&branch->arena, &text, &head->piece);
    strbuf_free(&text);
    return rc;
}

static int make_tail(struct branch *branch, uint32_t process, uint32_t thread)
{
    if (thread >= branch->tails.count && array_resize(&branch->tails, (size_t)thread + 1) < 0)
        return LAM_E_NOMEM;
    struct strbuf text = {0};
    strbuf_clear(&branch->scratch);
    int rc = branch->trunk.tail(branch->trunk.ctx, process, thread, &branch->scratch);
    if (rc < 0)
        return rc;
    strbuf_addf(&text, ",%s}", strbuf_text(&branch->scratch));
    rc = chrome_piece_keep(&branch->arena, &text, &branch->tails.items[thread]);
    strbuf_free(&text);
    return rc;
}

static inline int head_of(struct branch *branch, uint32_t label, const struct head **head)
{
    if (label >= branch->heads.count || !branch->heads.items[label].piece.text) {
        int rc = make_head(branch, label);
        if (rc < 0)
            return rc;
    }
    *head = &branch->heads.items[label];
    return LAM_OK;
}

/* A branch is of one process. */
static inline int tail_of(struct branch *branch, uint32_t process, uint32_t thread,
                          const struct chrome_piece **tail)
{
    if (thread >= branch->tails.count || !branch->tails.items[thread].text) {
        int rc = make_tail(branch, process, thread);
        if (rc < 0)
            return rc;
    }
    *tail = &branch->tails.items[thread];
    return LAM_OK;
}

static inline char *put_time(char *at, int64_t ns)
{
    if (__builtin_expect(ns < 0, 0))
        return put_microseconds(at, ns);
    return put_thousandth(at, (uint64_t)ns);
}

/* ---- arguments ---- */

static char *put_arg(struct branch *branch, char *at, struct profile_text arg, bool is_plain)
{
    if (is_plain)
        return put_bytes(at, arg.bytes, arg.size);
    size_t escaped;
    if (strbuf_escape_plain(at, arg.bytes, arg.size, &escaped))
        return at + escaped;
    strbuf_clear(&branch->scratch);
    strbuf_add_json_escaped(&branch->scratch, arg.bytes, arg.size);
    return strbuf_ok(&branch->scratch) ? put_bytes(at, branch->scratch.data, branch->scratch.length)
                                       : NULL;
}

/* Goes on behind an event's } : takes that back. NULL: out of memory. */
static char *put_args(struct branch *branch, char *at, const struct profile_text *args, size_t argc,
                      bool is_plain)
{
    at = put_literal(at - 1, ",\"args\":{");
    for (size_t i = 0; i < argc; i++) {
        at = put_bytes(at, ",\"arg", i ? 5 : 0);
        if (!i)
            at = put_literal(at, "\"arg");
        at = put_digits(at, i);
        at = put_literal(at, "\":\"");
        at = put_arg(branch, at, args[i], is_plain);
        if (!at)
            return NULL;
        *at++ = '"';
    }
    return put_literal(at, "}}");
}

static char *put_backward(char *at, bool has_args)
{
    return has_args ? put_literal(at - 2, ",\"ended_before_start\":true}}")
                    : put_literal(at - 1, ",\"args\":{\"ended_before_start\":true}}");
}

static size_t room_of_args(const struct profile_text *args, size_t argc)
{
    size_t room = KEY_BYTES;
    for (size_t i = 0; i < argc; i++)
        room += KEY_BYTES + ESCAPED_MAX * args[i].size;
    return room;
}

/* ---- events ---- */

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct branch *branch = ctx;
    const struct head *head;
    const struct chrome_piece *tail;
    bool has_args = interval->argc && !branch->redacts;
    int rc = head_of(branch, interval->label, &head);
    if (rc >= 0)
        rc = tail_of(branch, interval->process, interval->thread, &tail);
    if (rc >= 0)
        rc = want_room(branch, (size_t)head->piece.size + tail->size + NUMBERS_BYTES +
                                   (has_args ? room_of_args(interval->args, interval->argc) : 0));
    if (rc < 0)
        return rc;
    char *at = chrome_piece_copy_head(branch->held.bytes + branch->held.used, &head->piece);
    at = put_time(at, interval->start_ns);
    at = put_literal(at, ",\"dur\":");
    at = put_time(at, interval->end_ns - interval->start_ns);
    at = chrome_piece_copy(at, tail);
    if (has_args)
        at = put_args(branch, at, interval->args, interval->argc, interval->has_plain_args);
    if (at && interval->flags & PROFILE_INTERVAL_BACKWARD)
        at = put_backward(at, has_args);
    if (!at)
        return LAM_E_NOMEM;
    branch->held.used = (size_t)(at - branch->held.bytes);
    return LAM_OK;
}

static int put_instant(void *ctx, const struct profile_instant *instant)
{
    struct branch *branch = ctx;
    const struct head *head;
    const struct chrome_piece *tail;
    bool has_args = instant->argc && !instant->has_value && !branch->redacts;
    int rc = head_of(branch, instant->label, &head);
    if (rc >= 0)
        rc = tail_of(branch, instant->process, instant->thread, &tail);
    if (rc >= 0)
        rc = want_room(branch, (size_t)head->piece.size + tail->size + NUMBERS_BYTES +
                                   (has_args ? room_of_args(instant->args, instant->argc) : 0));
    if (rc < 0)
        return rc;
    char *at = put_bytes(branch->held.bytes + branch->held.used, head->piece.text, head->name_size);
    at = instant->has_value ? put_literal(at, CHROME_COUNTER) : put_literal(at, CHROME_INSTANT);
    at = chrome_piece_copy(put_time(at, instant->at_ns), tail);
    if (instant->has_value) { /* each number among a counter's arguments is a line of its own */
        at = put_literal(at - 1, ",\"args\":{\"value\":");
        at = put_literal(put_decimal(at, instant->value), "}}");
    } else if (has_args) {
        at = put_args(branch, at, instant->args, instant->argc, false);
    }
    if (!at)
        return LAM_E_NOMEM;
    branch->held.used = (size_t)(at - branch->held.bytes);
    return LAM_OK;
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct branch *branch = ctx;
    return chrome_counts_add(&branch->counts, instant, put_instant, branch);
}

static int on_end(void *ctx)
{
    struct branch *branch = ctx;
    return chrome_counts_end(&branch->counts, put_instant, branch);
}

static size_t held_bytes(void *ctx)
{
    return ((struct branch *)ctx)->held.used;
}

/* ---- life ---- */

int chrome_branch_open(const struct chrome_trunk *trunk, size_t max_bytes, bool redacts,
                       struct profile_branch *public)
{
    struct branch *branch = mem_zalloc(1, sizeof *branch);
    if (!branch)
        return LAM_E_NOMEM;
    branch->trunk = *trunk;
    branch->public = public;
    branch->redacts = redacts;
    branch->held.wanted = max_bytes;
    *public = (struct profile_branch){.ctx = branch,
                                      .interval = on_interval,
                                      .instant = on_instant,
                                      .end = on_end,
                                      .held_bytes = held_bytes};
    return LAM_OK;
}

struct profile_text chrome_branch_take(struct profile_branch *public)
{
    return branch_bytes_take(&((struct branch *)public->ctx)->held);
}

void chrome_branch_close(struct profile_branch *public)
{
    struct branch *branch = public->ctx;
    if (!branch)
        return;
    array_free(&branch->heads);
    array_free(&branch->tails);
    arena_free(&branch->arena);
    strbuf_free(&branch->scratch);
    chrome_counts_free(&branch->counts);
    mem_free(branch->held.bytes);
    mem_free(branch);
    public->ctx = NULL;
}
