/* Errors, the one way: functions that can fail return int, 0 or more for success, a negative enum
 * lam_code otherwise. Results leave through out-parameters, written only on success. The cause is
 * described where it is known, in a struct lam_error that the caller may leave out (NULL). */
#ifndef LAMELLA_BASE_ERROR_H
#define LAMELLA_BASE_ERROR_H

#include <stdarg.h>
#include <stdint.h>

#include "lamella/codes.h"

#define LAM_NO_OFFSET UINT64_MAX /* there is no place in the input to point at */

struct lam_error {
    int code;
    uint64_t offset; /* bytes into the input, or LAM_NO_OFFSET */
    char msg[256];   /* one line, what and where; control bytes are escaped as \n, \t or \xNN */
};

#define LAM_ERROR_INIT                          \
    {                                           \
        .code = LAM_OK, .offset = LAM_NO_OFFSET \
    }

/* Describes a failure and returns its code, so that `return lam_error_set(err, LAM_E_IO, "…")` is
 * one statement. err may be NULL. A text that does not fit is cut and ends in "..."; it is never
 * cut inside a UTF-8 character. errno is left as it was. Arguments may point into err->msg (to put
 * a prefix before the text). */
int lam_error_set(struct lam_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a byte offset into the input. */
int lam_error_at(struct lam_error *err, int code, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same from a va_list. */
int lam_error_vset(struct lam_error *err, int code, uint64_t offset, const char *fmt, va_list args)
    __attribute__((format(printf, 4, 0)));

/* Describes a failed system call: "<fmt>: <strerror(errnum)>". The code follows errnum: ENOENT is
 * NOTFOUND, EACCES and EPERM are PERM, EEXIST is EXISTS, ENOSPC, EDQUOT and EFBIG are FULL, ENOMEM
 * is NOMEM, the rest is IO. */
int lam_error_errno(struct lam_error *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The code that lam_error_errno() gives for errnum. */
int lam_code_from_errno(int errnum);

/* The text of a code; "success" for 0 and above, "unknown error" for a value that is not in the
 * list. Never NULL. */
const char *lam_code_text(int code);

/* The name of a code as in LAM_ERRORS ("NOMEM"), "OK" for 0 and above, "UNKNOWN" otherwise. */
const char *lam_code_name(int code);

#endif
