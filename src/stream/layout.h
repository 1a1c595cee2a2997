/* layout.h: every constant and structure of a Lamella stream file and of the control page.
 *
 * docs/format.md is the specification in words; the two change together. All structures are fixed-size, naturally
 * aligned, written in the byte order of the recorded machine, and hold no pointer. This header may be included by
 * code that runs inside other programs, so it includes nothing but <stdint.h>.
 */
#ifndef LAMELLA_STREAM_LAYOUT_H
#define LAMELLA_STREAM_LAYOUT_H

#include <assert.h>
#include <stdint.h>

enum {
    STREAM_VERSION_MAJOR = 1, /* a reader refuses another major version */
    STREAM_VERSION_MINOR = 1, /* a reader skips what a later minor version added */
    STREAM_HEADER_BYTES = 4096,
    STREAM_PAGE_GRAIN = 4096, /* pages start at multiples of this and have a size that is one */
    STREAM_PAGE_MIN = 4096,
    STREAM_PAGE_MAX = 262144,
    STREAM_PAGE_HEADER_BYTES = 64,
    STREAM_PACKED_HEADER_BYTES =
        320, /* a packed file keeps this much of its header; its pages follow at once */
};

/* "\x89LAM\r\n\x1a\n": a bit above 7, both line endings and an end-of-file mark, so that a transfer in text mode shows. */
#define STREAM_MAGIC        "\x89LAM\r\n\x1a\n"
#define STREAM_BYTE_ORDER   0x01020304u
#define STREAM_PAGE_MAGIC   0x3147504cu /* "LPG1" little endian: records as the process wrote them */
#define STREAM_PACKED_MAGIC 0x3150504cu /* "LPP1": the page's used bytes as one zstd frame */

enum stream_producer { STREAM_PRODUCER_AGENT = 1, STREAM_PRODUCER_LIBRARY = 2 };

enum stream_clock {
    STREAM_CLOCK_TSC = 1, /* ticks of the invariant time stamp counter, tick_rate_hz of them a second */
    STREAM_CLOCK_MONOTONIC = 2, /* nanoseconds of CLOCK_MONOTONIC */
};

/* Why records were not written. Indexes into stream_header.lost. */
enum stream_loss {
    STREAM_LOSS_NO_SPACE,   /* ENOSPC, EDQUOT */
    STREAM_LOSS_FILE_LIMIT, /* the file-size limit, or the session's byte budget */
    STREAM_LOSS_IO,         /* any other error on claiming a page */
    STREAM_LOSS_TRUNCATED,  /* somebody truncated the file under us (SIGBUS) */
    STREAM_LOSS_NO_MEMORY,  /* no anonymous memory for the thread's state */
    STREAM_LOSS_IN_HANDLER, /* recorded by a handler of a fault that came while the library changed pages */
    STREAM_LOSS_NO_COUNTER, /* a thread's counters could not be opened: its intervals have none of their values */
    STREAM_LOSS_KINDS = 8,
};

/* What a reader of the raw file could not read. Indexes into stream_header.damage, where the packer stores what it met, so
 * that a packed file tells the same story as the raw one did. Records are checked again in the packed file. */
enum stream_damage {
    STREAM_DAMAGE_UNBEGUN_BYTES, /* claimed by a page that never began (killed in between: normal) */
    STREAM_DAMAGE_MISSING_BYTES, /* claimed, and beyond the file's end */
    STREAM_DAMAGE_PAGES,         /* pages whose header contradicts itself, or that do not unpack */
    STREAM_DAMAGE_UNKNOWN_PAGES, /* pages of a kind that this reader does not know */
    STREAM_DAMAGE_GAPS,          /* pages that are missing in their writer's sequence */
    STREAM_DAMAGE_RECORDS, /* records that contradict themselves; the rest of such a page is left out */
    STREAM_DAMAGE_NODES, /* stack nodes without an end: never completed, in a circle, or beyond the table */
    STREAM_DAMAGE_KINDS = 8,
};

/* What the library repaired or left out, and went on. Indexes into stream_header.counts. */
enum stream_count {
    STREAM_COUNT_CLAMPED_TIMES, /* times before the one they must not precede, moved to it */
    STREAM_COUNT_UNBALANCED_EXITS, /* calls that were closed without an exit of their own, exits without a call */
    STREAM_COUNT_REPEATED_ENDS, /* ends of intervals that had ended, refused */
    STREAM_COUNT_FOREIGN_ENDS, /* uses of handles and tracks that this process never made, or its parent did, refused */
    STREAM_COUNT_RECYCLED_PAGES, /* flight recorder: pages whose events were overwritten */
    STREAM_COUNT_UNTOLD_CALLS, /* calls that found no node in a full tree (the nodes tell where) */
    STREAM_COUNT_KINDS,
};
static_assert(STREAM_COUNT_KINDS == 6, "the header has room for six");

/* What the times in EVENTS pages are. Everything else (records, the header) is always in ticks of `clock`. */
enum stream_measure {
    STREAM_MEASURE_TICKS = 0,
    STREAM_MEASURE_CPU_TIME = 1,     /* nanoseconds of the thread's CPU clock */
    STREAM_MEASURE_INSTRUCTIONS = 2, /* of the thread, in user mode */
    STREAM_MEASURE_INSTRUCTIONS_MINUS_IRQS = 3,
    STREAM_MEASURE_CYCLES = 4,
};

/* File offset 0. Fields after `next_offset` change while the process runs; they are single aligned words. */
struct stream_header {
    char magic[8];
    uint32_t byte_order;
    uint16_t version_major;
    uint16_t version_minor;
    uint16_t arch; /* ELF e_machine */
    uint8_t producer;
    uint8_t clock;
    uint32_t flags;        /* enum stream_flag */
    uint64_t tick_rate_hz; /* nominal; readers convert with the TIME records */
    uint64_t start_ticks;  /* the producer's start, three clocks read together */
    uint64_t start_mono_ns;
    uint64_t start_wall_ns; /* since 1970 */
    uint32_t pid;
    uint32_t ppid;
    uint64_t kernel_start; /* field 22 of /proc/PID/stat: clock ticks since boot; survives exec */
    uint64_t session_id;   /* from the control page; 0 without a session */
    uint64_t counts[STREAM_COUNT_KINDS]; /* the library's: what it repaired or left out */

    /* One cache line: the claim counter. A page is claimed by an atomic add of its size (relaxed). */
    uint64_t next_offset;
    uint8_t measure; /* enum stream_measure: what EVENTS pages count in */
    uint8_t reserved1[55];

    /* One cache line: counted losses, in records. */
    uint64_t lost[STREAM_LOSS_KINDS];

    uint64_t damage[STREAM_DAMAGE_KINDS]; /* packed files; zero in raw ones */

    uint8_t reserved2[STREAM_HEADER_BYTES - STREAM_PACKED_HEADER_BYTES]; /* raw files only */
};
static_assert(sizeof(struct stream_header) == STREAM_HEADER_BYTES, "file header is one grain");
static_assert(__builtin_offsetof(struct stream_header, next_offset) == 128,
              "claim counter has its cache line");
static_assert(__builtin_offsetof(struct stream_header, lost) == 192,
              "losses have their cache line");

enum stream_flag {
    STREAM_FLAG_PACKED = 1,    /* pages are packed; next_offset is the file's size */
    STREAM_FLAG_FORK = 2,      /* this image began by a fork, not by an exec */
    STREAM_FLAG_RECOVERED = 4, /* packed by a later command, not by the launcher that recorded it */
    STREAM_FLAG_TRANSPOSED =
        8, /* packed: SAMPLES and STACKS hold the first bytes of all records, then the second ones, ... */
    STREAM_FLAG_FLIGHT =
        16, /* the oldest EVENTS pages are used again once the budget is reached: sequences begin anywhere */
};

enum stream_page_kind {
    STREAM_PAGE_META = 1,    /* one thread's variable-length records (struct stream_record) */
    STREAM_PAGE_SAMPLES = 2, /* one thread's samples (struct stream_sample) */
    STREAM_PAGE_STACKS = 3,  /* nodes of the process's stack trie (struct stream_node) */
    STREAM_PAGE_MODULES = 4, /* the process's module records (struct stream_record) */
    STREAM_PAGE_VOID = 5,    /* claimed and not used (the loser of a race) */
    /* The pages of instrumented programs. Their `thread` is the number of a lane: a writer that serves one thread
     * after the other. */
    STREAM_PAGE_EVENTS = 16,  /* a lane's events (struct stream_slot) */
    STREAM_PAGE_RECORDS = 17, /* a lane's variable-length records (struct stream_record) */
    STREAM_PAGE_TREE = 18,    /* a lane's calling-context tree (struct stream_tree_node) */
};

/* Starts every page. `magic` is stored last, with release: a page without it was claimed and never begun; the reader
 * goes on at the next multiple of STREAM_PAGE_GRAIN whose header has a magic and names its own offset. */
struct stream_page {
    uint32_t magic;
    uint8_t kind;
    uint8_t reserved0[3];
    uint32_t size_bytes;  /* of the page as claimed, header included */
    uint32_t thread;      /* index of the writing thread in this stream, from 1; 0 = the process */
    uint64_t self_offset; /* in the file as recorded */
    uint64_t base_ticks;  /* times in this page are relative to this */
    uint32_t sequence;    /* nth page of this writer, from 0; for STACKS the chunk number */
    uint32_t tid;         /* kernel thread id of the writer; 0 = the process */
    uint32_t packed_bytes; /* packed files: bytes of the zstd frame behind this header, padded to 8 */
    uint32_t used_bytes;   /* packed files: bytes of records the frame holds */
    uint64_t reserved1[2];
};
static_assert(sizeof(struct stream_page) == STREAM_PAGE_HEADER_BYTES, "page header");

/* ---- SAMPLES: 16-byte slots ------------------------------------------------------------------------------------
 *  0       4       8                    14     16
 *  | stack | cpu_ns | ticks since base   | flags |
 * `stack` is stored last, with release; zero ends the page's records. */
struct stream_sample {
    uint32_t stack; /* id of the leaf's node, from 1; STREAM_STACK_CARRY for a carry slot */
    uint32_t cpu_ns; /* CPU time the thread used since its previous sample, or since it was first seen */
    uint32_t ticks_lo;
    uint16_t ticks_hi;
    uint16_t flags;
};
static_assert(sizeof(struct stream_sample) == 16, "sample");

#define STREAM_STACK_CARRY   0xffffffffu /* cpu_ns is the high word of the next slot's CPU time */
#define STREAM_STACK_UNKNOWN 0xfffffffeu /* a sample without a stack: no room for its nodes */

enum stream_sample_flag {
    STREAM_SAMPLE_KERNEL =
        1, /* interrupted in a system call or a fault: the instruction before pc is the call */
    STREAM_SAMPLE_LATE = 2, /* more than 1.5 periods, and not known to be spent where the stack points */
    STREAM_SAMPLE_TRUNCATED = 4, /* the stack does not reach the thread's root */
    STREAM_SAMPLE_AT_RETURN = 8, /* stored at the return of a long wrapped call, not by an interrupt */
    STREAM_SAMPLE_LEVEL_SHIFT =
        4, /* bits 4-5: the step of the rate ladder in force (period = period_ns[level]) */
    STREAM_SAMPLE_LEVEL_MASK = 3,
    STREAM_SAMPLE_MERGED_SHIFT =
        8, /* bits 8-15: whole periods merged into this one beyond the first, 255 = or more */
};

/* ---- STACKS: 12-byte nodes; ids run on from page to page in chunk order, from 1 --------------------------------
 *  0             4         8         10     12
 *  | parent + 1  | address | address | epoch |
 *                  low 32    high 16
 * `parent_plus_1` is stored last, with release; zero is a node that was reserved and never completed. A parent's id
 * need not be smaller. The address lies inside the instruction that was executing: the interrupted pc itself for a
 * leaf and for a frame that a signal interrupted, the return address minus 1 for every caller; all look-ups (mapping,
 * symbol, line) are made with it as it is. */
struct stream_node {
    uint32_t parent_plus_1; /* 1: this frame is the root */
    uint32_t address_lo;
    uint16_t address_hi;
    uint16_t epoch; /* of the module table (MODULE records): which mappings the address belongs to */
};
static_assert(sizeof(struct stream_node) == 12, "stack node");

/* How many nodes chunk `chunk` holds; its page has the size stream_chunk_bytes(chunk). */
static inline uint32_t stream_chunk_bytes(uint32_t chunk)
{
    return chunk >= 6 ? (uint32_t)STREAM_PAGE_MAX : (uint32_t)STREAM_PAGE_MIN << chunk;
}

static inline uint32_t stream_chunk_nodes(uint32_t chunk)
{
    return (stream_chunk_bytes(chunk) - STREAM_PAGE_HEADER_BYTES) /
           (uint32_t)sizeof(struct stream_node);
}

/* ---- META and MODULES: records of 8-byte words ------------------------------------------------------------------
 *  0               4            8
 *  | type | words  | thread/aux | body ...
 * `head` (type in the low half, size in words with this head in the high half) is stored last, with release; zero
 * ends the page's records. Strings in a body are raw bytes without terminator; their lengths stand before them. */
struct stream_record {
    uint32_t head;
    uint32_t aux;
};

enum stream_record_type {
    STREAM_REC_PROCESS = 1, /* struct stream_rec_process, exe, cwd, comm */
    STREAM_REC_ARGV = 2,   /* struct stream_rec_blob: a piece of the arguments, each ended by NUL */
    STREAM_REC_CONFIG = 3, /* struct stream_rec_config */
    STREAM_REC_TIME = 4,   /* struct stream_rec_time */
    STREAM_REC_THREAD = 5, /* struct stream_rec_thread, name */
    STREAM_REC_THREAD_NAME = 6,  /* struct stream_rec_name, name */
    STREAM_REC_THREAD_END = 7,   /* struct stream_rec_thread_end */
    STREAM_REC_WAIT = 8,         /* struct stream_rec_wait */
    STREAM_REC_SPAWN = 9,        /* struct stream_rec_spawn, path, arguments each ended by NUL */
    STREAM_REC_CHILD_EXIT = 10,  /* struct stream_rec_child_exit */
    STREAM_REC_PROCESS_END = 11, /* struct stream_rec_process_end */
    STREAM_REC_MODULE = 12,      /* struct stream_rec_module, path, build id (MODULES pages) */
    STREAM_REC_EPOCH = 13, /* struct stream_rec_epoch (MODULES pages): the mappings changed for good */
    STREAM_REC_NOTICE = 14, /* struct stream_rec_notice: something a reader should tell */
    /* RECORDS pages, which may hold all of the above as well */
    STREAM_REC_STRING = 32,   /* struct stream_rec_string: a piece of a string */
    STREAM_REC_COMPOSED = 33, /* struct stream_rec_composed, u32 ids of the parts */
    STREAM_REC_KIND = 34,     /* struct stream_rec_kind: what a code of EVENTS slots means */
    STREAM_REC_NAMES =
        35, /* struct stream_rec_names, u32 ids, u32 ends, text: virtual ids named by texts */
    STREAM_REC_MAP =
        36, /* struct stream_rec_map, (u32 id, u32 string) each: virtual ids named by strings */
    STREAM_REC_TRACK = 37,   /* struct stream_rec_track */
    STREAM_REC_COUNTER = 38, /* struct stream_rec_counter */
    STREAM_REC_POLICY = 39,  /* struct stream_rec_policy: how calls are recorded from here on */
    STREAM_REC_SETTINGS = 40, /* struct stream_rec_settings, text: what the recorder was opened with */
    STREAM_REC_REFUSED =
        41, /* struct stream_rec_refused, text: why it was not opened; no events follow */
};

static inline uint32_t stream_record_head(uint32_t type, uint32_t words)
{
    return type | words << 16;
}

enum stream_engine {
    STREAM_ENGINE_AUTO = 0, /* control page only: the first of the following that works */
    STREAM_ENGINE_SIGTRAP = 1,
    STREAM_ENGINE_THREAD_PERF = 2,
    STREAM_ENGINE_CPU_TIMER = 3,
    STREAM_ENGINE_NONE = 4, /* account only */
};

struct stream_rec_process { /* aux: 0 */
    uint64_t ticks;
    uint64_t exec_cpu_ns; /* CPU the process had used when the producer started: after exec, the time before it */
    uint64_t image_cpu_ns; /* of that, what was used before this image's exec (known when the exec was ours); else 0 */
    uint32_t uid;
    uint16_t exe_bytes;
    uint16_t cwd_bytes;
    uint16_t comm_bytes;
    uint16_t reserved[3];
};

struct stream_rec_blob {  /* aux: bytes that follow */
    uint32_t index;       /* of the piece, from 0 */
    uint32_t total_bytes; /* of all pieces; smaller than the argument list when that was cut */
};

struct stream_rec_config { /* aux: enum stream_engine */
    uint64_t ticks;
    uint32_t period_ns[4]; /* CPU nanoseconds between samples on each step of the ladder */
    uint8_t kernel_mode;   /* 1: kernel time is interrupted too */
    uint8_t level;         /* step in force from `ticks` on */
    uint16_t signal;
    uint32_t wanted_engine; /* what the session asked for; differs when it was not permitted */
    int32_t open_errno;     /* why the better engine was not used; 0 */
    uint32_t why_not;       /* engine NONE: enum stream_unsampled; NO: it was not asked for */
};

struct stream_rec_time { /* aux: 0; three clocks read together */
    uint64_t ticks;
    uint64_t mono_ns;
    uint64_t wall_ns;
};

enum stream_thread_origin {
    STREAM_THREAD_MAIN = 1,
    STREAM_THREAD_CREATED = 2, /* through a wrapped thread creation */
    STREAM_THREAD_FOUND = 3,   /* met when it was interrupted, or did something wrapped */
};

struct stream_rec_thread { /* aux: thread index */
    uint64_t ticks;        /* when first seen; its creation for CREATED */
    uint64_t cpu_ns;       /* its CPU clock then */
    uint32_t tid;
    uint8_t origin;
    uint8_t name_bytes;
    uint16_t reserved;
};

struct stream_rec_name { /* aux: thread index; 0 when only the tid is known */
    uint64_t ticks;
    uint32_t tid;
    uint32_t name_bytes;
};

struct stream_rec_thread_end { /* aux: thread index */
    uint64_t ticks;
    uint64_t cpu_ns;         /* its CPU clock at its end */
    uint64_t sampled_cpu_ns; /* sum of its samples' weights */
    uint64_t run_ns;         /* schedstat: time on a core; UINT64_MAX when not known */
    uint64_t core_wait_ns;  /* schedstat: runnable, waiting for a core; UINT64_MAX when not known */
    uint64_t handler_ticks; /* time spent in the sampling handler */
    uint32_t samples;
    uint32_t interrupts; /* signals taken, samples or not */
    uint32_t tid;
    uint8_t at_process_end; /* 1: it was still running when the process ended */
    uint8_t reserved[3];
};

enum stream_wait_kind {
    STREAM_WAIT_LOCK = 1,
    STREAM_WAIT_CHILD = 2,
    STREAM_WAIT_JOBSERVER = 3,
    STREAM_WAIT_IO = 4,
    STREAM_WAIT_SLEEP = 5,
    STREAM_WAIT_OTHER = 6,
};

/* X(number, name): the calls of WAIT records. Numbers never change. */
#define STREAM_WAIT_CALLS(X)     \
    X(1, futex)                  \
    X(2, pthread_cond_wait)      \
    X(3, pthread_cond_timedwait) \
    X(4, pthread_mutex_lock)     \
    X(5, pthread_rwlock_rdlock)  \
    X(6, pthread_rwlock_wrlock)  \
    X(7, pthread_barrier_wait)   \
    X(8, sem_wait)               \
    X(9, pthread_join)           \
    X(10, wait)                  \
    X(11, read)                  \
    X(12, write)                 \
    X(13, poll)                  \
    X(14, select)                \
    X(15, epoll_wait)            \
    X(16, recv)                  \
    X(17, send)                  \
    X(18, accept)                \
    X(19, connect)               \
    X(20, nanosleep)             \
    X(21, pause)                 \
    X(22, flock)                 \
    X(23, fsync)                 \
    X(24, sigwait)

enum stream_wait_call {
#define STREAM_WAIT_CALL_ENUM(number, name) STREAM_WAIT_CALL_##name = number,
    STREAM_WAIT_CALLS(STREAM_WAIT_CALL_ENUM)
#undef STREAM_WAIT_CALL_ENUM
};

struct stream_rec_wait { /* aux: thread index */
    uint64_t start_ticks;
    uint64_t duration_ticks;
    uint32_t stack;  /* 0: none */
    uint16_t kind;   /* enum stream_wait_kind */
    uint16_t call;   /* enum stream_wait_call */
    uint64_t cpu_ns; /* CPU the thread used inside the call */
};

enum stream_spawn_kind {
    STREAM_SPAWN_EXEC = 1,
    STREAM_SPAWN_SPAWN = 2,
    STREAM_SPAWN_FORK = 3,
    STREAM_SPAWN_VFORK_EXEC = 4
};

/* Why a program was left alone. Names in docs/format.md and reader. */
enum stream_unsampled {
    STREAM_UNSAMPLED_NO = 0, /* it can be sampled */
    STREAM_UNSAMPLED_STATIC = 1,
    STREAM_UNSAMPLED_CLASS = 2,  /* 32-bit, or another machine */
    STREAM_UNSAMPLED_LIBC = 3,   /* dynamic, but not against glibc (musl) */
    STREAM_UNSAMPLED_SETUID = 4, /* setuid, setgid or file capabilities */
    STREAM_UNSAMPLED_ASAN = 5,
    STREAM_UNSAMPLED_CGO = 6,
    STREAM_UNSAMPLED_TRACED = 7,
    STREAM_UNSAMPLED_SKIPPED = 8, /* the user's --only or --skip */
    STREAM_UNSAMPLED_UNREADABLE = 9,
    STREAM_UNSAMPLED_NO_RECORDING =
        10, /* the recording could not be written from there (read-only, chroot, sandbox) */
    STREAM_UNSAMPLED_FAILED = 11, /* the engine could not be started, reason in the CONFIG record */
};

struct stream_rec_spawn { /* aux: enum stream_spawn_kind */
    uint64_t ticks;
    uint32_t child_pid; /* 0: this process itself (exec), or not known */
    int32_t rc;         /* 0, or the errno of a failed exec or spawn */
    uint16_t why_not;   /* enum stream_unsampled */
    uint16_t path_bytes;
    uint32_t argv_bytes;
    uint64_t cpu_ns; /* exec: CPU the process had used */
};

struct stream_usage {
    uint64_t user_ns;
    uint64_t sys_ns;
    uint64_t max_rss_bytes;
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t switches_voluntary;
    uint64_t switches_forced;
    uint64_t blocks_in; /* of 512 bytes */
    uint64_t blocks_out;
};

struct stream_rec_child_exit { /* aux: pid; written by the parent that waited */
    uint64_t ticks;
    int32_t status; /* as from waitpid */
    uint32_t reserved;
    struct stream_usage usage; /* the child's own and that of its waited children, as the kernel adds them */
};

enum stream_end_how {
    STREAM_END_EXIT = 1,  /* through exit or a return from main */
    STREAM_END__EXIT = 2, /* _exit, _Exit, quick_exit */
    STREAM_END_EXEC = 3, /* replaced by another program; a failed exec is followed by more records */
    STREAM_END_ABORT = 4,
};

struct stream_rec_process_end { /* aux: enum stream_end_how */
    uint64_t ticks;
    uint64_t cpu_ns;              /* process CPU clock */
    struct stream_usage self;     /* RUSAGE_SELF; max_rss_bytes is VmHWM, 0 when not known */
    struct stream_usage children; /* RUSAGE_CHILDREN */
    uint32_t live_threads;
    int32_t code; /* exit status where known, else -1 */
};

struct stream_rec_module { /* aux: module index, from 1 */
    uint64_t ticks;
    uint64_t start; /* mapped addresses, end exclusive */
    uint64_t end;
    uint64_t bias; /* address minus the ELF file's own virtual address */
    uint64_t inode;
    uint64_t device;
    uint16_t epoch; /* from this epoch on */
    uint16_t path_bytes;
    uint16_t build_id_bytes;
    uint16_t flags; /* 1: the vdso; 2: the main program */
};

struct stream_rec_epoch { /* aux: the epoch that begins */
    uint64_t ticks;
};

enum stream_notice {
    STREAM_NOTICE_REOPENED = 1, /* the program closed or silenced the engine; it was opened again */
    STREAM_NOTICE_SILENT = 2,   /* ... and could not be */
    STREAM_NOTICE_TRUNCATED = 3, /* somebody truncated the stream file */
    STREAM_NOTICE_SIGBUS = 4,
    STREAM_NOTICE_NO_STACK =
        5, /* samples skipped: the signal stack was too small for the handler; value = how many */
    STREAM_NOTICE_SECCOMP =
        6, /* the program put itself under a system-call filter: the agent withdrew before it */
};

struct stream_rec_notice { /* aux: enum stream_notice */
    uint64_t ticks;
    uint64_t value;
};

/* ---- EVENTS: 16-byte slots of two words --------------------------------------------------------------------------
 *  bits of word 0:  0 ... 31 | 32 ... 39 | 40 ... 63             bits of word 1:  0 ... 15  | 16 ... 63
 *                   id       | code      | time, low 24 bits                      time, high | payload
 * `time` is relative to the page's base_ticks, or to the last BASE slot before it in the page. Word 0 is stored last, with
 * release; code 0 is a slot that was reserved and never completed (or never reserved): it is skipped, and what stands
 * behind it counts. Slots lie in the order of their times. */
struct stream_slot {
    uint64_t head; /* id, code, low time */
    uint64_t rest; /* high time, payload; or a value of 64 bits */
};
static_assert(sizeof(struct stream_slot) == 16, "slot");

enum {
    STREAM_SLOT_CODE_SHIFT = 32,
    STREAM_SLOT_TIME_SHIFT = 40,
    STREAM_SLOT_TIME_BITS = 40,
    STREAM_SLOT_PAYLOAD_SHIFT = 16,
    STREAM_SLOT_PAYLOAD_BITS = 48,
};
#define STREAM_SLOT_PAYLOAD_MAX 0xffffffffffffull

enum stream_slot_code {
    STREAM_SLOT_NONE = 0,
    /* events about events; `ref` is (page sequence << 16) + (slot's offset in the page / 16), in lane `id` */
    STREAM_SLOT_OWNER =
        1, /* id: thread index; payload: tid. What follows in this lane is that thread's */
    STREAM_SLOT_BASE =
        2, /* rest: base, whole; time bits of head zero. What follows in this page is relative to it */
    STREAM_SLOT_END = 3,   /* id: lane; payload: ref of the interval that ended now */
    STREAM_SLOT_PAUSE = 4, /* id: lane; payload: ref of the interval that is paused from now on */
    STREAM_SLOT_RESUME = 5,
    STREAM_SLOT_TRACK_SWITCH = 6, /* id: track that the thread runs from now on; 0: none */
    STREAM_SLOT_TRACK_END = 7,    /* id: track */
    STREAM_SLOT_FOLD =
        8, /* id as of an event; payload: ref of the interval around it, 0: none. Four more slots follow */
    STREAM_SLOT_CALLS =
        9, /* id: lane; payload: ref of an interval; calls in the tree that were directly inside of it took
                              what a TOTAL slot behind it says */
    /* belong to the nearest slot before them that is not one of these; stand in its page, directly behind it */
    STREAM_SLOT_KIND =
        16, /* id: kind, of a slot with code 255 and of a FOLD; rest: lane of the FOLD's ref */
    STREAM_SLOT_ARG =
        17, /* id: string, its name, 0 none; bits 40-47 of head: enum stream_arg; rest: value */
    STREAM_SLOT_TEXT = 18,  /* 15 bytes of the text of the ARG before it */
    STREAM_SLOT_VALUE = 19, /* rest: the integer, when the payload is STREAM_SLOT_PAYLOAD_MAX */
    STREAM_SLOT_SELF =
        20, /* rest: self time as the recorder measured it; id: ticks that recording took of the interval's own
                               time, which it is without; enum stream_self_bit */
    STREAM_SLOT_COUNTER =
        21, /* id: counter; bit 40: 0 value at the start, 1 end minus start; rest: value */
    STREAM_SLOT_COUNT = 22, /* rest: how many calls a FOLD stands for */
    STREAM_SLOT_TOTAL = 23, /* rest: their time together, outermost calls */
    STREAM_SLOT_ACTIVE =
        24, /* id: the interval's track; bit 40: known; rest: active time as the recorder measured it */
    STREAM_SLOT_NODE =
        25, /* id: node in the lane's tree of the call that the interval is in; rest: lane */
    /* events: a kind by its own number */
    STREAM_SLOT_KIND_MIN = 32,
    STREAM_SLOT_KIND_MAX = 254,
    STREAM_SLOT_KIND_ELSEWHERE = 255, /* the kind's number is in a KIND slot */
};

enum stream_arg {
    STREAM_ARG_U64 = 1,
    STREAM_ARG_I64 = 2,
    STREAM_ARG_DOUBLE = 3,
    STREAM_ARG_STRING = 4, /* id of a string */
    STREAM_ARG_TEXT = 5,   /* size in bytes; ceil(size / 15) TEXT slots follow */
};
enum { STREAM_TEXT_BYTES = 15 };

enum stream_self_bit { /* 40 and 41 of a SELF slot's head */
                       STREAM_SELF_KNOWN = 1,
                       STREAM_SELF_INSIDE =
                           2, /* one of the calls around it that are not recorded is of the same label */
};

static inline uint64_t stream_slot_head(uint32_t id, uint32_t code, uint64_t time)
{
    return id | (uint64_t)code << STREAM_SLOT_CODE_SHIFT | time << STREAM_SLOT_TIME_SHIFT;
}

/* An interval's payload is its duration + 1; 0: it is open, or its end is in an END slot. */
static inline uint64_t stream_slot_rest(uint64_t time, uint64_t payload)
{
    return (time >> 24 & 0xffff) | payload << STREAM_SLOT_PAYLOAD_SHIFT;
}

static inline uint32_t stream_slot_id(const struct stream_slot *slot)
{
    return (uint32_t)slot->head;
}

static inline uint32_t stream_slot_code(const struct stream_slot *slot)
{
    return slot->head >> STREAM_SLOT_CODE_SHIFT & 0xff;
}

static inline uint64_t stream_slot_time(const struct stream_slot *slot)
{
    return slot->head >> STREAM_SLOT_TIME_SHIFT | (slot->rest & 0xffff) << 24;
}

static inline uint64_t stream_slot_payload(const struct stream_slot *slot)
{
    return slot->rest >> STREAM_SLOT_PAYLOAD_SHIFT;
}

struct stream_rec_string { /* aux: string id */
    uint32_t total_bytes;  /* of the whole string */
    uint32_t offset;       /* of this piece */
    uint32_t piece_bytes;  /* that follow */
    uint32_t reserved;
};

enum stream_composed_flag {
    STREAM_COMPOSED_ARGS =
        1, /* part 0 is the label, the others its arguments; else all parts make one text */
};

struct stream_rec_composed { /* aux: string id; every part's id is smaller */
    uint32_t count;
    uint32_t flags;
};

enum stream_kind_flag {
    STREAM_KIND_DETACHED = 1, /* intervals that belong to no thread's nesting */
    STREAM_KIND_INSTANT = 2,  /* points; payload 0 */
    STREAM_KIND_INTEGER = 4,  /* values; the payload is the value */
    STREAM_KIND_LATER =
        8, /* stored when they were over: they may have begun before slots that stand before them */
    STREAM_KIND_CALL = 16, /* calls of an interpreter, recorded by a policy */
};

struct stream_rec_kind { /* aux: number of the kind, from 32; 255 is never one */
    uint32_t name;       /* string */
    uint32_t label;      /* string; 0: the event's id says what it is called */
    uint32_t space;      /* 0: the event's id is a string; else a virtual id of this space */
    uint32_t weight;     /* how many one event stands for: 1, or the N of one in N */
    uint32_t flags;      /* enum stream_kind_flag */
    uint32_t reserved;
};

struct stream_rec_names { /* aux: space */
    uint32_t count;       /* of ids, and of ends: where each one's text ends in the text */
    uint32_t text_bytes;
};

struct stream_rec_map { /* aux: space */
    uint32_t count;     /* of pairs */
    uint32_t reserved;
};

struct stream_rec_track { /* aux: track, from 1 */
    uint64_t ticks;
    uint32_t name; /* string; 0 none */
    uint32_t reserved;
};

struct stream_rec_counter { /* aux: counter, from 1 */
    uint32_t name;          /* string */
    uint32_t measure;       /* enum stream_measure, where it is one of these; else 0 */
};

enum stream_call_policy {
    STREAM_CALLS_ALL = 0,
    STREAM_CALLS_ONE_IN = 1,    /* the kinds' weights tell the N */
    STREAM_CALLS_THRESHOLD = 2, /* calls below threshold_ticks are folded */
    STREAM_CALLS_TREE = 4,      /* TREE pages instead of events */
    STREAM_CALLS_AUTO = 8,      /* began with all, goes to the tree when auto_bytes are written */
};

struct stream_rec_policy { /* aux: enum stream_call_policy, added up */
    uint64_t ticks;        /* in force from here on */
    uint64_t threshold;    /* in the measure of EVENTS pages */
    uint64_t auto_bytes;
    uint64_t tree_bytes; /* bound of all TREE pages */
    uint32_t one_in;
    uint32_t thread; /* index of the thread that changed over; 0: all */
};

struct stream_rec_settings { /* aux: 0 */
    uint32_t text_bytes;     /* lines NAME=VALUE */
    uint32_t reserved;
};

struct stream_rec_refused { /* aux: 0 */
    int32_t code;           /* enum lam_code, negative */
    uint32_t text_bytes;
};

/* ---- TREE: 64-byte nodes; ids run on from page to page of a lane, from 1; page n has stream_chunk_bytes(n) ---------
 * `parent_plus_1` is stored last, with release. The figures are updated in place while the program runs. Times are active times of
 * the stack of calls: the clock less what its track was switched away. */
enum stream_node_type {
    STREAM_NODE_ROOT =
        1, /* id: thread index; kind: track; total: when it was begun, in ticks of the header's clock; self: how long
              its track was switched away; count: when it was switched away or its thread ended, 0 it runs (or may) */
    STREAM_NODE_CALL = 2,
    STREAM_NODE_INTERVAL =
        3, /* an interval with calls inside, or in a call. total: of those that have ended; self: the time of
                                 calls in them, as CALLS slots told it; count: ref of the one that is open, in `lane` */
};

struct stream_tree_node {
    uint32_t parent_plus_1; /* 1: a root */
    uint32_t id;            /* as of an event */
    uint32_t kind;          /* number of the kind */
    uint32_t type;          /* enum stream_node_type */
    uint64_t count;         /* calls that have ended */
    uint64_t total;         /* their time; of a recursion every level counts for its own node */
    uint64_t self;          /* without the time of the nodes below */
    uint64_t untold; /* calls from here for which there was no room: their time is in `self` */
    uint64_t when; /* twice the time at which one ended last; or at which one began that is open, plus 1 */
    uint32_t lane;
    uint32_t reserved;
};
static_assert(sizeof(struct stream_tree_node) == 64, "tree node");

static inline uint32_t stream_tree_page_nodes(uint32_t sequence)
{
    return (stream_chunk_bytes(sequence) - STREAM_PAGE_HEADER_BYTES) /
           (uint32_t)sizeof(struct stream_tree_node);
}

/* ---- the control page: NAME.lamella/control, written by the launcher, mapped read-only by each agent --------------
 * What agents must know without an environment variable each. One grain. */
#define CONTROL_MAGIC "LAMCTRL1"

struct control_page {
    char magic[8];
    uint32_t version; /* 1 */
    uint32_t engine;  /* enum stream_engine the user asked for; AUTO normally */
    uint32_t best_engine; /* the best that the launcher found to work here; agents fall back from it on error */
    uint32_t kernel_mode;    /* 1: include kernel mode where permitted */
    uint32_t rate_auto;      /* 1: walk down the ladder with age; 0: stay on step 0 */
    uint32_t period_ns[4];   /* CPU nanoseconds on each step */
    uint32_t step_cpu_ms[4]; /* auto: go to step i+1 after this much CPU time of the process */
    uint64_t session_id;
    uint64_t max_bytes; /* budget of a stream file; 0 = none */
    uint32_t launcher_pid;
    uint32_t wait_min_us; /* waits shorter than this are not stored */
    uint32_t stop; /* set by the launcher at its end: processes that start later do not record */
    uint32_t tsc_usable; /* 1: the invariant TSC is the session's clock */
    uint64_t tick_rate_hz;
    uint32_t only_bytes; /* NUL-ended globs on the program's base name, in `patterns` */
    uint32_t skip_bytes; /* follow them */
    uint64_t start_ticks;
    uint64_t start_mono_ns;
    uint64_t start_wall_ns;
    uint32_t profile_args_bytes; /* of profile_args; 0: compilers are not asked for self-profiles */
    uint32_t profile_plain_root_bytes; /* of profile_plain_root, its NUL included; 0: none */
    char profile_args[1264];           /* words for each rustc that cargo starts, each NUL-ended */
    char profile_plain_root[512];      /* compilers below it take them without RUSTC_BOOTSTRAP=1 */
    uint8_t reserved[2048 - 136 - 8 - 1264 - 512];
    char agent_path[1024]; /* the library to put into LD_PRELOAD, NUL-ended */
    char patterns[1024];
};
static_assert(sizeof(struct control_page) == 4096, "control page is one grain");

#endif
