/* hooks_monitoring.c: CPython 3.12 and later: a tool of sys.monitoring, which sees every thread. Its callbacks are objects with a
 * vector call, so that the interpreter counts no level of recursion for them. */
#include "plugin.h"

#if HAS_MONITORING

#include <stddef.h>

/* Not 0 to 2 and 5, which have names: cProfile, debuggers and coverage keep theirs. */
enum { TOOL_FIRST = 4, TOOL_LAST = 3 };

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static int tool = -1;

/* Whether the calling thread is recorded, as it is from its first event on. */
static inline int is_recorded(int is_entry)
{
    return plugin.is_on && (__builtin_expect(thread_seen == plugin.generation, 1) ||
                            thread_begin(PyEval_GetFrame(), is_entry) == 0);
}

static const struct frame_data *innermost(void)
{
    return (const struct frame_data *)FRAME_OF(PyThreadState_Get());
}

static inline void entered(PyObject *const *args, enum line_entry entry)
{
    if (!is_recorded(1))
        return;
    struct function *function = function_of((PyCodeObject *)args[0]);
    if (__builtin_expect(function->flags != 0, 0))
        special_enter(innermost(), function, entry);
    else
        line_call(&function->callee);
}

static inline void left(PyObject *const *args, int is_yield)
{
    if (!is_recorded(0))
        return;
    const struct function *function = function_of((PyCodeObject *)args[0]);
    if (__builtin_expect(function->flags != 0, 0))
        special_exit(innermost(), function, is_yield);
    else
        line_return(&function->callee);
}

static void built_in(PyObject *const *args, int is_call)
{
    int is_first = thread_seen != plugin.generation;
    struct lam_callee *callee = is_recorded(0) ? builtin_of(args[2]) : NULL;
    if (callee && is_call)
        line_call(callee);
    else if (callee && !is_first) /* not the end of what began before */
        line_return(callee);
}

#define CALLBACK(name, action)                                                                     \
    static PyObject *name(PyObject *self, PyObject *const *args, size_t count, PyObject *keywords) \
    {                                                                                              \
        (void)self, (void)count, (void)keywords;                                                   \
        action;                                                                                    \
        Py_RETURN_NONE;                                                                            \
    }
CALLBACK(on_start, entered(args, LINE_START))
CALLBACK(on_resume, entered(args, LINE_RESUME))
CALLBACK(on_throw,
         entered(args, thrown_at((const PyCodeObject *)args[0], PyLong_AsLong(args[1]) / 2)))
CALLBACK(on_return, left(args, 0))
CALLBACK(on_yield, left(args, 1))
CALLBACK(on_unwind, left(args, 0))
CALLBACK(on_builtin_call, built_in(args, 1))
CALLBACK(on_builtin_end, built_in(args, 0))

static const struct {
    const char *event;
    vectorcallfunc call;
    int is_builtin;
} events[] = {
    {"PY_START", on_start, 0},
    {"PY_RESUME", on_resume, 0},
    {"PY_THROW", on_throw, 0},
    {"PY_RETURN", on_return, 0},
    {"PY_YIELD", on_yield, 0},
    {"PY_UNWIND", on_unwind, 0},
    {"CALL", on_builtin_call, 1},
    /* come with CALL */
    {"C_RETURN", on_builtin_end, 2},
    {"C_RAISE", on_builtin_end, 2},
};
enum { EVENTS = sizeof events / sizeof events[0] };

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lamella.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
};

static int take_tool(PyObject *monitoring)
{
    for (int id = TOOL_FIRST; id >= TOOL_LAST; id--) {
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "is", id, "lamella");
        if (done) {
            Py_DECREF(done);
            return id;
        }
        if (id > TOOL_LAST)
            PyErr_Clear();
    }
    return -1;
}

static int register_all(PyObject *monitoring, PyObject *names)
{
    long wanted = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        PyObject *number = PyObject_GetAttrString(names, events[i].event);
        struct callback *callback = PyObject_New(struct callback, &callback_type);
        if (callback)
            callback->call = events[i].call;
        PyObject *done = number && callback
                             ? PyObject_CallMethod(monitoring, "register_callback", "iOO", tool,
                                                   number, (PyObject *)callback)
                             : NULL;
        if (done && (!events[i].is_builtin || (plugin.c_calls && events[i].is_builtin == 1)))
            wanted |= PyLong_AsLong(number);
        Py_XDECREF(number);
        Py_XDECREF((PyObject *)callback);
        if (!done)
            return -1;
        Py_DECREF(done);
    }
    PyObject *done = PyObject_CallMethod(monitoring, "set_events", "il", tool, wanted);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int hooks_install(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    PyObject *names = monitoring ? PyObject_GetAttrString(monitoring, "events") : NULL;
    int rc = names && PyType_Ready(&callback_type) == 0 ? 0 : -1;
    if (rc == 0) {
        tool = take_tool(monitoring);
        rc = tool < 0 ? -1 : register_all(monitoring, names);
        if (rc < 0 && tool >= 0)
            hooks_remove();
    }
    Py_XDECREF(names);
    return rc;
}

void hooks_remove(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *monitoring = PySys_GetObject("monitoring");
    if (monitoring && tool >= 0) {
        Py_XDECREF(PyObject_CallMethod(monitoring, "set_events", "ii", tool, 0));
        PyErr_Clear();
        Py_XDECREF(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool));
    }
    tool = -1;
    PyErr_Restore(type, value, traceback); /* clears what went wrong here */
}

#endif
