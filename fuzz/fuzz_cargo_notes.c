/* Any bytes as cargo.json, as artifacts.json, as the answer of `cargo metadata`, and as a unit's fingerprint. */
#include <stddef.h>
#include <stdint.h>

#include "build/cargo_fingerprint.h"
#include "build/cargo_metadata.h"
#include "build/cargo_notes.h"
#include "build/unit_artifacts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_fingerprint(const uint8_t *data, size_t size)
{
    struct fingerprint items[3] = {
        {.place = "debug", .package = "a", .hash = "0", .unit = "lib-a"},
        {.place = "debug", .package = "b", .hash = "0", .unit = "lib-b"},
        {.place = "debug", .package = "c", .hash = "0", .unit = "run-build-script-c"}};
    for (int i = 0; i < 3; i++) {
        items[i].json = (const char *)data;
        items[i].json_bytes = i ? size : size / 2;
        items[i].inputs = data;
        items[i].input_bytes = size;
        items[i].value = (uint64_t)i + 1;
        items[i].inputs_ns = 1;
    }
    struct fingerprint old[2] = {items[0], items[2]};
    struct fingerprints before = {.items = {old, 2, 2}}, after = {.items = {items, 3, 3}};
    struct package_dir own[] = {{"a", "/nowhere"}, {"c", "/nowhere"}};
    struct package_dirs dirs = {own, 2, 2};
    struct build_causes causes;
    old[0].built_ns = 1;
    old[1].built_ns = 1; /* what a script looks at is newer than that at first sight */
    if (build_causes_find(&causes, &before, &after, &dirs) == LAM_OK)
        build_causes_free(&causes);
    struct fingerprint_inputs inputs = fingerprint_inputs(&items[0]);
    struct fingerprint_input input;
    while (fingerprint_next_input(&inputs, &input)) {
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cargo_notes notes;
    struct cargo_metadata metadata;
    struct lam_error err = LAM_ERROR_INIT;
    if (cargo_notes_parse(&notes, (const char *)data, size, "fuzz", &err) >= 0)
        cargo_notes_free(&notes);
    if (cargo_metadata_parse(&metadata, (const char *)data, size, &err) >= 0)
        cargo_metadata_free(&metadata);
    struct artifact_list artifacts;
    if (artifact_list_parse(&artifacts, (const char *)data, size, "fuzz", &err) >= 0)
        artifact_list_free(&artifacts);
    read_fingerprint(data, size);
    return 0;
}
