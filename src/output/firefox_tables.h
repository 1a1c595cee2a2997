/* The tables of stacks, frames, functions and resources of one thread in the Firefox Profiler's format: each thread of a
 * profile has its own, with what its samples use. Strings are shared. */
#ifndef LAMELLA_OUTPUT_FIREFOX_TABLES_H
#define LAMELLA_OUTPUT_FIREFOX_TABLES_H

#include "analysis/stack_states.h"
#include "base/byteout.h"
#include "base/map.h"
#include "output/export_tables.h"

struct firefox_stack {
    uint32_t prefix; /* + 1; 0: none */
    uint32_t frame;
};

struct firefox_frame {
    uint32_t func, line;
    uint64_t address;
    uint16_t inline_depth, category, subcategory;
    bool has_address;
};

struct firefox_func {
    uint32_t name;     /* string */
    uint32_t file;     /* string + 1; 0: not known */
    uint32_t resource; /* + 1; 0: none */
};

/* What is the same for all threads. */
struct firefox_shared {
    struct export_frames *frames;
    struct intern *strings;
    struct stack_states *states; /* with a classifier; NULL */
};

/* All-zero is empty and valid. */
struct firefox_tables {
    struct firefox_shared shared;
    uint32_t fallback;  /* classifier_thread() of the thread */
    struct map entries; /* stack → its innermost entry in stacks */
    struct map frame_index, func_index, resource_index;
    LAM_ARRAY(struct firefox_stack) stacks;
    LAM_ARRAY(struct firefox_frame) frames;
    LAM_ARRAY(struct firefox_func) funcs;
    LAM_ARRAY(uint32_t) resources; /* modules */
    LAM_ARRAY(uint32_t) chain;
};

/* The entry of a stack, made with all that it needs; *entry is + 1, 0 for stack 0. */
int firefox_tables_stack(struct firefox_tables *tables, uint32_t stack, uint32_t *entry);

/* "stackTable":{…},"frameTable":{…},… */
int firefox_tables_put(const struct firefox_tables *tables, struct byteout *out);

/* Empties the tables for the next thread. */
void firefox_tables_clear(struct firefox_tables *tables);
void firefox_tables_free(struct firefox_tables *tables);

/* Category 0 is "Other"; that of a segment is the segment's number. Subcategories of a segment are its phases in the order
 * of their dense numbers; 0 is "Other". */
uint16_t firefox_subcategory(const struct classifier *cls, uint32_t phase);

#endif
