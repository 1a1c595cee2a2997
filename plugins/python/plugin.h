/* plugin.h: what the parts of the CPython plug-in share. Everything here runs with the interpreter's lock held. */
#ifndef LAMELLA_PLUGINS_PYTHON_H
#define LAMELLA_PLUGINS_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../common/lines.h"

#if PY_VERSION_HEX < 0x030b0000 || defined(Py_GIL_DISABLED)
#error "CPython 3.11 or later, with the interpreter lock"
#endif
#define PLUGIN_MODULE "lamella._lamella"

#define HAS_MONITORING (PY_VERSION_HEX >= 0x030c0000)
#if HAS_MONITORING
#define code_set_extra PyUnstable_Code_SetExtra
#define code_extra_new PyUnstable_Eval_RequestCodeExtraIndex
#else
#define code_set_extra _PyCode_SetExtra
#define code_extra_new _PyEval_RequestCodeExtraIndex
#endif
#if PY_VERSION_HEX >= 0x030d0000
#define FRAME_OF(thread) ((thread)->current_frame)
#else
#define FRAME_OF(thread) ((thread)->cframe->current_frame)
#endif

/* ---- what the interpreter's headers do not show; is_known_layout() tries it before anything is recorded ---- */

struct code_words { /* code->co_extra */
    Py_ssize_t size;
    void *words[];
};

struct frame_data { /* of a function that runs; a generator's lies in the generator, as long as that lives */
#if HAS_MONITORING
    uintptr_t code; /* 3.14 keeps something in the lowest bits */
#else
    PyObject *function, *globals, *builtins, *locals;
    PyCodeObject *code;
    PyFrameObject *object;
    struct frame_data *previous;
    const _Py_CODEUNIT *at;
    int stack_top;
    bool is_entry;
    char owner;
    PyObject *variables[];
#endif
};

struct frame_head { /* a PyFrameObject */
    PyObject_HEAD PyFrameObject *back;
    struct frame_data *data;
};

static inline struct frame_data *data_of(PyFrameObject *frame)
{
    return ((struct frame_head *)frame)->data;
}

static inline int runs(const struct frame_data *data, const void *code)
{
    return ((uintptr_t)data->code & ~(uintptr_t)3) == (uintptr_t)code;
}

/* ---- what is known about a code object ---- */

enum { FUNCTION_LINE = 1, FUNCTION_MODULE = 2, FUNCTION_THREAD = 4, FUNCTION_OWN = 8 };
struct function {
    struct lam_callee callee;
    uint32_t generation; /* the recording that this is of */
    uint32_t flags;      /* what is special about it */
};

/* Which code objects get a track of their own. */
enum { TRACKS_NONE, TRACKS_TASKS, TRACKS_ALL };

struct plugin {
    uint32_t generation; /* of the recording; changes with each start and fork */
    int is_on, c_calls, tracks;
    Py_ssize_t extra;
    PyObject *prefixes; /* directories that file names are shown without */
    PyObject *own_file; /* whose functions are not recorded */
};
extern struct plugin plugin;

/* The recording that this thread is part of. initial-exec: every event looks at it. */
extern __thread uint32_t thread_seen __attribute__((tls_model("initial-exec")));

/* Something is thrown into what stands at that instruction: also into one that has not begun. */
static inline enum line_entry thrown_at(const PyCodeObject *code, Py_ssize_t instruction)
{
    return instruction < code->_co_firsttraceable ? LINE_START : LINE_THROW;
}

/* ---- functions.c ---- */

struct function *function_new(PyCodeObject *code, struct function *before);
static inline struct function *function_of(PyCodeObject *code)
{
    const struct code_words *extra = (const void *)code->co_extra;
    struct function *function =
        extra && extra->size > plugin.extra ? extra->words[plugin.extra] : NULL;
    return __builtin_expect(function && function->generation == plugin.generation, 1)
               ? function
               : function_new(code, function);
}
/* Of a built-in function or method; NULL: it is neither, is one of the plug-in's own, or there is no memory. */
struct lam_callee *builtin_of(PyObject *callable);
/* Bytes that a text stands for. New reference; NULL: no memory. */
PyObject *bytes_of_text(PyObject *text);
struct lam_label label_of_text(PyObject *text);

/* ---- threads.c ---- */

/* The calling thread's first event: `frame`, but if it is just entered, and what is below it is taken for called now. -1: no memory
 * for it, and nothing is to be recorded. */
int thread_begin(PyFrameObject *frame, int is_entry);
/* Its calls are closed: it is over, or no longer heard of. */
void thread_finish(int is_over);
/* A call that is not a plain one; `entry` is of those that can be suspended. */
void special_enter(const struct frame_data *data, struct function *function, enum line_entry entry);
void special_exit(const struct frame_data *data, const struct function *function, int is_yield);

/* ---- greenlets.c ---- */

/* Looks for the module greenlet, to be told of its switches. */
void greenlets_look(void);

/* From then on `callable`, a function of the interpreter's own, runs `ours`. Returns what it ran; NULL: it is not what we expect. */
static inline PyCFunction method_wrap(PyObject *callable, int flags, PyCFunction ours)
{
    if (!callable || !PyCFunction_CheckExact(callable) || PyCFunction_GET_FLAGS(callable) != flags)
        return NULL;
    PyCFunction before = PyCFunction_GET_FUNCTION(callable);
    ((PyCFunctionObject *)callable)->m_ml->ml_meth = ours;
    return before;
}

/* ---- setprofile.c ---- */

/* From then on a function that the program sets is told of no event more than without us. */
void setprofile_wrap(void);

/* ---- hooks_profile.c or hooks_monitoring.c ---- */

int hooks_install(void); /* -1: with a Python exception */
void hooks_remove(void);

#endif
