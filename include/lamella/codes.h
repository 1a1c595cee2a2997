/* codes.h: the results of all of lamella's functions. 0 or more is success, these are failures. */
#ifndef LAMELLA_CODES_H
#define LAMELLA_CODES_H

/* name, value, text. Values never change once released. */
#define LAM_ERRORS(X)                         \
    X(NOMEM, -1, "out of memory")             \
    X(INVAL, -2, "argument out of range")     \
    X(CORRUPT, -3, "input breaks its format") \
    X(FULL, -4, "no space left")              \
    X(IO, -5, "input or output failed")       \
    X(NOTFOUND, -6, "not found")              \
    X(UNSUPPORTED, -7, "not supported")       \
    X(EXISTS, -8, "exists already")           \
    X(PERM, -9, "not permitted")              \
    X(TOOBIG, -10, "too big")                 \
    X(CANCELLED, -11, "cancelled")            \
    X(USAGE, -12, "wrong use of the command") \
    X(TRUNCATED, -13, "input ends too early") \
    X(BUSY, -14, "in use, or open already")   \
    X(CLOSED, -15, "closed")

enum lam_code {
    LAM_OK = 0,
#define LAM_ERROR_ENUM(name, value, text) LAM_E_##name = value,
    LAM_ERRORS(LAM_ERROR_ENUM)
#undef LAM_ERROR_ENUM
};

#endif
