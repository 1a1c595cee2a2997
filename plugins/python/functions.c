/* functions.c: what calls are labelled with: `name (file:line)`, made once a code object; `name (C)` of built-in functions. */
#include "plugin.h"

#include "../common/pointer_map.h"

static struct pointer_map builtins; /* PyMethodDef -> struct lam_callee, generation (`more`) */

/* Names may hold lone surrogates: those that stand for bytes become these bytes, others are written as if they were letters. */
PyObject *bytes_of_text(PyObject *text)
{
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape") : NULL;
    if (text && !bytes) {
        PyErr_Clear();
        bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    }
    PyErr_Clear();
    return bytes;
}

struct lam_label label_of_text(PyObject *text)
{
    struct lam_label label = {0};
    PyObject *bytes = bytes_of_text(text);
    if (bytes)
        label =
            lam_label_intern(LAM_DEFAULT, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_XDECREF(bytes);
    return label.id ? label : lam_label_intern(LAM_DEFAULT, "?", 1);
}

/* Without the directory on sys.path that it was found in: the longest. New reference. */
static PyObject *short_name(PyObject *file)
{
    Py_ssize_t cut = 0;
    for (Py_ssize_t i = 0; plugin.prefixes && i < PyList_GET_SIZE(plugin.prefixes); i++) {
        PyObject *prefix = PyList_GET_ITEM(plugin.prefixes, i);
        Py_ssize_t size = PyUnicode_GET_LENGTH(prefix);
        if (size > cut && size < PyUnicode_GET_LENGTH(file) &&
            PyUnicode_Tailmatch(file, prefix, 0, PY_SSIZE_T_MAX, -1) == 1)
            cut = size;
    }
    return PyUnicode_Substring(file, cut, PY_SSIZE_T_MAX);
}

static uint32_t flags_of(PyCodeObject *code)
{
    int lines = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
    lines = plugin.tracks == TRACKS_ALL ? lines | CO_GENERATOR : plugin.tracks ? lines : 0;
    uint32_t flags = code->co_flags & lines ? FUNCTION_LINE : 0;
    if (PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0)
        flags |= FUNCTION_MODULE;
    if (PyUnicode_CompareWithASCIIString(code->co_qualname, "Thread._bootstrap") == 0)
        flags |= FUNCTION_THREAD;
    if (plugin.own_file && PyUnicode_Compare(code->co_filename, plugin.own_file) == 0)
        flags |= FUNCTION_OWN;
    return flags;
}

/* The interpreter makes room for all tools' words, and gives each back to its tool with the code object, empty ones too: of tools that
 * came after us, which need not expect that, there is room when they ask. */
static struct function *attach(PyCodeObject *code)
{
    int is_alone = !code->co_extra;
    struct function *function = malloc(sizeof *function);
    if (function && code_set_extra((PyObject *)code, plugin.extra, function) < 0) {
        free(function);
        return NULL;
    }
    if (function && is_alone)
        ((struct code_words *)code->co_extra)->size = plugin.extra + 1;
    return function;
}

struct function *function_new(PyCodeObject *code, struct function *before)
{
    static struct function nameless; /* of all for which there is no memory */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct function *function = before ? before : attach(code);
    if (!function)
        function = &nameless;
    PyErr_Clear();
    PyObject *file = short_name(code->co_filename);
    PyObject *text =
        file ? PyUnicode_FromFormat("%U (%U:%d)", code->co_qualname, file, code->co_firstlineno)
             : NULL;
    struct lam_label label = label_of_text(function == &nameless ? NULL : text);
    *function = (struct function){{.label = label.id}, plugin.generation, flags_of(code)};
    Py_XDECREF(text);
    Py_XDECREF(file);
    PyErr_Restore(type, value, traceback);
    return function;
}

/* The type that a method is one of, by the types' own tables: asking for its name could run code of the program's. */
static const char *type_of(const PyMethodDef *method, PyTypeObject *type)
{
    PyObject *bases = type->tp_mro;
    for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); i++) {
        const PyTypeObject *base = (const PyTypeObject *)PyTuple_GET_ITEM(bases, i);
        for (const PyMethodDef *one = base->tp_methods; one && one->ml_name; one++)
            if (one == method) {
                const char *dot = strrchr(base->tp_name, '.');
                return dot ? dot + 1 : base->tp_name;
            }
    }
    return NULL;
}

/* 0 for the plug-in's own: an interval that such a function begins or ends would overlap its call. */
static struct lam_label new_builtin_label(PyObject *callable, const PyMethodDef *method)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int is_function = PyCFunction_Check(callable);
    PyObject *module = is_function ? ((PyCFunctionObject *)callable)->m_module : NULL;
    PyObject *self = is_function ? PyCFunction_GET_SELF(callable) : NULL;
    const char *of = NULL;
    if (!is_function)
        of = type_of(method, PyDescr_TYPE(callable));
    else if (self)
        of = type_of(method, PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self));
    PyObject *text;
    struct lam_label label = {0};
    if (module &&
        (!PyUnicode_Check(module) || !PyUnicode_CompareWithASCIIString(module, "builtins")))
        module = NULL;
    if (of)
        text = PyUnicode_FromFormat("%s.%s (C)", of, method->ml_name);
    else if (module)
        text = PyUnicode_FromFormat("%U.%s (C)", module, method->ml_name);
    else
        text = PyUnicode_FromFormat("%s (C)", method->ml_name);
    if (!module || PyUnicode_CompareWithASCIIString(module, PLUGIN_MODULE))
        label = label_of_text(text);
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
    return label;
}

struct lam_callee *builtin_of(PyObject *callable)
{
    const PyMethodDef *method = NULL;
    if (PyCFunction_Check(callable))
        method = ((PyCFunctionObject *)callable)->m_ml;
    else if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
        method = ((PyMethodDescrObject *)callable)->d_method;
    if (!method)
        return NULL;
    struct pointer_slot *slot = pointer_map_find(&builtins, method);
    struct lam_callee *callee = slot ? slot->value : malloc(sizeof *callee);
    if (!slot && callee)
        slot = pointer_map_add(&builtins, method);
    if (!slot) {
        free(callee);
        return NULL;
    }
    if (slot->more != plugin.generation)
        *callee = (struct lam_callee){.label = new_builtin_label(callable, method).id};
    slot->more = plugin.generation;
    slot->value = callee;
    return callee->label ? callee : NULL;
}
