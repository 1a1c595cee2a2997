/* The text of --help, of options.h. */
#include <string.h>

#include "base/options.h"

enum { HELP_COLUMNS = 80, TEXT_COLUMN = 26 };

/* Adds text wrapped at spaces; lines after the first begin at column `indent`. at is where the
 * first line begins. */
static void add_wrapped(struct strbuf *out, const char *text, size_t at, size_t indent)
{
    bool is_first = true;
    while (*text) {
        size_t length = strcspn(text, " \n");
        size_t columns = utf8_columns(text, length);
        if (!is_first && at + 1 + columns > HELP_COLUMNS) {
            strbuf_add_char(out, '\n');
            strbuf_add_fill(out, ' ', indent);
            at = indent;
        } else if (!is_first) {
            strbuf_add_char(out, ' ');
            at++;
        }
        strbuf_add_bytes(out, text, length);
        at += columns;
        is_first = false;
        text += length + strspn(text + length, " \n");
    }
    strbuf_add_char(out, '\n');
}

/* "  -o, --output=DIR", then the help beside it, or below when the left side is long. */
static void add_option(struct strbuf *out, char short_name, const char *long_name,
                       const char *arg_name, const char *help)
{
    size_t start = out->length;
    if (short_name)
        strbuf_addf(out, "  -%c%s", short_name, long_name ? ", " : "");
    else
        strbuf_add(out, "      ");
    if (long_name)
        strbuf_addf(out, "--%s", long_name);
    if (arg_name)
        strbuf_addf(out, "%s%s%s", arg_name[0] == '[' ? "[" : "", long_name ? "=" : " ",
                    arg_name + (arg_name[0] == '['));
    size_t used = utf8_columns(strbuf_text(out) + start, out->length - start);
    if (used + 2 > TEXT_COLUMN) {
        strbuf_add_char(out, '\n');
        used = 0;
    }
    strbuf_add_fill(out, ' ', TEXT_COLUMN - used);
    add_wrapped(out, help ? help : "", TEXT_COLUMN, TEXT_COLUMN);
}

static void add_choices(struct strbuf *help, const struct option_row *row)
{
    strbuf_add(help, row->help);
    if (row->kind != OPTION_CHOICE)
        return;
    strbuf_add(help, ":");
    for (size_t i = 0; row->choices[i]; i++)
        strbuf_addf(help, "%s%s", i ? ", " : " ", row->choices[i]);
}

static void add_rows(struct strbuf *out, const struct option_spec *spec)
{
    bool has_short_help = true;
    for (const struct option_row *row = spec->rows;
         row && (row->kind == OPTION_HEADING || row->long_name || row->short_name); row++) {
        if (row->kind == OPTION_HEADING) {
            strbuf_addf(out, "%s%s:\n", row == spec->rows ? "" : "\n", row->help);
            continue;
        }
        struct strbuf help = {0};
        add_choices(&help, row);
        add_option(out, row->short_name, row->long_name, row->arg_name, strbuf_text(&help));
        strbuf_free(&help);
        has_short_help = has_short_help && row->short_name != 'h';
    }
    add_option(out, has_short_help ? 'h' : 0, "help", NULL, "show this text");
}

static void add_indented_lines(struct strbuf *out, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        strbuf_add(out, "  ");
        strbuf_add_bytes(out, lines, length);
        strbuf_add_char(out, '\n');
        lines += length + (lines[length] == '\n');
    }
}

void options_help(const struct option_spec *spec, struct strbuf *text)
{
    strbuf_addf(text, "Usage: %s [OPTION…]%s%s\n\n", spec->command, spec->operands ? " " : "",
                spec->operands ? spec->operands : "");
    if (spec->about) {
        add_wrapped(text, spec->about, 0, 0);
        strbuf_add_char(text, '\n');
    }
    if (!spec->rows || spec->rows->kind != OPTION_HEADING)
        strbuf_add(text, "Options:\n");
    add_rows(text, spec);
    if (spec->example) {
        strbuf_add(text, "\nExample:\n");
        add_indented_lines(text, spec->example);
    }
}
