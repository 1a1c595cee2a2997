/* greenlets.c: green threads of the module greenlet (gevent's too), each a line of execution. */
#include "plugin.h"

static __thread uint32_t greenlets_seen __attribute__((tls_model("initial-exec")));
static PyObject *dead; /* greenlet.dead, whatever subclasses make of it */

static int is_dead(PyObject *greenlet)
{
    PyObject *answer = Py_TYPE(dead)->tp_descr_get(dead, greenlet, (PyObject *)Py_TYPE(greenlet));
    Py_XDECREF(answer);
    return answer == Py_True;
}

static PyObject *on_greenlet(PyObject *self, PyObject *args)
{
    PyObject *event, *origin, *target;
    (void)self;
    if (PyArg_ParseTuple(args, "O(OO)", &event, &origin, &target) && plugin.is_on &&
        plugin.tracks && thread_seen == plugin.generation)
        line_switch(origin, is_dead(origin), target, lam_label_intern(LAM_DEFAULT, "greenlet", 8));
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef greenlet_hook = {"lamella", on_greenlet, METH_VARARGS, NULL};

/* Nothing is asked of a program's own module of that name. Borrowed. */
static PyObject *function_in(PyObject *names, const char *name)
{
    PyObject *function = PyDict_GetItemString(names, name);
    return function && PyCFunction_Check(function) ? function : NULL;
}

static int find_dead(PyObject *names)
{
    PyObject *type = PyDict_GetItemString(names, "greenlet");
    PyObject *name = PyUnicode_InternFromString("dead");
    PyObject *found =
        type && PyType_Check(type) && name ? _PyType_Lookup((PyTypeObject *)type, name) : NULL;
    if (found && Py_TYPE(found)->tp_descr_get)
        Py_XSETREF(dead, Py_NewRef(found));
    Py_XDECREF(name);
    return found && dead == found;
}

void greenlets_look(void)
{
    if (greenlets_seen == plugin.generation || !plugin.tracks)
        return;
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "greenlet");
    PyObject *names = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    PyObject *get = names ? function_in(names, "gettrace") : NULL;
    PyObject *set = names ? function_in(names, "settrace") : NULL;
    PyObject *before = get && set && find_dead(names) ? PyObject_CallNoArgs(get) : NULL;
    if (before == Py_None) { /* somebody else's stays */
        PyObject *hook = PyCFunction_New(&greenlet_hook, NULL);
        PyObject *done = hook ? PyObject_CallOneArg(set, hook) : NULL;
        if (done)
            greenlets_seen = plugin.generation;
        Py_XDECREF(done);
        Py_XDECREF(hook);
    }
    Py_XDECREF(before);
    PyErr_Clear();
}
