/* hooks_monitoring.c: CPython 3.12 and later: a tool of sys.monitoring, which sees every thread. Its callbacks are objects with a
 * vector call, so that the interpreter counts no level of recursion for them. */
#include "plugin.h"

#if HAS_MONITORING

#include <stddef.h>

/* Debuggers, coverage and profilers have those with names: 0 to 2 and 5. */
static const int numbers[] = {4, 3, 5, 2, 1, 0};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static int tool = -1; /* our number; -1: none */
static int is_giving; /* ... one back */
static PyInterpreterState *interpreter;

/* Whether the calling thread is recorded, as it is from its first event on. */
static inline int is_recorded(int is_entry)
{
    return plugin.is_on && (__builtin_expect(thread_seen == plugin.generation, 1) ||
                            thread_begin(PyEval_GetFrame(), is_entry) == 0);
}

/* What C code tells may be of no code object at all. */
static inline struct function *function_to_record(PyObject *code, int is_entry)
{
    return PyCode_Check(code) && is_recorded(is_entry) ? function_of((PyCodeObject *)code) : NULL;
}

/* The frame of a call that is not a plain one; NULL: it is, or C code tells of it and it has none. */
static inline const struct frame_data *special_frame(const struct function *function, PyObject *code)
{
    if (__builtin_expect(function->flags == 0, 1))
        return NULL;
    const struct frame_data *data = (const void *)FRAME_OF(PyThreadState_Get());
    return data && runs(data, code) ? data : NULL;
}

static inline __attribute__((always_inline)) void entered(PyObject *const *args, enum line_entry entry)
{
    struct function *function = function_to_record(args[0], 1);
    if (!function)
        return;
    const struct frame_data *data = special_frame(function, args[0]);
    if (__builtin_expect(data != NULL, 0))
        special_enter(data, function, entry);
    else
        line_call(&function->callee);
}

static inline void thrown(PyObject *const *args)
{
    if (PyCode_Check(args[0]))
        entered(args, thrown_at((const PyCodeObject *)args[0], PyLong_AsLong(args[1]) / 2));
}

static inline void left(PyObject *const *args, int is_yield)
{
    const struct function *function = function_to_record(args[0], 0);
    if (!function)
        return;
    const struct frame_data *data = special_frame(function, args[0]);
    if (__builtin_expect(data != NULL, 0))
        special_exit(data, function, is_yield);
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
CALLBACK(on_throw, thrown(args))
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

/* One that nobody has; -1: with a Python exception. */
static int take_number(PyObject *monitoring)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        PyErr_Clear();
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "is", numbers[i], "lamella");
        Py_XDECREF(done);
        if (done)
            return numbers[i];
    }
    return -1;
}

static int register_all(PyObject *monitoring, PyObject *names, int number)
{
    long wanted = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        PyObject *event = PyObject_GetAttrString(names, events[i].event);
        struct callback *callback = PyObject_New(struct callback, &callback_type);
        if (callback)
            callback->call = events[i].call;
        PyObject *done = event && callback
                             ? PyObject_CallMethod(monitoring, "register_callback", "iOO", number,
                                                   event, (PyObject *)callback)
                             : NULL;
        if (done && (!events[i].is_builtin || (plugin.c_calls && events[i].is_builtin == 1)))
            wanted |= PyLong_AsLong(event);
        Py_XDECREF(event);
        Py_XDECREF((PyObject *)callback);
        if (!done)
            return -1;
        Py_DECREF(done);
    }
    PyObject *done = PyObject_CallMethod(monitoring, "set_events", "il", number, wanted);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static void give_back(PyObject *monitoring, int number)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    is_giving = 1;
    Py_XDECREF(PyObject_CallMethod(monitoring, "set_events", "ii", number, 0));
    PyErr_Clear();
    Py_XDECREF(PyObject_CallMethod(monitoring, "free_tool_id", "i", number));
    is_giving = 0;
    PyErr_Restore(type, value, traceback); /* clears what went wrong here */
}

/* -1: with a Python exception. */
static int begin(PyObject *monitoring)
{
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    int number = names ? take_number(monitoring) : -1;
    int rc = number < 0 ? -1 : register_all(monitoring, names, number);
    if (rc < 0 && number >= 0)
        give_back(monitoring, number);
    tool = rc < 0 ? -1 : number;
    Py_XDECREF(names);
    return rc;
}

/* ---- a program that asks for our number ----
 * It finds the number free: we go on with another one. If it wants all of them it gets them, and calls are recorded again when it
 * gives one back. */

static PyCFunction use_tool_id, get_tool, get_events, free_tool_id; /* what they were */

static void make_way(PyObject *number)
{
    int before = tool;
    if (before < 0 || !number || !PyLong_CheckExact(number) || PyLong_AsLong(number) != before ||
        PyInterpreterState_Get() != interpreter)
        return;
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    tool = -1;                                            /* we may ask */
    if (begin(monitoring) < 0) {
        PyErr_Clear();
        lam_instant(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "Lamella"),
                    lam_label_intern(LAM_DEFAULT, "sys.monitoring", 14));
        thread_finish(0);
    }
    give_back(monitoring, before);
}

static PyObject *on_use_tool_id(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    make_way(count ? args[0] : NULL);
    return ((_PyCFunctionFast)(void (*)(void))use_tool_id)(self, args, count);
}

static PyObject *on_get_tool(PyObject *self, PyObject *number)
{
    make_way(number);
    return get_tool(self, number);
}

static PyObject *on_get_events(PyObject *self, PyObject *number)
{
    make_way(number);
    return get_events(self, number);
}

static PyObject *on_free_tool_id(PyObject *self, PyObject *number)
{
    make_way(number);
    PyObject *result = free_tool_id(self, number);
    if (result && !is_giving && tool < 0 && plugin.is_on &&
        PyInterpreterState_Get() == interpreter && begin(self) < 0)
        PyErr_Clear();
    return result;
}

static PyCFunction wrap(PyObject *monitoring, const char *name, int flags, PyCFunction ours)
{
    PyObject *callable = PyObject_GetAttrString(monitoring, name);
    PyCFunction before = method_wrap(callable, flags, ours);
    Py_XDECREF(callable);
    PyErr_Clear();
    return before;
}

int hooks_install(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    interpreter = PyInterpreterState_Get();
    if (!monitoring || PyType_Ready(&callback_type) < 0 || begin(monitoring) < 0)
        return -1;
    if (!use_tool_id) {
        use_tool_id = wrap(monitoring, "use_tool_id", METH_FASTCALL,
                           (PyCFunction)(void (*)(void))on_use_tool_id);
        get_tool = wrap(monitoring, "get_tool", METH_O, on_get_tool);
        get_events = wrap(monitoring, "get_events", METH_O, on_get_events);
        free_tool_id = wrap(monitoring, "free_tool_id", METH_O, on_free_tool_id);
    }
    return 0;
}

void hooks_remove(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");
    int number = tool;
    tool = -1;
    if (monitoring && number >= 0)
        give_back(monitoring, number);
}

#endif
