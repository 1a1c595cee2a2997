#include "reader/event_pages.h"

#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#include "base/memory.h"
#include "reader/stream_walk.h"

void event_pages_init(struct event_pages *pages, const struct stream_file *file)
{
    *pages = (struct event_pages){.file = file};
}

void event_pages_close(struct event_pages *pages)
{
    for (unsigned i = 0; i < EVENT_PAGES_KEPT; i++)
        mem_free(pages->kept[i]);
    mem_free(pages->spare);
    ZSTD_freeDCtx(pages->unpacker);
    *pages = (struct event_pages){0};
}

/* Frames that were unpacked are let go of, many at a time. */
enum { LEAVE_BEHIND_BYTES = 16 << 20 };

static void leave_frames_behind(struct event_pages *pages, uint64_t offset)
{
    uint64_t at = offset & ~(uint64_t)(STREAM_PAGE_GRAIN - 1);
    if (!pages->file->map.is_mapped)
        return;
    if (at < pages->frames_from) /* another lane, from its beginning */
        pages->frames_from = at;
    if (at - pages->frames_from < LEAVE_BEHIND_BYTES)
        return;
    (void)madvise((void *)(uintptr_t)(pages->file->bytes + pages->frames_from),
                  at - pages->frames_from, MADV_DONTNEED);
    pages->frames_from = at;
}

/* Whole slots into `into`. 1, 0 or LAM_E_NOMEM. */
static int unpack(struct event_pages *pages, const struct stream_page_ref *ref, void *into)
{
    if (!pages->spare && !(pages->spare = mem_alloc(STREAM_PAGE_MAX)))
        return LAM_E_NOMEM;
    if (!pages->unpacker && !(pages->unpacker = ZSTD_createDCtx()))
        return LAM_E_NOMEM;
    leave_frames_behind(pages, ref->body_offset);
    return stream_page_body(pages->file, ref, pages->unpacker, into, pages->spare, &pages->faults) !=
           NULL;
}

static void swap_slots(struct stream_slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        slots[i].head = __builtin_bswap64(slots[i].head);
        slots[i].rest = __builtin_bswap64(slots[i].rest);
    }
}

/* A copy of the page in our order, from before or made now. */
static int get_copy(struct event_pages *pages, size_t index, const struct stream_slot **out)
{
    const struct stream_page_ref *ref = &pages->file->pages.items[index];
    for (unsigned i = 0; i < EVENT_PAGES_KEPT; i++) {
        if (pages->kept_page[i] == index + 1) {
            *out = pages->kept[i];
            return 1;
        }
    }
    unsigned at = pages->next;
    pages->next = (at + 1) % EVENT_PAGES_KEPT;
    pages->kept_page[at] = 0;
    if (!pages->kept[at] && !(pages->kept[at] = mem_alloc(STREAM_PAGE_MAX)))
        return LAM_E_NOMEM;
    int rc = 1;
    if (ref->packed_bytes)
        rc = unpack(pages, ref, pages->kept[at]);
    else
        memcpy(pages->kept[at], pages->file->bytes + ref->body_offset, ref->body_bytes);
    if (rc <= 0)
        return rc;
    if (pages->file->is_swapped)
        swap_slots(pages->kept[at], ref->body_bytes / sizeof(struct stream_slot));
    pages->kept_page[at] = index + 1;
    *out = pages->kept[at];
    return 1;
}

/* A page read in place long ago is let go of: a file as large as the memory is read with little of it. It comes back from the
 * file when it is wanted again. */
static void leave_behind(struct event_pages *pages, size_t index)
{
    for (unsigned i = 0; i < EVENT_PAGES_KEPT; i++) {
        if (pages->in_place[i] == index + 1)
            return;
    }
    size_t *oldest = &pages->in_place[pages->next_in_place++ % EVENT_PAGES_KEPT];
    const struct stream_page_ref *ref = *oldest ? &pages->file->pages.items[*oldest - 1] : NULL;
    *oldest = index + 1;
    if (!ref || !pages->file->map.is_mapped)
        return;
    uint64_t begin = ref->body_offset - STREAM_PAGE_HEADER_BYTES;
    uint64_t whole =
        ref->body_bytes & ~(uint64_t)(STREAM_PAGE_GRAIN - 1); /* of a file that ends in it */
    if (begin % STREAM_PAGE_GRAIN == 0)
        (void)madvise((void *)(uintptr_t)(pages->file->bytes + begin), whole, MADV_DONTNEED);
}

int event_pages_get(struct event_pages *pages, size_t index, struct event_page *out)
{
    const struct stream_page_ref *ref = &pages->file->pages.items[index];
    const uint8_t *at = pages->file->bytes + ref->body_offset;
    bool in_place = !ref->packed_bytes && !pages->file->is_swapped && ((uintptr_t)at & 7) == 0;
    *out = (struct event_page){ref, (const struct stream_slot *)(const void *)at,
                               ref->body_bytes / (uint32_t)sizeof(struct stream_slot)};
    if (!in_place)
        return get_copy(pages, index, &out->slots);
    leave_behind(pages, index);
    return 1;
}
