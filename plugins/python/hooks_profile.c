/* hooks_profile.c: CPython 3.11: a profile function in each thread. It is put there without sys.setprofile's audit event and without
 * an object, so that the program sees neither. */
#include "plugin.h"

#if !HAS_MONITORING

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

static void on_call(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    uint64_t function = function_of(code);
    Py_DECREF(code);
    enum entry entry = ENTRY_RESUME;
    if (function_flags(function) & FUNCTION_LINE) {
        unsigned char argument = 1;
        if (frame_opcode(frame, &argument) == plugin.op_resume && argument == 0)
            entry = ENTRY_START;
    }
    enter_frame(frame, function, entry);
    look_for_threads();
}

static void on_return(PyFrameObject *frame, PyObject *arg)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    uint64_t function = function_of(code);
    Py_DECREF(code);
    int is_yield = arg && function_flags(function) & FUNCTION_LINE &&
                   frame_opcode(frame, NULL) == plugin.op_yield;
    exit_frame(frame, function, is_yield);
}

static void on_builtin(int what, PyObject *callable)
{
    if (what == PyTrace_C_RETURN && start_thread && PyCFunction_GET_FUNCTION(callable) == start_thread)
        hook_threads(); /* the new thread is in the list and waits for the interpreter's lock */
    if (!plugin.c_calls)
        return;
    if (what == PyTrace_C_CALL)
        lam_call_enter(LAM_DEFAULT, builtin_label(callable));
    else
        lam_call_exit(LAM_DEFAULT, builtin_label(callable));
}

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self;
    if (__builtin_expect(thread_seen != plugin.generation, 0))
        thread_begin(frame, what == PyTrace_CALL);
    if (what == PyTrace_CALL)
        on_call(frame);
    else if (what == PyTrace_RETURN)
        on_return(frame, arg);
    else if (PyCFunction_Check(arg))
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
    if (!plugin.is_on || strcmp(event, "sys.setprofile") != 0)
        return 0;
    if (thread_seen == plugin.generation) {
        lam_instant(LAM_DEFAULT, lam_kind_intern(LAM_DEFAULT, "Lamella"),
                    lam_label_intern(LAM_DEFAULT, "sys.setprofile", 14));
        thread_finish();
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
