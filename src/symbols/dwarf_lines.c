#include "symbols/dwarf_lines.h"

#include <stdlib.h>
#include <time.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/memory.h"

enum {
    DEPTH_MAX = 128,        /* of entries inside each other; deeper ones are passed over */
    ENTRIES_MAX = 50 << 20, /* in one file */
    ENTRIES_A_CHECK = 1024, /* between two looks at the clock */
    RANGES_MAX = 1 << 16,   /* of one entry */
    UNITS_BACK = 16,        /* overlapping units that are tried for one address */
};

struct unit_range {
    uint64_t low;
    uint64_t high;
    uint32_t unit;
};

struct dwarf_lines {
    Dwarf *dwarf;
    struct elf_file *file;
    uint64_t shift;
    LAM_ARRAY(Dwarf_Die) units;
    LAM_ARRAY(Dwarf_Die) trees; /* the unit's entries: the same, or those of its split part */
    LAM_ARRAY(struct unit_range) ranges;
    LAM_ARRAY(struct dwarf_call) calls;
    uint64_t entries;
    uint64_t deadline_ns;
    bool was_cut;
};

struct located { /* a site and its unit */
    struct dwarf_site *site;
    uint32_t unit;
};

/* The sites of one unit while its entries are walked. */
struct walk {
    struct dwarf_lines *lines;
    struct located *sites; /* sorted by address */
    size_t count;
    Dwarf_Files *files;
    size_t file_count;
    int rc;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Counts an entry; false when the budget is used up. */
static bool may_go_on(struct dwarf_lines *lines)
{
    if (lines->was_cut)
        return false;
    lines->entries++;
    if (lines->entries > ENTRIES_MAX)
        lines->was_cut = true;
    else if (lines->entries % ENTRIES_A_CHECK == 0 && now_ns() > lines->deadline_ns)
        lines->was_cut = true;
    return !lines->was_cut;
}

/* Calls fn for each range of an entry that lies in code. Ranges of functions that the linker threw
 * away begin at 0 or near the end of the address space. */
static void each_range(struct dwarf_lines *lines, Dwarf_Die *die,
                       void (*fn)(void *ctx, uint64_t low, uint64_t high), void *ctx)
{
    ptrdiff_t offset = 0;
    Dwarf_Addr base, low, high;
    for (size_t i = 0; i < RANGES_MAX; i++) {
        offset = dwarf_ranges(die, offset, &base, &low, &high);
        if (offset <= 0)
            break;
        const struct elf_section *code = elf_file_code_at(lines->file, low);
        if (code && high > low && high <= code->end)
            fn(ctx, low + lines->shift, high + lines->shift);
    }
}

struct unit_reading {
    struct dwarf_lines *lines;
    int rc;
};

static void add_unit_range(void *ctx, uint64_t low, uint64_t high)
{
    struct unit_reading *reading = ctx;
    struct unit_range range = {low, high, (uint32_t)reading->lines->units.count - 1};
    if (array_push(&reading->lines->ranges, range) < 0)
        reading->rc = LAM_E_NOMEM;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct unit_range *a = left, *b = right;
    return a->low < b->low ? -1 : a->low > b->low;
}

static int read_units(struct dwarf_lines *lines)
{
    struct unit_reading reading = {.lines = lines};
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, split;
    Dwarf_Half version;
    uint8_t type;
    while (reading.rc == LAM_OK && may_go_on(lines) &&
           dwarf_get_units(lines->dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        bool is_split = type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit;
        if (array_push(&lines->units, die) < 0 ||
            array_push(&lines->trees, is_split ? split : die) < 0)
            return LAM_E_NOMEM;
        each_range(lines, &die, add_unit_range, &reading);
    }
    array_sort(&lines->ranges, compare_ranges);
    return reading.rc;
}

int dwarf_lines_open(struct dwarf_lines **out, struct elf_file *file, uint64_t shift)
{
    if (!elf_file_section(file, ".debug_info") && !elf_file_section(file, ".zdebug_info"))
        return LAM_E_NOTFOUND;
    struct dwarf_lines *lines = mem_zalloc(1, sizeof *lines);
    if (!lines)
        return LAM_E_NOMEM;
    lines->file = file;
    lines->shift = shift;
    lines->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (!lines->dwarf) {
        dwarf_lines_close(&lines);
        return LAM_E_NOTFOUND;
    }
    *out = lines;
    return LAM_OK;
}

void dwarf_lines_close(struct dwarf_lines **lines)
{
    if (!lines || !*lines)
        return;
    dwarf_end((*lines)->dwarf);
    array_free(&(*lines)->units);
    array_free(&(*lines)->trees);
    array_free(&(*lines)->ranges);
    array_free(&(*lines)->calls);
    mem_free(*lines);
    *lines = NULL;
}

const struct dwarf_call *dwarf_lines_call(const struct dwarf_lines *lines, uint32_t node)
{
    return node > 0 && node <= lines->calls.count ? &lines->calls.items[node - 1] : NULL;
}

/* ---- entries -------------------------------------------------------------------------------- */

static const char *string_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static uint64_t number_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
        return 0;
    return value;
}

static const char *function_name(Dwarf_Die *die)
{
    const char *name = string_attribute(die, DW_AT_linkage_name);
    if (!name)
        name = string_attribute(die, DW_AT_MIPS_linkage_name);
    return name ? name : string_attribute(die, DW_AT_name);
}

static int add_call(struct walk *walk, Dwarf_Die *die, uint32_t parent, uint32_t *node)
{
    struct dwarf_call call = {.parent = parent, .name = function_name(die)};
    if (parent) {
        uint64_t line = number_attribute(die, DW_AT_call_line),
                 file = number_attribute(die, DW_AT_call_file);
        call.call_line = line <= UINT32_MAX ? (uint32_t)line : 0;
        if (walk->files && file < walk->file_count)
            call.call_file = dwarf_filesrc(walk->files, file, NULL, NULL);
    }
    if (walk->lines->calls.count >= UINT32_MAX - 1 || array_push(&walk->lines->calls, call) < 0)
        return LAM_E_NOMEM;
    *node = (uint32_t)walk->lines->calls.count;
    return LAM_OK;
}

struct covering {
    struct walk *walk;
    uint32_t node; /* for the covered sites; 0: count only */
    size_t covered;
};

static void cover(void *ctx, uint64_t low, uint64_t high)
{
    struct covering *covering = ctx;
    struct walk *walk = covering->walk;
    size_t from = 0, to = walk->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (walk->sites[middle].site->address < low)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < walk->count && walk->sites[from].site->address < high; from++) {
        if (covering->node)
            walk->sites[from].site->node = covering->node;
        covering->covered++;
        if (!covering->node)
            break;
    }
}

/* Whether entries of this kind can hold functions, outside and inside of one. */
static bool is_scope(int tag, bool in_function)
{
    switch (tag) {
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return in_function;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return !in_function;
    default:
        return false;
    }
}

static void walk_children(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth);

static void walk_function(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    struct covering covering = {.walk = walk};
    each_range(walk->lines, die, cover, &covering);
    if (covering.covered == 0)
        return;
    walk->rc = add_call(walk, die, parent, &covering.node);
    if (walk->rc < 0)
        return;
    each_range(walk->lines, die, cover, &covering);
    walk_children(walk, die, covering.node, depth);
}

static void walk_children(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    Dwarf_Die child;
    if (depth >= DEPTH_MAX || dwarf_child(die, &child) != 0)
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram || (parent && tag == DW_TAG_inlined_subroutine))
            walk_function(walk, &child, tag == DW_TAG_subprogram ? 0 : parent, depth + 1);
        else if (is_scope(tag, parent != 0))
            walk_children(walk, &child, parent, depth + 1);
    } while (walk->rc == LAM_OK && may_go_on(walk->lines) && dwarf_siblingof(&child, &child) == 0);
}

/* The line of a row that begins at the address. Where a compiler puts something of its own in front of a function (clang's XRay), the
 * function's line has no more than its first address, which a row without a line begins with as well: that one is found by address. */
static Dwarf_Line *line_beginning_at(Dwarf_Die *unit, Dwarf_Addr address)
{
    Dwarf_Lines *rows;
    size_t count, low = 0;
    if (dwarf_getsrclines(unit, &rows, &count) != 0)
        return NULL;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        Dwarf_Addr at;
        if (dwarf_lineaddr(dwarf_onesrcline(rows, middle), &at) == 0 && at < address)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count; low++) {
        Dwarf_Line *row = dwarf_onesrcline(rows, low);
        Dwarf_Addr at;
        int number;
        if (dwarf_lineaddr(row, &at) != 0 || at != address)
            return NULL;
        if (dwarf_lineno(row, &number) == 0 && number > 0)
            return row;
    }
    return NULL;
}

static void find_lines(struct walk *walk, Dwarf_Die *unit)
{
    const char *directory = string_attribute(unit, DW_AT_comp_dir);
    for (size_t i = 0; i < walk->count; i++) {
        struct dwarf_site *site = walk->sites[i].site;
        Dwarf_Addr address = site->address - walk->lines->shift;
        Dwarf_Line *line = dwarf_getsrc_die(unit, address);
        int number;
        site->directory = directory;
        if (line && dwarf_lineno(line, &number) == 0 && number <= 0)
            line = line_beginning_at(unit, address);
        if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
            continue;
        site->line = (uint32_t)number;
        site->file = dwarf_linesrc(line, NULL, NULL);
    }
}

static int walk_unit(struct dwarf_lines *lines, struct located *sites, size_t count)
{
    struct walk walk = {.lines = lines, .sites = sites, .count = count};
    Dwarf_Die *unit = &lines->units.items[sites[0].unit];
    if (!may_go_on(lines))
        return LAM_OK;
    if (now_ns() > lines->deadline_ns) { /* a unit's line table is decoded in one go */
        lines->was_cut = true;
        return LAM_OK;
    }
    if (dwarf_getsrcfiles(unit, &walk.files, &walk.file_count) != 0)
        walk.files = NULL;
    find_lines(&walk, unit);
    walk_children(&walk, &lines->trees.items[sites[0].unit], 0, 0);
    return walk.rc;
}

/* ---- sites ---------------------------------------------------------------------------------- */

/* The unit that holds an address; UINT32_MAX when none does. Units rarely overlap, and then by a
 * few. */
static uint32_t find_unit(const struct dwarf_lines *lines, uint64_t address)
{
    size_t low = 0, high = lines->ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->ranges.items[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 0; low > 0 && back < UNITS_BACK; back++, low--)
        if (address < lines->ranges.items[low - 1].high)
            return lines->ranges.items[low - 1].unit;
    return UINT32_MAX;
}

static int compare_located(const void *left, const void *right)
{
    const struct located *a = left, *b = right;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return a->site->address < b->site->address ? -1 : a->site->address > b->site->address;
}

int dwarf_lines_resolve(struct dwarf_lines *lines, struct dwarf_site *sites, size_t count,
                        uint64_t deadline_ns, bool *was_cut)
{
    LAM_ARRAY(struct located) located = {0};
    lines->deadline_ns = deadline_ns;
    int rc = lines->units.count ? LAM_OK : read_units(lines);
    for (size_t i = 0; i < count && rc == LAM_OK; i++) {
        struct located one = {&sites[i], find_unit(lines, sites[i].address)};
        if (one.unit != UINT32_MAX)
            rc = array_push(&located, one);
    }
    if (rc == LAM_OK)
        array_sort(&located, compare_located);
    for (size_t from = 0, to; from < located.count && rc == LAM_OK; from = to) {
        to = from + 1;
        while (to < located.count && located.items[to].unit == located.items[from].unit)
            to++;
        rc = walk_unit(lines, located.items + from, to - from);
    }
    array_free(&located);
    *was_cut = lines->was_cut;
    return rc;
}
