#include "output/exporter.h"

#include <stdarg.h>
#include <string.h>

#include "base/units.h"
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
     .holds = "command line, names of programs, threads and events, and their arguments",
     .holds_redacted = "names of programs, threads and events",
     MEMBERS(chrome)},
    {.name = "perfetto",
     .suffix = ".pftrace",
     .is_binary = true,
     .holds = "command lines, paths of modules, names of programs, threads, functions and events, "
              "and their arguments",
     .holds_redacted = "names of programs, modules, threads, functions and events",
     MEMBERS(perfetto)},
    {.name = "firefox",
     .suffix = ".json",
     .holds = "command line, paths of modules and sources, names of programs, threads, functions "
              "and events, and their arguments",
     .holds_redacted = "names of programs, modules, threads, functions and events",
     MEMBERS(firefox)},
    {.name = "speedscope",
     .suffix = ".speedscope.json",
     .holds = "paths of sources, names of programs, threads, functions and events",
     .holds_redacted = "names of programs, threads, functions and events",
     MEMBERS(speedscope)},
    {.name = "pprof",
     .suffix = ".pb.gz",
     .is_binary = true,
     .is_gzipped = true,
     .adds_up = true,
     .holds = "paths of modules and sources, names of programs, functions and events",
     .holds_redacted = "names of programs, modules, functions and events",
     MEMBERS(pprof)},
    {.name = "folded",
     .suffix = ".folded",
     .adds_up = true,
     .holds = "names of programs, functions and events",
     .holds_redacted = "names of programs, functions and events",
     MEMBERS(folded)},
    {.name = "flamegraph",
     .suffix = ".svg",
     .adds_up = true,
     .holds = "names of the input, of programs, functions and events",
     .holds_redacted = "names of programs, functions and events",
     MEMBERS(flamegraph)},
    {.name = "mm_profdata",
     .suffix = ".mm_profdata",
     .is_binary = true,
     .holds = "command line, names of events, and their arguments",
     .holds_redacted = "names of events",
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

void export_note_losses(const struct export_options *options, const struct profile_session_end *ended)
{
    uint64_t broken = ended->damaged_streams + ended->unreadable_streams;
    uint64_t files = ended->streams + ended->unreadable_streams;
    if (broken)
        export_note(options, "%llu of %llu file%s could not be read whole: %s",
                    (unsigned long long)broken, (unsigned long long)files, unit_plural(files),
                    ended->first_damage);
    if (ended->lost_records)
        export_note(options, "%llu record%s lost while recording",
                    (unsigned long long)ended->lost_records, unit_plural(ended->lost_records));
    if (ended->overwritten_pages)
        export_note(options,
                    "%llu pages of events were overwritten (mode=flight): only the newest events "
                    "are in here",
                    (unsigned long long)ended->overwritten_pages);
    if (ended->untold_calls)
        export_note(options, "%llu call%s found no room in a full tree of calls",
                    (unsigned long long)ended->untold_calls, unit_plural(ended->untold_calls));
    if (ended->backward_intervals)
        export_note(options,
                    "%llu intervals were stored with an end before their start: they are empty",
                    (unsigned long long)ended->backward_intervals);
}
