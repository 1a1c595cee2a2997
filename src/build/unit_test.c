#include "build/unit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/file.h"

/* Splits at blanks; 'single quotes' hold blanks together. */
static LAM_ARRAY(const char *) argv;

static void split(const char *line)
{
    static char copy[8192];
    array_clear(&argv);
    assert_true(strlen(line) < sizeof copy);
    char *to = copy;
    for (const char *at = line; *at;) {
        while (*at == ' ')
            at++;
        if (!*at)
            break;
        assert_int_equal(array_push(&argv, to), LAM_OK);
        for (char quote = 0; *at && (quote || *at != ' '); at++) {
            if (*at == '\'')
                quote = quote ? 0 : '\'';
            else
                *to++ = *at;
        }
        *to++ = 0;
    }
}

static int read_unit(struct arena *arena, const char *exe, const char *cwd, const char *line,
                     struct unit *unit)
{
    split(line);
    memset(unit, 0, sizeof *unit);
    struct unit_command command = {
        .exe = exe, .cwd = cwd, .argv = argv.items, .argc = argv.count, .read_files = true};
    return unit_from_command(&command, arena, unit);
}

static void check(const char *row, const char *what, const char *found, const char *expected)
{
    if (strcmp(found ? found : "-", expected) != 0)
        fail_msg("%s: %s is '%s', expected '%s'", row, what, found ? found : "-", expected);
}

#define REGISTRY "/home/u/.cargo/registry/src/registry.example-1949cf8c6b5b557f/"
#define CCACHE   "/usr/bin/ccache"
#define RUSTC    "/home/u/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/bin/rustc"

/* As cargo -v prints them. */
static void reads_rustc(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *title, *crate, *package, *version, *crate_type, *mode, *edition, *opt,
            *features, *metadata;
    } rows[] = {
        {"rustc --crate-name unicode_ident --edition=2021 " REGISTRY
         "unicode-ident-1.0.27/src/lib.rs --error-format=json "
         "--json=diagnostic-rendered-ansi,artifacts,future-incompat --crate-type lib "
         "--emit=dep-info,metadata,link "
         "-C embed-bitcode=no -C debuginfo=2 --check-cfg 'cfg(docsrs,test)' --check-cfg "
         "'cfg(feature, values())' "
         "-C metadata=5baf12131eb7287f -C extra-filename=-a8d3de45972c3aa1 --out-dir "
         "/tmp/w/app/target/debug/deps "
         "-L dependency=/tmp/w/app/target/debug/deps --cap-lints allow",
         "unicode-ident 1.0.27", "unicode_ident", "unicode-ident", "1.0.27", "lib", "build", "2021",
         "-", "-", "5baf12131eb7287f"},
        {"rustc --crate-name build_script_build --edition=2021 " REGISTRY
         "proc-macro2-1.0.107/build.rs --error-format=json "
         "--crate-type bin --emit=dep-info,link -C embed-bitcode=no --cfg 'feature=\"default\"' "
         "--cfg 'feature=\"proc-macro\"' --check-cfg 'cfg(feature, values(\"default\", "
         "\"nightly\"))' "
         "-C metadata=927528e9e56015a5 -C extra-filename=-01fa69198b2170f5 "
         "--out-dir /tmp/w/app/target/debug/build/proc-macro2-01fa69198b2170f5 --cap-lints allow",
         "proc-macro2 1.0.107 build script", "build_script_build", "proc-macro2", "1.0.107", "bin",
         "build-script", "2021", "-", "default,proc-macro", "927528e9e56015a5"},
        {"rustc --crate-name build_script_build --edition=2021 crates/my-core/build.rs "
         "--crate-type bin --emit=dep-info,link "
         "-C metadata=a -C extra-filename=-b --out-dir "
         "/w/target/debug/build/my-core-0123456789abcdef",
         "my-core build script", "build_script_build", "my-core", "-", "bin", "build-script",
         "2021", "-", "-", "a"},
        {"rustc --crate-name my_app --edition=2024 src/main.rs --crate-type bin "
         "--emit=dep-info,link -C opt-level=3 "
         "-C lto=thin -C codegen-units=4 -C strip=debuginfo",
         "my_app (bin)", "my_app", "workspace", "-", "bin", "build", "2024", "3", "-", "-"},
        {"rustc --crate-name my_app --edition=2024 crates/my-app/src/lib.rs --emit=dep-info,link "
         "--test -C metadata=x",
         "my_app (test)", "my_app", "my-app", "-", "-", "test", "2024", "-", "-", "x"},
        {"rustc --crate-name speed --edition=2021 app/benches/speed.rs --emit=dep-info,metadata "
         "--cfg test --cfg 'feature=\"x-y\"' -C metadata=x",
         "speed (test)", "speed", "app", "-", "-", "test", "2021", "-", "x-y", "x"},
        {"rustc --crate-name tool --edition=2021 src/bin/tool.rs --crate-type bin "
         "--emit=dep-info,metadata",
         "tool (check)", "tool", "workspace", "-", "bin", "check", "2021", "-", "-", "-"},
        {"rustc - --crate-name probe1 --crate-type=lib --out-dir /t --emit=llvm-ir",
         "probe1 (probe)", "probe1", "-", "-", "lib", "probe", "-", "-", "-", "-"},
        /* an example of a documentation: rustdoc's file of arguments is gone by then */
        {"rustc @/tmp/rustdoctestAbCdEf/rustdoc-cfgs --edition 2021 --crate-type=bin -o "
         "/tmp/rustdoctestGhIjKl/rust_out -",
         "rust_out (doctest)", "rust_out", "-", "-", "bin", "doctest", "2021", "-", "-", "-"},
        {"rustc -O -g hello-world.rs -o out", "hello_world", "hello_world", "workspace", "-", "-",
         "build", "-", "3", "-", "-"},
        {"rustc --crate-name a --crate-type rlib --crate-type cdylib "
         "vendor/a-b-0.3.1-rc.1/src/lib.rs -Copt-level=s "
         "--codegen metadata=q --print link-args",
         "a-b 0.3.1-rc.1 (a)", "a", "a-b", "0.3.1-rc.1", "rlib,cdylib", "build", "-", "s", "-", "q"},
        {"rustc /usr/bin/rustc --crate-name wrapped src/lib.rs --crate-type lib", "wrapped",
         "wrapped", "workspace", "-", "lib", "build", "-", "-", "-", "-"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct unit unit;
        struct strbuf title = {0};
        assert_int_equal(read_unit(&arena, RUSTC, "/home/me/workspace", rows[i].line, &unit), 1);
        assert_int_equal(unit.kind, UNIT_RUSTC);
        unit_title(&unit, &title);
        check(rows[i].title, "title", strbuf_text(&title), rows[i].title);
        check(rows[i].title, "crate", unit.crate, rows[i].crate);
        check(rows[i].title, "package", unit.package, rows[i].package);
        check(rows[i].title, "version", unit.version, rows[i].version);
        check(rows[i].title, "crate type", unit.crate_type, rows[i].crate_type);
        check(rows[i].title, "mode", unit.mode, rows[i].mode);
        check(rows[i].title, "edition", unit.edition, rows[i].edition);
        check(rows[i].title, "opt level", unit.opt_level, rows[i].opt);
        check(rows[i].title, "features", unit.features, rows[i].features);
        check(rows[i].title, "metadata", unit.metadata, rows[i].metadata);
        strbuf_free(&title);
    }
    struct unit unit;
    assert_int_equal(
        read_unit(&arena, RUSTC, NULL,
                  "rustc --crate-name x src/lib.rs --target x86_64-unknown-linux-musl -C lto "
                  "-C incremental=/w/target/debug/incremental -C codegen-units=1",
                  &unit),
        1);
    check("x", "target", unit.target, "x86_64-unknown-linux-musl");
    check("x", "lto", unit.lto, "fat");
    check("x", "incremental", unit.incremental, "/w/target/debug/incremental");
    check("x", "codegen units", unit.codegen_units, "1");
    arena_free(&arena);
}

/* A cache's program stands for the compilation that it may have; its server and the questions it asks the compiler are none. */
static void a_cache_is_asked_for_a_unit(void **unused)
{
    (void)unused;
    static const struct {
        const char *program, *line;
        int is_unit;
    } rows[] = {
        {"/usr/bin/sccache",
         "sccache /t/bin/rustc --crate-name a src/lib.rs --emit=dep-info,metadata,link", 1},
        {"/usr/bin/sccache", "sccache rustc --crate-name ___ - --print=cfg", 0},
        {"/usr/bin/sccache", "sccache rustc -vV", 0},
        {"/usr/bin/sccache", "sccache --start-server", 0},
        {"/usr/bin/sccache", "sccache", 0},
        {"/usr/bin/sccache", "sccache gcc -c a.c", 1},
        {"/usr/bin/sccache", "gcc -c a.c", 1},
        {CCACHE, "ccache gcc -O1 -g -c -o a.o a.c", 1},
        {CCACHE, "/usr/lib/ccache/gcc -MD -MF a.d -c a.c -o a.o", 1},
        {CCACHE, "ccache debug=true compiler_check=none clang -c a.c", 1},
        {CCACHE, "ccache gcc -E a.c", 0},
        {CCACHE, "ccache gcc -fsyntax-only -c a.c", 0},
        {CCACHE, "ccache gcc -o a a.c", 0}, /* compiled and linked in one: it is not asked for that */
        {CCACHE, "ccache gcc -c a.c b.c", 0},
        {CCACHE, "ccache gcc -c -", 0},
        {CCACHE, "ccache gcc --version", 0},
        {CCACHE, "gcc", 0},
        {CCACHE, "ccache -c", 0}, /* its own cleaning */
        {CCACHE, "ccache max_size=5G", 0},
        {CCACHE, "ccache rustc", 0},
        {RUSTC, "rustc --crate-name a src/lib.rs --emit=dep-info -o /tmp/deps.d", 0},
        {RUSTC, "rustc +stable", 0},
        {RUSTC, "rustc +stable src/lib.rs", 1},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct unit unit = {0};
        int found = read_unit(&arena, rows[i].program, "/w", rows[i].line, &unit);
        bool is_cache = strcmp(rows[i].program, RUSTC) != 0 && rows[i].is_unit;
        bool runs = is_cache && strcmp(rows[i].program, CCACHE) == 0;
        if (found != rows[i].is_unit || unit.is_cache != is_cache || unit.runs_compiler != runs)
            fail_msg("%s: %d", rows[i].line, found);
    }
    struct unit unit = {0};
    assert_int_equal(read_unit(&arena, CCACHE, "/w", "g++ -O2 -g3 -c src/x.y.c", &unit), 1);
    assert_int_equal(unit.kind, UNIT_COMPILE);
    check("g++", "language", unit.language, "c++");
    check("g++", "optimization", unit.opt_level, "2");
    check("g++", "debug information", unit.debug_info, "3");
    check("g++", "mode", unit.mode, "build");
    check("g++", "output", unit.output, "x.y.o"); /* beside nothing: where it runs */
    assert_int_equal(read_unit(&arena, CCACHE, "/w", "gcc -c start.S", &unit), 1);
    assert_int_equal(unit.kind, UNIT_ASSEMBLE);
    assert_int_equal(read_unit(&arena, "/usr/lib/llvm-14/bin/clang", "/w", "clang -c a.c", &unit), 1);
    check("clang", "output", unit.output, "a.o");
    arena_free(&arena);
}

static void tells_clippy_from_a_check(void **unused)
{
    (void)unused;
    static const struct {
        const char *exe, *line, *title;
    } rows[] = {
        {"/r/bin/clippy-driver", "clippy-driver /r/bin/rustc --crate-name a src/lib.rs --crate-type lib --emit=dep-info,metadata",
         "a (clippy)"},
        {"/r/bin/clippy-driver",
         "clippy-driver rustc --crate-name a src/main.rs --crate-type bin --emit=dep-info,link",
         "a (bin)"},
        {RUSTC, "rustc --crate-name a src/lib.rs --crate-type lib --emit=dep-info,metadata",
         "a (check)"},
        {"/r/bin/rustdoc", "rustdoc --crate-name a src/lib.rs --crate-type lib -o doc", "a (doc)"},
        {"/r/bin/rustdoc", "rustdoc --crate-name a --test src/lib.rs --crate-type lib", "a (doctest)"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct unit unit;
        struct strbuf title = {0};
        assert_int_equal(read_unit(&arena, rows[i].exe, "/w", rows[i].line, &unit), 1);
        unit_title(&unit, &title);
        check(rows[i].line, "title", strbuf_text(&title), rows[i].title);
        strbuf_free(&title);
    }
    arena_free(&arena);
}

static void leaves_alone_what_is_no_unit(void **unused)
{
    (void)unused;
    static const struct {
        const char *exe, *line;
    } rows[] = {
        {RUSTC, "rustc -vV"},
        {RUSTC, "rustc --version"},
        {RUSTC, "rustc"},
        {RUSTC, "rustc --print sysroot"},
        {RUSTC, "rustc --print cfg src/lib.rs"},
        {RUSTC, "rustc - --crate-name ___ --print=file-names --crate-type bin --crate-type rlib "
                "--print=sysroot --print=cfg"},
        {RUSTC, "rustc -C help"},
        {"/home/u/.cargo/bin/rustup",
         "rustc --crate-name a src/lib.rs"}, /* the proxy, which starts the real one */
        {"/x/bin/cargo", "cargo build"},
        {"/usr/bin/x86_64-linux-gnu-gcc-12", "gcc -c a.c"},
        {"/usr/bin/x86_64-linux-gnu-ld.bfd", "ld -v"},
        {"/usr/bin/x86_64-linux-gnu-ld.bfd", "ld --version"},
        {"/t/lib/rustlib/x86_64-unknown-linux-gnu/bin/gcc-ld/ld.lld",
         "ld.lld -o a b.o"},                                  /* starts rust-lld */
        {"/usr/lib/llvm-14/bin/clang", "clang a.c b.c -o x"}, /* starts a -cc1 for each */
        {"/usr/lib/llvm-14/bin/clang", "clang --version"},
        {"/usr/lib/llvm-14/bin/clang", "clang -print-file-name=x"},
        {"/usr/bin/clang-tidy", "clang-tidy -c a.c"},
        {"/w/target/debug/build-script-build", "build-script-build"},
        {"/bin/true", "true"},
        {NULL, ""},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct unit unit;
        if (read_unit(&arena, rows[i].exe, "/w", rows[i].line, &unit) != 0)
            fail_msg("'%s' is taken for a unit", rows[i].line);
    }
    arena_free(&arena);
}

static void reads_c_compilers_and_tools(void **unused)
{
    (void)unused;
    static const struct {
        const char *exe, *line;
        enum unit_kind kind;
        const char *title, *language, *source, *output, *opt, *debug, *mode;
    } rows[] = {
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
         "cc1 -quiet -imultiarch x86_64-linux-gnu -D_GNU_SOURCE= -I src -MMD x.d -MF y.d "
         "src/base/map.c -quiet -dumpdir x/ "
         "-dumpbase map.c -dumpbase-ext .c -mtune=generic -march=x86-64 -g -O2 -Wall -std=gnu17 -o "
         "/tmp/ccgtTQtB.s",
         UNIT_COMPILE, "map.c", "c", "src/base/map.c", "/tmp/ccgtTQtB.s", "2", "2", "build"},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
         "cc1plus -quiet -D_X a.cpp -dumpbase a.cpp -g0 -o -", UNIT_COMPILE, "a.cpp", "c++",
         "a.cpp", "-", "0", "0", "build"},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
         "cc1 -E -quiet -imultiarch x86_64-linux-gnu a.c -o a.i -O", UNIT_COMPILE,
         "a.c (preprocess)", "c", "a.c", "a.i", "1", "-", "preprocess"},
        {"/usr/lib/llvm-14/bin/clang",
         "clang-14 -cc1 -triple x86_64-pc-linux-gnu -emit-obj -main-file-name b.cpp "
         "-mrelocation-model pic "
         "-debug-info-kind=constructor -resource-dir /usr/lib/llvm-14/lib/clang/14.0.6 -I inc -O3 "
         "-o b.o -x c++ b.cpp",
         UNIT_COMPILE, "b.cpp", "c++", "b.cpp", "b.o", "3", "constructor", "build"},
        {"/usr/lib/llvm-14/bin/clang", "clang-14 -O2 -g -I src -std=gnu17 -c src/x.c -o x.o",
         UNIT_COMPILE, "x.c", "c", "src/x.c", "x.o", "2", "2", "build"},
        {"/usr/bin/x86_64-linux-gnu-as", "as -I src --64 -o x.o /tmp/ccX.s", UNIT_ASSEMBLE,
         "assemble x.o", "asm", "/tmp/ccX.s", "x.o", "-", "-", "build"},
        {"/usr/bin/x86_64-linux-gnu-ld.bfd",
         "ld -plugin /usr/lib/gcc/liblto_plugin.so -plugin-opt=-fresolution=/tmp/x.res --build-id "
         "-m elf_x86_64 -shared "
         "-o libq.so crti.o -L/usr/lib a.o -lc",
         UNIT_LINK, "link libq.so", "-", "-", "libq.so", "-", "-", "shared"},
        {"/t/bin/rust-lld", "rust-lld -flavor gnu --hash-style=gnu -dynamic-linker /lib64/ld.so -o /w/target/debug/app x.o",
         UNIT_LINK, "link app", "-", "-", "/w/target/debug/app", "-", "-", "executable"},
        {"/usr/bin/ld", "ld -pie -o /w/target/debug/deps/app-2be804f9ddb8d1a3 app.o", UNIT_LINK,
         "link app", "-", "-", "/w/target/debug/deps/app-2be804f9ddb8d1a3", "-", "-", "executable"},
        {"/usr/bin/ld", "ld -shared -o /t/deps/libmacros-0123456789abcdef.so m.o", UNIT_LINK,
         "link libmacros.so", "-", "-", "/t/deps/libmacros-0123456789abcdef.so", "-", "-", "shared"},
        {"/usr/bin/ld", "ld -pie -o /t/debug/build/my-app-17eb751571e7872b/build_script_build-17eb751571e7872b b.o",
         UNIT_LINK, "link my-app build script", "-", "-",
         "/t/debug/build/my-app-17eb751571e7872b/build_script_build-17eb751571e7872b", "-", "-",
         "executable"},
        {"/usr/bin/ld", "ld -o a-0123456789abcde0f x.o", UNIT_LINK, "link a-0123456789abcde0f", "-",
         "-", "a-0123456789abcde0f", "-", "-", "executable"}, /* 17 digits are a name */
        {"/usr/bin/as", "as --64 -o /tmp/ccF3aXyZ.o /tmp/ccR2kLmN.s", UNIT_ASSEMBLE,
         "assemble a temporary file", "asm", "/tmp/ccR2kLmN.s", "/tmp/ccF3aXyZ.o", "-", "-", "build"},
        {"/usr/lib/gcc/x86_64-linux-gnu/12/lto1",
         "lto1 -quiet -O2 -fltrans @/tmp/ccSS3vMe -o /tmp/ccfM5O5j.s", UNIT_COMPILE,
         "a temporary file (lto)", "-", "@/tmp/ccSS3vMe", "/tmp/ccfM5O5j.s", "2", "-", "lto"},
        {"/usr/bin/mold", "ld.mold --output=prog x.o", UNIT_LINK, "link prog", "-", "-", "prog",
         "-", "-", "executable"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct unit unit;
        struct strbuf title = {0};
        if (read_unit(&arena, rows[i].exe, "/w", rows[i].line, &unit) != 1)
            fail_msg("'%s' is not taken for a unit", rows[i].line);
        assert_int_equal(unit.kind, rows[i].kind);
        unit_title(&unit, &title);
        check(rows[i].title, "title", strbuf_text(&title), rows[i].title);
        check(rows[i].title, "language", unit.language, rows[i].language);
        check(rows[i].title, "source", unit.source, rows[i].source);
        check(rows[i].title, "output", unit.output, rows[i].output);
        check(rows[i].title, "opt level", unit.opt_level, rows[i].opt);
        check(rows[i].title, "debug info", unit.debug_info, rows[i].debug);
        check(rows[i].title, "mode", unit.mode, rows[i].mode);
        strbuf_free(&title);
    }
    arena_free(&arena);
}

static void build_scripts_of_packages_stay_apart(void **unused)
{
    (void)unused;
    static const struct {
        const char *exe, *cwd, *title;
    } rows[] = {
        {"/w/target/debug/build/serde-0123456789abcdef/build-script-build",
         REGISTRY "serde-1.0.229", "run serde 1.0.229 build script"},
        {"/w/target/debug/build/my-lib-fedcba9876543210/build-script-build", "/w/crates/my-lib",
         "run my-lib build script"},
        {"/w/target/debug/build/my-lib-fedcba9876543210/build-script-main", NULL,
         "run my-lib build script"},
        {"/w/build/debug/build/ring/0123456789abcdef/out/build-script-build", NULL,
         "run ring build script"},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct unit unit;
        struct strbuf title = {0};
        assert_int_equal(read_unit(&arena, rows[i].exe, rows[i].cwd, "build-script-build", &unit), 1);
        assert_int_equal(unit.kind, UNIT_BUILD_SCRIPT);
        unit_title(&unit, &title);
        assert_string_equal(strbuf_text(&title), rows[i].title);
        strbuf_free(&title);
    }
    arena_free(&arena);
}

static void response_files_are_read(void **unused)
{
    (void)unused;
    char dir[] = "/tmp/lamella-unit-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char lines[100], words_file[100], line[400];
    static const char rust[] = "--crate-name\nfrom file\n--crate-type=lib\r\nsrc/my lib.rs\n";
    static const char gnu[] = "-o 'my out' -O3 'a b'.c \"-D X\" c\\ d.c @inner\n";
    snprintf(lines, sizeof lines, "%s/rust", dir);
    snprintf(words_file, sizeof words_file, "%s/gnu", dir);
    assert_int_equal(file_write_all(lines, rust, strlen(rust), NULL), LAM_OK);
    assert_int_equal(file_write_all(words_file, gnu, strlen(gnu), NULL), LAM_OK);
    struct arena arena = {0};
    struct unit unit;
    snprintf(line, sizeof line, "rustc @%s --edition=2018", lines);
    assert_int_equal(read_unit(&arena, RUSTC, "/w", line, &unit), 1);
    assert_string_equal(unit.crate, "from file");
    assert_string_equal(unit.source, "src/my lib.rs");
    assert_string_equal(unit.edition, "2018");
    assert_int_equal(read_unit(&arena, "/usr/lib/gcc/12/cc1", dir, "cc1 @gnu", &unit),
                     1); /* relative to its directory */
    assert_string_equal(unit.output, "my out");
    assert_string_equal(unit.opt_level, "3");
    assert_int_equal(read_unit(&arena, RUSTC, "/w", "rustc @/nonexistent", &unit),
                     1); /* stays an argument */
    assert_string_equal(unit.source, "@/nonexistent");
    /* one that names itself ends */
    snprintf(line, sizeof line, "@%s\n-o x a.c", words_file);
    assert_int_equal(file_write_all(words_file, line, strlen(line), NULL), LAM_OK);
    assert_int_equal(read_unit(&arena, "/usr/lib/gcc/12/cc1", dir, "cc1 @gnu", &unit), 1);
    assert_int_equal(dir_remove_all(dir, NULL), LAM_OK);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_rustc),
        cmocka_unit_test(a_cache_is_asked_for_a_unit),
        cmocka_unit_test(tells_clippy_from_a_check),
        cmocka_unit_test(leaves_alone_what_is_no_unit),
        cmocka_unit_test(reads_c_compilers_and_tools),
        cmocka_unit_test(build_scripts_of_packages_stay_apart),
        cmocka_unit_test(response_files_are_read),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    array_free(&argv);
    return failed;
}
