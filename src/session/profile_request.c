#include "session/profile_request.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "session/build_settings.h"
#include "session/program_answer.h"

static int no_memory(struct lam_error *err)
{
    return lam_error_set(err, LAM_E_NOMEM, "out of memory");
}

/* The word of the command that is cargo; NULL: a script, or something else that starts it. */
static char *const *find_cargo(char *const *command)
{
    for (; *command; command++)
        if (strcmp(path_name(*command), "cargo") == 0)
            return command;
    return NULL;
}

/* "+nightly" behind cargo; NULL. */
static const char *toolchain_of(char *const *cargo)
{
    return cargo && cargo[1] && cargo[1][0] == '+' ? cargo[1] : NULL;
}

/* The value of an option of the command line; NULL. */
static const char *option_of(char *const *command, const char *option)
{
    size_t length = strlen(option);
    for (; *command && strcmp(*command, "--") != 0; command++) {
        if (strncmp(*command, option, length) != 0)
            continue;
        if ((*command)[length] == '=')
            return *command + length + 1;
        if (!(*command)[length])
            return command[1];
    }
    return NULL;
}

/* ---- the compiler ---- */

static char *ask_compiler(char *const *command, char *const *environment, const char *question,
                          const char *what)
{
    const char *rustc = environment_find(environment, "RUSTC"), *argv[5] = {NULL};
    const char *toolchain = toolchain_of(find_cargo(command));
    size_t n = 0;
    argv[n++] = rustc && *rustc ? rustc : "rustc";
    if (toolchain)
        argv[n++] = toolchain; /* for rustup's proxy */
    argv[n++] = question;
    argv[n++] = what;
    return program_first_line(argv);
}

/* Which compilers take -Z options as they are: nightly ones, and those that somebody built. */
static void look_at_compiler(struct profile_request *request, char *const *command,
                             char *const *environment)
{
    request->compiler = ask_compiler(command, environment, "--version", NULL);
    request->bootstrap = true; /* also where it is not known: with a stable one the build would fail */
    if (!request->compiler ||
        (!strstr(request->compiler, "-nightly") && !strstr(request->compiler, "-dev")))
        return;
    request->plain_root = ask_compiler(command, environment, "--print", "sysroot");
    request->bootstrap = !request->plain_root;
}

/* ---- the target directory ---- */

/* Of the package or workspace that cargo would build, for mem_free(); NULL when there is none. */
static char *project_dir(char *const *command)
{
    char *const *cargo = find_cargo(command);
    if (!cargo)
        return NULL;
    const char *manifest = option_of(cargo, "--manifest-path"), *toolchain = toolchain_of(cargo);
    const char *argv[10] = {NULL};
    size_t n = 0;
    argv[n++] = *cargo;
    if (toolchain)
        argv[n++] = toolchain;
    argv[n++] = "locate-project";
    argv[n++] = "--workspace";
    argv[n++] = "--message-format=plain";
    if (manifest) {
        argv[n++] = "--manifest-path";
        argv[n++] = manifest;
    }
    char *found = program_first_line(argv);
    char *dir = found && found[0] == '/' ? path_dir(found) : NULL;
    mem_free(found);
    return dir;
}

static char *own_target_dir(char *const *command, char *const *environment)
{
    const char *usual = environment_find(environment, "CARGO_TARGET_DIR");
    if (usual && *usual)
        return path_join(usual, PROFILE_REQUEST_DIR);
    char *project = project_dir(command);
    char *dir = path_join(project ? project : ".", "target/" PROFILE_REQUEST_DIR);
    mem_free(project);
    return dir;
}

static int pick_target_dir(struct profile_request *request, char *const *command,
                           char *const *environment)
{
    request->target_is_given = option_of(command, "--target-dir") != NULL;
    if (request->target_is_given)
        return LAM_OK;
    request->target_dir = own_target_dir(command, environment);
    return request->target_dir ? LAM_OK : LAM_E_NOMEM;
}

/* ---- */

int profile_request_plan(struct profile_request *request, const char *events, bool keeps_target,
                         char *const *command, char *const *environment, struct lam_error *err)
{
    *request = (struct profile_request){.events = events};
    look_at_compiler(request, command, environment);
    if (request->bootstrap && !keeps_target && pick_target_dir(request, command, environment) < 0)
        return no_memory(err);
    return LAM_OK;
}

int profile_request_begin(struct profile_request *request, const char *recording,
                          struct lam_error *err)
{
    request->dir = path_join(recording, PROFILE_REQUEST_DIR);
    if (!request->dir)
        return no_memory(err);
    return mkdir(request->dir, 0777) < 0 ? lam_error_errno(err, errno, "%s", request->dir) : LAM_OK;
}

int profile_request_put(const struct profile_request *request, struct control_page *page,
                        struct lam_error *err)
{
    struct strbuf words = {0};
    strbuf_addf(&words, "-Zself-profile=%s", request->dir);
    strbuf_add_char(&words, '\0');
    if (request->events[0]) {
        strbuf_addf(&words, "-Zself-profile-events=%s", request->events);
        strbuf_add_char(&words, '\0');
    }
    int rc = strbuf_ok(&words) ? LAM_OK : no_memory(err);
    if (rc >= 0 && words.length > sizeof page->profile_args)
        rc = lam_error_set(err, LAM_E_TOOBIG,
                           "--self-profile: the recording's path and the list of events have more "
                           "than %zu bytes",
                           sizeof page->profile_args);
    if (rc >= 0) {
        memcpy(page->profile_args, words.data, words.length);
        page->profile_args_bytes = (uint32_t)words.length;
    }
    size_t root = request->plain_root ? strlen(request->plain_root) + 1 : 0;
    if (rc >= 0 && root && root <= sizeof page->profile_plain_root) {
        memcpy(page->profile_plain_root, request->plain_root, root);
        page->profile_plain_root_bytes = (uint32_t)root;
    }
    strbuf_free(&words);
    return rc;
}

void profile_request_finish(struct profile_request *request)
{
    if (!request->dir || dir_list(request->dir, &request->files, NULL) < 0)
        return;
    array_each(&request->files, file)
    {
        struct stat st;
        char *path = path_join(request->dir, file->name);
        if (path && stat(path, &st) == 0)
            request->bytes += (uint64_t)st.st_size;
        mem_free(path);
    }
}

void profile_request_free(struct profile_request *request)
{
    mem_free(request->dir);
    mem_free(request->compiler);
    mem_free(request->plain_root);
    mem_free(request->target_dir);
    dir_entries_free(&request->files);
    *request = (struct profile_request){0};
}
