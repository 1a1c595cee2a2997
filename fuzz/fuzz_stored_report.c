/* Any bytes as a stored report, compared with a good one. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analysis/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char good[] =
        "{\"format\": \"lamella-report\", \"intervals\": {\"self_s\": 1}, \"activities\": "
        "[{\"kind\": \"Query\", \"label\": \"a\", \"self_s\": 1, \"count\": 2}]}";
    struct run_matrix matrix = {0};
    struct compare compare;
    struct compare_options options = {.metric = RUN_SELF};
    struct lam_error err = LAM_ERROR_INIT;
    if (run_matrix_begin(&matrix, "good", 0) >= 0 &&
        run_matrix_add_json(&matrix, good, strlen(good), "good", &err) >= 0 &&
        run_matrix_begin(&matrix, "fuzz", 1) >= 0 &&
        run_matrix_add_json(&matrix, data, size, "fuzz", &err) >= 0) {
        if (compare_make(&compare, &matrix, &options, &err) >= 0 && !compare.judged)
            err.code = LAM_OK;
        compare_free(&compare);
    }
    run_matrix_free(&matrix);
    return 0;
}
