/* build: -O2 */
/* profdata_repeat IN OUT BYTES: a self-profile (version 9) of at least BYTES, made of IN by repeating its pages of events, each
 * round later by the length of the whole profile; strings and index once. Times stay below 2^48 ns. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 8, PAGE_HEADER = 5, EVENT = 32, PAGE_MAX = 262144 };
#define INTEGER_END 0xfffffffffffeull
#define INSTANT_END 0xffffffffffffull

struct bytes {
    unsigned char *data;
    size_t size;
};

static void die(const char *what)
{
    fprintf(stderr, "profdata_repeat: %s\n", what);
    exit(1);
}

static uint32_t u32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static struct bytes read_file(const char *path)
{
    struct bytes file = {NULL, 0};
    FILE *in = fopen(path, "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0)
        die("cannot read the input");
    file.size = (size_t)ftell(in);
    file.data = malloc(file.size);
    rewind(in);
    if (!file.data || fread(file.data, 1, file.size, in) != file.size)
        die("cannot read the input");
    fclose(in);
    return file;
}

static void write_page(FILE *out, unsigned char tag, const unsigned char *data, size_t size)
{
    while (size > 0) {
        uint32_t part = size < PAGE_MAX ? (uint32_t)size : PAGE_MAX;
        fputc(tag, out);
        fwrite(&part, sizeof part, 1, out);
        if (fwrite(data, 1, part, out) != part)
            die("cannot write the output");
        data += part;
        size -= part;
    }
}

/* Writes pages of strings and the index as they are, and gathers the events. */
static struct bytes split(const struct bytes *file, FILE *out)
{
    struct bytes events = {malloc(file->size), 0};
    fwrite(file->data, 1, HEADER, out);
    for (size_t at = HEADER; at + PAGE_HEADER <= file->size;) {
        size_t size = u32(file->data + at + 1);
        if (file->data[at] == 0) {
            memcpy(events.data + events.size, file->data + at + PAGE_HEADER, size);
            events.size += size;
        } else {
            write_page(out, file->data[at], file->data + at + PAGE_HEADER, size);
        }
        at += PAGE_HEADER + size;
    }
    return events;
}

static uint64_t start_of(const unsigned char *event)
{
    return u32(event + 20) | (uint64_t)(u32(event + 28) & 0xffff0000) << 16;
}

static uint64_t end_of(const unsigned char *event)
{
    return u32(event + 24) | (uint64_t)(u32(event + 28) & 0xffff) << 32;
}

static void set_times(unsigned char *event, uint64_t start, uint64_t end)
{
    uint32_t low = (uint32_t)start, high = (uint32_t)end;
    uint32_t upper = (uint32_t)(start >> 16 & 0xffff0000) | (uint32_t)(end >> 32);
    memcpy(event + 20, &low, 4);
    memcpy(event + 24, &high, 4);
    memcpy(event + 28, &upper, 4);
}

static void shift(unsigned char *events, size_t size, uint64_t by)
{
    for (size_t at = 0; at + EVENT <= size; at += EVENT) {
        uint64_t start = start_of(events + at), end = end_of(events + at);
        if (end < INTEGER_END)
            set_times(events + at, start + by, end + by);
        else if (end == INSTANT_END)
            set_times(events + at, start + by, end);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        die("IN OUT BYTES are wanted");
    struct bytes file = read_file(argv[1]);
    FILE *out = fopen(argv[2], "wb");
    if (!out)
        die("cannot write the output");
    setvbuf(out, NULL, _IOFBF, 1 << 20);
    struct bytes events = split(&file, out);
    uint64_t length = 0, wanted = strtoull(argv[3], NULL, 10);
    for (size_t at = HEADER; at + EVENT <= events.size; at += EVENT) {
        uint64_t end = end_of(events.data + at);
        length = end < INTEGER_END && end > length ? end : length;
    }
    events.size = HEADER + (events.size - HEADER) / EVENT * EVENT;
    write_page(out, 0, events.data, events.size);
    while ((uint64_t)ftell(out) < wanted) {
        shift(events.data + HEADER, events.size - HEADER, length + 1);
        write_page(out, 0, events.data + HEADER, events.size - HEADER);
    }
    return fclose(out) == 0 ? 0 : 1;
}
