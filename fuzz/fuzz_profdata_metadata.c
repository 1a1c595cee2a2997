/* Any bytes as the metadata of a self-profile. */
#include <stddef.h>
#include <stdint.h>

#include "input/profdata_metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profdata_metadata meta;
    (void)profdata_metadata_parse(&meta, (const char *)data, size);
    (void)profdata_crate_name(&meta);
    profdata_metadata_free(&meta);
    return 0;
}
