/* kinds.c: kinds of events, their flavors, and which of them are wanted.
 *
 * The number of a kind is the code of its events (see layout.h). An entry is complete before next_kind says that it is there,
 * so that reading takes no lock; adding takes the recorder's. */
#include "recorder/recorder_state.h"

#include "core/bytes.h"

static const uint32_t flavor_flags[KIND_FLAVORS] = {
    [KIND_DETACHED] = STREAM_KIND_DETACHED, [KIND_INSTANT] = STREAM_KIND_INSTANT,
    [KIND_INTEGER] = STREAM_KIND_INTEGER,   [KIND_PAST] = STREAM_KIND_LATER,
    [KIND_WEIGHTED] = STREAM_KIND_CALL,     [KIND_PAST_WEIGHTED] = STREAM_KIND_LATER,
};

static void tell(struct lane *lane, uint32_t kind)
{
    const struct kind_entry *entry = &lane->rec->lexicon->kinds[kind];
    struct stream_rec_kind record = {
        .name = entry->name,
        .label = entry->label,
        .space = entry->space,
        .weight = entry->weight,
        .flags = entry->flags,
    };
    struct stream_piece piece = {&record, sizeof record};
    lane_append(lane, STREAM_REC_KIND, kind, &piece, 1, clock_ticks(lane->rec->stream.use_counter));
}

void kinds_tell(struct lane *lane)
{
    struct lexicon *lexicon = lane->rec->lexicon;
    futex_lock(&lexicon->locks->kinds); /* as in labels_tell() */
    for (uint32_t kind = STREAM_SLOT_KIND_MIN; kind < lexicon->next_kind; kind++)
        if (kind != STREAM_SLOT_KIND_ELSEWHERE)
            tell(lane, kind);
    futex_unlock(&lexicon->locks->kinds);
}

static uint32_t find(const struct lexicon *lexicon, const struct kind_entry *wanted)
{
    /* acquire: pairs with the release in add(). */
    uint32_t end = __atomic_load_n(&lexicon->next_kind, __ATOMIC_ACQUIRE);
    for (uint32_t kind = STREAM_SLOT_KIND_MIN; kind < end; kind++) {
        const struct kind_entry *entry = &lexicon->kinds[kind];
        if (entry->name == wanted->name && entry->label == wanted->label &&
            entry->space == wanted->space && entry->weight == wanted->weight &&
            entry->flags == wanted->flags)
            return kind;
    }
    return 0;
}

static uint32_t add(struct lane *lane, const struct kind_entry *entry)
{
    struct lexicon *lexicon = lane->rec->lexicon;
    uint32_t kind = find(lexicon, entry);
    if (kind)
        return kind;
    if (lane->generation != recorder_generation(lane->rec))
        return KIND_FAILED; /* closed meanwhile: what is open next would not know it */
    kind = lexicon->next_kind;
    if (kind == STREAM_SLOT_KIND_ELSEWHERE)
        kind++;
    if (kind >= RECORDER_KINDS)
        return KIND_FAILED;
    lexicon->kinds[kind] = *entry;
    tell(lane, kind);
    /* release: whoever sees the number sees the entry. */
    __atomic_store_n(&lexicon->next_kind, kind + 1, __ATOMIC_RELEASE);
    return kind;
}

static uint32_t get(struct lam_recorder *rec, const struct kind_entry *entry)
{
    uint32_t kind = find(rec->lexicon, entry);
    if (kind)
        return kind;
    struct lane *lane = lane_of(rec->is_default ? LAM_DEFAULT : rec);
    if (!lane || lane->changing)
        return KIND_FAILED;
    uint64_t signals = signals_block();
    lane->changing = 1;
    uint32_t *lock = &lane->rec->lexicon->locks->kinds;
    futex_lock(lock);
    kind = add(lane, entry);
    futex_unlock(lock);
    lane->changing = 0;
    signals_restore(signals);
    return kind;
}

uint32_t kind_intern(struct lam_recorder *rec, const char *name, uint32_t flags)
{
    rec = recorder_of(rec);
    if (!recorder_generation(rec))
        return KIND_FAILED;
    if (!filter_passes(rec->kinds_filter, name))
        return 0;
    struct kind_entry entry = {
        .name = label_intern_id(rec, name, bytes_length(name)), .weight = 1, .flags = flags};
    return get(rec, &entry);
}

uint32_t kind_flavor(struct lam_recorder *rec, uint32_t kind, enum kind_flavor flavor)
{
    struct lexicon *lexicon = rec->lexicon;
    if (kind < STREAM_SLOT_KIND_MIN || kind >= __atomic_load_n(&lexicon->next_kind, __ATOMIC_ACQUIRE))
        return 0;
    struct kind_entry *entry = &lexicon->kinds[kind];
    uint32_t known = __atomic_load_n(&entry->flavor[flavor], __ATOMIC_RELAXED);
    uint32_t weight = flavor >= KIND_WEIGHTED ? rec->one_in : 1;
    /* A recorder that was open before may have had another weight. */
    if (known && lexicon->kinds[known].weight == weight)
        return known;
    struct kind_entry wanted = {
        .name = entry->name,
        .label = entry->label,
        .space = entry->space,
        .weight = weight,
        .flags = entry->flags | flavor_flags[flavor],
    };
    known = get(rec, &wanted);
    if (known == KIND_FAILED)
        return 0;
    __atomic_store_n(&entry->flavor[flavor], known, __ATOMIC_RELAXED);
    return known;
}

/* ---- the list of kinds that are wanted ---- */

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Is the item at `item` (up to a comma) `name`, whatever the case of letters, `-` and `_`? */
static int is_item(const char *item, const char *name)
{
    for (;;) {
        while (*item == '-' || *item == '_')
            item++;
        while (*name == '-' || *name == '_')
            name++;
        int ends = !*item || *item == ',' || *item == '+';
        if (ends || !*name)
            return ends && !*name;
        if (folded(*item++) != folded(*name++))
            return 0;
    }
}

static int is_about_kinds(const char *item)
{
    return !is_item(item, "keys") && !is_item(item, "args") && !is_item(item, "");
}

int filter_passes(const char *filter, const char *name)
{
    int only = 0, passes = -1;
    const char *item = filter;
    while (*item) {
        int is_negative = *item == '-';
        if (is_about_kinds(item + is_negative) && !is_negative)
            only = 1;
        if (is_item(item + is_negative, name) || (is_item(item + is_negative, "all")))
            passes = !is_negative;
        while (*item && *item != ',' && *item != '+')
            item++;
        if (*item)
            item++;
    }
    return passes >= 0 ? passes : !only;
}

/* ---- public ---- */

struct lam_kind lam_kind_intern(struct lam_recorder *rec, const char *name)
{
    struct lam_kind none = {0};
    if (lam_is_off(rec) || !name)
        return none;
    uint32_t kind = kind_intern(rec, name, 0);
    return kind == KIND_FAILED ? none : (struct lam_kind){kind};
}

struct lam_space lam_space_create(struct lam_recorder *rec)
{
    struct lam_space none = {0};
    if (lam_is_off(rec))
        return none;
    return (struct lam_space){
        __atomic_add_fetch(&recorder_of(rec)->lexicon->next_space, 1, __ATOMIC_RELAXED)};
}

struct lam_kind lam_kind_keyed(struct lam_recorder *rec, const char *name, const char *label,
                               struct lam_space space)
{
    struct lam_kind none = {0};
    if (lam_is_off(rec) || !name || !space.id)
        return none;
    rec = recorder_of(rec);
    if (!recorder_generation(rec) || !filter_passes(rec->kinds_filter, name))
        return none;
    struct kind_entry entry = {
        .name = label_intern_id(rec, name, bytes_length(name)),
        .label = label ? label_intern_id(rec, label, bytes_length(label)) : 0,
        .space = space.id,
        .weight = 1,
    };
    uint32_t kind = get(rec, &entry);
    return kind == KIND_FAILED ? none : (struct lam_kind){kind};
}
