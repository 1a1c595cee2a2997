#include "base/options.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"

static bool is_end(const struct option_row *row)
{
    return row->kind != OPTION_HEADING && !row->long_name && !row->short_name;
}

/* "--rate" or "-r", as a message names the option. */
struct option_name {
    char text[64];
};

static struct option_name name_of(const struct option_row *row)
{
    struct option_name name;
    if (row->long_name)
        snprintf(name.text, sizeof name.text, "--%s", row->long_name);
    else
        snprintf(name.text, sizeof name.text, "-%c", row->short_name);
    return name;
}

static int fail_value(const struct option_row *row, const char *text, const char *wanted,
                      struct lam_error *err)
{
    return lam_error_set(err, LAM_E_USAGE, "%s takes %s, not '%s'", name_of(row).text, wanted, text);
}

static int set_choice(const struct option_row *row, const char *text, struct lam_error *err)
{
    struct strbuf all = {0};
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *(int *)row->target = i;
            strbuf_free(&all);
            return LAM_OK;
        }
        const char *between = i == 0 ? "" : row->choices[i + 1] ? ", " : " or ";
        strbuf_addf(&all, "%s%s", between, row->choices[i]);
    }
    int rc = fail_value(row, text, strbuf_text(&all), err);
    strbuf_free(&all);
    return rc;
}

static int set_by_call(const struct option_row *row, const char *text, struct lam_error *err)
{
    struct lam_error inner = LAM_ERROR_INIT;
    int rc = row->parse(row->target, text, &inner);
    if (rc < 0)
        return lam_error_set(err, rc, "%s %s", name_of(row).text,
                             inner.msg[0] ? inner.msg : lam_code_text(rc));
    return LAM_OK;
}

/* "[EVENTS]": without one, or behind a = in the same word. */
static bool may_stand_alone(const struct option_row *row)
{
    return row->arg_name[0] == '[' && row->kind == OPTION_CALL && row->long_name;
}

/* Sets a target from the text of an option that takes one. */
static int set_value(const struct option_row *row, const char *text, struct lam_error *err)
{
    bool is_right;
    const char *wanted;
    switch (row->kind) {
    case OPTION_TEXT:
        is_right = *text != 0;
        wanted = "a text that is not empty";
        if (is_right)
            *(const char **)row->target = text;
        break;
    case OPTION_LIST:
        if (array_push((struct option_list *)row->target, text) < 0)
            return lam_error_set(err, LAM_E_NOMEM, "options: out of memory");
        return LAM_OK;
    case OPTION_U64:
        is_right = unit_parse_u64(text, row->target);
        wanted = "a whole number";
        break;
    case OPTION_DOUBLE:
        is_right = unit_parse_double(text, row->target);
        wanted = "a number";
        break;
    case OPTION_SECONDS:
        is_right = unit_parse_seconds(text, row->target);
        wanted = "a time such as 10s, 250ms or 2min";
        break;
    case OPTION_BYTES:
        is_right = unit_parse_bytes(text, row->target);
        wanted = "a size such as 4096, 64k or 2GiB";
        break;
    case OPTION_CHOICE:
        return set_choice(row, text, err);
    case OPTION_CALL:
        return set_by_call(row, text, err);
    default:
        return lam_error_set(err, LAM_E_INVAL, "%s: its row is wrong", name_of(row).text);
    }
    return is_right ? LAM_OK : fail_value(row, text, wanted, err);
}

static int set_flag(const struct option_row *row, bool value, struct lam_error *err)
{
    if (row->kind == OPTION_FLAG)
        *(bool *)row->target = value;
    else if (row->kind == OPTION_COUNT)
        *(unsigned *)row->target += 1;
    else
        return set_by_call(row, NULL, err);
    return LAM_OK;
}

static const struct option_row *find_long(const struct option_spec *spec, const char *name,
                                          size_t length)
{
    for (const struct option_row *row = spec->rows; row && !is_end(row); row++) {
        if (row->kind != OPTION_HEADING && row->long_name && strlen(row->long_name) == length &&
            memcmp(row->long_name, name, length) == 0)
            return row;
    }
    return NULL;
}

static const struct option_row *find_short(const struct option_spec *spec, char name)
{
    for (const struct option_row *row = spec->rows; row && !is_end(row); row++) {
        if (row->kind != OPTION_HEADING && row->short_name == name)
            return row;
    }
    return NULL;
}

/* The number of edits (insert, remove, replace, swap neighbours) between two words; capped for long
 * ones. */
static unsigned distance(const char *a, const char *b)
{
    enum { WORD_MAX = 40 };
    unsigned rows[3][WORD_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return WORD_MAX;
    for (unsigned j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

/* A word that begins like the candidate counts as near, whatever is missing. */
static unsigned cost_of(const char *word, const char *candidate)
{
    size_t length = strlen(word);
    return length >= 3 && strncmp(word, candidate, length) == 0 ? 1 : distance(word, candidate);
}

const char *options_nearest(const char *word, const char *const *candidates)
{
    size_t length = strlen(word);
    unsigned allowed = length < 3 ? 1 : length < 6 ? 2 : 3;
    const char *nearest = NULL;
    for (; *candidates; candidates++) {
        unsigned cost = cost_of(word, *candidates);
        if (cost > allowed || cost >= strlen(*candidates))
            continue;
        nearest = *candidates;
        allowed = cost - (cost > 0); /* the next one has to be nearer */
        if (cost == 0)
            break;
    }
    return nearest;
}

static int fail_unknown(const struct option_spec *spec, const char *name, size_t length,
                        struct lam_error *err)
{
    LAM_ARRAY(const char *) names = {0};
    char word[64];
    int rc = LAM_OK;
    for (const struct option_row *row = spec->rows; row && !is_end(row) && rc == LAM_OK; row++) {
        if (row->kind != OPTION_HEADING && row->long_name)
            rc = array_push(&names, row->long_name);
    }
    if (rc == LAM_OK)
        rc = array_push(&names, "help");
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), name);
    const char *nearest = NULL;
    if (rc == LAM_OK && array_push(&names, NULL) == LAM_OK)
        nearest = options_nearest(word, names.items);
    array_free(&names);
    if (nearest)
        return lam_error_set(err, LAM_E_USAGE, "unknown option '--%s'; did you mean '--%s'?", word,
                             nearest);
    return lam_error_set(err, LAM_E_USAGE, "unknown option '--%s'; '%s --help' lists them", word,
                         spec->command);
}

/* Where the parser is. */
struct parse {
    const struct option_spec *spec;
    int argc;
    char *const *argv;
    int at; /* the argument looked at */
};

/* The argument of an option that was not written into the same word. */
static int take_next(struct parse *parse, const struct option_row *row, struct lam_error *err)
{
    if (parse->at + 1 >= parse->argc)
        return lam_error_set(err, LAM_E_USAGE, "%s needs an argument: %s", name_of(row).text,
                             row->arg_name);
    return set_value(row, parse->argv[++parse->at], err);
}

static int parse_long(struct parse *parse, struct lam_error *err)
{
    const char *name = parse->argv[parse->at] + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row = find_long(parse->spec, name, length);
    bool value = true;
    if (!row && length == 4 && memcmp(name, "help", 4) == 0 && !equals)
        return OPTIONS_HELP;
    if (!row && length > 3 && memcmp(name, "no-", 3) == 0) {
        row = find_long(parse->spec, name + 3, length - 3);
        if (row && row->kind != OPTION_FLAG)
            row = NULL;
        value = false;
    }
    if (!row)
        return fail_unknown(parse->spec, name, length, err);
    if (row->arg_name && !equals && may_stand_alone(row))
        return set_by_call(row, NULL, err);
    if (row->arg_name)
        return equals ? set_value(row, equals + 1, err) : take_next(parse, row, err);
    if (equals)
        return lam_error_set(err, LAM_E_USAGE, "%s takes no argument", name_of(row).text);
    return set_flag(row, value, err);
}

/* One word of short options: -qv, -ofile. */
static int parse_short(struct parse *parse, struct lam_error *err)
{
    for (const char *at = parse->argv[parse->at] + 1; *at; at++) {
        const struct option_row *row = find_short(parse->spec, *at);
        if (!row && *at == 'h')
            return OPTIONS_HELP;
        if (!row)
            return lam_error_set(err, LAM_E_USAGE, "unknown option '-%c'; '%s --help' lists them",
                                 *at, parse->spec->command);
        if (row->arg_name)
            return at[1] ? set_value(row, at + 1, err) : take_next(parse, row, err);
        int rc = set_flag(row, true, err);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static int check_operands(const struct option_spec *spec, const struct option_operands *rest,
                          struct lam_error *err)
{
    const char *command = spec->command;
    if (rest->count < spec->min_operands)
        return lam_error_set(err, LAM_E_USAGE, "%s needs %s; '%s --help' explains", command,
                             spec->operands ? spec->operands : "more", command);
    if (rest->count > spec->max_operands)
        return lam_error_set(err, LAM_E_USAGE, "%s does not take '%s'; '%s --help' explains",
                             command, rest->items[spec->max_operands], command);
    return LAM_OK;
}

static int parse_all(struct parse *parse, struct option_operands *rest, struct lam_error *err)
{
    bool only_operands = false;
    for (parse->at = 1; parse->at < parse->argc; parse->at++) {
        const char *word = parse->argv[parse->at];
        int rc = LAM_OK;
        if (only_operands || word[0] != '-' || !word[1]) {
            rest->items[rest->count++] = word;
            only_operands = only_operands || parse->spec->stops_at_operand;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
            rest->after_dashes = rest->count == 0;
        } else {
            rc = word[1] == '-' ? parse_long(parse, err) : parse_short(parse, err);
        }
        if (rc != LAM_OK)
            return rc;
    }
    return check_operands(parse->spec, rest, err);
}

int options_parse(const struct option_spec *spec, int argc, char *const *argv,
                  struct option_operands *rest, struct lam_error *err)
{
    struct parse parse = {.spec = spec, .argc = argc, .argv = argv};
    struct option_operands operands = {0};
    operands.items = mem_zalloc((size_t)(argc > 0 ? argc : 0) + 1, sizeof *operands.items);
    if (!operands.items)
        return lam_error_set(err, LAM_E_NOMEM, "options: out of memory");
    int rc = parse_all(&parse, &operands, err);
    if (rc == LAM_OK)
        *rest = operands;
    else
        option_operands_free(&operands);
    return rc;
}

void option_operands_free(struct option_operands *rest)
{
    mem_free(rest->items);
    *rest = (struct option_operands){0};
}
