/* instrument.c: calls of programs that were compiled with -finstrument-functions or clang's -fxray-instrument.
 *
 * Preloaded or linked. What is known of a function here is its address: it becomes a label that says which file holds it and where
 * (docs/format.md, code labels), and gets its name when the recording is read. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "../common/code_label.h"
#include "open_calls.h"
#include "xray.h"

enum {
    TABLE_SLOTS = 1 << 18, /* functions; memory is used as they are called */
    TABLE_LOOK = 64,
    PROLOGUE_MAX =
        56, /* bytes of code before a function tells that it begins; a function that tells so is longer */
};

/* ---- the label of an address ---- */

struct slot { /* key is stored last; both 0: free */
    uint64_t key;
    uint32_t label;
    uint32_t prologue; /* how far from its beginning it tells that it begins, as far as was seen; 0: not yet */
};

static struct slot *table;

/* Recording is not signal-safe: a handler that interrupts it is not recorded. So here is where the stack of this thread was when it
 * went in, NULL when it is not in. */
static __thread const char *busy_at __attribute__((tls_model("initial-exec")));

/* Or has it never come out, since a handler that interrupted it left by longjmp()? Then the stack is as short as it was. */
static __attribute__((noinline)) bool is_interrupted(const char *here)
{
    stack_t own;
    return here < busy_at || sigaltstack(NULL, &own) < 0 || own.ss_flags & SS_ONSTACK;
}

/* Where a function is compiled into another one it tells its calls from there, within the other's frame. at: where it tells. */
static bool has_own_frame(struct slot *slot, uintptr_t at)
{
    uint64_t from = at - slot->key;
    if (from - 1 >= PROLOGUE_MAX - 1)
        return false;
    uint32_t least = __atomic_load_n(&slot->prologue, __ATOMIC_RELAXED);
    if (!least || from < least)
        __atomic_store_n(&slot->prologue, (uint32_t)from, __ATOMIC_RELAXED);
    return !least || from <= least;
}

/* Lock-free. Two threads may make one label at a time: it is the same. *out: its slot; NULL: there is no room. */
static uint32_t label_of(uintptr_t address, struct slot **out)
{
    uint64_t key = address, at = key * 0x9e3779b97f4a7c15ull >> 40;
    for (uint32_t look = 0; look < TABLE_LOOK; look++, at++) {
        struct slot *slot = &table[at % TABLE_SLOTS];
        /* acquire: pairs with the release below; whoever sees the key sees the label. */
        uint64_t there = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
        *out = slot;
        if (__builtin_expect(there == key, 1))
            return __atomic_load_n(&slot->label, __ATOMIC_RELAXED);
        if (there)
            continue;
        uint32_t label = code_label(address, NULL, 0).id, none = 0;
        if (!label)
            return 0;
        /* The label is what claims the slot: whoever loses goes on to the next one. */
        if (!__atomic_compare_exchange_n(&slot->label, &none, label, 0, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
        return label;
    }
    *out = NULL;
    return code_label(address, NULL, 0).id;
}

struct where {
    const char *sp;
    uintptr_t at, returns_to; /* 0: a function's own entry point tells */
};

static inline void on_call(uintptr_t function, bool is_exit, struct where where)
{
    const char *here = __builtin_frame_address(0);
    if (lam_is_off(LAM_DEFAULT) || !table ||
        (__builtin_expect(busy_at != NULL, 0) && is_interrupted(here)))
        return;
    busy_at = here;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler sees it before anything is done */
    struct slot *slot;
    uint32_t label = label_of(function, &slot);
    if (label && is_exit)
        open_calls_exit(label);
    else if (label)
        open_calls_enter(where.sp, !where.at || (slot && has_own_frame(slot, where.at)),
                         where.returns_to, label);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    busy_at = NULL;
}

/* ---- -finstrument-functions ---- */

LAM_API void __cyg_profile_func_enter(void *function, void *site);
LAM_API void __cyg_profile_func_exit(void *function, void *site);

/* Where the caller's stack was when it called the function that says so. */
#define SP_OF_CALLER() ((const char *)__builtin_frame_address(0) + 2 * sizeof(void *))

void __cyg_profile_func_enter(void *function, void *site)
{
    struct where where = {SP_OF_CALLER(), (uintptr_t)__builtin_return_address(0), (uintptr_t)site};
    on_call((uintptr_t)function, false, where);
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    on_call((uintptr_t)function, true, (struct where){NULL, 0, 0});
}

static void on_sled(uintptr_t function, bool is_exit, const char *sp)
{
    on_call(function, is_exit, (struct where){sp, 0, 0});
}

__attribute__((constructor)) static void begin(void)
{
    open_calls_begin();
    /* Also while nothing is recorded: the program may open the recorder later. */
    void *map = mmap(NULL, TABLE_SLOTS * sizeof *table, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map != MAP_FAILED)
        __atomic_store_n(&table, map, __ATOMIC_RELEASE);
    xray_begin(on_sled);
}
