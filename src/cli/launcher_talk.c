#include "cli/launcher_talk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void launcher_say(const char *fmt, ...)
{
    struct strbuf text = {0}, line = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_addv(&text, fmt, args);
    va_end(args);
    strbuf_add(&line, "lamella: ");
    strbuf_add_printable(&line, strbuf_text(&text), text.length);
    fprintf(stderr, "%s\n", strbuf_text(&line));
    strbuf_free(&text);
    strbuf_free(&line);
}

int launcher_print(const struct strbuf *text, struct lam_error *err)
{
    if (fwrite(strbuf_text(text), 1, text->length, stdout) == text->length && fflush(stdout) == 0)
        return LAM_OK;
    if (errno != EPIPE)
        return lam_error_errno(err, errno, "standard output");
    clearerr(stdout);
    return LAM_OK;
}

int launcher_usage_end(const struct option_spec *spec, int rc, const struct lam_error *error,
                       int usage_code)
{
    if (rc != OPTIONS_HELP) {
        launcher_say("%s", error->msg);
        return usage_code;
    }
    struct strbuf text = {0};
    options_help(spec, &text);
    fputs(strbuf_text(&text), stdout);
    strbuf_free(&text);
    return 0;
}
