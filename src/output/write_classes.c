#include "output/write_classes.h"

#include "analysis/class_ids.h"
#include "base/map.h"

void write_unit_class_json(struct json_writer *json, const struct report_unit *unit)
{
    json_member_str(json, "class_id", unit->class_id);
    json_member_str(json, "class_missing", unit->class_missing);
    json_member_str(json, "capture", unit->capture);
    json_member_array(json, "flags");
    for (size_t i = 0; i < unit->flags.count; i++) {
        json_put_object(json);
        json_member_str(json, "flag", unit->flags.items[i].flag);
        json_member_str(json, "value", unit->flags.items[i].value);
        json_put_end(json);
    }
    json_put_end(json);
    json_member_array(json, "artifacts");
    for (size_t i = 0; i < unit->artifacts.count; i++) {
        const struct unit_artifact *artifact = &unit->artifacts.items[i];
        json_put_object(json);
        json_member_str(json, "file", artifact->file);
        json_member_str(json, "kind", artifact->kind);
        json_member_u64(json, "bytes", artifact->bytes);
        json_put_end(json);
    }
    json_put_end(json);
}

static int put_class(struct json_writer *json, const struct report *report, uint32_t index)
{
    const struct report_unit *unit = &report->units.items[index];
    const struct cargo_unit *cargo = report_cargo_unit(report, unit);
    struct strbuf flags = {0}, deps = {0};
    unit_flags_text(&unit->flags, &flags);
    int rc = class_deps_text(report, index, &deps);
    json_put_object(json);
    json_member_str(json, "class_id", unit->class_id);
    json_member_str(json, "package", cargo ? cargo->package : unit->info.package);
    json_member_str(json, "version", cargo ? cargo->version : unit->info.version);
    json_member_str(json, "source", class_source(&unit->info));
    json_member_str(json, "features", unit->info.features);
    json_member_str(json, "profile", report->cargo ? report->cargo->profile : NULL);
    json_member_str(json, "flags", strbuf_text(&flags));
    json_member_str(json, "target", unit->info.target);
    json_member_str(json, "dep_class_ids", strbuf_text(&deps));
    json_put_end(json);
    strbuf_free(&flags);
    strbuf_free(&deps);
    return rc;
}

int write_classes_json(struct json_writer *json, const struct report *report,
                       const struct report_rows *rows)
{
    struct map seen = {0};
    int rc = LAM_OK;
    json_member_array(json, "classes");
    for (size_t i = 0; i < rows->units.count && rc == LAM_OK; i++) {
        const char *id = report->units.items[rows->units.items[i]].class_id;
        bool added = false;
        if (id && !map_slot(&seen, hash_bytes(id, CLASS_ID_BYTES - 1), 0, &added))
            rc = LAM_E_NOMEM;
        if (added)
            rc = put_class(json, report, rows->units.items[i]);
    }
    json_put_end(json);
    map_free(&seen);
    return rc;
}
