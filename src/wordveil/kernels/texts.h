/* What the files that read texts share: texts in UTF-8, and what their characters are. */

#ifndef WORDVEIL_TEXTS_H
#define WORDVEIL_TEXTS_H

#include "native.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { KINDS = 0x20000 };                                  /* characters known */
enum { SPELLS = 1, INSIDE = 2, APOSTROPHE = 4, HINT = 8, UNKNOWN = 16 }; /* of a character */
enum { AS_CAPITAL = 1, TOUCHES = 2, AFTER_ALNUM = 4, OUTSIDE = 8 }; /* of an edit */
enum { WINDOW = 64 };                                      /* bytes that are looked at together */

static inline int is_letter_or_digit(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26 || (uint8_t)(byte - '0') < 10;
}

/* The bytes of a window at a place of some data: in other memory, with NUL behind the last, where these are the last. */
static inline const uint8_t *bytes_of(const uint8_t *data, int64_t at, int64_t length, uint8_t *last)
{
    if (length - at >= WINDOW)
        return data + at;
    memset(last, 0, WINDOW);
    memcpy(last, data + at, (size_t)(length - at));
    return last;
}

/* Of so many bytes, the first in the lowest bit: which are letters or digits of ASCII, which are apostrophes of it, and
   which are not of it. */
typedef struct {
    uint64_t letters, apostrophes, others;
} Window;

static inline Window window_of(const uint8_t *at)
{
    Window all = {0, 0, 0};
#ifdef __SSE2__
    const __m128i zero = _mm_setzero_si128();
    for (int place = 0; place < WINDOW; place += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(at + place));
        const __m128i letter = _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
        const __m128i digit = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        /* what is at most so large is left as nothing by a subtraction that stops there */
        const __m128i is_letter = _mm_cmpeq_epi8(_mm_subs_epu8(letter, _mm_set1_epi8(25)), zero);
        const __m128i is_digit = _mm_cmpeq_epi8(_mm_subs_epu8(digit, _mm_set1_epi8(9)), zero);
        const __m128i is_apostrophe = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\''));
        all.letters |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_or_si128(is_letter, is_digit)) << place;
        all.apostrophes |= (uint64_t)(uint32_t)_mm_movemask_epi8(is_apostrophe) << place;
        all.others |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << place;
    }
#else
    for (int place = 0; place < WINDOW; place++) {
        all.letters |= (uint64_t)is_letter_or_digit(at[place]) << place;
        all.apostrophes |= (uint64_t)(at[place] == '\'') << place;
        all.others |= (uint64_t)(at[place] >> 7) << place;
    }
#endif
    return all;
}

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
