/* Two sets of inputs to compare, as `OLD... [--against] NEW...` names them. */
#ifndef LAMELLA_CLI_RUN_SIDES_H
#define LAMELLA_CLI_RUN_SIDES_H

#include "analysis/compare.h"
#include "base/options.h"

struct run_sides {
    LAM_ARRAY(const char *) inputs[COMPARE_SIDES];
};

/* Operands before the first --against are the old runs, those behind it and its own values the new ones; two operands need
 * none. LAM_E_USAGE. */
int run_sides_choose(struct run_sides *sides, const struct option_operands *operands,
                     const struct option_list *against, int argc, char *const *argv,
                     struct lam_error *err);

/* Reads all of them into the matrix. A damaged run is left out, and said so, where its side has others. */
int run_sides_read(const struct run_sides *sides, struct run_matrix *matrix, struct classifier *cls,
                   struct lam_error *err);
void run_sides_free(struct run_sides *sides);

#endif
