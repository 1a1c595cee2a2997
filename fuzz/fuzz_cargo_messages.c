/* Any bytes as the list that cargo writes with --message-format=json: read, kept, and read again; beside a record of the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "build/cargo_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cargo_record record, again;
    struct strbuf kept = {0};
    int rc = cargo_messages_parse(&record, (const char *)data, size, "fuzz", NULL);
    if (rc < 0)
        return 0;
    if (cargo_messages_keep((const char *)data, size, &kept) == LAM_OK &&
        cargo_messages_parse(&again, strbuf_text(&kept), kept.length, "fuzz", NULL) == LAM_OK) {
        if (again.units.count != record.units.count)
            abort(); /* what is kept says the same */
        (void)cargo_record_take_messages(&record, &again);
        cargo_record_free(&again);
    }
    strbuf_free(&kept);
    cargo_record_free(&record);
    return 0;
}
