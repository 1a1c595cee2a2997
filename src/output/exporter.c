#include "output/exporter.h"

#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "output/time_text.h"
#include "output/write_chrome.h"
#include "output/write_firefox.h"
#include "output/write_flamegraph.h"
#include "output/write_folded.h"
#include "output/write_perfetto.h"
#include "output/write_pprof.h"
#include "output/write_profdata.h"
#include "output/write_speedscope.h"

#define MEMBERS(NAME)                                                                          \
    .open = write_##NAME##_open, .sink = write_##NAME##_sink, .finish = write_##NAME##_finish, \
    .close = write_##NAME##_close

const struct export_format export_formats[] = {
    {.name = "chrome",
     .suffix = ".json",
     .has_threads_to_collapse = true,
     .holds = EXPORT_HOLDS_COMMANDS | EXPORT_HOLDS_PROGRAMS | EXPORT_HOLDS_THREADS |
              EXPORT_HOLDS_EVENTS | EXPORT_HOLDS_ARGUMENTS,
     MEMBERS(chrome)},
    {.name = "perfetto",
     .suffix = ".pftrace",
     .is_binary = true,
     .holds = EXPORT_HOLDS_COMMANDS | EXPORT_HOLDS_MODULES | EXPORT_HOLDS_PROGRAMS |
              EXPORT_HOLDS_THREADS | EXPORT_HOLDS_FUNCTIONS | EXPORT_HOLDS_EVENTS |
              EXPORT_HOLDS_ARGUMENTS,
     MEMBERS(perfetto)},
    {.name = "firefox",
     .suffix = ".json",
     .holds = EXPORT_HOLDS_COMMANDS | EXPORT_HOLDS_MODULES | EXPORT_HOLDS_SOURCES |
              EXPORT_HOLDS_PROGRAMS | EXPORT_HOLDS_THREADS | EXPORT_HOLDS_FUNCTIONS |
              EXPORT_HOLDS_EVENTS | EXPORT_HOLDS_ARGUMENTS,
     MEMBERS(firefox)},
    {.name = "speedscope",
     .suffix = ".speedscope.json",
     .holds = EXPORT_HOLDS_SOURCES | EXPORT_HOLDS_PROGRAMS | EXPORT_HOLDS_THREADS |
              EXPORT_HOLDS_FUNCTIONS | EXPORT_HOLDS_EVENTS,
     MEMBERS(speedscope)},
    {.name = "pprof",
     .suffix = ".pb.gz",
     .is_binary = true,
     .is_gzipped = true,
     .adds_up = true,
     .holds = EXPORT_HOLDS_MODULES | EXPORT_HOLDS_SOURCES | EXPORT_HOLDS_PROGRAMS |
              EXPORT_HOLDS_FUNCTIONS | EXPORT_HOLDS_EVENTS,
     MEMBERS(pprof)},
    {.name = "folded",
     .suffix = ".folded",
     .adds_up = true,
     .holds = EXPORT_HOLDS_PROGRAMS | EXPORT_HOLDS_FUNCTIONS | EXPORT_HOLDS_EVENTS,
     MEMBERS(folded)},
    {.name = "flamegraph",
     .suffix = ".svg",
     .adds_up = true,
     .holds = EXPORT_HOLDS_INPUT | EXPORT_HOLDS_PROGRAMS | EXPORT_HOLDS_FUNCTIONS | EXPORT_HOLDS_EVENTS,
     MEMBERS(flamegraph)},
    {.name = "mm_profdata",
     .suffix = ".mm_profdata",
     .is_binary = true,
     .holds = EXPORT_HOLDS_COMMANDS | EXPORT_HOLDS_EVENTS | EXPORT_HOLDS_ARGUMENTS,
     MEMBERS(profdata)},
    {0},
};

const struct export_format *export_format_named(const char *name)
{
    for (const struct export_format *format = export_formats; format->name; format++) {
        if (strcmp(format->name, name) == 0)
            return format;
    }
    return NULL;
}

/* "a, b and c" */
static void add_list(struct strbuf *out, const char *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addf(out, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", items[i]);
}

static void add_names(uint32_t holds, bool redacts, struct strbuf *out)
{
    const struct {
        uint32_t bit;
        bool is_wanted;
        const char *name;
    } rows[] = {
        {EXPORT_HOLDS_INPUT, !redacts, "the input"}, {EXPORT_HOLDS_PROGRAMS, true, "programs"},
        {EXPORT_HOLDS_MODULES, redacts, "modules"},  {EXPORT_HOLDS_THREADS, true, "threads"},
        {EXPORT_HOLDS_FUNCTIONS, true, "functions"}, {EXPORT_HOLDS_EVENTS, true, "events"},
    };
    const char *names[sizeof rows / sizeof *rows];
    size_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (holds & rows[i].bit && rows[i].is_wanted)
            names[count++] = rows[i].name;
    strbuf_add(out, "names of ");
    add_list(out, names, count);
}

bool export_holds(const struct export_format *format, bool redacts, bool has_modules,
                  struct strbuf *out)
{
    const uint32_t of_modules = EXPORT_HOLDS_MODULES | EXPORT_HOLDS_SOURCES | EXPORT_HOLDS_FUNCTIONS;
    const uint32_t redacted = EXPORT_HOLDS_COMMANDS | EXPORT_HOLDS_MODULES | EXPORT_HOLDS_SOURCES |
                              EXPORT_HOLDS_ARGUMENTS | EXPORT_HOLDS_INPUT;
    uint32_t holds = has_modules ? format->holds : format->holds & ~of_modules;
    uint32_t paths = holds & (EXPORT_HOLDS_MODULES | EXPORT_HOLDS_SOURCES);
    if (!redacts && holds & EXPORT_HOLDS_COMMANDS)
        strbuf_add(out, "command lines, ");
    if (!redacts && paths)
        strbuf_addf(out, "paths of %s, ",
                    paths == EXPORT_HOLDS_MODULES   ? "modules"
                    : paths == EXPORT_HOLDS_SOURCES ? "sources"
                                                    : "modules and sources");
    add_names(holds, redacts, out);
    if (!redacts && holds & EXPORT_HOLDS_ARGUMENTS)
        strbuf_add(out, ", and their arguments");
    return (holds & redacted) != 0;
}

void export_note(const struct export_options *options, const char *fmt, ...)
{
    if (!options->note)
        return;
    struct strbuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_addv(&text, fmt, args);
    va_end(args);
    if (strbuf_ok(&text))
        options->note(options->note_ctx, strbuf_text(&text));
    strbuf_free(&text);
}

void export_note_measure(const struct export_options *options, enum profile_measure measure)
{
    if (measure > PROFILE_MEASURE_CPU_TIME)
        export_note(options, "what viewers show as time are %s: one of them is shown as 1 ns",
                    export_measure_name(measure));
}

void export_note_losses(const struct export_options *options, const struct profile_session_end *ended)
{
    uint64_t broken = ended->damaged_streams + ended->unreadable_streams;
    uint64_t files = ended->streams + ended->unreadable_streams;
    struct strbuf damage = {0};
    if (broken) {
        profile_damage_text(broken, files, "file", &damage);
        strbuf_add(&damage, ": ");
        struct profile_faults told =
            ended->faults; /* parts of a file find shared strings wrong now and then once more */
        told.count = told.count > told.kept ? told.kept : told.count;
        profile_faults_text(&told, "; ", &damage);
        strbuf_add(&damage, ended->faults.count > told.count ? "; and more" : "");
        export_note(options, "%s", strbuf_text(&damage));
    }
    strbuf_free(&damage);
    if (ended->duplicate_streams)
        export_note(options, "%llu file%s there already, under another name or given twice: left out",
                    (unsigned long long)ended->duplicate_streams,
                    unit_either(ended->duplicate_streams, " is", "s are"));
    if (ended->lost_records)
        export_note(options, "%llu record%s lost while recording",
                    (unsigned long long)ended->lost_records, unit_plural(ended->lost_records));
    if (ended->overwritten_pages)
        export_note(options,
                    "%llu page%s of events %s overwritten (mode=flight): only the newest events "
                    "are in here",
                    (unsigned long long)ended->overwritten_pages,
                    unit_plural(ended->overwritten_pages),
                    unit_either(ended->overwritten_pages, "was", "were"));
    if (ended->untold_calls)
        export_note(options, "%llu call%s found no room in a full tree of calls",
                    (unsigned long long)ended->untold_calls, unit_plural(ended->untold_calls));
    if (ended->cut_texts)
        export_note(options,
                    "%llu text%s of events longer than 8 KiB: only the beginning is here, and how "
                    "long it was",
                    (unsigned long long)ended->cut_texts, unit_plural(ended->cut_texts));
    if (ended->backward_intervals)
        export_note(options, "%llu interval%s stored with an end before the start: empty",
                    (unsigned long long)ended->backward_intervals,
                    unit_plural(ended->backward_intervals));
}
