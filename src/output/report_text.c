#include "output/write_report.h"

#include <string.h>

#include "base/units.h"

/* measureme's command lines end with a blank. */
static size_t length_without_blanks(const char *text)
{
    size_t length = strlen(text);
    while (length > 1 && text[length - 1] == ' ')
        length--;
    return length;
}

int report_command_text(const struct report *report, struct strbuf *text)
{
    const char *command = report->session.command;
    if (command && *command)
        strbuf_add_printable(text, command, length_without_blanks(command));
    else if (report_is_of_events(report) && report->processes.count > 1)
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
