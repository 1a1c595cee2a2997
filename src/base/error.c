#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

struct code_row {
    const char *name;
    const char *text;
};

/* By the negated value; values without a name stay empty. */
static const struct code_row code_rows[] = {
#define LAM_ERROR_ROW(name, value, text) [-(value)] = {#name, text},
    LAM_ERRORS(LAM_ERROR_ROW)
#undef LAM_ERROR_ROW
};

static const struct code_row *code_row(int code)
{
    static const struct code_row success = {"OK", "success"};
    static const struct code_row unknown = {"UNKNOWN", "unknown error"};
    if (code >= 0)
        return &success;
    if (code <= -(int)(sizeof code_rows / sizeof *code_rows) || !code_rows[-code].name)
        return &unknown;
    return &code_rows[-code];
}

const char *lam_code_text(int code)
{
    return code_row(code)->text;
}

const char *lam_code_name(int code)
{
    return code_row(code)->name;
}

/* Copies text into msg with control bytes escaped, without an allocation: this runs when memory is
 * short as well. */
static void copy_one_line(char *msg, size_t capacity, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    static const char ellipsis[] = "...";
    size_t at = 0, cut = 0; /* cut: the last place where the ellipsis would still fit */
    for (size_t length; *text; text += length) {
        uint32_t code = 0;
        char escaped[5] = {0};
        length = utf8_decode(text, strnlen(text, 4), &code);
        bool is_control = length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0);
        const char *piece = text;
        size_t piece_length = length;
        if (is_control) {
            unsigned char byte = (unsigned char)*text;
            length = 1;
            memcpy(escaped, (char[4]){'\\', 'x', hex[byte >> 4], hex[byte & 15]}, 4);
            if (byte == '\n' || byte == '\t')
                memcpy(escaped, byte == '\n' ? "\\n" : "\\t", 3);
            piece = escaped;
            piece_length = strlen(escaped);
        }
        if (at + piece_length >= capacity) {
            memcpy(msg + cut, ellipsis, sizeof ellipsis);
            return;
        }
        memcpy(msg + at, piece, piece_length);
        at += piece_length;
        if (at + sizeof ellipsis <= capacity)
            cut = at;
    }
    msg[at] = 0;
}

int lam_error_vset(struct lam_error *err, int code, uint64_t offset, const char *fmt, va_list args)
{
    int saved_errno = errno;
    if (err) {
        char raw[2 * sizeof err->msg]; /* arguments may point into err->msg */
        if (vsnprintf(raw, sizeof raw, fmt, args) < 0)
            snprintf(raw, sizeof raw, "%s", lam_code_text(code));
        err->code = code;
        err->offset = offset;
        copy_one_line(err->msg, sizeof err->msg, raw);
    }
    errno = saved_errno;
    return code;
}

int lam_error_set(struct lam_error *err, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    lam_error_vset(err, code, LAM_NO_OFFSET, fmt, args);
    va_end(args);
    return code;
}

int lam_error_at(struct lam_error *err, int code, uint64_t offset, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    lam_error_vset(err, code, offset, fmt, args);
    va_end(args);
    return code;
}

int lam_code_from_errno(int errnum)
{
    static const struct {
        int errnum;
        int code;
    } rows[] = {
        {ENOENT, LAM_E_NOTFOUND}, {ENOTDIR, LAM_E_NOTFOUND},   {ESRCH, LAM_E_NOTFOUND},
        {EACCES, LAM_E_PERM},     {EPERM, LAM_E_PERM},         {EROFS, LAM_E_PERM},
        {EEXIST, LAM_E_EXISTS},   {ENOTEMPTY, LAM_E_EXISTS},   {ENOSPC, LAM_E_FULL},
        {EDQUOT, LAM_E_FULL},     {EFBIG, LAM_E_FULL},         {ENOMEM, LAM_E_NOMEM},
        {EBUSY, LAM_E_BUSY},      {ENOSYS, LAM_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].errnum == errnum)
            return rows[i].code;
    }
    return LAM_E_IO;
}

int lam_error_errno(struct lam_error *err, int errnum, const char *fmt, ...)
{
    int code = lam_code_from_errno(errnum);
    if (!err)
        return code;
    va_list args;
    char where[sizeof err->msg];
    char reason[128];
    va_start(args, fmt);
    if (vsnprintf(where, sizeof where, fmt, args) < 0)
        where[0] = 0;
    va_end(args);
    return lam_error_set(err, code, "%s: %s", where, strerror_r(errnum, reason, sizeof reason));
}
