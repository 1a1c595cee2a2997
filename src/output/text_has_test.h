/* What a text that was written must hold, and must not. */
#ifndef LAMELLA_OUTPUT_TEXT_HAS_TEST_H
#define LAMELLA_OUTPUT_TEXT_HAS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

#define HAS(buf, text)                                               \
    do {                                                             \
        if (!strstr(strbuf_text(buf), text))                         \
            fail_msg("'%s' is not in:\n%s", text, strbuf_text(buf)); \
    } while (0)
#define HAS_NOT(buf, text)                                       \
    do {                                                         \
        if (strstr(strbuf_text(buf), text))                      \
            fail_msg("'%s' is in:\n%s", text, strbuf_text(buf)); \
    } while (0)

#endif
