/* setprofile.c: sys.setprofile, whose own end the interpreter tells the function that was just set: not without us, where nobody
 * asked for calls of built-in functions when it began. */
#include "plugin.h"

static const char *const names[] = {"setprofile", "_setprofileallthreads"};
enum { NAMES = sizeof names / sizeof names[0] };

static struct {
    PyMethodDef *method;
    PyCFunction call; /* what it was */
} setters[NAMES];

static __thread Py_tracefunc theirs; /* that waits for the first event */

static int is_setter(PyObject *callable)
{
    for (size_t i = 0; i < NAMES; i++)
        if (PyCFunction_Check(callable) && ((PyCFunctionObject *)callable)->m_ml == setters[i].method)
            return 1;
    return 0;
}

static int on_first_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState_Get()->c_profilefunc = theirs;
    return what == PyTrace_C_RETURN && is_setter(arg) ? 0 : theirs(self, frame, what, arg);
}

static PyObject *set_profile(size_t which, PyObject *self, PyObject *function)
{
    PyThreadState *thread = PyThreadState_Get();
    int is_told = plugin.is_on && thread_seen == plugin.generation &&
                  (!HAS_MONITORING || (plugin.c_calls && !thread->c_profilefunc));
    PyObject *result = setters[which].call(self, function);
    if (is_told && result && function != Py_None && thread->c_profilefunc) {
        theirs = thread->c_profilefunc;
        thread->c_profilefunc = on_first_event;
    }
    return result;
}

static PyObject *set_here(PyObject *self, PyObject *function)
{
    return set_profile(0, self, function);
}

static PyObject *set_everywhere(PyObject *self, PyObject *function)
{
    return set_profile(1, self, function);
}

void setprofile_wrap(void)
{
    static const PyCFunction ours[] = {set_here, set_everywhere};
    for (size_t i = 0; i < NAMES; i++) {
        PyObject *callable = setters[i].method ? NULL : PySys_GetObject(names[i]); /* borrowed */
        if (!callable || !PyCFunction_CheckExact(callable) ||
            PyCFunction_GET_FLAGS(callable) != METH_O)
            continue;
        setters[i].method = ((PyCFunctionObject *)callable)->m_ml;
        setters[i].call = setters[i].method->ml_meth;
        setters[i].method->ml_meth = ours[i];
    }
}
