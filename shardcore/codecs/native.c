/* Cuts of content-defined chunking, byte groups, and places of a perfect hash function: an optional extension.
   `chunker.py`, `xorb_layout.py` and `chd.py` have the same in Python. */

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

/* First slot, step and row of a bucket that has no place yet. */
typedef struct {
    uint32_t at, step, row;
} Bucket;

/* Return whether the keys of a bucket get free, distinct slots, which are then in `where`. `where[0]` is given and free. */
static int fits(const uint8_t *free, const uint64_t *starts, const uint64_t *steps, uint64_t slots, Py_ssize_t buckets,
                Py_ssize_t size, uint64_t turns, uint64_t probe, uint64_t *where) {
    for (Py_ssize_t key = 1; key < size; key++) {
        where[key] = (starts[key * buckets] + steps[key * buckets] * probe + turns) % slots;
        if (!free[where[key]])
            return 0;
        for (Py_ssize_t other = 0; other < key; other++)
            if (where[other] == where[key])
                return 0;
    }
    return 1;
}

/* Try `count` probes: of each bucket that fits, mark the slots as used and set its entry in `tries`; others keep theirs. */
static void place_all(Bucket *left, uint64_t *where, uint8_t *free, const uint64_t *starts, const uint64_t *steps,
                      uint64_t slots, Py_ssize_t buckets, Py_ssize_t size, uint64_t turns, uint64_t within,
                      int32_t count, int32_t *tries) {
    for (Py_ssize_t row = 0; row < buckets; row++) {
        left[row].at = (uint32_t)((starts[row] + steps[row] * within + turns) % slots);
        left[row].step = (uint32_t)(steps[row] % slots);
        left[row].row = (uint32_t)row;
    }
    Bucket *end = left + buckets;
    for (int32_t probe = 0; probe < count && end > left; probe++) {
        Bucket *kept = left;
        for (Bucket *next = left; next < end; next++) {
            Bucket one = *next;
            where[0] = one.at;
            if (free[one.at] &&
                fits(free, starts + one.row, steps + one.row, slots, buckets, size, turns, within + probe, where)) {
                for (Py_ssize_t key = 0; key < size; key++)
                    free[where[key]] = 0;
                tries[one.row] = probe;
                continue;
            }
            uint32_t room = (uint32_t)slots - one.step;
            one.at = one.at >= room ? one.at - room : one.at + one.step;
            *kept++ = one;
        }
        end = kept;
    }
}

static PyObject *place(PyObject *Py_UNUSED(module), PyObject *arguments) {
    Py_buffer starts, steps, free, tries;
    unsigned long long turns, within;
    int count;
    if (!PyArg_ParseTuple(arguments, "y*y*w*w*KKi", &starts, &steps, &free, &tries, &turns, &within, &count))
        return NULL;
    Py_ssize_t buckets = tries.len / sizeof(int32_t), size = buckets ? starts.len / (8 * buckets) : 0;
    Bucket *left = PyMem_Malloc((buckets + 1) * sizeof(Bucket));
    uint64_t *where = PyMem_Malloc((size + 1) * sizeof(uint64_t));
    if (!left || !where)
        PyErr_NoMemory();
    else if (!size || starts.len != 8 * buckets * size || steps.len != starts.len || !free.len || free.len > UINT32_MAX)
        PyErr_SetString(PyExc_ValueError, "sizes of arrays do not agree");
    else {
        PyThreadState *state = PyEval_SaveThread();
        place_all(left, where, free.buf, starts.buf, steps.buf, free.len, buckets, size, turns, within, count, tries.buf);
        PyEval_RestoreThread(state);
    }
    PyMem_Free(left);
    PyMem_Free(where);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&steps);
    PyBuffer_Release(&free);
    PyBuffer_Release(&tries);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {{"cuts", cuts, METH_VARARGS, NULL},
                                {"group", group, METH_O, NULL},
                                {"place", place, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_native(void) { return PyModuleDef_Init(&module); }
