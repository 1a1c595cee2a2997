#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "reader/stream_make_test.h"
#include "reader/stream_names.h"
#include "reader/stream_walk.h"

/* A small file with everything in it: two threads, three nodes, waits, a long CPU time, a void page, an unbegun one. */
static struct make *make_small(void)
{
    struct make *make = make_open(100, 99, 2000);
    make_process(make, "/bin/prog", "/tmp", "prog", "prog\0-x\0", 8, 5000, 0);
    make_config(make, STREAM_ENGINE_SIGTRAP, 200000);
    make_module(make, 1, 0x400000, 0x500000, 0x400000, 0, "/bin/prog", "\x01\x02\x03\x04", 4);
    make_module(make, 2, 0x7f0000000000, 0x7f0000100000, 0x7f0000000000, 0, "/lib/libc.so.6", NULL,
                0);
    uint32_t root = make_node(make, 0, 0x401000, 0);
    uint32_t mid = make_node(make, root, 0x402000, 0);
    uint32_t leaf = make_node(make, mid, 0x7f0000001234, 0);
    make_thread(make, 1, STREAM_THREAD_MAIN, "prog");
    make_thread(make, 2, STREAM_THREAD_CREATED, "worker");
    for (uint32_t i = 0; i < 300; i++) /* over the first page's end */
        make_sample(make, 1, 3000 + 400000ull * i, i % 2 ? leaf : mid, 200000 + i, 0);
    make_sample(make, 2, 5000, leaf, (7ull << 32) + 5,
                STREAM_SAMPLE_LATE | 3 << STREAM_SAMPLE_MERGED_SHIFT);
    make_page(make, STREAM_PAGE_VOID, 1, 100, 0, 8192, true);
    make_page(make, STREAM_PAGE_META, 3, 0, 0, 8192, false);
    make_wait(make, 1, 6000, 4000000, root, STREAM_WAIT_IO);
    make_child_exit(make, 1, 900000, 101, 0, 123456);
    make_thread_end(make, 2, 1000000, 7ull << 32, 1);
    make_process_end(make, STREAM_END_EXIT, 200000000, 60000000, 123456, 0);
    return make;
}

/* All that a file says, as text: files that read the same have the same text. */
static void dump(const struct stream_file *file, struct strbuf *out, struct stream_faults *faults)
{
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    const enum stream_page_kind kinds[] = {STREAM_PAGE_META, STREAM_PAGE_MODULES};
    for (unsigned k = 0; k < 2; k++) {
        stream_walk_begin(&walk, stream_pages_of_kind(file, kinds[k]));
        struct stream_record_view rec;
        while (stream_next_record(&walk, &rec) > 0) {
            strbuf_addf(out, "%llu %u %u", (unsigned long long)rec.offset, rec.type, rec.aux);
            for (uint32_t i = 0; rec.row && i < rec.row->field_count; i++) {
                const struct stream_field *field = &rec.row->fields[i];
                for (unsigned n = 0; n < field->count && !field->is_spare; n++)
                    strbuf_addf(out, " %s=%llx", field->name,
                                (unsigned long long)stream_field_get(field, &rec.body, n));
            }
            for (uint32_t i = 0; rec.row && i < rec.row->text_count; i++) {
                strbuf_addf(out, " %s=", rec.row->texts[i].name);
                strbuf_add_printable(out, rec.text[i].bytes, rec.text[i].size);
            }
            strbuf_add_char(out, '\n');
        }
    }
    for (uint32_t thread = 0; thread <= stream_last_thread(file) && thread < MAKE_THREADS; thread++) {
        stream_walk_begin(&walk, stream_pages_of(file, STREAM_PAGE_SAMPLES, thread));
        struct stream_sample_view sample;
        while (stream_next_sample(&walk, &sample) > 0)
            strbuf_addf(out, "%llu thread %u at %llu cpu %llu stack %u flags %x\n",
                        (unsigned long long)sample.offset, thread, (unsigned long long)sample.ticks,
                        (unsigned long long)sample.cpu_ns, sample.stack, sample.flags);
    }
    stream_faults_merge(faults, &file->faults);
    stream_faults_merge(faults, &walk.faults);
    struct stream_nodes nodes;
    assert_int_equal(stream_nodes_load(file, &nodes, faults), LAM_OK);
    for (uint32_t id = 1; id <= nodes.last_id; id++) {
        struct stream_node node;
        if (stream_node_get(&nodes, id, &node))
            strbuf_addf(out, "node %u parent %u at %llx epoch %u\n", id, node.parent_plus_1 - 1,
                        (unsigned long long)stream_node_address(&node), node.epoch);
    }
    stream_nodes_free(&nodes);
    stream_walk_close(&walk);
}

static char *dump_bytes(const void *bytes, size_t size, struct stream_faults *faults)
{
    struct stream_file *file = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    if (stream_open_memory(&file, bytes, size, "test", &err) < 0)
        return NULL;
    struct strbuf out = {0};
    dump(file, &out, faults);
    stream_close(&file);
    return strbuf_take(&out, NULL);
}

static void reads_all_records(void **state)
{
    (void)state;
    struct make *make = make_small();
    struct stream_faults faults = {0};
    char *text = dump_bytes(make->bytes, make->size, &faults);
    assert_non_null(text);
    assert_non_null(strstr(text, "exe=/bin/prog cwd=/tmp comm=prog"));
    assert_non_null(strstr(text, "argv=prog"));
    assert_non_null(strstr(text, "thread 2 at 5000 cpu 30064771077 stack 3 flags 302"));
    assert_non_null(strstr(text, "thread 1 at 119603000 cpu 200299 stack 3 flags 0"));
    assert_non_null(strstr(text, "node 3 parent 2 at 7f0000001234 epoch 0"));
    assert_null(strstr(text, "node 4"));
    assert_non_null(strstr(text, "build_id=\\x01\\x02\\x03\\x04"));
    assert_false(stream_faults_are_damage(&faults));
    assert_int_equal(faults.counts[STREAM_DAMAGE_UNBEGUN_BYTES], 8192);
    free(text);
    make_close(make);
}

/* The tables describe each byte of each structure once, so what is swapped by them is swapped whole. */
static void check_cover(const char *name, const struct stream_field *fields, uint32_t count,
                        uint32_t bytes)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (fields[i].offset < at)
            fail_msg("%s.%s overlaps", name, fields[i].name);
        if (fields[i].offset > at && !strstr("header page PROCESS THREAD_END", name))
            fail_msg("%s: a hole before %s", name, fields[i].name);
        at = fields[i].offset + (uint32_t)fields[i].bytes * fields[i].count;
    }
    if (at != bytes && !strstr("header page PROCESS THREAD_END", name))
        fail_msg("%s: fields end at %u of %u", name, at, bytes);
}

static void tables_cover_structures(void **state)
{
    (void)state;
    for (uint32_t type = 1; type <= STREAM_REC_NOTICE; type++) {
        const struct stream_record_row *row = stream_record_row(type);
        assert_non_null(row);
        assert_int_equal(row->type, type);
        assert_int_equal(row->fixed_bytes % 8, 0);
        check_cover(row->name, row->fields, row->field_count, row->fixed_bytes);
    }
    assert_null(stream_record_row(0));
    assert_null(stream_record_row(STREAM_REC_NOTICE + 1));
    assert_null(stream_record_row(UINT32_MAX));
    check_cover("header", stream_header_fields, stream_header_field_count, 0);
    check_cover("page", stream_page_fields, stream_page_field_count, 0);
}

static void both_byte_orders_read_the_same(void **state)
{
    (void)state;
    struct make *make = make_small();
    struct stream_faults here = {0}, there = {0};
    char *before = dump_bytes(make->bytes, make->size, &here);
    make_swap(make);
    char *after = dump_bytes(make->bytes, make->size, &there);
    assert_non_null(after);
    assert_string_equal(before, after);
    assert_memory_equal(here.counts, there.counts, sizeof here.counts);
    free(before);
    free(after);
    make_close(make);
}

struct paths {
    char dir[64], raw[96], packed[96];
};

static void paths_open(struct paths *paths)
{
    strcpy(paths->dir, "/tmp/stream-test-XXXXXX");
    assert_non_null(mkdtemp(paths->dir));
    snprintf(paths->raw, sizeof paths->raw, "%s/raw.lam", paths->dir);
    snprintf(paths->packed, sizeof paths->packed, "%s/packed.lam", paths->dir);
}

static void paths_close(struct paths *paths)
{
    unlink(paths->raw);
    unlink(paths->packed);
    assert_int_equal(rmdir(paths->dir), 0); /* no temporary file was left */
}

static char *dump_path(const char *path, struct stream_faults *faults, uint64_t *size)
{
    struct stream_file *file = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    if (stream_open(&file, path, &err) < 0)
        return NULL;
    struct strbuf out = {0};
    dump(file, &out, faults);
    *size = file->size_bytes;
    stream_close(&file);
    return strbuf_take(&out, NULL);
}

/* The property: a file and its packed form say the same, damage included. NULL both, or equal both. */
static void check_pack(const struct paths *paths, const void *bytes, size_t size, const char *what)
{
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(file_write_all(paths->raw, bytes, size, &err), LAM_OK);
    struct stream_faults raw_faults = {0}, packed_faults = {0};
    uint64_t raw_size = 0, packed_size = 0;
    char *raw = dump_path(paths->raw, &raw_faults, &raw_size);
    int rc = stream_pack(paths->raw, paths->packed, 0, &err);
    if (!raw) {
        assert_true(rc < 0);
        return;
    }
    if (rc < 0)
        fail_msg("%s: %s", what, err.msg);
    char *packed = dump_path(paths->packed, &packed_faults, &packed_size);
    assert_non_null(packed);
    if (strcmp(raw, packed) != 0)
        fail_msg("%s: packed reads differently", what);
    for (unsigned i = 0; i < STREAM_DAMAGE_KINDS; i++) {
        if (raw_faults.counts[i] != packed_faults.counts[i])
            fail_msg("%s: %s is %llu raw and %llu packed", what, stream_damage_name(i),
                     (unsigned long long)raw_faults.counts[i],
                     (unsigned long long)packed_faults.counts[i]);
    }
    free(raw);
    free(packed);
}

static void packed_reads_like_raw(void **state)
{
    (void)state;
    struct paths paths;
    paths_open(&paths);
    struct make *make = make_small();
    check_pack(&paths, make->bytes, make->size, "whole");
    struct stat raw, packed;
    assert_int_equal(stat(paths.raw, &raw), 0);
    assert_int_equal(stat(paths.packed, &packed), 0);
    assert_true(packed.st_size < raw.st_size / 4);

    /* Packing once more is a copy; in place as well. */
    struct stream_faults faults = {0};
    uint64_t size = 0;
    char *before = dump_path(paths.packed, &faults, &size);
    assert_int_equal(stream_pack(paths.packed, paths.raw, 0, NULL), LAM_OK);
    assert_int_equal(stream_pack(paths.packed, paths.packed, 0, NULL), LAM_OK);
    char *after = dump_path(paths.raw, &faults, &size);
    assert_string_equal(before, after);
    free(before);
    free(after);

    make_swap(make);
    check_pack(&paths, make->bytes, make->size, "swapped");
    make_close(make);
    paths_close(&paths);
}

static void pack_in_place_and_refusals(void **state)
{
    (void)state;
    struct paths paths;
    paths_open(&paths);
    struct make *make = make_small();
    assert_true(make_save(make, paths.raw));
    assert_int_equal(stream_pack(paths.raw, paths.raw, STREAM_FLAG_RECOVERED, NULL), LAM_OK);
    struct stream_file *file = NULL;
    assert_int_equal(stream_open(&file, paths.raw, NULL), LAM_OK);
    assert_true(file->is_packed);
    assert_int_equal(file->header.flags,
                     STREAM_FLAG_PACKED | STREAM_FLAG_RECOVERED | STREAM_FLAG_TRANSPOSED);
    assert_int_equal(file->header.next_offset, file->size_bytes);
    stream_close(&file);

    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(stream_pack("/nonexistent/a.lam", paths.packed, 0, &err), LAM_E_NOTFOUND);
    assert_int_equal(stream_pack(paths.raw, "/nonexistent/b.lam", 0, &err), LAM_E_NOTFOUND);
    assert_int_equal(file_write_all(paths.raw, "no stream", 9, NULL), LAM_OK);
    assert_int_equal(stream_pack(paths.raw, paths.packed, 0, &err), LAM_E_CORRUPT);
    make_close(make);
    paths_close(&paths);
}

/* Each row breaks one thing in the small file and says what is counted. */
struct fault_row {
    const char *name;
    void (*apply)(struct make *make);
    int kind; /* enum stream_damage that must be counted; -1: none; -2: the file must be refused */
    uint64_t amount;         /* 0: any */
    const char *lost, *kept; /* text that must be gone, and text that must still be there */
};

static uint64_t find_page(const struct make *make, uint32_t kind, uint32_t thread, uint32_t sequence)
{
    for (uint64_t at = STREAM_HEADER_BYTES; at < make->size; at += STREAM_PAGE_GRAIN) {
        const struct stream_page *page = (const void *)(make->bytes + at);
        if (page->magic == STREAM_PAGE_MAGIC && page->self_offset == at && page->kind == kind &&
            page->thread == thread && page->sequence == sequence)
            return at;
    }
    abort();
}

#define PAGE(kind, thread, sequence) \
    ((struct stream_page *)(void *)(make->bytes + find_page(make, kind, thread, sequence)))

static void no_fault(struct make *make)
{
    (void)make;
}
static void bad_magic(struct make *make)
{
    make->bytes[3] ^= 1;
}
static void bad_order(struct make *make)
{
    make->bytes[9] ^= 0x40;
}
static void later_major(struct make *make)
{
    make_header(make)->version_major = 2;
}
static void later_minor(struct make *make)
{
    make_header(make)->version_minor = 9;
}
static void counter_zero(struct make *make)
{
    make_header(make)->next_offset = 0;
}
static void counter_low(struct make *make)
{
    make_header(make)->next_offset = 8192; /* as when the file grew after its header was read */
}
static void counter_high(struct make *make)
{
    make_header(make)->next_offset += 12288;
}
static void counter_high_disk_full(struct make *make)
{
    make_header(make)->next_offset += 12288;
    make_header(make)->lost[STREAM_LOSS_NO_SPACE] = 3;
}
static void page_size_odd(struct make *make)
{
    PAGE(STREAM_PAGE_SAMPLES, 1, 0)->size_bytes = 4097;
}
static void page_size_huge(struct make *make)
{
    PAGE(STREAM_PAGE_SAMPLES, 1, 0)->size_bytes = 0x40000000;
}
static void page_elsewhere(struct make *make)
{
    PAGE(STREAM_PAGE_SAMPLES, 1, 0)->self_offset += 4096;
}
static void page_unbegun(struct make *make)
{
    memset(PAGE(STREAM_PAGE_SAMPLES, 1, 1), 0, 8192);
}
static void page_first_unbegun(struct make *make)
{
    memset(PAGE(STREAM_PAGE_SAMPLES, 1, 0), 0, 4096);
}
static void page_twice(struct make *make)
{
    PAGE(STREAM_PAGE_SAMPLES, 1, 1)->sequence = 0;
}
/* A kill while a page was copied; the second differs where it is not a copy. */
static void page_copied(struct make *make)
{
    make_page(make, STREAM_PAGE_EVENTS, 7, 7, 0, 4096, true);
    make_page(make, STREAM_PAGE_EVENTS, 7, 7, 0, 4096, true);
}
static void page_copied_badly(struct make *make)
{
    page_copied(make);
    make->bytes[make->size - 1] = 1;
}
static void page_kind_later(struct make *make)
{
    PAGE(STREAM_PAGE_SAMPLES, 2, 0)->kind = 99;
}
static void chunk_number_wrong(struct make *make)
{
    PAGE(STREAM_PAGE_STACKS, 0, 0)->sequence = 70000;
}
static void chunk_size_wrong(struct make *make)
{
    PAGE(STREAM_PAGE_STACKS, 0, 0)->sequence = 1;
}
static struct stream_record *first_record(struct make *make, uint32_t kind, uint32_t thread)
{
    return (struct stream_record *)(void *)((uint8_t *)PAGE(kind, thread, 0) +
                                            STREAM_PAGE_HEADER_BYTES);
}
static void record_unfinished(struct make *make)
{
    first_record(make, STREAM_PAGE_META, 2)->head = 0;
}
static void record_without_length(struct make *make)
{
    first_record(make, STREAM_PAGE_META, 1)->head &= 0xffff;
}
static void record_too_long(struct make *make)
{
    first_record(make, STREAM_PAGE_META, 1)->head |= 0xfff00000;
}
static void record_text_too_long(struct make *make)
{
    struct stream_rec_thread *thread = (void *)(first_record(make, STREAM_PAGE_META, 1) + 1);
    thread->name_bytes = 200;
}
static void record_too_short(struct make *make)
{
    struct stream_record *rec = first_record(make, STREAM_PAGE_META, 1);
    rec->head = stream_record_head(STREAM_REC_PROCESS_END, rec->head >> 16);
}
static void record_type_later(struct make *make)
{
    struct stream_record *rec = first_record(make, STREAM_PAGE_META, 1);
    rec->head = stream_record_head(999, rec->head >> 16);
}
static void argv_aux_too_big(struct make *make)
{
    struct stream_record *rec = first_record(make, STREAM_PAGE_META, 0);
    rec += rec->head >> 16; /* behind PROCESS: the first piece of the arguments */
    rec->aux = UINT32_MAX;
}
static void sample_unfinished(struct make *make)
{
    struct stream_sample *slots =
        (void *)((uint8_t *)PAGE(STREAM_PAGE_SAMPLES, 1, 0) + STREAM_PAGE_HEADER_BYTES);
    slots[100].stack = 0;
}
static void carry_alone(struct make *make)
{
    struct stream_sample *slots =
        (void *)((uint8_t *)PAGE(STREAM_PAGE_SAMPLES, 2, 0) + STREAM_PAGE_HEADER_BYTES);
    slots[1].stack = 0;
}
static void carry_twice(struct make *make)
{
    struct stream_sample *slots =
        (void *)((uint8_t *)PAGE(STREAM_PAGE_SAMPLES, 2, 0) + STREAM_PAGE_HEADER_BYTES);
    slots[2] = slots[1];
    slots[1] = slots[0];
}
static void node_unfinished(struct make *make)
{
    struct stream_node *nodes =
        (void *)((uint8_t *)PAGE(STREAM_PAGE_STACKS, 0, 0) + STREAM_PAGE_HEADER_BYTES);
    nodes[1].parent_plus_1 = 0;
}
static void tail_garbage(struct make *make)
{
    uint64_t at = make_page(make, 0, 0, 0, 0, 4096, false);
    memset(make->bytes + at, 0xa5, 4096);
}

static const struct fault_row fault_rows[] = {
    {"nothing", no_fault, -1, 0, NULL, "thread 2 at 5000"},
    {"magic", bad_magic, -2, 0, NULL, NULL},
    {"byte order", bad_order, -2, 0, NULL, NULL},
    {"major version", later_major, -2, 0, NULL, NULL},
    {"minor version", later_minor, -1, 0, NULL, "thread 2 at 5000"},
    {"claim counter zero", counter_zero, STREAM_DAMAGE_PAGES, 1, NULL, "thread 2 at 5000"},
    {"claim counter low", counter_low, -1, 0, NULL, "thread 2 at 5000"},
    {"claim counter beyond the end", counter_high, STREAM_DAMAGE_MISSING_BYTES, 12288, NULL,
     "thread 2 at 5000"},
    {"claims refused by the disk", counter_high_disk_full, STREAM_DAMAGE_UNBEGUN_BYTES,
     8192 + 12288, NULL, "node 3"},
    {"page size no multiple", page_size_odd, STREAM_DAMAGE_PAGES, 1, "thread 1 at 3000 ",
     "thread 1 at 119603000"},
    {"page size huge", page_size_huge, STREAM_DAMAGE_PAGES, 1, "thread 1 at 3000 ",
     "thread 1 at 119603000"},
    {"page names another offset", page_elsewhere, STREAM_DAMAGE_PAGES, 1, "thread 1 at 3000 ",
     "thread 1 at 119603000"},
    {"page never begun", page_unbegun, STREAM_DAMAGE_UNBEGUN_BYTES, 16384, "thread 1 at 119603000",
     "thread 1 at 3000 "},
    {"first page never begun", page_first_unbegun, STREAM_DAMAGE_GAPS, 1, "thread 1 at 3000 ",
     "thread 1 at 119603000"},
    {"page twice", page_twice, STREAM_DAMAGE_PAGES, 1, "thread 1 at 119603000", "thread 1 at 3000 "},
    {"page copied", page_copied, -1, 0, NULL, "thread 2 at 5000"},
    {"page twice and not the same", page_copied_badly, STREAM_DAMAGE_PAGES, 1, NULL,
     "thread 2 at 5000"},
    {"page kind of a later version", page_kind_later, STREAM_DAMAGE_UNKNOWN_PAGES, 1, "thread 2 at",
     "thread 1 at 3000 "},
    {"chunk number too big", chunk_number_wrong, STREAM_DAMAGE_PAGES, 1, "node 1",
     "thread 1 at 3000 "},
    {"chunk of another size", chunk_size_wrong, STREAM_DAMAGE_PAGES, 1, "node 1", "thread 1 at 3000 "},
    {"record unfinished", record_unfinished, -1, 0, "name=worker", "name=prog"},
    {"record without a length", record_without_length, STREAM_DAMAGE_RECORDS, 1, "name=prog",
     "name=worker"},
    {"record longer than its page", record_too_long, STREAM_DAMAGE_RECORDS, 1, "name=prog",
     "name=worker"},
    {"text longer than its record", record_text_too_long, STREAM_DAMAGE_RECORDS, 1, "name=prog",
     "start_ticks=1770"},
    {"record too short for its type", record_too_short, STREAM_DAMAGE_RECORDS, 1, "name=prog",
     "start_ticks=1770"},
    {"record of a later version", record_type_later, -1, 0, "name=prog", "start_ticks=1770"},
    {"argument piece longer than its record", argv_aux_too_big, STREAM_DAMAGE_RECORDS, 1, "index=0",
     "index=1"},
    {"sample unfinished", sample_unfinished, -1, 0, "cpu 200100 ", "cpu 200099 "},
    {"carry without a sample", carry_alone, STREAM_DAMAGE_RECORDS, 1, "thread 2 at",
     "thread 1 at 3000 "},
    {"carry twice", carry_twice, STREAM_DAMAGE_RECORDS, 1, NULL, "thread 2 at 5000 cpu 30064771077"},
    {"node unfinished", node_unfinished, -1, 0, "node 2", "node 3"},
    {"garbage at the end", tail_garbage, STREAM_DAMAGE_PAGES, 1, NULL, "thread 2 at 5000"},
};

static void check_fault(const struct fault_row *row, const struct make *make, const char *order)
{
    struct stream_faults faults = {0};
    char *text = dump_bytes(make->bytes, make->size, &faults);
    if ((row->kind == -2) != (text == NULL))
        fail_msg("%s (%s): %s", row->name, order, text ? "was not refused" : "was refused");
    if (row->kind == -1 && stream_faults_are_damage(&faults))
        fail_msg("%s (%s): counted as damage", row->name, order);
    if (row->kind >= 0 &&
        (row->amount ? faults.counts[row->kind] != row->amount : faults.counts[row->kind] == 0))
        fail_msg("%s (%s): %s is %llu", row->name, order, stream_damage_name((uint32_t)row->kind),
                 (unsigned long long)faults.counts[row->kind]);
    if (text && row->lost && strstr(text, row->lost))
        fail_msg("%s (%s): still has '%s'", row->name, order, row->lost);
    if (text && row->kept && !strstr(text, row->kept))
        fail_msg("%s (%s): has no '%s'", row->name, order, row->kept);
    free(text);
}

static void faults_are_told(void **state)
{
    (void)state;
    struct paths paths;
    paths_open(&paths);
    for (size_t i = 0; i < sizeof fault_rows / sizeof *fault_rows; i++) {
        const struct fault_row *row = &fault_rows[i];
        struct make *make = make_small();
        row->apply(make);
        check_fault(row, make, "ours");
        check_pack(&paths, make->bytes, make->size, row->name);
        make_close(make);
    }
    paths_close(&paths);
}

/* A file that ends anywhere gives what lies before the end, in both forms, and packs. */
static void every_cut_reads(void **state)
{
    (void)state;
    struct paths paths;
    paths_open(&paths);
    struct make *make = make_small();
    assert_true(make_save(make, paths.raw));
    assert_int_equal(stream_pack(paths.raw, paths.packed, 0, NULL), LAM_OK);
    char *packed = NULL;
    size_t packed_size = 0;
    assert_int_equal(file_read_all(paths.packed, 1 << 20, &packed, &packed_size, NULL), LAM_OK);
    size_t longest = 0;
    size_t carry_at = find_page(make, STREAM_PAGE_SAMPLES, 2, 0) + STREAM_PAGE_HEADER_BYTES;
    for (size_t size = 0; size <= make->size; size++) {
        struct stream_faults faults = {0};
        uint8_t *cut =
            malloc(size ? size : 1); /* exactly as large, for a sanitizer to see a read beyond */
        assert_non_null(cut);
        memcpy(cut, make->bytes, size);
        char *text = dump_bytes(cut, size, &faults);
        assert_true((text == NULL) == (size < STREAM_PACKED_HEADER_BYTES));
        if (text && size < make->size && !faults.counts[STREAM_DAMAGE_MISSING_BYTES])
            fail_msg("cut at %zu is not told", size);
        /* Only a cut between the two halves of a long CPU time breaks a record. */
        if (text && faults.counts[STREAM_DAMAGE_RECORDS] && (size < carry_at || size >= carry_at + 32))
            fail_msg("cut at %zu counts as a damaged record", size);
        longest = text && strlen(text) > longest ? strlen(text) : longest;
        free(text);
        free(cut);
        if (size % 512 == 77)
            check_pack(&paths, make->bytes, size, "cut");
    }
    for (size_t size = 0; size < packed_size; size++) {
        struct stream_faults faults = {0};
        uint8_t *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, packed, size);
        char *text = dump_bytes(cut, size, &faults);
        assert_true((text == NULL) == (size < STREAM_PACKED_HEADER_BYTES));
        if (text && !faults.counts[STREAM_DAMAGE_MISSING_BYTES])
            fail_msg("packed, cut at %zu is not told", size);
        assert_true(!text || strlen(text) <= longest);
        free(text);
        free(cut);
    }
    mem_free(packed);
    make_close(make);
    paths_close(&paths);
}

/* Any one byte changed never does harm; the packed form is checked by its frames. */
static void every_flip_is_survived(void **state)
{
    (void)state;
    struct paths paths;
    paths_open(&paths);
    struct make *make = make_small();
    assert_true(make_save(make, paths.raw));
    assert_int_equal(stream_pack(paths.raw, paths.packed, 0, NULL), LAM_OK);
    char *packed = NULL;
    size_t packed_size = 0;
    assert_int_equal(file_read_all(paths.packed, 1 << 20, &packed, &packed_size, NULL), LAM_OK);
    for (size_t at = 0; at < make->size; at += at < 4096 + 512 ? 1 : 7) {
        make->bytes[at] ^= 0xff;
        struct stream_faults faults = {0};
        free(dump_bytes(make->bytes, make->size, &faults));
        make->bytes[at] ^= 0xff;
    }
    for (size_t at = 0; at < packed_size; at++) {
        packed[at] ^= (char)0xff;
        struct stream_faults faults = {0};
        free(dump_bytes(packed, packed_size, &faults));
        packed[at] ^= (char)0xff;
    }
    mem_free(packed);
    make_close(make);
    paths_close(&paths);
}

static void node_ids_map_to_chunks(void **state)
{
    (void)state;
    uint32_t id = 1;
    for (uint32_t chunk = 0; chunk < 9; chunk++) {
        uint32_t index;
        assert_int_equal(stream_node_chunk(id, &index), chunk);
        assert_int_equal(index, 0);
        id += stream_chunk_nodes(chunk) - 1;
        assert_int_equal(stream_node_chunk(id, &index), chunk);
        assert_int_equal(index, stream_chunk_nodes(chunk) - 1);
        id++;
    }
    uint32_t index;
    stream_node_chunk(UINT32_MAX, &index);
    assert_true(index < stream_chunk_nodes(6));
}

static void many_nodes_are_found(void **state)
{
    (void)state;
    struct make *make = make_open(1, 0, 1);
    for (uint32_t i = 0; i < 60000; i++)
        make_node(make, i, 0x400000 + i, (uint16_t)(i >> 8));
    struct stream_file *file = NULL;
    assert_int_equal(stream_open_memory(&file, make->bytes, make->size, "nodes", NULL), LAM_OK);
    struct stream_nodes nodes;
    struct stream_faults faults = {0};
    assert_int_equal(stream_nodes_load(file, &nodes, &faults), LAM_OK);
    struct stream_node node;
    for (uint32_t i = 0; i < 60000; i++) {
        assert_true(stream_node_get(&nodes, i + 1, &node));
        assert_int_equal(node.parent_plus_1, i + 1);
        assert_int_equal(stream_node_address(&node), 0x400000 + i);
        assert_int_equal(node.epoch, i >> 8);
    }
    assert_false(stream_node_get(&nodes, 0, &node));
    assert_false(stream_node_get(&nodes, 60001, &node));
    assert_false(stream_node_get(&nodes, UINT32_MAX, &node));
    stream_nodes_free(&nodes);
    stream_close(&file);
    make_close(make);
}

static void allocations_may_fail(void **state)
{
    (void)state;
    struct make *make = make_small();
    for (uint64_t after = 0;; after++) {
        mem_fail_after(after);
        struct stream_file *file = NULL;
        struct lam_error err = LAM_ERROR_INIT;
        int rc = stream_open_memory(&file, make->bytes, make->size, "x", &err);
        uint64_t refused = mem_fail_count();
        mem_fail_after(UINT64_MAX);
        if (rc >= 0) {
            assert_int_equal(refused, 0);
            stream_close(&file);
            break;
        }
        assert_int_equal(rc, LAM_E_NOMEM);
        assert_null(file);
    }
    make_close(make);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_records),
        cmocka_unit_test(tables_cover_structures),
        cmocka_unit_test(both_byte_orders_read_the_same),
        cmocka_unit_test(packed_reads_like_raw),
        cmocka_unit_test(pack_in_place_and_refusals),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(every_cut_reads),
        cmocka_unit_test(every_flip_is_survived),
        cmocka_unit_test(node_ids_map_to_chunks),
        cmocka_unit_test(many_nodes_are_found),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
