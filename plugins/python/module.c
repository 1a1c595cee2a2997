/* module.c: lamella._lamella: starting, stopping, running a program as if it had been started alone, and events by hand. */
#include "plugin.h"

#include <pthread.h>

#include "../common/open_default.h"

struct plugin plugin;

static int is_opened_here;

/* Another copy of this plug-in in the interpreter? They would record everything twice. */
static int is_taken(void)
{
    PyObject *shared = PyInterpreterState_GetDict(PyInterpreterState_Get());
    return shared && PyDict_GetItemString(shared, "lamella.is_on") == Py_True;
}

static void set_taken(int is_on)
{
    PyObject *shared = PyInterpreterState_GetDict(PyInterpreterState_Get());
    if (shared)
        PyDict_SetItemString(shared, "lamella.is_on", is_on ? Py_True : Py_False);
    PyErr_Clear();
}

static int is_known_layout(PyFrameObject *frame, PyCodeObject *code)
{
    void *mark = malloc(1); /* of the code object until it is replaced */
    if (!mark || code_set_extra((PyObject *)code, plugin.extra, mark) < 0)
        return 0;
    const struct code_words *extra = (const void *)code->co_extra;
    int is_known = extra && extra->size > plugin.extra && extra->words[plugin.extra] == mark &&
                   (const void *)data_of(frame) == FRAME_OF(PyThreadState_Get()) &&
                   runs(data_of(frame), code);
    return code_set_extra((PyObject *)code, plugin.extra, NULL) < 0 ? 0 : is_known;
}

static int begin_recording(void)
{
    plugin.generation++;
    plugin.is_on = 1;
    if (hooks_install() < 0) {
        plugin.is_on = 0;
        return -1;
    }
    setprofile_wrap();
    set_taken(1);
    thread_begin(PyEval_GetFrame(), 0);
    return 0;
}

/* Once: a place in code objects, whose functions are ours (the caller's file), and whether the interpreter is laid out as we know
 * it. Returns why it cannot be recorded, or NULL. */
static const char *prepare(PyFrameObject *caller)
{
    static PyInterpreterState *prepared;
    if (!caller)
        return "no memory";
    if (prepared == PyInterpreterState_Get())
        return NULL;
    plugin.extra = code_extra_new(free);
    if (plugin.extra < 0)
        return "other tools left no place in code objects";
    PyCodeObject *code = PyFrame_GetCode(caller);
    int is_known = is_known_layout(caller, code);
    Py_XSETREF(plugin.own_file, Py_NewRef(code->co_filename));
    Py_DECREF(code);
    if (!is_known)
        return "this Python keeps its frames in a way that is not known";
    prepared = PyInterpreterState_Get();
    return NULL;
}

/* start(path, options, tracks, c_calls, prefixes, is_now): opens the recorder, and begins unless run() will. */
static PyObject *start(PyObject *self, PyObject *args)
{
    const char *path, *text;
    PyObject *prefixes;
    int tracks, c_calls, is_now;
    (void)self;
    if (!PyArg_ParseTuple(args, "zzipO!p", &path, &text, &tracks, &c_calls, &PyList_Type, &prefixes,
                          &is_now))
        return NULL;
    if (is_taken() || plugin.is_on) /* here, or in another interpreter of the process */
        Py_RETURN_FALSE;
    const char *why_not = prepare(PyEval_GetFrame());
    if (why_not)
        return PyErr_Format(PyExc_RuntimeError, "lamella: %s", why_not);
    struct opening opening;
    int rc = open_default(path, text, &opening);
    is_opened_here = opening.is_opened;
    if (rc < 0)
        return PyErr_Format(rc == LAM_E_INVAL ? PyExc_ValueError : PyExc_OSError, "lamella: %s",
                            opening.words);
    plugin.tracks = tracks;
    plugin.c_calls = c_calls;
    Py_INCREF(prefixes);
    Py_XSETREF(plugin.prefixes, prefixes);
    if (is_now && begin_recording() < 0)
        return NULL;
    Py_RETURN_TRUE;
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (!plugin.is_on || !is_taken())
        Py_RETURN_NONE;
    hooks_remove();
    thread_finish(1);
    lines_end();
    plugin.is_on = 0;
    set_taken(0);
    Py_CLEAR(plugin.prefixes);
    if (is_opened_here)
        lam_close();
    Py_RETURN_NONE;
}

/* ---- a whole program ---- */

/* The frames of the runner are taken away meanwhile, and so is the recursion that they count for: stacks, tracebacks and
 * RecursionErrors are those of a program that was started alone. */
struct place {
    struct _PyInterpreterFrame *frame;
    int python_levels, c_levels;
};

#ifdef Py_C_RECURSION_LIMIT
#define C_LEVELS Py_C_RECURSION_LIMIT
#elif defined(C_RECURSION_LIMIT)
#define C_LEVELS C_RECURSION_LIMIT
#endif

static void leave_place(PyThreadState *thread, struct place *place)
{
    place->frame = FRAME_OF(thread);
    FRAME_OF(thread) = NULL;
#if HAS_MONITORING
    place->python_levels = thread->py_recursion_limit - thread->py_recursion_remaining;
    thread->py_recursion_remaining += place->python_levels;
#ifdef C_LEVELS
    place->c_levels = C_LEVELS - thread->c_recursion_remaining;
    thread->c_recursion_remaining += place->c_levels;
#endif
#else
    place->python_levels = thread->recursion_limit - thread->recursion_remaining;
    thread->recursion_remaining += place->python_levels;
#endif
}

static void return_to_place(PyThreadState *thread, const struct place *place)
{
    FRAME_OF(thread) = place->frame;
#if HAS_MONITORING
    thread->py_recursion_remaining -= place->python_levels;
#ifdef C_LEVELS
    thread->c_recursion_remaining -= place->c_levels;
#endif
#else
    thread->recursion_remaining -= place->python_levels;
#endif
}

/* As the interpreter runs what is on its command line: an interrupt that nobody catches is noted for its end. */
static PyObject *run_command(PyObject *text, PyObject *names)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE};
    return PyRun_StringFlags(PyBytes_AS_STRING(text), Py_file_input, names, names, &flags);
}

static PyObject *run_file(PyObject *path, PyObject *names)
{
    if (PyUnicode_CompareWithASCIIString(path, "-") == 0)
        return PyRun_FileExFlags(stdin, "<stdin>", Py_file_input, names, names, 0, NULL);
    PyObject *bytes = PyUnicode_EncodeFSDefault(path);
    FILE *file = bytes ? fopen(PyBytes_AS_STRING(bytes), "re") : NULL;
    PyObject *result = NULL;
    if (file)
        result =
            PyRun_FileExFlags(file, PyBytes_AS_STRING(bytes), Py_file_input, names, names, 1, NULL);
    else if (bytes)
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    Py_XDECREF(bytes);
    return result;
}

/* The runner's frames were never entered: nobody is to be told that they are left. */
static void hide_runner(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef(PyEval_GetFrame());
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        function_of(code)->flags |= FUNCTION_OWN;
        Py_DECREF(code);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    PyErr_Restore(type, value, traceback);
}

/* run(file, globals), run(command, globals), run(code, globals) or run(function, arguments). Returns the exit code, or raises SystemExit as the program
 * did. */
static PyObject *run(PyObject *self, PyObject *args)
{
    PyObject *what, *with, *result;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &what, &with))
        return NULL;
    PyThreadState *thread = PyThreadState_Get();
    struct place place;
    leave_place(thread, &place);
    if (begin_recording() < 0) {
        return_to_place(thread, &place);
        return NULL;
    }
    if (PyUnicode_Check(what))
        result = run_file(what, with);
    else if (PyBytes_Check(what))
        result = run_command(what, with);
    else if (PyCode_Check(what))
        result = PyEval_EvalCode(what, with, with);
    else
        result = PyObject_CallObject(what, with);
    long code = 0;
    if (!result && !PyErr_ExceptionMatches(PyExc_SystemExit)) {
        PyErr_Print();
        code = 1;
    }
    return_to_place(thread, &place);
    hide_runner();
    Py_XDECREF(result);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(code);
}

/* ---- by hand ---- */

static void tell_place(int is_interval)
{
    if (!plugin.is_on || thread_seen != plugin.generation)
        return;
    line_tell();
    line_here->has_intervals |= (uint8_t)is_interval;
}

static PyObject *begin(PyObject *self, PyObject *args)
{
    PyObject *label;
    const char *kind;
    (void)self;
    if (!PyArg_ParseTuple(args, "Us", &label, &kind))
        return NULL;
    tell_place(1);
    struct lam_handle handle =
        lam_begin(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, kind), label_of_text(label));
    return Py_BuildValue("KK", (unsigned long long)handle.ref, (unsigned long long)handle.start);
}

static PyObject *end(PyObject *self, PyObject *args)
{
    unsigned long long ref, since;
    (void)self;
    if (!PyArg_ParseTuple(args, "KK", &ref, &since))
        return NULL;
    lam_end(LAM_DEFAULT, (struct lam_handle){ref, since});
    Py_RETURN_NONE;
}

static PyObject *instant(PyObject *self, PyObject *args)
{
    PyObject *label, *value = Py_None;
    const char *kind;
    (void)self;
    if (!PyArg_ParseTuple(args, "Us|O", &label, &kind, &value))
        return NULL;
    tell_place(0);
    struct lam_kind of = lam_kind_intern(LAM_DEFAULT, kind);
    if (value == Py_None)
        lam_instant(LAM_DEFAULT, of, label_of_text(label));
    else
        lam_integer(LAM_DEFAULT, of, label_of_text(label), PyLong_AsUnsignedLongLongMask(value));
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"run", run, METH_VARARGS, NULL},
    {"begin", begin, METH_VARARGS, NULL},
    {"end", end, METH_VARARGS, NULL},
    {"instant", instant, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, PLUGIN_MODULE, NULL, -1, methods, NULL, NULL, NULL, NULL,
};

/* In the child, before any of its hooks: what is open there is entered anew with its next call. */
static void forked(void)
{
    plugin.generation++;
    lines_forget();
}

PyMODINIT_FUNC PyInit__lamella(void);
PyMODINIT_FUNC PyInit__lamella(void)
{
    pthread_atfork(NULL, NULL, forked);
    return PyModule_Create(&definition);
}
