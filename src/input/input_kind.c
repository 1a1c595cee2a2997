#include "input/input_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_input.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "input/read_profdata.h"
#include "input/read_recording.h"
#include "reader/stream_file.h"

enum { HEAD_BYTES = 512 };

const char *input_kind_text(enum input_kind kind)
{
    static const char *const texts[INPUT_KINDS] = {
        [INPUT_RECORDING] = "a recording",
        [INPUT_STREAM] = "a stream file of a recording",
        [INPUT_PROFDATA] = "a self-profile (.mm_profdata)",
        [INPUT_PROFDATA_DIR] = "a directory of self-profiles (.mm_profdata)",
        [INPUT_REPORT_JSON] = "a JSON report",
    };
    return kind < INPUT_KINDS ? texts[kind] : "an unknown input";
}

struct head {
    char bytes[HEAD_BYTES];
    size_t size;
    bool is_dir;
};

static int read_head_of_stdin(const char *path, struct head *head, struct lam_error *err)
{
    struct file_map map;
    int rc = file_input_map(path, &map, err);
    if (rc < 0)
        return rc;
    head->size = map.size_bytes < HEAD_BYTES ? map.size_bytes : HEAD_BYTES;
    memcpy(head->bytes, map.data, head->size);
    file_unmap(&map);
    return LAM_OK;
}

/* A pipe has no beginning that could be looked at twice: it is none of the kinds. */
static int read_head(const char *path, struct head *head, struct lam_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int rc = lam_error_errno(err, errno, "%s", path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    head->size = 0;
    head->is_dir = S_ISDIR(st.st_mode);
    while (S_ISREG(st.st_mode) && head->size < HEAD_BYTES) {
        ssize_t got = read(fd, head->bytes + head->size, HEAD_BYTES - head->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        head->size += (size_t)got;
    }
    close(fd);
    if (!head->is_dir && !S_ISREG(st.st_mode))
        return lam_error_set(err, LAM_E_UNSUPPORTED,
                             "%s: %s, neither a file nor a directory; '-' reads standard input",
                             path, file_special_kind(path));
    return LAM_OK;
}

/* The first key and value of our report say what it is: write_report_json() begins with them. */
static bool is_report(const struct head *head)
{
    static const char *const parts[] = {"{", "\"format\"", ":", "\"lamella-report\""};
    const char *at = head->bytes, *end = head->bytes + head->size;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t size = strlen(parts[i]);
        while (at < end && strchr(" \t\r\n", *at) && *at)
            at++;
        if ((size_t)(end - at) < size || memcmp(at, parts[i], size) != 0)
            return false;
        at += size;
    }
    return true;
}

/* A directory is one of self-profiles when a file in it is one, by content, or says so by its name: a damaged one has no
 * content left to go by, and must be missed loudly rather than overlooked. */
static int kind_of_dir(const char *path, enum input_kind *kind, struct lam_error *err)
{
    struct dir_entries entries = {0};
    if (read_recording_probe(path)) {
        *kind = INPUT_RECORDING;
        return LAM_OK;
    }
    int rc = dir_list(path, &entries, err);
    bool is_found = false, has_dirs = false;
    for (size_t i = 0; rc >= 0 && !is_found && i < entries.count; i++) {
        char *file = path_join(path, entries.items[i].name);
        if (!file)
            rc = lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", path);
        else if (path_is_dir(file))
            has_dirs = true;
        else
            is_found = read_profdata_takes(file);
        mem_free(file);
    }
    if (rc >= 0 && !is_found)
        rc = lam_error_set(err, LAM_E_UNSUPPORTED,
                           "%s: a directory with neither a recording nor a self-profile in it%s",
                           path, has_dirs ? "; name the directories inside" : "");
    else if (rc >= 0)
        *kind = INPUT_PROFDATA_DIR;
    dir_entries_free(&entries);
    return rc < 0 ? rc : LAM_OK;
}

static const char *compressor_of(const struct head *head)
{
    if (head->size >= 2 && memcmp(head->bytes, "\x1f\x8b", 2) == 0)
        return "gzip";
    return head->size >= 4 && memcmp(head->bytes, "\x28\xb5\x2f\xfd", 4) == 0 ? "zstd" : NULL;
}

/* How the file begins, as far as it can be shown on a line. */
static int tell_unknown(const char *path, const struct head *head, struct lam_error *err)
{
    const char *compressor = compressor_of(head);
    if (compressor)
        return lam_error_set(err, LAM_E_UNSUPPORTED, "%s: compressed by %s: unpack it first", path,
                             compressor);
    struct strbuf begin = {0};
    strbuf_add_printable(&begin, head->bytes, head->size < 16 ? head->size : 16);
    int rc = lam_error_set(err, LAM_E_UNSUPPORTED,
                           "%s: neither a recording nor a self-profile; it begins with '%s'", path,
                           strbuf_text(&begin));
    strbuf_free(&begin);
    return rc;
}

int input_kind_of(const char *path, enum input_kind *kind, struct lam_error *err)
{
    struct head head = {.size = 0};
    bool is_stdin = file_input_is_stdin(path);
    int rc = is_stdin ? read_head_of_stdin(path, &head, err) : read_head(path, &head, err);
    if (rc < 0)
        return rc;
    path = file_input_name(path);
    if (head.is_dir)
        return kind_of_dir(path, kind, err);
    if (head.size == 0)
        return lam_error_at(err, LAM_E_TRUNCATED, 0, "%s: the file is empty", path);
    if (stream_is_magic(head.bytes, head.size) && is_stdin)
        return lam_error_set(err, LAM_E_UNSUPPORTED,
                             "standard input: a stream file of a recording: give its path (a "
                             "self-profile or a JSON report is read from standard input)");
    if (stream_is_magic(head.bytes, head.size))
        *kind = INPUT_STREAM;
    else if (profdata_is_magic(head.bytes, head.size))
        *kind = INPUT_PROFDATA;
    else if (is_report(&head))
        *kind = INPUT_REPORT_JSON;
    else
        return tell_unknown(path, &head, err);
    return LAM_OK;
}
