/* The calling-context trees of an instrumented program: the nodes of one lane, in our byte order. */
#ifndef LAMELLA_READER_TREE_NODES_H
#define LAMELLA_READER_TREE_NODES_H

#include "base/array.h"
#include "reader/stream_file.h"

struct tree_nodes LAM_ARRAY_BODY(struct stream_tree_node); /* by number - 1; parent_plus_1 0: there is none */

/* The nodes of the lane whose first TREE page has an index in file->pages; *end: behind its last page. A parent is there and
 * has a smaller number, else the node is left out and counted. LAM_OK or LAM_E_NOMEM. */
int tree_nodes_load(struct tree_nodes *nodes, const struct stream_file *file, size_t first,
                    size_t *end, struct stream_faults *faults);

#endif
