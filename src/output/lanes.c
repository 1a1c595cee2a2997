#include "output/lanes.h"

enum { LANES_LOOKED_AT = 64 };

static bool has_room(const struct lane *lane, int64_t start_ns, int64_t end_ns, bool in_order)
{
    return start_ns >= lane->last_ns || (!in_order && end_ns <= lane->first_ns);
}

int lanes_place(struct lanes *lanes, int64_t start_ns, int64_t end_ns, bool in_order, uint32_t *lane)
{
    uint32_t count = (uint32_t)lanes->items.count;
    uint32_t looks = count < LANES_LOOKED_AT ? count : LANES_LOOKED_AT;
    uint32_t at = count <= LANES_LOOKED_AT ? 0 : lanes->next;
    for (uint32_t i = 0; i < looks; i++, at = at + 1 == count ? 0 : at + 1) {
        struct lane *found = &lanes->items.items[at];
        if (!has_room(found, start_ns, end_ns, in_order))
            continue;
        found->first_ns = start_ns < found->first_ns ? start_ns : found->first_ns;
        found->last_ns = end_ns > found->last_ns ? end_ns : found->last_ns;
        lanes->next = at;
        *lane = at;
        return LAM_OK;
    }
    lanes->next = at;
    *lane = count;
    return array_push(&lanes->items, ((struct lane){start_ns, end_ns}));
}
