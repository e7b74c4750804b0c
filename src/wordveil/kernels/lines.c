/* Lines of UTF-8: counted, and found. */

#include "texts.h"

/* How many bytes a character beyond ASCII has, as strictly as Python has it; 0 if it is none. */
static int64_t length_of(const uint8_t *at, int64_t left)
{
    const uint8_t first = at[0];
    const int64_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (!bytes || bytes > left)
        return 0;
    for (int64_t place = 1; place < bytes; place++)
        if ((at[place] & 0xC0) != 0x80)
            return 0;
    if (bytes == 2)
        return 2;
    /* one that needs fewer bytes, half of a pair of UTF-16, or beyond the last */
    const int is_odd = (first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F) ||
                       (first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F);
    return is_odd ? 0 : bytes;
}

/* Which of 64 bytes are line breaks, NUL, and not of ASCII. */
typedef struct {
    uint64_t breaks, nothing, others;
} Signs;

static inline Signs signs_of(const uint8_t *at)
{
    Signs all = {0, 0, 0};
#ifdef __SSE2__
    for (int place = 0; place < WINDOW; place += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(at + place));
        all.breaks |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'))) << place;
        all.nothing |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) << place;
        all.others |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << place;
    }
#else
    for (int place = 0; place < WINDOW; place++) {
        all.breaks |= (uint64_t)(at[place] == '\n') << place;
        all.nothing |= (uint64_t)!at[place] << place;
        all.others |= (uint64_t)(at[place] >> 7) << place;
    }
#endif
    return all;
}

/* Count line breaks; -1 where some data are no text: not UTF-8, or with a NUL. */
PyObject *count_lines(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of;
    long long length;
    if (!PyArg_ParseTuple(args, "OL", &data_of, &length))
        return NULL;
    Buffers buffers = {.count = 0};
    const uint8_t *data = memory(&buffers, data_of, length, 1, 0);
    int64_t breaks = 0;
    if (data) {
        Py_BEGIN_ALLOW_THREADS;
        uint8_t last[WINDOW];
        for (int64_t at = 0; at < length && breaks >= 0;) {
            const int64_t bytes = length - at < WINDOW ? length - at : WINDOW;
            const Signs signs = signs_of(bytes_of(data, at, length, last));
            const uint64_t within = bytes < WINDOW ? ((uint64_t)1 << bytes) - 1 : ~(uint64_t)0;
            /* up to the first character of several bytes, which is looked at by itself */
            const int64_t until = signs.others ? __builtin_ctzll(signs.others) : bytes;
            const uint64_t seen = until < WINDOW ? within & (((uint64_t)1 << until) - 1) : within;
            breaks += __builtin_popcountll(signs.breaks & seen);
            at += until;
            int64_t more = 0;
            if (signs.others && !(more = length_of(data + at, length - at)))
                breaks = -1;
            at += more;
            if (signs.nothing & seen)
                breaks = -1;
        }
        Py_END_ALLOW_THREADS;
    }
    let_go(&buffers);
    return data ? PyLong_FromLongLong((long long)breaks) : NULL;
}

/* Find where lines start, and where they end without what ends them; return how many there are. */
PyObject *find_lines(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *starts_of, *ends_of;
    long long length, room;
    if (!PyArg_ParseTuple(args, "OLOOL", &data_of, &length, &starts_of, &ends_of, &room))
        return NULL;
    Buffers buffers = {.count = 0};
    const uint8_t *data;
    int64_t *starts, *ends, count = 0, start = 0;
    PyObject *result = NULL;
    if ((data = memory(&buffers, data_of, length, 1, 0)) && (starts = memory(&buffers, starts_of, room, 8, 1)) &&
        (ends = memory(&buffers, ends_of, room, 8, 1))) {
        int is_room = 1;
        Py_BEGIN_ALLOW_THREADS;
        uint8_t last[WINDOW];
        for (int64_t at = 0; at < length && is_room; at += WINDOW)
            for (uint64_t left = signs_of(bytes_of(data, at, length, last)).breaks; left && is_room; left &= left - 1) {
                const int64_t end = at + __builtin_ctzll(left);
                if (!(is_room = count < room))
                    break;
                starts[count] = start;
                ends[count++] = end - (end > start && data[end - 1] == '\r');
                start = end + 1;
            }
        if (is_room && start < length && (is_room = count < room)) {
            starts[count] = start;
            ends[count++] = length;
        }
        Py_END_ALLOW_THREADS;
        if (is_room)
            result = PyLong_FromLongLong((long long)count);
        else
            PyErr_SetString(PyExc_ValueError, "there are more lines than room for them");
    }
    let_go(&buffers);
    return result;
}
