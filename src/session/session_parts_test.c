/* The small pure parts of the launcher. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/byteout.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "session/agent_locate.h"
#include "session/build_settings.h"
#include "session/control_file.h"
#include "session/launch.h"
#include "session/program_check.h"
#include "session/recover.h"
#include "session/scratch.h"
#include "session/session_clock.h"
#include "session/session_file.h"
#include "session/session_stub.h"

static char place[] = "/tmp/lamella-parts.XXXXXX";

static int make_place(void **state)
{
    (void)state;
    return mkdtemp(place) ? 0 : -1;
}

static int remove_place(void **state)
{
    (void)state;
    return dir_remove_all(place, NULL);
}

static void put_file(const char *dir, const char *name, const void *bytes, size_t length)
{
    char *path = path_join(dir, name);
    assert_int_equal(file_write_all(path, bytes, length, NULL), LAM_OK);
    mem_free(path);
}

static void preload_values(void **state)
{
    static const struct {
        const char *users, *wanted;
    } rows[] = {
        {NULL, "/l/liblamella-agent.so"},
        {"", "/l/liblamella-agent.so"},
        {"/x/a.so", "/l/liblamella-agent.so:/x/a.so"},
        {"a.so b.so:c.so", "/l/liblamella-agent.so:a.so:b.so:c.so"},
        {" : ", "/l/liblamella-agent.so"},
        {"/old/liblamella-agent.so:a.so", "/l/liblamella-agent.so:a.so"},
        {"/l/liblamella-agent.so", "/l/liblamella-agent.so"},
        {"/x/liblamella-agent.so.6", "/l/liblamella-agent.so:/x/liblamella-agent.so.6"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *value = agent_preload_value("/l/liblamella-agent.so", rows[i].users);
        assert_string_equal(value, rows[i].wanted);
        mem_free(value);
    }
}

static void preload_is_recognised(void **state)
{
    (void)state;
    assert_true(agent_is_preloaded("/l/a.so", "/l/a.so"));
    assert_true(agent_is_preloaded("x.so:/l/a.so y.so", "/l/a.so"));
    assert_false(agent_is_preloaded("/l/a.so.1", "/l/a.so"));
    assert_false(agent_is_preloaded("/k/l/a.so", "/l/a.so"));
    assert_true(agent_is_preloaded("/k/l/a.so:/l/a.so", "/l/a.so"));
    assert_false(agent_is_preloaded(NULL, "/l/a.so"));
    assert_false(agent_is_preloaded("", "/l/a.so"));
    assert_false(agent_is_preloaded("/l/a.so", ""));
}

static void plain_paths(void **state)
{
    (void)state;
    assert_true(agent_path_is_plain("/usr/lib/x86_64/liblamella-agent.so"));
    assert_false(agent_path_is_plain("/a b/x.so"));
    assert_false(agent_path_is_plain("/a:b/x.so"));
    assert_false(agent_path_is_plain("/a$LIB/x.so"));
}

static void scratch_forms(void **state)
{
    static const struct {
        const char *path;
        bool good;
    } rows[] = {
        {"/dev/shm/lamella-rec.aBc123", true},
        {"/run/user/1000/lamella-rec.aBc123", true},
        {"/home/x/r.lamella/.scratch", true},
        {"/dev/shm/lamella-rec.", false},
        {"/dev/shm/lamella-rec.aBc1234", false},
        {"/dev/shm", false},
        {"/", false},
        {"", false},
        {NULL, false},
        {"lamella-rec.aBc123", false},
        {"/dev/shm/lamella-rec.aBc123/..", false},
        {"/dev/shm/../../home/.scratch", false},
        {"/home/x/scratch", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(scratch_has_form(rows[i].path), rows[i].good);
    assert_int_equal(scratch_remove("/etc", NULL), LAM_E_INVAL);
}

static void settings_lose_their_secrets(void **state)
{
    static const struct {
        const char *value, *wanted;
    } rows[] = {
        {"-C target-cpu=native --cfg x", "-C target-cpu=native --cfg x"},
        {"-DAPI_TOKEN=abc -O2", "-DAPI_TOKEN=(removed) -O2"},
        {"--password=x", "--password=(removed)"},
        {"-j8 https://me:pw@host/x", "-j8 https://(removed)@host/x"},
        {"https://host/x@y", "https://(removed)@y"},
        {"a\x1f"
         "b=c",
         "a\x1f"
         "b=c"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        build_settings_scrub(&text, rows[i].value);
        assert_string_equal(strbuf_text(&text), rows[i].wanted);
        strbuf_free(&text);
    }
}

static void only_settings_of_builds_are_written(void **state)
{
    static char *const environment[] = {"HOME=/root",          "RUSTFLAGS=-C opt-level=2",
                                        "MY_RUSTFLAGS=x",      "CARGO_PROFILE_DEV_DEBUG=1",
                                        "CARGO_BUILD_TOKEN=x", "CARGO_REGISTRY_TOKEN=y",
                                        "MAKEFLAGS=",          NULL};
    struct strbuf text = {0};
    struct byteout *out = mem_zalloc(1, sizeof *out);
    struct json_writer json;
    (void)state;
    byteout_init_strbuf(out, &text);
    json_writer_init(&json, out, 0);
    build_settings_write(&json, environment);
    assert_int_equal(json_writer_finish(&json, "settings", NULL), LAM_OK);
    assert_string_equal(strbuf_text(&text),
                        "[{\"key\":\"RUSTFLAGS\",\"value\":\"-C opt-level=2\"},"
                        "{\"key\":\"CARGO_PROFILE_DEV_DEBUG\",\"value\":\"1\"},"
                        "{\"key\":\"CARGO_BUILD_TOKEN\",\"value\":\"(removed)\"},"
                        "{\"key\":\"MAKEFLAGS\",\"value\":\"\"}]\n");
    strbuf_free(&text);
    mem_free(out);
}

static void patterns_fill_the_page(void **state)
{
    const char *only[] = {"cc*", "rustc"}, *skip[] = {"as"};
    struct control_page page = {0};
    struct lam_error error = LAM_ERROR_INIT;
    char big[1025];
    const char *too_big[] = {big};
    (void)state;
    assert_int_equal(control_put_patterns(&page, only, 2, skip, 1, NULL), LAM_OK);
    assert_int_equal(page.only_bytes, 10);
    assert_int_equal(page.skip_bytes, 3);
    assert_memory_equal(page.patterns, "cc*\0rustc\0as", 13);
    memset(big, 'x', 1024);
    big[1024] = '\0';
    assert_int_equal(control_put_patterns(&page, too_big, 1, NULL, 0, &error), LAM_E_USAGE);
    big[1023] = '\0';
    assert_int_equal(control_put_patterns(&page, too_big, 1, NULL, 0, NULL), LAM_OK);
    assert_int_equal(page.only_bytes, 1024);
}

static void control_pages(void **state)
{
    struct control_page content = {.version = 1, .session_id = 77}, *page = NULL, read;
    (void)state;
    memcpy(content.magic, CONTROL_MAGIC, sizeof content.magic);
    assert_int_equal(control_create(place, &content, &page, NULL), LAM_OK);
    assert_int_equal(control_read(place, &read, NULL), LAM_OK);
    assert_int_equal(read.session_id, 77);
    assert_int_equal(read.stop, 0);
    control_set_stop(page);
    assert_int_equal(control_read(place, &read, NULL), LAM_OK);
    assert_int_equal(read.stop, 1);
    control_close(&page);
    assert_int_equal(control_create(place, &content, &page, NULL), LAM_E_EXISTS);
    put_file(place, "control", "short", 5);
    assert_int_equal(control_read(place, &read, NULL), LAM_E_CORRUPT);
    control_stop_orphan(place); /* must not touch what is no page */
    content.version = 2;
    put_file(place, "control", &content, sizeof content);
    assert_int_equal(control_read(place, &read, NULL), LAM_E_UNSUPPORTED);
}

static void exit_codes(void **state)
{
    (void)state;
    assert_int_equal(launch_exit_code(0), 0);
    assert_int_equal(launch_exit_code(42 << 8), 42);
    assert_int_equal(launch_exit_code(255 << 8), 255);
    assert_int_equal(launch_exit_code(SIGKILL), 137);
    assert_int_equal(launch_exit_code(SIGSEGV | 0x80), 139); /* with a core */
}

static void tick_rates(void **state)
{
    struct clock_reading from = {.ticks = 1000, .mono_ns = 500},
                         to = {.ticks = 26000001000u, .mono_ns = 10000000500u};
    (void)state;
    assert_int_equal(session_tick_rate(&from, &to), 2600000000u);
    assert_int_equal(session_tick_rate(&to, &from), 1000000000u);
    assert_int_equal(session_tick_rate(&from, &from), 1000000000u);
    struct clock_reading now = session_clock_read(false);
    assert_int_equal(now.ticks, now.mono_ns);
}

/* What is written reads back, and settling drops the scratch place and nothing else. */
static void session_json_round_trip(void **state)
{
    char argument[] = "a \xff\"\\x41\n", program[] = "prog";
    char *command[] = {program, argument, NULL}, *environment[] = {NULL};
    struct machine_info machine = {.host = "h"};
    struct session_facts facts = {
        .session_id = 0x1234,
        .command = command,
        .environment = environment,
        .cwd = "/c",
        .directory = place,
        .scratch = "/dev/shm/lamella-rec.aBc123",
        .launcher_pid = 4,
        .launcher_start = 5,
        .machine = &machine,
    };
    struct session_stub stub;
    char *text, *path = path_join(place, "session.json");
    size_t length;
    (void)state;
    assert_int_equal(session_json_write(place, &facts, NULL), LAM_OK);
    assert_int_equal(session_stub_read(place, &stub, NULL), LAM_OK);
    assert_string_equal(stub.directory, place);
    assert_string_equal(stub.scratch, facts.scratch);
    assert_string_equal(stub.session_id, "0000000000001234");
    assert_int_equal(stub.launcher_pid, 4);
    assert_int_equal(stub.launcher_start, 5);
    assert_false(stub.complete);
    assert_int_equal(session_state_of(place, &stub), SESSION_GONE);
    session_stub_free(&stub);

    assert_int_equal(file_read_all(path, 1 << 20, &text, &length, NULL), LAM_OK);
    char *before = strstr(text, "\"command\":");
    char *argument_before = mem_strndup(before, strcspn(before, "]"));
    mem_free(text);
    assert_int_equal(session_json_settle(place, place, true, NULL), LAM_OK);
    assert_int_equal(session_json_settle(place, place, true, NULL), LAM_OK); /* again changes nothing */
    assert_int_equal(session_stub_read(place, &stub, NULL), LAM_OK);
    assert_null(stub.scratch);
    assert_true(stub.recovered);
    assert_int_equal(session_state_of(place, &stub), SESSION_FINISHED);
    session_stub_free(&stub);
    assert_int_equal(file_read_all(path, 1 << 20, &text, &length, NULL), LAM_OK);
    assert_non_null(strstr(text, argument_before)); /* not escaped a second time */
    mem_free(argument_before);
    mem_free(text);
    mem_free(path);
}

static void other_json_is_no_recording(void **state)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{}",
                                        "{\"format\": \"other\"}",
                                        "{\"format\": 1}",
                                        "{\"format\": \"lamella-session\"",
                                        "{\"format\": \"lamella-session\", \"command\": 7}"};
    struct session_stub stub;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_file(place, "session.json", texts[i], strlen(texts[i]));
        assert_true(session_stub_read(place, &stub, NULL) < 0);
        assert_int_equal(session_recover(place, false, NULL, NULL), LAM_OK);
    }
    const char *odd = "{\"format\": \"lamella-session\", \"scratch\": \"/etc\", \"launcher_pid\": "
                      "-1, \"elapsed_ns\": \"x\"}";
    put_file(place, "session.json", odd, strlen(odd));
    assert_int_equal(session_stub_read(place, &stub, NULL), LAM_OK);
    assert_int_equal(stub.launcher_pid, 0);
    session_stub_free(&stub);
    /* A hostile scratch place is never gone into. */
    assert_int_equal(session_recover(place, true, NULL, NULL), LAM_E_NOTFOUND);
    assert_true(path_exists("/etc"));
}

static void programs(void **state)
{
    char *script = path_join(place, "script"), *loop = path_join(place, "loop");
    (void)state;
    assert_int_equal(program_check("sh").why_not, STREAM_UNSAMPLED_NO);
    assert_int_equal(program_check("no-such-program-anywhere").why_not, STREAM_UNSAMPLED_NO);
    assert_int_equal(program_check_file("/nonexistent").why_not, STREAM_UNSAMPLED_NO);
    assert_string_equal(program_check_file("/nonexistent").reason, "");
    put_file(place, "script", "#!/bin/sh -e\n", 13);
    assert_int_equal(program_check_file(script).why_not, STREAM_UNSAMPLED_NO);
    struct strbuf text = {0};
    strbuf_addf(&text, "#! %s\n", loop);
    put_file(place, "loop", text.data, text.length);
    assert_int_equal(program_check_file(loop).why_not, STREAM_UNSAMPLED_UNREADABLE); /* ends */
    char small[64] = "\x7f"
                     "ELF\1\1\1"; /* 32 bits */
    put_file(place, "script", small, sizeof small);
    assert_int_equal(program_check_file(script).why_not, STREAM_UNSAMPLED_CLASS);
    assert_true(program_check_file(script).must_drop);
    strbuf_free(&text);
    mem_free(script);
    mem_free(loop);
}

/* Every cut and some flips of a real program: an answer, whatever it is. */
static void damaged_programs(void **state)
{
    char *bytes, *path = path_join(place, "damaged");
    size_t length;
    (void)state;
    assert_int_equal(file_read_all("/bin/true", 1 << 24, &bytes, &length, NULL), LAM_OK);
    for (size_t cut = 0; cut < length; cut += 1 + cut / 3) {
        put_file(place, "damaged", bytes, cut);
        (void)program_check_file(path);
    }
    for (size_t at = 16; at < 64; at++) {
        char kept = bytes[at];
        bytes[at] = (char)0xff;
        put_file(place, "damaged", bytes, length);
        (void)program_check_file(path);
        bytes[at] = kept;
    }
    put_file(place, "damaged", bytes, length);
    assert_int_equal(program_check_file(path).why_not, STREAM_UNSAMPLED_NO);
    mem_free(bytes);
    mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preload_values),
        cmocka_unit_test(preload_is_recognised),
        cmocka_unit_test(plain_paths),
        cmocka_unit_test(scratch_forms),
        cmocka_unit_test(settings_lose_their_secrets),
        cmocka_unit_test(only_settings_of_builds_are_written),
        cmocka_unit_test(patterns_fill_the_page),
        cmocka_unit_test(control_pages),
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(tick_rates),
        cmocka_unit_test(session_json_round_trip),
        cmocka_unit_test(other_json_is_no_recording),
        cmocka_unit_test(programs),
        cmocka_unit_test(damaged_programs),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
