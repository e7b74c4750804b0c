/* What the files of compiled code share: the memory of arrays, taken from Python, and given back. */

#ifndef WORDVEIL_NATIVE_H
#define WORDVEIL_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

static inline PyObject *answer(int done)
{
    return done ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

enum { MOST = 32 };

typedef struct {
    Py_buffer held[MOST];
    int count;
} Buffers;

static inline void let_go(Buffers *buffers)
{
    for (int place = 0; place < buffers->count; place++)
        PyBuffer_Release(&buffers->held[place]);
}

/* The product of two counts, or -1, which no array is long enough for, where it is none or does not fit. */
static inline int64_t product(int64_t one, int64_t other)
{
    return one < 0 || other < 0 || (other && one > INT64_MAX / other) ? -1 : one * other;
}

/* The memory of an array, or NULL with an error set where it is not one of at least so many items, each at a place where
   its kind may lie: a file with an odd header, mapped into memory, has them anywhere. */
static inline void *memory(Buffers *buffers, PyObject *array, int64_t items, int64_t size, int writable)
{
    if (buffers->count == MOST) {
        PyErr_SetString(PyExc_SystemError, "there are too many arrays");
        return NULL;
    }
    Py_buffer *held = &buffers->held[buffers->count];
    if (PyObject_GetBuffer(array, held, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO))
        return NULL;
    buffers->count++;
    if (items < 0 || held->len / size < items) {
        PyErr_SetString(PyExc_ValueError, "an array is too short");
        return NULL;
    }
    if (held->len && (uintptr_t)held->buf % (uintptr_t)size) {
        PyErr_SetString(PyExc_ValueError, "an array is not aligned");
        return NULL;
    }
    return held->buf;
}

/* in strings.c */
PyObject *index_strings(PyObject *self, PyObject *args);
PyObject *index_short(PyObject *self, PyObject *args);

/* in words.c */
PyObject *cut_texts(PyObject *self, PyObject *args);

/* in writing.c */
PyObject *write_texts(PyObject *self, PyObject *args);
PyObject *first_uses(PyObject *self, PyObject *args);

/* in lines.c */
PyObject *count_lines(PyObject *self, PyObject *args);
PyObject *find_lines(PyObject *self, PyObject *args);

/* in values.c */
PyObject *find_values(PyObject *self, PyObject *args);

/* in tables.c */
PyObject *ends_in_quotes(PyObject *self, PyObject *args);
PyObject *cut_table(PyObject *self, PyObject *args);
PyObject *quote_cells(PyObject *self, PyObject *args);

#endif
