/* The JSON reader on any bytes: memory and stream must give the same events, and what was read and
 * written again must read the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *bytes;
    size_t length, step;
};

static int give(void *ctx, void *buffer, size_t capacity, size_t *got)
{
    struct source *source = ctx;
    size_t count = source->length < source->step ? source->length : source->step;
    if (count > capacity)
        count = capacity;
    if (count)
        memcpy(buffer, source->bytes, count);
    source->bytes += count;
    source->length -= count;
    *got = count;
    return LAM_OK;
}

/* A digest of all events up to the end or the failure, whose code it returns. */
static int digest_events(struct json_reader *json, uint64_t *digest)
{
    int event;
    *digest = 0;
    while ((event = json_next(json)) > 0) {
        *digest = hash_combine(*digest, (uint64_t)event);
        if (event == JSON_KEY || event == JSON_STRING) {
            *digest = hash_combine(*digest, hash_bytes(json->text, json->length));
        } else if (event == JSON_NUMBER) {
            uint64_t bits;
            memcpy(&bits, &json->number, sizeof bits);
            *digest = hash_combine(*digest, bits);
            *digest = hash_combine(*digest, json->magnitude);
        } else if (event == JSON_BOOL) {
            *digest = hash_combine(*digest, json->boolean);
        }
    }
    struct lam_error err = LAM_ERROR_INIT;
    if (json_error(json, "input", &err) != event)
        abort();
    return event;
}

static void copy_event(struct json_reader *json, struct json_writer *writer, int event)
{
    switch (event) {
    case JSON_OBJECT_BEGIN:
        json_put_object(writer);
        break;
    case JSON_ARRAY_BEGIN:
        json_put_array(writer);
        break;
    case JSON_KEY:
        json_put_key_n(writer, json->text, json->length);
        break;
    case JSON_STRING:
        json_put_str_n(writer, json->text, json->length);
        break;
    case JSON_NUMBER:
        if (json->is_integer && !json->is_negative)
            json_put_u64(writer, json->magnitude);
        else
            json_put_double(writer, json->number);
        break;
    case JSON_BOOL:
        json_put_bool(writer, json->boolean);
        break;
    case JSON_NULL:
        json_put_null(writer);
        break;
    default:
        json_put_end(writer);
    }
}

/* Valid input, written again: valid, with as many events. */
static void write_again(const uint8_t *data, size_t size)
{
    static struct byteout out;
    struct json_options options = {.max_depth = JSON_WRITE_MAX_DEPTH};
    struct strbuf text = {0};
    struct json_reader json;
    struct json_writer writer;
    size_t written = 0, read = 0;
    int event;
    byteout_init_strbuf(&out, &text);
    json_writer_init(&writer, &out, (uint32_t)(size % 3));
    json_open_memory(&json, data, size, &options);
    for (; (event = json_next(&json)) > 0; written++)
        copy_event(&json, &writer, event);
    json_close(&json);
    if (event == JSON_DONE) {
        if (json_writer_finish(&writer, "again", NULL) != LAM_OK)
            abort();
        json_open_memory(&json, text.data, text.length, &options);
        while (json_next(&json) > 0)
            read++;
        if (json_next(&json) != JSON_DONE || read != written)
            abort();
        json_close(&json);
    }
    strbuf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_reader json;
    for (int variant = 0; variant < 2; variant++) {
        struct json_options options = {.allow_many = variant, .allow_bytes = variant};
        struct source source = {data, size, 1 + size % 7};
        uint64_t memory, stream;
        json_open_memory(&json, data, size, &options);
        int memory_rc = digest_events(&json, &memory);
        uint64_t memory_at = json.fail_offset;
        json_close(&json);
        if (json_open_stream(&json, give, &source, &options) < 0)
            return 0;
        int stream_rc = digest_events(&json, &stream);
        if (memory_rc != stream_rc || memory != stream || memory_at != json.fail_offset)
            abort();
        json_close(&json);
    }
    write_again(data, size);
    return 0;
}
