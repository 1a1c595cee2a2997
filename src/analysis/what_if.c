#include <math.h>
#include <string.h>

#include "analysis/replay.h"
#include "base/file.h"
#include "base/glob.h"
#include "base/units.h"

void what_if_free(struct what_if *change)
{
    array_free(&change->units);
}

bool what_if_names(const struct what_if_unit *named, const struct report_unit *unit)
{
    size_t length = strlen(named->pattern);
    if (glob_has_wildcard(named->pattern, length))
        return glob_match_str(named->pattern, unit->title);
    return strncmp(unit->title, named->pattern, length) == 0 &&
           (unit->title[length] == '\0' || unit->title[length] == ' ');
}

int what_if_check(const struct what_if *change, const struct report *report, struct lam_error *err)
{
    array_each(&change->units, named)
    {
        bool is_there = false;
        array_each(&report->units, unit) is_there = is_there || what_if_names(named, unit);
        if (!is_there)
            return lam_error_set(err, LAM_E_NOTFOUND, "what if %s: no unit is called %s",
                                 change->text, named->pattern);
    }
    return LAM_OK;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

/* "2x", "1.5x", or without the x. */
static bool parse_speed(const char *text, double *speed)
{
    char plain[32];
    size_t length = strlen(text);
    if (length > 1 && text[length - 1] == 'x')
        length--;
    if (length == 0 || length >= sizeof plain)
        return false;
    memcpy(plain, text, length);
    plain[length] = '\0';
    return unit_parse_double(plain, speed) && *speed > 0;
}

static bool parse_count(const char *text, double *count)
{
    if (strcmp(text, "all") == 0) {
        *count = INFINITY;
        return true;
    }
    return unit_parse_double(text, count) && *count >= 1;
}

static int add_unit(struct what_if *change, const char *text, bool is_split, struct arena *arena)
{
    struct what_if_unit named = {.speed = INFINITY, .is_split = is_split};
    const char *colon = is_split ? NULL : strrchr(text, ':');
    bool has_speed = colon && parse_speed(colon + 1, &named.speed);
    named.pattern = has_speed ? arena_strndup(arena, text, (size_t)(colon - text)) : text;
    return named.pattern ? array_push(&change->units, named) : LAM_E_NOMEM;
}

/* LAM_E_USAGE: the value is none. */
static int parse_part(struct what_if *change, const char *name, const char *value, struct arena *arena)
{
    double units;
    if (*value == '\0')
        return LAM_E_USAGE;
    if (strcmp(name, "unit") == 0 || strcmp(name, "split") == 0)
        return add_unit(change, value, name[0] == 's', arena);
    if (strcmp(name, "link") == 0)
        return parse_speed(value, &change->link_speed) ? LAM_OK : LAM_E_USAGE;
    if (strcmp(name, "cores") == 0)
        return parse_count(value, &change->cores) ? LAM_OK : LAM_E_USAGE;
    if (strcmp(name, "jobs") == 0)
        return parse_count(value, &change->jobs) ? LAM_OK : LAM_E_USAGE;
    if (strcmp(name, "codegen-units") != 0 || !parse_count(value, &units) || !(units <= 65536))
        return LAM_E_USAGE;
    change->codegen_units = (uint32_t)units;
    return LAM_OK;
}

int what_if_parse(struct what_if *change, const char *text, struct arena *arena, struct lam_error *err)
{
    *change = (struct what_if){.text = text, .link_speed = 1};
    int rc = *text ? LAM_OK : LAM_E_USAGE;
    while (rc == LAM_OK && *text) {
        size_t length = strcspn(text, ",");
        char *name = arena_strndup(arena, text, length);
        char *equals = name ? strchr(name, '=') : NULL;
        if (!name)
            return lam_error_set(err, LAM_E_NOMEM, "what if: out of memory");
        if (equals)
            *equals = '\0';
        rc = equals ? parse_part(change, name, equals + 1, arena) : LAM_E_USAGE;
        text += length + (text[length] == ',');
    }
    if (rc == LAM_E_USAGE)
        return lam_error_set(
            err, rc,
            "takes unit=NAME, unit=NAME:2x, split=NAME, link=2x, cores=N, jobs=N and "
            "codegen-units=N, separated by commas");
    return rc < 0 ? lam_error_set(err, rc, "what if: out of memory") : LAM_OK;
}
