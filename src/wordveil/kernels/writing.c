/* Finds which words are drawn once, and writes texts with the words that were drawn. */

#include "strings.h"
#include "texts.h"

#include <stdlib.h>

enum { SPACE = 16 };         /* of an edit, beside what is in texts.h: a space goes before its word */
enum { FORESEEN = 8 };       /* edits, whose words are fetched meanwhile */
enum { MOST_AT_ONCE = 32 }; /* bytes, which are copied without asking how many they are */

typedef struct {
    const int32_t *starts, *ends;
    int32_t *codes;
    uint8_t *flags;
    int64_t count;
} Edits;

/* The draws for the words of edits, in order: those of the vocabulary by their places among the draws. */
typedef struct {
    const int64_t *inside, *outside;
    const int32_t *places; /* or NULL where each has its own */
    int64_t inside_count, place_count, outside_count;
} Draws;

typedef struct {
    Strings plain, capital, beside;
    const uint8_t *alnum; /* of each word, plain and with a capital: whether it ends as words end */
} Words;

/* The string of an edit, whose code is that of what is drawn by now. */
static inline const Strings *strings_of(const Words *words, int32_t code, uint8_t flags)
{
    return code < 0 ? &words->beside : flags & AS_CAPITAL ? &words->capital : &words->plain;
}

/* Put in the place of each code the word that is drawn, and decide where a space goes; return how many bytes are written
   in all, or -1 where something does not fit together. An edit for which there is no draw stays none. */
static int64_t settle(const Edits *edits, const Draws *draws, const Words *words, int64_t length)
{
    int64_t size = length, before = 0, inside = 0, outside = 0;
    for (int64_t edit = 0; edit < edits->count; edit++) {
        int64_t code = edits->codes[edit];
        const uint8_t flags = edits->flags[edit];
        if (edits->starts[edit] < before || edits->ends[edit] <= edits->starts[edit])
            return -1;
        before = edits->ends[edit];
        if (code < 0 && -1 - code >= words->beside.count)
            return -1;
        if (code >= 0) {
            if (flags & OUTSIDE) {
                if (outside == draws->outside_count)
                    return -1;
                code = draws->outside[outside++];
            } else {
                int64_t place = inside++;
                if (draws->places) {
                    if (place == draws->place_count)
                        return -1;
                    place = draws->places[place];
                }
                if (place < 0 || place >= draws->inside_count)
                    return -1;
                code = draws->inside[place];
            }
            if (code < 0 || code >= words->plain.count)
                return -1;
            edits->codes[edit] = (int32_t)code;
        }
        if (flags & TOUCHES) {
            /* A word that touches the one before it, as this is written by now: words of the vocabulary come first,
               those for unknown words next, then all else, so that nothing but what is drawn is looked at. */
            int is_new = edit > 0 && edits->ends[edit - 1] == edits->starts[edit] && edits->codes[edit - 1] >= 0 &&
                         (flags & OUTSIDE || !(edits->flags[edit - 1] & OUTSIDE));
            int touches = is_new ? words->alnum[2 * edits->codes[edit - 1] + (edits->flags[edit - 1] & AS_CAPITAL)]
                                 : (flags & AFTER_ALNUM) != 0;
            edits->flags[edit] = (uint8_t)((flags & ~SPACE) | (touches ? SPACE : 0));
            size += touches;
        }
        const Strings *from = strings_of(words, (int32_t)code, flags);
        code = code < 0 ? -1 - code : code;
        size += from->starts[code + 1] - from->starts[code] - (edits->ends[edit] - edits->starts[edit]);
    }
    /* Every draw is for an edit, and every edit has one. */
    return before <= length && outside == draws->outside_count &&
                   inside == (draws->places ? draws->place_count : draws->inside_count)
               ? size
               : -1;
}

typedef struct {
    uint8_t *at, *end;
} Out;

/* Copy some bytes. What lies behind a few is written too, where there is room for it, and then written over. */
static inline void put(Out *out, const uint8_t *from, int64_t bytes, const uint8_t *from_end)
{
    if (bytes <= MOST_AT_ONCE && from_end - from >= MOST_AT_ONCE && out->end - out->at >= MOST_AT_ONCE)
        memcpy(out->at, from, MOST_AT_ONCE);
    else
        memcpy(out->at, from, (size_t)bytes);
    out->at += bytes;
}

/* Write all; return whether that is exactly as much as there is room for. */
static int write_all(const uint8_t *data, int64_t length, const Texts *texts, const Edits *edits, const Words *words,
                     uint8_t *to, int64_t size, int64_t *new_starts, int64_t *new_ends)
{
    const uint8_t *const data_end = data + length;
    const int64_t count = edits->count;
    Out out = {to, to + size};
    int64_t at = 0, text = 0, bound = 0; /* what was read of the data; bounds of texts that were passed, two for each */
    int64_t mark = texts->count ? texts->starts[0] : length + 1;
    for (int64_t edit = 0; edit <= count; edit++) {
        const int64_t until = edit < count ? edits->starts[edit] : length;
        while (mark <= until) {
            put(&out, data + at, mark - at, data_end);
            at = mark;
            if (bound)
                new_ends[text++] = out.at - to;
            else
                new_starts[text] = out.at - to;
            bound ^= 1;
            mark = text == texts->count ? length + 1 : bound ? texts->ends[text] : texts->starts[text];
        }
        put(&out, data + at, until - at, data_end);
        if (edit == count)
            break;
        at = edits->ends[edit];
        if (edit + FORESEEN < count) {
            const int32_t code = edits->codes[edit + FORESEEN];
            const Strings *from = strings_of(words, code, edits->flags[edit + FORESEEN]);
            __builtin_prefetch(from->bytes + from->starts[code < 0 ? -1 - code : code]);
        }
        const int32_t code = edits->codes[edit];
        const uint8_t flags = edits->flags[edit];
        const Strings *from = strings_of(words, code, flags);
        const int64_t *start = from->starts + (code < 0 ? -1 - code : code);
        if (flags & TOUCHES && flags & SPACE)
            *out.at++ = ' ';
        put(&out, from->bytes + start[0], start[1] - start[0], from->bytes + from->length);
    }
    return out.at == out.end && text == texts->count;
}

/* Write the texts with their edits: of each the word drawn for it, or, where its code is -1-n, the string n beside the
   vocabulary. Says where the texts stand then; what lies between texts stays. */
PyObject *write_texts(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *starts_of, *ends_of, *edits_of, *draws_of, *words_of, *bounds_of;
    PyObject *edit_starts, *edit_ends, *codes_of, *flags_of, *new_starts_of, *new_ends_of;
    PyObject *inside_of, *places_of, *outside_of, *plain_of, *capital_of, *alnum_of, *beside_of;
    long long length, count, edit_count, inside_count, place_count, outside_count;
    if (!PyArg_ParseTuple(args, "OLOOLOOOO", &data_of, &length, &starts_of, &ends_of, &count, &edits_of, &draws_of,
                          &words_of, &bounds_of) ||
        !PyArg_ParseTuple(edits_of, "OOOOL", &edit_starts, &edit_ends, &codes_of, &flags_of, &edit_count) ||
        !PyArg_ParseTuple(draws_of, "OLOLOL", &inside_of, &inside_count, &places_of, &place_count, &outside_of,
                          &outside_count) ||
        !PyArg_ParseTuple(words_of, "OOOO", &plain_of, &capital_of, &alnum_of, &beside_of) ||
        !PyArg_ParseTuple(bounds_of, "OO", &new_starts_of, &new_ends_of))
        return NULL;
    Buffers buffers = {.count = 0};
    Texts texts;
    Words words;
    Edits edits = {.count = edit_count};
    Draws draws = {.inside_count = inside_count, .place_count = place_count, .outside_count = outside_count};
    const uint8_t *data;
    int64_t *new_starts, *new_ends;
    PyObject *result = NULL;
    if (!(data = memory(&buffers, data_of, length, 1, 0)) ||
        !read_texts(&buffers, starts_of, ends_of, count, length, &texts) ||
        !(edits.starts = memory(&buffers, edit_starts, edit_count, 4, 0)) ||
        !(edits.ends = memory(&buffers, edit_ends, edit_count, 4, 0)) ||
        !(edits.codes = memory(&buffers, codes_of, edit_count, 4, 1)) ||
        !(edits.flags = memory(&buffers, flags_of, edit_count, 1, 1)) ||
        !(draws.inside = memory(&buffers, inside_of, inside_count, 8, 0)) ||
        (places_of != Py_None && !(draws.places = memory(&buffers, places_of, place_count, 4, 0))) ||
        !(draws.outside = memory(&buffers, outside_of, outside_count, 8, 0)) ||
        !read_strings(&buffers, plain_of, &words.plain) || !read_strings(&buffers, capital_of, &words.capital) ||
        !read_strings(&buffers, beside_of, &words.beside) ||
        !(words.alnum = memory(&buffers, alnum_of, product(2, words.plain.count), 1, 0)) ||
        !(new_starts = memory(&buffers, new_starts_of, count, 8, 1)) ||
        !(new_ends = memory(&buffers, new_ends_of, count, 8, 1)))
        goto over;
    int64_t size = -1;
    if (words.plain.count == words.capital.count) {
        Py_BEGIN_ALLOW_THREADS;
        size = settle(&edits, &draws, &words, length);
        Py_END_ALLOW_THREADS;
    }
    if (size < 0) {
        PyErr_SetString(PyExc_ValueError, "edits must follow one another, and each have a word that there is");
        goto over;
    }
    if (!(result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size)))
        goto over;
    uint8_t *to = (uint8_t *)PyBytes_AsString(result);
    int is_whole;
    Py_BEGIN_ALLOW_THREADS;
    is_whole = write_all(data, length, &texts, &edits, &words, to, size, new_starts, new_ends);
    Py_END_ALLOW_THREADS;
    if (!is_whole) { /* what is left in the memory is nobody's to see */
        Py_CLEAR(result);
        PyErr_SetString(PyExc_SystemError, "the texts and their edits do not add up");
    }
over:
    let_go(&buffers);
    return result;
}

/* For numbers below `width` of texts in groups that rise: which come first in their group, for each which of those it is,
   and how many of each text are first. Those of a text are from stops[text-1] to stops[text]. */
PyObject *first_uses(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *numbers_of, *stops_of, *groups_of, *first_of, *place_of, *fresh_of;
    long long count, text_count, width, uses = 0;
    if (!PyArg_ParseTuple(args, "OLOOLLOOO", &numbers_of, &count, &stops_of, &groups_of, &text_count, &width, &first_of,
                          &place_of, &fresh_of))
        return NULL;
    Buffers buffers = {.count = 0};
    const int64_t *numbers, *stops, *groups;
    int64_t *first, *fresh;
    int32_t *place;
    PyObject *result = NULL;
    int32_t *latest = width < 1 || width > INT32_MAX || count > INT32_MAX ? NULL : malloc(sizeof *latest * (size_t)width);
    if (!latest)
        PyErr_NoMemory();
    else if ((numbers = memory(&buffers, numbers_of, count, 8, 0)) && (stops = memory(&buffers, stops_of, text_count, 8, 0)) &&
             (groups = memory(&buffers, groups_of, text_count, 8, 0)) && (first = memory(&buffers, first_of, count, 8, 1)) &&
             (place = memory(&buffers, place_of, count, 4, 1)) && (fresh = memory(&buffers, fresh_of, text_count, 8, 1))) {
        int is_sound = 1;
        Py_BEGIN_ALLOW_THREADS;
        memset(latest, 0xFF, sizeof *latest * (size_t)width); /* -1: which of the first uses is the latest of a number */
        int64_t at = 0, begin = 0; /* the first use of the group */
        for (int64_t text = 0; text < text_count && is_sound; text++) {
            const int64_t before = uses;
            is_sound = stops[text] >= at && stops[text] <= count && (!text || groups[text - 1] <= groups[text]);
            if (!text || groups[text - 1] != groups[text])
                begin = uses;
            for (; is_sound && at < stops[text]; at++) {
                const int64_t number = numbers[at];
                if (number < 0 || number >= width) {
                    is_sound = 0;
                    break;
                }
                if (latest[number] < begin) {
                    first[uses] = at;
                    latest[number] = (int32_t)uses++;
                }
                place[at] = latest[number];
            }
            fresh[text] = uses - before;
        }
        is_sound &= at == count;
        Py_END_ALLOW_THREADS;
        if (is_sound)
            result = PyLong_FromLongLong(uses);
        else
            PyErr_SetString(PyExc_ValueError, "texts must follow one another, groups rise, and numbers be below the width");
    }
    free(latest);
    let_go(&buffers);
    return result;
}
