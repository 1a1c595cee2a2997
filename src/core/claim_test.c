/* Stretches of a file: claimed by many at once, refused without harm, and mended when they vanish. */
#include "core/claim.h"
#include "core/sys.h"
#include "core/watch.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t cursor;

/* A fresh file on memory-backed storage, which can reserve; `path` gets its name. */
static struct claim_file file_make(char *path)
{
    strcpy(path, "/dev/shm/lamella-claim-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    cursor = 4096;
    return (struct claim_file){.fd = fd, .device = st.st_dev, .inode = st.st_ino, .cursor = &cursor};
}

static void stretches_are_apart_and_zero(void **state)
{
    (void)state;
    char path[64];
    struct claim_file file = file_make(path);
    uint64_t first, second;
    void *a, *b;
    assert_int_equal(claim_stretch(&file, 4096, &first, &a), 0);
    assert_int_equal(claim_stretch(&file, 8192, &second, &b), 0);
    assert_int_equal(first, 4096);
    assert_int_equal(second, 8192);
    assert_int_equal(cursor, 16384);
    assert_int_equal(file.reached, 16384);
    memset(a, 'a', 4096);
    for (int i = 0; i < 8192; i++)
        assert_int_equal(((char *)b)[i], 0);
    memset(b, 'b', 8192);
    char seen[3];
    assert_int_equal(pread(file.fd, seen, 1, 4096), 1);
    assert_int_equal(pread(file.fd, seen + 1, 1, 16383), 1);
    assert_int_equal(seen[0], 'a');
    assert_int_equal(seen[1], 'b');
    munmap(a, 4096);
    munmap(b, 8192);
    close(file.fd);
    unlink(path);
}

struct claimer {
    struct claim_file *file;
    uint64_t offsets[200];
};

static void *claim_many(void *arg)
{
    struct claimer *claimer = arg;
    for (int i = 0; i < 200; i++) {
        void *map;
        if (claim_stretch(claimer->file, 4096, &claimer->offsets[i], &map) < 0)
            return "refused";
        *(uint64_t *)map = claimer->offsets[i];
        munmap(map, 4096);
    }
    return NULL;
}

static void threads_never_share_a_stretch(void **state)
{
    (void)state;
    char path[64];
    struct claim_file file = file_make(path);
    static struct claimer claimers[8];
    pthread_t threads[8];
    static char taken[8 * 200 + 1];
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < 8; i++) {
        claimers[i].file = &file;
        assert_int_equal(pthread_create(&threads[i], NULL, claim_many, &claimers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        void *why;
        pthread_join(threads[i], &why);
        assert_null(why);
        for (int j = 0; j < 200; j++) {
            uint64_t at = claimers[i].offsets[j] / 4096, stored;
            assert_in_range(at, 1, 1600);
            assert_false(taken[at]);
            taken[at] = 1;
            assert_int_equal(pread(file.fd, &stored, 8, (off_t)claimers[i].offsets[j]), 8);
            assert_int_equal(stored, claimers[i].offsets[j]);
        }
    }
    assert_int_equal(file.reached, 1601 * 4096);
    close(file.fd);
    unlink(path);
}

static void a_budget_is_a_refusal(void **state)
{
    (void)state;
    char path[64];
    struct claim_file file = file_make(path);
    uint64_t offset = 7;
    void *map = &offset;
    file.max_bytes = 8192;
    assert_int_equal(claim_stretch(&file, 4096, &offset, &map), 0);
    munmap(map, 4096);
    offset = 7;
    map = &offset;
    assert_int_equal(claim_stretch(&file, 4096, &offset, &map), -EFBIG);
    assert_int_equal(offset, 7);
    assert_ptr_equal(map, &offset);
    assert_int_equal(cursor, 8192); /* a refused claim leaves no hole */
    close(file.fd);
    unlink(path);
}

/* In a child, since the limit cannot be raised again by everybody. */
static void the_file_limit_is_no_signal(void **state)
{
    (void)state;
    char path[64];
    struct claim_file file = file_make(path);
    pid_t pid = fork();
    if (!pid) {
        struct rlimit limit = {.rlim_cur = 10000, .rlim_max = 10000};
        uint64_t offset;
        void *map;
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &limit);
        int first = claim_stretch(&file, 4096, &offset, &map);
        int second = claim_stretch(&file, 4096, &offset, &map);
        _exit(first == 0 && second == -EFBIG ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    close(file.fd);
    unlink(path);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    char path[] = "/tmp/lamella-claim-XXXXXX";
    assert_non_null(mkdtemp(path));
    if (geteuid() != 0 || mount("tmpfs", path, "tmpfs", 0, "size=16k") != 0) {
        rmdir(path);
        skip();
    }
    char name[64];
    snprintf(name, sizeof name, "%s/file", path);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    struct stat st;
    fstat(fd, &st);
    cursor = 0;
    struct claim_file file = {.fd = fd, .device = st.st_dev, .inode = st.st_ino, .cursor = &cursor};
    uint64_t offset;
    void *map;
    int rc = 0, count = 0;
    while (rc == 0 && count < 100) {
        rc = claim_stretch(&file, 4096, &offset, &map);
        if (rc == 0) {
            memset(map, 1, 4096); /* what was claimed can be written */
            munmap(map, 4096);
            count++;
        }
    }
    /* Tries on a disk that is full use up nothing: the file has no holes, and the budget is still there. */
    for (int i = 0; i < 10; i++)
        assert_int_equal(claim_stretch(&file, 4096, &offset, &map), -ENOSPC);
    uint64_t claimed = cursor;
    close(fd);
    umount(path);
    rmdir(path);
    assert_int_equal(rc, -ENOSPC);
    assert_in_range(count, 1, 4);
    assert_int_equal(claimed, count * 4096);
}

static int reopened;

static void note_reopened(int fd)
{
    reopened = fd;
}

static void a_replaced_descriptor_is_not_written(void **state)
{
    (void)state;
    char path[64], other[64];
    struct claim_file file = file_make(path);
    uint64_t offset;
    void *map;
    strcpy(other, "/dev/shm/lamella-claim-XXXXXX");
    int stranger = mkstemp(other);
    int number = file.fd;
    dup2(stranger, number); /* the program took our number */
    assert_int_equal(claim_stretch(&file, 4096, &offset, &map), -EBADF);
    struct stat st;
    fstat(stranger, &st);
    assert_int_equal(st.st_size, 0);
    /* With a name it is found again, and the number stays the program's. */
    file.path = path;
    file.reopened = note_reopened;
    assert_int_equal(claim_stretch(&file, 4096, &offset, &map), 0);
    assert_int_not_equal(file.fd, number);
    assert_int_equal(reopened, file.fd);
    munmap(map, 4096);
    fstat(stranger, &st);
    assert_int_equal(st.st_size, 0);
    /* Another file of that name is not ours. */
    close(file.fd);
    unlink(path);
    int replaced = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_int_equal(claim_stretch(&file, 4096, &offset, &map), -EBADF);
    close(replaced);
    close(stranger);
    close(number);
    unlink(path);
    unlink(other);
}

static void a_stretch_comes_back(void **state)
{
    (void)state;
    char path[64];
    struct claim_file file = file_make(path);
    uint64_t offset;
    void *map;
    static char content[4096];
    memset(content, 'c', sizeof content);
    assert_int_equal(claim_stretch(&file, 4096, &offset, &map), 0);
    assert_int_equal(ftruncate(file.fd, 0), 0);
    assert_int_equal(claim_restore(&file, offset, content, 4096, map), 0);
    assert_memory_equal(map, content, 4096);
    ((char *)map)[5] = 'x';
    char seen;
    assert_int_equal(pread(file.fd, &seen, 1, (off_t)offset + 5), 1);
    assert_int_equal(seen, 'x');
    munmap(map, 4096);
    close(file.fd);
    unlink(path);
}

static void descriptors_move_high(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDONLY);
    int high = claim_move_high(fd);
    assert_true(high > fd);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(fcntl(high, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(high);
}

static void watched_mappings_are_told(void **state)
{
    (void)state;
    static char place[100];
    assert_false(watch_holds(place));
    int at = watch_begin(place, sizeof place), all[20];
    assert_true(watch_holds(place));
    assert_true(watch_holds(place + 99));
    assert_false(watch_holds(place + 100));
    for (int i = 0; i < 20; i++) /* more than there is room for */
        all[i] = watch_begin(&all[i], 1);
    assert_int_equal(all[19], -1);
    for (int i = 0; i < 20; i++)
        watch_end(all[i]);
    watch_end(at);
    assert_false(watch_holds(place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stretches_are_apart_and_zero),
        cmocka_unit_test(threads_never_share_a_stretch),
        cmocka_unit_test(a_budget_is_a_refusal),
        cmocka_unit_test(the_file_limit_is_no_signal),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(a_replaced_descriptor_is_not_written),
        cmocka_unit_test(a_stretch_comes_back),
        cmocka_unit_test(descriptors_move_high),
        cmocka_unit_test(watched_mappings_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
