#include "session/program_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { ANSWER_SECONDS = 10, LINE_LIMIT = 65536 };

static void become(const char *const *argv, int out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(out, STDOUT_FILENO);
    setenv("RUSTUP_AUTO_INSTALL", "0", 1);
    alarm(ANSWER_SECONDS); /* survives the exec: a tool that hangs is ended */
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

char *program_answer(const char *const *argv, size_t limit, size_t *length)
{
    int out[2];
    char *text = NULL;
    if (pipe2(out, O_CLOEXEC) < 0)
        return NULL;
    pid_t pid = fork();
    if (pid == 0)
        become(argv, out[1]);
    close(out[1]);
    int rc = pid < 0 ? LAM_E_IO : file_read_all_fd(out[0], argv[0], limit, &text, length, NULL);
    close(out[0]);
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (rc >= 0 && status == 0)
        return text;
    if (rc >= 0)
        mem_free(text);
    return NULL;
}

char *program_first_line(const char *const *argv)
{
    size_t length = 0;
    char *text = program_answer(argv, LINE_LIMIT, &length);
    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}
