#include "input/profdata_string_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/map.h"
#include "input/profdata_args_check_test.h"
#include "input/profdata_make_test.h"

enum { IDS = 900, TEXTS = 60 };

static uint64_t seed;

static uint64_t any(uint64_t below)
{
    seed = hash_u64(seed + 0x9e3779b97f4a7c15);
    return (seed >> 20) % below;
}

/* Texts that begin with one another, of all lengths, now and then with a byte that is not plain or ends an argument. */
static void make_texts(struct made *made, uint64_t *texts)
{
    static const char *const odd[] = {"\"", "\\", "\x7f", "\xc3\xa9", "\n", "\x1e"};
    for (size_t i = 0; i < TEXTS; i++) {
        struct strbuf text = {0};
        strbuf_add_fill(&text, (char)('a' + i % 26), any(any(4) ? 40 : 400));
        if (any(12) == 0)
            strbuf_add(&text, odd[any(sizeof odd / sizeof *odd)]);
        strbuf_add_fill(&text, '.', any(20));
        uint64_t from = i && any(3) ? texts[i - 1 - any(i < 9 ? i : 9)] : 0;
        texts[i] = from ? made_reference(made, from, strbuf_text(&text))
                        : made_text(made, strbuf_text(&text));
        strbuf_free(&text);
    }
    texts[TEXTS / 2] = 5; /* a virtual id */
    texts[TEXTS / 3] = made->streams[1].length + PROFDATA_FIRST_ADDRESS_ID;
    made_reference(made, texts[TEXTS / 3], "itself");
}

static void make_ids(struct made *made, uint64_t *labels, size_t label_count)
{
    uint64_t texts[TEXTS];
    make_texts(made, texts);
    for (uint64_t id = 10; id < IDS; id++) {
        uint64_t label = labels[any(label_count)];
        uint64_t with_argument = made_bytes(made, "\xfe", 1);
        made_id(made, &made->streams[1], label);
        made_bytes(made, "\x1e\xfe", 2);
        made_id(made, &made->streams[1],
                any(40) ? texts[any(TEXTS)] : PROFDATA_FIRST_ADDRESS_ID << 1);
        made_text(made, any(30) ? "" : "more");
        made_map(made, id, with_argument);
    }
}

static int check_all(struct profdata_strings *strings, bool is_fetched)
{
    struct strbuf room = {0}, text = {0};
    int found = 0;
    for (uint64_t id = 0; id < IDS + 10; id++) {
        for (unsigned step = 0; is_fetched && step <= PROFDATA_FETCH_ARGUMENT; step++)
            profdata_args_fetch(strings, id + 1 - step, (enum profdata_fetch)step);
        int rc = profdata_args_check(strings, id, &room, &text);
        if (rc < 0)
            fail_msg("id %u: %s", (unsigned)id, strbuf_text(&text));
        found += rc;
    }
    strbuf_free(&room);
    strbuf_free(&text);
    return found;
}

static int check_file(struct made *made, size_t page_bytes)
{
    struct profdata_file file;
    struct profdata_strings strings;
    struct intern names = {.count = 0};
    const struct strbuf *bytes = made_file(made, page_bytes);
    assert_int_equal(profdata_open_memory(&file, bytes->data, bytes->length, "made", NULL), LAM_OK);
    assert_int_equal(profdata_strings_open(&strings, &file, &names, true, NULL), LAM_OK);
    int found = check_all(&strings, false);
    assert_int_equal(check_all(&strings, true), found);
    assert_int_equal(check_all(&strings, false), found); /* with what is kept */
    profdata_strings_close(&strings);
    profdata_close(&file);
    intern_free(&names);
    return found;
}

static void the_short_way_and_the_long_one_agree(void **state)
{
    (void)state;
    for (uint32_t version = 8; version <= 9; version++) {
        struct made made;
        made_begin(&made, version);
        made_metadata(&made);
        uint64_t labels[3] = {made_text(&made, "typeck"),
                              made_text(&made, "a\x1e"
                                               "b"),
                              0};
        labels[2] = made_reference(&made, labels[0], "");
        seed = version;
        make_ids(&made, labels, 1);
        int found = check_file(&made, 1 << 20);
        if (found < IDS / 2) /* most are as rustc writes them */
            fail_msg("%d", found);
        assert_true(check_file(&made, 500) > 0); /* some lie across two pages */
        assert_int_equal(check_file(&made, 3), 0);
        make_ids(&made, labels, 3); /* again, and the last of an id counts */
        assert_in_range(check_file(&made, 1 << 20), 1, IDS / 2);
        made_free(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_short_way_and_the_long_one_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
