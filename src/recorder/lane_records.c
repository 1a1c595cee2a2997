/* lane_records.c: records of a lane's thread. A flight recorder's budget is for events: there all lanes share one page for them,
 * and what grows with time and with the number of threads is bounded. */
#include "recorder/recorder_state.h"

enum {
    THREADS_SHARE = 32, /* 1 / this of the budget is for records about threads */
    TIMES_SHARE = 16,   /* the clocks are told when the recording is 1 / this older */
};

struct stream_cursor *lane_lock_records(struct lane *lane)
{
    struct live *live = lane->rec->live;
    if (!lane->rec->flight_page)
        return &lane->records;
    futex_lock(&live->records_lock);
    if (!live->records.kind)
        stream_cursor_init(&live->records, STREAM_PAGE_RECORDS, lane->number, lane->tid);
    return &live->records;
}

void lane_unlock_records(struct lane *lane)
{
    if (lane->rec->flight_page)
        futex_unlock(&lane->rec->live->records_lock);
}

int lane_append(struct lane *lane, uint32_t type, uint32_t aux, const struct stream_piece *pieces,
                size_t count, uint64_t now)
{
    struct stream_cursor *cur = lane_lock_records(lane);
    int rc = stream_append(&lane->rec->stream, cur, type, aux, pieces, count, now);
    lane_unlock_records(lane);
    return rc;
}

void lane_append_thread(struct lane *lane, uint32_t type, const struct stream_piece *pieces,
                        size_t count, uint64_t now)
{
    const struct lam_recorder *rec = lane->rec;
    if (rec->flight_page) {
        uint64_t size = sizeof(struct stream_record);
        for (size_t i = 0; i < count; i++)
            size += pieces[i].size;
        if (__atomic_add_fetch(&rec->live->thread_bytes, size, __ATOMIC_RELAXED) >
            rec->max_bytes / THREADS_SHARE)
            return;
    }
    lane_append(lane, type, lane->thread, pieces, count, now);
}

void lane_tell_time(struct lane *lane)
{
    struct lam_recorder *rec = lane->rec;
    uint64_t *told = rec->flight_page ? &rec->live->told_ticks : &lane->told_ticks;
    uint64_t now = clock_ticks(rec->stream.use_counter);
    uint64_t last = __atomic_load_n(told, __ATOMIC_RELAXED), every = rec->time_every;
    if (rec->flight_page && (now - rec->start_ticks) / TIMES_SHARE > every)
        every = (now - rec->start_ticks) / TIMES_SHARE;
    /* Another core's counter may be a little ahead: then it is told already. */
    if (now < last || now - last < every ||
        !__atomic_compare_exchange_n(told, &last, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    recorder_write_time(rec, lane);
}
