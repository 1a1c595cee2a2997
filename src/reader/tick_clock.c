#include "reader/tick_clock.h"

#include <stdlib.h>

#define NS_PER_S 1000000000ull

/* Two readings nearer than this say nothing about the rate that the nominal one does not say better: each may be a
 * microsecond off. */
#define MIN_PIECE_NS 1000000ull

int tick_clock_add(struct tick_clock *clock, uint64_t ticks, uint64_t mono_ns)
{
    return array_push(&clock->points, ((struct clock_point){ticks, mono_ns}));
}

static int compare_points(const void *left, const void *right)
{
    const struct clock_point *a = left, *b = right;
    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    return a->mono_ns < b->mono_ns ? -1 : a->mono_ns > b->mono_ns;
}

/* scale / 2^shift is numerator / denominator, with all the 64 bits that scale has room for. */
static struct clock_piece make_piece(struct clock_point from, uint64_t numerator, uint64_t denominator)
{
    struct clock_piece piece = {.ticks = from.ticks, .base_ns = from.mono_ns, .shift = 64};
    unsigned __int128 scale;
    do {
        piece.shift--;
        scale = ((unsigned __int128)numerator << piece.shift) / denominator;
    } while (scale >> 64 && piece.shift > 0);
    piece.scale = scale >> 64 ? UINT64_MAX : (uint64_t)scale;
    return piece;
}

/* Whether two readings fit the nominal rate: to 1 in 1,000, and 10 µs for what interrupted a reading. NTP slews by 1 in
 * 2,000 at most. */
static bool points_agree(const struct tick_clock *clock, struct clock_point from,
                         struct clock_point to)
{
    uint64_t ticks = to.ticks - from.ticks;
    if (to.mono_ns <= from.mono_ns || ticks == 0)
        return false;
    unsigned __int128 due = (unsigned __int128)ticks * NS_PER_S / clock->tick_rate_hz;
    unsigned __int128 is = to.mono_ns - from.mono_ns;
    unsigned __int128 off = due > is ? due - is : is - due;
    return off <= is / 1000 + 10000;
}

int tick_clock_ready(struct tick_clock *clock, uint64_t tick_rate_hz, uint64_t zero_mono_ns)
{
    clock->tick_rate_hz = tick_rate_hz ? tick_rate_hz : NS_PER_S;
    clock->zero_mono_ns = zero_mono_ns;
    clock->last = 0;
    array_clear(&clock->pieces);
    array_sort(&clock->points, compare_points);
    struct clock_point from = {0, 0};
    for (size_t i = 0; i < clock->points.count; i++) {
        struct clock_point to = clock->points.items[i];
        if (i > 0 && (to.mono_ns < from.mono_ns + MIN_PIECE_NS || !points_agree(clock, from, to)))
            continue;
        if (i > 0) {
            struct clock_piece *before = &array_last(&clock->pieces);
            *before = make_piece(from, to.mono_ns - from.mono_ns, to.ticks - from.ticks);
        }
        /* Beyond the last reading the nominal rate holds, until a later reading replaces it. */
        if (array_push(&clock->pieces, make_piece(to, NS_PER_S, clock->tick_rate_hz)) < 0)
            return LAM_E_NOMEM;
        from = to;
    }
    if (clock->pieces.count)
        return LAM_OK;
    return array_push(&clock->pieces, make_piece(from, NS_PER_S, clock->tick_rate_hz));
}

static const struct clock_piece *piece_at(struct tick_clock *clock, uint64_t ticks)
{
    const struct clock_piece *pieces = clock->pieces.items;
    size_t count = clock->pieces.count;
    size_t at = clock->last;
    if (pieces[at].ticks <= ticks && (at + 1 == count || ticks < pieces[at + 1].ticks))
        return &pieces[at];
    size_t low = 0, high = count; /* the last piece that begins at or before; else the first */
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (pieces[mid].ticks <= ticks)
            low = mid;
        else
            high = mid;
    }
    clock->last = low;
    return &pieces[low];
}

static uint64_t scaled(const struct clock_piece *piece, uint64_t ticks)
{
    unsigned __int128 ns = ((unsigned __int128)ticks * piece->scale) >> piece->shift;
    return ns > TICK_CLOCK_MAX_NS ? TICK_CLOCK_MAX_NS : (uint64_t)ns;
}

int64_t tick_clock_ns(struct tick_clock *clock, uint64_t ticks)
{
    if (!clock->pieces.count)
        return 0;
    const struct clock_piece *piece = piece_at(clock, ticks);
    __int128 ns = (__int128)piece->base_ns - clock->zero_mono_ns;
    if (ticks >= piece->ticks)
        ns += scaled(piece, ticks - piece->ticks);
    else
        ns -= scaled(piece, piece->ticks - ticks);
    if (ns > TICK_CLOCK_MAX_NS)
        return TICK_CLOCK_MAX_NS;
    return ns < -TICK_CLOCK_MAX_NS ? -TICK_CLOCK_MAX_NS : (int64_t)ns;
}

uint64_t tick_clock_span_ns(struct tick_clock *clock, uint64_t at, uint64_t ticks)
{
    return clock->pieces.count ? scaled(piece_at(clock, at), ticks) : 0;
}

void tick_clock_free(struct tick_clock *clock)
{
    array_free(&clock->points);
    array_free(&clock->pieces);
    *clock = (struct tick_clock){0};
}
