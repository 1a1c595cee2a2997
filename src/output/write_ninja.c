#include "output/write_ninja.h"

#include <math.h>
#include <string.h>

#include "base/file.h"

/* Names in the log are relative to ninja's directory, those of command lines to the command's: one can be the end of the other. */
static bool is_same_file(const char *a, const char *b)
{
    size_t left = strlen(a), right = strlen(b);
    if (left == right)
        return strcmp(a, b) == 0;
    return left > right ? text_ends_with(a, b) && a[left - right - 1] == '/'
                        : text_ends_with(b, a) && b[right - left - 1] == '/';
}

static const char *writer_of(const struct report *report, const char *output)
{
    array_each(&report->units, unit)
    {
        if (unit->info.output && is_same_file(unit->info.output, output))
            return unit->title;
    }
    return NULL;
}

static double ninja_start_s(const struct report *report)
{
    array_each(&report->processes, process)
    {
        const char *name = path_name(process->exe);
        if (strcmp(name, "ninja") == 0 || strcmp(name, "samu") == 0)
            return (double)process->start_ns / 1e9;
    }
    return NAN;
}

void write_ninja_json(struct json_writer *json, const struct report *report)
{
    double zero_s = ninja_start_s(report);
    if (report->ninja.edges.count == 0)
        return;
    json_member_array(json, "ninja");
    array_each(&report->ninja.edges, edge)
    {
        json_put_object(json);
        json_member_str(json, "output", edge->output);
        json_member_fixed(json, "start_s", zero_s + (double)edge->start_ms / 1e3, 9);
        json_member_fixed(json, "end_s", zero_s + (double)edge->end_ms / 1e3, 9);
        json_member_str(json, "unit", writer_of(report, edge->output));
        json_put_end(json);
    }
    json_put_end(json);
}
