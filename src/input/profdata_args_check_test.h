/* For tests and fuzz targets: the short way to an argument gives what the long way does, where it gives anything. */
#ifndef LAMELLA_INPUT_PROFDATA_ARGS_CHECK_TEST_H
#define LAMELLA_INPUT_PROFDATA_ARGS_CHECK_TEST_H

#include <string.h>

#include "input/profdata_strings.h"

/* 1: they agree, 0: there is no short way, -1: they do not. Texts are put into `room` and `text`. */
static inline int profdata_args_check(struct profdata_strings *strings, uint64_t id,
                                      struct strbuf *room, struct strbuf *text)
{
    struct profdata_arg arg;
    if (!profdata_args_find(strings, id, room, &arg))
        return 0;
    uint64_t faults = strings->file->faults.all.count;
    strbuf_clear(text);
    if (profdata_strings_text(strings, id, text) < 0 || strings->file->faults.all.count != faults)
        return -1;
    const char *all = strbuf_text(text), *from = memchr(all, PROFDATA_SEPARATOR, text->length);
    if (!from || text->length - (size_t)(from + 1 - all) != arg.size ||
        memcmp(from + 1, arg.bytes, arg.size) != 0)
        return -1;
    bool is_plain = true;
    for (size_t i = 0; i < arg.size; i++) {
        unsigned char c = (unsigned char)arg.bytes[i];
        is_plain = is_plain && c >= ' ' && c < 0x7f && c != '"' && c != '\\';
        if (c == PROFDATA_SEPARATOR)
            return -1;
    }
    return is_plain == arg.is_plain ? 1 : -1;
}

#endif
