/* recorder_options.c: options, and the text that changes them. */
#include "recorder/bounded_text.h"
#include "recorder/recorder_state.h"

void lam_options_init(struct lam_options *options)
{
    *options = (struct lam_options){.size = sizeof *options};
}

const char *options_fault(const struct lam_options *options)
{
    if (options->mode > LAM_MODE_FLIGHT)
        return "mode should be one of enum lam_mode";
    if (options->clock > LAM_CLOCK_CYCLES)
        return "clock should be one of enum lam_clock";
    if (options->calls > 15)
        return "calls should be made of enum lam_calls";
    if (options->counters > 15)
        return "counters should be made of enum lam_counter";
    if (options->mode == LAM_MODE_FLIGHT && !options->max_bytes)
        return "mode=flight needs max_bytes";
    if (options->max_bytes && options->max_bytes < 65536)
        return "max_bytes should be 64K or more";
    if (options->kinds && bytes_length(options->kinds) >= KINDS_FILTER_BYTES)
        return "kinds should be 511 bytes or less";
    return NULL;
}

struct choice {
    const char *name;
    uint32_t value;
};

static const struct choice clocks[] = {
    {"auto", LAM_CLOCK_AUTO},
    {"tsc", LAM_CLOCK_TSC},
    {"monotonic", LAM_CLOCK_MONOTONIC},
    {"cpu", LAM_CLOCK_CPU_TIME},
    {"instructions", LAM_CLOCK_INSTRUCTIONS},
    {"instructions-minus-irqs", LAM_CLOCK_INSTRUCTIONS_MINUS_IRQS},
    {"cycles", LAM_CLOCK_CYCLES},
    {NULL, 0},
};
static const struct choice modes[] = {{"stop", LAM_MODE_STOP}, {"flight", LAM_MODE_FLIGHT}, {NULL, 0}};
static const struct choice counters[] = {
    {"cpu", LAM_COUNTER_CPU_TIME},
    {"instructions", LAM_COUNTER_INSTRUCTIONS},
    {"instructions-minus-irqs", LAM_COUNTER_INSTRUCTIONS_MINUS_IRQS},
    {"cycles", LAM_COUNTER_CYCLES},
    {NULL, 0},
};
static const struct choice calls[] = {
    {"all", 0},
    {"one_in", LAM_CALLS_ONE_IN},
    {"threshold", LAM_CALLS_THRESHOLD},
    {"tree", LAM_CALLS_TREE},
    {"auto", LAM_CALLS_AUTO},
    {NULL, 0},
};

struct word {
    const char *at;
    size_t size;
};

static int is_word(struct word word, const char *name)
{
    return bytes_length(name) == word.size && bytes_equal(word.at, name, word.size);
}

/* What is being parsed, and where it went wrong. */
struct parse {
    struct lam_options *options;
    char kinds[KINDS_FILTER_BYTES];
    struct word key, bad; /* key: of the item that is being read, once it is known */
    const char *why;      /* what the bad word should be; NULL: one of `list` */
    const struct choice *list;
};

static int refuse(struct parse *parse, struct word bad, const char *why)
{
    parse->bad = bad;
    parse->why = why;
    return 0;
}

static int choose(struct parse *parse, const struct choice *list, struct word word, uint32_t *value)
{
    for (const struct choice *row = list; row->name; row++)
        if (is_word(word, row->name)) {
            *value = row->value;
            return 1;
        }
    parse->list = list;
    return refuse(parse, word, NULL);
}

/* Digits and one of the units: bytes K M G (of 1024, or k m g), times ns us ms s. */
static int number(struct parse *parse, struct word word, int is_time, uint64_t *out)
{
    static const struct {
        const char *unit;
        int is_time;
        uint64_t factor;
    } units[] = {{"", 0, 1},         {"", 1, 1},         {"K", 0, 1u << 10}, {"M", 0, 1u << 20},
                 {"G", 0, 1u << 30}, {"k", 0, 1u << 10}, {"m", 0, 1u << 20}, {"g", 0, 1u << 30},
                 {"ns", 1, 1},       {"us", 1, 1000},    {"ms", 1, 1000000}, {"s", 1, 1000000000}};
    const char *why = is_time ? "a time: digits, with ns, us, ms or s"
                              : "a number: digits, with K, M or G behind them if need be";
    uint64_t value = 0;
    size_t digits = 0;
    while (digits < word.size && word.at[digits] >= '0' && word.at[digits] <= '9') {
        if (value > (UINT64_MAX >> 1) / 10)
            return refuse(parse, word, "a smaller number");
        value = value * 10 + (uint64_t)(word.at[digits++] - '0');
    }
    struct word unit = {word.at + digits, word.size - digits};
    for (size_t i = 0; digits && i < sizeof units / sizeof units[0]; i++)
        if (units[i].is_time == is_time && is_word(unit, units[i].unit)) {
            if (value > (UINT64_MAX >> 1) / units[i].factor)
                return refuse(parse, word, "a smaller number");
            *out = value * units[i].factor;
            return 1;
        }
    return refuse(parse, word, why);
}

/* The part of `rest` up to `end`, and `rest` behind it. */
static struct word split(struct word *rest, char end)
{
    struct word part = {rest->at, 0};
    while (part.size < rest->size && part.at[part.size] != end)
        part.size++;
    size_t used = part.size + (part.size < rest->size);
    rest->at += used;
    rest->size -= used;
    return part;
}

static int parse_counters(struct parse *parse, struct word value)
{
    uint32_t bits = 0, bit = 0;
    while (value.size) {
        if (!choose(parse, counters, split(&value, '+'), &bit))
            return 0;
        bits |= bit;
    }
    parse->options->counters = bits;
    return 1;
}

static int parse_call_value(struct parse *parse, uint32_t bit, struct word value)
{
    struct lam_options *options = parse->options;
    uint64_t amount = 0;
    if (!number(parse, value, bit == LAM_CALLS_THRESHOLD, &amount))
        return 0;
    switch (bit) {
    case LAM_CALLS_ONE_IN:
        if (amount > UINT32_MAX)
            return refuse(parse, value, "a smaller number");
        options->one_in = (uint32_t)amount;
        return 1;
    case LAM_CALLS_THRESHOLD:
        options->threshold_ns = amount;
        return 1;
    case LAM_CALLS_TREE:
        options->tree_bytes = amount;
        return 1;
    case LAM_CALLS_AUTO:
        options->auto_bytes = amount;
        return 1;
    default:
        return refuse(parse, value, "left out: all calls have no number");
    }
}

/* `all`, or `one_in:100+threshold:10us+auto:64M+tree:4M`; numbers may be left out. */
static int parse_calls(struct parse *parse, struct word value)
{
    parse->options->calls = 0;
    while (value.size) {
        struct word amount = split(&value, '+');
        size_t whole = amount.size;
        struct word name = split(&amount, ':');
        uint32_t bit = 0;
        if (!choose(parse, calls, name, &bit))
            return 0;
        parse->options->calls |= bit;
        if (name.size < whole && !parse_call_value(parse, bit, amount))
            return 0;
    }
    return 1;
}

static int parse_kinds(struct parse *parse, struct word value)
{
    if (value.size >= sizeof parse->kinds)
        return refuse(parse, value, "shorter: 511 bytes at most");
    __builtin_memcpy(parse->kinds, value.at, value.size);
    parse->kinds[value.size] = 0;
    parse->options->kinds = parse->kinds;
    return 1;
}

static int parse_one(struct parse *parse, struct word key, struct word value)
{
    parse->key = key;
    if (is_word(key, "max_bytes"))
        return number(parse, value, 0, &parse->options->max_bytes);
    if (is_word(key, "mode"))
        return choose(parse, modes, value, &parse->options->mode);
    if (is_word(key, "clock"))
        return choose(parse, clocks, value, &parse->options->clock);
    if (is_word(key, "counters"))
        return parse_counters(parse, value);
    if (is_word(key, "calls"))
        return parse_calls(parse, value);
    if (is_word(key, "kinds"))
        return parse_kinds(parse, value);
    parse->key.size = 0;
    return refuse(parse, key, "max_bytes, mode, clock, counters, calls or kinds");
}

static int parse_text(struct parse *parse, const char *text)
{
    struct word rest = {text, bytes_length(text)};
    while (rest.size) {
        struct word value = split(&rest, ',');
        struct word item = value;
        struct word key = split(&value, '=');
        parse->key.size = 0;
        if (key.size == item.size)
            return refuse(parse, item, "NAME=VALUE");
        if (!parse_one(parse, key, value))
            return 0;
    }
    return 1;
}

int lam_options_parse(struct lam_options *options, const char *text)
{
    static __thread char kinds_copy[KINDS_FILTER_BYTES];
    struct lam_options changed = *options;
    struct parse parse = {.options = &changed};
    if (!text || !parse_text(&parse, text))
        return LAM_E_INVAL;
    if (changed.kinds == parse.kinds) {
        __builtin_memcpy(kinds_copy, parse.kinds, sizeof kinds_copy);
        changed.kinds = kinds_copy;
    }
    *options = changed;
    return LAM_OK;
}

static void add_text(struct bounded_text *out, const char *text)
{
    text_add_cut(out, text, bytes_length(text));
}

static void add_word(struct bounded_text *out, struct word word)
{
    enum { QUOTED_MAX = 60 };
    if (!word.size)
        return;
    text_add_cut(out, word.at, word.size > QUOTED_MAX ? (size_t)QUOTED_MAX : word.size);
    if (word.size > QUOTED_MAX)
        add_text(out, "...");
}

/* calls: `fly` should be all, one_in, threshold, tree or auto */
static void explain(const struct parse *parse, struct bounded_text *out)
{
    add_word(out, parse->key);
    add_text(out, parse->key.size ? ": " : "");
    add_text(out, parse->bad.size ? "`" : "what is empty");
    add_word(out, parse->bad);
    add_text(out, parse->bad.size ? "` should be " : " should be ");
    add_text(out, parse->why ? parse->why : "");
    for (const struct choice *row = parse->list; !parse->why && row->name; row++) {
        add_text(out, row == parse->list ? "" : row[1].name ? ", " : " or ");
        add_text(out, row->name);
    }
}

int lam_options_explain(const char *text, char *why, size_t size)
{
    struct lam_options options;
    lam_options_init(&options);
    struct parse parse = {.options = &options};
    if (size)
        why[0] = 0;
    if (!text)
        return LAM_E_INVAL;
    struct bounded_text out = {why, 0, size};
    if (!parse_text(&parse, text)) {
        explain(&parse, &out);
        return LAM_E_INVAL;
    }
    const char *fault = options_fault(&options);
    if (!fault)
        return LAM_OK;
    add_text(&out, fault);
    return LAM_E_INVAL;
}

/* ---- names of codes ---- */

const char *lam_error_text(int code)
{
    switch (code) {
    case LAM_OK:
        return "no error";
#define LAM_ERROR_TEXT(name, value, text) \
    case value:                           \
        return text;
        LAM_ERRORS(LAM_ERROR_TEXT)
#undef LAM_ERROR_TEXT
    default:
        return code > 0 ? "no error" : "unknown error";
    }
}

const char *lam_version(void)
{
    return LAM_VERSION;
}
