/* recording_test.h: for the recorder's tests: the default recorder opened on a scratch file, closed, and what it wrote. */
#ifndef LAMELLA_RECORDER_RECORDING_TEST_H
#define LAMELLA_RECORDER_RECORDING_TEST_H

#include "lamella/lamella.h"
#include "recorder/decode_test.h"
#include "recorder/flight.h" /* before the names below, which its parameters have too */

static char path[96];     /* of the stream that is written */
static struct decoded in; /* of the one that was finished last */

static inline void begin_with_options(const struct lam_options *options)
{
    struct lam_options own = *options;
    strcpy(path, scratch_file(".lam"));
    own.path = path;
    assert_int_equal(lam_open(&own), LAM_OK);
}

/* With options as LAMELLA_OPTIONS has them. */
static inline void begin_with(const char *text)
{
    struct lam_options options;
    lam_options_init(&options);
    assert_int_equal(lam_options_parse(&options, text), LAM_OK);
    begin_with_options(&options);
}

static inline void finish(void)
{
    lam_close();
    decode(&in, path);
}

/* Of what finish() read. */
static inline void end(void)
{
    decoded_free(&in);
    unlink(path);
}

static inline struct lam_label label(const char *text)
{
    return lam_label_intern(LAM_DEFAULT, text, strlen(text));
}

#endif
