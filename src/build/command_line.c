#include "build/command_line.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"

enum {
    RESPONSE_MAX_BYTES = 4 << 20,
    RESPONSE_MAX_DEPTH = 4,  /* files that name files */
    RESPONSE_MAX_FILES = 32, /* in all, of one command line */
    ARGS_MAX = 1 << 20,
};

struct expansion {
    const struct unit_command *command;
    struct arena *arena;
    struct command_args *args;
    bool is_line_style;
    int files;
};

static int expand_one(struct expansion *exp, const char *arg, int depth);

static int add_arg(struct expansion *exp, const char *text, size_t length, int depth)
{
    const char *arg = arena_strndup(exp->arena, text, length);
    return arg ? expand_one(exp, arg, depth) : LAM_E_NOMEM;
}

static int split_lines(struct expansion *exp, const char *text, size_t length, int depth)
{
    int rc = LAM_OK;
    for (size_t at = 0; at < length && rc == LAM_OK;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t size = end ? (size_t)(end - text) - at : length - at;
        size_t shown = size > 0 && text[at + size - 1] == '\r' ? size - 1 : size;
        if (shown > 0)
            rc = add_arg(exp, text + at, shown, depth);
        at += size + 1;
    }
    return rc;
}

/* The GNU way: blanks separate, single and double quotes and backslashes protect. */
static int split_words(struct expansion *exp, const char *text, size_t length, int depth)
{
    struct strbuf word = {0};
    bool is_open = false;
    char quote = 0;
    int rc = LAM_OK;
    for (size_t at = 0; at <= length && rc == LAM_OK; at++) {
        char c = at < length ? text[at] : ' ';
        bool is_blank =
            c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == 0;
        if (at == length || (!quote && is_blank)) {
            if (is_open)
                rc = add_arg(exp, strbuf_text(&word), word.length, depth);
            strbuf_clear(&word);
            is_open = false;
            continue;
        }
        is_open = true;
        if (c == '\\' && at + 1 < length)
            strbuf_add_char(&word, text[++at]);
        else if (quote && c == quote)
            quote = 0;
        else if (!quote && (c == '\'' || c == '"'))
            quote = c;
        else
            strbuf_add_char(&word, c);
    }
    if (!strbuf_ok(&word))
        rc = LAM_E_NOMEM;
    strbuf_free(&word);
    return rc;
}

/* 1 when the file took the argument's place, 0 when it could not be read. */
static int expand_file(struct expansion *exp, const char *name, int depth)
{
    char *path = path_join(exp->command->cwd ? exp->command->cwd : "", name);
    if (!path)
        return LAM_E_NOMEM;
    char *text;
    size_t length;
    int rc = file_read_all(path, RESPONSE_MAX_BYTES, &text, &length, NULL);
    mem_free(path);
    if (rc < 0)
        return rc == LAM_E_NOMEM ? rc : 0;
    rc = exp->is_line_style ? split_lines(exp, text, length, depth + 1)
                            : split_words(exp, text, length, depth + 1);
    mem_free(text);
    return rc < 0 ? rc : 1;
}

static int expand_one(struct expansion *exp, const char *arg, int depth)
{
    if (exp->command->read_files && arg[0] == '@' && arg[1] && depth < RESPONSE_MAX_DEPTH &&
        exp->files++ < RESPONSE_MAX_FILES) {
        int rc = expand_file(exp, arg + 1, depth);
        if (rc != 0)
            return rc < 0 ? rc : LAM_OK;
    }
    if (exp->args->count >= ARGS_MAX)
        return LAM_OK; /* what decides a unit stands at the front */
    return array_push(exp->args, arg);
}

int command_expand(const struct unit_command *command, bool is_line_style, struct arena *arena,
                   struct command_args *args)
{
    struct expansion exp = {command, arena, args, is_line_style, 0};
    for (size_t i = 0; i < command->argc; i++) {
        int rc = expand_one(&exp, command->argv[i], 0);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

/* Whether the row is this argument's; *value then points at its value, NULL when that is the next argument. */
static bool option_matches(const struct command_option *row, const char *arg, const char **value)
{
    size_t length = strlen(row->name);
    if (strncmp(arg, row->name, length) != 0)
        return false;
    const char *rest = arg + length;
    switch (row->how) {
    case VALUE_NONE:
        *value = "";
        return *rest == 0;
    case VALUE_NEXT:
        *value = NULL;
        return *rest == 0;
    case VALUE_JOINED:
        *value = rest;
        return true;
    case VALUE_EITHER:
        if (*rest == 0)
            *value = NULL;
        else if (*rest == '=')
            *value = rest + 1;
        else if (row->name[1] == '-')
            return false;
        else
            *value = rest;
        return true;
    }
    return false;
}

/* The row with the longest name. */
static const struct command_option *find_option(const struct command_option *table, const char *arg,
                                                const char **value)
{
    const struct command_option *best = NULL;
    for (; table->name; table++) {
        const char *here;
        if (!option_matches(table, arg, &here))
            continue;
        if (best && strlen(best->name) >= strlen(table->name))
            continue;
        best = table;
        *value = here;
    }
    return best;
}

int command_walk(const struct command_args *args, size_t first, const struct command_option *table,
                 command_fn fn, void *ctx)
{
    for (size_t i = first; i < args->count; i++) {
        const char *arg = args->items[i];
        const char *value = NULL;
        const struct command_option *row = NULL;
        if (arg[0] == '-' && arg[1])
            row = find_option(table, arg, &value);
        else
            value = arg;
        if (row && !value) {
            if (i + 1 >= args->count)
                return LAM_OK;
            value = args->items[++i];
        }
        if (!value || (row && row->field == 0))
            continue;
        int rc = fn(ctx, row ? row->field : 0, value);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}
