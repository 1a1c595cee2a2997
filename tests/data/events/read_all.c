/* Prints the events of a recording with liblamella-reader, one a line. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lamella/reader.h"

static void put(struct lam_text text)
{
    for (size_t i = 0; i < text.size; i++)
        printf("%02x", (unsigned char)text.bytes[i]);
}

int main(int argc, char **argv)
{
    struct lam_reader *reader;
    char why[256];
    int rc = argc == 3 ? lam_reader_open(&reader, argv[2], why, sizeof why) : LAM_E_INVAL;
    if (rc < 0) {
        printf("%d %s\n", rc, argc == 3 ? why : "usage");
        return 1;
    }
    const struct lam_event *event;
    if (lam_reader_next(reader, &event) != LAM_E_INVAL)
        return 2;
    lam_reader_begin(reader, strcmp(argv[1], "time") == 0 ? LAM_READER_TIME_ORDER : LAM_READER_STREAM_ORDER);
    while ((rc = lam_reader_next(reader, &event)) > 0) {
        const struct lam_text *args;
        int count = lam_reader_args(reader, &args);
        printf("%u %u %u %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " ", event->type, event->tid, event->flags, event->start,
               event->end, event->active, event->value);
        put(event->kind);
        printf(" ");
        put(event->label);
        for (int i = 0; i < count; i++) {
            printf(" ");
            put(args[i]);
        }
        printf("\n");
    }
    struct lam_reader_stats stats;
    lam_reader_stats(reader, &stats);
    lam_reader_close(&reader);
    fprintf(stderr, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", stats.streams, stats.damaged, stats.lost_events);
    return rc < 0;
}
