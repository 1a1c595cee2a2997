/* lexicon.c: where labels and kinds are kept, whichever recorder of the program is open. */
#include "recorder/recorder_state.h"

#include <sys/mman.h>

void *lexicon_wiped_memory(size_t bytes)
{
    void *map = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_is_error(map))
        return NULL;
    if (sys_call3(SYS_madvise, map, bytes, MADV_WIPEONFORK) == 0)
        return map;
    sys_munmap(map, bytes);
    return NULL;
}

void *lexicon_memory(size_t bytes)
{
    void *map = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return sys_is_error(map) ? NULL : map;
}

static void let_go(void *map, size_t bytes)
{
    if (map)
        sys_munmap(map, bytes);
}

struct lexicon *lexicon_new(void)
{
    /* Memory is used as it is touched: of the kinds, a page. */
    size_t kinds_bytes = RECORDER_KINDS * sizeof(struct kind_entry);
    size_t bytes = sizeof(struct lexicon) + RECORDER_SHARDS * sizeof(struct label_shard);
    struct lexicon *lexicon = lexicon_memory(bytes);
    struct lexicon_locks *locks = lexicon_wiped_memory(sizeof *locks);
    struct kind_entry *kinds = lexicon_memory(kinds_bytes);
    if (!lexicon || !locks || !kinds) {
        let_go(lexicon, bytes);
        let_go(locks, sizeof *locks);
        let_go(kinds, kinds_bytes);
        return NULL;
    }
    lexicon->locks = locks;
    lexicon->shards = (struct label_shard *)(lexicon + 1);
    lexicon->kinds = kinds;
    lexicon->next_kind = STREAM_SLOT_KIND_MIN;
    return lexicon;
}
