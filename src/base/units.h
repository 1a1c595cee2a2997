/* Numbers for people, the one way. printf("%s of %s", unit_seconds(s).text, unit_bytes(b).text):
 * the result is a value. "Not measured" (NaN) prints as "-". Independent of the locale. */
#ifndef LAMELLA_BASE_UNITS_H
#define LAMELLA_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit_text {
    char text[32];
};

/* 0 s, 640 ns, 12.3 µs, 456 ms, 1.23 s, 12.3 s, 2 min 05 s, 3 h 07 min. Three digits below a
 * minute. */
struct unit_text unit_seconds(double seconds);

/* 0 B, 512 B, 1.2 kB, 45.6 MB, 1.23 GB: powers of 1000, three digits. */
struct unit_text unit_bytes(double bytes);

/* 999, 12,345, 1,234,567: exact, with thousands. */
struct unit_text unit_count(uint64_t count);

/* What a noun takes after a count: "" of one, "s" of all others. "%s label%s". */
const char *unit_plural(uint64_t count);

/* What else goes with a count: "was" of one, "were" of all others; "process", "processes". */
const char *unit_either(uint64_t count, const char *one, const char *many);

/* 12.3k, 4.56M, 1.2G: three digits, for narrow places. */
struct unit_text unit_count_short(double count);

/* A share of 1 as 45.6%, 0.1%, <0.1% for what is above 0, 100%. */
struct unit_text unit_percent(double share);

/* The same with a sign, for differences: +4.5%, -0.3%, 0.0%. */
struct unit_text unit_percent_signed(double share);

/* 1,234 with `decimals` digits behind the point. */
struct unit_text unit_number(double value, int decimals);

/* Cores kept busy: 1.6, 0.04, <0.01 for what is above 0. */
struct unit_text unit_cores(double cores);

/* "2026-11-29 22:48:54" local time from seconds since 1970. */
struct unit_text unit_date(int64_t unix_seconds);

/* Reads "10", "10s", "1.5 ms", "250us", "3m", "3min", "2h"; a bare number is seconds. False when it
 * is none, negative or not finite. */
bool unit_parse_seconds(const char *text, double *seconds);

/* Reads "4096", "64k", "64kB", "1.5M", "2G", "1T" (powers of 1000) and "64KiB", "2GiB" (powers of
 * 1024). False when it is none, negative or does not fit. */
bool unit_parse_bytes(const char *text, uint64_t *bytes);

/* Decimal digits alone, all of the text, that fit. */
bool unit_parse_u64(const char *text, uint64_t *value);

/* A finite decimal number, all of the text, independent of the locale. */
bool unit_parse_double(const char *text, double *value);

#endif
