/* Totals of intervals by label and arguments: which key was expensive. Memory: some 60 bytes for a distinct pair of label and
 * arguments, and each text of arguments once, however many labels have it: a compiler asks many questions of one item. */
#ifndef LAMELLA_ANALYSIS_LABEL_ARGUMENTS_H
#define LAMELLA_ANALYSIS_LABEL_ARGUMENTS_H

#include <stdbool.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "profile/sink.h"

struct label_argument {
    uint32_t name; /* index in labels.names */
    uint32_t text; /* in texts: label_argument_text() is for people; not always UTF-8 */
    uint64_t count, self_ns, time_ns, max_ns; /* active time; time of outermost events */
};

/* All-zero is empty and valid. */
struct label_arguments {
    LAM_ARRAY(struct label_argument) rows; /* most self time first, after label_arguments_sort() */
    struct intern texts;                   /* arguments with a separator between them */
    uint32_t *slots;                       /* row + 1, open addressing; none after the sorting */
    size_t mask;
    struct strbuf scratch;
};

/* is_helper: time of an event that is part of another one and does not count. LAM_OK or LAM_E_NOMEM. */
int label_arguments_add(struct label_arguments *arguments, uint32_t name,
                        const struct profile_interval *interval, bool is_helper);
void label_arguments_sort(struct label_arguments *arguments);
bool label_argument_has_text(const struct label_arguments *arguments,
                             const struct label_argument *row);
/* Appends the arguments with ", " between them. */
void label_argument_text(const struct label_arguments *arguments, const struct label_argument *row,
                         struct strbuf *out);
uint64_t label_arguments_bytes(const struct label_arguments *arguments);
void label_arguments_free(struct label_arguments *arguments);

#endif
