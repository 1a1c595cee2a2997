#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

static char dir[] = "/tmp/lamella-file-test-XXXXXX";

static char *in_dir(const char *name)
{
    return path_join(dir, name);
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return dir_remove_all(dir, NULL) == LAM_OK && !path_exists(dir) ? 0 : -1;
}

static void writes_and_reads(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 300000};
    char *path = in_dir("data");
    static char bytes[300000];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct lam_error err = LAM_ERROR_INIT;
        struct file_map map;
        char *data;
        size_t length;
        assert_int_equal(file_write_all(path, bytes, sizes[i], &err), LAM_OK);
        assert_int_equal(file_map(path, &map, &err), LAM_OK);
        assert_non_null(map.data);
        assert_int_equal(map.size_bytes, sizes[i]);
        assert_int_equal(map.is_mapped, sizes[i] > 0);
        assert_memory_equal(map.data, bytes, sizes[i]);
        file_unmap(&map);
        assert_null(map.data);
        assert_int_equal(file_read_all(path, sizes[i], &data, &length, &err), LAM_OK);
        assert_int_equal(length, sizes[i]);
        assert_memory_equal(data, bytes, sizes[i]);
        assert_int_equal(data[length], 0);
        mem_free(data);
        if (sizes[i])
            assert_int_equal(file_read_all(path, sizes[i] - 1, &data, &length, &err), LAM_E_TOOBIG);
    }
    struct dir_entries entries;
    assert_int_equal(dir_list(dir, &entries, NULL), LAM_OK);
    assert_int_equal(entries.count, 1); /* no temporary file stays */
    dir_entries_free(&entries);
    mem_free(path);
}

static void errors(void **state)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct file_map map = {0};
    char *data;
    size_t length;
    (void)state;
    assert_int_equal(file_map("/nowhere/at\nall", &map, &err), LAM_E_NOTFOUND);
    assert_string_equal(err.msg, "/nowhere/at\\nall: cannot open: No such file or directory");
    assert_int_equal(file_map(dir, &map, &err), LAM_E_UNSUPPORTED);
    assert_int_equal(file_read_all(dir, 10, &data, &length, &err), LAM_E_UNSUPPORTED);
    assert_int_equal(file_write_all("/nowhere/file", "x", 1, &err), LAM_E_NOTFOUND);
    assert_int_equal(file_write_all("/proc/nothing", "x", 1, &err), LAM_E_NOTFOUND);
    assert_int_equal(dir_make_all("/proc/a/b", &err), LAM_E_NOTFOUND);
    file_unmap(&map);
}

static void not_regular(void **state)
{
    struct file_map map;
    int pipe_fds[2];
    (void)state;
    assert_int_equal(file_map("/proc/self/status", &map, NULL), LAM_OK);
    assert_true(map.size_bytes > 100 && !map.is_mapped);
    assert_memory_equal(map.data, "Name:", 5);
    file_unmap(&map);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(write(pipe_fds[1], "through", 7), 7);
    close(pipe_fds[1]);
    assert_int_equal(file_map_fd(pipe_fds[0], "pipe", &map, NULL), LAM_OK);
    assert_int_equal(map.size_bytes, 7);
    assert_memory_equal(map.data, "through", 7);
    file_unmap(&map);
    close(pipe_fds[0]);
    assert_int_equal(file_write_all("/dev/null", "gone", 4, NULL), LAM_OK);
    struct stat st;
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode)); /* still a device */
}

/* Of a size that nobody said beforehand, read in growing steps; a limit holds here as well. */
/* Without the end that writes there is nothing to wait for. */
static void pipe_without_writer(void **state)
{
    char *path = in_dir("fifo");
    char *data;
    size_t length = 1;
    struct file_map map;
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(file_read_all(path, 100, &data, &length, NULL), LAM_OK);
    assert_int_equal(length, 0);
    mem_free(data);
    assert_int_equal(file_map(path, &map, NULL), LAM_OK);
    assert_int_equal(map.size_bytes, 0);
    file_unmap(&map);
    assert_int_equal(file_map("/dev/zero", &map, NULL), LAM_E_TOOBIG);
    mem_free(path);
}

/* One that is written to late is read to its end. */
static void pipe_with_writer(void **state)
{
    char *path = in_dir("fifo_late");
    char *data;
    size_t length = 0;
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    int keep = open(path, O_RDWR | O_CLOEXEC);
    assert_true(keep >= 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        usleep(50000);
        _exit(write(keep, "late", 4) != 4);
    }
    close(keep);
    assert_int_equal(file_read_all(path, 100, &data, &length, NULL), LAM_OK);
    assert_int_equal(length, 4);
    assert_memory_equal(data, "late", 4);
    mem_free(data);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    mem_free(path);
}

static void long_pipe(void **state)
{
    enum { LENGTH = 60000 }; /* fits into a pipe */
    static char bytes[LENGTH];
    (void)state;
    memset(bytes, 'p', sizeof bytes);
    static const size_t limits[] = {10, 4096, LENGTH - 1, LENGTH, SIZE_MAX};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int pipe_fds[2];
        char *data = NULL;
        size_t length = 0;
        assert_int_equal(pipe(pipe_fds), 0);
        assert_int_equal(file_write_fd(pipe_fds[1], bytes, LENGTH, "pipe", NULL), LAM_OK);
        close(pipe_fds[1]);
        int rc = file_read_all_fd(pipe_fds[0], "pipe", limits[i], &data, &length, NULL);
        close(pipe_fds[0]);
        assert_int_equal(rc, limits[i] < LENGTH ? LAM_E_TOOBIG : LAM_OK);
        if (rc < 0)
            continue;
        assert_int_equal(length, LENGTH);
        assert_memory_equal(data, bytes, LENGTH);
        assert_int_equal(data[length], 0);
        mem_free(data);
    }
}

static void failing_writes(void **state)
{
    struct lam_error err = LAM_ERROR_INIT;
    char *sub = in_dir("sub");
    char long_name[300];
    struct file_map map;
    (void)state;
    assert_int_equal(file_write_all("/dev/full", "x", 1, &err), LAM_E_FULL);
    assert_string_equal(err.msg, "/dev/full: cannot write: No space left on device");
    assert_int_equal(dir_make_all(sub, &err), LAM_OK);
    assert_true(file_write_all(sub, "x", 1, &err) < 0); /* a directory */
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    assert_int_equal(file_map(long_name, &map, &err), LAM_E_IO); /* ENAMETOOLONG */
    assert_memory_equal(err.msg, "...nnn", 6);
    assert_non_null(strstr(err.msg, "nnn: cannot open: "));
    assert_true(file_map_fd(-1, "closed", &map, &err) < 0);
    assert_int_equal(dir_remove_all(sub, NULL), LAM_OK);
    mem_free(sub);
}

static void keeps_link_and_mode(void **state)
{
    char *target = in_dir("target"), *link = in_dir("link");
    struct stat st;
    char *data;
    size_t length;
    (void)state;
    assert_int_equal(file_write_all(target, "old", 3, NULL), LAM_OK);
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(file_write_all(link, "new", 3, NULL), LAM_OK);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(file_read_all(target, 100, &data, &length, NULL), LAM_OK);
    assert_string_equal(data, "new");
    mem_free(data);
    unlink(link);
    mem_free(target);
    mem_free(link);
}

static void truncated_while_mapped(void **state)
{
    char *path = in_dir("shrinks");
    static char bytes[5 * 65536];
    struct file_map map, other;
    (void)state;
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(file_write_all(path, bytes, sizeof bytes, NULL), LAM_OK);
    assert_int_equal(file_map(path, &map, NULL), LAM_OK);
    assert_int_equal(file_map(path, &other, NULL), LAM_OK);
    uint64_t lost_before = file_lost_pages();
    assert_int_equal(truncate(path, 65536 + 1), 0);
    assert_int_equal(map.data[65536], 'x');
    assert_int_equal(map.data[65537], 0); /* the rest of the last page */
    assert_int_equal(file_lost_pages(), lost_before);
    assert_int_equal(map.data[sizeof bytes - 1], 0);
    assert_int_equal(map.data[2 * 65536], 0);
    assert_int_equal(file_lost_pages(), lost_before + 2);
    assert_int_equal(other.data[3 * 65536], 0);
    assert_int_equal(file_lost_pages(), lost_before + 3);
    assert_int_equal(file_map_lost_pages(&map), 2);
    assert_int_equal(file_map_lost_pages(&other), 1);
    file_unmap(&map);
    file_unmap(&other);
    mem_free(path);
}

static void exit_with_3(int signum)
{
    (void)signum;
    _exit(3);
}

/* A SIGBUS that is not ours does what it did before. */
static void foreign_sigbus(void **state)
{
    static const struct {
        void (*before)(int);
        bool is_sent;
        int exit_code, signal;
    } rows[] = {
        {SIG_DFL, false, 2, 0},
        {SIG_DFL, true, 0, SIGBUS},
        {SIG_IGN, true, 2, 0},
        {exit_with_3, true, 3, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            struct file_map map;
            signal(SIGBUS, rows[i].before);
            if (file_map("/proc/self/exe", &map, NULL) < 0)
                _exit(1);
            if (rows[i].is_sent)
                kill(getpid(), SIGBUS);
            _exit(2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, rows[i].signal);
        assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 0, rows[i].exit_code);
    }
}

/* A fault in somebody else's mapping still kills. */
static void foreign_fault(void **state)
{
    char *path = in_dir("foreign");
    int status;
    (void)state;
    assert_int_equal(file_write_all(path, "content", 7, NULL), LAM_OK);
    pid_t child = fork();
    if (child == 0) {
        struct file_map map;
        int fd = open(path, O_RDWR | O_CLOEXEC);
        signal(SIGBUS, SIG_DFL);
        if (fd < 0 || file_map(path, &map, NULL) < 0)
            _exit(1);
        volatile char *theirs = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        if (theirs == MAP_FAILED || ftruncate(fd, 0) < 0)
            _exit(1);
        _exit(theirs[0] ? 2 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    mem_free(path);
}

static void many_mappings(void **state)
{
    enum { MAPS = 5000 };
    static struct file_map maps[MAPS];
    char *path = in_dir("many");
    (void)state;
    assert_int_equal(file_write_all(path, "content", 7, NULL), LAM_OK);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < MAPS; i++) {
        assert_int_equal(file_map_fd(fd, path, &maps[i], NULL), LAM_OK);
        lseek(fd, 0, SEEK_SET);
    }
    assert_true(maps[0].is_mapped && !maps[MAPS - 1].is_mapped);
    for (int i = 0; i < MAPS; i++) {
        assert_int_equal(maps[i].size_bytes, 7);
        assert_memory_equal(maps[i].data, "content", 7);
        file_unmap(&maps[i]);
    }
    assert_int_equal(file_map(path, &maps[0], NULL), LAM_OK);
    assert_true(maps[0].is_mapped); /* slots came back */
    file_unmap(&maps[0]);
    close(fd);
    mem_free(path);
}

static void copies(void **state)
{
    char *from = in_dir("from"), *to = in_dir("to");
    static char bytes[400000];
    uint64_t copied = 0;
    (void)state;
    memset(bytes, 'c', sizeof bytes);
    assert_int_equal(file_write_all(from, bytes, sizeof bytes, NULL), LAM_OK);
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    lseek(in, 5, SEEK_SET);
    assert_int_equal(file_copy_fd(in, out, "to", &copied, NULL), LAM_OK);
    assert_int_equal(copied, sizeof bytes - 5);
    assert_int_equal(lseek(out, 0, SEEK_END), sizeof bytes - 5);
    close(in);
    assert_int_equal(file_copy_fd(in, out, "to", &copied, NULL), LAM_E_IO);
    close(out);
    mem_free(from);
    mem_free(to);
}

static void refusals(void **state)
{
    char *path = in_dir("refused");
    (void)state;
    assert_int_equal(file_write_all(path, "abc", 3, NULL), LAM_OK);
    for (uint64_t after = 0; after < 3; after++) {
        char *data;
        size_t length;
        struct lam_error err = LAM_ERROR_INIT;
        mem_fail_after(after);
        int rc = file_read_all("/proc/self/maps", 1 << 20, &data, &length, &err);
        if (rc == LAM_OK)
            mem_free(data);
        else
            assert_int_equal(rc, LAM_E_NOMEM);
        int written = file_write_all(path, "def", 3, NULL);
        assert_true(written == LAM_OK || written == LAM_E_NOMEM);
        mem_fail_after(UINT64_MAX);
        if (after == 0)
            assert_int_equal(rc, LAM_E_NOMEM);
    }
    mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_reads),
        cmocka_unit_test(errors),
        cmocka_unit_test(not_regular),
        cmocka_unit_test(pipe_without_writer),
        cmocka_unit_test(pipe_with_writer),
        cmocka_unit_test(long_pipe),
        cmocka_unit_test(failing_writes),
        cmocka_unit_test(keeps_link_and_mode),
        cmocka_unit_test(truncated_while_mapped),
        cmocka_unit_test(foreign_sigbus),
        cmocka_unit_test(foreign_fault),
        cmocka_unit_test(many_mappings),
        cmocka_unit_test(copies),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
