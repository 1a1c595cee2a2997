#include "analysis/unit_class.h"

#include <string.h>

/* Between the parts of a class: no command line that is worth comparing has it. */
#define SEPARATOR '\x1f'

enum { KIND, CRATE, PACKAGE, VERSION, CRATE_TYPE, MODE, LANGUAGE, TARGET };

const char *const unit_class_parts[UNIT_CLASS_PARTS] = {
    "kind",   "crate",    "package",   "version",       "crate_type", "mode",       "language",
    "target", "features", "opt_level", "codegen_units", "lto",        "debug_info", "incremental"};

/* The same to the compiler; caches of results say rlib for cargo's lib. */
const char *class_crate_type(const struct unit *unit)
{
    return unit->crate_type && strcmp(unit->crate_type, "rlib") == 0 ? "lib" : unit->crate_type;
}

void unit_class_of(const struct unit *unit, const char *parts[UNIT_CLASS_PARTS])
{
    const char *const all[UNIT_CLASS_PARTS] = {unit_kind_name(unit->kind),
                                               unit->crate,
                                               unit->package,
                                               unit->version,
                                               class_crate_type(unit),
                                               unit->mode,
                                               unit->language,
                                               unit->target,
                                               unit->features,
                                               unit->opt_level,
                                               unit->codegen_units,
                                               unit->lto,
                                               unit->debug_info,
                                               unit->incremental ? "yes" : NULL};
    memcpy(parts, all, sizeof all);
}

/* Every package's build script is a crate of the same name. */
static const char *name_of(const char *const parts[UNIT_CLASS_PARTS], const char *title)
{
    static const char prefix[] = "build_script";
    const char *crate = parts[CRATE], *package = parts[PACKAGE];
    if (crate && *crate && strncmp(crate, prefix, sizeof prefix - 1) != 0)
        return crate;
    return package && *package ? package : title;
}

static void add_part(struct strbuf *out, const char *part)
{
    strbuf_add(out, part ? part : "");
    strbuf_add_char(out, SEPARATOR);
}

void unit_class_text(const char *const parts[UNIT_CLASS_PARTS], const char *title, struct strbuf *out)
{
    for (size_t i = 0; i < UNIT_CLASS_PARTS; i++)
        add_part(out, parts[i]);
    if (name_of(parts, title) == title)
        strbuf_add(out, title);
}

void unit_class_name(const char *const parts[UNIT_CLASS_PARTS], const char *title, struct strbuf *out)
{
    add_part(out, parts[KIND]);
    add_part(out, name_of(parts, title));
    add_part(out, parts[CRATE_TYPE]);
    add_part(out, parts[MODE]);
}

void unit_class_differences(const char *left, const char *right, struct strbuf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < UNIT_CLASS_PARTS; i++) {
        size_t a = strcspn(left, "\x1f"), b = strcspn(right, "\x1f");
        if (a != b || memcmp(left, right, a) != 0) {
            strbuf_addf(out, "%s%s", comma, unit_class_parts[i]);
            comma = ", ";
        }
        left += a + (left[a] != '\0');
        right += b + (right[b] != '\0');
    }
}
