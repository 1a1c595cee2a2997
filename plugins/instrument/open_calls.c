/* open_calls.c: see open_calls.h.
 *
 * A call whose stack pointer is not above the one of a call that begins now is over: that one's frame lies where it was. (At the same
 * height stand a call and those that were compiled into it.) So is one whose stack pointer lies within the new frame, below the new
 * call's return address. This holds within one stack only; a program that
 * has several for a thread (coroutines) is believed on the one that the thread began on. */
#include "open_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lamella/lamella.h>

enum {
    ROOM_FIRST = 256,
    FRAME_MAX = 4096, /* larger ones are not looked through */
    LOOKS_MAX = 64,   /* of a thread at its stack, which may grow */
};

struct open_call {
    const char *sp;
    uint32_t label;
};

static __thread struct {
    struct open_call *items;
    uint32_t count, room, looks;
    uint32_t recording; /* that they are of */
    uintptr_t first;    /* where the stack was at first */
    uintptr_t low, high;
} here __attribute__((tls_model("initial-exec")));

static pthread_key_t at_thread_end;

static void give_back(void *items)
{
    munmap(items, here.room * sizeof *here.items);
    here.items = NULL;
    here.room = here.count = 0;
}

void open_calls_begin(void)
{
    pthread_key_create(&at_thread_end, give_back);
}

static bool grow(void)
{
    uint32_t room = here.room ? here.room * 2 : ROOM_FIRST;
    size_t before = here.room * sizeof *here.items, size = room * sizeof *here.items;
    void *items = here.room
                      ? mremap(here.items, before, size, MREMAP_MAYMOVE)
                      : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (items == MAP_FAILED)
        return false;
    here.items = items;
    here.room = room;
    pthread_setspecific(at_thread_end, items);
    return true;
}

/* Of /proc/self/maps, "LOW-HIGH ...": the one that holds an address. No memory is asked for: the program may be in malloc(). */
static void find_stack(uintptr_t address)
{
    int error = errno, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    uintptr_t ends[2] = {0, 0};
    int which = 0; /* 2: the rest of the line */
    char text[1024];
    ssize_t size;
    bool is_found = false;
    while (!is_found && fd >= 0 && (size = read(fd, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < size && !is_found; i++) {
            char c = text[i];
            if (c == '\n') {
                which = 0;
                ends[0] = ends[1] = 0;
            } else if (which < 2 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
                ends[which] = ends[which] << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            } else if (which < 2) {
                is_found = ++which == 2 && address - ends[0] < ends[1] - ends[0];
            }
        }
    if (fd >= 0)
        close(fd);
    if (is_found) {
        here.low = ends[0];
        here.high = ends[1];
    }
    errno = error;
}

static bool is_within(const char *sp)
{
    return (uintptr_t)sp - here.low < here.high - here.low;
}

static bool is_one_stack(const char *one, const char *other)
{
    if ((!is_within(one) || !is_within(other)) && here.looks < LOOKS_MAX) {
        here.looks++;
        find_stack(here.first);
    }
    return is_within(one) && is_within(other);
}

/* Is the topmost call over, now that another one begins? */
static bool is_left(const char *sp, bool is_own, uintptr_t returns_to)
{
    const char *top = here.items[here.count - 1].sp;
    if (top < sp || (top == sp && is_own))
        return is_one_stack(top, sp);
    if (!is_own)
        return false;
#ifdef __x86_64__ /* the address lies on the stack, as it is */
    if (returns_to && top - sp < FRAME_MAX) {
        for (const char *at = sp; at < top; at += sizeof returns_to) {
            uintptr_t word;
            memcpy(&word, at, sizeof word);
            if (word == returns_to)
                return false;
        }
        return is_one_stack(top, sp);
    }
#else
    (void)returns_to;
#endif
    return false;
}

/* Of another recording nothing is open in this one. */
static void begin_anew(void)
{
    uint32_t now = __atomic_load_n(&lam_on, __ATOMIC_RELAXED);
    if (__builtin_expect(here.recording != now, 0)) {
        here.recording = now;
        here.count = 0;
    }
}

static void end_one(void)
{
    lam_call_exit(LAM_DEFAULT, (struct lam_label){here.items[--here.count].label});
}

void open_calls_enter(const char *sp, bool is_own, uintptr_t returns_to, uint32_t label)
{
    begin_anew();
    if (!here.first)
        here.first = (uintptr_t)sp;
    while (here.count && is_left(sp, is_own, returns_to))
        end_one();
    lam_call_enter(LAM_DEFAULT, (struct lam_label){label});
    if (here.count < here.room || grow())
        here.items[here.count++] = (struct open_call){sp, label};
}

void open_calls_exit(uint32_t label)
{
    begin_anew();
    uint32_t at = here.count;
    while (at && here.items[at - 1].label != label)
        at--;
    while (at && here.count > at)
        end_one();
    if (at)
        here.count--;
    lam_call_exit(LAM_DEFAULT, (struct lam_label){label});
}
