/* Small files of every kind that a program may be started from; and broken ones, which must never be read past their end. */
#include "core/bytes.h"
#include "core/elf_probe.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/lamella-probe-XXXXXX";

static const char *write_file(const char *name, const void *bytes, size_t size, mode_t mode)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

/* A file with a header, an interpreter, a dynamic section and its strings; what is at which place of the file is its
 * address too. */
struct made {
    Elf64_Ehdr ehdr;
    Elf64_Phdr phdr[4];
    char interp[64];
    Elf64_Dyn dyn[4];
    Elf64_Sym symbols[3];
    char strings[64];
    char data[128];
};

static struct made make(const char *interp)
{
    struct made made = {0};
    memcpy(made.ehdr.e_ident, ELFMAG, SELFMAG);
    made.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
#if defined(__x86_64__)
    made.ehdr.e_machine = EM_X86_64;
#else
    made.ehdr.e_machine = EM_AARCH64;
#endif
    made.ehdr.e_phoff = offsetof(struct made, phdr);
    made.ehdr.e_phnum = 4;
    made.phdr[0] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_filesz = sizeof made, .p_memsz = sizeof made, .p_flags = PF_R};
    made.phdr[1] = (Elf64_Phdr){.p_type = PT_INTERP,
                                .p_offset = offsetof(struct made, interp),
                                .p_filesz = strlen(interp) + 1};
    strcpy(made.interp, interp);
    made.phdr[2] = (Elf64_Phdr){
        .p_type = PT_DYNAMIC, .p_offset = offsetof(struct made, dyn), .p_filesz = sizeof made.dyn};
    made.phdr[3] = (Elf64_Phdr){.p_type = PT_LOAD,
                                .p_flags = PF_R | PF_W,
                                .p_offset = offsetof(struct made, data),
                                .p_vaddr = 0x10000,
                                .p_filesz = sizeof made.data};
    made.dyn[0] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un.d_val = offsetof(struct made, strings)};
    made.dyn[1] = (Elf64_Dyn){.d_tag = DT_SYMTAB, .d_un.d_val = offsetof(struct made, symbols)};
    made.dyn[2] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    strcpy(made.strings + 1, "libc.so.6");
    return made;
}

#define GLIBC "/lib64/ld-linux-x86-64.so.2"

static enum elf_probe probe(const struct made *made)
{
    return elf_probe(AT_FDCWD, write_file("made", made, sizeof *made, 0755));
}

static void each_kind(void **state)
{
    (void)state;
    struct made made = make(GLIBC);
    assert_int_equal(probe(&made), ELF_PROBE_OK);

    made = make("/lib/ld-musl-x86_64.so.1");
    assert_int_equal(probe(&made), ELF_PROBE_LIBC);

    made = make(GLIBC);
    made.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(probe(&made), ELF_PROBE_CLASS);
    made = make(GLIBC);
    made.ehdr.e_machine = EM_RISCV;
    assert_int_equal(probe(&made), ELF_PROBE_CLASS);

    made = make(GLIBC);
    made.phdr[1].p_type =
        PT_NULL; /* a static program; a static one of the position-independent kind has PT_DYNAMIC */
    assert_int_equal(probe(&made), ELF_PROBE_STATIC);
    made.phdr[2].p_type = PT_NULL;
    assert_int_equal(probe(&made), ELF_PROBE_STATIC);

    made = make(GLIBC);
    strcpy(made.strings + 1, "libasan.so.8");
    assert_int_equal(probe(&made), ELF_PROBE_ASAN);
    made = make(GLIBC);
    strcpy(made.strings + 1, "libtsan.so.2");
    assert_int_equal(probe(&made), ELF_PROBE_ASAN);
    made = make(GLIBC); /* clang's: no library, but a symbol */
    strcpy(made.strings + 20, "__asan_init");
    made.symbols[2].st_name = 20;
    assert_int_equal(probe(&made), ELF_PROBE_ASAN);

    made = make(GLIBC); /* Go's own linker: a note, at any multiple of 4 */
    made.phdr[3] =
        (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = offsetof(struct made, data) + 4, .p_filesz = 16};
    Elf64_Nhdr note = {.n_namesz = 4};
    memcpy(made.data + 4, &note, sizeof note);
    memcpy(made.data + 4 + sizeof note, "Go\0", 4);
    assert_int_equal(probe(&made), ELF_PROBE_CGO);
    made = make(GLIBC); /* the system's: its build information in the data */
    memcpy(made.data, "\xff Go buildinf:", 14);
    assert_int_equal(probe(&made), ELF_PROBE_CGO);
}

static void other_rights(void **state)
{
    (void)state;
    struct made made = make(GLIBC);
    /* One's own setuid program runs with the rights that one has. */
    const char *path = write_file("suid", &made, sizeof made, 04755);
    assert_int_equal(elf_probe(AT_FDCWD, path), ELF_PROBE_OK);
    path = write_file("sgid", &made, sizeof made, 02755);
    assert_int_equal(elf_probe(AT_FDCWD, path), ELF_PROBE_OK);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 0, 65534), 0);
        assert_int_equal(chmod(path, 02755), 0);
        assert_int_equal(elf_probe(AT_FDCWD, path), ELF_PROBE_SETUID);
        assert_int_equal(chmod(path, 02745), 0); /* no group execution: not a set-group program */
        assert_int_equal(elf_probe(AT_FDCWD, path), ELF_PROBE_OK);
        path = write_file("suid", &made, sizeof made, 0755);
        assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
        assert_int_equal(chmod(path, 04755), 0);
        assert_int_equal(elf_probe(AT_FDCWD, path), ELF_PROBE_SETUID);
    }
}

static void scripts_are_their_interpreters(void **state)
{
    (void)state;
    struct made musl = make("/lib/ld-musl-x86_64.so.1");
    char interpreter[128], text[256];
    strcpy(interpreter, write_file("interpreter", &musl, sizeof musl, 0755));
    int size = snprintf(text, sizeof text, "#! \t%s -x\necho\n", interpreter);
    assert_int_equal(elf_probe(AT_FDCWD, write_file("script", text, (size_t)size, 0755)),
                     ELF_PROBE_LIBC);
    /* Of a script, too. */
    char first[128];
    strcpy(first, write_file("first", text, (size_t)size, 0755));
    size = snprintf(text, sizeof text, "#!%s", first); /* and no end of line */
    assert_int_equal(elf_probe(AT_FDCWD, write_file("second", text, (size_t)size, 0755)),
                     ELF_PROBE_LIBC);
    /* One that is its own interpreter ends the search. */
    size = snprintf(text, sizeof text, "#!%s/ring\n", directory);
    assert_int_equal(elf_probe(AT_FDCWD, write_file("ring", text, (size_t)size, 0755)),
                     ELF_PROBE_UNREADABLE);
    /* What is neither goes to the shell; what is not there fails by itself. */
    assert_int_equal(elf_probe(AT_FDCWD, write_file("text", "echo\n", 5, 0755)), ELF_PROBE_OK);
    assert_int_equal(elf_probe(AT_FDCWD, write_file("short", "#!", 2, 0755)), ELF_PROBE_OK);
    assert_int_equal(elf_probe(AT_FDCWD, write_file("empty", "", 0, 0755)), ELF_PROBE_OK);
    assert_int_equal(elf_probe(AT_FDCWD, "/nonexistent/program"), ELF_PROBE_OK);
    assert_int_equal(elf_probe(AT_FDCWD, directory), ELF_PROBE_UNREADABLE);
}

/* Cut at every byte, and each byte of the head replaced: any verdict will do, but no read outside the file. */
static void broken_files(void **state)
{
    (void)state;
    struct made made = make(GLIBC);
    for (size_t size = 1; size < sizeof made; size += 3)
        elf_probe(AT_FDCWD, write_file("cut", &made, size, 0755));
    for (size_t at = 0; at < offsetof(struct made, interp); at++) {
        struct made changed = made;
        ((unsigned char *)&changed)[at] = 0xff;
        elf_probe(AT_FDCWD, write_file("changed", &changed, sizeof changed, 0755));
    }
    for (size_t at = offsetof(struct made, dyn); at < offsetof(struct made, strings); at++) {
        struct made changed = made;
        ((unsigned char *)&changed)[at] ^= 0x80;
        elf_probe(AT_FDCWD, write_file("changed", &changed, sizeof changed, 0755));
    }
}

static void text_and_numbers(void **state)
{
    (void)state;
    char out[24];
    static const struct {
        uint64_t value;
        const char *text;
    } rows[] = {{0, "0"}, {9, "9"}, {10, "10"}, {UINT64_MAX, "18446744073709551615"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(text_from_u64(out, rows[i].value), strlen(rows[i].text));
        assert_string_equal(out, rows[i].text);
        const char *at = out;
        assert_true(text_to_u64(&at) == rows[i].value);
        assert_int_equal(*at, 0);
    }
    assert_true(text_starts("abc", "ab") && text_starts("abc", "") && !text_starts("ab", "abc"));
    assert_string_equal(text_find("a=1;b=2", "b="), "b=2");
    assert_null(text_find("abc", "x"));
    assert_true(text_equal("", "") && !text_equal("a", "ab") && !text_equal("ab", "a"));
    char from[70], to[72];
    for (size_t size = 0; size < sizeof from; size++) {
        memset(from, (int)size, sizeof from);
        memset(to, 'z', sizeof to);
        bytes_copy(to + 1, from, size);
        assert_true(bytes_equal(to + 1, from, size));
        assert_true(to[0] == 'z' && to[size + 1] == 'z');
        bytes_zero(to + 1, size);
        assert_true(to[0] == 'z' && to[size + 1] == 'z');
        for (size_t i = 1; i <= size; i++)
            assert_int_equal(to[i], 0);
    }
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind),
        cmocka_unit_test(other_rights),
        cmocka_unit_test(scripts_are_their_interpreters),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(text_and_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
