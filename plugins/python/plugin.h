/* plugin.h: what the parts of the CPython plug-in share. Everything here runs with the interpreter's lock held. */
#ifndef LAMELLA_PLUGINS_PYTHON_H
#define LAMELLA_PLUGINS_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <lamella/lamella.h>

#if PY_VERSION_HEX < 0x030b0000 || defined(Py_GIL_DISABLED)
#error "CPython 3.11 or later, with the interpreter lock"
#endif
#define HAS_MONITORING (PY_VERSION_HEX >= 0x030c0000)
#if HAS_MONITORING
#define code_get_extra PyUnstable_Code_GetExtra
#define code_set_extra PyUnstable_Code_SetExtra
#define code_extra_new PyUnstable_Eval_RequestCodeExtraIndex
#else
#define code_get_extra _PyCode_GetExtra
#define code_set_extra _PyCode_SetExtra
#define code_extra_new _PyEval_RequestCodeExtraIndex
#endif

/* What is known about a code object, in one word in it: its label, what is special about it, and the recording that both are
 * of. */
enum { FUNCTION_LINE = 1, FUNCTION_MODULE = 2, FUNCTION_THREAD = 4, FUNCTION_OWN = 8 };
enum { FUNCTION_FLAGS_SHIFT = 32, FUNCTION_GENERATION_SHIFT = 36 };

/* Which code objects get a track of their own. */
enum { TRACKS_NONE, TRACKS_TASKS, TRACKS_ALL };

struct plugin {
    uint32_t generation; /* of the recording; changes with each start and fork */
    int is_on, c_calls, tracks;
    Py_ssize_t extra;
    unsigned char op_send, op_resume, op_yield;
    PyObject *prefixes; /* directories that file names are shown without */
    PyObject *own_file; /* whose functions are not recorded */
};
extern struct plugin plugin;

/* initial-exec: every event looks at it. `seen` is the recording that this thread is part of. */
extern __thread uint32_t thread_seen __attribute__((tls_model("initial-exec")));

/* ---- functions.c ---- */

uint64_t function_new(PyCodeObject *code);
static inline uint64_t function_of(PyCodeObject *code)
{
    void *extra = NULL;
    code_get_extra((PyObject *)code, plugin.extra, &extra);
    uint64_t word = (uint64_t)(uintptr_t)extra;
    return word >> FUNCTION_GENERATION_SHIFT == plugin.generation ? word : function_new(code);
}
static inline struct lam_label function_label(uint64_t function)
{
    return (struct lam_label){(uint32_t)function};
}
static inline uint32_t function_flags(uint64_t function)
{
    return (uint32_t)(function >> FUNCTION_FLAGS_SHIFT) & 15;
}
/* The label of a built-in function or method; 0: it is neither. */
struct lam_label builtin_label(PyObject *callable);
struct lam_label label_of_text(PyObject *text);

/* ---- lines.c ---- */

/* How a frame of a generator or coroutine is entered. */
enum entry { ENTRY_START, ENTRY_RESUME, ENTRY_THROW };
void line_enter(PyFrameObject *frame, uint64_t function, enum entry entry);
void line_yield(PyFrameObject *frame, uint64_t function);
void line_exit(PyFrameObject *frame, uint64_t function);
/* The instruction that a frame is at. */
unsigned char frame_opcode(PyFrameObject *frame, unsigned char *argument);
/* The calling thread's first event: `frame`, but if it is just entered, and what is below it is taken for called now. */
void thread_begin(PyFrameObject *frame, int is_entry);
/* Its calls are closed. */
void thread_end(void);
/* The outermost frame of a thread of `threading` returned. */
void thread_finish(void);
/* Looks for the module greenlet, to be told of its switches. */
void greenlets_look(void);
/* Closes what is suspended (at the end), or forgets it (in a forked child). */
void lines_end(int is_child);

/* ---- hooks_profile.c or hooks_monitoring.c ---- */

int hooks_install(void); /* -1: with a Python exception */
void hooks_remove(void);

static inline void enter_frame(PyFrameObject *frame, uint64_t function, enum entry entry)
{
    uint32_t flags = function_flags(function);
    if (flags & FUNCTION_LINE)
        line_enter(frame, function, entry);
    else if (!(flags & FUNCTION_OWN))
        lam_call_enter(LAM_DEFAULT, function_label(function));
}

static inline void exit_frame(PyFrameObject *frame, uint64_t function, int is_yield)
{
    uint32_t flags = function_flags(function);
    if (flags & FUNCTION_LINE)
        (is_yield ? line_yield : line_exit)(frame, function);
    else if (!(flags & FUNCTION_OWN))
        lam_call_exit(LAM_DEFAULT, function_label(function));
    if (flags & FUNCTION_MODULE && !is_yield)
        greenlets_look();
    if (flags & FUNCTION_THREAD)
        thread_finish();
}

#endif
