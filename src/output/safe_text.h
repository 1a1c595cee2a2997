/* Names of any bytes, made fit for formats that are stricter: different names stay different, and nobody's format breaks.
 *
 * What a format cannot hold is written \xNN, a byte at a time; backslashes right before such a byte or before an x are
 * doubled. So an even number of backslashes before an x reads back as half as many and an x, and an odd number ends in a
 * byte; any other backslash is itself. (The JSON writers follow the same rule.) */
#ifndef LAMELLA_OUTPUT_SAFE_TEXT_H
#define LAMELLA_OUTPUT_SAFE_TEXT_H

#include <stddef.h>

#include "base/strbuf.h"

enum safe_text {
    SAFE_UTF8, /* valid UTF-8, any character: protocol buffers */
    SAFE_XML, /* and no character that XML 1.0 excludes, no line break or tab; &, <, > and quotes become entities */
    SAFE_FOLDED, /* valid UTF-8 without control characters and semicolons */
    SAFE_PROFDATA, /* valid UTF-8 without control characters other than white space: what .mm_profdata can hold */
};

void safe_text_add(struct strbuf *buf, enum safe_text kind, const char *text, size_t length);

#endif
