#include "cli/record_cargo.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "build/cargo_log.h"
#include "build/cargo_notes.h"
#include "build/cargo_timings.h"
#include "session/program_answer.h"

enum {
    ANSWER_BYTES_MAX = 64 << 20,
    PAGE_BYTES_MAX = 256 << 20,
    TIMINGS_SINCE = 60,    /* cargo 1.60: --timings without -Z */
    EARLY_NS = 1100000000, /* old pages say whole seconds, rounded down */
};

static char timings_argument[] = "--timings";

/* ---- before ---- */

/* Words of another cargo command, asked in the same place as the recorded one. NULL-ended; borrowed. */
struct words LAM_ARRAY_BODY(const char *);

static int begin_words(struct words *words, const struct record_cargo *cargo, const char *program)
{
    int rc = array_push(words, program);
    if (rc == LAM_OK && cargo->command.toolchain)
        rc = array_push(words, cargo->command.toolchain);
    array_each(&cargo->command.place, arg) if (rc == LAM_OK) rc = array_push(words, *arg);
    return rc;
}

static char *ask_cargo(const struct record_cargo *cargo, const char *program,
                       const char *const *question, size_t *length)
{
    struct words words = {0};
    int rc = begin_words(&words, cargo, program);
    for (; *question && rc == LAM_OK; question++)
        rc = array_push(&words, *question);
    if (rc == LAM_OK && cargo->command.manifest_path &&
        strcmp(words.items[words.count - 1], "-V") != 0) {
        rc = array_push(&words, "--manifest-path");
        if (rc == LAM_OK)
            rc = array_push(&words, cargo->command.manifest_path);
    }
    if (rc == LAM_OK)
        rc = array_push(&words, NULL);
    char *answer = rc == LAM_OK ? program_answer(words.items, ANSWER_BYTES_MAX, length) : NULL;
    array_free(&words);
    return answer;
}

/* "cargo 1.95.0 (…)": whether it has --timings. */
static bool knows_timings(const struct record_cargo *cargo, const char *program)
{
    static const char *const question[] = {"-V", NULL};
    size_t length = 0;
    char *answer = ask_cargo(cargo, program, question, &length);
    char *at = answer && text_starts_with(answer, "cargo ") ? answer + strlen("cargo ") : NULL;
    unsigned long major = at ? strtoul(at, &at, 10) : 0;
    unsigned long minor = at && *at == '.' ? strtoul(at + 1, NULL, 10) : 0;
    bool knows = major > 1 || (major == 1 && minor >= TIMINGS_SINCE);
    mem_free(answer);
    return knows;
}

static bool read_metadata(struct record_cargo *cargo, const char *program)
{
    static const char *const question[] = {"metadata",         "--no-deps", "--offline",
                                           "--format-version", "1",         NULL};
    size_t length = 0;
    char *answer = ask_cargo(cargo, program, question, &length);
    bool ok = answer && cargo_metadata_parse(&cargo->metadata, answer, length, NULL) == LAM_OK;
    mem_free(answer);
    return ok;
}

static void find_directories(struct record_cargo *cargo)
{
    const struct cargo_metadata *metadata = &cargo->metadata;
    const char *target = cargo->command.target_dir ? cargo->command.target_dir : metadata->target_dir;
    /* Without a directory of its own the build's is the target's. */
    bool is_apart = metadata->build_dir && metadata->target_dir &&
                    strcmp(metadata->build_dir, metadata->target_dir) != 0;
    const char *build = is_apart ? metadata->build_dir : target;
    cargo->target_dir = target ? mem_strdup(target) : NULL;
    cargo->build_dir = build ? mem_strdup(build) : NULL;
}

/* The argument goes right behind cargo's command: what follows may be a program's. */
static void add_argument(struct record_cargo *cargo, struct record_settings *settings)
{
    char *const *given = settings->command;
    size_t count = 0, used = 0;
    while (given[count])
        count++;
    cargo->argv = mem_zalloc(count + 2, sizeof *cargo->argv);
    if (!cargo->argv)
        return;
    for (size_t i = 0; i < count; i++) {
        cargo->argv[used++] = given[i];
        if (i == cargo->command.subcommand)
            cargo->argv[used++] = timings_argument;
    }
    settings->shown_command = given;
    settings->command = cargo->argv;
    settings->added_argument = timings_argument;
}

/* ---- after ---- */

static int copy_file(const char *from, const char *recording, const char *name, struct lam_error *err)
{
    char *text = NULL, *to = path_join(recording, name);
    size_t length = 0;
    int rc = to ? file_read_all(from, PAGE_BYTES_MAX, &text, &length, err)
                : lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", name);
    if (rc >= 0) {
        rc = file_write_all(to, text, length, err);
        mem_free(text);
    }
    mem_free(to);
    return rc;
}

static int64_t mtime_ns(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
}

/* Files are written during their build: by others before and after it. A file's clock is not ahead of the machine's. */
static bool is_written_within(const char *path, const struct record_window *window)
{
    int64_t written_ns = mtime_ns(path);
    return written_ns >= window->start_unix_ns && written_ns <= window->end_unix_ns;
}

static bool is_begun_within(const struct cargo_record *record, const struct record_window *window)
{
    return record->has_started_at && record->started_at_unix_ns > window->start_unix_ns - EARLY_NS &&
           record->started_at_unix_ns < window->end_unix_ns;
}

/* Whether a page of timings, or a session log, is of this build, and when that began. */
typedef bool (*is_ours_fn)(const struct record_cargo *cargo, const char *path,
                           const struct record_window *window, int64_t *start_ns);

static bool is_our_page(const struct record_cargo *cargo, const char *path,
                        const struct record_window *window, int64_t *start_ns)
{
    struct cargo_record record;
    (void)cargo; /* it lies in the build's own directory */
    if (cargo_timings_load(&record, path, NULL) < 0)
        return false;
    bool is_ours = is_begun_within(&record, window);
    *start_ns = record.started_at_unix_ns;
    cargo_record_free(&record);
    return is_ours;
}

static bool is_our_log(const struct record_cargo *cargo, const char *path,
                       const struct record_window *window, int64_t *start_ns)
{
    struct cargo_runs runs;
    bool is_ours = false;
    if (cargo_log_load(&runs, path, NULL) < 0)
        return false;
    array_each(&runs, run)
    {
        if (run->target_dir && cargo->target_dir &&
            strcmp(run->target_dir, cargo->target_dir) == 0 && is_begun_within(run, window)) {
            is_ours = true;
            *start_ns = run->started_at_unix_ns;
        }
    }
    cargo_runs_free(&runs);
    return is_ours;
}

/* How far a file is from being this build's, of those that lie within its time; another build may have been started beside it. A
 * command that only builds writes its file and ends. Where programs are run afterwards (tests), another one began later. */
static int64_t away_ns(const struct record_cargo *cargo, const char *path,
                       const struct record_window *window, int64_t start_ns)
{
    if (cargo->command.runs_programs)
        return start_ns - window->start_unix_ns;
    return llabs(window->end_unix_ns - mtime_ns(path));
}

/* The file that this build wrote, for mem_free(); NULL. */
static char *find_file(const struct record_cargo *cargo, const char *dir, const char *end,
                       const struct record_window *window, is_ours_fn is_ours)
{
    struct dir_entries entries = {0};
    char *best = NULL;
    int64_t best_ns = INT64_MAX;
    if (dir_list(dir, &entries, NULL) < 0)
        return NULL;
    array_each(&entries, entry)
    {
        int64_t start_ns = 0;
        char *path = entry->kind != DIR_KIND_DIR && text_ends_with(entry->name, end)
                         ? path_join(dir, entry->name)
                         : NULL;
        if (path && is_written_within(path, window) && is_ours(cargo, path, window, &start_ns) &&
            away_ns(cargo, path, window, start_ns) < best_ns) {
            mem_free(best);
            best = path;
            best_ns = away_ns(cargo, path, window, start_ns);
            path = NULL;
        }
        mem_free(path);
    }
    dir_entries_free(&entries);
    return best;
}

/* Copies what was found, and takes its name over; NULL: there is nothing. */
static int attach_file(char *from, const char *kind, const char *name, const char *recording,
                       struct session_attachments *attachments, struct lam_error *err)
{
    struct session_attachment attachment = {kind, name, from};
    if (!from)
        return LAM_OK;
    int rc = copy_file(from, recording, name, err);
    if (rc >= 0)
        rc = array_push(attachments, attachment);
    if (rc < 0)
        mem_free(from);
    return rc;
}

static int attach_page(const struct record_cargo *cargo, const char *recording,
                       const struct record_window *window, struct session_attachments *attachments,
                       struct lam_error *err)
{
    char *dir = cargo->target_dir ? path_join(cargo->target_dir, "cargo-timings") : NULL;
    char *page = dir ? find_file(cargo, dir, ".html", window, is_our_page) : NULL;
    mem_free(dir);
    return attach_file(page, "cargo_timings", CARGO_TIMINGS_NAME, recording, attachments, err);
}

/* $CARGO_HOME/log */
static char *log_dir(void)
{
    const char *home = getenv("CARGO_HOME"), *user = getenv("HOME");
    struct strbuf text = {0};
    if (home && *home)
        strbuf_addf(&text, "%s/log", home);
    else
        strbuf_addf(&text, "%s/.cargo/log", user ? user : "");
    return strbuf_take(&text, NULL);
}

static int attach_log(const struct record_cargo *cargo, const char *recording,
                      const struct record_window *window, struct session_attachments *attachments,
                      struct lam_error *err)
{
    char *dir = log_dir();
    char *log = dir ? find_file(cargo, dir, ".jsonl", window, is_our_log) : NULL;
    mem_free(dir);
    return attach_file(log, "cargo_log", CARGO_LOG_NAME, recording, attachments, err);
}

static int write_notes(const struct cargo_notes *notes, const char *recording,
                       struct session_attachments *attachments, struct lam_error *err)
{
    struct strbuf text = {0};
    char *path = path_join(recording, CARGO_NOTES_NAME);
    struct session_attachment attachment = {"cargo_notes", CARGO_NOTES_NAME, NULL};
    int rc = path ? cargo_notes_write(notes, &text, err)
                  : lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", CARGO_NOTES_NAME);
    if (rc >= 0)
        rc = file_write_all(path, strbuf_text(&text), text.length, err);
    if (rc >= 0)
        rc = array_push(attachments, attachment);
    strbuf_free(&text);
    mem_free(path);
    return rc;
}

static int attach_notes(const struct record_cargo *cargo, const char *recording,
                        struct session_attachments *attachments, struct lam_error *err)
{
    struct fingerprints after = {0};
    struct build_causes causes = {0};
    struct cargo_notes notes = {.known_before = UINT64_MAX,
                                .target_dir = cargo->target_dir,
                                .workspace_root = cargo->metadata.workspace_root};
    int rc = LAM_OK;
    if (cargo->has_before && !cargo->before.is_cut) {
        rc = fingerprints_read(&after, cargo->build_dir);
        if (rc == LAM_OK)
            rc = build_causes_find(&causes, &cargo->before, &after, &cargo->metadata.packages);
        notes.known_before = cargo->before.items.count;
    }
    array_each(&causes.items, cause)
    {
        struct cargo_cause kept = {cause->place,  cause->package, cause->hash,      cause->unit,
                                   cause->status, cause->reason,  cause->dependency};
        if (rc == LAM_OK)
            rc = array_push(&notes.causes, kept);
    }
    if (rc < 0)
        lam_error_set(err, rc, "%s: out of memory", CARGO_NOTES_NAME);
    else
        rc = write_notes(&notes, recording, attachments, err);
    cargo_notes_free(&notes);
    build_causes_free(&causes);
    fingerprints_free(&after);
    return rc;
}

int record_cargo_attach(const struct record_cargo *cargo, const char *recording,
                        const struct record_window *window, struct session_attachments *attachments,
                        struct lam_error *err)
{
    if (!cargo->is_asked)
        return LAM_OK;
    int rc = attach_page(cargo, recording, window, attachments, err);
    int log_rc = attach_log(cargo, recording, window, attachments, rc < 0 ? NULL : err);
    rc = rc < 0 ? rc : log_rc;
    int notes_rc = attach_notes(cargo, recording, attachments, rc < 0 ? NULL : err);
    return rc < 0 ? rc : notes_rc;
}

/* ---- */

void record_cargo_begin(struct record_cargo *cargo, struct record_settings *settings,
                        bool adds_argument)
{
    const char *program = settings->command[0];
    if (!cargo_command_parse(settings->command, &cargo->command) || !cargo->command.takes_timings ||
        !read_metadata(cargo, program))
        return; /* no workspace here, or a toolchain that is not installed: cargo will say so itself */
    find_directories(cargo);
    if (cargo->build_dir)
        cargo->has_before = fingerprints_read(&cargo->before, cargo->build_dir) == LAM_OK;
    if (adds_argument && !cargo->command.has_timings && knows_timings(cargo, program))
        add_argument(cargo, settings);
    cargo->is_asked = true;
}

void record_cargo_free(struct record_cargo *cargo)
{
    cargo_command_free(&cargo->command);
    cargo_metadata_free(&cargo->metadata);
    fingerprints_free(&cargo->before);
    mem_free(cargo->target_dir);
    mem_free(cargo->build_dir);
    mem_free(cargo->argv);
    *cargo = (struct record_cargo){0};
}
