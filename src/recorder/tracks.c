/* tracks.c: lines of execution that the program schedules itself. */
#include "recorder/calls.h"
#include "recorder/slots.h"

/* Of switches between tracks on which nothing is open, one of so many reads the clock and is told as others are. */
enum { IDLE_SWITCHES = 64 };

struct lam_track lam_track_create(struct lam_recorder *rec, struct lam_label name)
{
    struct lam_track none = {0};
    struct lane *lane = lam_is_off(rec) ? NULL : lane_of(rec);
    if (!lane)
        return none;
    struct lam_recorder *own = lane->rec;
    struct lam_track track = {__atomic_add_fetch(&own->lexicon->next_track, 1, __ATOMIC_RELAXED)};
    struct stream_rec_track record = {.ticks = clock_ticks(own->stream.use_counter), .name = name.id};
    struct stream_piece piece = {&record, sizeof record};
    uint64_t signals = signals_block();
    if (!lane->changing)
        lane_append(lane, STREAM_REC_TRACK, track.id, &piece, 1, record.ticks);
    signals_restore(signals);
    return track;
}

/* Where calls are folded a switch is told when an event follows it, or when none was told for 10 ms: else switches alone would fill any
 * file. Calls, and intervals among them, bring the active times that were measured here; what is still open when the recording ends,
 * detached, or ended by another thread has its own from what was told. */
static int is_left_out(struct lane *lane, uint64_t now)
{
    return lane->page && now - lane->switch_told < lane->rec->time_every / 100;
}

/* Made by this recorder, or, of the default one, by one that was open before. What is not is counted. */
static int is_made(struct lane *lane, struct lam_track track)
{
    if (track.id <= __atomic_load_n(&lane->rec->lexicon->next_track, __ATOMIC_RELAXED))
        return 1;
    lane_count(lane, STREAM_COUNT_FOREIGN_ENDS);
    return 0;
}

static inline int is_idle(const struct calls *calls)
{
    return !calls || !(calls->depth || calls->frames->folds || calls->root_node);
}

/* The stack of a track, if it has one yet; of 0, the thread's own. */
static inline struct calls *stack_of(struct lane *lane, uint32_t track)
{
    struct calls **place = track ? calls_place(lane->rec, track) : &lane->own_calls;
    return place ? *place : NULL;
}

int lam_track_switch(struct lam_recorder *rec, struct lam_track track)
{
    if (lam_is_off(rec))
        return LAM_E_CLOSED;
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    if (lane->track == track.id)
        return LAM_OK;
    if (!is_made(lane, track))
        return LAM_E_INVAL;
    struct calls *next = stack_of(lane, track.id);
    if (calls_are_folded(lane->rec)) {
        /* Nothing is open before or after it: nobody's time is to be measured, and the clock need not be read. */
        const struct calls *left = lane->calls || lane->track ? lane->calls : lane->own_calls;
        if (is_idle(left) && is_idle(next) && lane->page &&
            ++lane->idle_switches % IDLE_SWITCHES != 0) {
            lane_set_track(lane, track.id, LANE_TIME_OF_EVENT);
            lane->calls = next;
            if (next)
                next->left_at = 0;
            return LAM_OK;
        }
        uint64_t now = lane_now(lane);
        if (is_left_out(lane, now)) {
            lane_set_track(lane, track.id, now);
            calls_switch_track(lane, next, now);
            return LAM_OK;
        }
    }
    uint32_t before = lane_enter(lane);
    struct slot_place place = slot_reserve(lane, sizeof(struct stream_slot), UINT64_MAX);
    if (place.slot)
        slot_store(&place, track.id, STREAM_SLOT_TRACK_SWITCH, 0);
    lane_leave(lane, before);
    /* After the slot: a page that begins in between names the old track, and the switch follows. */
    lane->track = track.id;
    lane->switch_told = place.time;
    if (lane->calls || lane->rec->tracks)
        calls_switch_track(lane, next, place.slot ? place.time : lane_now(lane));
    return place.slot ? LAM_OK : LAM_E_FULL;
}

int lam_track_end(struct lam_recorder *rec, struct lam_track track)
{
    if (lam_is_off(rec))
        return LAM_E_CLOSED;
    struct lane *lane = lane_of(rec);
    if (!lane)
        return LAM_E_CLOSED;
    if (!track.id)
        return LAM_OK; /* of a recorder that was off when it was to be made */
    if (!is_made(lane, track))
        return LAM_E_INVAL;
    if (lane->track == track.id)
        lam_track_switch(rec, (struct lam_track){0});
    if (lane->rec->tracks)
        calls_end_track(lane, track.id);
    return slot_put(lane, track.id, STREAM_SLOT_TRACK_END, 0);
}
