/* Numbers as text, fast: what a trace of millions of events is made of. */
#ifndef LAMELLA_OUTPUT_TIME_TEXT_H
#define LAMELLA_OUTPUT_TIME_TEXT_H

#include <stdint.h>
#include <string.h>

#include "profile/sink.h"

enum { TIME_TEXT_BYTES = 32 }; /* what any of these writes at most */

/* Each writes at `at` and returns what follows; no NUL. */
char *put_decimal(char *at, uint64_t value);
char *put_microseconds(char *at, int64_t ns); /* "-1.5", "12", "0.001": exact, no trailing zeros */
char *put_milliseconds(char *at, int64_t ns);

#define put_literal(at, text) put_bytes((at), (text), sizeof(text) - 1)
static inline char *put_bytes(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

/* "nanoseconds", "instructions", …; what the input counts is "events" when it has another name. */
const char *export_measure_name(enum profile_measure measure);

#endif
