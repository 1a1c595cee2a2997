/* For the fuzz target of the exporters: whether what was written is whole in its format, by readers that know nothing of the
 * writers. JSON parses; protobuf decodes, with its texts in UTF-8; XML nests; a line of folded stacks ends with its value; a
 * self-profile is read back without a fault. */
#ifndef LAMELLA_FUZZ_WRITTEN_CHECK_H
#define LAMELLA_FUZZ_WRITTEN_CHECK_H

#include <stdint.h>
#include <string.h>

#include "base/json_read.h"
#include "base/protobuf.h"
#include "input/profdata_container.h"
#include "input/profdata_strings.h"

/* ---- JSON ---- */

static inline bool json_is_good(const char *text, size_t size)
{
    struct json_reader json;
    int event;
    json_open_memory(&json, text, size, NULL);
    while ((event = json_next(&json)) > 0)
        continue;
    json_close(&json);
    return event == JSON_DONE;
}

/* ---- protobuf ---- */

enum check_kind { CHECK_END, CHECK_TEXT, CHECK_MESSAGE };

/* Fields that are texts or messages; others need only decode. A message that is its own kind again has itself. */
struct check_field {
    uint32_t number;
    enum check_kind kind;
    const struct check_field *fields;
};

static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        if (shift == 63 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static inline const struct check_field *field_of(const struct check_field *fields, uint64_t number)
{
    while (fields && fields->kind != CHECK_END && fields->number != number)
        fields++;
    return fields && fields->kind != CHECK_END ? fields : NULL;
}

static inline bool protobuf_is_good(const uint8_t *at, size_t size, const struct check_field *fields)
{
    const uint8_t *end = at + size;
    uint64_t tag, value;
    while (at < end) {
        if (!take_varint(&at, end, &tag) || tag >> 3 == 0)
            return false;
        const struct check_field *field = field_of(fields, tag >> 3);
        switch (tag & 7) {
        case PROTO_VARINT:
            if (field || !take_varint(&at, end, &value))
                return false;
            break;
        case PROTO_FIXED64:
            if (field || end - at < 8)
                return false;
            at += 8;
            break;
        case PROTO_BYTES:
            if (!take_varint(&at, end, &value) || value > (uint64_t)(end - at))
                return false;
            if (field && field->kind == CHECK_TEXT && !utf8_is_valid((const char *)at, value))
                return false;
            // NOLINTNEXTLINE(misc-no-recursion): as deep as the table of fields
            if (field && field->kind == CHECK_MESSAGE && !protobuf_is_good(at, value, field->fields))
                return false;
            at += value;
            break;
        default:
            return false;
        }
    }
    return true;
}

static inline bool perfetto_is_good(const char *text, size_t size)
{
    static const struct check_field process[] = {{2, CHECK_TEXT, NULL},
                                                 {6, CHECK_TEXT, NULL},
                                                 {.kind = CHECK_END}},
                                    thread[] = {{5, CHECK_TEXT, NULL}, {.kind = CHECK_END}},
                                    track[] = {{2, CHECK_TEXT, NULL},
                                               {3, CHECK_MESSAGE, process},
                                               {4, CHECK_MESSAGE, thread},
                                               {8, CHECK_MESSAGE, NULL},
                                               {.kind = CHECK_END}},
                                    annotation[] = {{6, CHECK_TEXT, NULL},
                                                    {10, CHECK_TEXT, NULL},
                                                    {.kind = CHECK_END}},
                                    event[] = {{4, CHECK_MESSAGE, annotation},
                                               {22, CHECK_TEXT, NULL},
                                               {23, CHECK_TEXT, NULL},
                                               {.kind = CHECK_END}},
                                    name[] = {{2, CHECK_TEXT, NULL}, {.kind = CHECK_END}},
                                    interned[] = {{1, CHECK_MESSAGE, name},
                                                  {2, CHECK_MESSAGE, name},
                                                  {3, CHECK_MESSAGE, name},
                                                  {6, CHECK_MESSAGE, NULL},
                                                  {.kind = CHECK_END}},
                                    packet[] = {{11, CHECK_MESSAGE, event},
                                                {12, CHECK_MESSAGE, interned},
                                                {60, CHECK_MESSAGE, track},
                                                {.kind = CHECK_END}},
                                    trace[] = {{1, CHECK_MESSAGE, packet}, {.kind = CHECK_END}};
    return protobuf_is_good((const uint8_t *)text, size, trace);
}

static inline bool pprof_is_good(const char *text, size_t size)
{
    static const struct check_field location[] = {{4, CHECK_MESSAGE, NULL}, {.kind = CHECK_END}},
                                    profile[] = {
                                        {1, CHECK_MESSAGE, NULL}, {2, CHECK_MESSAGE, NULL},
                                        {3, CHECK_MESSAGE, NULL}, {4, CHECK_MESSAGE, location},
                                        {5, CHECK_MESSAGE, NULL}, {6, CHECK_TEXT, NULL},
                                        {.kind = CHECK_END}};
    return protobuf_is_good((const uint8_t *)text, size, profile);
}

/* ---- text ---- */

/* Elements nest, and no name has broken out of its place: no stray `<`, `&` is an entity, no byte that XML 1.0 forbids. What is
 * in a script or a style is CDATA and skipped. */
static inline bool xml_is_good(const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    size_t depth = 0;
    if (!utf8_is_valid(text, size))
        return false;
    while (at < end) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r')
            return false;
        if (byte == '&') {
            const char *semicolon = memchr(at, ';', (size_t)(end - at));
            if (!semicolon || semicolon - at > 10)
                return false;
        }
        if (byte != '<') {
            at++;
            continue;
        }
        if (end - at >= 9 && memcmp(at, "<![CDATA[", 9) == 0) {
            at = memmem(at, (size_t)(end - at), "]]>", 3);
            if (!at)
                return false;
            at += 3;
            continue;
        }
        const char *close = memchr(at, '>', (size_t)(end - at));
        if (!close || memchr(at + 1, '<', (size_t)(close - at - 1)))
            return false;
        if (at[1] == '/' && depth-- == 0)
            return false;
        if (at[1] != '/' && at[1] != '?' && at[1] != '!' && close[-1] != '/')
            depth++;
        at = close + 1;
    }
    return depth == 0;
}

/* "frame;frame 12", one a line, in printable UTF-8. */
static inline bool folded_is_good(const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    if (!utf8_is_valid(text, size))
        return false;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end || line_end == at)
            return false;
        const char *digits = line_end;
        while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (digits == line_end || digits - at < 2 || digits[-1] != ' ')
            return false;
        for (const char *c = at; c < line_end; c++)
            if ((unsigned char)*c < 0x20)
                return false;
        at = line_end + 1;
    }
    return true;
}

/* ---- a self-profile ---- */

static inline bool profdata_is_good(const char *text, size_t size)
{
    struct profdata_file file;
    if (profdata_open_memory(&file, text, size, "written", NULL) < 0)
        return false;
    bool is_good = file.faults.all.count == 0;
    profdata_close(&file);
    return is_good;
}

/* ---- by its name ---- */

static inline bool written_is_good(const char *format, const char *text, size_t size)
{
    if (strcmp(format, "perfetto") == 0)
        return perfetto_is_good(text, size);
    if (strcmp(format, "pprof") == 0)
        return pprof_is_good(text, size);
    if (strcmp(format, "flamegraph") == 0)
        return xml_is_good(text, size);
    if (strcmp(format, "folded") == 0)
        return folded_is_good(text, size);
    if (strcmp(format, "mm_profdata") == 0)
        return profdata_is_good(text, size);
    return json_is_good(text, size);
}

#endif
