#include "cli/record_summary.h"

#include <assert.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "cli/launcher_talk.h"
#include "cli/record_artifacts.h"
#include "input/read_recording.h"
#include "profile/sink.h"
#include "reader/stream_names.h"
#include "symbols/sidecar.h"

static_assert((int)STREAM_UNSAMPLED_FAILED < (int)SUMMARY_REASONS,
              "there is a counter for every reason");

/* One reading for two: everything goes to the summary, what has to do with symbols to the collector as well. */
struct tee {
    struct record_summary *summary;
    struct profile_sink symbols;
    int64_t started_at_unix_ns;
};

static int on_session(void *ctx, const struct profile_session *session)
{
    struct tee *tee = ctx;
    tee->started_at_unix_ns = session->started_at_unix_ns;
    return tee->symbols.ops->session ? tee->symbols.ops->session(tee->symbols.ctx, session) : LAM_OK;
}

static int on_module(void *ctx, const struct profile_module *module)
{
    struct tee *tee = ctx;
    return tee->symbols.ops->module ? tee->symbols.ops->module(tee->symbols.ctx, module) : LAM_OK;
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct tee *tee = ctx;
    return tee->symbols.ops->frame ? tee->symbols.ops->frame(tee->symbols.ctx, frame) : LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct record_summary *summary = ((struct tee *)ctx)->summary;
    if (process->sampled == PROFILE_SAMPLED_YES)
        summary->sampled_processes++;
    else if (process->sampled == PROFILE_SAMPLED_ACCOUNT_ONLY &&
             process->why_not == STREAM_UNSAMPLED_NO)
        summary->account_processes++;
    else
        summary->unsampled[process->why_not < SUMMARY_REASONS ? process->why_not : 0]++;
    const struct tee *tee = ctx;
    return summary->artifacts
               ? record_artifacts_add(summary->artifacts, process, tee->started_at_unix_ns)
               : LAM_OK;
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct record_summary *summary = ((struct tee *)ctx)->summary;
    uint64_t late_ns = sample->late_ns < sample->cpu_ns ? sample->late_ns : sample->cpu_ns;
    if (!(sample->flags & PROFILE_SAMPLE_CLOSING)) /* CPU time that no sample was taken for */
        summary->samples++;
    summary->late_ns += late_ns;
    summary->sampled_ns += sample->cpu_ns - late_ns;
    return LAM_OK;
}

static int on_end(void *ctx, const struct profile_session_end *end)
{
    struct record_summary *summary = ((struct tee *)ctx)->summary;
    summary->lost_records = end->lost_records;
    summary->damaged_streams = end->damaged_streams;
    summary->profiles = end->self_profiles;
    summary->profile_events = end->self_profile_events;
    return LAM_OK;
}

int record_write_symbols(void *ctx, const char *recording, struct lam_error *err)
{
    static const struct profile_sink_ops ops = {
        .session = on_session,
        .process = on_process,
        .module = on_module,
        .frame = on_frame,
        .sample = on_sample,
        .session_end = on_end,
    };
    struct record_summary unheeded = {0}, *summary = ctx ? ctx : &unheeded;
    struct symbols_collector *hits = NULL;
    int rc = symbols_collector_open(&hits, err);
    if (rc < 0)
        return rc;
    struct tee tee = {.summary = summary, .symbols = symbols_collector_sink(hits)};
    struct profile_sink sink = {.ctx = &tee, .ops = &ops};
    rc = read_recording(recording, &sink, err);
    summary->is_read = rc >= 0;
    if (rc >= 0 && (summary->samples || summary->sampled_ns))
        rc = symbols_write_sidecar(recording, hits, err);
    symbols_collector_close(&hits);
    return rc;
}

/* ---- the five lines ---- */

static void add_samples(struct strbuf *text, const struct record_summary *summary,
                        const struct record_outcome *outcome)
{
    double charged = (double)outcome->charged_cpu_ns;
    if (!summary->samples) {
        strbuf_add(text, summary->sampled_processes
                             ? "no samples: no thread worked long enough for one"
                             : "no samples");
    } else {
        strbuf_addf(text, "%s %s", unit_count(summary->samples).text,
                    unit_either(summary->samples, "sample", "samples"));
        if (charged > 0 && !outcome->daemons) /* what still runs has samples and no charge */
            strbuf_addf(text, " cover %s of the CPU time",
                        unit_percent((double)summary->sampled_ns / charged).text);
        if (charged > 0 && !outcome->daemons && summary->late_ns)
            strbuf_addf(text, " (and %s late)",
                        unit_percent((double)summary->late_ns / charged).text);
    }
    if (summary->lost_records)
        strbuf_addf(text, ", %s record%s lost", unit_count(summary->lost_records).text,
                    unit_plural(summary->lost_records));
    else if (summary->samples)
        strbuf_add(text, ", none lost");
    if (summary->damaged_streams)
        strbuf_addf(text, ", %s stream%s damaged", unit_count(summary->damaged_streams).text,
                    unit_plural(summary->damaged_streams));
}

static void add_processes(struct strbuf *text, const struct record_summary *summary)
{
    uint64_t unsampled = 0;
    for (unsigned i = 0; i < SUMMARY_REASONS; i++)
        unsampled += summary->unsampled[i];
    strbuf_addf(text, "%s %s sampled", unit_count(summary->sampled_processes).text,
                unit_either(summary->sampled_processes, "process", "processes"));
    if (summary->account_processes)
        strbuf_addf(text, ", %s with an account only", unit_count(summary->account_processes).text);
    if (!unsampled)
        return;
    strbuf_addf(text, ", %s not", unit_count(unsampled).text);
    const char *before = ": ";
    for (unsigned i = 0; i < SUMMARY_REASONS; i++) {
        if (!summary->unsampled[i])
            continue;
        strbuf_addf(text, "%s%s %s", before, unit_count(summary->unsampled[i]).text,
                    i == STREAM_UNSAMPLED_NO ? "left no stream" : stream_unsampled_name(i));
        before = ", ";
    }
}

/* An estimate: what it costs without the profile nobody knows of the same build. 0.15 to 0.4 microseconds an event were
 * measured, the writing of names and of the file included. */
static void say_profiles(const struct record_summary *summary, const struct profile_request *profiles)
{
    const double event_s = 0.3e-6;
    struct strbuf text = {0};
    strbuf_addf(&text, "%s self-profile%s, %s", unit_count(profiles->files.count).text,
                unit_plural(profiles->files.count), unit_bytes((double)profiles->bytes).text);
    if (summary->is_read && summary->profile_events)
        strbuf_addf(&text, ", %s event%s, which took about %s of CPU time",
                    unit_count(summary->profile_events).text, unit_plural(summary->profile_events),
                    unit_seconds((double)summary->profile_events * event_s).text);
    if (summary->is_read && summary->profiles < profiles->files.count)
        strbuf_addf(&text, "; %s cannot be read, or %s of no process here",
                    unit_count(profiles->files.count - summary->profiles).text,
                    unit_either(profiles->files.count - summary->profiles, "is", "are"));
    launcher_say("%s", strbuf_text(&text));
    strbuf_free(&text);
}

void record_summary_print(const struct record_summary *summary, const struct record_outcome *outcome,
                          const struct profile_request *profiles)
{
    struct strbuf samples = {0}, processes = {0}, path = {0};
    double elapsed = (double)outcome->elapsed_ns * 1e-9,
           charged = (double)outcome->charged_cpu_ns * 1e-9;
    launcher_say("%s wall, %s CPU, %s cores used", unit_seconds(elapsed).text,
                 unit_seconds(charged).text, unit_cores(elapsed > 0 ? charged / elapsed : 0).text);
    if (summary->is_read) {
        add_samples(&samples, summary, outcome);
        add_processes(&processes, summary);
        launcher_say("%s", strbuf_text(&samples));
        launcher_say("%s", strbuf_text(&processes));
    }
    if (profiles)
        say_profiles(summary, profiles);
    if (outcome->engine_note[0])
        launcher_say("%s; lamella doctor tells how to get more", outcome->engine_note);
    strbuf_add_shell_quoted(&path, outcome->directory, strlen(outcome->directory));
    launcher_say("%s in %s", unit_bytes((double)outcome->packed_bytes).text, strbuf_text(&path));
    launcher_say("next: lamella report %s", strbuf_text(&path));
    strbuf_free(&samples);
    strbuf_free(&processes);
    strbuf_free(&path);
}
