#include "output/write_report.h"

#include <string.h>

#include "base/units.h"

/* Where a program lies says little beside what it was to do; of a recorded command it is what was asked for. */
static const char *without_directory(const char *command)
{
    size_t word = strcspn(command, " ");
    const char *slash = *command == '/' ? memrchr(command, '/', word) : NULL;
    return slash && slash + 1 < command + word ? slash + 1 : command;
}

int report_command_text(const struct report *report, struct strbuf *text)
{
    const char *command = report->session.command;
    if (command && *command) {
        command = report_is_of_events(report) ? without_directory(command) : command;
        strbuf_add_printable(text, command, strlen(command));
    } else if (report_is_of_events(report) && report->processes.count > 1)
        strbuf_addf(text, "%zu profiles as one", report->processes.count);
    else
        strbuf_add(text, "(command not known)");
    return strbuf_ok(text) ? LAM_OK : LAM_E_NOMEM;
}

void report_rate_text(const struct report *report, struct strbuf *text)
{
    const struct profile_session *session = &report->session;
    if (session->rate_hz == 0) {
        strbuf_add(text, "account only");
        return;
    }
    if (!session->has_samples) { /* no process of it could be sampled */
        strbuf_add(text, "nothing was sampled");
        return;
    }
    strbuf_addf(text, "%s%u Hz, %s, %s kernel", session->rate_auto ? "up to " : "", session->rate_hz,
                report_engine_name(session->engine), session->kernel_mode ? "with" : "without");
}

void report_memory_text(const struct report *report, struct strbuf *text)
{
    const struct report_memory_peak *peak = &report->memory_peak;
    strbuf_addf(text, "%s private", unit_bytes((double)peak->anon_bytes).text);
    if (peak->rss_bytes != PROFILE_UNKNOWN)
        strbuf_addf(text, ", %s resident", unit_bytes((double)peak->rss_bytes).text);
}
