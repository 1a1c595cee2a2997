#include "base/byteout.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static int write_fd(void *ctx, const void *bytes, size_t length)
{
    const struct byteout *out = ctx;
    errno = file_write_bytes(out->fd, bytes, length);
    return errno ? lam_code_from_errno(errno) : LAM_OK;
}

static int write_file(void *ctx, const void *bytes, size_t length)
{
    if (fwrite(bytes, 1, length, ctx) != length)
        return lam_code_from_errno(errno);
    return LAM_OK;
}

static int write_strbuf(void *ctx, const void *bytes, size_t length)
{
    struct strbuf *buf = ctx;
    strbuf_add_bytes(buf, bytes, length);
    return strbuf_ok(buf) ? LAM_OK : LAM_E_NOMEM;
}

void byteout_init(struct byteout *out, byteout_fn write, void *ctx)
{
    out->write = write;
    out->ctx = ctx;
    out->fd = -1;
    out->failed = LAM_OK;
    out->errnum = 0;
    out->used = 0;
    out->total_bytes = 0;
}

void byteout_init_file(struct byteout *out, FILE *file)
{
    byteout_init(out, write_file, file);
}

void byteout_init_fd(struct byteout *out, int fd)
{
    byteout_init(out, write_fd, out);
    out->fd = fd;
}

void byteout_init_strbuf(struct byteout *out, struct strbuf *buf)
{
    byteout_init(out, write_strbuf, buf);
}

static void hand_over(struct byteout *out, const void *bytes, size_t length)
{
    if (out->failed < 0 || !length)
        return;
    errno = 0;
    int rc = out->write(out->ctx, bytes, length);
    if (rc < 0) {
        out->failed = rc;
        out->errnum = out->write == write_fd || out->write == write_file ? errno : 0;
        return;
    }
    out->total_bytes += length;
}

void byteout_drain(struct byteout *out)
{
    hand_over(out, out->buffer, out->used);
    out->used = 0;
}

void byteout_write_slow(struct byteout *out, const void *bytes, size_t length)
{
    byteout_drain(out);
    if (length >= sizeof out->buffer)
        hand_over(out, bytes, length);
    else
        byteout_write(out, bytes, length);
}

void byteout_text(struct byteout *out, const char *text)
{
    byteout_write(out, text, strlen(text));
}

void byteout_printf(struct byteout *out, const char *fmt, ...)
{
    struct strbuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_addv(&text, fmt, args);
    va_end(args);
    if (!strbuf_ok(&text) && out->failed == LAM_OK)
        out->failed = LAM_E_NOMEM;
    byteout_write(out, strbuf_text(&text), text.length);
    strbuf_free(&text);
}

uint64_t byteout_offset(const struct byteout *out)
{
    return out->total_bytes + out->used;
}

static bool is_standard_output(const struct byteout *out)
{
    return (out->write == write_file && out->ctx == stdout) ||
           (out->write == write_fd && out->fd == STDOUT_FILENO);
}

int byteout_flush(struct byteout *out, const char *name, struct lam_error *err)
{
    bool is_stdout = is_standard_output(out);
    byteout_drain(out);
    if (out->failed == LAM_OK && out->write == write_file && fflush(out->ctx) != 0) {
        out->failed = lam_code_from_errno(errno);
        out->errnum = errno;
    }
    if (is_stdout && out->errnum == EPIPE) {
        clearerr(stdout);
        return LAM_OK;
    }
    if (out->failed == LAM_OK)
        return LAM_OK;
    name = is_stdout ? "standard output" : name;
    if (out->errnum)
        lam_error_errno(err, out->errnum, "%s", name);
    else
        lam_error_set(err, out->failed, "%s: %s", name, lam_code_text(out->failed));
    return out->failed;
}
