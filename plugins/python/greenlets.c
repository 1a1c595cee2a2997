/* greenlets.c: green threads of the module greenlet (gevent's too), each a line of execution. */
#include "plugin.h"

static __thread uint32_t greenlets_seen __attribute__((tls_model("initial-exec")));

static PyObject *on_greenlet(PyObject *self, PyObject *args)
{
    PyObject *event, *origin, *target;
    (void)self;
    if (PyArg_ParseTuple(args, "O(OO)", &event, &origin, &target) && plugin.is_on &&
        plugin.tracks && thread_seen == plugin.generation) {
        PyObject *dead = PyObject_GetAttrString(origin, "dead");
        line_switch(origin, dead == Py_True, target, lam_label_intern(LAM_DEFAULT, "greenlet", 8));
        Py_XDECREF(dead);
    }
    PyErr_Clear();
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
