#include "cli/run_sides.h"

#include <string.h>

#include "base/file_input.h"
#include "cli/launcher_talk.h"
#include "cli/read_runs.h"

/* Where in argv a text that the parser handed out stands. */
static size_t place_of(const char *text, int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++)
        if (text >= argv[i] && text <= argv[i] + strlen(argv[i]))
            return (size_t)i;
    return SIZE_MAX;
}

int run_sides_choose(struct run_sides *sides, const struct option_operands *operands,
                     const struct option_list *against, int argc, char *const *argv,
                     struct lam_error *err)
{
    size_t border = SIZE_MAX;
    for (size_t i = 0; i < against->count; i++) {
        size_t place = place_of(against->items[i], argc, argv);
        border = place < border ? place : border;
        if (array_push(&sides->inputs[COMPARE_AFTER], against->items[i]) < 0)
            return LAM_E_NOMEM;
    }
    for (size_t i = 0; i < operands->count; i++) {
        bool is_new = against->count == 0 ? i > 0 : place_of(operands->items[i], argc, argv) > border;
        if (array_push(&sides->inputs[is_new ? COMPARE_AFTER : COMPARE_BEFORE], operands->items[i]) <
            0)
            return LAM_E_NOMEM;
    }
    if (against->count == 0 && operands->count != 2)
        return lam_error_set(err, LAM_E_USAGE,
                             "takes two inputs, or several on both sides of --against");
    if (sides->inputs[COMPARE_BEFORE].count == 0)
        return lam_error_set(err, LAM_E_USAGE, "nothing stands before --against");
    return LAM_OK;
}

/* A damaged run would show what it lacks as a change: it is left out where its side has others. Of the many profiles of a
 * build, one may be damaged. */
static int read_input(const struct run_sides *sides, struct run_matrix *matrix, uint32_t side,
                      size_t index, struct classifier *cls, struct lam_error *err)
{
    const char *input = sides->inputs[side].items[index];
    struct run_damage damage;
    int rc = read_run(matrix, input, side, cls, &damage, err);
    if (rc < 0 || damage.damaged == 0)
        return rc;
    if (damage.files > 1) {
        run_damage_warn(&damage, input);
        return LAM_OK;
    }
    run_matrix_drop(matrix);
    struct strbuf why = {0};
    run_damage_text(&damage, input, "damaged", &why);
    if (sides->inputs[side].count == 1)
        rc = lam_error_set(err, LAM_E_CORRUPT, "%s", strbuf_text(&why));
    else
        launcher_say("left out: %s", strbuf_text(&why));
    strbuf_free(&why);
    return rc;
}

/* The inputs of a side. A run that is there twice would make the side look steadier than it is. */
static int read_side(const struct run_sides *sides, struct run_matrix *matrix, uint32_t side,
                     struct classifier *cls, struct lam_error *err)
{
    struct file_set files = {0};
    int rc = LAM_OK;
    for (size_t i = 0; rc >= 0 && i < sides->inputs[side].count; i++) {
        const char *input = sides->inputs[side].items[i];
        bool is_new = true;
        rc = file_set_add(&files, input, &is_new);
        if (rc < 0)
            lam_error_set(err, rc, "%s: %s", input, lam_code_text(rc));
        else if (is_new)
            rc = read_input(sides, matrix, side, i, cls, err);
        else
            launcher_say("left out: %s: is there already, under another name or given twice", input);
    }
    file_set_free(&files);
    return rc;
}

int run_sides_read(const struct run_sides *sides, struct run_matrix *matrix, struct classifier *cls,
                   struct lam_error *err)
{
    static const char *const names[] = {"old", "new"};
    for (uint32_t side = 0; side < COMPARE_SIDES; side++) {
        size_t before = matrix->runs.count;
        int rc = read_side(sides, matrix, side, cls, err);
        if (rc < 0)
            return rc;
        if (matrix->runs.count == before)
            return lam_error_set(err, LAM_E_NOTFOUND, "none of the %s runs is whole", names[side]);
    }
    return LAM_OK;
}

void run_sides_free(struct run_sides *sides)
{
    for (size_t i = 0; i < COMPARE_SIDES; i++)
        array_free(&sides->inputs[i]);
}
