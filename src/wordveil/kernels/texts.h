/* What the files that read texts share: texts in UTF-8, and what their characters are. */

#ifndef WORDVEIL_TEXTS_H
#define WORDVEIL_TEXTS_H

#include "native.h"

enum { KINDS = 0x20000 };                                  /* characters known */
enum { SPELLS = 1, INSIDE = 2, APOSTROPHE = 4, HINT = 8 }; /* of a character */

/* The character at a place, and how many bytes it has: 0 if it is none. */
static inline uint32_t character(const uint8_t *at, int64_t left, int *bytes)
{
    uint32_t first = at[0];
    *bytes = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (*bytes <= 1)
        return first;
    if (*bytes > left) {
        *bytes = 0;
        return 0;
    }
    uint32_t found = first & (0x7Fu >> *bytes);
    for (int place = 1; place < *bytes; place++) {
        if ((at[place] & 0xC0) != 0x80) {
            *bytes = 0;
            return 0;
        }
        found = found << 6 | (at[place] & 0x3F);
    }
    return found;
}

typedef struct {
    const int64_t *starts, *ends;
    int64_t count;
} Texts;

static inline int read_texts(Buffers *buffers, PyObject *starts, PyObject *ends, int64_t count, int64_t length, Texts *texts)
{
    texts->count = count;
    if (!(texts->starts = memory(buffers, starts, count, 8, 0)) || !(texts->ends = memory(buffers, ends, count, 8, 0)))
        return 0;
    int64_t before = 0;
    for (int64_t text = 0; text < count; text++) {
        if (texts->starts[text] < before || texts->ends[text] < texts->starts[text] || texts->ends[text] > length) {
            PyErr_SetString(PyExc_ValueError, "texts must follow one another");
            return 0;
        }
        before = texts->ends[text];
    }
    return 1;
}

#endif
