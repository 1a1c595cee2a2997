#include "build/cargo_unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct json_reader *json)
{
    return json_fail(json, LAM_E_NOMEM, "out of memory");
}

int cargo_read_str(struct json_reader *json, struct arena *arena, const char **text)
{
    int rc = json_next(json);
    if (rc < 0 || json->event == JSON_NULL)
        return rc < 0 ? rc : LAM_OK;
    if (json->event != JSON_STRING)
        return json_fail(json, LAM_E_CORRUPT, "expected a text");
    const char *copy = arena_strndup(arena, json->text, json->length);
    if (!copy)
        return no_memory(json);
    *text = copy;
    return LAM_OK;
}

int cargo_read_ids(struct json_reader *json, struct arena *arena, struct cargo_ids *ids)
{
    int rc = json_next(json);
    if (rc < 0 || json->event == JSON_NULL)
        return rc < 0 ? rc : LAM_OK;
    if (json->event != JSON_ARRAY_BEGIN)
        return json_fail(json, LAM_E_CORRUPT, "expected a list of units");
    LAM_ARRAY(uint32_t) list = {0};
    while ((rc = json_next_element(json)) > 0) {
        uint64_t number = 0;
        if (json->event != JSON_NUMBER || !json_get_u64(json, &number))
            rc = json_fail(json, LAM_E_CORRUPT, "a unit's number is no whole number");
        else if (number < CARGO_NONE)
            rc = array_push(&list, (uint32_t)number) < 0 ? no_memory(json) : LAM_OK;
        if (rc < 0)
            break;
    }
    uint32_t *items = rc < 0 ? NULL : arena_array(arena, list.count + 1, sizeof *items);
    if (rc >= 0 && !items)
        rc = no_memory(json);
    if (items) {
        if (list.count > 0)
            memcpy(items, list.items, list.count * sizeof *items);
        *ids = (struct cargo_ids){items, list.count};
    }
    array_free(&list);
    return rc;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int cargo_read_features(struct json_reader *json, struct arena *arena, struct cargo_unit *unit)
{
    int rc = json_next(json);
    if (rc < 0 || json->event == JSON_NULL)
        return rc < 0 ? rc : LAM_OK;
    if (json->event != JSON_ARRAY_BEGIN)
        return json_fail(json, LAM_E_CORRUPT, "features are no list");
    LAM_ARRAY(const char *) list = {0};
    while ((rc = json_next_element(json)) > 0) {
        const char *copy = NULL;
        if (json->event != JSON_STRING) {
            rc = json_fail(json, LAM_E_CORRUPT, "a feature is no text");
            break;
        }
        copy = arena_strndup(arena, json->text, json->length);
        if (!copy || array_push(&list, copy) < 0) {
            rc = no_memory(json);
            break;
        }
    }
    const char **items = rc < 0 ? NULL : arena_array(arena, list.count + 1, sizeof *items);
    if (rc >= 0 && !items)
        rc = no_memory(json);
    if (items) {
        array_sort(&list, compare_texts);
        size_t kept = 0;
        array_each(&list, text)
        {
            if (kept == 0 || strcmp(items[kept - 1], *text) != 0)
                items[kept++] = *text;
        }
        unit->features = items;
        unit->feature_count = kept;
        unit->has_features = true;
    }
    array_free(&list);
    return rc;
}

static void add_time(double *sum, double seconds)
{
    *sum = isnan(*sum) ? seconds : *sum + seconds;
}

void cargo_unit_section(struct cargo_unit *unit, const char *name, double start_s, double end_s)
{
    double seconds = end_s - start_s;
    if (isnan(seconds))
        return;
    if (strcmp(name, "frontend") == 0) {
        /* Its end is when cargo heard of the metadata. Of several, the first: others may start from then on. */
        if (isnan(unit->rmeta_s))
            unit->rmeta_s = end_s;
        add_time(&unit->frontend_s, seconds);
    } else if (strcmp(name, "codegen") == 0) {
        add_time(&unit->codegen_s, seconds);
    } else if (strcmp(name, "link") == 0 || strcmp(name, "linking") == 0) {
        add_time(&unit->link_s, seconds);
    } else {
        add_time(&unit->other_s, seconds);
    }
}

const char *cargo_mode_of_description(const char *text)
{
    static const char *const modes[][2] = {
        {"run", "run-custom-build"}, {"doc test", "doctest"}, {"doc scrape", "docscrape"}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(text, modes[i][0]) == 0)
            return modes[i][1];
    return text;
}

int cargo_unit_split_id(struct cargo_unit *unit, struct arena *arena)
{
    const char *id = unit->package_id ? unit->package_id : "";
    const char *hash = strrchr(id, '#');
    const char *spec = hash ? hash + 1 : id;
    const char *at = strrchr(spec, '@'), *blank = strstr(id, " (");
    if (blank) {
        size_t length = strcspn(id, " ");
        unit->package = arena_strndup(arena, id, length);
        unit->version = id + length < blank
                            ? arena_strndup(arena, id + length + 1, (size_t)(blank - id) - length - 1)
                            : "";
    } else if (at) {
        unit->package = arena_strndup(arena, spec, (size_t)(at - spec));
        unit->version = at + 1;
    } else {
        const char *end = hash ? hash : id + strlen(id), *start = end;
        while (start > id && start[-1] != '/')
            start--;
        unit->package = arena_strndup(arena, start, (size_t)(end - start));
        unit->version = hash ? spec : "";
    }
    return unit->package && unit->version ? LAM_OK : LAM_E_NOMEM;
}

void cargo_unit_settle(struct cargo_unit *unit)
{
    if (strcmp(unit->mode, "run-custom-build") == 0)
        unit->job = CARGO_JOB_RUN_SCRIPT;
    else if (strncmp(unit->mode, "doc", 3) == 0)
        unit->job = CARGO_JOB_DOC;
    else
        unit->job = CARGO_JOB_COMPILE;
    if (strcmp(unit->kind, "custom-build") == 0)
        unit->kind = "build-script";
}

const char *cargo_reason_name(const struct cargo_unit *dep, const struct cargo_unit *unit)
{
    bool is_script = dep->package && unit->package && strcmp(dep->package, unit->package) == 0 &&
                     dep->kind && strcmp(dep->kind, "build-script") == 0;
    return is_script ? CARGO_ITS_SCRIPT : dep->package;
}
