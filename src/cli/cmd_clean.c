/* lamella clean: lists recordings, finishes those whose launcher died, removes what is named. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "base/units.h"
#include "build/cargo_log.h"
#include "build/cargo_messages.h"
#include "build/cargo_notes.h"
#include "build/cargo_timings.h"
#include "build/header_costs.h"
#include "build/ninja_log.h"
#include "build/unit_artifacts.h"
#include "cli/launcher_talk.h"
#include "cli/record_summary.h"
#include "session/collect.h"
#include "session/profile_request.h"
#include "session/recover.h"
#include "session/scratch.h"

enum { SEARCH_DEPTH = 4 }; /* directories below the one that is named */

struct found {
    char *path;
    struct session_stub stub;
    enum session_state state;
    uint64_t bytes;
};
struct found_list LAM_ARRAY_BODY(struct found);

static uint64_t tree_bytes(const char *dir, int depth)
{
    struct dir_entries entries = {0};
    uint64_t bytes = 0;
    if (dir_list(dir, &entries, NULL) < 0)
        return 0;
    array_each(&entries, entry)
    {
        struct stat st;
        char *path = path_join(dir, entry->name);
        if (path && entry->kind == DIR_KIND_DIR && depth > 0)
            bytes += tree_bytes(path, depth - 1);
        else if (path && lstat(path, &st) == 0)
            bytes += (uint64_t)st.st_size;
        mem_free(path);
    }
    dir_entries_free(&entries);
    return bytes;
}

/* Adds `path` when it is a recording; 1 when it was, 0 when not. */
static int add_recording(struct found_list *list, const char *path)
{
    struct found found = {0};
    if (session_stub_read(path, &found.stub, NULL) < 0)
        return 0;
    found.path = mem_strdup(path);
    found.state = session_state_of(path, &found.stub);
    found.bytes = tree_bytes(path, 2);
    if (found.state != SESSION_FINISHED && scratch_has_form(found.stub.scratch))
        found.bytes += collect_disk_bytes(found.stub.scratch);
    if (!found.path || array_push(list, found) < 0) {
        mem_free(found.path);
        session_stub_free(&found.stub);
        return LAM_E_NOMEM;
    }
    return 1;
}

static int search(struct found_list *list, const char *dir, int depth)
{
    struct dir_entries entries = {0};
    int rc = add_recording(list, dir);
    if (rc != 0 || depth == 0 || dir_list(dir, &entries, NULL) < 0)
        return rc < 0 ? rc : LAM_OK;
    for (size_t i = 0; rc >= 0 && i < entries.count; i++) {
        if (entries.items[i].kind != DIR_KIND_DIR)
            continue;
        char *path = strcmp(dir, ".") == 0 ? mem_strdup(entries.items[i].name)
                                           : path_join(dir, entries.items[i].name);
        rc = path ? search(list, path, depth - 1) : LAM_E_NOMEM;
        mem_free(path);
    }
    dir_entries_free(&entries);
    return rc;
}

static void found_free(struct found_list *list)
{
    array_each(list, it)
    {
        mem_free(it->path);
        session_stub_free(&it->stub);
    }
    array_free(list);
}

/* ---- listing ---- */

static struct unit_text age_of(int64_t unix_ns)
{
    double seconds = (double)time(NULL) - (double)unix_ns * 1e-9;
    struct unit_text text = {"-"};
    if (unix_ns <= 0 || seconds < 0)
        return text;
    if (seconds < 2 * 86400)
        return unit_seconds(seconds);
    snprintf(text.text, sizeof text.text, "%.0f days", seconds / 86400);
    return text;
}

static const char *state_text(const struct found *found)
{
    return found->state == SESSION_FINISHED && found->stub.recovered
               ? "recovered"
               : session_state_name(found->state);
}

static void list_found(struct table *table, const struct found_list *list)
{
    array_each(list, it)
    {
        table_cell(table, it->path);
        table_cell(table, state_text(it));
        table_cell(table, age_of(it->stub.started_at_unix_ns).text);
        table_cell(table, unit_bytes((double)it->bytes).text);
        table_cell(table, it->stub.command);
    }
}

static bool belongs_to_found(const struct found_list *list, const char *scratch)
{
    array_each(list, it)
    {
        if (it->stub.scratch && strcmp(it->stub.scratch, scratch) == 0)
            return true;
    }
    return false;
}

static size_t list_orphans(struct table *table, const struct found_list *list,
                           const struct orphan_list *orphans)
{
    size_t count = 0;
    array_each(orphans, it)
    {
        if (belongs_to_found(list, it->path))
            continue;
        count++;
        table_cell(table, it->path);
        table_cell(table, "unfinished");
        table_cell(table, age_of(it->started_at_unix_ns).text);
        table_cell(table, unit_bytes((double)it->bytes).text);
        table_cell(table, it->command);
    }
    return count;
}

static int list_all(const struct found_list *list, const struct orphan_list *orphans)
{
    struct table table = {0};
    struct term term = term_of(stdout);
    struct strbuf text = {0};
    table_column(&table, "recording", TABLE_LEFT, 60);
    table_column(&table, "state", TABLE_LEFT, 0);
    table_column(&table, "age", TABLE_RIGHT, 0);
    table_column(&table, "size", TABLE_RIGHT, 0);
    table_column(&table, "command", TABLE_LEFT, 60);
    list_found(&table, list);
    size_t rows = list->count + list_orphans(&table, list, orphans);
    int rc = rows ? table_print(&table, &term, &text) : LAM_OK;
    fputs(strbuf_text(&text), stdout);
    if (!rows)
        launcher_say("no recordings here");
    table_free(&table);
    strbuf_free(&text);
    return rc < 0 ? 1 : 0;
}

/* ---- recovering ---- */

static int recover_one(const char *path, bool force)
{
    struct lam_error error = LAM_ERROR_INIT;
    char *directory = NULL;
    int rc = scratch_has_form(path)
                 ? session_recover_scratch(path, force, record_write_symbols, &directory, &error)
                 : session_recover(path, force, record_write_symbols, &error);
    if (rc < 0)
        launcher_say("%s", error.msg);
    else if (rc == SESSION_RECOVERED)
        launcher_say("%s: recovered", directory ? directory : path);
    mem_free(directory);
    return rc < 0 ? 1 : 0;
}

static int recover_all(const struct found_list *list, const struct orphan_list *orphans, bool force)
{
    int code = 0;
    array_each(list, it)
    {
        if (it->state != SESSION_FINISHED)
            code |= recover_one(it->path, force);
    }
    array_each(orphans, it)
    {
        if (!belongs_to_found(list, it->path))
            code |= recover_one(it->path, force);
    }
    return code;
}

/* ---- removing ---- */

/* What a recording consists of. A library can make one in a directory that holds other things, which are not ours. */
static bool is_part_of_recording(const char *name)
{
    static const char *const globs[] = {
        "session.json",     "session.json.*", "control",        SCRATCH_INSIDE,      "*.lam",
        "*.lam.*",          "symbols*",       "timings*",       PROFILE_REQUEST_DIR, ARTIFACTS_NAME,
        HEADERS_NAME,       CARGO_LOG_NAME,   CARGO_NOTES_NAME, CARGO_TIMINGS_NAME,  NINJA_LOG_NAME,
        CARGO_MESSAGES_NAME};
    for (size_t i = 0; i < sizeof globs / sizeof *globs; i++)
        if (glob_match_str(globs[i], name))
            return true;
    return false;
}

static int check_removable(const struct found *found, bool force, struct lam_error *err)
{
    struct dir_entries entries = {0};
    if (found->state == SESSION_RECORDING)
        return lam_error_set(err, LAM_E_BUSY, "%s: is being recorded by process %u", found->path,
                             found->stub.launcher_pid);
    int rc = force ? LAM_OK : dir_list(found->path, &entries, err);
    for (size_t i = 0; rc >= 0 && i < entries.count; i++)
        if (!is_part_of_recording(entries.items[i].name))
            rc = lam_error_set(
                err, LAM_E_PERM,
                "%s: holds %s, which is no part of a recording; --force removes it too",
                found->path, entries.items[i].name);
    dir_entries_free(&entries);
    return rc;
}

static int remove_one(const struct found *found, bool force)
{
    struct lam_error error = LAM_ERROR_INIT;
    int rc = check_removable(found, force, &error);
    if (rc >= 0 && found->state == SESSION_ORPHANED && scratch_has_form(found->stub.scratch))
        rc = scratch_remove(found->stub.scratch, &error);
    if (rc >= 0)
        rc = dir_remove_all(found->path, &error);
    launcher_say(rc < 0 ? "%s" : "%s: removed", rc < 0 ? error.msg : found->path);
    return rc < 0 ? 1 : 0;
}

static int remove_scratch(const char *path)
{
    struct lam_error error = LAM_ERROR_INIT;
    struct session_stub stub;
    int rc = session_stub_read(path, &stub, NULL);
    bool runs = rc >= 0 && session_launcher_runs(&stub);
    if (rc >= 0)
        session_stub_free(&stub);
    rc = runs ? lam_error_set(&error, LAM_E_BUSY, "%s: is being recorded", path)
              : scratch_remove(path, &error);
    launcher_say(rc < 0 ? "%s" : "%s: removed", rc < 0 ? error.msg : path);
    return rc < 0 ? 1 : 0;
}

/* ---- */

static int clean_path(const char *path, bool recover, bool remove, bool force, struct found_list *all)
{
    struct orphan_list none = {0};
    struct found_list list = {0};
    int code = 0;
    if (remove && scratch_has_form(path))
        return remove_scratch(path);
    if (recover && scratch_has_form(path))
        return recover_one(path, force);
    if (!path_exists(path)) {
        launcher_say("%s: there is nothing of that name", path);
        return 1;
    }
    if (search(recover || remove ? &list : all, path, SEARCH_DEPTH) < 0) {
        launcher_say("out of memory");
        code = 1;
    } else if ((recover || remove) && !list.count) {
        launcher_say("%s: no recording there", path);
        code = 1;
    } else if (recover) {
        code = recover_all(&list, &none, force);
    } else if (remove) {
        array_each(&list, it)
        {
            code |= remove_one(it, force);
        }
    }
    found_free(&list);
    return code;
}

static int clean(const struct option_operands *paths, bool recover, bool remove, bool force)
{
    static const char *const here[] = {".", NULL};
    const char *const *items = paths->count ? paths->items : here;
    struct found_list list = {0};
    struct orphan_list orphans = {0};
    int code = 0;
    if (!paths->count && orphans_find(&orphans) < 0) {
        launcher_say("out of memory");
        return 1;
    }
    if (recover && !paths->count) {
        code = search(&list, ".", SEARCH_DEPTH) < 0 ? 1 : recover_all(&list, &orphans, force);
    } else {
        for (; *items; items++)
            code |= clean_path(*items, recover, remove, force, &list);
        if (!recover && !remove)
            code |= list_all(&list, &orphans);
    }
    orphans_free(&orphans);
    found_free(&list);
    return code;
}

int cmd_clean(int argc, char **argv)
{
    bool recover = false, remove = false, force = false;
    struct option_operands paths = {0};
    const struct option_row rows[] = {
        {.long_name = "recover",
         .help = "finish recordings whose launcher died, or that could not be brought over",
         .kind = OPTION_FLAG,
         .target = &recover},
        {.long_name = "remove",
         .help = "remove the recordings at and below each PATH",
         .kind = OPTION_FLAG,
         .target = &remove},
        {.long_name = "force",
         .short_name = 'f',
         .help = "recover though processes still run; remove though other files lie there",
         .kind = OPTION_FLAG,
         .target = &force},
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella clean",
        .operands = "[PATH...]",
        .about = "Lists the recordings at and below each PATH (the current directory when none is "
                 "given) and what launchers that "
                 "died have left in memory-backed storage.",
        .example = "lamella clean\nlamella clean --recover\nlamella clean --remove old.lamella",
        .rows = rows,
        .max_operands = SIZE_MAX,
    };
    struct lam_error error = LAM_ERROR_INIT;
    int rc = options_parse(&spec, argc, argv, &paths, &error);
    if (rc == LAM_OK && recover && remove)
        rc = lam_error_set(&error, LAM_E_USAGE, "--recover and --remove exclude each other");
    if (rc == LAM_OK && remove && !paths.count)
        rc = lam_error_set(&error, LAM_E_USAGE, "--remove needs the PATH of what to remove");
    int code = rc == LAM_OK ? clean(&paths, recover, remove, force)
                            : launcher_usage_end(&spec, rc, &error, 2);
    option_operands_free(&paths);
    return code;
}
