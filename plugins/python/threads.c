/* threads.c: what each thread has open when it is first heard of, and the calls that begin, suspend or end a line of execution. */
#include "plugin.h"

#include <opcode.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread uint32_t thread_seen __attribute__((tls_model("initial-exec")));

/* Is it waiting for the frame that it has called, by `await` or `yield from`? */
static int is_sending(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *bytes = PyCode_GetCode(code); /* as compiled: nothing specialised */
    Py_ssize_t at = PyFrame_GetLasti(frame);
    int yes = 0;
    if (bytes && at >= 0 && at < PyBytes_GET_SIZE(bytes)) {
        const unsigned char *text = (const unsigned char *)PyBytes_AS_STRING(bytes);
        while (at >= 2 && !text[at]) /* a cache behind the instruction */
            at -= 2;
        yes = text[at] == SEND;
    }
    Py_XDECREF(bytes);
    Py_DECREF(code);
    return yes;
}

/* What an async generator yields does not suspend who asked for it, so each is a line. */
const void *line_waiter(const void *data)
{
    PyObject *type, *value, *traceback; /* one that is thrown into it may be on its way */
    PyErr_Fetch(&type, &value, &traceback);
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef(PyEval_GetFrame());
    while (frame && data_of(frame) != data)
        Py_XSETREF(frame, PyFrame_GetBack(frame));
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL; /* from 3.12 on it may take memory */
    PyFrameObject *back =
        code && !(code->co_flags & CO_ASYNC_GENERATOR) ? PyFrame_GetBack(frame) : NULL;
    const void *waiter = back && is_sending(back) ? data_of(back) : NULL;
    Py_XDECREF(code);
    Py_XDECREF(back);
    Py_XDECREF(frame);
    PyErr_Restore(type, value, traceback);
    return waiter;
}

void special_enter(const struct frame_data *data, struct function *function, enum line_entry entry)
{
    if (function->flags & FUNCTION_OWN)
        return;
    if (function->flags & FUNCTION_LINE)
        line_enter(data, &function->callee, entry);
    else
        line_call(&function->callee);
}

void special_exit(const struct frame_data *data, const struct function *function, int is_yield)
{
    uint32_t flags = function->flags;
    if (flags & FUNCTION_OWN)
        return;
    if (flags & FUNCTION_LINE)
        (is_yield ? line_yield : line_exit)(data, &function->callee);
    else
        line_return(&function->callee);
    if (flags & FUNCTION_MODULE && !is_yield)
        greenlets_look();
    if (flags & FUNCTION_THREAD)
        thread_finish(1);
}

/* New reference, or NULL. */
static PyObject *first_argument(PyFrameObject *frame)
{
#if HAS_MONITORING
    return PyFrame_GetVarString(frame, "self");
#else
    return data_of(frame)->code->co_argcount ? Py_XNewRef(data_of(frame)->variables[0]) : NULL;
#endif
}

/* Of a thread of `threading`, whose outermost frame knows; else NULL. Found without code of the program's, whose threads may answer for
 * their attributes themselves. New reference. */
static PyObject *name_of(PyFrameObject *outermost)
{
    PyCodeObject *code = PyFrame_GetCode(outermost);
    int is_thread = function_of(code)->flags & FUNCTION_THREAD;
    Py_DECREF(code);
    PyObject *self = is_thread ? first_argument(outermost) : NULL;
    PyObject *key = self ? PyUnicode_InternFromString("_name") : NULL;
    PyObject *name = NULL;
    if (key && !_PyType_Lookup(Py_TYPE(self), key))
        name = PyObject_GenericGetAttr(self, key);
    if (name && !PyUnicode_Check(name))
        Py_CLEAR(name);
    Py_XDECREF(key);
    Py_XDECREF(self);
    PyErr_Clear();
    return name;
}

static int begin_line(PyFrameObject *outermost)
{
    int is_main = syscall(SYS_gettid) == getpid();
    PyObject *name = outermost ? name_of(outermost) : NULL;
    PyObject *bytes = bytes_of_text(name);
    if (bytes)
        lam_thread_name(LAM_DEFAULT, PyBytes_AS_STRING(bytes));
    struct lam_label label =
        name ? label_of_text(name)
             : lam_label_intern(LAM_DEFAULT, is_main ? "MainThread" : "thread", is_main ? 10 : 6);
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    return lines_begin_thread(label, plugin.tracks != TRACKS_NONE);
}

int thread_begin(PyFrameObject *frame, int is_entry)
{
    Py_ssize_t count = 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *frames = PyList_New(0);
    PyFrameObject *at = frame;
    for (Py_XINCREF(at); at && frames && PyList_Append(frames, (PyObject *)at) == 0; count++)
        Py_SETREF(at, PyFrame_GetBack(at));
    Py_XDECREF(at);
    int rc = begin_line(count ? (PyFrameObject *)PyList_GET_ITEM(frames, count - 1) : NULL);
    thread_seen = rc < 0 ? 0 : plugin.generation;
    while (rc == 0 && frames && count-- > is_entry) {
        PyFrameObject *one = (PyFrameObject *)PyList_GET_ITEM(frames, count);
        PyCodeObject *code = PyFrame_GetCode(one);
        special_enter(data_of(one), function_of(code), LINE_MET);
        Py_DECREF(code);
    }
    greenlets_look();
    Py_XDECREF(frames);
    PyErr_Restore(type, value, traceback);
    return rc;
}

void thread_finish(int is_over)
{
    if (thread_seen == plugin.generation)
        lines_end_thread(is_over);
    thread_seen = 0;
}
