/* What a branch of an export (profile_branch) has written and nobody has taken yet: bytes in a buffer of its own. */
#ifndef LAMELLA_OUTPUT_BRANCH_BYTES_H
#define LAMELLA_OUTPUT_BRANCH_BYTES_H

#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "profile/sink.h"

/* Zero but for `wanted`. */
struct branch_bytes {
    char *bytes; /* NULL: none have been written */
    size_t used, capacity;
    size_t wanted; /* how large it is, but for pieces that are larger */
};

/* More room than is left: what is held is taken first. */
static inline int branch_bytes_make_room(struct branch_bytes *held, struct profile_branch *public,
                                         size_t room)
{
    if (held->used) {
        int rc = public->make_room(public->room_ctx);
        if (rc < 0)
            return rc;
    }
    size_t wanted = room > held->wanted ? room : held->wanted;
    if (held->capacity == wanted)
        return LAM_OK;
    mem_free(held->bytes);
    held->bytes = mem_alloc(wanted);
    held->capacity = held->bytes ? wanted : 0;
    return held->bytes ? LAM_OK : LAM_E_NOMEM;
}

/* So many bytes behind what is held may be written. LAM_OK, LAM_E_NOMEM, or what make_room() says. */
static inline int branch_bytes_room(struct branch_bytes *held, struct profile_branch *public,
                                    size_t room)
{
    return __builtin_expect(room <= held->capacity - held->used, 1)
               ? LAM_OK
               : branch_bytes_make_room(held, public, room);
}

static inline int branch_bytes_put(struct branch_bytes *held, struct profile_branch *public,
                                   struct profile_text text)
{
    int rc = branch_bytes_room(held, public, text.size);
    if (rc < 0)
        return rc;
    memcpy(held->bytes + held->used, text.bytes, text.size);
    held->used += text.size;
    return LAM_OK;
}

/* All of it, until the next is written. */
static inline struct profile_text branch_bytes_take(struct branch_bytes *held)
{
    struct profile_text taken = {held->bytes, held->used};
    held->used = 0;
    return taken;
}

#endif
