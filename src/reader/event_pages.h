/* EVENTS pages as rows of slots in our byte order, in place where the file has them like that. */
#ifndef LAMELLA_READER_EVENT_PAGES_H
#define LAMELLA_READER_EVENT_PAGES_H

#include "reader/stream_file.h"

enum { EVENT_PAGES_KEPT = 4 };

struct event_page {
    const struct stream_page_ref *ref;
    const struct stream_slot *slots; /* the first one is 4 slots behind the page's start */
    uint32_t count;
};

struct event_pages {
    const struct stream_file *file;
    struct stream_faults faults;

    /* Inside: pages that had to be unpacked, turned or moved. */
    struct stream_slot *kept[EVENT_PAGES_KEPT];
    size_t kept_page[EVENT_PAGES_KEPT]; /* index + 1 in file->pages; 0: none */
    unsigned next;                      /* the one to be given up */
    size_t in_place[EVENT_PAGES_KEPT];  /* the last ones that were read where they lie: index + 1 */
    unsigned next_in_place;
    uint64_t frames_from; /* packed frames before this one, and not far behind, are still in memory */
    uint8_t *spare;
    void *unpacker;
};

void event_pages_init(struct event_pages *pages, const struct stream_file *file);
void event_pages_close(struct event_pages *pages); /* all-zero is fine */

/* The page with an index in file->pages. Its slots stay until EVENT_PAGES_KEPT - 1 others were asked for. 1; 0 when it cannot
 * be read, which is counted; LAM_E_NOMEM. */
int event_pages_get(struct event_pages *pages, size_t index, struct event_page *out);

/* Distance of a slot from the start of its page, in slots. */
enum { EVENT_SLOTS_BEFORE = STREAM_PAGE_HEADER_BYTES / sizeof(struct stream_slot) };

static inline uint64_t event_slot_offset(const struct stream_page_ref *page, uint32_t slot)
{
    return page->self_offset + STREAM_PAGE_HEADER_BYTES + slot * sizeof(struct stream_slot);
}

/* Word 0 is loaded first, with acquire: its writer stores it last, with release. */
static inline struct stream_slot event_slot_load(const struct stream_slot *slot)
{
    struct stream_slot copy;
    copy.head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE);
    copy.rest = __atomic_load_n(&slot->rest, __ATOMIC_RELAXED);
    return copy;
}

/* How many of the slots from `slot` on belong to the one before them. */
static inline uint32_t event_slots_behind(const struct event_page *page, uint32_t slot)
{
    uint32_t count = 0;
    while (slot + count < page->count) {
        uint32_t code =
            (uint32_t)(__atomic_load_n(&page->slots[slot + count].head, __ATOMIC_ACQUIRE) >>
                       STREAM_SLOT_CODE_SHIFT) &
            0xff;
        if (code < STREAM_SLOT_KIND || code >= STREAM_SLOT_KIND_MIN)
            break;
        count++;
    }
    return count;
}

#endif
