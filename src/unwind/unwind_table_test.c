/* ctest: TIMEOUT 600 */
/* Every frame description of the large libraries on this machine must decode.
 *
 *   unwind_table_test                      the test
 *   unwind_table_test --rows FILE [N]      rows of every Nth description, as tests/unwind_vs_readelf.py reads them
 *   unwind_table_test --shares FILE...     what the rows are made of */
#include "unwind/unwind.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t *map_file(const char *path, uint64_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
        return NULL;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    *size = (uint64_t)st.st_size;
    return map == MAP_FAILED ? NULL : map;
}

static const struct unwind_arch *file_arch(const uint8_t *file)
{
    return ((const Elf64_Ehdr *)(const void *)file)->e_machine == EM_AARCH64 ? &unwind_aarch64
                                                                             : &unwind_x86_64;
}

/* Not every .eh_frame ends in a terminator (the loader's does not): its size is in the section headers, which are not
 * loaded and which the unwinder does not need, as it goes by the search table. */
static int open_module(const char *path, const uint8_t **file, uint64_t *size,
                       struct unwind_module *out)
{
    *file = map_file(path, size);
    if (!*file || unwind_module_from_file(*file, *size, 0, out) < 0 ||
        cfi_eh_frame_start(out, &out->eh_frame_addr) < 0)
        return -1;
    const Elf64_Ehdr *ehdr = (const void *)*file;
    const Elf64_Shdr *sections = (const void *)(*file + ehdr->e_shoff);
    for (unsigned i = 0; i < ehdr->e_shnum; i++)
        if (sections[i].sh_addr == out->eh_frame_addr && (sections[i].sh_flags & SHF_ALLOC))
            out->eh_frame_size = sections[i].sh_size;
    return 0;
}

struct totals {
    uint64_t fdes, rows, compact, slow, ends, bad, table_bad;
    uint64_t lost_bx, lost_fp, other_base, expressions, most_instructions, deepest;
};

static void count_row(struct totals *totals, const struct unwind_arch *arch,
                      const struct cfi_program *program)
{
    const struct cfi_fde *fde = program->fde;
    uint64_t pc = program->row_begin;
    unwind_rule rule = rule_from_row(arch, fde, &program->row, &pc);
    totals->rows++;
    totals->expressions += program->row.cfa.how == CFI_EXPRESSION;
    if (rule_kind(rule) == RULE_FRAME) {
        totals->compact++;
        totals->lost_bx += rule_place(rule, RULE_BX_AT) == RULE_PLACE_LOST;
        totals->lost_fp += rule_place(rule, RULE_FP_AT) == RULE_PLACE_LOST;
        totals->other_base += rule_reg(rule) != arch->sp && rule_reg(rule) != arch->fp;
    } else if (rule_kind(rule) == RULE_END) {
        totals->ends++;
    } else {
        totals->slow++;
    }
}

static void count_fde(struct totals *totals, const struct unwind_arch *arch,
                      const struct unwind_module *module, const struct cfi_fde *fde)
{
    static struct cfi_program program;
    static struct cfi_fde found;
    totals->fdes++;
    int rc = cfi_program_start(&program, fde);
    uint64_t budget = program.instructions_left;
    while (rc == 0 && (rc = cfi_program_row(&program)) == 1) {
        count_row(totals, arch, &program);
        rc = 0;
        if (program.depth > totals->deepest)
            totals->deepest = program.depth;
    }
    totals->bad += rc < 0;
    if (budget - program.instructions_left > totals->most_instructions)
        totals->most_instructions = budget - program.instructions_left;
    /* The search table must lead to the same description. */
    if (fde->pc_end > fde->pc_begin && totals->fdes % 16 == 0)
        totals->table_bad += cfi_find_fde(module, fde->pc_end - 1, 0, &found) < 0 ||
                             found.fde_code.at != fde->fde_code.at;
}

/* Goes through all of .eh_frame; 0, or -1 when the file has none that can be read. */
static int count_file(const char *path, struct totals *totals)
{
    static struct cfi_fde fde;
    struct unwind_module module;
    const uint8_t *file;
    uint64_t size;
    memset(totals, 0, sizeof *totals);
    if (open_module(path, &file, &size, &module) < 0)
        return -1;
    uint64_t addr = module.eh_frame_addr;
    int rc;
    while ((rc = cfi_next_record(&module, &addr, &fde)) >= 0)
        if (rc == 1)
            count_fde(totals, file_arch(file), &module, &fde);
    totals->bad += rc != -UNWIND_NO_RULE;
    munmap((void *)(uintptr_t)file, size);
    return 0;
}

static void print_totals(const char *path, const struct totals *totals)
{
    const char *name = strrchr(path, '/');
    double rows = totals->rows ? (double)totals->rows : 1;
    printf(
        "%-44.44s %8llu fdes %9llu rows, compact %8.4f%%, slow %llu, ends %llu, base other %llu, "
        "bx lost %llu, fp lost %llu, cfa expressions %llu, longest program %llu\n",
        name ? name + 1 : path, (unsigned long long)totals->fdes, (unsigned long long)totals->rows,
        100.0 * (double)totals->compact / rows, (unsigned long long)totals->slow,
        (unsigned long long)totals->ends, (unsigned long long)totals->other_base,
        (unsigned long long)totals->lost_bx, (unsigned long long)totals->lost_fp,
        (unsigned long long)totals->expressions, (unsigned long long)totals->most_instructions);
}

static void check_libraries(const char *pattern, double compact_share)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct totals totals;
        if (count_file(found.gl_pathv[i], &totals) < 0)
            continue; /* a linker script with the name of a library */
        print_totals(found.gl_pathv[i], &totals);
        assert_true(totals.fdes > 0);
        assert_int_equal(totals.bad, 0);
        assert_int_equal(totals.table_bad, 0);
        assert_true((double)totals.compact > compact_share * (double)totals.rows);
    }
    globfree(&found);
}

static void system_libraries_decode(void **state)
{
    (void)state;
    check_libraries("/lib/x86_64-linux-gnu/libc.so.6", 0.98);
    check_libraries("/lib64/ld-linux-x86-64.so.2", 0.98);
    check_libraries("/lib/x86_64-linux-gnu/libm.so.6", 0.98);
    check_libraries("/lib/x86_64-linux-gnu/libgcc_s.so.1", 0.9);
    check_libraries("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0.99);
    check_libraries("/usr/aarch64-linux-gnu/lib/libc.so.6", 0.98);
    check_libraries("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", 0.98);
    check_libraries("/usr/aarch64-linux-gnu/lib/libstdc++.so.6", 0.98);
}

static void compilers_decode(void **state)
{
    (void)state;
    char pattern[4096];
    const char *home = getenv("HOME");
    check_libraries("/usr/lib/gcc/x86_64-linux-gnu/*/cc1", 0.99);
    check_libraries("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 0.99);
    check_libraries("/usr/lib/x86_64-linux-gnu/librustc_driver-*.so", 0.99);
    if (!home)
        return;
    snprintf(pattern, sizeof pattern, "%s/.rustup/toolchains/stable-*/lib/librustc_driver-*.so",
             home);
    check_libraries(pattern, 0.99);
    snprintf(pattern, sizeof pattern, "%s/.rustup/toolchains/stable-*/lib/libLLVM.so.*", home);
    check_libraries(pattern, 0.99);
    snprintf(pattern, sizeof pattern, "%s/.rustup/toolchains/stable-*/lib/rustlib/*/bin/rust-lld",
             home);
    check_libraries(pattern, 0.99);
}

static void print_rule(const struct cfi_rule *rule)
{
    switch ((enum cfi_how)rule->how) {
    case CFI_UNSPECIFIED:
        printf("u");
        break;
    case CFI_SAME:
        printf("s");
        break;
    case CFI_UNDEFINED:
        printf("u");
        break;
    case CFI_OFFSET:
        printf("c%+d", rule->offset);
        break;
    case CFI_VAL_OFFSET:
        printf("v%+d", rule->offset);
        break;
    case CFI_REGISTER:
        printf("r%u", rule->reg);
        break;
    case CFI_EXPRESSION:
        printf("exp");
        break;
    case CFI_VAL_EXPRESSION:
        printf("vexp");
        break;
    }
}

/* One line a row: where it begins, then the CFA, then each column with a rule, by number. */
static int print_rows(const char *path, unsigned every)
{
    static struct cfi_fde fde;
    static struct cfi_program program;
    struct unwind_module module;
    const uint8_t *file;
    uint64_t size, n = 0;
    if (open_module(path, &file, &size, &module) < 0)
        return 1;
    uint64_t addr = module.eh_frame_addr;
    int rc;
    while ((rc = cfi_next_record(&module, &addr, &fde)) >= 0) {
        if (rc == 0 || n++ % every != 0)
            continue;
        printf("fde %llx %llx ra%u\n", (unsigned long long)fde.pc_begin,
               (unsigned long long)fde.pc_end, fde.ra_column);
        if (cfi_program_start(&program, &fde) < 0)
            return 1;
        while (cfi_program_row(&program) == 1) {
            printf("%llx ", (unsigned long long)program.row_begin);
            if (program.row.cfa.how == CFI_EXPRESSION)
                printf("exp");
            else
                printf("%u%+d", program.row.cfa.reg, program.row.cfa.offset);
            for (unsigned i = 0; i < UNWIND_COLUMNS; i++) {
                if (program.row.columns[i].how == CFI_UNSPECIFIED)
                    continue;
                printf(" %u:", i);
                print_rule(&program.row.columns[i]);
            }
            printf("\n");
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--rows") == 0)
        return print_rows(argv[2], argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1);
    for (int i = 2; i < argc && strcmp(argv[1], "--shares") == 0; i++) {
        struct totals totals;
        if (count_file(argv[i], &totals) == 0)
            print_totals(argv[i], &totals);
    }
    if (argc > 1)
        return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_libraries_decode),
        cmocka_unit_test(compilers_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
