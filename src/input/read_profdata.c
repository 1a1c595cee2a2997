#include "input/read_profdata.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool profdata_is_magic(const void *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "MMPD", 4) == 0;
}

bool read_profdata_probe(const char *path)
{
    char head[4];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_profile = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                      read(fd, head, sizeof head) == (ssize_t)sizeof head &&
                      profdata_is_magic(head, sizeof head);
    if (fd >= 0)
        close(fd);
    return is_profile;
}

int read_profdata(const char *const *paths, size_t count, const struct profile_sink *sink,
                  struct lam_error *err)
{
    (void)sink;
    return lam_error_set(err, LAM_E_UNSUPPORTED, "%s: self-profiles are not read by this version",
                         count ? paths[0] : "");
}
