#include <string.h>

#include "build/command_line.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool split_version(const char *dir, size_t length, size_t *name_length)
{
    for (size_t i = 1; i + 3 < length; i++) {
        if (dir[i] != '-' || !is_digit(dir[i + 1]))
            continue;
        /* NUMBER.NUMBER must follow */
        size_t at = i + 1;
        while (at < length && is_digit(dir[at]))
            at++;
        if (at + 1 < length && dir[at] == '.' && is_digit(dir[at + 1])) {
            *name_length = i;
            return true;
        }
    }
    return false;
}

struct component {
    const char *text;
    size_t length;
};

/* The component that ends right before `end` (an offset behind it, at a slash or the end), or an empty one. */
static struct component component_before(const char *path, size_t end)
{
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return (struct component){path + start, end - start};
}

static bool component_is(struct component part, const char *text)
{
    return part.length == strlen(text) && memcmp(part.text, text, part.length) == 0;
}

/* Directories of a package that hold sources but are not the package's own. */
static bool is_inner_dir(struct component part)
{
    static const char *const names[] = {"src", "bin", "tests", "benches", "examples", "build"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (component_is(part, names[i]))
            return true;
    return false;
}

static int set_package(struct unit *unit, struct arena *arena, struct component name,
                       struct component version)
{
    unit->package = arena_strndup(arena, name.text, name.length);
    if (version.length > 0)
        unit->version = arena_strndup(arena, version.text, version.length);
    return unit->package && (version.length == 0 || unit->version) ? LAM_OK : LAM_E_NOMEM;
}

/* Whether the parent of a package's directory is a registry's or a vendor directory. */
static bool is_registry(const char *path, size_t end)
{
    struct component parent = component_before(path, end);
    struct component above = component_before(path, (size_t)(parent.text - path));
    struct component third = component_before(path, (size_t)(above.text - path));
    return component_is(parent, "vendor") ||
           (component_is(above, "src") && component_is(third, "registry"));
}

int package_from_source(const char *source, const char *cwd, struct arena *arena, struct unit *unit)
{
    if (strcmp(source, "-") == 0)
        return LAM_OK;
    const char *path = source;
    if (source[0] != '/' && cwd) {
        path = arena_printf(arena, "%s/%s", cwd, source);
        if (!path)
            return LAM_E_NOMEM;
    }
    size_t end = (size_t)(component_before(path, strlen(path)).text - path);
    struct component nearest = {path, 0};
    for (;;) {
        struct component dir = component_before(path, end);
        if (dir.length == 0)
            break;
        size_t begin = (size_t)(dir.text - path);
        size_t name_length;
        if (split_version(dir.text, dir.length, &name_length) && is_registry(path, begin))
            return set_package(
                unit, arena, (struct component){dir.text, name_length},
                (struct component){dir.text + name_length + 1, dir.length - name_length - 1});
        if (nearest.length == 0 && !is_inner_dir(dir) && !component_is(dir, ".") &&
            !component_is(dir, ".."))
            nearest = dir;
        end = begin;
    }
    return nearest.length > 0 ? set_package(unit, arena, nearest, (struct component){path, 0})
                              : LAM_OK;
}

static bool is_hash(const char *text, size_t length)
{
    if (length != 16)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_digit(text[i]) && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
    return true;
}

const char *package_from_build_dir(const char *path, struct arena *arena)
{
    const char *found = NULL;
    for (const char *at = strstr(path, "/build/"); at; at = strstr(at + 1, "/build/"))
        found = at + strlen("/build/");
    if (!found && strncmp(path, "build/", 6) == 0)
        found = path + 6;
    if (!found)
        return NULL;
    size_t length = strcspn(found, "/");
    if (length > 17 && found[length - 17] == '-' && is_hash(found + length - 16, 16))
        return arena_strndup(arena, found, length - 17);
    const char *next = found[length] == '/' ? found + length + 1 : "";
    if (length > 0 && is_hash(next, strcspn(next, "/")))
        return arena_strndup(arena, found, length);
    return NULL;
}

int unit_from_build_script(const struct unit_command *command, struct arena *arena, struct unit *unit)
{
    const char *exe = command->exe ? command->exe : command->argv[0];
    const char *package = package_from_build_dir(exe, arena);
    if (!package)
        return 0;
    unit->package = package;
    unit->mode = "run";
    size_t name_length;
    /* cargo starts the script in the package's directory, which has the version in its name for a registry's crate. */
    if (command->cwd) {
        const char *dir = strrchr(command->cwd, '/') ? strrchr(command->cwd, '/') + 1 : command->cwd;
        if (split_version(dir, strlen(dir), &name_length) &&
            strncmp(dir, package, name_length) == 0 && strlen(package) == name_length)
            unit->version = arena_strdup(arena, dir + name_length + 1);
    }
    return 1;
}
