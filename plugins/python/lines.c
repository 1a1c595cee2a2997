/* lines.c: lines of execution. Each thread runs one at a time: its own, or that of a task, a generator or a greenlet, and each
 * is a track. A line is entered when a frame of it runs that was not started by a frame of it, and left when that frame yields
 * or ends. Frames that wait for one another by `await` or `yield from` are one line: none of them runs while the innermost is
 * suspended. */
#include "plugin.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "../common/pointer_map.h"

struct line {
    struct lam_track track;
    struct lam_label label;
    uint32_t serial;        /* changes when the line is given to another generator */
    int is_free;            /* in the pool */
    struct line *resumer;   /* runs when this one is left; NULL: nobody runs it */
    const void *entered_at; /* the frame that leaves it */
    struct line *next_free, *next;
};

enum { POOL_HEADS = 1024 };

__thread uint32_t thread_seen __attribute__((tls_model("initial-exec")));
static __thread struct line base __attribute__((tls_model("initial-exec")));
static __thread struct line *here __attribute__((tls_model("initial-exec")));
static __thread uint32_t greenlets_seen __attribute__((tls_model("initial-exec")));
static struct line *pool[POOL_HEADS]; /* by label: the next generator of the same function goes on on the same track */
static struct line *all;
/* Frames of generators -> their line, its serial then (`more`), how many calls are open with this one (`number`). Greenlets
 * that do not run -> the line that they left. A frame that went without an event is noticed when its address is used again. */
static struct pointer_map running;

static void run_line(struct line *line)
{
    here = line;
    lam_track_switch(LAM_DEFAULT, line->track);
}

static struct line *line_new(struct lam_label label)
{
    struct line **link = &pool[label.id % POOL_HEADS];
    while (*link && (*link)->label.id != label.id)
        link = &(*link)->next_free;
    struct line *line = *link;
    if (line) {
        *link = line->next_free;
    } else {
        line = calloc(1, sizeof *line);
        if (!line)
            return NULL;
        line->track = lam_track_create(LAM_DEFAULT, label);
        line->label = label;
        line->next = all;
        all = line;
    }
    line->is_free = 0;
    return line;
}

static void line_retire(struct line *line)
{
    struct line **head = &pool[line->label.id % POOL_HEADS];
    line->serial++;
    line->is_free = 1;
    line->resumer = NULL;
    line->next_free = *head;
    *head = line;
}

static void line_leave(struct line *line)
{
    struct line *resumer = line->resumer ? line->resumer : &base;
    line->resumer = NULL;
    run_line(resumer);
}

unsigned char frame_opcode(PyFrameObject *frame, unsigned char *argument)
{
    unsigned char opcode = 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *bytes = PyCode_GetCode(code);
    Py_ssize_t at = PyFrame_GetLasti(frame);
    if (bytes && at >= 0 && at + 1 < PyBytes_GET_SIZE(bytes)) {
        const unsigned char *text = (const unsigned char *)PyBytes_AS_STRING(bytes);
        while (at >= 2 && !text[at]) /* a cache behind the instruction */
            at -= 2;
        opcode = text[at];
        if (argument)
            *argument = text[at + 1];
    }
    Py_XDECREF(bytes);
    Py_DECREF(code);
    return opcode;
}

static int is_current(const struct pointer_slot *slot)
{
    return slot && slot->value == here && slot->more == here->serial;
}

/* Does the frame below, one of the line that runs, wait for this one? What an async generator yields does not suspend who asked
 * for it, so each is a line. */
static int is_delegated(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyFrameObject *back = code->co_flags & CO_ASYNC_GENERATOR ? NULL : PyFrame_GetBack(frame);
    int yes = back && is_current(pointer_map_find(&running, back)) &&
              frame_opcode(back, NULL) == plugin.op_send;
    Py_XDECREF(back);
    Py_DECREF(code);
    return yes;
}

/* The frame went unseen. */
static void forget(struct pointer_slot *slot)
{
    struct line *line = slot->value, *before = here;
    int is_last = slot->more == line->serial && slot->number == 1 && line != here;
    pointer_map_remove(&running, slot);
    if (!is_last)
        return;
    run_line(line);
    lam_call_unwind(LAM_DEFAULT, 0);
    line_retire(line);
    run_line(before);
}

void line_enter(PyFrameObject *frame, uint64_t function, enum entry entry)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    if (slot && (entry == ENTRY_START || slot->more != ((struct line *)slot->value)->serial)) {
        forget(slot);
        slot = NULL;
    }
    int is_new = !slot;
    if (is_new) {
        struct line *line = is_delegated(frame) ? here : line_new(function_label(function));
        slot = line ? pointer_map_add(&running, frame) : NULL;
        if (!slot) { /* no memory: a call as any other */
            lam_call_enter(LAM_DEFAULT, function_label(function));
            return;
        }
        slot->value = line;
        slot->more = line->serial;
    }
    struct line *line = slot->value;
    if (line != here) {
        line->resumer = here;
        line->entered_at = frame;
        run_line(line);
    }
    if (is_new) {
        lam_call_enter(LAM_DEFAULT, function_label(function));
        slot->number = lam_call_depth(LAM_DEFAULT);
    } else if (entry == ENTRY_THROW) { /* those that it waited for are over */
        lam_call_unwind(LAM_DEFAULT, slot->number);
    }
}

void line_yield(PyFrameObject *frame, uint64_t function)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    if (!slot)
        lam_call_exit(LAM_DEFAULT, function_label(function));
    else if (is_current(slot) && here->entered_at == frame)
        line_leave(here);
}

void line_exit(PyFrameObject *frame, uint64_t function)
{
    struct pointer_slot *slot = pointer_map_find(&running, frame);
    lam_call_exit(LAM_DEFAULT, function_label(function));
    if (!slot)
        return;
    struct line *line = slot->value;
    int is_ours = is_current(slot), is_last = slot->number == 1;
    pointer_map_remove(&running, slot);
    if (is_ours && line->entered_at == frame)
        line_leave(line);
    if (is_ours && is_last && line != here)
        line_retire(line);
}

/* ---- greenlets ---- */

static void greenlet_switch(PyObject *origin, PyObject *target)
{
    struct line *left = here;
    struct pointer_slot *slot = pointer_map_find(&running, target);
    struct line *line = slot ? slot->value : line_new(lam_label_intern(LAM_DEFAULT, "greenlet", 8));
    if (slot)
        pointer_map_remove(&running, slot);
    run_line(line ? line : &base);
    PyObject *dead = PyObject_GetAttrString(origin, "dead");
    if (dead == Py_True && left != &base)
        line_retire(left);
    else if ((slot = pointer_map_add(&running, origin)))
        slot->value = left;
    Py_XDECREF(dead);
    PyErr_Clear();
}

static PyObject *on_greenlet(PyObject *self, PyObject *args)
{
    PyObject *event, *origin, *target;
    (void)self;
    if (!PyArg_ParseTuple(args, "O(OO)", &event, &origin, &target))
        PyErr_Clear();
    else if (plugin.is_on && plugin.tracks && thread_seen == plugin.generation)
        greenlet_switch(origin, target);
    Py_RETURN_NONE;
}

static PyMethodDef greenlet_hook = {"lamella", on_greenlet, METH_VARARGS, NULL};

void greenlets_look(void)
{
    if (greenlets_seen == plugin.generation || !plugin.tracks)
        return;
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = PyDict_GetItemString(modules, "greenlet");
    PyObject *before = module ? PyObject_CallMethod(module, "gettrace", NULL) : NULL;
    if (before == Py_None) { /* somebody else's stays */
        PyObject *hook = PyCFunction_New(&greenlet_hook, NULL);
        PyObject *done = hook ? PyObject_CallMethod(module, "settrace", "O", hook) : NULL;
        if (done)
            greenlets_seen = plugin.generation;
        Py_XDECREF(done);
        Py_XDECREF(hook);
    }
    Py_XDECREF(before);
    PyErr_Clear();
}

/* ---- threads ---- */

/* Of a thread of `threading`, whose outermost frame knows; else NULL. New reference. */
static PyObject *name_of(PyFrameObject *outermost)
{
    PyCodeObject *code = PyFrame_GetCode(outermost);
    PyObject *name = NULL;
    if (function_flags(function_of(code)) & FUNCTION_THREAD) {
        PyObject *locals = PyFrame_GetLocals(outermost);
        PyObject *self = locals ? PyMapping_GetItemString(locals, "self") : NULL;
        name = self ? PyObject_GetAttrString(self, "_name") : NULL;
        Py_XDECREF(self);
        Py_XDECREF(locals);
    }
    Py_DECREF(code);
    PyErr_Clear();
    return name;
}

static void name_thread(PyFrameObject *outermost)
{
    int is_main = syscall(SYS_gettid) == getpid();
    PyObject *name = outermost ? name_of(outermost) : NULL;
    if (name && PyUnicode_Check(name) && PyUnicode_AsUTF8(name))
        lam_thread_name(LAM_DEFAULT, PyUnicode_AsUTF8(name));
    PyErr_Clear();
    if (plugin.tracks) {
        struct lam_label label =
            name ? label_of_text(name)
                 : lam_label_intern(LAM_DEFAULT, is_main ? "MainThread" : "thread", is_main ? 10 : 6);
        base.track = lam_track_create(LAM_DEFAULT, label);
    }
    Py_XDECREF(name);
}

void thread_begin(PyFrameObject *frame, int is_entry)
{
    thread_seen = plugin.generation;
    base = (struct line){.serial = 0};
    here = &base;
    Py_ssize_t count = 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *frames = PyList_New(0);
    PyFrameObject *at = frame;
    for (Py_XINCREF(at); at && frames && PyList_Append(frames, (PyObject *)at) == 0; count++)
        Py_SETREF(at, PyFrame_GetBack(at));
    Py_XDECREF(at);
    name_thread(count ? (PyFrameObject *)PyList_GET_ITEM(frames, count - 1) : NULL);
    run_line(&base);
    while (frames && count-- > is_entry) {
        PyFrameObject *one = (PyFrameObject *)PyList_GET_ITEM(frames, count);
        PyCodeObject *code = PyFrame_GetCode(one);
        enter_frame(one, function_of(code), ENTRY_RESUME);
        Py_DECREF(code);
    }
    greenlets_look();
    Py_XDECREF(frames);
    PyErr_Restore(type, value, traceback);
}

void thread_end(void)
{
    if (thread_seen != plugin.generation)
        return;
    while (here != &base) {
        struct line *line = here;
        lam_call_unwind(LAM_DEFAULT, 0);
        line_leave(line);
        line_retire(line);
    }
    lam_call_unwind(LAM_DEFAULT, 0);
    thread_seen = 0;
}

void thread_finish(void)
{
    thread_end();
    if (base.track.id)
        lam_track_end(LAM_DEFAULT, base.track);
}

void lines_end(int is_child)
{
    for (struct line *line = all, *next; line; line = next) {
        next = line->next;
        if (!is_child && !line->resumer && !line->is_free) {
            lam_track_switch(LAM_DEFAULT, line->track);
            lam_call_unwind(LAM_DEFAULT, 0);
            lam_track_end(LAM_DEFAULT, line->track);
        }
        free(line);
    }
    all = NULL;
    memset(pool, 0, sizeof pool);
    pointer_map_clear(&running);
}
