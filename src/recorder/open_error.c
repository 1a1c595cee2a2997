/* open_error.c: why no recorder was opened, for lam_open_error() and for whoever looks for the recording. */
#include "recorder/bounded_text.h"
#include "recorder/recorder_state.h"

/* All of it under the lock of opening. */
static char error_text[512];

const char *lam_open_error(void)
{
    return error_text;
}

void open_error_clear(void)
{
    error_text[0] = 0;
}

int open_error_set(int code, const char *what, const char *why)
{
    enum { WHAT_MAX = 256 };
    struct bounded_text text = {error_text, 0, sizeof error_text};
    size_t length = bytes_length(what);
    text_add_cut(&text, what, length > WHAT_MAX ? (size_t)WHAT_MAX : length);
    if (length > WHAT_MAX)
        text_add_cut(&text, "...", 3);
    text_add_cut(&text, ": ", 2);
    text_add_cut(&text, why, bytes_length(why));
    return code;
}

int open_error_keep(int code, const char *path)
{
    if (code < 0 && !error_text[0])
        open_error_set(code, path && *path ? path : "liblamella", lam_error_text(code));
    return code;
}

/* The stream of a process that records nothing: who it is, and why. */
void open_error_tell(struct lam_recorder *rec, int code)
{
    static struct lane teller; /* of a lane only the place in its records is used */
    teller.rec = rec;
    stream_cursor_init(&teller.records, STREAM_PAGE_RECORDS, 1, 0);
    recorder_write_time(rec, &teller);
    session_write_process(rec, &teller, 0);
    struct stream_rec_refused record = {.code = code,
                                        .text_bytes = (uint32_t)bytes_length(error_text)};
    struct stream_piece pieces[] = {{&record, sizeof record}, {error_text, record.text_bytes}};
    stream_append(&rec->stream, &teller.records, STREAM_REC_REFUSED, 0, pieces, 2, rec->start_ticks);
    stream_cursor_close(&teller.records);
    stream_forget(&rec->stream);
}
