#include "input/profdata_finder.h"

void profdata_finder_free(struct profdata_finder *finder)
{
    for (size_t i = 0; i < PROFDATA_FINDER_KINDS; i++)
        array_free(&finder->kinds[i].by_name);
}

static int find_shared(struct profdata_finder *finder, uint64_t kind, uint64_t id,
                       struct profdata_found *found)
{
    struct profdata_shared_labels *shared = finder->shared;
    struct profdata_file *file = shared->strings->file;
    pthread_mutex_lock(shared->lock);
    file->faults_of = finder->faults;
    int rc = profdata_label(shared->labels, shared->strings, kind, id, &found->label);
    found->has_args = profdata_strings_has_args(shared->strings, id);
    file->faults_of = NULL;
    pthread_mutex_unlock(shared->lock);
    return rc;
}

int profdata_finder_slow(struct profdata_finder *finder, uint64_t kind, uint64_t id,
                         struct profdata_found *found)
{
    const struct profdata_strings *strings = finder->shared->strings;
    size_t at = (id ^ id >> 10 ^ kind << 3) % PROFDATA_FINDER_KNOWN;
    size_t place = profdata_finder_kind(finder, kind);
    if (finder->known[at].found.label && finder->known[at].id == id &&
        finder->known[at].kind == kind) {
        *found = finder->known[at].found;
        return LAM_OK;
    }
    int rc = find_shared(finder, kind, id, found);
    if (rc < 0)
        return rc;
    uint32_t name = id < strings->virtual_count ? strings->virtual_names[id] : INTERN_NONE;
    if (name == INTERN_NONE || place == PROFDATA_FINDER_KINDS) {
        finder->known[at].kind = kind;
        finder->known[at].id = id;
        finder->known[at].found = *found;
        return LAM_OK;
    }
    finder->kinds[place].id = kind;
    finder->kinds[place].is_set = true;
    if (name >= finder->kinds[place].by_name.count &&
        array_resize(&finder->kinds[place].by_name, (size_t)name + name / 2 + 64) < 0)
        return LAM_E_NOMEM;
    finder->kinds[place].by_name.items[name] = found->label;
    return LAM_OK;
}
