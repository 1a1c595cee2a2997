#include <string.h>

#include "base/json_write.h"
#include "base/strbuf.h"
#include "output/write_view.h"
#include "reader/event_pages.h"
#include "reader/stream_names.h"
#include "reader/stream_walk.h"
#include "reader/tree_nodes.h"

struct raw {
    const struct stream_file *file;
    struct byteout *out;
    bool is_json;
    struct json_writer json;
    struct strbuf line;
};

static void begin(struct raw *raw, const char *type)
{
    if (raw->is_json) {
        json_writer_init(&raw->json, raw->out, 0);
        json_put_object(&raw->json);
        json_member_str(&raw->json, "type", type);
    } else {
        strbuf_clear(&raw->line);
        strbuf_add(&raw->line, type);
    }
}

static int end(struct raw *raw)
{
    if (raw->is_json) {
        json_put_end(&raw->json);
        byteout_char(raw->out, '\n');
        return raw->out->failed;
    }
    strbuf_add_char(&raw->line, '\n');
    if (!strbuf_ok(&raw->line))
        return LAM_E_NOMEM;
    byteout_write(raw->out, raw->line.data, raw->line.length);
    return raw->out->failed;
}

static void put_u64(struct raw *raw, const char *key, uint64_t value)
{
    if (raw->is_json)
        json_member_u64(&raw->json, key, value);
    else
        strbuf_addf(&raw->line, " %s=%llu", key, (unsigned long long)value);
}

static void put_i64(struct raw *raw, const char *key, int64_t value)
{
    if (raw->is_json)
        json_member_i64(&raw->json, key, value);
    else
        strbuf_addf(&raw->line, " %s=%lld", key, (long long)value);
}

static void put_name(struct raw *raw, const char *key, const char *name)
{
    if (raw->is_json)
        json_member_str(&raw->json, key, name);
    else
        strbuf_addf(&raw->line, " %s=%s", key, name);
}

static void put_bytes(struct raw *raw, const char *key, struct stream_text text)
{
    if (raw->is_json) {
        json_member_str_n(&raw->json, key, text.bytes, text.size);
        return;
    }
    strbuf_addf(&raw->line, " %s=", key);
    strbuf_add_printable(&raw->line, text.bytes, text.size);
}

/* Bytes that are no text. */
static void put_hex(struct raw *raw, const char *key, struct stream_text text)
{
    struct strbuf hex = {0};
    for (size_t i = 0; i < text.size; i++)
        strbuf_addf(&hex, "%02x", (unsigned char)text.bytes[i]);
    put_name(raw, key, strbuf_text(&hex));
    strbuf_free(&hex);
}

static void put_fields(struct raw *raw, const struct stream_field *fields, uint32_t count,
                       const void *body)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct stream_field *field = &fields[i];
        if (field->is_spare)
            continue;
        if (field->count == 1 && field->is_signed) {
            put_i64(raw, field->name, (int64_t)stream_field_get(field, body, 0));
        } else if (field->count == 1) {
            put_u64(raw, field->name, stream_field_get(field, body, 0));
        } else if (raw->is_json) {
            json_member_array(&raw->json, field->name);
            for (unsigned k = 0; k < field->count; k++)
                json_put_u64(&raw->json, stream_field_get(field, body, k));
            json_put_end(&raw->json);
        } else {
            for (unsigned k = 0; k < field->count; k++)
                strbuf_addf(&raw->line, "%s%s%s%llu", k ? "," : " ", k ? "" : field->name,
                            k ? "" : "=", (unsigned long long)stream_field_get(field, body, k));
        }
    }
}

static int put_header(struct raw *raw)
{
    begin(raw, "header");
    put_bytes(raw, "file", (struct stream_text){raw->file->name, strlen(raw->file->name)});
    put_fields(raw, stream_header_fields, stream_header_field_count, &raw->file->header);
    return end(raw);
}

static void put_list(struct raw *raw, const char *name, struct stream_text words)
{
    if (raw->is_json)
        json_member_array(&raw->json, name);
    else
        strbuf_addf(&raw->line, " %s=", name);
    for (size_t i = 0; i + 4 <= words.size; i += 4) {
        uint32_t word;
        memcpy(&word, words.bytes + i, sizeof word);
        word = raw->file->is_swapped ? __builtin_bswap32(word) : word;
        if (raw->is_json)
            json_put_u64(&raw->json, word);
        else
            strbuf_addf(&raw->line, "%s%u", i ? "," : "", word);
    }
    if (raw->is_json)
        json_put_end(&raw->json);
}

/* The next size bytes of what follows the fixed part; fewer where the record is too short, which its reader counts. */
static struct stream_text take(struct stream_text *tail, uint64_t size)
{
    size_t taken = size < tail->size ? (size_t)size : tail->size;
    struct stream_text text = {tail->bytes, taken};
    tail->bytes += taken;
    tail->size -= taken;
    return text;
}

/* The lists of numbers that some records of instrumented programs have. */
static void put_lists(struct raw *raw, const struct stream_record_view *rec)
{
    struct stream_text tail = rec->tail;
    uint64_t count = rec->body.names.count; /* the first word of all three */
    if (rec->type == STREAM_REC_COMPOSED)
        put_list(raw, "parts", take(&tail, count * 4));
    if (rec->type == STREAM_REC_MAP)
        put_list(raw, "pairs", take(&tail, count * 8));
    if (rec->type == STREAM_REC_NAMES) {
        put_list(raw, "ids", take(&tail, count * 4));
        put_list(raw, "ends", take(&tail, count * 4));
        put_bytes(raw, "text", take(&tail, rec->body.names.text_bytes));
    }
}

static int put_record(struct raw *raw, const struct stream_page_ref *page,
                      const struct stream_record_view *rec)
{
    begin(raw, "record");
    put_u64(raw, "offset", rec->offset);
    put_u64(raw, "thread", page->thread);
    put_u64(raw, "tid", page->tid);
    put_u64(raw, "record_type", rec->type);
    put_name(raw, "record", rec->row ? rec->row->name : "?");
    put_u64(raw, "aux", rec->aux);
    if (rec->row)
        put_fields(raw, rec->row->fields, rec->row->field_count, &rec->body);
    if (rec->row)
        put_lists(raw, rec);
    for (uint32_t i = 0; rec->row && i < rec->row->text_count; i++) {
        const char *name = rec->row->texts[i].name;
        if (strcmp(name, "build_id") == 0)
            put_hex(raw, name, rec->text[i]);
        else
            put_bytes(raw, name, rec->text[i]);
    }
    return end(raw);
}

static int put_records(struct raw *raw, struct stream_walk *walk, enum stream_page_kind kind)
{
    stream_walk_begin(walk, stream_pages_of_kind(raw->file, kind));
    struct stream_record_view rec;
    int rc;
    while ((rc = stream_next_record(walk, &rec)) > 0 && (rc = put_record(raw, walk->page, &rec)) >= 0)
        continue;
    return rc;
}

static int put_samples(struct raw *raw, struct stream_walk *walk, struct stream_page_span pages)
{
    stream_walk_begin(walk, pages);
    struct stream_sample_view sample;
    int rc;
    while ((rc = stream_next_sample(walk, &sample)) > 0) {
        begin(raw, "sample");
        put_u64(raw, "offset", sample.offset);
        put_u64(raw, "thread", walk->page->thread);
        put_u64(raw, "tid", walk->page->tid);
        put_u64(raw, "ticks", sample.ticks);
        put_u64(raw, "cpu_ns", sample.cpu_ns);
        put_u64(raw, "stack", sample.stack);
        put_u64(raw, "flags", sample.flags);
        rc = end(raw);
        if (rc < 0)
            break;
    }
    return rc;
}

static int put_all_samples(struct raw *raw, struct stream_walk *walk)
{
    struct stream_page_span all = stream_pages_of_kind(raw->file, STREAM_PAGE_SAMPLES);
    int rc = LAM_OK;
    for (size_t i = all.first; rc >= 0 && i < all.end;) {
        struct stream_page_span pages =
            stream_pages_of(raw->file, STREAM_PAGE_SAMPLES, raw->file->pages.items[i].thread);
        rc = put_samples(raw, walk, pages);
        i = pages.end;
    }
    return rc;
}

static int put_nodes(struct raw *raw, struct stream_faults *faults)
{
    struct stream_nodes nodes;
    int rc = stream_nodes_load(raw->file, &nodes, faults);
    for (uint32_t id = 1; rc >= 0 && id && id <= nodes.last_id; id++) {
        struct stream_node node;
        if (!stream_node_get(&nodes, id, &node))
            continue;
        begin(raw, "node");
        put_u64(raw, "id", id);
        put_u64(raw, "parent", node.parent_plus_1 - 1);
        put_u64(raw, "address", stream_node_address(&node));
        put_u64(raw, "epoch", node.epoch);
        rc = end(raw);
    }
    stream_nodes_free(&nodes);
    return rc;
}

/* A slot's fields: those of an event or of what is told about one, of a new base, or of more about the slot before. */
static int put_slot(struct raw *raw, const struct event_page *page, uint32_t at, uint64_t *base)
{
    struct stream_slot slot = event_slot_load(&page->slots[at]);
    uint32_t code = stream_slot_code(&slot);
    if (code == STREAM_SLOT_NONE)
        return LAM_OK;
    bool is_more = code >= STREAM_SLOT_KIND && code < STREAM_SLOT_KIND_MIN;
    begin(raw, "slot");
    put_u64(raw, "offset", event_slot_offset(page->ref, at));
    put_u64(raw, "lane", page->ref->thread);
    put_u64(raw, "code", code);
    put_name(raw, "slot", stream_slot_code_name(code));
    put_u64(raw, "id", stream_slot_id(&slot));
    if (code == STREAM_SLOT_BASE) {
        *base = slot.rest;
        put_u64(raw, "base", slot.rest);
    } else if (is_more) {
        put_u64(raw, "bits", slot.head >> STREAM_SLOT_TIME_SHIFT);
        put_u64(raw, "value", slot.rest);
    } else {
        put_u64(raw, "time", *base + stream_slot_time(&slot));
        put_u64(raw, "payload", stream_slot_payload(&slot));
    }
    return end(raw);
}

static int put_slots(struct raw *raw, struct stream_faults *faults)
{
    struct event_pages pages;
    struct stream_page_span span = stream_pages_of_kind(raw->file, STREAM_PAGE_EVENTS);
    event_pages_init(&pages, raw->file);
    int rc = LAM_OK;
    for (size_t i = span.first; rc >= 0 && i < span.end; i++) {
        struct event_page page;
        rc = event_pages_get(&pages, i, &page);
        uint64_t base = page.ref->base_ticks;
        for (uint32_t at = 0; rc > 0 && at < page.count; at++)
            rc = put_slot(raw, &page, at, &base) < 0 ? LAM_E_NOMEM : 1;
    }
    stream_faults_merge(faults, &pages.faults);
    event_pages_close(&pages);
    return rc < 0 ? rc : LAM_OK;
}

static int put_tree_nodes(struct raw *raw, struct stream_faults *faults)
{
    struct tree_nodes nodes = {0};
    struct stream_page_span span = stream_pages_of_kind(raw->file, STREAM_PAGE_TREE);
    int rc = LAM_OK;
    for (size_t page = span.first; rc >= 0 && page < span.end;) {
        uint32_t lane = raw->file->pages.items[page].thread;
        rc = tree_nodes_load(&nodes, raw->file, page, &page, faults);
        for (size_t i = 0; rc >= 0 && i < nodes.count; i++) {
            const struct stream_tree_node *node = &nodes.items[i];
            if (!node->parent_plus_1)
                continue;
            begin(raw, "tree_node");
            put_u64(raw, "lane", lane);
            put_u64(raw, "number", i + 1);
            put_u64(raw, "parent", node->parent_plus_1 - 1);
            put_u64(raw, "id", node->id);
            put_u64(raw, "kind", node->kind);
            put_u64(raw, "node_type", node->type);
            put_u64(raw, "count", node->count);
            put_u64(raw, "total", node->total);
            put_u64(raw, "self", node->self);
            put_u64(raw, "untold", node->untold);
            put_u64(raw, "when", node->when);
            put_u64(raw, "open_in_lane", node->lane);
            rc = end(raw);
        }
    }
    array_free(&nodes);
    return rc;
}

static int put_faults(struct raw *raw, const struct stream_faults *faults)
{
    int rc = LAM_OK;
    for (unsigned i = 0; rc >= 0 && i < faults->kept; i++) {
        begin(raw, "fault");
        put_u64(raw, "offset", faults->first[i].offset);
        put_name(raw, "kind", stream_damage_name(faults->first[i].kind));
        put_u64(raw, "amount", faults->first[i].amount);
        rc = end(raw);
    }
    if (rc < 0)
        return rc;
    begin(raw, "end");
    for (unsigned i = 0; i < STREAM_DAMAGE_KINDS; i++) {
        if (strcmp(stream_damage_name(i), "?") != 0)
            put_u64(raw, stream_damage_name(i), faults->counts[i]);
    }
    return end(raw);
}

int write_view_raw(const char *path, bool is_json, struct byteout *out, struct lam_error *err)
{
    struct stream_file *file = NULL;
    int rc = stream_open(&file, path, err);
    if (rc < 0)
        return rc;
    struct raw raw = {.file = file, .out = out, .is_json = is_json};
    struct stream_walk walk;
    stream_walk_init(&walk, file);
    rc = put_header(&raw);
    if (rc >= 0)
        rc = put_records(&raw, &walk, STREAM_PAGE_META);
    if (rc >= 0)
        rc = put_records(&raw, &walk, STREAM_PAGE_MODULES);
    if (rc >= 0)
        rc = put_records(&raw, &walk, STREAM_PAGE_RECORDS);
    if (rc >= 0)
        rc = put_all_samples(&raw, &walk);
    struct stream_faults faults = file->faults;
    if (rc >= 0)
        rc = put_nodes(&raw, &faults);
    if (rc >= 0)
        rc = put_slots(&raw, &faults);
    if (rc >= 0)
        rc = put_tree_nodes(&raw, &faults);
    stream_faults_merge(&faults, &walk.faults);
    if (rc >= 0)
        rc = put_faults(&raw, &faults);
    stream_walk_close(&walk);
    strbuf_free(&raw.line);
    stream_close(&file);
    if (rc == LAM_E_NOMEM)
        lam_error_set(err, rc, "%s: out of memory", path);
    return rc < 0 ? rc : LAM_OK;
}
