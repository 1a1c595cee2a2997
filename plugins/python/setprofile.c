/* setprofile.c: sys.setprofile, whose own end the interpreter tells the function that was just set: not without us, where nobody
 * asked for calls of built-in functions when it began. */
#include "plugin.h"

static PyCFunction setprofile, setprofile_all; /* what they were */

static __thread Py_tracefunc theirs; /* that waits for the first event */

static PyObject *on_setprofile(PyObject *self, PyObject *function);
static PyObject *on_setprofile_all(PyObject *self, PyObject *function);

static int is_setter(PyObject *callable)
{
    PyCFunction call = PyCFunction_Check(callable) ? PyCFunction_GET_FUNCTION(callable) : NULL;
    return call == on_setprofile || call == on_setprofile_all;
}

static int on_first_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState_Get()->c_profilefunc = theirs;
    return what == PyTrace_C_RETURN && is_setter(arg) ? 0 : theirs(self, frame, what, arg);
}

static PyObject *set_profile(PyCFunction set, PyObject *self, PyObject *function)
{
    PyThreadState *thread = PyThreadState_Get();
    int is_told = plugin.is_on && thread_seen == plugin.generation &&
                  (!HAS_MONITORING || (plugin.c_calls && !thread->c_profilefunc));
    PyObject *result = set(self, function);
    if (is_told && result && function != Py_None && thread->c_profilefunc) {
        theirs = thread->c_profilefunc;
        thread->c_profilefunc = on_first_event;
    }
    return result;
}

static PyObject *on_setprofile(PyObject *self, PyObject *function)
{
    return set_profile(setprofile, self, function);
}

static PyObject *on_setprofile_all(PyObject *self, PyObject *function)
{
    return set_profile(setprofile_all, self, function);
}

void setprofile_wrap(void)
{
    if (setprofile)
        return;
    setprofile = method_wrap(PySys_GetObject("setprofile"), METH_O, on_setprofile);
    setprofile_all = method_wrap(PySys_GetObject("_setprofileallthreads"), METH_O, on_setprofile_all);
}
