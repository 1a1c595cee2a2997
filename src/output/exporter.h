/* Export formats: rows of a table, each a sink that writes one file. */
#ifndef LAMELLA_OUTPUT_EXPORTER_H
#define LAMELLA_OUTPUT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/byteout.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "phase/classifier.h"
#include "profile/sink.h"
#include "symbols/sidecar.h"

/* Something the user should know about the output: one line. */
typedef void (*export_note_fn)(void *ctx, const char *text);

/* What formats that add up (folded, flamegraph, pprof) add up. */
enum export_values {
    EXPORT_VALUES_AUTO,
    EXPORT_VALUES_INTERVALS,
    EXPORT_VALUES_SAMPLES,
    EXPORT_VALUES_MIXED, /* samples, below the intervals that they were in */
};

enum export_holding {
    EXPORT_HOLDS_COMMANDS = 1,
    EXPORT_HOLDS_MODULES = 2, /* their paths; redacted, their names */
    EXPORT_HOLDS_SOURCES = 4,
    EXPORT_HOLDS_PROGRAMS = 8,
    EXPORT_HOLDS_THREADS = 16,
    EXPORT_HOLDS_FUNCTIONS = 32,
    EXPORT_HOLDS_EVENTS = 64,
    EXPORT_HOLDS_ARGUMENTS = 128,
    EXPORT_HOLDS_INPUT = 256, /* its name */
};

struct export_options {
    bool redacts;                  /* no arguments, no directories, no host, no command lines */
    enum export_values values;     /* AUTO: intervals where there are any */
    const struct symbols *symbols; /* names of frames; NULL */
    struct classifier *cls;        /* segments of samples (firefox); NULL */
    const char *scratch_dir;       /* for temporary files; "" */
    const char *title;             /* of a picture */
    uint64_t max_bytes;            /* formats that add up keep to it; 0: no limit */
    bool is_inverted;              /* flamegraph: leaves first */
    struct stack_totals *against;  /* flamegraph: what to compare with; NULL */
    /* chrome: thread → the thread whose row it shares (collapse_threads.h); NULL: each has its own */
    const uint32_t *thread_rows;
    size_t thread_row_count;
    export_note_fn note; /* NULL */
    void *note_ctx;
    bool *saw_modules; /* set when frames of modules came; NULL: nobody asks */
};

struct export_format {
    const char *name;
    const char *suffix;
    bool is_binary;  /* not for a terminal */
    bool adds_up;    /* the output does not grow with the number of events */
    bool is_gzipped; /* always, whatever the file's name */
    bool has_threads_to_collapse;
    uint32_t holds; /* enum export_holding: what somebody who gets the file can read in it, beside times */
    /* out and what options point to stay the caller's and outlive the state. *state is NULL after a failure. */
    int (*open)(void **state, const struct export_options *options, struct byteout *out,
                struct lam_error *err);
    struct profile_sink (*sink)(void *state);          /* valid as long as the state */
    int (*finish)(void *state, struct lam_error *err); /* after a whole push: what is left to write */
    void (*close)(void **state);                       /* NULL and *state NULL are fine */
};

/* Ended by one without a name. */
extern const struct export_format export_formats[];

/* NULL: there is none of that name. */
const struct export_format *export_format_named(const char *name);

/* What an output holds, in words; has_modules: samples with frames were in it. False: nothing that redaction leaves out. */
bool export_holds(const struct export_format *format, bool redacts, bool has_modules,
                  struct strbuf *out);

/* Of a format whose viewers know no unit but time. */
void export_note_measure(const struct export_options *options, enum profile_measure measure);

/* What of the input could not be read, or is not as it was stored. */
void export_note_losses(const struct export_options *options,
                        const struct profile_session_end *ended);

void export_note(const struct export_options *options, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
