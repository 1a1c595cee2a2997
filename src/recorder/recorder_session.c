/* recorder_session.c: where streams go, and what tells of the process. */
#include "recorder/recorder_state.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/procfs.h"
#include "recorder/bounded_text.h"

static void add_hex(struct bounded_text *text, uint64_t value, int digits)
{
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        text_add_bytes(text, &"0123456789abcdef"[value >> shift & 15], 1);
}

/* How many bytes at `at` are one character of UTF-8; 0: they are not. */
static size_t utf8_length(const uint8_t *at, size_t left)
{
    static const struct {
        uint8_t from, to;
        size_t length;
        uint8_t next_from, next_to;
    } rows[] = {
        {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
        {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
        {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (at[0] < rows[i].from || at[0] > rows[i].to)
            continue;
        if (left < rows[i].length || at[1] < rows[i].next_from || at[1] > rows[i].next_to)
            return 0;
        for (size_t k = 2; k < rows[i].length; k++)
            if (at[k] < 0x80 || at[k] > 0xbf)
                return 0;
        return rows[i].length;
    }
    return 0;
}

/* In quotes; what is no UTF-8 becomes \xNN inside of the string, as docs/session-json.md says. */
static void add_json(struct bounded_text *text, const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    text_add(text, "\"");
    for (size_t i = 0; i < size;) {
        size_t length = at[i] < 0x80 ? 1 : utf8_length(at + i, size - i);
        if (length == 0) {
            text_add(text, "\\\\x");
            add_hex(text, at[i++], 2);
            continue;
        }
        if (at[i] < 0x20 || at[i] == 0x7f) {
            text_add(text, "\\u");
            add_hex(text, at[i], 4);
        } else {
            if (at[i] == '"' || at[i] == '\\')
                text_add(text, "\\");
            text_add_bytes(text, bytes + i, length);
        }
        i += length;
    }
    text_add(text, "\"");
}

/* ---- small reads ---- */

static size_t read_file(const char *path, char *buf, size_t size)
{
    long got = procfs_read(path, buf, size);
    return got > 0 ? (size_t)got : 0;
}

static size_t read_link(const char *path, char *buf, size_t size)
{
    long got = sys_call4(SYS_readlinkat, AT_FDCWD, path, buf, size - 1);
    buf[got > 0 ? got : 0] = 0;
    return got > 0 ? (size_t)got : 0;
}

static size_t read_cwd(char *buf, size_t size)
{
    long got = sys_call2(SYS_getcwd, buf, size); /* with the NUL */
    if (got <= 0 || buf[0] != '/') {
        buf[0] = 0;
        return 0;
    }
    return (size_t)got - 1;
}

uint64_t session_kernel_start(void)
{
    char text[1024];
    return procfs_kernel_start(text, sizeof text);
}

/* ---- session.json ---- */

static void add_command(struct bounded_text *text)
{
    static char line[16384]; /* open and begin_child are one at a time */
    size_t size = read_file("/proc/self/cmdline", line, sizeof line);
    text_add(text, "[");
    for (size_t at = 0; at < size;) {
        size_t length = bytes_length(line + at);
        if (at)
            text_add(text, ",");
        add_json(text, line + at, length);
        at += length + 1;
    }
    text_add(text, "]");
}

static void describe(struct bounded_text *text, const struct lam_recorder *rec)
{
    struct stream_rec_time now = {0};
    char cwd[RECORDER_PATH_MAX];
    size_t cwd_bytes = read_cwd(cwd, sizeof cwd);
    clock_read_three(rec->stream.use_counter, &now);
    text_add(text, "{\"format\":\"lamella-session\",\"version\":1,\"tool_version\":\"" LAM_VERSION
                   "\",\"session_id\":\"");
    add_hex(text, rec->session_id, 16);
    text_add(text, "\",\"complete\":false,\"command\":");
    add_command(text);
    text_add(text, ",\"cwd\":");
    add_json(text, cwd, cwd_bytes);
    text_add(text, ",\"directory\":");
    add_json(text, rec->directory, bytes_length(rec->directory));
    text_add(text, ",\"started_at_unix_ns\":");
    text_add_u64(text, now.wall_ns);
    text_add(text, rec->stream.use_counter ? ",\"clock\":\"tsc\"" : ",\"clock\":\"monotonic\"");
    text_add(text, ",\"tick_rate_hz\":");
    text_add_u64(text, rec->tick_rate_hz);
    text_add(text, ",\"start_ticks\":");
    text_add_u64(text, now.ticks);
    text_add(text, ",\"start_mono_ns\":");
    text_add_u64(text, now.mono_ns);
    text_add(text, "}\n");
}

/* Exclusively: of many processes that begin at once one writes it. Complete before it has its name. */
static int write_session(const struct lam_recorder *rec)
{
    static char body[65536];
    char path[RECORDER_PATH_MAX + 64], name[RECORDER_PATH_MAX + 64];
    struct bounded_text at = {path, 0, sizeof path}, to = {name, 0, sizeof name},
                        text = {body, 0, sizeof body};
    text_add(&to, rec->directory);
    text_add(&to, "/session.json");
    text_add(&at, name);
    text_add(&at, ".");
    text_add_u64(&at, rec->pid);
    struct stat st;
    if (sys_call4(SYS_newfstatat, AT_FDCWD, name, &st, 0) == 0)
        return LAM_OK;
    describe(&text, rec);
    if (text.used == text.size || at.used == at.size)
        return LAM_E_TOOBIG;
    int fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return fd == -EACCES || fd == -EROFS ? LAM_E_PERM : LAM_E_IO;
    long wrote = sys_call3(SYS_write, fd, body, text.used);
    sys_close(fd);
    long rc = wrote == (long)text.used ? sys_call5(SYS_linkat, AT_FDCWD, path, AT_FDCWD, name, 0)
                                       : -ENOSPC;
    if (rc == -EPERM ||
        rc == -EOPNOTSUPP) /* no links there; the second of two writers replaces the first */
        rc = sys_call4(SYS_renameat, AT_FDCWD, path, AT_FDCWD, name);
    sys_call3(SYS_unlinkat, AT_FDCWD, path, 0);
    if (rc == 0 || rc == -EEXIST)
        return LAM_OK;
    return rc == -ENOSPC ? LAM_E_FULL : LAM_E_IO;
}

/* ---- paths ---- */

static int ends_with_lam(const char *path, size_t length)
{
    return length >= 4 && bytes_equal(path + length - 4, ".lam", 4);
}

static int is_directory(const char *path)
{
    struct stat st;
    return sys_call4(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

int session_find(struct lam_recorder *rec, const char *path)
{
    size_t length = bytes_length(path);
    int is_file = ends_with_lam(path, length) && !is_directory(path);
    struct bounded_text text = {is_file ? rec->file : rec->directory, 0, RECORDER_PATH_MAX};
    rec->file[0] = rec->directory[0] = 0;
    if (path[0] != '/') {
        char cwd[RECORDER_PATH_MAX];
        if (!read_cwd(cwd, sizeof cwd))
            return LAM_E_IO;
        text_add(&text, cwd);
        text_add(&text, "/");
    }
    text_add(&text, path);
    return length == 0 ? LAM_E_INVAL : text.used == text.size ? LAM_E_TOOBIG : LAM_OK;
}

int session_prepare(const struct lam_recorder *rec)
{
    if (!rec->directory[0])
        return LAM_OK;
    long rc = sys_call3(SYS_mkdirat, AT_FDCWD, rec->directory, 0777);
    if (rc < 0 && !is_directory(rec->directory))
        return rc == -EACCES || rc == -EROFS ? LAM_E_PERM
               : rc == -ENOSPC               ? LAM_E_FULL
               : rc == -EEXIST               ? LAM_E_EXISTS /* and is no directory */
               : rc == -ENOENT               ? LAM_E_NOTFOUND
               : rc == -ENAMETOOLONG         ? LAM_E_TOOBIG
                                             : LAM_E_IO;
    return write_session(rec);
}

int session_stream_name(struct lam_recorder *rec, int is_child, uint64_t mono_ns, uint32_t attempt)
{
    struct bounded_text text = {rec->path, 0, sizeof rec->path};
    if (rec->directory[0]) {
        text_add(&text, rec->directory);
        text_add(&text, "/");
        text_add_u64(&text, mono_ns);
        text_add(&text, "-");
        text_add_u64(&text, rec->pid);
    } else {
        text_add_bytes(&text, rec->file, bytes_length(rec->file) - 4);
        if (is_child || attempt) {
            text_add(&text, "-");
            text_add_u64(&text, rec->pid);
        }
        if (attempt > 1) {
            text_add(&text, "-");
            text_add_u64(&text, attempt);
        }
    }
    text_add(&text, ".lam");
    return attempt < 1000 && text.used < text.size;
}

/* ---- the process ---- */

static void write_arguments(struct lane *lane, uint64_t now)
{
    static char line[65536];
    size_t total = read_file("/proc/self/cmdline", line, sizeof line);
    uint32_t index = 0;
    for (size_t at = 0; at < total; index++) {
        size_t bytes = total - at < 2048 ? total - at : 2048;
        struct stream_rec_blob record = {.index = index, .total_bytes = (uint32_t)total};
        struct stream_piece pieces[] = {{&record, sizeof record}, {line + at, bytes}};
        lane_append(lane, STREAM_REC_ARGV, (uint32_t)bytes, pieces, 2, now);
        at += bytes;
    }
}

void session_write_process(struct lam_recorder *rec, struct lane *lane, int is_child)
{
    static char exe[RECORDER_PATH_MAX], cwd[RECORDER_PATH_MAX];
    char comm[64];
    struct stream_rec_process record = {
        .ticks = rec->start_ticks,
        .exec_cpu_ns = is_child ? 0 : clock_read_ns(CLOCK_PROCESS_CPUTIME_ID),
        .uid = (uint32_t)sys_call0(SYS_getuid),
        .exe_bytes = (uint16_t)read_link("/proc/self/exe", exe, sizeof exe),
        .cwd_bytes = (uint16_t)read_cwd(cwd, sizeof cwd),
        .comm_bytes = (uint16_t)read_file("/proc/self/comm", comm, sizeof comm),
    };
    if (record.comm_bytes && comm[record.comm_bytes - 1] == '\n')
        record.comm_bytes--;
    struct stream_piece pieces[] = {{&record, sizeof record},
                                    {exe, record.exe_bytes},
                                    {cwd, record.cwd_bytes},
                                    {comm, record.comm_bytes}};
    lane_append(lane, STREAM_REC_PROCESS, 0, pieces, 4, record.ticks);
    if (!is_child)
        write_arguments(lane, record.ticks);
}

static uint64_t from_timeval(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static struct stream_usage usage_of(int who)
{
    struct rusage usage = {0};
    getrusage(who, &usage);
    return (struct stream_usage){
        .user_ns = from_timeval(&usage.ru_utime),
        .sys_ns = from_timeval(&usage.ru_stime),
        .max_rss_bytes = who == RUSAGE_SELF ? 0 : (uint64_t)usage.ru_maxrss * 1024,
        .minor_faults = (uint64_t)usage.ru_minflt,
        .major_faults = (uint64_t)usage.ru_majflt,
        .switches_voluntary = (uint64_t)usage.ru_nvcsw,
        .switches_forced = (uint64_t)usage.ru_nivcsw,
        .blocks_in = (uint64_t)usage.ru_inblock,
        .blocks_out = (uint64_t)usage.ru_oublock,
    };
}

void session_write_end(struct lam_recorder *rec, struct lane *lane)
{
    struct stream_rec_process_end record = {
        .ticks = clock_ticks(rec->stream.use_counter),
        .cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID),
        .self = usage_of(RUSAGE_SELF),
        .children = usage_of(RUSAGE_CHILDREN),
        .live_threads = rec->live->used_lanes,
        .code = -1,
    };
    char status[4096];
    read_file("/proc/self/status", status, sizeof status);
    uint64_t peak = procfs_field(status, "VmHWM:");
    if (peak != UINT64_MAX)
        record.self.max_rss_bytes = peak * 1024;
    struct stream_piece piece = {&record, sizeof record};
    lane_append(lane, STREAM_REC_PROCESS_END, STREAM_END_EXIT, &piece, 1, record.ticks);
}
