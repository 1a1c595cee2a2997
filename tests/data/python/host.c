/* A program with an interpreter in it: four threads of its own call a function of Python's while the first one, which started
 * the recording, does as well. With an argument each keeps its thread state from call to call. Prints how many of their calls
 * returned. */
#include <Python.h>
#include <pthread.h>
#include <stdatomic.h>

static PyObject *work;
static atomic_int returned, begun, calls, ended;
static int keeps;

static void *body(void *unused)
{
    (void)unused;
    PyGILState_STATE outer = PyGILState_UNLOCKED;
    PyThreadState *own = NULL;
    if (keeps) {
        outer = PyGILState_Ensure();
        own = PyEval_SaveThread();
    }
    begun++;
    while (calls < 600)
        sched_yield();
    for (int i = 0; i < 2000; i++) {
        PyGILState_STATE state = PyGILState_Ensure();
        PyObject *result = PyObject_CallFunction(work, "i", i);
        if (result)
            returned++;
        else
            PyErr_Print();
        Py_XDECREF(result);
        PyGILState_Release(state);
    }
    if (keeps) {
        PyEval_RestoreThread(own);
        PyGILState_Release(outer);
    }
    ended++;
    return NULL;
}

int main(int argc, char **argv)
{
    (void)argv;
    keeps = argc > 1;
    Py_Initialize();
    if (PyRun_SimpleString(
            "import lamella\ndef work(n):\n    return n + 1\nlamella.start('host.out')\n"))
        return 1;
    work = PyObject_GetAttrString(PyImport_AddModule("__main__"), "work");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, body, NULL);
    Py_BEGIN_ALLOW_THREADS while (begun < 4) sched_yield();
    Py_END_ALLOW_THREADS for (; ended < 4; calls++)
    {
        Py_XDECREF(PyObject_CallFunction(work, "i", 1));
        Py_BEGIN_ALLOW_THREADS sched_yield();
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    PyRun_SimpleString("lamella.stop()");
    printf("%d\n", returned);
    return Py_FinalizeEx() ? 1 : 0;
}
