#include "cli/record_artifacts.h"

#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "build/ninja_log.h"

enum {
    COARSE_NS = 20000000, /* files are stamped by a clock that is up to a kernel's tick behind */
    TRACE_BYTES_MAX = 512 << 20,
};

static char *copy_text(struct arena *arena, struct profile_text text)
{
    return arena_strndup(arena, text.bytes ? text.bytes : "", text.bytes ? text.size : 0);
}

/* 1 and *unit, 0, LAM_E_NOMEM. Texts are in scratch. */
static int unit_of(const struct profile_process *process, struct arena *scratch, struct unit *unit,
                   const char **cwd)
{
    const char **argv = arena_array(scratch, process->argc + 1, sizeof *argv);
    const char *exe = process->exe.size > 0 ? copy_text(scratch, process->exe) : NULL;
    *cwd = process->cwd.size > 0 ? copy_text(scratch, process->cwd) : NULL;
    if (!argv)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < process->argc; i++)
        if (!(argv[i] = copy_text(scratch, process->argv[i])))
            return LAM_E_NOMEM;
    const struct unit_command command = {
        .exe = exe, .cwd = *cwd, .argv = argv, .argc = process->argc, .read_files = true};
    return unit_from_command(&command, scratch, unit);
}

/* Where clang writes its trace: named, or beside the output. In scratch; NULL: it was not asked for. */
static char *trace_path(const struct profile_process *process, const struct unit *unit,
                        const char *cwd, struct arena *scratch)
{
    static const char flag[] = "-ftime-trace";
    const char *named = NULL;
    bool is_asked = false;
    for (size_t i = 0; i < process->argc; i++) {
        const char *arg = copy_text(scratch, process->argv[i]);
        if (!arg || !text_starts_with(arg, flag))
            continue;
        is_asked |= arg[sizeof flag - 1] == '\0' || arg[sizeof flag - 1] == '=';
        named = arg[sizeof flag - 1] == '=' ? arg + sizeof flag : named;
    }
    const char *base = named ? named : unit->output;
    if (!is_asked || !base)
        return NULL;
    const char *dot = strrchr(path_name(base), '.');
    size_t length = named ? strlen(named) : dot ? (size_t)(dot - base) : strlen(base);
    return arena_printf(scratch, "%s%s%.*s%s", base[0] != '/' && cwd ? cwd : "",
                        base[0] != '/' && cwd ? "/" : "", (int)length, base, named ? "" : ".json");
}

/* A trace that cannot be read is one less. */
static int add_trace(struct record_artifacts *artifacts, const char *path, int64_t since_ns)
{
    struct stat st;
    char *text = NULL;
    size_t size = 0;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
        (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec < since_ns)
        return LAM_OK;
    int rc = file_read_all(path, TRACE_BYTES_MAX, &text, &size, NULL);
    if (rc >= 0) {
        rc = header_costs_add(&artifacts->headers, text, size, path, NULL);
        mem_free(text);
    }
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

/* The directory that a ninja works in, and keeps its log in, by its cwd and -C. */
static int note_ninja(struct record_artifacts *artifacts, const struct profile_process *process,
                      int64_t since_ns, struct arena *scratch)
{
    const char *exe = copy_text(scratch, process->exe), *cwd = copy_text(scratch, process->cwd);
    const char *dir = "";
    if (!exe || !cwd)
        return LAM_E_NOMEM;
    bool is_ninja = strcmp(path_name(exe), "ninja") == 0 || strcmp(path_name(exe), "samu") == 0;
    if (!is_ninja || artifacts->ninja_dir || process->forked)
        return LAM_OK;
    for (size_t i = 1; i < process->argc; i++) {
        const char *arg = copy_text(scratch, process->argv[i]);
        if (!arg)
            return LAM_E_NOMEM;
        if (strcmp(arg, "-C") == 0 && i + 1 < process->argc)
            dir = copy_text(scratch, process->argv[i + 1]);
        else if (text_starts_with(arg, "-C"))
            dir = arg + 2;
    }
    artifacts->ninja_dir = dir ? path_join(cwd, dir) : NULL;
    artifacts->ninja_since_ns = since_ns;
    return artifacts->ninja_dir ? LAM_OK : LAM_E_NOMEM;
}

int record_artifacts_add(struct record_artifacts *artifacts, const struct profile_process *process,
                         int64_t started_at_unix_ns)
{
    struct artifact_list *list = &artifacts->files;
    struct arena scratch = {0};
    struct unit unit = {0};
    struct unit_artifacts files = {NULL, 0};
    const char *cwd = NULL;
    int64_t since_ns = started_at_unix_ns + process->start_ns - COARSE_NS;
    int rc = process->forked ? 0 : unit_of(process, &scratch, &unit, &cwd);
    bool is_unit = rc > 0;
    if (rc == 0)
        rc = note_ninja(artifacts, process, since_ns, &scratch);
    if (is_unit)
        rc = unit_artifacts_find(&unit, cwd, since_ns, &list->arena, &files);
    for (size_t i = 0; i < files.count && rc >= 0; i++) {
        struct artifact_row row = {process->pid, process->start_ns, files.items[i]};
        rc = array_push(&list->rows, row);
    }
    if (rc >= 0 && is_unit && unit.kind == UNIT_COMPILE && !unit.is_cache) {
        const char *trace = trace_path(process, &unit, cwd, &scratch);
        rc = trace ? add_trace(artifacts, trace, since_ns) : LAM_OK;
    }
    arena_free(&scratch);
    return rc < 0 ? rc : LAM_OK;
}

static int attach_text(const char *recording, const char *kind, const char *name,
                       const struct strbuf *text, struct session_attachments *attachments,
                       struct lam_error *err)
{
    char *path = path_join(recording, name);
    struct session_attachment attachment = {kind, name, NULL};
    int rc = path ? file_write_all(path, strbuf_text(text), text->length, err)
                  : lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", name);
    if (rc >= 0)
        rc = array_push(attachments, attachment);
    mem_free(path);
    return rc;
}

/* A log that is not there, or of a version that is not known, is not kept. */
static int attach_ninja(const struct record_artifacts *artifacts, const char *recording,
                        struct session_attachments *attachments, struct lam_error *err)
{
    struct ninja_log log;
    struct strbuf text = {0};
    char *path = path_join(artifacts->ninja_dir, ".ninja_log"), *read = NULL;
    size_t size = 0;
    int rc = LAM_OK;
    if (path && file_read_all(path, TRACE_BYTES_MAX, &read, &size, NULL) >= 0 &&
        ninja_log_parse(&log, read, size, path, NULL) == LAM_OK) {
        rc = ninja_log_write(&log, artifacts->ninja_since_ns, &text);
        if (rc >= 0)
            rc = attach_text(recording, "ninja_log", NINJA_LOG_NAME, &text, attachments, err);
        ninja_log_free(&log);
    }
    strbuf_free(&text);
    mem_free(read);
    mem_free(path);
    return rc;
}

int record_artifacts_attach(struct record_artifacts *artifacts, const char *recording,
                            struct session_attachments *attachments, struct lam_error *err)
{
    struct strbuf text = {0};
    int rc = LAM_OK;
    if (artifacts->files.rows.count > 0) {
        rc = artifact_list_write(&artifacts->files, &text, err);
        if (rc >= 0)
            rc = attach_text(recording, "artifacts", ARTIFACTS_NAME, &text, attachments, err);
    }
    if (rc >= 0 && artifacts->headers.units > 0) {
        header_costs_sort(&artifacts->headers);
        strbuf_clear(&text);
        rc = header_costs_write(&artifacts->headers, &text, err);
        if (rc >= 0)
            rc = attach_text(recording, "headers", HEADERS_NAME, &text, attachments, err);
    }
    strbuf_free(&text);
    return rc >= 0 && artifacts->ninja_dir ? attach_ninja(artifacts, recording, attachments, err)
                                           : rc;
}

void record_artifacts_free(struct record_artifacts *artifacts)
{
    artifact_list_free(&artifacts->files);
    header_costs_free(&artifacts->headers);
    mem_free(artifacts->ninja_dir);
    artifacts->ninja_dir = NULL;
}
