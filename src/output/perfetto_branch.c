#include "output/perfetto_branch.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/protobuf.h"
#include "output/branch_bytes.h"
#include "output/perfetto_fields.h"
#include "output/safe_text.h"

enum {
    FIELDS_BYTES = 48, /* of a packet but for its names and arguments, more than they take */
    NAME_BYTES = 2 * (1 + PROTO_VARINT_MAX),
    INTERNED_BYTES = 96, /* of a packet with a string, but for the string */
};

/* The fields of an event that say its name and its category. */
struct name {
    uint32_t stretch; /* that they were made in; another one has other numbers */
    uint32_t size;
    unsigned char bytes[NAME_BYTES];
};

struct category {
    uint32_t stretch, id;
};

struct track {     /* the field of an event that says it */
    uint32_t size; /* 0: not known yet */
    unsigned char bytes[1 + PROTO_VARINT_MAX];
};

struct branch {
    struct perfetto_trunk trunk;
    struct profile_branch *public;
    LAM_ARRAY(struct name) names;          /* by label */
    LAM_ARRAY(struct category) categories; /* by label of a kind */
    LAM_ARRAY(struct track) tracks;        /* by thread */
    LAM_ARRAY(struct perfetto_count) counts;
    uint32_t stretch; /* from 1 on */
    uint32_t last_name, last_category;
    bool has_begun; /* the stretch has its first packet */
    bool has_ended; /* counts may be taken: where else they stood would depend on when */
    uint64_t clamped;
    struct strbuf text, message, piece, details;
    struct branch_bytes held;
};

static struct profile_text text_of(const struct strbuf *buf)
{
    return (struct profile_text){strbuf_text(buf), buf->length};
}

/* ---- room ---- */

static inline int want_room(struct branch *branch, size_t room)
{
    return branch_bytes_room(&branch->held, branch->public, room);
}

static int put(struct branch *branch, struct profile_text bytes)
{
    return branch_bytes_put(&branch->held, branch->public, bytes);
}

/* ---- strings ---- */

/* One more string of the stretch, as a packet of its own; its text is in `text`. */
static int put_interned(struct branch *branch, uint32_t kind, uint64_t id)
{
    strbuf_clear(&branch->piece);
    safe_text_add(&branch->piece, SAFE_UTF8, strbuf_text(&branch->text), branch->text.length);
    strbuf_clear(&branch->message);
    proto_add_uint(&branch->message, INTERNED_IID, id);
    proto_add_message(&branch->message, INTERNED_NAME, &branch->piece);
    strbuf_clear(&branch->piece);
    proto_add_message(&branch->piece, kind, &branch->message);
    strbuf_clear(&branch->message);
    proto_add_uint(&branch->message, PACKET_SEQUENCE_ID, PERFETTO_STRETCHES);
    proto_add_uint(&branch->message, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    proto_add_message(&branch->message, PACKET_INTERNED_DATA, &branch->piece);
    strbuf_clear(&branch->piece);
    proto_add_message(&branch->piece, TRACE_PACKET, &branch->message);
    return strbuf_ok(&branch->text) && strbuf_ok(&branch->message) && strbuf_ok(&branch->piece)
               ? put(branch, text_of(&branch->piece))
               : LAM_E_NOMEM;
}

static int category_of(struct branch *branch, uint32_t kind, uint32_t *id)
{
    uint32_t kind_of_kind;
    if (kind >= branch->categories.count &&
        array_resize(&branch->categories, (size_t)kind + kind / 2 + 64) < 0)
        return LAM_E_NOMEM;
    struct category *category = &branch->categories.items[kind];
    *id = category->id;
    if (category->stretch == branch->stretch)
        return LAM_OK;
    *category = (struct category){branch->stretch, ++branch->last_category};
    *id = category->id;
    strbuf_clear(&branch->text);
    int rc = branch->trunk.label(branch->trunk.ctx, kind, &kind_of_kind, &branch->text);
    return rc < 0 ? rc : put_interned(branch, INTERNED_CATEGORIES, *id);
}

static int make_name(struct branch *branch, uint32_t label)
{
    uint32_t kind, category = 0;
    if (label >= branch->names.count &&
        array_resize(&branch->names, (size_t)label + label / 2 + 64) < 0)
        return LAM_E_NOMEM;
    uint32_t id = ++branch->last_name;
    strbuf_clear(&branch->text);
    int rc = branch->trunk.label(branch->trunk.ctx, label, &kind, &branch->text);
    if (rc >= 0)
        rc = put_interned(branch, INTERNED_EVENT_NAMES, id);
    if (rc >= 0 && kind)
        rc = category_of(branch, kind, &category);
    if (rc < 0)
        return rc;
    struct name *name = &branch->names.items[label];
    unsigned char *at = proto_uint(name->bytes, EVENT_NAME_IID, id);
    if (category)
        at = proto_uint(at, EVENT_CATEGORY_IIDS, category);
    name->size = (uint32_t)(at - name->bytes);
    name->stretch = branch->stretch;
    return LAM_OK;
}

static inline int name_of(struct branch *branch, uint32_t label, const struct name **name)
{
    if (label >= branch->names.count || branch->names.items[label].stretch != branch->stretch) {
        int rc = make_name(branch, label);
        if (rc < 0)
            return rc;
    }
    *name = &branch->names.items[label];
    return LAM_OK;
}

static int make_track(struct branch *branch, uint32_t process, uint32_t thread)
{
    uint64_t id;
    if (thread >= branch->tracks.count && array_resize(&branch->tracks, (size_t)thread + 1) < 0)
        return LAM_E_NOMEM;
    int rc = branch->trunk.track(branch->trunk.ctx, process, thread, &id);
    struct track *track = &branch->tracks.items[thread];
    if (rc >= 0)
        track->size = (uint32_t)(proto_uint(track->bytes, EVENT_TRACK, id) - track->bytes);
    return rc;
}

static inline int track_of(struct branch *branch, uint32_t process, uint32_t thread,
                           const struct track **track)
{
    if (thread >= branch->tracks.count || !branch->tracks.items[thread].size) {
        int rc = make_track(branch, process, thread);
        if (rc < 0)
            return rc;
    }
    *track = &branch->tracks.items[thread];
    return LAM_OK;
}

/* ---- arguments ---- */

static void add_string(struct branch *branch, struct profile_text value)
{
    strbuf_clear(&branch->piece);
    safe_text_add(&branch->piece, SAFE_UTF8, value.bytes, value.size);
    proto_add_message(&branch->message, ANNOTATION_STRING, &branch->piece);
    proto_add_message(&branch->details, EVENT_ANNOTATIONS, &branch->message);
}

static void add_args(struct branch *branch, const struct profile_text *args, size_t argc)
{
    for (size_t i = 0; i < argc && !branch->trunk.redacts; i++) {
        strbuf_clear(&branch->message);
        if (i < PERFETTO_ARG_NAMES) {
            proto_add_uint(&branch->message, ANNOTATION_NAME_IID, PERFETTO_NAME_ARG0 + i);
        } else {
            char name[32];
            snprintf(name, sizeof name, "arg%zu", i);
            proto_add_text(&branch->message, ANNOTATION_NAME, name);
        }
        add_string(branch, args[i]);
    }
}

static void add_backward(struct branch *branch)
{
    strbuf_clear(&branch->message);
    proto_add_uint(&branch->message, ANNOTATION_NAME_IID, PERFETTO_NAME_BACKWARD);
    proto_add_uint(&branch->message, ANNOTATION_BOOL, 1);
    proto_add_message(&branch->details, EVENT_ANNOTATIONS, &branch->message);
}

/* ---- events ---- */

static inline int begin_stretch(struct branch *branch)
{
    if (__builtin_expect(branch->has_begun, 1))
        return LAM_OK;
    branch->has_begun = true;
    branch->has_ended = false;
    branch->stretch++;
    branch->last_name = branch->last_category = 0;
    return put(branch, branch->trunk.start);
}

static inline uint64_t time_of(struct branch *branch, int64_t at_ns)
{
    int64_t time;
    if (__builtin_add_overflow(at_ns, branch->trunk.base_ns, &time) || time < 0) {
        branch->clamped++;
        return 0;
    }
    return (uint64_t)time;
}

/* name NULL: it has none. Its arguments are in `details`. */
static inline int put_event(struct branch *branch, enum track_event_type type,
                            const struct track *track, const struct name *name, int64_t at_ns)
{
    unsigned char head[FIELDS_BYTES] = {0}, *at = head;
    size_t name_size = name ? name->size : 0, details = branch->details.length;
    size_t event = 2 + (size_t)track->size + name_size + details;
    int rc = want_room(branch, 2 * (size_t)FIELDS_BYTES + NAME_BYTES + details);
    if (rc < 0)
        return rc;
    at = proto_uint(at, PACKET_TIMESTAMP, time_of(branch, at_ns));
    at = proto_uint(at, PACKET_SEQUENCE_ID, PERFETTO_STRETCHES);
    at = proto_uint(at, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
    at = proto_varint(proto_tag(at, PACKET_TRACK_EVENT, PROTO_BYTES), event);
    at = proto_uint(at, EVENT_TYPE, type);
    size_t head_size = (size_t)(at - head);
    unsigned char *to = (unsigned char *)branch->held.bytes + branch->held.used;
    to = proto_varint(proto_tag(to, TRACE_PACKET, PROTO_BYTES), head_size - 2 + event);
    memcpy(to, head, sizeof head); /* what is too much is written over */
    to += head_size;
    memcpy(to, track->bytes, sizeof track->bytes);
    to += track->size;
    if (name)
        memcpy(to, name->bytes, sizeof name->bytes);
    to += name_size;
    if (details)
        memcpy(to, branch->details.data, details);
    branch->held.used = (size_t)(to + details - (unsigned char *)branch->held.bytes);
    return LAM_OK;
}

static int put_named(struct branch *branch, enum track_event_type type, uint32_t process,
                     uint32_t thread, uint32_t label, int64_t at_ns)
{
    const struct track *track;
    const struct name *name;
    int rc = begin_stretch(branch);
    if (rc >= 0)
        rc = track_of(branch, process, thread, &track);
    if (rc >= 0)
        rc = name_of(branch, label, &name);
    return rc < 0 ? rc : put_event(branch, type, track, name, at_ns);
}

/* With what is in `details`, which may be an argument that there was no memory for. */
static int put_detailed(struct branch *branch, enum track_event_type type, uint32_t process,
                        uint32_t thread, uint32_t label, int64_t at_ns)
{
    bool is_whole =
        strbuf_ok(&branch->details) && strbuf_ok(&branch->message) && strbuf_ok(&branch->piece);
    int rc = is_whole ? LAM_OK : LAM_E_NOMEM;
    if (rc >= 0)
        rc = put_named(branch, type, process, thread, label, at_ns);
    strbuf_clear(&branch->details);
    return rc;
}

static int on_interval(void *ctx, const struct profile_interval *interval)
{
    struct branch *branch = ctx;
    if (__builtin_expect(!interval->argc && !interval->flags, 1))
        return put_named(branch, TRACK_EVENT_SLICE_BEGIN, interval->process, interval->thread,
                         interval->label, interval->start_ns);
    add_args(branch, interval->args, interval->argc);
    if (interval->flags & PROFILE_INTERVAL_BACKWARD)
        add_backward(branch);
    return put_detailed(branch, TRACK_EVENT_SLICE_BEGIN, interval->process, interval->thread,
                        interval->label, interval->start_ns);
}

static int on_interval_end(void *ctx, uint32_t process, uint32_t thread, int64_t at_ns)
{
    struct branch *branch = ctx;
    const struct track *track;
    int rc = begin_stretch(branch);
    if (rc >= 0)
        rc = track_of(branch, process, thread, &track);
    return rc < 0 ? rc : put_event(branch, TRACK_EVENT_SLICE_END, track, NULL, at_ns);
}

static int add_count(struct branch *branch, const struct profile_instant *instant)
{
    struct perfetto_count count = {instant->process, instant->thread, instant->label,
                                   instant->at_ns, instant->value};
    branch->has_ended = false;
    return array_push(&branch->counts, count);
}

static int on_instant(void *ctx, const struct profile_instant *instant)
{
    struct branch *branch = ctx;
    if (instant->has_value)
        return add_count(branch, instant);
    add_args(branch, instant->args, instant->argc);
    return put_detailed(branch, TRACK_EVENT_INSTANT, instant->process, instant->thread,
                        instant->label, instant->at_ns);
}

static int on_end(void *ctx)
{
    struct branch *branch = ctx;
    branch->has_begun = false;
    branch->has_ended = true;
    return LAM_OK;
}

static size_t held_bytes(void *ctx)
{
    const struct branch *branch = ctx;
    return branch->held.used + branch->counts.count * sizeof *branch->counts.items;
}

/* ---- life ---- */

int perfetto_branch_open(const struct perfetto_trunk *trunk, size_t max_bytes,
                         struct profile_branch *public)
{
    struct branch *branch = mem_zalloc(1, sizeof *branch);
    if (!branch)
        return LAM_E_NOMEM;
    branch->trunk = *trunk;
    branch->public = public;
    branch->held.wanted = max_bytes;
    *public = (struct profile_branch){.ctx = branch,
                                      .interval = on_interval,
                                      .instant = on_instant,
                                      .interval_end = on_interval_end,
                                      .end = on_end,
                                      .held_bytes = held_bytes};
    return LAM_OK;
}

struct perfetto_held perfetto_branch_take(struct profile_branch *public)
{
    struct branch *branch = public->ctx;
    struct perfetto_held held = {branch_bytes_take(&branch->held), branch->counts.items,
                                 branch->has_ended ? branch->counts.count : 0, branch->clamped};
    branch->clamped = 0;
    if (branch->has_ended)
        array_clear(&branch->counts);
    return held;
}

void perfetto_branch_close(struct profile_branch *public)
{
    struct branch *branch = public->ctx;
    if (!branch)
        return;
    array_free(&branch->names);
    array_free(&branch->categories);
    array_free(&branch->tracks);
    array_free(&branch->counts);
    strbuf_free(&branch->text);
    strbuf_free(&branch->message);
    strbuf_free(&branch->piece);
    strbuf_free(&branch->details);
    mem_free(branch->held.bytes);
    mem_free(branch);
    public->ctx = NULL;
}
