/* Any bytes as a trace of clang's, and as headers.json. */
#include <stddef.h>
#include <stdint.h>

#include "build/header_costs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct header_costs costs = {0}, stored;
    struct lam_error err = LAM_ERROR_INIT;
    (void)header_costs_add(&costs, (const char *)data, size, "fuzz", &err);
    (void)header_costs_add(&costs, (const char *)data, size / 2, "fuzz", &err);
    header_costs_sort(&costs);
    header_costs_free(&costs);
    if (header_costs_parse(&stored, (const char *)data, size, "fuzz", &err) >= 0)
        header_costs_free(&stored);
    return 0;
}
