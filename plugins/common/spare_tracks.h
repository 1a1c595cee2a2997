/* spare_tracks.h: the tracks of coroutines that are over, for the next ones with the same body: a program that makes a million of
 * them shows as many rows as run at a time. */
#ifndef LAMELLA_PLUGINS_SPARE_TRACKS_H
#define LAMELLA_PLUGINS_SPARE_TRACKS_H

#include <stdlib.h>

#include "lamella/lamella.h"

enum { SPARES_FIRST = 64, SPARES_MAX = 4096, SPARES_LOOK = 64 };

struct spare_track {
    struct lam_track track;
    uint32_t label;
};

struct spare_tracks { /* all zero: none */
    struct spare_track *items;
    uint32_t count, capacity;
};

/* One of that name, among those that became free last; else a new one. */
static inline struct lam_track spare_tracks_take(struct spare_tracks *spares, uint32_t label)
{
    uint32_t look = spares->count < SPARES_LOOK ? spares->count : SPARES_LOOK;
    for (uint32_t i = 1; i <= look; i++) {
        struct spare_track *spare = &spares->items[spares->count - i];
        if (spare->label == label) {
            struct lam_track track = spare->track;
            *spare = spares->items[--spares->count];
            return track;
        }
    }
    return lam_track_create(LAM_DEFAULT, (struct lam_label){label});
}

static inline void spare_tracks_give(struct spare_tracks *spares, struct lam_track track,
                                     uint32_t label)
{
    if (spares->count == spares->capacity && spares->capacity < SPARES_MAX) {
        uint32_t capacity = spares->capacity ? spares->capacity * 2 : SPARES_FIRST;
        struct spare_track *items = realloc(spares->items, capacity * sizeof *items);
        if (items) {
            spares->items = items;
            spares->capacity = capacity;
        }
    }
    if (spares->count < spares->capacity)
        spares->items[spares->count++] = (struct spare_track){track, label};
    else
        lam_track_end(LAM_DEFAULT, track);
}

#endif
