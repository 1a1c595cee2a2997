#include "cli/record_artifacts.h"

#include "base/file.h"
#include "base/memory.h"

enum {
    COARSE_NS = 20000000
}; /* files are stamped by a clock that is up to a kernel's tick behind */

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

int record_artifacts_add(struct artifact_list *list, const struct profile_process *process,
                         int64_t started_at_unix_ns)
{
    struct arena scratch = {0};
    struct unit unit = {0};
    struct unit_artifacts files = {NULL, 0};
    const char *cwd = NULL;
    int rc = process->forked ? 0 : unit_of(process, &scratch, &unit, &cwd);
    if (rc > 0)
        rc = unit_artifacts_find(&unit, cwd, started_at_unix_ns + process->start_ns - COARSE_NS,
                                 &list->arena, &files);
    for (size_t i = 0; i < files.count && rc >= 0; i++) {
        struct artifact_row row = {process->pid, process->start_ns, files.items[i]};
        rc = array_push(&list->rows, row);
    }
    arena_free(&scratch);
    return rc < 0 ? rc : LAM_OK;
}

int record_artifacts_attach(const struct artifact_list *list, const char *recording,
                            struct session_attachments *attachments, struct lam_error *err)
{
    if (list->rows.count == 0)
        return LAM_OK;
    struct strbuf text = {0};
    char *path = path_join(recording, ARTIFACTS_NAME);
    struct session_attachment attachment = {"artifacts", ARTIFACTS_NAME, NULL};
    int rc = path ? artifact_list_write(list, &text, err)
                  : lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", ARTIFACTS_NAME);
    if (rc >= 0)
        rc = file_write_all(path, strbuf_text(&text), text.length, err);
    if (rc >= 0)
        rc = array_push(attachments, attachment);
    strbuf_free(&text);
    mem_free(path);
    return rc;
}
