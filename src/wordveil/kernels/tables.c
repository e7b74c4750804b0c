/* Tables of separated values, over bytes: the cells of some columns found, and quoted again when their texts are new.

   What a row is, and what is malformed, is as Python's csv module has it when it is strict; what it writes is quoted
   only where it must be. Every offset is checked before it is used, and where anything is odd Python reads the rows. */

#include "native.h"

#include <stdlib.h>
#include <string.h>

enum { ENDS = 1, QUOTES = 2 }; /* of a sign: it ends a cell that is not quoted, or is a quotation mark */

static void classify(uint8_t *classes, int delimiter)
{
    memset(classes, 0, 256);
    classes['\n'] = classes['\r'] = classes[delimiter] = ENDS;
    classes['"'] = QUOTES;
}

static int is_separator(int delimiter)
{
    if (delimiter > 0 && delimiter < 0x80 && delimiter != '"' && delimiter != '\r' && delimiter != '\n')
        return 1;
    PyErr_SetString(PyExc_ValueError, "this separates no cells");
    return 0;
}

typedef struct {
    int64_t start, stop; /* what is in it, without the marks around it */
    int is_quoted, has_quotes;
} Cell;

typedef enum { GOOD, OPEN, MALFORMED } Reading;

/* Read a cell, and move to what is behind it. */
static inline Reading read_cell(const uint8_t *data, int64_t length, const uint8_t *classes, int64_t *place, Cell *cell)
{
    int64_t at = *place;
    cell->is_quoted = at < length && data[at] == '"';
    cell->has_quotes = 0;
    if (!cell->is_quoted) {
        cell->start = at;
        for (; at < length && !(classes[data[at]] & ENDS); at++)
            cell->has_quotes |= classes[data[at]];
        cell->stop = *place = at;
        return GOOD;
    }
    cell->start = ++at;
    for (;;) {
        const uint8_t *mark = at < length ? memchr(data + at, '"', (size_t)(length - at)) : NULL;
        if (!mark)
            return OPEN;
        at = mark - data + 1;
        if (at == length || data[at] != '"')
            break;
        cell->has_quotes = 1;
        at++;
    }
    cell->stop = at - 1;
    *place = at;
    return at == length || classes[data[at]] & ENDS ? GOOD : MALFORMED;
}

/* Whether rows that begin at the start of some data, or (`open`) within the quotation marks of a cell, end within those
   of one. */
PyObject *ends_in_quotes(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *result = NULL;
    long long length;
    int delimiter, open;
    if (!PyArg_ParseTuple(args, "OLii", &data_of, &length, &delimiter, &open) || !is_separator(delimiter))
        return NULL;
    Buffers buffers = {.count = 0};
    const uint8_t *data;
    uint8_t classes[256];
    classify(classes, delimiter);
    if ((data = memory(&buffers, data_of, length, 1, 0))) {
        Reading found = GOOD;
        Py_BEGIN_ALLOW_THREADS;
        int64_t at = 0;
        if (open) { /* look for the end of the cell */
            for (found = OPEN; at < length && found == OPEN; at++)
                if (data[at] == '"') {
                    if (at + 1 < length && data[at + 1] == '"')
                        at++;
                    else
                        found = GOOD;
                }
        }
        while (found == GOOD && at < length) {
            Cell cell;
            if (classes[data[at]] & ENDS)
                at++;
            else
                found = read_cell(data, length, classes, &at, &cell);
        }
        Py_END_ALLOW_THREADS;
        result = PyBool_FromLong(found == OPEN);
    }
    let_go(&buffers);
    return result;
}

typedef struct {
    const uint8_t *data, *classes;
    int64_t length, at;
    int delimiter;
    int64_t width;
    const int64_t *places; /* of the columns that are asked for, in order */
    int64_t place_count;
    uint8_t *out;
    int64_t written, texts, room;
    int64_t *starts, *ends;
} Table;

/* What is in a cell, each doubled quotation mark as one. */
static inline void put_text(Table *table, const Cell *cell)
{
    const uint8_t *data = table->data;
    uint8_t *to = table->out + table->written;
    if (!cell->is_quoted || !cell->has_quotes) {
        memcpy(to, data + cell->start, (size_t)(cell->stop - cell->start));
        table->written += cell->stop - cell->start;
        return;
    }
    for (int64_t at = cell->start; at < cell->stop; at++) {
        *to++ = data[at];
        at += data[at] == '"';
    }
    table->written = to - table->out;
}

/* A cell as it is to be written. */
static inline void put_cell(Table *table, const Cell *cell)
{
    const uint8_t *data = table->data;
    uint8_t *to = table->out + table->written;
    int is_quoted = cell->has_quotes || (table->width == 1 && cell->start == cell->stop);
    if (cell->is_quoted)
        for (int64_t at = cell->start; at < cell->stop && !is_quoted; at++)
            is_quoted = table->classes[data[at]];
    if (is_quoted)
        *to++ = '"';
    if (!is_quoted || cell->is_quoted) {
        memcpy(to, data + cell->start, (size_t)(cell->stop - cell->start));
        to += cell->stop - cell->start;
    } else
        for (int64_t at = cell->start; at < cell->stop; at++) {
            *to++ = data[at];
            if (data[at] == '"')
                *to++ = '"';
        }
    if (is_quoted)
        *to++ = '"';
    table->written = to - table->out;
}

/* Read a row, or a blank line; says whether it is a row. */
static Reading read_row(Table *table, int *is_row)
{
    const uint8_t *data = table->data, *classes = table->classes;
    const int64_t length = table->length;
    *is_row = data[table->at] != '\n' && data[table->at] != '\r';
    if (*is_row) {
        int64_t next = 0; /* of the columns that are asked for */
        for (int64_t column = 0;; column++) {
            Cell cell;
            Reading found = read_cell(data, length, classes, &table->at, &cell);
            if (found != GOOD || column == table->width)
                return found == OPEN ? OPEN : MALFORMED;
            if (column)
                table->out[table->written++] = (uint8_t)table->delimiter;
            if (next < table->place_count && table->places[next] == column) {
                if (table->texts == table->room)
                    return MALFORMED;
                table->starts[table->texts] = table->written;
                put_text(table, &cell);
                table->ends[table->texts++] = table->written;
                next++;
            } else
                put_cell(table, &cell);
            if (table->at == length || data[table->at] != table->delimiter) {
                if (column + 1 != table->width)
                    return MALFORMED;
                break;
            }
            table->at++;
        }
    }
    const int64_t begin = table->at;
    while (table->at < length && data[table->at] == '\r')
        table->at++;
    if (table->at == length)
        return GOOD;
    if (data[table->at++] != '\n')
        return MALFORMED;
    if (table->at - begin > 1)
        table->out[table->written++] = '\r';
    table->out[table->written++] = '\n';
    return GOOD;
}

/* Cut rows: give them as they are to be written, but for the texts of some columns, which stand there plainly, and how
   many there are; nothing where a row is malformed or not whole. Says where the texts start and end. */
PyObject *cut_table(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *places_of, *starts_of, *ends_of, *result = NULL;
    long long length, width, place_count, room;
    Table table = {.at = 0};
    if (!PyArg_ParseTuple(args, "OLiLOLOOL", &data_of, &length, &table.delimiter, &width, &places_of, &place_count,
                          &starts_of, &ends_of, &room) ||
        !is_separator(table.delimiter))
        return NULL;
    Buffers buffers = {.count = 0};
    uint8_t classes[256];
    classify(classes, table.delimiter);
    table.classes = classes;
    table.length = length;
    table.width = width;
    table.place_count = place_count;
    table.room = room;
    if (!(table.data = memory(&buffers, data_of, length, 1, 0)) ||
        !(table.places = memory(&buffers, places_of, place_count, 8, 0)) ||
        !(table.starts = memory(&buffers, starts_of, room, 8, 1)) || !(table.ends = memory(&buffers, ends_of, room, 8, 1)))
        goto over;
    int64_t marks = 0;
    for (int64_t at = 0; at < length; at++)
        marks += table.data[at] == '"';
    /* A mark in a cell without marks around it becomes two, and brings those around it along. */
    table.out = marks > (PY_SSIZE_T_MAX - length) / 4 ? NULL : malloc((size_t)(length + 3 * marks + 1));
    if (!table.out) {
        PyErr_NoMemory();
        goto over;
    }
    int64_t rows = 0;
    Reading found = GOOD;
    Py_BEGIN_ALLOW_THREADS;
    while (found == GOOD && table.at < length) {
        int is_row;
        found = read_row(&table, &is_row);
        rows += is_row;
    }
    Py_END_ALLOW_THREADS;
    if (found != GOOD)
        result = Py_NewRef(Py_None);
    else
        result = Py_BuildValue("y#L", (char *)table.out, (Py_ssize_t)table.written, (long long)rows);
over:
    free(table.out);
    let_go(&buffers);
    return result;
}

/* Write rows whose cells of some columns stand there plainly: each in quotation marks where it must be, such as (`alone`)
   an empty one in a row without others. */
PyObject *quote_cells(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *starts_of, *ends_of, *result = NULL;
    long long length, count;
    int delimiter, alone;
    if (!PyArg_ParseTuple(args, "OLOOLii", &data_of, &length, &starts_of, &ends_of, &count, &delimiter, &alone) ||
        !is_separator(delimiter))
        return NULL;
    Buffers buffers = {.count = 0};
    const uint8_t *data;
    const int64_t *starts, *ends;
    uint8_t classes[256], *is_quoted = count < 0 ? NULL : malloc((size_t)count + 1);
    classify(classes, delimiter);
    if (!is_quoted) {
        PyErr_NoMemory();
        goto over;
    }
    if (!(data = memory(&buffers, data_of, length, 1, 0)) || !(starts = memory(&buffers, starts_of, count, 8, 0)) ||
        !(ends = memory(&buffers, ends_of, count, 8, 0)))
        goto over;
    int64_t size = length, before = 0;
    int is_sound = 1;
    Py_BEGIN_ALLOW_THREADS;
    for (int64_t text = 0; text < count && is_sound; text++) {
        is_sound = before <= starts[text] && starts[text] <= ends[text] && ends[text] <= length;
        if (!is_sound)
            break;
        int seen = 0, marks = 0;
        for (int64_t at = starts[text]; at < ends[text]; at++)
            seen |= classes[data[at]];
        if (seen & QUOTES)
            for (int64_t at = starts[text]; at < ends[text]; at++)
                marks += data[at] == '"';
        is_quoted[text] = seen || (alone && starts[text] == ends[text]);
        size += is_quoted[text] ? 2 + marks : 0;
        before = ends[text];
    }
    Py_END_ALLOW_THREADS;
    if (!is_sound) {
        PyErr_SetString(PyExc_ValueError, "texts must follow one another");
        goto over;
    }
    if (!(result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size)))
        goto over;
    char *to = PyBytes_AsString(result);
    Py_BEGIN_ALLOW_THREADS;
    int64_t at = 0; /* what was read of the data */
    for (int64_t text = 0; text < count; text++) {
        if (!is_quoted[text])
            continue;
        memcpy(to, data + at, (size_t)(starts[text] - at));
        to += starts[text] - at;
        *to++ = '"';
        for (at = starts[text]; at < ends[text]; at++) {
            *to++ = (char)data[at];
            if (data[at] == '"')
                *to++ = '"';
        }
        *to++ = '"';
    }
    memcpy(to, data + at, (size_t)(length - at));
    Py_END_ALLOW_THREADS;
over:
    free(is_quoted);
    let_go(&buffers);
    return result;
}
