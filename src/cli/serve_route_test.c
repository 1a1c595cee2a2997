#include "cli/serve_route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define OURS  "127.0.0.1:8000"

static void test_routes(void **state)
{
    (void)state;
    static const struct {
        struct serve_request request;
        struct serve_answer answer;
    } rows[] = {
        {{"GET", "/" TOKEN "/", OURS, NULL, NULL, NULL}, {200, SERVE_LIST, 0, 0}},
        {{"HEAD", "/" TOKEN "/", "localhost:8000", "none", NULL, NULL}, {200, SERVE_LIST, 0, 0}},
        {{"GET", "/" TOKEN "/page/1", OURS, "same-origin", NULL, NULL}, {200, SERVE_PAGE, 1, 0}},
        {{"GET", "/" TOKEN "/compare", OURS, NULL, "0", "2"}, {200, SERVE_COMPARISON, 0, 2}},
        /* There are three recordings. */
        {{"GET", "/" TOKEN "/page/3", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/page/-1", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/page/../0", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/page/", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/compare", OURS, NULL, "0", NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/../../etc/passwd", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        /* Not the token. */
        {{"GET", "/", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN, OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/1123456789abcdef0123456789abcdef/", OURS, NULL, NULL, NULL},
         {404, SERVE_NOTHING, 0, 0}},
        {{"GET", "/0123456789abcdef0123456789abcdee/page/0", OURS, NULL, NULL, NULL},
         {404, SERVE_NOTHING, 0, 0}},
        /* Addresses come as they were sent: none of ours has an escaped byte, and a NUL is nobody's. */
        {{"GET", "/" TOKEN "/%00", OURS, NULL, NULL, NULL}, {400, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/page/0%00x", OURS, NULL, NULL, NULL}, {400, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/page/%30", OURS, NULL, NULL, NULL}, {404, SERVE_NOTHING, 0, 0}},
        /* Another name than loopback's, or none. */
        {{"GET", "/" TOKEN "/", "evil.example:8000", NULL, NULL, NULL}, {421, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/", "127.0.0.1", NULL, NULL, NULL}, {421, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/", "127.0.0.1:80001", NULL, NULL, NULL}, {421, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/", NULL, NULL, NULL, NULL}, {421, SERVE_NOTHING, 0, 0}},
        /* Nothing can be changed. */
        {{"POST", "/" TOKEN "/", OURS, NULL, NULL, NULL}, {405, SERVE_NOTHING, 0, 0}},
        {{"OPTIONS", "/" TOKEN "/", OURS, NULL, NULL, NULL}, {405, SERVE_NOTHING, 0, 0}},
        {{NULL, "/" TOKEN "/", OURS, NULL, NULL, NULL}, {405, SERVE_NOTHING, 0, 0}},
        /* Another site asks. */
        {{"GET", "/" TOKEN "/", OURS, "cross-site", NULL, NULL}, {403, SERVE_NOTHING, 0, 0}},
        {{"GET", "/" TOKEN "/", OURS, "same-site", NULL, NULL}, {403, SERVE_NOTHING, 0, 0}},
    };
    struct serve_site site = {.token = TOKEN, .port = 8000, .recordings = 3};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct serve_answer answer = serve_route(&site, &rows[i].request);
        if (answer.status != rows[i].answer.status || answer.what != rows[i].answer.what)
            fail_msg("row %zu: status %u, what %d", i, answer.status, (int)answer.what);
        if (answer.what != SERVE_NOTHING) {
            assert_int_equal(answer.first, rows[i].answer.first);
            assert_int_equal(answer.second, rows[i].answer.second);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_routes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
