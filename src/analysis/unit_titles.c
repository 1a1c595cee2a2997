#include "analysis/unit_titles.h"

#include <string.h>

/* What a command line says of a unit, in words; in the order in which people think of it. */
static const char *target_words(struct arena *arena, const struct unit *unit)
{
    return arena_printf(arena, "%s", unit->target ? unit->target : "host");
}

static const char *opt_level_words(struct arena *arena, const struct unit *unit)
{
    return unit->opt_level ? arena_printf(arena, "opt-level %s", unit->opt_level)
                           : arena_printf(arena, "no opt-level");
}

static const char *debug_info_words(struct arena *arena, const struct unit *unit)
{
    return unit->debug_info ? arena_printf(arena, "debuginfo %s", unit->debug_info)
                            : arena_printf(arena, "no debuginfo");
}

static const char *feature_words(struct arena *arena, const struct unit *unit)
{
    size_t count = unit->features && *unit->features;
    for (const char *at = unit->features; at && *at; at++)
        count += *at == ',';
    return arena_printf(arena, "%zu feature%s", count, count == 1 ? "" : "s");
}

typedef const char *(*words_fn)(struct arena *arena, const struct unit *unit);
static const words_fn attributes[] = {target_words, opt_level_words, debug_info_words, feature_words};

struct named {
    const char *title;
    uint32_t unit;
    const char *words;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int by_title = strcmp(left->title, right->title);
    return by_title ? by_title : (left->unit > right->unit) - (left->unit < right->unit);
}

static bool are_all_different(const struct named *group, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(group[i].words, group[k].words) == 0)
                return false;
    return true;
}

static int rename_group(struct report *report, const struct named *group, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct report_unit *unit = &report->units.items[group[i].unit];
        unit->title = arena_printf(&report->arena, "%s (%s)", group[i].title, group[i].words);
        report->processes.items[unit->process].title = unit->title;
        if (!unit->title)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

/* The first attribute by which no two of them agree. */
static int tell_group_apart(struct report *report, struct named *group, size_t count)
{
    enum { GROUP_MAX = 8 }; /* more are not told apart by one word each */
    if (count < 2 || count > GROUP_MAX)
        return LAM_OK;
    for (size_t a = 0; a < sizeof attributes / sizeof attributes[0]; a++) {
        for (size_t i = 0; i < count; i++) {
            group[i].words = attributes[a](&report->arena, &report->units.items[group[i].unit].info);
            if (!group[i].words)
                return LAM_E_NOMEM;
        }
        if (are_all_different(group, count))
            return rename_group(report, group, count);
    }
    return LAM_OK;
}

int unit_titles_tell_apart(struct report *report)
{
    LAM_ARRAY(struct named) names = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; i < report->units.count && rc == LAM_OK; i++) {
        const struct report_unit *unit = &report->units.items[i];
        if (unit->info.kind == UNIT_RUSTC || unit->info.kind == UNIT_RUSTDOC)
            rc = array_push(&names, (struct named){unit->title, i, NULL});
    }
    array_sort(&names, compare_named);
    for (size_t first = 0, end; first < names.count && rc == LAM_OK; first = end) {
        for (end = first + 1; end < names.count; end++)
            if (strcmp(names.items[end].title, names.items[first].title) != 0)
                break;
        rc = tell_group_apart(report, names.items + first, end - first);
    }
    array_free(&names);
    return rc;
}
