/* Marker files of users: any bytes are read or refused, and what was read classifies a stack of the file's own words. */
#include <stdint.h>
#include <string.h>

#include "phase/classifier.h"

static void classify_words(struct classifier *cls, const char *text, size_t size)
{
    uint32_t state = 0, module = 0, bucket;
    for (size_t at = 0; at < size;) {
        size_t length = 0;
        while (at + length < size && text[at + length] != ' ' && text[at + length] != '\n')
            length++;
        struct classifier_name names[2] = {{text + at, length}, {text, at}};
        uint32_t frame_class;
        if (classifier_module(cls, text + at, length, &module) < 0 ||
            classifier_frame(cls, module, names, length % 3, &frame_class) < 0 ||
            classifier_push(cls, state, frame_class, &state) < 0)
            return;
        struct classifier_thread thread =
            classifier_thread(cls, "/x/rustc", text + at, length, at == 0);
        classifier_decide(cls, state, thread.fallback, &bucket);
        at += length + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct marker_set set = {0};
    struct lam_error err = LAM_ERROR_INIT;
    const char *text = (const char *)data;
    if (marker_set_add(&set, "fuzz.markers", text, size, &err) < 0) {
        marker_set_free(&set);
        return 0;
    }
    struct classifier *cls;
    if (classifier_open_set(&cls, &set, &err) == LAM_OK) {
        classify_words(cls, text, size);
        classifier_close(&cls);
    }
    return 0;
}
