/* hooks_profile.c: CPython 3.11: a profile function in each thread. It is put there without sys.setprofile's audit event and without
 * an object, so that the program sees neither. */
#include "plugin.h"

#if !HAS_MONITORING

#include <opcode.h>
#include <stddef.h>

static PyCFunction start_thread; /* _thread.start_new_thread */
static PyInterpreterState *interpreter;
static int is_audited;

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

static void set_profile(PyThreadState *thread, Py_tracefunc function)
{
    thread->c_profilefunc = function;
    thread->cframe->use_tracing = thread->c_tracefunc || function ? 255 : 0;
}

static void hook_threads(void)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter);
    for (; thread; thread = PyThreadState_Next(thread))
        if (!thread->c_profilefunc)
            set_profile(thread, on_profile);
}

/* New threads stand first in the list: those that a host makes are met here, before 256 calls of another one. */
static inline void look_for_threads(void)
{
    static uint8_t calls;
    if (++calls == 0 && !PyInterpreterState_ThreadHead(interpreter)->c_profilefunc)
        hook_threads();
}

/* A generator is at a RESUME, whose argument says after what, or where it was when something is thrown into it. */
static enum line_entry entry_of(const struct frame_data *data)
{
    int opcode = _Py_OPCODE(*data->at);
    if (opcode == RESUME || opcode == RESUME_QUICK)
        return _Py_OPARG(*data->at) ? LINE_RESUME : LINE_START;
    return thrown_at(data->code, data->at - _PyCode_CODE(data->code));
}

static inline void on_call(const struct frame_data *data)
{
    struct function *function = function_of(data->code);
    if (__builtin_expect(function->flags != 0, 0))
        special_enter(data, function, entry_of(data));
    else
        line_call(&function->callee);
    look_for_threads();
}

/* The frame lies in its generator, whose state says that it is suspended before the profile function is called. */
static int is_suspended(const struct frame_data *data)
{
    const char *generator = (const char *)data - offsetof(PyGenObject, gi_iframe);
    return ((const PyGenObject *)generator)->gi_frame_state < 0;
}

static inline void on_return(const struct frame_data *data)
{
    const struct function *function = function_of(data->code);
    if (__builtin_expect(function->flags != 0, 0))
        special_exit(data, function, function->flags & FUNCTION_LINE && is_suspended(data));
    else
        line_return(&function->callee);
}

static void record_builtin(int what, PyObject *callable)
{
    struct lam_callee *callee = builtin_of(callable);
    if (callee && what == PyTrace_C_CALL)
        line_call(callee);
    else if (callee)
        line_return(callee);
}

/* There are more of these than of calls. */
static inline void on_builtin(int what, PyObject *callable)
{
    if (what == PyTrace_C_RETURN && PyCFunction_CheckExact(callable) &&
        ((PyCFunctionObject *)callable)->m_ml->ml_meth == start_thread)
        hook_threads(); /* the new thread is in the list and waits for the interpreter's lock */
    if (__builtin_expect(plugin.c_calls, 0))
        record_builtin(what, callable);
}

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    int is_first = thread_seen != plugin.generation;
    if (__builtin_expect(is_first, 0) && thread_begin(frame, what == PyTrace_CALL) < 0)
        return 0;
    if (what == PyTrace_CALL)
        on_call(data_of(frame));
    else if (what == PyTrace_RETURN)
        on_return(data_of(frame));
    else if (!is_first || what == PyTrace_C_CALL) /* not the end of what began before */
        on_builtin(what, arg);
    return 0;
}

static int hook_again(void *unused)
{
    (void)unused;
    if (plugin.is_on)
        hook_threads();
    return 0;
}

/* The program takes the place for a profile function of its own, or gives it back: what lies between is not recorded. A thread
 * is looked at again when the change is done. */
static int on_audit(const char *event, PyObject *args, void *unused)
{
    (void)args, (void)unused;
    if (!plugin.is_on || strcmp(event, "sys.setprofile") != 0 ||
        PyInterpreterState_Get() != interpreter)
        return 0;
    if (thread_seen == plugin.generation) {
        lam_instant(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "Lamella"),
                    lam_label_intern(LAM_DEFAULT, "sys.setprofile", 14));
        thread_finish(0);
    }
    Py_AddPendingCall(hook_again, NULL);
    return 0;
}

int hooks_install(void)
{
    interpreter = PyInterpreterState_Get();
    PyObject *module = PyImport_ImportModule("_thread");
    PyObject *start = module ? PyObject_GetAttrString(module, "start_new_thread") : NULL;
    if (start && PyCFunction_Check(start))
        start_thread = PyCFunction_GET_FUNCTION(start);
    Py_XDECREF(start);
    Py_XDECREF(module);
    PyErr_Clear();
    if (!is_audited && PySys_AddAuditHook(on_audit, NULL) < 0)
        return -1;
    is_audited = 1;
    hook_threads();
    return 0;
}

void hooks_remove(void)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(interpreter);
    for (; thread; thread = PyThreadState_Next(thread))
        if (thread->c_profilefunc == on_profile)
            set_profile(thread, NULL);
}

#endif
