/* Cuts of content-defined chunking, and byte groups: an optional extension. `chunker.py` and `xorb_layout.py` have the same in Python. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum { WINDOW = 64 };
static const uint64_t LEGAL = (uint64_t)1 << 48; /* the top 16 bits of smaller hashes are 0 */

/* Return the end of the chunk at `start`, or `size` + 1 if the data ends before it does. */
static Py_ssize_t next_end(const uint8_t *data, Py_ssize_t size, Py_ssize_t start, Py_ssize_t seen,
                           const uint64_t *table, Py_ssize_t least, Py_ssize_t most) {
    Py_ssize_t first = start + least - 1, last = start + most;
    Py_ssize_t stop = last < size ? last : size;
    uint64_t hash = 0;
    if (first < seen)
        first = seen;
    Py_ssize_t at = first < WINDOW ? 0 : first - WINDOW + 1;
    while (at < first && at < stop)
        hash = (hash << 1) + table[data[at++]];
    /* Four hashes that depend on one earlier hash only: twice as fast as one after the other. */
    for (; at + 4 <= stop; at += 4) {
        uint64_t one = table[data[at]], two = (one << 1) + table[data[at + 1]];
        uint64_t three = (two << 1) + table[data[at + 2]], four = (three << 1) + table[data[at + 3]];
        uint64_t next = (hash << 4) + four;
        if ((hash << 1) + one < LEGAL || (hash << 2) + two < LEGAL || (hash << 3) + three < LEGAL || next < LEGAL)
            break;
        hash = next;
    }
    for (; at < stop; at++) {
        hash = (hash << 1) + table[data[at]];
        if (hash < LEGAL)
            return at + 1;
    }
    return last <= size ? last : size + 1;
}

static PyObject *cuts(PyObject *Py_UNUSED(module), PyObject *arguments) {
    Py_buffer data, table;
    Py_ssize_t seen, least, most, end = 0;
    PyObject *ends = NULL;
    if (!PyArg_ParseTuple(arguments, "y*y*nnn", &data, &table, &seen, &least, &most))
        return NULL;
    if (table.len != 256 * sizeof(uint64_t) || seen < 0 || least < 1 || most < least)
        PyErr_SetString(PyExc_ValueError, "invalid table or limits");
    else
        ends = PyList_New(0);
    while (ends) {
        PyThreadState *state = PyEval_SaveThread();
        end = next_end(data.buf, data.len, end, seen, table.buf, least, most);
        PyEval_RestoreThread(state);
        if (end > data.len)
            break;
        PyObject *number = PyLong_FromSsize_t(end);
        if (!number || PyList_Append(ends, number))
            Py_CLEAR(ends);
        Py_XDECREF(number);
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&table);
    return ends;
}

/* Return the bytes by their offset modulo 4: 0, then 1, 2 and 3. */
static PyObject *group(PyObject *Py_UNUSED(module), PyObject *argument) {
    Py_buffer data;
    if (PyObject_GetBuffer(argument, &data, PyBUF_SIMPLE))
        return NULL;
    PyObject *grouped = PyBytes_FromStringAndSize(NULL, data.len);
    if (grouped) {
        const uint8_t *restrict from = data.buf;
        uint8_t *restrict to = (uint8_t *)PyBytes_AsString(grouped);
        for (Py_ssize_t first = 0, size = data.len; first < 4 && first < size; first++) {
            Py_ssize_t count = (size - first + 3) / 4;
            for (Py_ssize_t at = 0; at < count; at++)
                to[at] = from[first + 4 * at];
            to += count;
        }
    }
    PyBuffer_Release(&data);
    return grouped;
}

static PyMethodDef methods[] = {
    {"cuts", cuts, METH_VARARGS, NULL}, {"group", group, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_native(void) { return PyModuleDef_Init(&module); }
