/* The page that page/ is built to, embedded: HTML before the data and after it. */
#ifndef LAMELLA_OUTPUT_PAGE_TEMPLATE_H
#define LAMELLA_OUTPUT_PAGE_TEMPLATE_H

#include <stddef.h>

struct page_template {
    const unsigned char *head; /* NULL: this lamella was built without Node.js */
    size_t head_bytes;
    const unsigned char *tail;
    size_t tail_bytes;
};

extern const struct page_template lam_page_template;

#endif
