#include "output/export_rows.h"

#include "base/strbuf.h"
#include "output/export_tables.h"

/* Above all pids and tids that Linux gives (2^22), and within 31 bits for readers that count so. */
enum { SPARE_FIRST = 1 << 28 };

#define GROW(array, id) ((id) < (array)->count ? LAM_OK : array_resize((array), (size_t)(id) + 1))

/* Takes the number in this space (0: pids; else a process), or a spare one. */
static int take_number(struct export_rows *rows, uint32_t space, uint32_t wanted, uint32_t *number)
{
    bool is_new = false;
    if (wanted) {
        if (!map_slot(&rows->taken, (uint64_t)space << 32 | wanted, 1, &is_new))
            return LAM_E_NOMEM;
        *number = wanted;
    }
    while (!is_new) {
        rows->spare = rows->spare ? rows->spare + 1 : SPARE_FIRST;
        if (!map_slot(&rows->taken, (uint64_t)space << 32 | rows->spare, 1, &is_new))
            return LAM_E_NOMEM;
        *number = rows->spare;
    }
    return LAM_OK;
}

static int keep_text(struct export_rows *rows, struct profile_text text, struct profile_text *kept)
{
    kept->bytes = arena_strndup(&rows->text, text.size ? text.bytes : "", text.size);
    kept->size = text.size;
    return kept->bytes ? LAM_OK : LAM_E_NOMEM;
}

int export_rows_process(struct export_rows *rows, const struct profile_process *process)
{
    char scratch[32];
    if (GROW(&rows->processes, process->process) < 0)
        return LAM_E_NOMEM;
    struct export_process *kept = &rows->processes.items[process->process];
    kept->pid = process->pid;
    kept->start_ns = process->start_ns;
    int rc = take_number(rows, 0, process->pid, &kept->shown_pid);
    struct profile_text name = export_program(process, scratch);
    struct strbuf text = {0};
    strbuf_add_bytes(&text, name.bytes, name.size);
    bool is_same =
        process->comm.size == name.size && memcmp(process->comm.bytes, name.bytes, name.size) == 0;
    if (rows->names_units && process->exe.size && process->comm.size && !is_same) {
        strbuf_add_char(&text, ' ');
        strbuf_add_bytes(&text, process->comm.bytes, process->comm.size);
    }
    if (rc == LAM_OK)
        rc = strbuf_ok(&text)
                 ? keep_text(rows, (struct profile_text){strbuf_text(&text), text.length}, &kept->name)
                 : LAM_E_NOMEM;
    strbuf_free(&text);
    return rc;
}

static int name_place(struct export_rows *rows, struct export_place *place, struct profile_text name)
{
    int rc = keep_text(rows, name, &place->name);
    if (rc == LAM_OK && place->row)
        rows->rows.items[place->row - 1].name = place->name;
    return rc;
}

int export_rows_thread(struct export_rows *rows, const struct profile_thread *thread)
{
    if (GROW(&rows->threads, thread->thread) < 0)
        return LAM_E_NOMEM;
    struct export_place *place = &rows->threads.items[thread->thread];
    place->is_known = true;
    place->process = thread->process;
    place->tid = thread->tid;
    return name_place(rows, place, thread->name);
}

int export_rows_thread_name(struct export_rows *rows, const struct profile_thread_name *name)
{
    if (GROW(&rows->threads, name->thread) < 0)
        return LAM_E_NOMEM;
    return name_place(rows, &rows->threads.items[name->thread], name->name);
}

int export_rows_track(struct export_rows *rows, const struct profile_track *track)
{
    if (GROW(&rows->tracks, track->track) < 0)
        return LAM_E_NOMEM;
    struct export_place *place = &rows->tracks.items[track->track];
    place->is_known = true;
    place->process = track->process;
    return name_place(rows, place, track->name);
}

static int find_place(struct export_rows *rows, uint32_t process, uint32_t *thread, uint32_t track,
                      struct export_place **place)
{
    if (!track && *thread < rows->shared_count && rows->shared[*thread])
        *thread = rows->shared[*thread];
    if (track ? GROW(&rows->tracks, track) < 0 : GROW(&rows->threads, *thread) < 0)
        return LAM_E_NOMEM;
    *place = track ? &rows->tracks.items[track] : &rows->threads.items[*thread];
    if (!(*place)->is_known) { /* an input that refers to what it did not push */
        (*place)->is_known = true;
        (*place)->process = process;
    }
    return LAM_OK;
}

static int add_row(struct export_rows *rows, const struct export_place *place, uint32_t thread,
                   uint32_t track, uint32_t beside, uint32_t *row)
{
    struct export_row made = {.process = place->process,
                              .thread = track ? 0 : thread,
                              .track = track,
                              .beside = beside,
                              .tid = place->tid,
                              .name = place->name};
    int rc = take_number(rows, place->process, beside || track ? 0 : place->tid, &made.shown_tid);
    *row = (uint32_t)rows->rows.count;
    return rc < 0 ? rc : array_push(&rows->rows, made);
}

int export_rows_own(struct export_rows *rows, uint32_t process, uint32_t thread, uint32_t track,
                    uint32_t *row, bool *is_new)
{
    struct export_place *place;
    int rc = find_place(rows, process, &thread, track, &place);
    *is_new = false;
    if (rc < 0)
        return rc;
    if (!place->row) {
        rc = add_row(rows, place, thread, track, 0, row);
        if (rc < 0)
            return rc;
        place->row = *row + 1;
        *is_new = true;
    }
    *row = place->row - 1;
    return LAM_OK;
}

/* Where the number of the row beside is kept, as row + 1: of a chain, or of a lane for what is in no chain. NULL: no memory. */
static uint32_t *find_beside(struct export_rows *rows, struct export_place *place,
                             const struct profile_interval *interval)
{
    if (interval->flags & PROFILE_INTERVAL_DETACHED || interval->chain == PROFILE_CHAIN_NONE) {
        uint32_t lane;
        return lanes_place(&place->lanes, interval->start_ns, interval->end_ns, rows->in_order,
                           &lane) < 0 ||
                       GROW(&place->lane_rows, lane) < 0
                   ? NULL
                   : &place->lane_rows.items[lane];
    }
    uint32_t chain = interval->chain - 1;
    return GROW(&place->chain_rows, chain) < 0 ? NULL : &place->chain_rows.items[chain];
}

int export_rows_interval(struct export_rows *rows, const struct profile_interval *interval,
                         uint32_t *row, bool *is_new)
{
    struct export_place *place;
    uint32_t thread = interval->thread;
    if (!interval->chain && !(interval->flags & PROFILE_INTERVAL_DETACHED))
        return export_rows_own(rows, interval->process, thread, interval->track, row, is_new);
    int rc = find_place(rows, interval->process, &thread, interval->track, &place);
    uint32_t *kept = rc < 0 ? NULL : find_beside(rows, place, interval);
    *is_new = false;
    if (!kept)
        return LAM_E_NOMEM;
    if (!*kept) {
        rc = add_row(rows, place, thread, interval->track, ++place->beside, row);
        *is_new = rc >= 0;
        *kept = rc < 0 ? 0 : *row + 1;
        return rc;
    }
    *row = *kept - 1;
    return LAM_OK;
}

int export_rows_extra(struct export_rows *rows, uint32_t process, uint32_t *shown_tid)
{
    return take_number(rows, process, 0, shown_tid);
}

struct export_process export_rows_process_of(const struct export_rows *rows, uint32_t process)
{
    return process < rows->processes.count ? rows->processes.items[process]
                                           : (struct export_process){0};
}

void export_rows_title(const struct export_row *row, struct strbuf *buf)
{
    if (row->name.size)
        strbuf_add_bytes(buf, row->name.bytes, row->name.size);
    else if (row->track)
        strbuf_addf(buf, "track %u", row->track);
    else
        strbuf_addf(buf, "thread %u", row->tid);
    if (row->beside)
        strbuf_addf(buf, " (beside %u)", row->beside);
}

static void free_places(struct export_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        array_free(&places[i].chain_rows);
        lanes_free(&places[i].lanes);
        array_free(&places[i].lane_rows);
    }
}

void export_rows_free(struct export_rows *rows)
{
    free_places(rows->threads.items, rows->threads.count);
    free_places(rows->tracks.items, rows->tracks.count);
    array_free(&rows->processes);
    array_free(&rows->threads);
    array_free(&rows->tracks);
    array_free(&rows->rows);
    map_free(&rows->taken);
    arena_free(&rows->text);
}
