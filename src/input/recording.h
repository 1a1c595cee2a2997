/* A recording as read_recording.c works on it: which images ran, which kernel process each belonged to, who started whom
 * and what the kernel charged. Built in two steps, recording_gather() from the streams' records and recording_link() from
 * what parents and the launcher know of others. */
#ifndef LAMELLA_INPUT_RECORDING_H
#define LAMELLA_INPUT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "input/session_json.h"
#include "profile/sink.h"
#include "reader/stream_file.h"
#include "reader/tick_clock.h"

#define NO_INDEX UINT32_MAX

/* The clock on the wall may be set between a process's start and what it writes of it later. */
enum { RECORDING_CLOCK_SLACK_NS = 5000000 };

struct recording_text { /* in the arena */
    const char *bytes;
    size_t size;
};

struct spawned { /* a SPAWN record */
    int64_t at_ns;
    uint32_t kind; /* enum stream_spawn_kind */
    uint32_t child_pid;
    int32_t rc;
    uint16_t why_not;
    struct recording_text path, argv;
    uint64_t cpu_ns;
};

struct child_exit { /* a CHILD_EXIT record */
    int64_t at_ns;
    uint32_t pid;
    int32_t status;
    struct stream_usage usage;
};

struct thread_clocks {
    uint64_t cpu_ns, run_ns, core_wait_ns; /* PROFILE_UNKNOWN */
};

struct stream_paths LAM_ARRAY_BODY(char *);

/* One program image: what exec or fork began. With a stream, or known from its parent's and the launcher's word only. */
struct image {
    char *path;               /* of the stream file; NULL: it has none */
    struct stream_paths more; /* other streams of it: recorders beside the agent */
    const char *name;         /* its last part */
    uint32_t pid, ppid;
    uint64_t kernel_start;
    uint64_t lost[STREAM_LOSS_KINDS];
    int64_t start_ns, agent_start_ns;
    int64_t last_ns; /* the latest time that any of its records names */

    struct recording_text exe, cwd, comm, argv; /* argv: each ended by NUL */
    uint64_t exec_cpu_ns, image_cpu_ns;
    uint32_t flags; /* enum stream_flag */
    uint32_t engine;
    uint32_t period_ns[4];
    int32_t open_errno; /* why the engine could not be started */
    uint16_t why_not;
    uint8_t kernel_mode;
    uint8_t producer; /* enum stream_producer */
    uint8_t measure;  /* enum stream_measure, of its events */
    bool has_events;
    bool has_config;
    bool argv_cut;
    bool has_end; /* a PROCESS_END record; of several the last (a failed exec is followed by others) */
    bool has_main_end; /* main_end is filled */
    bool has_usage;

    uint32_t end_how;
    int32_t end_code;
    int64_t end_ns;
    uint64_t end_cpu_ns;
    struct stream_usage end_self, end_children;

    struct thread_clocks main_end; /* the main thread's clocks at its end; an exec does not reset them */

    LAM_ARRAY(struct spawned) spawns;
    LAM_ARRAY(struct child_exit) exits;

    /* Linked. */
    struct thread_clocks main_before; /* what the main thread had used when this image began */
    uint32_t life;                    /* index */
    uint32_t parent;                  /* image that started it; NO_INDEX */
    uint32_t previous;                /* image that exec replaced; NO_INDEX */
    uint32_t next;                    /* image that replaced it; NO_INDEX */
    uint32_t process;                 /* id in the sink */
    uint64_t cpu_ns, tail_cpu_ns;     /* PROFILE_UNKNOWN */
    struct profile_usage usage;
    uint64_t peak_rss_bytes; /* as polled; PROFILE_UNKNOWN */
};

/* A kernel process from fork to exit: one or more images. */
struct life {
    uint64_t kernel_start; /* 0: not known */
    int64_t start_ns, exit_ns;
    struct stream_usage total; /* of the wait: with its waited children's */
    struct stream_usage own;
    uint64_t seen_cpu_ns; /* PROFILE_UNKNOWN */
    uint64_t all_cpu_ns;  /* its own and its descendants', as far as known */
    uint32_t pid, ppid;
    uint32_t first, last; /* images */
    uint32_t parent;      /* image that started it */
    uint32_t next_of_pid; /* older life of the same pid */
    int32_t status;
    uint8_t state;   /* of the walk that adds usage up */
    bool is_claimed; /* parent is from a SPAWN record, or from a wait */
    bool has_exit;   /* somebody who is in the recording waited for it */
    bool by_launcher;
    bool is_running;
    bool has_own;
};

#define RECORDING_PROFILES_DIR "self-profile" /* in the recording */

struct recording_profile { /* a self-profile that one of the images wrote */
    char *path;
    uint32_t image;  /* index */
    int64_t zero_ns; /* of its own times */
    bool lacks_metadata;
};

/* What lies elsewhere and is of processes of the recording. */
struct recording_more {
    const char *const *streams; /* recordings of events: directories, or streams */
    size_t stream_count;
    const char *const *profiles; /* self-profiles */
    size_t profile_count;
};

struct recording {
    const char *path;                  /* as given */
    const struct recording_more *more; /* the caller's; NULL */
    char *session_path;                /* NULL: there is none */
    struct session_json session;
    bool has_session;
    struct tick_clock clock;
    int64_t zero_wall_ns; /* since 1970 */
    LAM_ARRAY(struct image) images;
    LAM_ARRAY(struct life) lives;
    LAM_ARRAY(struct recording_profile) profiles;
    struct arena arena;
    uint64_t streams, unreadable_streams, duplicate_streams;
    uint64_t refused_recorders; /* processes that were to record themselves, and could not */
    char first_refusal[256];
    struct profile_faults faults; /* of unreadable files; those of what is read are in the totals of the push */
    char session_damage[256]; /* session.json was there, and is left out */
};

/* Finds the streams of a directory, or the one file, and reads what they say about processes. more: NULL, or what is read as if it
 * lay there; it outlives the recording. */
int recording_gather(struct recording *rec, const char *path, const struct recording_more *more,
                     struct lam_error *err);

/* Joins images to lives, finds parents, adds programs without a stream, and divides what the kernel charged. */
int recording_link(struct recording *rec, struct lam_error *err);

void recording_free(struct recording *rec);

/* What a stream says that it counts: enum stream_measure. */
enum profile_measure recording_measure(uint32_t measure);

/* Whether events of it count something else than time. */
bool recording_measures_other(const struct recording *rec);

/* Counts a file that cannot be read. */
void recording_note_unreadable(struct recording *rec, const char *what);

/* An empty image, appended; its index, or NO_INDEX when memory is short. */
uint32_t recording_add_image(struct recording *rec);

#endif
