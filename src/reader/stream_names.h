/* The words for what a stream file says in numbers. Every function gives text for any value: "?" when it has no name. */
#ifndef LAMELLA_READER_STREAM_NAMES_H
#define LAMELLA_READER_STREAM_NAMES_H

#include <stdint.h>

const char *stream_engine_name(uint32_t engine); /* "sigtrap", "thread_perf", "cpu_timer", "none", "auto" */
const char *stream_unsampled_name(uint32_t why_not); /* one word: "static" */
const char *stream_unsampled_text(uint32_t why_not); /* a clause for people: "statically linked" */
const char *stream_wait_kind_name(uint32_t kind);    /* "lock" */
const char *stream_wait_call_name(uint32_t call);    /* "futex" */
const char *stream_spawn_kind_name(uint32_t kind);   /* "exec" */
const char *stream_end_how_name(uint32_t how);       /* "exit" */
const char *stream_thread_origin_name(uint32_t origin); /* "main" */
const char *stream_notice_name(uint32_t notice);        /* "reopened" */
const char *stream_notice_text(uint32_t notice);        /* a sentence */
const char *stream_loss_name(uint32_t loss);            /* "no_space" */
const char *stream_loss_text(uint32_t loss);            /* "no space on the disk" */
const char *stream_damage_name(uint32_t damage);        /* "missing_bytes" */
const char *stream_damage_text(uint32_t damage,
                               uint64_t amount);     /* "bytes missing at the end of the file" */
const char *stream_page_kind_name(uint32_t kind);    /* "samples" */
const char *stream_producer_name(uint32_t producer); /* "agent" */
const char *stream_clock_name(uint32_t clock);       /* "tsc" */
const char *stream_slot_code_name(uint32_t code);    /* "owner"; "event" for 32 to 255 */

#endif
