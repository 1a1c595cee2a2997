/* Memory of the tree's processes over time, in little room: a reading that hardly differs from the one before is not kept. */
#ifndef LAMELLA_SESSION_TREE_MEMORY_H
#define LAMELLA_SESSION_TREE_MEMORY_H

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"

struct memory_reading {
    int64_t t_ns;
    uint64_t rss_bytes;
    uint64_t anon_bytes; /* of rss_bytes: neither of a file nor shared; what the process alone holds */
};

enum { MEMORY_READINGS_MAX = 512 };

struct memory_series { /* all-zero is empty */
    LAM_ARRAY(struct memory_reading) readings;
    uint8_t coarseness; /* how often the list was full, and was halved */
};

/* Keeps the reading when it differs from the last one kept by a sixteenth or more, and by a mebibyte or more; by twice as much
 * each time the list was full. LAM_E_NOMEM. */
int memory_series_add(struct memory_series *series, struct memory_reading reading);
void memory_series_free(struct memory_series *series);

struct memory_holder {
    uint32_t member; /* whatever number the caller has for a process */
    uint64_t rss_bytes, anon_bytes;
};

/* Who held what when the tree's processes held most. */
struct memory_peak { /* all-zero: nothing was seen */
    int64_t t_ns;
    uint64_t rss_bytes, anon_bytes;
    LAM_ARRAY(struct memory_holder) holders;
};

#endif
