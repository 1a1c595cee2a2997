#include "base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"

static const struct unit_text not_measured = {"-"};

/* printf with the point of the C locale, whatever the locale. */
__attribute__((format(printf, 1, 2))) static struct unit_text format(const char *fmt, ...)
{
    struct unit_text out;
    va_list args;
    va_start(args, fmt);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above
    vsnprintf(out.text, sizeof out.text, fmt, args);
    va_end(args);
    number_fix_point(out.text);
    return out;
}

/* How many decimals show three digits of a value below 1000. */
static int decimals_for(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static struct unit_text scaled_seconds(double seconds)
{
    static const struct {
        double unit;
        const char *name;
    } rows[] = {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = seconds / rows[i].unit;
        if (value < 999.5)
            return format("%.*f %s",
                          i == 0 || value >= 99.95 ? 0
                          : value < 9.995          ? 2
                                                   : 1,
                          value, rows[i].name);
    }
    return format("%.*f s", seconds < 9.995 ? 2 : 1, seconds);
}

struct unit_text unit_seconds(double seconds)
{
    if (isnan(seconds))
        return not_measured;
    if (seconds < 0) {
        struct unit_text positive = unit_seconds(-seconds);
        return format("-%.30s", positive.text);
    }
    if (seconds == 0)
        return format("0 s");
    if (seconds < 59.95)
        return scaled_seconds(seconds);
    if (seconds > 1e15)
        return format("%.3g s", seconds);
    uint64_t whole = (uint64_t)(seconds + 0.5);
    if (whole < 3600)
        return format("%u min %02u s", (unsigned)(whole / 60), (unsigned)(whole % 60));
    uint64_t minutes = (uint64_t)(seconds / 60 + 0.5);
    return format("%llu h %02u min", (unsigned long long)(minutes / 60), (unsigned)(minutes % 60));
}

/* value in units of 1000^n with three digits; names[0] is for what is below 1000. */
static struct unit_text scaled(double value, const char *const *names, size_t count, const char *space)
{
    double magnitude = fabs(value);
    if (magnitude < 999.5)
        return format("%.*f%s%s", value == trunc(value) ? 0 : decimals_for(magnitude), value,
                      names[0][0] ? space : "", names[0]);
    size_t i = 0;
    while (magnitude >= 999.5 && i + 1 < count) {
        magnitude /= 1000;
        value /= 1000;
        i++;
    }
    if (magnitude >= 1e9)
        return format("%.3g%s%s", value, space, names[i]);
    return format("%.*f%s%s", decimals_for(magnitude), value, space, names[i]);
}

struct unit_text unit_bytes(double bytes)
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    return isnan(bytes) ? not_measured : scaled(bytes, names, sizeof names / sizeof *names, " ");
}

const char *unit_plural(uint64_t count)
{
    return unit_either(count, "", "s");
}

const char *unit_either(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

struct unit_text unit_count_short(double count)
{
    static const char *const names[] = {"", "k", "M", "G", "T"};
    return isnan(count) ? not_measured : scaled(count, names, sizeof names / sizeof *names, "");
}

/* Copies digits with a comma before each group of three. */
static struct unit_text group_digits(const char *digits, const char *rest)
{
    struct unit_text out;
    size_t length = strlen(digits), at = 0;
    for (size_t i = 0; i < length && at + 2 < sizeof out.text; i++) {
        if (i && (length - i) % 3 == 0 && digits[i - 1] != '-')
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    snprintf(out.text + at, sizeof out.text - at, "%s", rest);
    return out;
}

struct unit_text unit_count(uint64_t count)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    return group_digits(digits, "");
}

struct unit_text unit_number(double value, int decimals)
{
    if (isnan(value))
        return not_measured;
    if (isinf(value) || fabs(value) >= 1e15)
        return format("%.3g", value);
    struct unit_text plain = format("%.*f", decimals < 0 ? 0 : decimals > 9 ? 9 : decimals, value);
    char *point = strchr(plain.text, '.');
    struct unit_text rest = {""};
    if (point) {
        memcpy(rest.text, point, strlen(point) + 1);
        *point = 0;
    }
    return group_digits(plain.text, rest.text);
}

struct unit_text unit_cores(double cores)
{
    if (cores > 0 && cores < 0.005)
        return format("<0.01");
    return unit_number(cores, cores > 0 && cores < 0.095 ? 2 : 1);
}

struct unit_text unit_percent(double share)
{
    double percent = share * 100;
    if (isnan(percent))
        return not_measured;
    if (percent > 0 && percent < 0.05)
        return format("<0.1%%");
    if (percent == 0)
        return format("0%%");
    /* 100% is for all of it; what rounds to it is not all. */
    if (percent < 100 && percent >= 99.95)
        return format("99.9%%");
    if (percent == 100)
        return format("100%%");
    return format("%.1f%%", fabs(percent) > 1e15 ? (percent > 0 ? HUGE_VAL : -HUGE_VAL) : percent);
}

struct unit_text unit_percent_signed(double share)
{
    double percent = share * 100;
    if (isnan(percent))
        return not_measured;
    if (fabs(percent) < 0.05)
        return format("0.0%%");
    return format("%+.1f%%", fabs(percent) > 1e15 ? (percent > 0 ? HUGE_VAL : -HUGE_VAL) : percent);
}

struct unit_text unit_date(int64_t unix_seconds)
{
    struct unit_text out = not_measured;
    time_t when = (time_t)unix_seconds;
    struct tm parts;
    if (!localtime_r(&when, &parts) || parts.tm_year < -1900 || parts.tm_year > 9999 - 1900)
        return out;
    strftime(out.text, sizeof out.text, "%Y-%m-%d %H:%M:%S", &parts);
    return out;
}

/* Reads a plain decimal number ("12", "1.5", "1e3", ".5") at the start of text. Returns what
 * follows, NULL when there is none. */
static const char *parse_number(const char *text, double *value)
{
    char copy[64] = "0";
    size_t length = strspn(text, "0123456789.eE+-");
    /* The grammar of number_parse() has no ".5", "5.", "007", and no number ends in its "e". */
    const char *digits = text + strspn(text, "0");
    size_t zeros = (size_t)(digits - text);
    bool is_led = digits[0] >= '1' && digits[0] <= '9';
    size_t skipped = is_led || !zeros ? zeros : zeros - 1;
    bool needs_zero = text[0] == '.';
    if (!length || length - skipped + 1 >= sizeof copy || text[0] == '-' || text[0] == '+')
        return NULL;
    memcpy(copy + needs_zero, text + skipped, length - skipped);
    copy[needs_zero + length - skipped] = 0;
    struct number number;
    size_t taken = number_parse(copy, needs_zero + length - skipped, &number);
    if (!taken || !isfinite(number.value))
        return NULL;
    *value = number.value;
    return text + skipped + taken - needs_zero;
}

struct unit_factor {
    const char *name;
    double factor;
};

/* The factor of the unit that is all of text (after spaces); 0 when there is none. */
static double factor_of(const char *text, const struct unit_factor *rows)
{
    text += strspn(text, " ");
    for (; rows->name; rows++) {
        if (strcmp(text, rows->name) == 0)
            return rows->factor;
    }
    return 0;
}

bool unit_parse_seconds(const char *text, double *seconds)
{
    static const struct unit_factor rows[] = {
        {"", 1},    {"s", 1},     {"ms", 1e-3}, {"us", 1e-6},  {"µs", 1e-6}, {"ns", 1e-9},
        {"m", 60.}, {"min", 60.}, {"h", 3600.}, {"d", 86400.}, {NULL, 0},
    };
    double value = 0;
    const char *rest = parse_number(text, &value);
    double factor = rest ? factor_of(rest, rows) : 0;
    if (factor == 0 || !isfinite(value * factor))
        return false;
    *seconds = value * factor;
    return true;
}

bool unit_parse_bytes(const char *text, uint64_t *bytes)
{
    static const struct unit_factor rows[] = {
        {"", 1},         {"B", 1},       {"k", 1e3},      {"K", 1e3},      {"kB", 1e3},
        {"KB", 1e3},     {"M", 1e6},     {"MB", 1e6},     {"G", 1e9},      {"GB", 1e9},
        {"T", 1e12},     {"TB", 1e12},   {"Ki", 0x1p10},  {"KiB", 0x1p10}, {"Mi", 0x1p20},
        {"MiB", 0x1p20}, {"Gi", 0x1p30}, {"GiB", 0x1p30}, {"Ti", 0x1p40},  {"TiB", 0x1p40},
        {NULL, 0},
    };
    if (unit_parse_u64(text, bytes))
        return true;
    double value = 0;
    const char *rest = parse_number(text, &value);
    double factor = rest ? factor_of(rest, rows) : 0;
    if (factor == 0 || value * factor >= 0x1p64)
        return false;
    *bytes = (uint64_t)(value * factor);
    return true;
}

bool unit_parse_u64(const char *text, uint64_t *value)
{
    uint64_t parsed = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(parsed, 10u, &parsed) ||
            __builtin_add_overflow(parsed, (uint64_t)(*text - '0'), &parsed))
            return false;
    }
    *value = parsed;
    return true;
}

bool unit_parse_double(const char *text, double *value)
{
    bool is_negative = *text == '-';
    double parsed;
    const char *rest = parse_number(text + (is_negative || *text == '+'), &parsed);
    if (!rest || *rest)
        return false;
    *value = is_negative ? -parsed : parsed;
    return true;
}
