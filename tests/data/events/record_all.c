/* Records a little of everything that liblamella can. Argument "wait": ends by being killed. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lamella/lamella.h"

static struct lam_label label(const char *text)
{
    return lam_label_intern(LAM_DEFAULT, text, strlen(text));
}

static void nest(int depth)
{
    LAM_SCOPE("nest");
    if (depth > 0)
        nest(depth - 1);
}

static void *worker(void *arg)
{
    LAM_SCOPE("worker");
    for (int i = 0; i < 200; i++)
        nest(3);
    lam_end(LAM_DEFAULT, *(struct lam_handle *)arg);
    return NULL;
}

static void tracks(struct lam_kind kind)
{
    struct lam_track a = lam_track_create(LAM_DEFAULT, label("first"));
    struct lam_track b = lam_track_create(LAM_DEFAULT, label("second"));
    lam_track_switch(LAM_DEFAULT, a);
    struct lam_handle in_a = lam_begin(LAM_DEFAULT, kind, label("in first"));
    lam_track_switch(LAM_DEFAULT, b);
    struct lam_handle in_b = lam_begin(LAM_DEFAULT, kind, label("in second"));
    nest(2);
    lam_track_switch(LAM_DEFAULT, a);
    lam_end(LAM_DEFAULT, in_a);
    lam_track_end(LAM_DEFAULT, a);
    lam_track_switch(LAM_DEFAULT, b);
    lam_end(LAM_DEFAULT, in_b);
    lam_track_end(LAM_DEFAULT, b);
}

int main(int argc, char **argv)
{
    LAM_SCOPE("main");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Work");
    for (int i = 0; i < 3000; i++)
        nest(4);
    struct lam_space space = lam_space_create(LAM_DEFAULT);
    struct lam_kind query = lam_kind_keyed(LAM_DEFAULT, "Query", "typeck", space);
    for (uint32_t i = 0; i < 20; i++)
        lam_end(LAM_DEFAULT, lam_begin_id(LAM_DEFAULT, query, i));
    lam_name_id(LAM_DEFAULT, space, 7, "crate::seven", 12);
    uint64_t start = lam_now(LAM_DEFAULT);
    nest(1);
    lam_interval(LAM_DEFAULT, kind, label("past"), start, lam_now(LAM_DEFAULT));
    struct lam_handle paused = lam_begin(LAM_DEFAULT, kind, label("paused"));
    lam_pause(LAM_DEFAULT, paused);
    nest(1);
    lam_resume(LAM_DEFAULT, paused);
    lam_end(LAM_DEFAULT, paused);
    lam_instant(LAM_DEFAULT, kind, label("now"));
    lam_integer(LAM_DEFAULT, kind, label("value"), UINT64_MAX);
    lam_instant(LAM_DEFAULT, kind, label("odd \x1b \xff label"));
    tracks(kind);
    for (int i = 0; i < 20; i++) {
        struct lam_handle task = lam_begin_detached(LAM_DEFAULT, kind, label("task"));
        pthread_t thread;
        pthread_create(&thread, NULL, worker, &task);
        pthread_join(thread, NULL);
    }
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        pause();
    }
    return 0;
}
