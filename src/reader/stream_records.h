/* The types of records as one table: names, fields, texts. Decoding in either byte order, printing and checking are made
 * from it; docs/format.md says the same in words. */
#ifndef LAMELLA_READER_STREAM_RECORDS_H
#define LAMELLA_READER_STREAM_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/layout.h"

union stream_body {
    struct stream_rec_process process;
    struct stream_rec_blob argv;
    struct stream_rec_config config;
    struct stream_rec_time time;
    struct stream_rec_thread thread;
    struct stream_rec_name name;
    struct stream_rec_thread_end thread_end;
    struct stream_rec_wait wait;
    struct stream_rec_spawn spawn;
    struct stream_rec_child_exit child_exit;
    struct stream_rec_process_end process_end;
    struct stream_rec_module module;
    struct stream_rec_epoch epoch;
    struct stream_rec_notice notice;
    struct stream_rec_string string;
    struct stream_rec_composed composed;
    struct stream_rec_kind kind;
    struct stream_rec_names names;
    struct stream_rec_map map;
    struct stream_rec_track track;
    struct stream_rec_counter counter;
    struct stream_rec_policy policy;
    struct stream_rec_settings settings;
    struct stream_rec_refused refused;
};

struct stream_field {
    const char *name; /* "usage.user_ns" for a member of a member */
    uint16_t offset;
    uint8_t bytes; /* of one: 1, 2, 4 or 8 */
    uint8_t count; /* an array's length; 1 */
    bool is_signed;
    bool is_spare; /* reserved: swapped with the rest, never shown */
};

struct stream_text_field {
    const char *name;
    int16_t length_field; /* index in fields of its length in bytes; STREAM_LENGTH_IS_AUX */
};
enum { STREAM_LENGTH_IS_AUX = -1 };

struct stream_record_row {
    uint32_t type;
    uint32_t fixed_bytes; /* of the body before its texts */
    uint32_t field_count, text_count;
    const char *name;     /* "PROCESS" */
    const char *aux_name; /* what aux is: "thread"; NULL: nothing */
    const struct stream_field *fields;
    const struct stream_text_field *texts;
};

/* NULL for a type that is not known. */
const struct stream_record_row *stream_record_row(uint32_t type);

/* A field's value, from a body in our byte order; negative ones sign-extended. */
uint64_t stream_field_get(const struct stream_field *field, const void *body, unsigned index);

/* Turns a body's fields, or another structure described by fields, between the byte orders. */
void stream_fields_swap(const struct stream_field *fields, uint32_t count, void *body);

/* The file's header and a page's header, described the same way. */
extern const struct stream_field stream_header_fields[];
extern const uint32_t stream_header_field_count;
extern const struct stream_field stream_page_fields[];
extern const uint32_t stream_page_field_count;

#endif
