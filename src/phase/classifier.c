#include "phase/classifier.h"

#include <string.h>

#include "base/glob.h"
#include "base/map.h"
#include "base/memory.h"
#include "phase/pattern_index.h"

/* Markers and details are numbered in 16 bits: marker index + 1, 0 is none. */

/* What one function name means in one module. Interned as bytes, so equal ones are one. */
struct name_class {
    uint16_t leaf, innermost, outermost, query;
    uint16_t is_unresolved;
    uint16_t detail_count;
};
struct name_detail {
    uint16_t phase;
    uint16_t marker; /* index + 1 of the detail line */
};

/* A frame: its module's marker and the names at its address, outermost first (ids of name classes follow). */
struct frame_class {
    uint32_t module_marker;
    uint32_t module_detail;
    uint32_t name_count;
};

/* A stack. Interned as bytes; `details` (by phase: the marker that names its detail, 0 none) follow. */
struct stack_state {
    uint16_t leaf, module, innermost, outermost, query;
    uint8_t is_unresolved_inside; /* a frame deeper than the last marker has no symbol */
    uint8_t reserved;
    uint32_t module_detail;
};

struct module_info {
    uint32_t marker; /* index + 1 of the module line that claims it */
    uint32_t detail;
    const char *path;
};

struct classifier {
    struct marker_set set;
    struct pattern_index names;   /* of leaf, innermost, outermost, query and detail lines */
    struct pattern_index modules; /* of module lines */
    LAM_ARRAY(struct module_info) module_list;
    struct intern module_paths;
    struct intern name_texts;
    struct map name_classes; /* name text id and module → name class */
    struct intern name_class_blobs;
    struct intern frame_class_blobs;
    struct intern state_blobs;
    struct map transitions; /* parent state and frame class → state */
    struct map decisions;   /* state and fallback → bucket */
    struct map buckets;     /* phase and detail → bucket */
    LAM_ARRAY(uint64_t) bucket_list;
    size_t state_bytes;
    void *scratch_parent; /* state_bytes each */
    void *scratch_state;
    uint32_t ignored; /* index + 1 of a marker that counts as absent, while classifier_explain() asks for the next best */
};

#define DETAIL_UNRESOLVED UINT32_MAX

static struct marker *marker_at(struct classifier *cls, uint32_t number)
{
    return &cls->set.markers.items[number - 1];
}

/* The better of two markers (index + 1, 0 none) for the same name: the longest literal, then the later file, then line. */
static uint32_t better_marker(const struct marker_set *set, uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0)
        return a ? a : b;
    const struct marker *left = &set->markers.items[a - 1], *right = &set->markers.items[b - 1];
    if (left->literal_length != right->literal_length)
        return left->literal_length > right->literal_length ? a : b;
    if (left->file != right->file)
        return left->file > right->file ? a : b;
    return left->line >= right->line ? a : b;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static int index_markers(struct classifier *cls, struct lam_error *err)
{
    for (size_t i = 0; i < cls->set.markers.count; i++) {
        const struct marker *marker = &cls->set.markers.items[i];
        if (marker->rule == MARKER_THREAD || marker->rule == MARKER_ROLE)
            continue;
        struct pattern_index *index = marker->rule == MARKER_MODULE ? &cls->modules : &cls->names;
        if (pattern_index_add(index, marker->pattern, marker->pattern_length, (uint32_t)i + 1) < 0)
            return lam_error_set(err, LAM_E_NOMEM, "markers: out of memory");
    }
    return LAM_OK;
}

int classifier_open_set(struct classifier **out, struct marker_set *set, struct lam_error *err)
{
    struct classifier *cls = mem_zalloc(1, sizeof *cls);
    if (!cls) {
        marker_set_free(set);
        return lam_error_set(err, LAM_E_NOMEM, "markers: out of memory");
    }
    cls->set = *set;
    memset(set, 0, sizeof *set);
    if (cls->set.phases.count == 0 && marker_set_add(&cls->set, "none", "", 0, err) < 0)
        goto fail;
    cls->state_bytes = sizeof(struct stack_state) + cls->set.phases.count * sizeof(uint16_t);
    cls->scratch_parent = mem_zalloc(1, cls->state_bytes);
    cls->scratch_state = mem_zalloc(1, cls->state_bytes);
    if (!cls->scratch_parent || !cls->scratch_state ||
        array_push(&cls->module_list, (struct module_info){0}) < 0) {
        lam_error_set(err, LAM_E_NOMEM, "markers: out of memory");
        goto fail;
    }
    cls->module_list.items[0].path = "";
    if (index_markers(cls, err) < 0)
        goto fail;
    *out = cls;
    return LAM_OK;
fail:
    classifier_close(&cls);
    return err && err->code ? err->code : LAM_E_NOMEM;
}

int classifier_open(struct classifier **cls, const struct classifier_options *options,
                    struct lam_error *err)
{
    struct marker_set set = {0};
    int rc = options && options->no_builtin ? LAM_OK : marker_set_add_builtin(&set, err);
    for (size_t i = 0; options && rc == LAM_OK && i < options->file_count; i++)
        rc = marker_set_add_file(&set, options->files[i], err);
    if (rc < 0) {
        marker_set_free(&set);
        return rc;
    }
    return classifier_open_set(cls, &set, err);
}

const struct marker_set *classifier_markers(const struct classifier *cls)
{
    return &cls->set;
}

void classifier_close(struct classifier **out)
{
    struct classifier *cls = *out;
    if (!cls)
        return;
    *out = NULL;
    marker_set_free(&cls->set);
    pattern_index_free(&cls->names);
    pattern_index_free(&cls->modules);
    array_free(&cls->module_list);
    array_free(&cls->bucket_list);
    intern_free(&cls->module_paths);
    intern_free(&cls->name_texts);
    intern_free(&cls->name_class_blobs);
    intern_free(&cls->frame_class_blobs);
    intern_free(&cls->state_blobs);
    map_free(&cls->name_classes);
    map_free(&cls->transitions);
    map_free(&cls->decisions);
    map_free(&cls->buckets);
    mem_free(cls->scratch_parent);
    mem_free(cls->scratch_state);
    mem_free(cls);
}

/* ---- modules ---------------------------------------------------------------------------------------------------- */

struct module_search {
    struct classifier *cls;
    uint32_t best;
};

static void module_found(void *ctx, uint32_t number)
{
    struct module_search *search = ctx;
    search->best = better_marker(&search->cls->set, search->best, number);
}

/* "…/libserde_derive-0123456789abcdef.so" is serde_derive. */
static int crate_of_path(struct classifier *cls, const char *path, size_t length, uint32_t *detail)
{
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    const char *name = path + start;
    size_t size = length - start;
    if (size > 3 && memcmp(name, "lib", 3) == 0) {
        name += 3;
        size -= 3;
    }
    const char *dot = memchr(name, '.', size);
    if (dot)
        size = (size_t)(dot - name);
    const char *dash = memrchr(name, '-', size);
    if (dash && dash > name)
        size = (size_t)(dash - name);
    return intern_add(&cls->set.details, name, size, detail);
}

int classifier_module(struct classifier *cls, const char *path, size_t length, uint32_t *module)
{
    uint32_t id;
    int rc = intern_add(&cls->module_paths, path, length, &id);
    if (rc < 0)
        return rc;
    if (id < cls->module_list.count) {
        *module = id;
        return LAM_OK;
    }
    struct module_search search = {.cls = cls};
    pattern_index_find(&cls->modules, path, length, module_found, &search);
    struct module_info info = {.path = intern_text(&cls->module_paths, id, NULL)};
    if (search.best && marker_at(cls, search.best)->segment != SEGMENT_NONE) {
        info.marker = search.best;
        info.detail = marker_at(cls, search.best)->detail;
        if (info.detail == MARKER_DETAIL_CRATE)
            rc = crate_of_path(cls, path, length, &info.detail);
    }
    if (rc < 0 || array_push(&cls->module_list, info) < 0)
        return LAM_E_NOMEM;
    *module = id;
    return LAM_OK;
}

/* ---- frames ----------------------------------------------------------------------------------------------------- */

enum { NAME_DETAILS_MAX = 16 };

struct name_search {
    struct classifier *cls;
    const char *module_path;
    uint32_t best[MARKER_RULE_COUNT];
    uint32_t details[NAME_DETAILS_MAX]; /* one a phase */
    size_t detail_count;
    uint32_t no_detail; /* the best detail line that takes the name out */
};

static void detail_found(struct name_search *search, uint32_t number)
{
    const struct marker *marker = marker_at(search->cls, number);
    if (marker->segment == SEGMENT_NONE) {
        search->no_detail = better_marker(&search->cls->set, search->no_detail, number);
        return;
    }
    for (size_t i = 0; i < search->detail_count; i++) {
        if (marker_at(search->cls, search->details[i])->phase == marker->phase) {
            search->details[i] = better_marker(&search->cls->set, search->details[i], number);
            return;
        }
    }
    if (search->detail_count < NAME_DETAILS_MAX)
        search->details[search->detail_count++] = number;
}

static void name_found(void *ctx, uint32_t number)
{
    struct name_search *search = ctx;
    const struct marker *marker = marker_at(search->cls, number);
    if (marker->module && !glob_match_str(marker->module, search->module_path))
        return;
    if (marker->rule == MARKER_DETAIL)
        detail_found(search, number);
    else
        search->best[marker->rule] =
            better_marker(&search->cls->set, search->best[marker->rule], number);
}

static uint16_t found_marker(struct name_search *search, enum marker_rule rule)
{
    uint32_t number = search->best[rule];
    return number && marker_at(search->cls, number)->segment != SEGMENT_NONE ? (uint16_t)number : 0;
}

static int compare_details(const void *a, const void *b)
{
    const struct name_detail *left = a, *right = b;
    return left->phase < right->phase ? -1 : left->phase > right->phase;
}

static int make_name_class(struct classifier *cls, uint32_t module,
                           const struct classifier_name *name, uint32_t *id)
{
    struct name_search search = {.cls = cls, .module_path = cls->module_list.items[module].path};
    pattern_index_find(&cls->names, name->text, name->length, name_found, &search);
    struct {
        struct name_class head;
        struct name_detail details[NAME_DETAILS_MAX];
    } blob = {.head = {.leaf = found_marker(&search, MARKER_LEAF),
                       .innermost = found_marker(&search, MARKER_INNERMOST),
                       .outermost = found_marker(&search, MARKER_OUTERMOST),
                       .query = found_marker(&search, MARKER_QUERY)}};
    uint16_t count = 0;
    for (size_t i = 0; i < search.detail_count; i++) {
        uint32_t number = search.details[i];
        if (better_marker(&cls->set, number, search.no_detail) == number)
            blob.details[count++] =
                (struct name_detail){marker_at(cls, number)->phase, (uint16_t)number};
    }
    blob.head.detail_count = count;
    qsort(blob.details, count, sizeof blob.details[0], compare_details);
    return intern_add(&cls->name_class_blobs, (const char *)&blob,
                      sizeof blob.head + count * sizeof blob.details[0], id);
}

static int name_class_of(struct classifier *cls, uint32_t module,
                         const struct classifier_name *name, uint32_t *id)
{
    uint32_t text;
    int rc = intern_add(&cls->name_texts, name->text, name->length, &text);
    if (rc < 0)
        return rc;
    bool added;
    uint64_t *slot = map_slot(&cls->name_classes, (uint64_t)module << 32 | text, 0, &added);
    if (!slot)
        return LAM_E_NOMEM;
    if (added) {
        rc = make_name_class(cls, module, name, id);
        if (rc < 0) {
            map_remove(&cls->name_classes, (uint64_t)module << 32 | text);
            return rc;
        }
        *slot = *id;
    }
    *id = (uint32_t)*slot;
    return LAM_OK;
}

static int unresolved_class(struct classifier *cls, uint32_t *id)
{
    struct name_class blob = {.is_unresolved = 1};
    return intern_add(&cls->name_class_blobs, (const char *)&blob, sizeof blob, id);
}

int classifier_frame(struct classifier *cls, uint32_t module, const struct classifier_name *names,
                     size_t count, uint32_t *frame_class)
{
    enum {
        INLINED_MAX = 32
    }; /* deeper inlining: the outer ones of more than these go without a marker */
    struct {
        struct frame_class head;
        uint32_t names[INLINED_MAX];
    } blob = {0};
    if (module >= cls->module_list.count)
        module = 0;
    blob.head.module_marker = cls->module_list.items[module].marker;
    blob.head.module_detail = cls->module_list.items[module].detail;
    size_t used = count > INLINED_MAX ? INLINED_MAX : count;
    int rc = LAM_OK;
    for (size_t i = 0; i < used && rc == LAM_OK; i++)
        rc = name_class_of(cls, module, &names[used - 1 - i], &blob.names[i]);
    if (count == 0) {
        rc = unresolved_class(cls, &blob.names[0]);
        used = 1;
    }
    if (rc < 0)
        return rc;
    blob.head.name_count = (uint32_t)used;
    return intern_add(&cls->frame_class_blobs, (const char *)&blob,
                      sizeof blob.head + used * sizeof blob.names[0], frame_class);
}

/* ---- stacks ----------------------------------------------------------------------------------------------------- */

static uint16_t *state_details(void *state)
{
    return (uint16_t *)((struct stack_state *)state + 1);
}

static void load_state(const struct classifier *cls, uint32_t id, void *state)
{
    size_t length;
    const char *blob = intern_text(&cls->state_blobs, id, &length);
    if (length == cls->state_bytes)
        memcpy(state, blob, length);
    else
        memset(state, 0, cls->state_bytes); /* id 0: the empty stack */
}

static void own_detail(struct classifier *cls, void *state, uint16_t number)
{
    const struct marker *marker = marker_at(cls, number);
    if (marker->detail != MARKER_DETAIL_NONE)
        state_details(state)[marker->phase] = number;
}

static void push_innermost(struct classifier *cls, struct stack_state *state, uint16_t number)
{
    uint16_t held = state->innermost;
    if (held && marker_at(cls, held)->over & 1u << marker_at(cls, number)->segment)
        return;
    state->innermost = number;
}

static void ignore_marker(struct name_class *head, uint32_t number)
{
    uint16_t *const rules[] = {&head->leaf, &head->innermost, &head->outermost, &head->query};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (*rules[i] == number)
            *rules[i] = 0;
}

static void push_name(struct classifier *cls, struct stack_state *state, uint32_t id)
{
    struct name_class head;
    const char *blob = intern_text(&cls->name_class_blobs, id, NULL);
    memcpy(&head, blob, sizeof head);
    if (cls->ignored)
        ignore_marker(&head, cls->ignored);
    state->leaf = head.leaf;
    if (head.is_unresolved)
        state->is_unresolved_inside = 1;
    if (head.innermost || head.outermost || head.query)
        state->is_unresolved_inside = 0;
    /* Lowest precedence first: where one name has markers of two kinds for one phase, the stronger one's detail stays. A
     * question's own detail counts only while no step has claimed the stack. */
    if (head.query) {
        state->query = head.query;
        if (!state->innermost && !state->outermost)
            own_detail(cls, state, head.query);
    }
    if (head.outermost) {
        if (!state->outermost)
            state->outermost = head.outermost;
        own_detail(cls, state, head.outermost);
    }
    if (head.innermost) {
        push_innermost(cls, state, head.innermost);
        own_detail(cls, state, head.innermost);
    }
    for (uint16_t i = 0; i < head.detail_count; i++) {
        struct name_detail detail;
        memcpy(&detail, blob + sizeof head + i * sizeof detail, sizeof detail);
        state_details(state)[detail.phase] = detail.marker;
    }
}

static void push_frame(struct classifier *cls, struct stack_state *state, uint32_t frame_class)
{
    struct frame_class head = {0};
    size_t length;
    const char *blob = intern_text(&cls->frame_class_blobs, frame_class, &length);
    if (length >= sizeof head)
        memcpy(&head, blob, sizeof head);
    if (head.module_marker && head.module_marker != cls->ignored) {
        state->module = (uint16_t)head.module_marker;
        state->module_detail = head.module_detail;
    }
    for (uint32_t i = 0; i < head.name_count; i++) {
        uint32_t name;
        memcpy(&name, blob + sizeof head + i * sizeof name, sizeof name);
        push_name(cls, state, name);
    }
}

static int make_state(struct classifier *cls, uint32_t parent, uint32_t frame_class, uint32_t *id)
{
    struct stack_state *state = cls->scratch_state;
    load_state(cls, parent, state);
    push_frame(cls, state, frame_class);
    return intern_add(&cls->state_blobs, (const char *)state, cls->state_bytes, id);
}

int classifier_push(struct classifier *cls, uint32_t parent, uint32_t frame_class, uint32_t *state)
{
    uint64_t key = (uint64_t)parent << 32 | frame_class;
    uint64_t known;
    if (map_get(&cls->transitions, key, &known)) {
        *state = (uint32_t)known;
        return LAM_OK;
    }
    uint32_t id;
    int rc = make_state(cls, parent, frame_class, &id);
    if (rc == LAM_OK)
        rc = map_put(&cls->transitions, key, id);
    if (rc == LAM_OK)
        *state = id;
    return rc;
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

/* The best line of a rule for a text and a program: there are few of these, so one after the other. */
static uint32_t best_line(const struct classifier *cls, enum marker_rule rule, const char *program,
                          const char *text, size_t length, bool is_main)
{
    uint32_t best = 0;
    for (size_t i = 0; i < cls->set.markers.count; i++) {
        const struct marker *marker = &cls->set.markers.items[i];
        if (marker->rule != rule ||
            !glob_match(marker->pattern, marker->pattern_length, text, length))
            continue;
        if ((marker->module && !glob_match_str(marker->module, program)) ||
            (marker->is_main && !is_main))
            continue;
        uint32_t number = (uint32_t)i + 1;
        const struct marker *held = best ? &cls->set.markers.items[best - 1] : NULL;
        /* a line for this program beats one for any */
        if (held && (held->module == NULL) != (marker->module == NULL))
            best = held->module ? best : number;
        else if (held && held->is_main != marker->is_main)
            best = held->is_main ? best : number;
        else
            best = better_marker(&cls->set, best, number);
    }
    return best;
}

struct classifier_thread classifier_thread(const struct classifier *cls, const char *program,
                                           const char *name, size_t length, bool is_main)
{
    struct classifier_thread thread = {.role = ROLE_OTHER};
    uint32_t number = best_line(cls, MARKER_THREAD, program, name, length, is_main);
    if (number) {
        const struct marker *marker = &cls->set.markers.items[number - 1];
        thread.role = (enum thread_role)marker->role;
        const char *star = strchr(marker->pattern, '*');
        size_t before = star ? (size_t)(star - marker->pattern) : 0;
        if (marker->has_cgu && star && before < length) {
            thread.cgu = name + before;
            thread.cgu_length = length - before;
        }
    }
    const char *role = thread_role_name(thread.role);
    number = best_line(cls, MARKER_ROLE, program, role, strlen(role), is_main);
    if (number && cls->set.markers.items[number - 1].segment != SEGMENT_NONE)
        thread.fallback = number;
    return thread;
}

/* ---- decisions -------------------------------------------------------------------------------------------------- */

static uint32_t deciding_marker(const struct stack_state *state, uint32_t fallback)
{
    const uint32_t order[] = {state->leaf,      state->module, state->innermost,
                              state->outermost, state->query,  fallback};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (order[i])
            return order[i];
    return 0;
}

static uint32_t deciding_detail(struct classifier *cls, void *blob, uint32_t number)
{
    struct stack_state *state = blob;
    if (number) {
        const struct marker *marker = marker_at(cls, number);
        if (marker->rule == MARKER_MODULE)
            return state->module_detail;
        uint16_t by = state_details(state)[marker->phase];
        uint32_t detail = by ? marker_at(cls, by)->detail : MARKER_DETAIL_NONE;
        if (detail != MARKER_DETAIL_NONE && marker->rule != MARKER_LEAF)
            return detail;
        if (marker->detail != MARKER_DETAIL_NONE)
            return marker->detail;
        if (detail != MARKER_DETAIL_NONE)
            return detail;
    }
    return state->is_unresolved_inside ? DETAIL_UNRESOLVED : MARKER_DETAIL_NONE;
}

static int bucket_of(struct classifier *cls, uint32_t phase, uint32_t detail, uint32_t *bucket)
{
    uint64_t key = (uint64_t)phase << 32 | detail;
    bool added;
    uint64_t *slot = map_slot(&cls->buckets, key, cls->bucket_list.count, &added);
    if (!slot)
        return LAM_E_NOMEM;
    if (added && array_push(&cls->bucket_list, key) < 0) {
        map_remove(&cls->buckets, key);
        return LAM_E_NOMEM;
    }
    *bucket = (uint32_t)*slot;
    return LAM_OK;
}

int classifier_decide(struct classifier *cls, uint32_t state, uint32_t fallback, uint32_t *bucket)
{
    uint64_t key = (uint64_t)state << 16 | (fallback & 0xffff);
    uint64_t known;
    if (map_get(&cls->decisions, key, &known)) {
        *bucket = (uint32_t)known;
        return LAM_OK;
    }
    load_state(cls, state, cls->scratch_state);
    uint32_t number = deciding_marker(cls->scratch_state, fallback);
    uint32_t detail = deciding_detail(cls, cls->scratch_state, number);
    uint32_t id;
    int rc = bucket_of(cls, number ? marker_at(cls, number)->phase : 0, detail, &id);
    if (rc == LAM_OK)
        rc = map_put(&cls->decisions, key, id);
    if (rc == LAM_OK)
        *bucket = id;
    return rc;
}

const struct marker *classifier_why(const struct classifier *cls, uint32_t state, uint32_t fallback)
{
    load_state(cls, state, cls->scratch_parent);
    uint32_t number = deciding_marker(cls->scratch_parent, fallback);
    return number ? &cls->set.markers.items[number - 1] : NULL;
}

struct classifier_reason classifier_explain(struct classifier *cls, const uint32_t *frame_classes,
                                            size_t count, uint32_t fallback)
{
    struct classifier_reason reason = {0};
    struct stack_state *state = cls->scratch_state;
    memset(state, 0, cls->state_bytes);
    for (size_t i = 0; i < count; i++)
        push_frame(cls, state, frame_classes[i]);
    uint32_t number = deciding_marker(state, fallback);
    if (!number)
        return reason;
    reason.decided = marker_at(cls, number);
    uint16_t by = state_details(state)[reason.decided->phase];
    if (by && reason.decided->rule != MARKER_MODULE)
        reason.detail = marker_at(cls, by);
    memset(state, 0, cls->state_bytes);
    cls->ignored = number;
    for (size_t i = 0; i < count; i++)
        push_frame(cls, state, frame_classes[i]);
    cls->ignored = 0;
    uint32_t next = deciding_marker(state, fallback == number ? 0 : fallback);
    reason.runner_up = next ? marker_at(cls, next) : NULL;
    return reason;
}

uint32_t classifier_bucket_count(const struct classifier *cls)
{
    return (uint32_t)cls->bucket_list.count;
}

uint32_t classifier_phase_count(const struct classifier *cls)
{
    return (uint32_t)cls->set.phases.count;
}

struct phase_bucket classifier_phase(const struct classifier *cls, uint32_t phase)
{
    if (phase >= cls->set.phases.count)
        phase = 0;
    return (struct phase_bucket){.segment = (enum phase_segment)cls->set.phases.items[phase].segment,
                                 .phase = phase,
                                 .phase_name = cls->set.phases.items[phase].name};
}

struct phase_bucket classifier_bucket(const struct classifier *cls, uint32_t bucket)
{
    uint64_t key = bucket < cls->bucket_list.count ? cls->bucket_list.items[bucket] : 0;
    struct phase_bucket value = classifier_phase(cls, (uint32_t)(key >> 32));
    uint32_t detail = (uint32_t)key;
    if (detail == DETAIL_UNRESOLVED) {
        value.detail = "unresolved";
        value.detail_kind = PHASE_DETAIL_UNRESOLVED;
    } else if (detail != MARKER_DETAIL_NONE) {
        value.detail = intern_text(&cls->set.details, detail, NULL);
        value.detail_kind = PHASE_DETAIL_NAMED;
    }
    return value;
}
