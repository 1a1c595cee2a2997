/* Units of two builds that are the same work but for version, features or flags. */
#include "analysis/run_matrix.h"
#include "analysis/unit_class.h"
#include "base/strbuf.h"

enum { OLD, NEW, SIDES, NONE = 0, MANY = UINT32_MAX };

/* The unit of a name that one side alone has: its row plus 1; NONE, or MANY. */
struct lone {
    uint32_t of[SIDES];
};

struct pairing {
    struct run_matrix *matrix;
    LAM_ARRAY(struct lone) lone; /* by text id of the name */
};

/* Which sides have the row: a bit each. */
static unsigned sides_of(const struct run_matrix *matrix, const struct run_row *row)
{
    unsigned sides = 0;
    array_each(&row->cells, cell) sides |= matrix->runs.items[cell->run].side == OLD ? 1u : 2u;
    return sides;
}

static int find_lone(struct pairing *pairing)
{
    struct run_matrix *matrix = pairing->matrix;
    for (uint32_t i = 0; i < matrix->rows.count; i++) {
        const struct run_row *row = &matrix->rows.items[i];
        if (row->section != RUN_UNITS || row->name == INTERN_EMPTY || row->cells.count == 0)
            continue;
        if (row->name >= pairing->lone.count &&
            array_resize(&pairing->lone, (size_t)row->name + 1) < 0)
            return LAM_E_NOMEM;
        unsigned sides = sides_of(matrix, row);
        struct lone *lone = &pairing->lone.items[row->name];
        /* One that both sides have is no candidate, and does not stand in the way of two others. */
        for (int side = OLD; side < SIDES; side++)
            if (sides == 1u << side)
                lone->of[side] = lone->of[side] == NONE ? i + 1 : MANY;
    }
    return LAM_OK;
}

/* "serde 1.0.1 → serde 1.0.2 (other version)" */
static int name_pair(struct run_matrix *matrix, const struct run_row *old,
                     const struct run_row *new, uint32_t *key)
{
    struct strbuf text = {0}, parts = {0};
    unit_class_differences(run_matrix_text(matrix, old->kind), run_matrix_text(matrix, new->kind),
                           &parts);
    strbuf_add(&text, run_matrix_text(matrix, old->key));
    if (old->key != new->key)
        strbuf_addf(&text, " → %s", run_matrix_text(matrix, new->key));
    if (parts.length > 0)
        strbuf_addf(&text, " (other %s)", strbuf_text(&parts));
    int rc = strbuf_ok(&text) && strbuf_ok(&parts)
                 ? intern_add(&matrix->texts, strbuf_text(&text), text.length, key)
                 : LAM_E_NOMEM;
    strbuf_free(&text);
    strbuf_free(&parts);
    return rc;
}

static int compare_cells(const void *left, const void *right)
{
    const struct run_cell *a = left, *b = right;
    return a->run < b->run ? -1 : a->run > b->run;
}

static int join(struct run_matrix *matrix, struct run_row *old, struct run_row *new)
{
    int rc = name_pair(matrix, old, new, &old->key);
    if (rc == LAM_OK)
        rc = array_append(&old->cells, new->cells.items, new->cells.count);
    if (rc < 0)
        return rc;
    array_sort(&old->cells, compare_cells);
    array_clear(&new->cells); /* a row without cells is none */
    return LAM_OK;
}

int run_matrix_pair_units(struct run_matrix *matrix)
{
    struct pairing pairing = {.matrix = matrix};
    int rc = find_lone(&pairing);
    for (size_t i = 0; rc == LAM_OK && i < pairing.lone.count; i++) {
        const uint32_t *of = pairing.lone.items[i].of;
        if (of[OLD] != NONE && of[OLD] != MANY && of[NEW] != NONE && of[NEW] != MANY)
            rc = join(matrix, &matrix->rows.items[of[OLD] - 1], &matrix->rows.items[of[NEW] - 1]);
    }
    array_free(&pairing.lone);
    return rc;
}
