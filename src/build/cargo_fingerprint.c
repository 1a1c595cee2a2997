#include "build/cargo_fingerprint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

enum {
    DEPTH_MAX = 2,            /* target/TRIPLE/PROFILE/.fingerprint */
    FILE_BYTES_MAX = 1 << 22, /* of one note */
    HASH_DIGITS = 16,
};

static int64_t mtime_ns(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
}

/* A file's bytes in the arena; *bytes is left alone when there are none. NOMEM, or LAM_OK. */
static int read_note(struct arena *arena, const char *path, const void **bytes, size_t *size)
{
    char *data = NULL;
    size_t length = 0;
    int rc = file_read_all(path, FILE_BYTES_MAX, &data, &length, NULL);
    if (rc < 0)
        return rc == LAM_E_NOMEM ? rc : LAM_OK;
    char *copy = arena_strndup(arena, data, length);
    mem_free(data);
    if (!copy)
        return LAM_E_NOMEM;
    *bytes = copy;
    *size = length;
    return LAM_OK;
}

/* "eb904b71bd2acac4": the bytes of a number, the lowest first. */
static uint64_t value_of(const char *text, size_t length)
{
    uint64_t value = 0;
    if (length != HASH_DIGITS)
        return 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr("0123456789abcdef", text[i]);
        if (!digit || !text[i])
            return 0;
        uint64_t nibble = (uint64_t)(digit - "0123456789abcdef");
        value |= nibble << (i % 2 ? i * 4 - 4 : i * 4 + 4);
    }
    return value;
}

/* ---- reading ---- */

struct scan {
    struct fingerprints *list;
    const char *place;
    const char *dir; /* of one unit's notes */
    const char *package, *hash;
};

static char *note_path(const struct scan *scan, const char *prefix, const char *name)
{
    return arena_printf(&scan->list->arena, "%s/%s%s", scan->dir, prefix, name);
}

static int add_unit(struct scan *scan, const char *name)
{
    struct arena *arena = &scan->list->arena;
    struct fingerprint item = {
        .place = scan->place, .package = scan->package, .hash = scan->hash, .json = ""};
    const void *value = NULL, *json = NULL, *inputs = NULL;
    size_t value_bytes = 0;
    item.unit = arena_strndup(arena, name, strlen(name) - strlen(".json"));
    const char *json_path = note_path(scan, "", name);
    const char *value_path = item.unit ? note_path(scan, "", item.unit) : NULL;
    const char *inputs_path = item.unit ? note_path(scan, "dep-", item.unit) : NULL;
    const char *invoked_path = note_path(scan, "", "invoked.timestamp");
    if (!json_path || !value_path || !inputs_path || !invoked_path)
        return LAM_E_NOMEM;
    if (read_note(arena, json_path, &json, &item.json_bytes) < 0 ||
        read_note(arena, value_path, &value, &value_bytes) < 0 ||
        read_note(arena, inputs_path, &inputs, &item.input_bytes) < 0)
        return LAM_E_NOMEM;
    item.json = json ? json : "";
    item.inputs = inputs;
    item.value = value ? value_of(value, value_bytes) : 0;
    item.inputs_ns = inputs ? mtime_ns(inputs_path) : 0;
    item.built_ns = mtime_ns(invoked_path);
    if (!item.built_ns) /* the run of a build script has no such note */
        item.built_ns = mtime_ns(value_path);
    return array_push(&scan->list->items, item);
}

/* NAME-0123456789abcdef */
static int read_unit_dir(struct fingerprints *list, const char *place, const char *parent,
                         const char *name)
{
    size_t length = strlen(name);
    if (length <= HASH_DIGITS + 1 || name[length - HASH_DIGITS - 1] != '-')
        return LAM_OK;
    struct scan scan = {list, place, arena_printf(&list->arena, "%s/%s", parent, name),
                        arena_strndup(&list->arena, name, length - HASH_DIGITS - 1),
                        arena_strdup(&list->arena, name + length - HASH_DIGITS)};
    struct dir_entries entries = {0};
    if (!scan.dir || !scan.package || !scan.hash)
        return LAM_E_NOMEM;
    int rc = dir_list(scan.dir, &entries, NULL);
    size_t count = list->items.count;
    for (size_t i = 0; rc >= 0 && i < entries.count; i++)
        if (text_ends_with(entries.items[i].name, ".json"))
            rc = add_unit(&scan, entries.items[i].name);
    /* Begun once, and never finished. */
    if (rc >= 0 && entries.count > 0 && list->items.count == count)
        rc = add_unit(&scan, ".json");
    dir_entries_free(&entries);
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

static int read_notes(struct fingerprints *list, const char *place, const char *dir)
{
    struct dir_entries entries = {0};
    const char *kept = arena_strdup(&list->arena, place);
    int rc = kept ? dir_list(dir, &entries, NULL) : LAM_E_NOMEM;
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        if (list->items.count >= FINGERPRINTS_MAX) {
            list->is_cut = true;
            break;
        }
        rc = read_unit_dir(list, kept, dir, entries.items[i].name);
    }
    dir_entries_free(&entries);
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

/* What lies beside the notes is large, and none of it is looked at. */
static bool is_no_place(const char *name)
{
    static const char *const names[] = {"deps", "build",   "incremental",   "examples",
                                        "doc",  "package", "cargo-timings", "tmp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int read_below(struct fingerprints *list, const char *dir, const char *place, int depth)
{
    struct dir_entries entries = {0};
    int rc = dir_list(dir, &entries, NULL);
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        const char *name = entries.items[i].name;
        if (entries.items[i].kind != DIR_KIND_DIR || is_no_place(name))
            continue;
        char *path = path_join(dir, name), *below = path_join(place, name);
        if (!path || !below)
            rc = LAM_E_NOMEM;
        else if (strcmp(name, ".fingerprint") == 0)
            rc = read_notes(list, place, path);
        else if (depth < DEPTH_MAX)
            rc = read_below(list, path, below, depth + 1);
        mem_free(path);
        mem_free(below);
    }
    dir_entries_free(&entries);
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

static int compare_items(const void *a, const void *b)
{
    const struct fingerprint *left = a, *right = b;
    int by = strcmp(left->place, right->place);
    by = by ? by : strcmp(left->package, right->package);
    by = by ? by : strcmp(left->hash, right->hash);
    return by ? by : strcmp(left->unit, right->unit);
}

int fingerprints_read(struct fingerprints *list, const char *target_dir)
{
    *list = (struct fingerprints){0};
    int rc = read_below(list, target_dir, "", 0);
    array_sort(&list->items, compare_items);
    if (rc < 0)
        fingerprints_free(list);
    return rc;
}

void fingerprints_free(struct fingerprints *list)
{
    array_free(&list->items);
    arena_free(&list->arena);
    *list = (struct fingerprints){0};
}

/* ---- the list of source files ---- */

/* u32 1, u8 0xff (what older versions take for an unknown kind of path), u8 version; u32 files; each u8 kind, u32 length, path,
 * u8 whether a checksum follows. Then variables of the environment. Older: u32 files; each u8 kind, u32 length, path. */
struct fingerprint_inputs fingerprint_inputs(const struct fingerprint *item)
{
    enum { NEW_MARK = 0xff, VERSION = 1 };
    struct fingerprint_inputs inputs = {.cur = cursor_over(item->inputs, item->input_bytes)};
    inputs.left = cursor_u32(&inputs.cur);
    if (inputs.left == 1 && cursor_left(&inputs.cur) > 1 && *inputs.cur.at == NEW_MARK) {
        cursor_skip(&inputs.cur, 1);
        inputs.is_new = true;
        if (cursor_u8(&inputs.cur) != VERSION)
            cursor_fail(&inputs.cur);
        inputs.left = cursor_u32(&inputs.cur);
    }
    return inputs;
}

bool fingerprint_next_input(struct fingerprint_inputs *inputs, struct fingerprint_input *input)
{
    struct cursor *cur = &inputs->cur;
    if (inputs->left == 0)
        return false;
    inputs->left--;
    uint8_t kind = cursor_u8(cur);
    uint32_t length = cursor_u32(cur);
    const uint8_t *path = cursor_bytes(cur, length);
    uint8_t has_checksum = inputs->is_new ? cursor_u8(cur) : 0;
    if (!path || cursor_failed(cur) || has_checksum || kind > 1) {
        inputs->left = 0;
        return false;
    }
    *input = (struct fingerprint_input){(const char *)path, length, kind == 0};
    return true;
}
