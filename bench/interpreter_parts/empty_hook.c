/* What a hook costs that does nothing but count: a profile function in C, and where there is sys.monitoring a tool of it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>

static unsigned long calls, others;

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self, (void)frame, (void)arg;
    if (what == PyTrace_CALL)
        calls++;
    else
        others++;
    return 0;
}

static PyObject *profile(PyObject *self, PyObject *is_on)
{
    (void)self;
    PyEval_SetProfile(is_on == Py_True ? on_profile : NULL, NULL);
    Py_RETURN_NONE;
}

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyObject *on_event(PyObject *self, PyObject *const *args, size_t count, PyObject *keywords)
{
    (void)self, (void)args, (void)count, (void)keywords;
    calls++;
    Py_RETURN_NONE;
}

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "empty_hook.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
};

static PyObject *callback(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    struct callback *made = PyObject_New(struct callback, &callback_type);
    if (made)
        made->call = on_event;
    return (PyObject *)made;
}

static PyObject *count(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromUnsignedLong(calls);
}

static PyMethodDef methods[] = {
    {"profile", profile, METH_O, NULL},
    {"callback", callback, METH_NOARGS, NULL},
    {"count", count, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "empty_hook", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_empty_hook(void)
{
    return PyType_Ready(&callback_type) < 0 ? NULL : PyModule_Create(&definition);
}
