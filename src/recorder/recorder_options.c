/* recorder_options.c: options, and the text that changes them. */
#include "recorder/recorder_state.h"

#include "core/bytes.h"

void lam_options_init(struct lam_options *options)
{
    *options = (struct lam_options){.size = sizeof *options};
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

/* The part of *text up to one of `ends`, and *text behind it. */
static struct word take(const char **text, const char *ends)
{
    struct word word = {*text, 0};
    while (**text) {
        for (const char *end = ends; *end; end++)
            if (**text == *end) {
                (*text)++;
                return word;
            }
        (*text)++;
        word.size++;
    }
    return word;
}

static int is_word(struct word word, const char *name)
{
    return bytes_length(name) == word.size && bytes_equal(word.at, name, word.size);
}

static int choose(const struct choice *list, struct word word, uint32_t *value)
{
    for (; list->name; list++)
        if (is_word(word, list->name)) {
            *value = list->value;
            return 1;
        }
    return 0;
}

/* Digits and one of the units: bytes K M G (of 1024), times ns us ms s. */
static int number(struct word word, int is_time, uint64_t *out)
{
    static const struct {
        const char *unit;
        int is_time;
        uint64_t factor;
    } units[] = {{"", 0, 1},         {"", 1, 1},         {"K", 0, 1u << 10},
                 {"M", 0, 1u << 20}, {"G", 0, 1u << 30}, {"ns", 1, 1},
                 {"us", 1, 1000},    {"ms", 1, 1000000}, {"s", 1, 1000000000}};
    uint64_t value = 0;
    size_t digits = 0;
    while (digits < word.size && word.at[digits] >= '0' && word.at[digits] <= '9') {
        if (value > (UINT64_MAX >> 1) / 10)
            return 0;
        value = value * 10 + (uint64_t)(word.at[digits++] - '0');
    }
    struct word unit = {word.at + digits, word.size - digits};
    for (size_t i = 0; digits && i < sizeof units / sizeof units[0]; i++)
        if (units[i].is_time == is_time && is_word(unit, units[i].unit) &&
            value <= (UINT64_MAX >> 1) / units[i].factor) {
            *out = value * units[i].factor;
            return 1;
        }
    return 0;
}

static int parse_counters(struct lam_options *options, const char *text, const char *end)
{
    char buf[128];
    size_t size = (size_t)(end - text);
    if (size >= sizeof buf)
        return 0;
    __builtin_memcpy(buf, text, size);
    buf[size] = 0;
    const char *at = buf;
    uint32_t bits = 0, bit = 0;
    while (*at) {
        if (!choose(counters, take(&at, "+"), &bit))
            return 0;
        bits |= bit;
    }
    options->counters = bits;
    return 1;
}

/* `all`, or `one_in:100+threshold:10us+auto:64M+tree:4M`; numbers may be left out. */
static int parse_calls(struct lam_options *options, const char *text, const char *end)
{
    options->calls = 0;
    while (text < end) {
        struct word item = {text, 0};
        while (text < end && *text != '+') {
            text++;
            item.size++;
        }
        text += text < end;
        struct word name = {item.at, 0};
        while (name.size < item.size && item.at[name.size] != ':')
            name.size++;
        struct word value = {item.at + name.size, item.size - name.size};
        uint32_t bit = 0;
        uint64_t amount = 0;
        if (!choose(calls, name, &bit))
            return 0;
        options->calls |= bit;
        if (!value.size)
            continue;
        value.at++;
        value.size--;
        if (!number(value, bit == LAM_CALLS_THRESHOLD, &amount))
            return 0;
        if (bit == LAM_CALLS_ONE_IN && amount <= UINT32_MAX)
            options->one_in = (uint32_t)amount;
        else if (bit == LAM_CALLS_THRESHOLD)
            options->threshold_ns = amount;
        else if (bit == LAM_CALLS_TREE)
            options->tree_bytes = amount;
        else if (bit == LAM_CALLS_AUTO)
            options->auto_bytes = amount;
        else
            return 0;
    }
    return 1;
}

static __thread char kinds_copy[512];

static int parse_kinds(struct lam_options *options, struct word value)
{
    if (value.size >= sizeof kinds_copy)
        return 0;
    __builtin_memcpy(kinds_copy, value.at, value.size);
    kinds_copy[value.size] = 0;
    options->kinds = kinds_copy;
    return 1;
}

static int parse_one(struct lam_options *options, struct word key, struct word value)
{
    if (is_word(key, "max_bytes"))
        return number(value, 0, &options->max_bytes);
    if (is_word(key, "mode"))
        return choose(modes, value, &options->mode);
    if (is_word(key, "clock"))
        return choose(clocks, value, &options->clock);
    if (is_word(key, "counters"))
        return parse_counters(options, value.at, value.at + value.size);
    if (is_word(key, "calls"))
        return parse_calls(options, value.at, value.at + value.size);
    if (is_word(key, "kinds"))
        return parse_kinds(options, value);
    return 0;
}

int lam_options_parse(struct lam_options *options, const char *text)
{
    struct lam_options changed = *options;
    if (!text)
        return LAM_E_INVAL;
    while (*text) {
        struct word item = take(&text, ",");
        struct word key = {item.at, 0};
        while (key.size < item.size && item.at[key.size] != '=')
            key.size++;
        if (key.size == item.size)
            return LAM_E_INVAL;
        struct word value = {item.at + key.size + 1, item.size - key.size - 1};
        if (!parse_one(&changed, key, value))
            return LAM_E_INVAL;
    }
    *options = changed;
    return LAM_OK;
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
