/* The short way to an event's argument, as rustc writes nearly all: its id's string is a reference to the label, a separator and a
 * reference to the argument, whose text is written out or begins with a reference to what it shares with others (the path of a
 * module). What is not so, or not whole, is put together by profdata_strings_text(), which also says what is wrong. Both ways give the
 * same text.
 *
 * Most of the time goes into waiting for memory: a profile's strings lie all over the file. So the place of each argument is kept where the
 * index is read, and its text is fetched some events ahead. */
#ifndef LAMELLA_INPUT_PROFDATA_STRING_ARGS_H
#define LAMELLA_INPUT_PROFDATA_STRING_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profdata_strings;
struct profdata_args; /* of one thread; its memory does not depend on the file: 66 KB */
struct strbuf;

struct profdata_arg {
    const char *bytes;
    size_t size;
    bool is_plain; /* ASCII without control characters, quotes and backslashes */
};

#define PROFDATA_LONG_WAY UINT32_MAX

struct profdata_args *profdata_args_new(void);
void profdata_args_free(struct profdata_args *args);

/* Address of the argument of an event's string; PROFDATA_LONG_WAY. */
uint32_t profdata_args_place(struct profdata_strings *strings, uint64_t address);

/* Hints: this id's argument is wanted soon; in two steps of some events each, as the second needs what the first has brought. */
enum profdata_fetch { PROFDATA_FETCH_PLACE, PROFDATA_FETCH_ARGUMENT };
void profdata_args_fetch(const struct profdata_strings *strings, uint64_t id,
                         enum profdata_fetch step);

/* The text lies in the file or in `room`, until that changes. False: it has to go the long way. */
bool profdata_args_find(struct profdata_strings *strings, uint64_t id, struct strbuf *room,
                        struct profdata_arg *arg);

#endif
