/* JSON without what could say where and by whom it was made: command lines, directories, hosts, settings. */
#ifndef LAMELLA_OUTPUT_PAGE_REDACT_H
#define LAMELLA_OUTPUT_PAGE_REDACT_H

#include "base/byteout.h"
#include "base/error.h"
#include "base/strbuf.h"

/* Members that hold such things become null; of a path inside another text only its last part stays. Codes: those of
 * json_error() and the output. */
int page_redact(const char *json, size_t length, struct byteout *out, struct lam_error *err);

/* Appends one such text, of which only the last part of each path stays. */
void page_redact_text(const char *text, size_t length, struct strbuf *out);

#endif
