/* ctest: TIMEOUT 60 */
/* Hardware counters, on machines that have none: the kernel hands perf_event_open() of one thread to another one
 * (SECCOMP_RET_USER_NOTIF), which answers with a file of numbers in place of an event. What is asked for is checked there, what
 * becomes of the values in the recording. Reading by rdpmc is not tried: the file never says that it may be. */
#include "lamella/lamella.h"
#include "recorder/decode_test.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(SECCOMP_ADDFD_FLAG_SEND)

enum { NUMBERS = 1 << 14, INSTRUCTIONS_STEP = 8000, CYCLES_STEP = 16000, IRQS_STEP = 16 };

static char path[96];
static struct decoded in;
static int listener = -1;
static uint32_t asked, left; /* atomic: how often, and how often it will still be granted */
static int refusal;          /* errno for the others */
static uint32_t faults;      /* atomic: asked for something that is not right */

/* Each read gives the next number. Their low bits are 0, so that as a page of the event's it is one that must not be read
 * from user mode. */
static int numbers_file(uint64_t step)
{
    int fd = memfd_create("numbers", MFD_CLOEXEC);
    static uint64_t numbers[NUMBERS];
    for (uint64_t i = 0; i < NUMBERS; i++)
        numbers[i] = (i + 1) * step;
    if (write(fd, numbers, sizeof numbers) != sizeof numbers || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

/* Who asks stands still in its system call meanwhile, which the thread sanitizer cannot know. */
#define ASKER_WAITS __attribute__((no_sanitize("thread")))

ASKER_WAITS static int is_right(const struct perf_event_attr *attr)
{
    int is_irqs = attr->type == PERF_TYPE_RAW;
    return attr->size == sizeof *attr && attr->pinned && attr->exclude_hv && !attr->inherit &&
           !attr->disabled && attr->exclude_kernel == !is_irqs &&
           (is_irqs ||
            (attr->type == PERF_TYPE_HARDWARE && (attr->config == PERF_COUNT_HW_INSTRUCTIONS ||
                                                  attr->config == PERF_COUNT_HW_CPU_CYCLES)));
}

ASKER_WAITS static void answer(const struct seccomp_notif *request)
{
    const struct perf_event_attr *attr = (const void *)(uintptr_t)request->data.args[0];
    __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
    if (!is_right(attr) || (int)request->data.args[1] != 0 || (int)request->data.args[2] != -1)
        __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) == 0) {
        struct seccomp_notif_resp no = {.id = request->id, .error = -refusal};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &no);
        return;
    }
    __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED);
    int fd = numbers_file(attr->type == PERF_TYPE_RAW                  ? IRQS_STEP
                          : attr->config == PERF_COUNT_HW_INSTRUCTIONS ? INSTRUCTIONS_STEP
                                                                       : CYCLES_STEP);
    struct seccomp_notif_addfd yes = {.id = request->id,
                                      .flags = SECCOMP_ADDFD_FLAG_SEND,
                                      .srcfd = (uint32_t)fd,
                                      .newfd_flags = O_CLOEXEC};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &yes);
    close(fd);
}

static void *answer_all(void *arg)
{
    for (;;) {
        struct seccomp_notif request = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0)
            answer(&request);
        else if (errno != EINTR && errno != ENOENT)
            return arg; /* no thread is left that might ask */
    }
}

/* For the calling thread and those that it makes. */
static int hand_over(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

static int try_open(const char *text, uint32_t granted)
{
    struct lam_options options;
    lam_options_init(&options);
    assert_int_equal(lam_options_parse(&options, text), LAM_OK);
    strcpy(path, scratch_file(".lam"));
    options.path = path;
    __atomic_store_n(&left, granted, __ATOMIC_RELAXED);
    return lam_open(&options);
}

static void one_interval(const char *text)
{
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "Work");
    struct lam_label label = lam_label_intern(LAM_DEFAULT, text, strlen(text));
    lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, label));
}

static const struct decoded_event *finish(void)
{
    lam_close();
    decode(&in, path);
    unlink(path);
    const struct decoded_event *event = decoded_find(&in, "work", 0);
    assert_non_null(event);
    return event;
}

static void clocks(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        uint32_t measure;
        uint64_t step;
    } rows[] = {
        {"clock=instructions", STREAM_MEASURE_INSTRUCTIONS, INSTRUCTIONS_STEP},
        {"clock=cycles", STREAM_MEASURE_CYCLES, CYCLES_STEP},
#if defined(__x86_64__)
        {"clock=instructions-minus-irqs", STREAM_MEASURE_INSTRUCTIONS_MINUS_IRQS,
         INSTRUCTIONS_STEP - IRQS_STEP},
#endif
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(try_open(rows[i].options, 1000), LAM_OK);
        one_interval("work");
        const struct decoded_event *event = finish();
        assert_int_equal(in.header->measure, rows[i].measure);
        assert_int_equal(event->end - event->start, rows[i].step);
        decoded_free(&in);
    }
}

static void beside_the_clock(void **state)
{
    (void)state;
    assert_int_equal(try_open("counters=instructions+cycles", 1000), LAM_OK);
    one_interval("work");
    const struct decoded_event *event = finish();
    assert_int_equal(event->more_count, 2);
    static const uint64_t steps[] = {INSTRUCTIONS_STEP, CYCLES_STEP};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(stream_slot_code(&event->more[i]), STREAM_SLOT_COUNTER);
        assert_int_equal(stream_slot_id(&event->more[i]), i + 1);
        assert_int_equal(event->more[i].rest, steps[i]);
    }
    decoded_free(&in);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        int error, code;
        const char *words;
    } rows[] = {
        {EACCES, LAM_E_PERM, "perf_event_paranoid"},
        {EPERM, LAM_E_PERM, "not permitted"},
        {ENOENT, LAM_E_UNSUPPORTED, "does not have"},
        {EOPNOTSUPP, LAM_E_UNSUPPORTED, "does not have"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        refusal = rows[i].error;
        assert_int_equal(try_open("clock=instructions", 0), rows[i].code);
        assert_non_null(strstr(lam_open_error(), rows[i].words));
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

static void *work(void *arg)
{
    one_interval("work");
    return arg;
}

/* The machine gives them when it is asked whether it would, and to the first thread; to the second one no more. */
static void a_thread_without(void **state)
{
    (void)state;
    refusal = EMFILE;
    assert_int_equal(try_open("counters=instructions", 2), LAM_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    pthread_join(thread, NULL);
    const struct decoded_event *event = finish();
    assert_int_equal(event->more[0].rest, 0);
    assert_int_equal(in.header->lost[STREAM_LOSS_NO_COUNTER], 1);
    assert_int_equal(in.header->lost[STREAM_LOSS_IO], 0);
    decoded_free(&in);
}

static int nothing_was_wrong(void **state)
{
    (void)state;
    return asked == 0 || faults != 0;
}

int main(void)
{
    pthread_t thread;
    listener = hand_over();
    if (listener < 0) {
        puts("not tried: the kernel hands no system calls over here");
        return 77;
    }
    pthread_create(&thread, NULL, answer_all, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks),
        cmocka_unit_test(beside_the_clock),
        cmocka_unit_test(refused),
        cmocka_unit_test(a_thread_without),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_was_wrong);
}

#else
int main(void)
{
    return 77;
}
#endif
