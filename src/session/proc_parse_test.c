#include "session/proc_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

#define TAIL \
    " 7 7 0 -1 4194560 100 0 0 0 12 34 0 0 20 0 5 0 987654 1000000 250 18446744073709551615 1 1"

static void stat_fields(void **state)
{
    static const struct {
        const char *text;
        int code;
        uint32_t pid, ppid;
        char process_state;
        const char *comm;
    } rows[] = {
        {"42 (cc1) R 41" TAIL, LAM_OK, 42, 41, 'R', "cc1"},
        {"42 (a b) 12 [003]) S 41" TAIL "\n", LAM_OK, 42, 41, 'S', "a b) 12 [003]"},
        {"42 (two\nlines) Z 41" TAIL, LAM_OK, 42, 41, 'Z', "two\nlines"},
        {"42 () S 41" TAIL, LAM_OK, 42, 41, 'S', ""},
        {"42 ()) S 41" TAIL, LAM_OK, 42, 41, 'S', ")"},
        {"42 (x) S 9 9 9) S 41" TAIL, LAM_OK, 42, 41, 'S', "x) S 9 9 9"},
        {"1 (init) S 0" TAIL, LAM_OK, 1, 0, 'S', "init"},
        {"42 (cut) S 41 7 7 7 0", LAM_E_CORRUPT, 0, 0, 0, NULL},
        {"42 (cut", LAM_E_CORRUPT, 0, 0, 0, NULL},
        {"42 (cut)", LAM_E_CORRUPT, 0, 0, 0, NULL},
        {"42", LAM_E_CORRUPT, 0, 0, 0, NULL},
        {"", LAM_E_CORRUPT, 0, 0, 0, NULL},
        {"(no pid) S 41" TAIL, LAM_E_CORRUPT, 0, 0, 0, NULL},
        {"99999999999 (far) S 41" TAIL, LAM_E_CORRUPT, 0, 0, 0, NULL},
        {"42 (x) S forty" TAIL, LAM_E_CORRUPT, 0, 0, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct proc_stat stat = {0};
        print_message("row %zu\n", i);
        assert_int_equal(proc_parse_stat(rows[i].text, strlen(rows[i].text), &stat), rows[i].code);
        if (rows[i].code != LAM_OK)
            continue;
        assert_int_equal(stat.pid, rows[i].pid);
        assert_int_equal(stat.ppid, rows[i].ppid);
        assert_int_equal(stat.state, rows[i].process_state);
        assert_int_equal(stat.comm_bytes, strlen(rows[i].comm));
        assert_memory_equal(stat.comm, rows[i].comm, stat.comm_bytes);
        assert_int_equal(stat.user_ticks, 12);
        assert_int_equal(stat.sys_ticks, 34);
        assert_int_equal(stat.threads, 5);
        assert_int_equal(stat.kernel_start, 987654);
        assert_int_equal(stat.rss_pages, 250);
    }
}

static void inner_pids(void **state)
{
    static const struct {
        const char *text;
        int code;
        uint32_t pid;
    } rows[] = {
        {"Name:\tsh\nNSpid:\t4711\t17\t1\nNSpgid:\t4711\t17\t1\n", LAM_OK, 1},
        {"NSpid:\t4711\n", LAM_OK, 4711},
        {"NSpid:\t47", LAM_OK, 47}, /* cut */
        {"Name:\tNSpid:\t5\nPid:\t3\n", LAM_E_NOTFOUND, 0},
        {"NSpid:\t\n", LAM_E_CORRUPT, 0},
        {"NSpid:\tx\n", LAM_E_CORRUPT, 0},
        {"NSpid:\t99999999999\n", LAM_E_CORRUPT, 0},
        {"", LAM_E_NOTFOUND, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t pid = 0;
        assert_int_equal(proc_parse_inner_pid(rows[i].text, strlen(rows[i].text), &pid),
                         rows[i].code);
        assert_int_equal(pid, rows[i].pid);
    }
}

/* Every cut of a good line is refused or reads the same numbers, and nothing is read beyond the cut. */
static void stat_cut_anywhere(void **state)
{
    const char *text = "42 (a b) 12 [003]) S 41" TAIL;
    (void)state;
    for (size_t length = 0; length <= strlen(text); length++) {
        char *copy = test_malloc(length + 1);
        struct proc_stat stat = {0};
        memcpy(copy, text, length);
        if (proc_parse_stat(copy, length, &stat) == LAM_OK)
            assert_int_equal(stat.pid, 42);
        test_free(copy);
    }
}

static void long_comm_is_cut(void **state)
{
    char text[512];
    struct proc_stat stat;
    (void)state;
    snprintf(text, sizeof text, "42 (%0200d) S 41" TAIL, 7);
    assert_int_equal(proc_parse_stat(text, strlen(text), &stat), LAM_OK);
    assert_int_equal(stat.comm_bytes, PROC_COMM_BYTES);
}

static void cpu_line(void **state)
{
    const char *text = "cpu  100 5 50 1000 200 3 4 7 0 0\ncpu0 50 2 25 500 100 1 2 3 0 0\n";
    struct proc_cpu cpu;
    (void)state;
    assert_int_equal(proc_parse_cpu(text, strlen(text), &cpu), LAM_OK);
    assert_int_equal(cpu.busy, 100 + 5 + 50 + 3 + 4 + 7);
    assert_int_equal(cpu.idle, 1200);
    assert_int_equal(proc_parse_cpu("cpu0 1 2 3", 10, &cpu), LAM_E_CORRUPT);
    assert_int_equal(proc_parse_cpu("cpu  1 2 3", 10, &cpu), LAM_E_CORRUPT);
    assert_int_equal(proc_parse_cpu("", 0, &cpu), LAM_E_CORRUPT);
}

static void load_and_pressure(void **state)
{
    double load;
    uint64_t total;
    (void)state;
    assert_int_equal(proc_parse_load("12.34 1.00 0.50 1/95 20544\n", 27, &load), LAM_OK);
    assert_true(load > 12.339 && load < 12.341);
    assert_int_equal(proc_parse_load("x", 1, &load), LAM_E_CORRUPT);
    const char *text =
        "some avg10=0.63 avg60=6.11 avg300=6.11 total=42131861\nfull avg10=0.00 total=7\n";
    assert_int_equal(proc_parse_pressure(text, strlen(text), &total), LAM_OK);
    assert_int_equal(total, 42131861);
    assert_int_equal(proc_parse_pressure("full avg10=0 total=7\n", 21, &total), LAM_E_CORRUPT);
    assert_int_equal(proc_parse_pressure("some avg10=0\nfull total=7\n", 26, &total), LAM_E_CORRUPT);
}

static void meminfo(void **state)
{
    const char *text =
        "MemTotalX:  1 kB\nMemTotal:       24684084 kB\nMemFree: 99999999999999999999 kB\n";
    uint64_t bytes = 0;
    (void)state;
    assert_int_equal(proc_parse_meminfo(text, strlen(text), "MemTotal", &bytes), LAM_OK);
    assert_int_equal(bytes, 24684084ull * 1024);
    assert_int_equal(proc_parse_meminfo(text, strlen(text), "MemFree", &bytes), LAM_E_CORRUPT);
    assert_int_equal(proc_parse_meminfo(text, strlen(text), "SwapTotal", &bytes), LAM_E_NOTFOUND);
}

static void statm_tells_shared_pages_apart(void **unused)
{
    (void)unused;
    uint64_t resident = 7, shared = 7;
    assert_int_equal(proc_parse_statm("90 50 20 1 0 30 0\n", 18, &resident, &shared), LAM_OK);
    assert_int_equal(resident, 50);
    assert_int_equal(shared, 20);
    assert_int_equal(proc_parse_statm("90 50 70 1\n", 11, &resident, &shared), LAM_OK);
    assert_int_equal(shared, 50); /* read while it changed */
    assert_int_equal(proc_parse_statm("90 50", 5, &resident, &shared), LAM_E_CORRUPT);
    assert_int_equal(proc_parse_statm("", 0, &resident, &shared), LAM_E_CORRUPT);
    assert_int_equal(proc_parse_statm("a b c", 5, &resident, &shared), LAM_E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_fields),       cmocka_unit_test(inner_pids),
        cmocka_unit_test(stat_cut_anywhere), cmocka_unit_test(long_comm_is_cut),
        cmocka_unit_test(cpu_line),          cmocka_unit_test(load_and_pressure),
        cmocka_unit_test(meminfo),           cmocka_unit_test(statm_tells_shared_pages_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
