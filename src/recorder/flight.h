/* flight.h: the places of a flight recorder's pages. All with signals blocked, and `changing` set in the lane. */
#ifndef LAMELLA_RECORDER_FLIGHT_H
#define LAMELLA_RECORDER_FLIGHT_H

#include "recorder/recorder_state.h"

/* The size of every page of a recorder with that budget. */
uint32_t flight_page_bytes(uint64_t max_bytes);

/* Before a stream begins. LAM_OK or LAM_E_NOMEM. */
int flight_init(struct lam_recorder *rec);

/* A page, begun as `fields` say, for the lane's thread. *held: its entry, plus 1, until it is unmapped; 0: it is never used again.
 * NULL: *rc says why. */
struct stream_page *flight_claim_page(struct lane *lane, struct stream_page *fields, uint32_t *held,
                                      int *rc);

/* Where the lane's page may be copied to: 0, or a negative errno. It is ours until it is put; one that could not be written is not. */
int flight_take_place(struct lane *lane, uint32_t *entry, uint64_t *offset, int *is_over_old);
void flight_put_place(struct lane *lane, uint32_t entry);

/* Nobody writes to a page any more that a thread, its owner, had. */
void flight_unmapped(struct lane *lane, uint32_t entry, uint32_t owner);

/* The lane's thread ends. Returns whether the lane's page is to be left; the next thread goes on in that of a short one. */
int flight_end_thread(struct lane *lane);
/* Another thread has taken the lane. */
void flight_begin_thread(struct lane *lane);

#endif
