/* Runs a fuzz target over stored inputs: every file named, and every file in a folder named. An input "fails" by crashing
 * the process, so there is nothing to compare; but a run over no file at all is an error, for it would prove nothing. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the number of inputs run: 1, or 0 after a message. */
static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (!file || fstat(fileno(file), &st) < 0) {
        perror(path);
        exit(1);
    }
    /* Exactly as large as the input, so that a sanitizer sees a read past its end. */
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot read it whole\n", path);
        exit(1);
    }
    fclose(file);
    printf("%s: %zu bytes\n", path, size);
    fflush(stdout); /* names the culprit when the next line crashes */
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        exit(1);
    }
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char file[4096];
        struct stat st;
        int len = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (len < 0 || (size_t)len >= sizeof file || stat(file, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        count += replay_file(file);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) < 0) {
            perror(argv[i]);
            return 1;
        }
        count += S_ISDIR(st.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
