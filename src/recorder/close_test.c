/* ctest: TIMEOUT 120 */
/* The default recorder is closed and opened again while threads record, intern, come and go. */
#include "lamella/lamella.h"
#include "recorder/recorder_state.h"
#include "recorder/recording_test.h"

#include <pthread.h>

/* ---- threads that go on ---- */

enum { WRITERS = 4, ROUNDS = 120, EVENTS_A_ROUND = 400 };

static uint32_t round_now, is_over; /* atomic */

static void scope(void)
{
    LAM_SCOPE_OF("Scope", "scope of each round");
}

static void record_something(int writer, long n)
{
    char text[48];
    int size = snprintf(text, sizeof text, "label %d of writer %d", (int)(n % 60), writer);
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Own");
    struct lam_label label = lam_label_intern(LAM_DEFAULT, text, (size_t)size);
    lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, label));
    scope();
    if (n % 16 == 0)
        lam_thread_name(LAM_DEFAULT, text);
    if (n % 8 == 0)
        lam_instant(LAM_DEFAULT, kind, lam_label_compose(LAM_DEFAULT, &label, 1, LAM_COMPOSE_TEXT));
}

/* As fast as it can, a bounded amount in each round: on a machine that is busy a round may last long. */
static void *write_on(void *arg)
{
    uint32_t seen = 0, left = 0;
    for (long n = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED);) {
        uint32_t now = __atomic_load_n(&round_now, __ATOMIC_RELAXED);
        left = now == seen ? left : EVENTS_A_ROUND;
        seen = now;
        if (left) {
            record_something((int)(intptr_t)arg, n++);
            left--;
        } else {
            usleep(20);
        }
    }
    return NULL;
}

static void *one_scope(void *arg)
{
    scope();
    return arg;
}

static void *come_and_go(void *arg)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, one_scope, NULL), 0);
        pthread_join(thread, NULL);
        usleep(20);
    }
    return arg;
}

/* Nothing is lost, and whatever is used has been told. */
static void check_recording(void)
{
    for (int i = 0; i < STREAM_LOSS_KINDS; i++)
        if (in.header->lost[i])
            fail_msg("%s: lost %llu for reason %d", path, (unsigned long long)in.header->lost[i], i);
    uint8_t *seen = calloc(1 << 20, 1);
    for (size_t i = 0; i < in.count; i++) {
        const struct decoded_event *event = &in.events[i];
        assert_true(event->id < 1 << 20);
        if (event->code < 32 || seen[event->id]++)
            continue;
        const struct stream_rec_kind *kind = decoded_kind(&in, event->code);
        assert_non_null(kind);
        int is_scope = strcmp(decoded_string(&in, kind->name), "Scope") == 0;
        const char *name = decoded_string(&in, event->id);
        if (is_scope)
            assert_string_equal(name, "scope of each round");
        else if (event->id) /* 0: it was asked for while no recorder was open */
            assert_memory_equal(name, "label ", 6);
    }
    free(seen);
}

static void closed_and_opened_while_others_record(void **state)
{
    (void)state;
    static char paths[ROUNDS][96];
    pthread_t threads[WRITERS + 1];
    for (intptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_on, (void *)i), 0);
    assert_int_equal(pthread_create(&threads[WRITERS], NULL, come_and_go, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        begin_with("");
        strcpy(paths[round], path);
        __atomic_fetch_add(&round_now, 1, __ATOMIC_RELAXED);
        if (round % 4)
            usleep((useconds_t)(round % 16) * 20);
        lam_close();
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i <= WRITERS; i++)
        pthread_join(threads[i], NULL);
    size_t events = 0;
    for (int round = 0; round < ROUNDS; round++) {
        strcpy(path, paths[round]);
        decode(&in, path);
        check_recording();
        events += in.count;
        end();
    }
    assert_true(events > ROUNDS);
}

/* ---- one thread ---- */

static void labels_keep_their_numbers(void **state)
{
    (void)state;
    begin_with("");
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Kept");
    struct lam_label label = lam_label_intern(LAM_DEFAULT, "kept", 4);
    struct lam_handle open = lam_begin(LAM_DEFAULT, kind, label);
    finish();
    end();
    begin_with("");
    assert_int_equal(lam_label_intern(LAM_DEFAULT, "kept", 4).id, label.id);
    assert_int_equal(lam_instant(LAM_DEFAULT, kind, label), LAM_OK);
    assert_int_equal(lam_end(LAM_DEFAULT, open), LAM_E_INVAL); /* of the recording before */
    finish();
    assert_non_null(decoded_find(&in, "kept", 0));
    assert_null(decoded_find(&in, "kept", 1));
    assert_int_equal(in.header->counts[STREAM_COUNT_FOREIGN_ENDS], 1);
    end();
}

static uint32_t largest_weight(void)
{
    uint32_t weight = 0;
    const struct stream_record *rec;
    for (size_t i = 0; i < in.count; i++) {
        const struct stream_rec_kind *kind =
            in.events[i].code >= 32 ? decoded_kind(&in, in.events[i].code) : NULL;
        if (kind && kind->weight > weight)
            weight = kind->weight;
    }
    rec = decoded_record(&in, STREAM_REC_POLICY, UINT32_MAX, 0);
    assert_non_null(rec);
    assert_int_equal(((const struct stream_rec_policy *)(const void *)(rec + 1))->one_in, weight);
    return weight;
}

static void weights_are_of_this_opening(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        uint32_t weight;
    } rows[] = {{"calls=one_in:4", 4}, {"calls=one_in:8", 8}, {"calls=one_in:4", 4}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        begin_with(rows[row].options);
        struct lam_label label = lam_label_intern(LAM_DEFAULT, "called", 6);
        for (int i = 0; i < 200; i++) {
            lam_call_enter(LAM_DEFAULT, label);
            lam_call_exit(LAM_DEFAULT, label);
        }
        finish();
        assert_int_equal(largest_weight(), rows[row].weight);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_and_opened_while_others_record),
        cmocka_unit_test(labels_keep_their_numbers),
        cmocka_unit_test(weights_are_of_this_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
