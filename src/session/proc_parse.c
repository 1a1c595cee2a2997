#include "session/proc_parse.h"

#include <string.h>

#include "base/error.h"

struct scan {
    const char *at;
    const char *end;
    bool bad;
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
        scan->at++;
}

/* The next decimal, past blanks. A minus sign (tty_nr and priorities may be negative) reads as 0. */
static uint64_t next_number(struct scan *scan)
{
    skip_blanks(scan);
    bool negative = scan->at < scan->end && *scan->at == '-';
    if (negative)
        scan->at++;
    if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9') {
        scan->bad = true;
        return 0;
    }
    uint64_t value = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*scan->at - '0'), &value))
            scan->bad = true;
    return negative ? 0 : value;
}

static void skip_numbers(struct scan *scan, int count)
{
    while (count-- > 0 && !scan->bad)
        next_number(scan);
}

static uint32_t next_pid(struct scan *scan)
{
    uint64_t value = next_number(scan);
    if (value > INT32_MAX)
        scan->bad = true;
    return (uint32_t)value;
}

int proc_parse_stat(const char *text, size_t length, struct proc_stat *stat)
{
    struct scan scan = {text, text + length, false};
    struct proc_stat out = {.pid = next_pid(&scan)};
    skip_blanks(&scan);
    if (scan.bad || scan.at == scan.end || *scan.at != '(')
        return LAM_E_CORRUPT;
    const char *open = scan.at + 1;
    const char *close = memrchr(open, ')', (size_t)(scan.end - open));
    if (!close)
        return LAM_E_CORRUPT;
    size_t comm = (size_t)(close - open);
    out.comm_bytes = (uint8_t)(comm < PROC_COMM_BYTES ? comm : PROC_COMM_BYTES);
    memcpy(out.comm, open, out.comm_bytes);

    scan.at = close + 1;
    skip_blanks(&scan);
    if (scan.at == scan.end)
        return LAM_E_CORRUPT;
    out.state = *scan.at++; /* field 3 */
    out.ppid = next_pid(&scan);
    skip_numbers(&scan, 9); /* pgrp session tty_nr tpgid flags minflt cminflt majflt cmajflt */
    out.user_ticks = next_number(&scan);
    out.sys_ticks = next_number(&scan);
    skip_numbers(&scan, 4); /* cutime cstime priority nice */
    out.threads = next_number(&scan);
    skip_numbers(&scan, 1);                /* itrealvalue */
    out.kernel_start = next_number(&scan); /* field 22 */
    skip_numbers(&scan, 1);                /* vsize */
    out.rss_pages = next_number(&scan);
    if (scan.bad)
        return LAM_E_CORRUPT;
    *stat = out;
    return LAM_OK;
}

int proc_parse_statm(const char *text, size_t length, uint64_t *resident, uint64_t *shared)
{
    struct scan scan = {text, text + length, false};
    skip_numbers(&scan, 1); /* size */
    uint64_t pages = next_number(&scan), of_files = next_number(&scan);
    if (scan.bad)
        return LAM_E_CORRUPT;
    *resident = pages;
    *shared = of_files < pages ? of_files : pages;
    return LAM_OK;
}

int proc_parse_cpu(const char *text, size_t length, struct proc_cpu *cpu)
{
    if (length < 4 || memcmp(text, "cpu ", 4) != 0)
        return LAM_E_CORRUPT;
    struct scan scan = {text + 4, text + length, false};
    uint64_t user = next_number(&scan), nice = next_number(&scan), system = next_number(&scan);
    uint64_t idle = next_number(&scan), iowait = next_number(&scan);
    uint64_t irq = next_number(&scan), softirq = next_number(&scan), steal = next_number(&scan);
    if (scan.bad)
        return LAM_E_CORRUPT;
    /* guest time, which follows, is contained in user already */
    cpu->busy = user + nice + system + irq + softirq + steal;
    cpu->idle = idle + iowait;
    return LAM_OK;
}

int proc_parse_load(const char *text, size_t length, double *load1)
{
    struct scan scan = {text, text + length, false};
    double value = (double)next_number(&scan);
    if (scan.bad || scan.at == scan.end || *scan.at != '.')
        return LAM_E_CORRUPT;
    uint64_t scale = 1, fraction = 0;
    for (scan.at++; scan.at < scan.end && *scan.at >= '0' && *scan.at <= '9' && scale < 1000000;
         scan.at++) {
        scale *= 10;
        fraction = fraction * 10 + (uint64_t)(*scan.at - '0');
    }
    value += (double)fraction / (double)scale;
    *load1 = value;
    return LAM_OK;
}

int proc_parse_pressure(const char *text, size_t length, uint64_t *total_us)
{
    const char *line = length >= 5 && memcmp(text, "some ", 5) == 0 ? text : NULL;
    const char *end = line ? memchr(line, '\n', length) : NULL;
    if (!line)
        return LAM_E_CORRUPT;
    size_t line_bytes = end ? (size_t)(end - line) : length;
    const char *total = memmem(line, line_bytes, "total=", 6);
    if (!total)
        return LAM_E_CORRUPT;
    struct scan scan = {total + 6, line + line_bytes, false};
    uint64_t value = next_number(&scan);
    if (scan.bad)
        return LAM_E_CORRUPT;
    *total_us = value;
    return LAM_OK;
}

/* What follows "KEY:" in a line that begins with it, up to the line's end; NULL when there is no such line. */
static const char *value_of(const char *text, size_t length, const char *key, const char **stop)
{
    size_t key_bytes = strlen(key);
    const char *end = text + length;
    for (const char *line = text; line < end; line = *stop + 1) {
        *stop = memchr(line, '\n', (size_t)(end - line));
        *stop = *stop ? *stop : end;
        if ((size_t)(*stop - line) > key_bytes && memcmp(line, key, key_bytes) == 0 &&
            line[key_bytes] == ':')
            return line + key_bytes + 1;
    }
    return NULL;
}

int proc_parse_inner_pid(const char *text, size_t length, uint32_t *pid)
{
    const char *stop, *value = value_of(text, length, "NSpid", &stop);
    if (!value)
        return LAM_E_NOTFOUND;
    const char *last = stop;
    while (last > value && last[-1] != '\t' && last[-1] != ' ')
        last--;
    struct scan scan = {last, stop, false};
    uint64_t number = next_number(&scan);
    if (scan.bad || number > INT32_MAX)
        return LAM_E_CORRUPT;
    *pid = (uint32_t)number;
    return LAM_OK;
}

int proc_parse_meminfo(const char *text, size_t length, const char *key, uint64_t *bytes)
{
    const char *stop, *value = value_of(text, length, key, &stop);
    if (!value)
        return LAM_E_NOTFOUND;
    struct scan scan = {value, stop, false};
    uint64_t kib = next_number(&scan);
    if (scan.bad || kib > UINT64_MAX / 1024)
        return LAM_E_CORRUPT;
    *bytes = kib * 1024;
    return LAM_OK;
}
