/* Ticks to nanoseconds: piecewise linear through readings of clocks taken together. Wall clock readings are not used, so a
 * clock that is set meanwhile moves nothing. */
#ifndef LAMELLA_READER_TICK_CLOCK_H
#define LAMELLA_READER_TICK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

struct clock_point {
    uint64_t ticks;
    uint64_t mono_ns;
};

struct clock_piece { /* from `ticks` on: ns = base_ns + (t - ticks) * scale / 2^shift */
    uint64_t ticks;
    uint64_t base_ns;
    uint64_t scale;
    uint32_t shift;
};

struct tick_clock {
    LAM_ARRAY(struct clock_point) points;
    LAM_ARRAY(struct clock_piece) pieces;
    uint64_t tick_rate_hz; /* nominal: the rate where there is but one reading, and beyond the readings */
    uint64_t zero_mono_ns; /* the nanosecond that conversion calls 0 */
    size_t last;           /* the piece used last */
};

/* All-zero is empty. Adds a reading, in any order. LAM_OK or LAM_E_NOMEM. */
int tick_clock_add(struct tick_clock *clock, uint64_t ticks, uint64_t mono_ns);

/* Makes the pieces, after the last reading was added. Readings that contradict their neighbours (time runs backwards, or
 * more than a thousandth off the nominal rate over at least a millisecond) are left out. LAM_OK or LAM_E_NOMEM. */
int tick_clock_ready(struct tick_clock *clock, uint64_t tick_rate_hz, uint64_t zero_mono_ns);

/* The farthest that a conversion goes, 73 years: of two times the difference, and of a time and a span the sum, are in range too,
 * whatever a file says. */
#define TICK_CLOCK_MAX_NS (INT64_MAX / 4)

/* Nanoseconds since zero; negative before. Saturates at TICK_CLOCK_MAX_NS, as a span does. Remembers the piece: one thread. */
int64_t tick_clock_ns(struct tick_clock *clock, uint64_t ticks);

/* A stretch of time in ticks, at the rate in force at `at`. */
uint64_t tick_clock_span_ns(struct tick_clock *clock, uint64_t at, uint64_t ticks);

void tick_clock_free(struct tick_clock *clock);

#endif
