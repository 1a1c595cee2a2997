#include "symbols/module_symbols.h"

#include "symbols/debug_file.h"
#include "symbols/elf_symbols.h"
#include "symbols/vdso_image.h"

/* File systems keep times in steps; two events within one may be in either order. */
enum { CLOCK_STEP_NS = 20000000 };

/* How near a file came to being usable: a better one hides the others. */
static void note_state(struct module_symbols *symbols, enum symbols_module_state state)
{
    static const int order[] = {
        [SYMBOLS_MODULE_MISSING] = 0,  [SYMBOLS_MODULE_DAMAGED] = 1,  [SYMBOLS_MODULE_CHANGED] = 2,
        [SYMBOLS_MODULE_STRIPPED] = 3, [SYMBOLS_MODULE_COMPLETE] = 4,
    };
    if (order[state] > order[symbols->state])
        symbols->state = state;
}

static bool is_the_mapped_one(const struct elf_file *file, const struct hit_module *module,
                              const struct hit_path *path)
{
    if (module->build_id.size > 0)
        return build_id_equal(&file->build_id, &module->build_id);
    if (path->inode && (path->inode != file->inode || path->device != file->device))
        return false;
    return path->mapped_at_ns == INT64_MAX || file->modified_ns <= path->mapped_at_ns + CLOCK_STEP_NS;
}

/* Without build ids, two files that were mapped from one path: an address may be of either. */
static bool is_ambiguous(const struct hit_module *module)
{
    return module->build_id.size == 0 && module->paths.count > 1;
}

static bool is_known(const struct module_symbols *symbols, const struct elf_file *file)
{
    array_each(&symbols->files, known)
    {
        if (file->inode && known->file->inode == file->inode && known->file->device == file->device)
            return true;
    }
    return false;
}

static void note_lines(struct module_symbols *symbols, struct elf_file *file, uint64_t shift)
{
    if (symbols->lines ||
        (!elf_file_section(file, ".debug_info") && !elf_file_section(file, ".zdebug_info")))
        return;
    symbols->lines = file;
    symbols->lines_shift = shift;
}

/* Takes a file over, in any case, and adds its symbols. */
static int add_file(struct module_symbols *symbols, struct elf_file *file, uint64_t shift)
{
    if (array_push(&symbols->files, ((struct opened_file){file})) < 0) {
        elf_file_close(&file);
        return LAM_E_NOMEM;
    }
    note_state(symbols,
               elf_symbols_complete(file) ? SYMBOLS_MODULE_COMPLETE : SYMBOLS_MODULE_STRIPPED);
    note_lines(symbols, file, shift);
    return elf_symbols_add(&symbols->functions, file, shift);
}

/* What a stripped file's debug file and embedded table know. */
static int add_debug_files(struct module_symbols *symbols, struct elf_file *file, const char *path,
                           const char *root)
{
    struct elf_file *debug = NULL;
    int rc = LAM_E_NOTFOUND;
    if (!elf_symbols_complete(file) || symbols->lines == NULL)
        rc = debug_file_find(&debug, file, path, root);
    if (rc == LAM_OK)
        rc = add_file(symbols, debug, elf_file_base(file) - elf_file_base(debug));
    if ((rc == LAM_OK || rc == LAM_E_NOTFOUND) && symbols->state != SYMBOLS_MODULE_COMPLETE) {
        rc = debug_file_embedded(&debug, file);
        if (rc == LAM_OK)
            rc = add_file(symbols, debug, 0);
    }
    return rc == LAM_E_NOTFOUND ? LAM_OK : rc;
}

static int add_path(struct module_symbols *symbols, const struct hit_module *module,
                    const struct hit_path *path, const char *root)
{
    struct elf_file *file = NULL;
    int rc = elf_file_open(&file, path->path, NULL);
    if (rc == LAM_E_NOMEM)
        return rc;
    if (rc < 0) {
        note_state(symbols, rc == LAM_E_CORRUPT ? SYMBOLS_MODULE_DAMAGED : SYMBOLS_MODULE_MISSING);
        return LAM_OK;
    }
    if (is_known(symbols, file) || !is_the_mapped_one(file, module, path)) {
        if (!is_known(symbols, file))
            note_state(symbols, SYMBOLS_MODULE_CHANGED);
        elf_file_close(&file);
        return LAM_OK;
    }
    rc = add_file(symbols, file, 0);
    return rc < 0 ? rc : add_debug_files(symbols, file, path->path, root);
}

static int add_vdso(struct module_symbols *symbols, const struct hit_module *module)
{
    struct elf_file *file = NULL;
    int rc = vdso_image_open(&file);
    if (rc < 0)
        return rc == LAM_E_NOMEM ? rc : LAM_OK;
    if (!build_id_equal(&file->build_id, &module->build_id)) {
        note_state(symbols, SYMBOLS_MODULE_CHANGED); /* another kernel's */
        elf_file_close(&file);
        return LAM_OK;
    }
    rc = add_file(symbols, file, 0);
    /* Its .dynsym is all that it ever had. */
    note_state(symbols, SYMBOLS_MODULE_COMPLETE);
    return rc;
}

/* The binary is gone or replaced: its debug file may still be there. */
static int add_debug_file_alone(struct module_symbols *symbols, const struct hit_module *module,
                                const char *root)
{
    struct elf_file *debug = NULL;
    int rc = debug_file_by_build_id(&debug, &module->build_id, root);
    if (rc == LAM_OK)
        rc = add_file(symbols, debug, 0);
    return rc == LAM_E_NOTFOUND ? LAM_OK : rc;
}

static int finish(struct module_symbols *symbols)
{
    int rc = symbol_table_finish(&symbols->functions);
    for (size_t i = 0; i < symbols->files.count && rc == LAM_OK; i++)
        rc = elf_plt_add(&symbols->stubs, &symbols->functions, symbols->files.items[i].file);
    return rc == LAM_OK ? symbol_table_finish(&symbols->stubs) : rc;
}

int module_symbols_load(struct module_symbols *symbols, const struct hit_module *module,
                        const char *debug_root)
{
    int rc = LAM_OK;
    symbols->state = SYMBOLS_MODULE_MISSING;
    if (module->is_vdso) {
        rc = add_vdso(symbols, module);
    } else if (is_ambiguous(module)) {
        symbols->state = SYMBOLS_MODULE_CHANGED;
    } else {
        for (size_t i = 0; i < module->paths.count && rc == LAM_OK; i++)
            rc = add_path(symbols, module, &module->paths.items[i], debug_root);
        if (rc == LAM_OK && symbols->files.count == 0)
            rc = add_debug_file_alone(symbols, module, debug_root);
    }
    return rc == LAM_OK ? finish(symbols) : rc;
}

const struct symbol *module_symbols_find(const struct module_symbols *symbols, uint64_t address,
                                         const struct symbol_range **range)
{
    const struct symbol_table *tables[] = {&symbols->functions, &symbols->stubs};
    for (size_t i = 0; i < 2; i++) {
        *range = symbol_table_find(tables[i], address);
        if (*range)
            return &tables[i]->symbols.items[(*range)->symbol];
    }
    return NULL;
}

void module_symbols_free(struct module_symbols *symbols)
{
    symbol_table_free(&symbols->functions);
    symbol_table_free(&symbols->stubs);
    array_each(&symbols->files, opened)
    {
        elf_file_close(&opened->file);
    }
    array_free(&symbols->files);
}
