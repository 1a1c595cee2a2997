#include "base/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

/* Everything an option can set. */
struct settings {
    bool quiet;
    unsigned verbose;
    const char *output;
    struct option_list defines;
    uint64_t depth;
    double ratio;
    double wait_s;
    uint64_t size_bytes;
    int format;
    int rate; /* from a callback: -1 is "auto" */
};

static const char *const formats[] = {"text", "json", "markdown", NULL};
static struct settings set;

static int parse_rate(void *target, const char *text, struct lam_error *err)
{
    struct settings *settings = target;
    if (strcmp(text, "auto") == 0)
        settings->rate = -1;
    else if (strcmp(text, "9") == 0)
        settings->rate = 9;
    else
        return lam_error_set(err, LAM_E_USAGE, "must be 'auto' or 9");
    return LAM_OK;
}

static const struct option_row option_rows[] = {
    {.kind = OPTION_HEADING, .help = "What is written"},
    {"output", 'o', "DIR", "where the recording goes", OPTION_TEXT, &set.output, NULL, NULL},
    {"define", 'D', "NAME", "a name; again for more", OPTION_LIST, &set.defines, NULL, NULL},
    {"format", 0, "FORMAT", "how it is printed", OPTION_CHOICE, &set.format, formats, NULL},
    {"depth", 0, "N", "levels to show", OPTION_U64, &set.depth, NULL, NULL},
    {"ratio", 0, "X", "a ratio", OPTION_DOUBLE, &set.ratio, NULL, NULL},
    {"wait", 'w', "TIME", "how long to wait", OPTION_SECONDS, &set.wait_s, NULL, NULL},
    {"size", 's', "SIZE", "how much", OPTION_BYTES, &set.size_bytes, NULL, NULL},
    {"rate", 'r', "HZ", "samples a second, or 'auto', in words that go on for longer than a line",
     OPTION_CALL, &set, NULL, parse_rate},
    {.kind = OPTION_HEADING, .help = "Talk"},
    {"quiet", 'q', NULL, "say nothing", OPTION_FLAG, &set.quiet, NULL, NULL},
    {"verbose", 'v', NULL, "say more", OPTION_COUNT, &set.verbose, NULL, NULL},
    {0},
};

static struct option_spec spec = {
    .command = "lamella try",
    .operands = "FILE…",
    .about = "Tries options.",
    .example = "lamella try --depth 3 file",
    .rows = option_rows,
    .max_operands = SIZE_MAX,
};

/* A command line in one string, words separated by |. */
struct line {
    char text[128];
    char *argv[16];
    int argc;
};

static void split(struct line *line, const char *text)
{
    line->argc = 0;
    line->argv[line->argc++] = line->text;
    snprintf(line->text, sizeof line->text, "try|%s", text);
    for (char *at = line->text; (at = strchr(at, '|'));) {
        *at++ = 0;
        if (*at || text[0])
            line->argv[line->argc++] = at;
    }
    line->argv[line->argc] = NULL;
}

/* The settings and operands as text, only what differs from the start. */
static void describe(struct strbuf *out, const struct option_operands *rest)
{
    if (set.quiet)
        strbuf_add(out, "quiet ");
    if (set.verbose)
        strbuf_addf(out, "verbose=%u ", set.verbose);
    if (set.output)
        strbuf_addf(out, "output=%s ", set.output);
    array_each(&set.defines, name) strbuf_addf(out, "define=%s ", *name);
    if (set.depth)
        strbuf_addf(out, "depth=%llu ", (unsigned long long)set.depth);
    if (set.ratio != 0)
        strbuf_addf(out, "ratio=%g ", set.ratio);
    if (set.wait_s != 0)
        strbuf_addf(out, "wait=%g ", set.wait_s);
    if (set.size_bytes)
        strbuf_addf(out, "size=%llu ", (unsigned long long)set.size_bytes);
    if (set.format)
        strbuf_addf(out, "format=%d ", set.format);
    if (set.rate)
        strbuf_addf(out, "rate=%d ", set.rate);
    if (rest->after_dashes)
        strbuf_add(out, "-- ");
    for (size_t i = 0; i < rest->count; i++)
        strbuf_addf(out, "[%s]", rest->items[i]);
}

static void reset(void)
{
    array_free(&set.defines);
    set = (struct settings){0};
}

static void command_lines(void **state)
{
    static const struct {
        const char *line;
        bool stops;
        int rc;
        const char *result; /* settings, or the message */
    } rows[] = {
        {"", false, LAM_OK, ""},
        {"a|b", false, LAM_OK, "[a][b]"},
        {"--output=x|f", false, LAM_OK, "output=x [f]"},
        {"--output|x|f", false, LAM_OK, "output=x [f]"},
        {"-o|x", false, LAM_OK, "output=x "},
        {"-ox", false, LAM_OK, "output=x "},
        {"-o|-q", false, LAM_OK, "output=-q "},
        {"--output|a|--output|b", false, LAM_OK, "output=b "},
        {"-qvv|-v", false, LAM_OK, "quiet verbose=3 "},
        {"-qofile", false, LAM_OK, "quiet output=file "},
        {"--quiet|--no-quiet", false, LAM_OK, ""},
        {"f|-q", false, LAM_OK, "quiet [f]"},
        {"f|-q", true, LAM_OK, "[f][-q]"},
        {"-q|cmd|--|x", true, LAM_OK, "quiet [cmd][--][x]"},
        {"-q|--|cmd|-v|--", true, LAM_OK, "quiet -- [cmd][-v][--]"},
        {"--|-q", false, LAM_OK, "-- [-q]"},
        {"--", false, LAM_OK, "-- "},
        {"-", false, LAM_OK, "[-]"},
        {"-D|a|--define=b|-Dc", false, LAM_OK, "define=a define=b define=c "},
        {"--depth=12|--ratio|-0.5|--wait=2min|-s|64KiB", false, LAM_OK,
         "depth=12 ratio=-0.5 wait=120 size=65536 "},
        {"--format=json", false, LAM_OK, "format=1 "},
        {"-r|auto", false, LAM_OK, "rate=-1 "},
        {"--help", false, OPTIONS_HELP, ""},
        {"-h", false, OPTIONS_HELP, ""},
        {"-qh|--nonsense", false, OPTIONS_HELP, ""},
        {"cmd|--help", true, LAM_OK, "[cmd][--help]"},
        {"--outptu=x", false, LAM_E_USAGE, "unknown option '--outptu'; did you mean '--output'?"},
        {"--form=json", false, LAM_E_USAGE, "unknown option '--form'; did you mean '--format'?"},
        {"--elephant", false, LAM_E_USAGE,
         "unknown option '--elephant'; 'lamella try --help' lists them"},
        {"-x", false, LAM_E_USAGE, "unknown option '-x'; 'lamella try --help' lists them"},
        {"--no-output", false, LAM_E_USAGE, "unknown option '--no-output'; did you mean '--output'?"},
        {"--output", false, LAM_E_USAGE, "--output needs an argument: DIR"},
        {"-o", false, LAM_E_USAGE, "--output needs an argument: DIR"},
        {"--output=", false, LAM_E_USAGE, "--output takes a text that is not empty, not ''"},
        {"--quiet=1", false, LAM_E_USAGE, "--quiet takes no argument"},
        {"--depth=x", false, LAM_E_USAGE, "--depth takes a whole number, not 'x'"},
        {"--depth=-1", false, LAM_E_USAGE, "--depth takes a whole number, not '-1'"},
        {"--ratio=nan", false, LAM_E_USAGE, "--ratio takes a number, not 'nan'"},
        {"--wait=soon", false, LAM_E_USAGE,
         "--wait takes a time such as 10s, 250ms or 2min, not 'soon'"},
        {"-s|big", false, LAM_E_USAGE, "--size takes a size such as 4096, 64k or 2GiB, not 'big'"},
        {"--format=xml", false, LAM_E_USAGE, "--format takes text, json or markdown, not 'xml'"},
        {"--rate=8", false, LAM_E_USAGE, "--rate must be 'auto' or 9"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct line line;
        struct option_operands rest = {0};
        struct lam_error err = LAM_ERROR_INIT;
        struct strbuf got = {0};
        split(&line, rows[i].line);
        reset();
        spec.stops_at_operand = rows[i].stops;
        int rc = options_parse(&spec, line.argc, line.argv, &rest, &err);
        if (rc == LAM_OK)
            describe(&got, &rest);
        const char *result = rc < 0 ? err.msg : strbuf_text(&got);
        if (rc != rows[i].rc || strcmp(result, rows[i].result) != 0)
            fail_msg("'%s': %d, %s", rows[i].line, rc, result);
        option_operands_free(&rest);
        strbuf_free(&got);
    }
    reset();
}

static void operand_counts(void **state)
{
    struct line line;
    struct option_operands rest = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct option_spec counted = spec;
    (void)state;
    counted.operands = "A RECORDING";
    counted.min_operands = 1;
    counted.max_operands = 1;
    split(&line, "-q");
    assert_int_equal(options_parse(&counted, line.argc, line.argv, &rest, &err), LAM_E_USAGE);
    assert_string_equal(err.msg, "lamella try needs A RECORDING; 'lamella try --help' explains");
    split(&line, "a|b|c");
    assert_int_equal(options_parse(&counted, line.argc, line.argv, &rest, &err), LAM_E_USAGE);
    assert_string_equal(err.msg, "lamella try does not take 'b'; 'lamella try --help' explains");
    split(&line, "a");
    assert_int_equal(options_parse(&counted, line.argc, line.argv, &rest, &err), LAM_OK);
    assert_int_equal(rest.count, 1);
    assert_null(rest.items[1]);
    option_operands_free(&rest);
    mem_fail_after(0);
    assert_int_equal(options_parse(&counted, line.argc, line.argv, &rest, &err), LAM_E_NOMEM);
    mem_fail_after(UINT64_MAX);
}

static void help(void **state)
{
    struct strbuf text = {0};
    (void)state;
    options_help(&spec, &text);
    assert_string_equal(
        strbuf_text(&text),
        "Usage: lamella try [OPTION…] FILE…\n"
        "\n"
        "Tries options.\n"
        "\n"
        "What is written:\n"
        "  -o, --output=DIR        where the recording goes\n"
        "  -D, --define=NAME       a name; again for more\n"
        "      --format=FORMAT     how it is printed: text, json, markdown\n"
        "      --depth=N           levels to show\n"
        "      --ratio=X           a ratio\n"
        "  -w, --wait=TIME         how long to wait\n"
        "  -s, --size=SIZE         how much\n"
        "  -r, --rate=HZ           samples a second, or 'auto', in words that go on for\n"
        "                          longer than a line\n"
        "\n"
        "Talk:\n"
        "  -q, --quiet             say nothing\n"
        "  -v, --verbose           say more\n"
        "  -h, --help              show this text\n"
        "\n"
        "Example:\n"
        "  lamella try --depth 3 file\n");
    strbuf_free(&text);
}

static int turn_on(void *target, const char *text, struct lam_error *err)
{
    if (text)
        return lam_error_set(err, LAM_E_USAGE, "got a text");
    *(int *)target = 1;
    return LAM_OK;
}

static int take_or_not(void *target, const char *text, struct lam_error *err)
{
    (void)err;
    *(const char **)target = text ? text : "by default";
    return LAM_OK;
}

/* An argument that may be left out is never the next word. */
static void optional_arguments(void **state)
{
    static const struct {
        const char *line, *text, *operand;
    } rows[] = {{"--like", "by default", NULL},
                {"--like=x", "x", NULL},
                {"--like=", "", NULL},
                {"--like|x", "by default", "x"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = NULL;
        const struct option_row likes[] = {
            {"like", 0, "[WHAT]", "liked", OPTION_CALL, &text, NULL, take_or_not}, {0}};
        const struct option_spec liking = {.command = "odd", .rows = likes, .max_operands = 1};
        struct line line;
        struct option_operands rest = {0};
        struct strbuf out = {0};
        split(&line, rows[i].line);
        assert_int_equal(options_parse(&liking, line.argc, line.argv, &rest, NULL), LAM_OK);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(rest.count, rows[i].operand != NULL);
        options_help(&liking, &out);
        assert_non_null(strstr(strbuf_text(&out), "      --like[=WHAT]       liked\n"));
        strbuf_free(&out);
        option_operands_free(&rest);
    }
}

/* Rows without a long name, callbacks without an argument, no operands, a left side that is long. */
static void odd_rows(void **state)
{
    int is_on = 0;
    const char *text = NULL;
    const struct option_row rows[] = {
        {NULL, 'n', NULL, "turned on", OPTION_CALL, &is_on, NULL, turn_on},
        {NULL, 'h', "TEXT", "not help", OPTION_TEXT, &text, NULL, NULL},
        {"a-name-that-is-long", 0, "ARGUMENT", "below", OPTION_TEXT, &text, NULL, NULL},
        {0},
    };
    const struct option_spec odd = {.command = "odd", .rows = rows};
    struct line line;
    struct option_operands rest = {0};
    struct lam_error err = LAM_ERROR_INIT;
    struct strbuf out = {0};
    (void)state;
    split(&line, "-n|-h|x");
    assert_int_equal(options_parse(&odd, line.argc, line.argv, &rest, &err), LAM_OK);
    assert_int_equal(is_on, 1);
    assert_string_equal(text, "x");
    option_operands_free(&rest);
    split(&line, "-h|");
    assert_int_equal(options_parse(&odd, line.argc, line.argv, &rest, &err), LAM_E_USAGE);
    assert_string_equal(err.msg, "-h takes a text that is not empty, not ''");
    split(&line, "more");
    assert_int_equal(options_parse(&odd, line.argc, line.argv, &rest, &err), LAM_E_USAGE);
    assert_string_equal(err.msg, "odd does not take 'more'; 'odd --help' explains");
    options_help(&odd, &out);
    assert_string_equal(strbuf_text(&out), "Usage: odd [OPTION…]\n"
                                           "\n"
                                           "Options:\n"
                                           "  -n                      turned on\n"
                                           "  -h TEXT                 not help\n"
                                           "      --a-name-that-is-long=ARGUMENT\n"
                                           "                          below\n"
                                           "      --help              show this text\n");
    strbuf_free(&out);
}

static void nearest(void **state)
{
    static const char *const commands[] = {"record", "report", "view", "doctor", "diff", NULL};
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"recrod", "record"}, {"rec", "record"}, {"reprot", "report"}, {"vew", "view"},
        {"veiw", "view"},     {"x", NULL},       {"elephant", NULL},   {"doktor", "doctor"},
        {"dif", "diff"},      {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *got = options_nearest(rows[i].word, commands);
        if ((got == NULL) != (rows[i].nearest == NULL) || (got && strcmp(got, rows[i].nearest) != 0))
            fail_msg("'%s' gives %s", rows[i].word, got ? got : "nothing");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_lines), cmocka_unit_test(operand_counts),
        cmocka_unit_test(help),          cmocka_unit_test(optional_arguments),
        cmocka_unit_test(odd_rows),      cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
