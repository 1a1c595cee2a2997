/* What another program says when it is asked something: what it is, where it keeps its files. */
#ifndef LAMELLA_SESSION_PROGRAM_ANSWER_H
#define LAMELLA_SESSION_PROGRAM_ANSWER_H

#include <stddef.h>

/* Runs argv and gives what it prints on stdout, up to limit bytes, for mem_free(). NULL when it failed, printed more, or took
 * longer than ten seconds. It reads and says nothing else: stdin and stderr are /dev/null; and rustup is told to install nothing. */
char *program_answer(const char *const *argv, size_t limit, size_t *length);

/* The first line of it. */
char *program_first_line(const char *const *argv);

#endif
