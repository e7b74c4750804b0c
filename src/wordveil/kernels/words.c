/* Cuts texts in UTF-8 into words, finds which are to be replaced, and writes them again with new ones.

   Nothing is decided here that Python does not decide: what a run of letters and what a gap between two runs is, comes
   from tables that wordveil/text/flow.py fills by asking the functions that cut texts in Python, once for each run and
   each gap that differs. What a table lacks is told to the caller, and a text with anything else is left to Python. */

#include "texts.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 64, PROBES = 64 }; /* bytes of a string, slots tried for it */

enum { EMPTY = 1, SENTENCE = 2, STARTS = 4, DOT = 8, BEFORE_IN = 16, BEFORE_OUT = 32, AFTER_IN = 64, AFTER_OUT = 128 };
enum { FUNCTION = 1, PLAIN = 2, CAPITAL = 4, SINGLE = 8, ALNUM = 16 };                    /* of a word */
enum { AS_CAPITAL = 1, TOUCHES = 2, AFTER_ALNUM = 4, OUTSIDE = 8, SPACE = 16 };           /* of an edit */
enum { IS_MARKUP = 1, ENDS_ALNUM = 2 };                                                   /* of a span */
enum { DONE = 0, STRANGE = 1, MISSES = 2 };                                               /* of a text */
enum { PART = 5 }; /* numbers of a part: bytes of its word and of the gap behind it, what it is, flags of both */

#define NUMBER INT32_MIN

typedef struct {
    const uint64_t *slots;
    uint64_t mask, seed;
    const int32_t *starts;
    const uint8_t *bytes;
    int32_t count;
    int64_t length; /* of the bytes */
} Table;

/* Up to eight bytes of a string as a number. `room` bytes may be read: then no loop, and no call, is needed. */
static inline uint64_t some_of(const uint8_t *at, int64_t length, int64_t room)
{
    uint64_t some = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (room >= 8) {
        memcpy(&some, at, 8);
        return length < 8 ? some & ~(~(uint64_t)0 << 8 * length) : some;
    }
#endif
    (void)room;
    memcpy(&some, at, length < 8 ? (size_t)length : 8);
    return some;
}

static inline uint64_t hashed(const uint8_t *at, int64_t length, int64_t room, uint64_t seed)
{
    uint64_t hash = seed ^ (uint64_t)length;
    for (; length > 0; at += 8, length -= 8, room -= 8) {
        hash = (hash ^ some_of(at, length, room)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    hash *= 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
}

static inline int are_equal(const uint8_t *one, int64_t room, const uint8_t *other, int64_t other_room, int64_t length)
{
    for (; length > 0; one += 8, other += 8, length -= 8, room -= 8, other_room -= 8)
        if (some_of(one, length, room) != some_of(other, length, other_room))
            return 0;
    return 1;
}

/* Where a string of this hash stands in a table; -1 if it does not. From its start so many bytes may be read. */
static inline int32_t found(const Table *table, const uint8_t *at, int64_t length, int64_t room, uint64_t hash)
{
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        /* Another thread may add strings meanwhile, which stand behind those that are counted here. */
        uint64_t slot = __atomic_load_n(table->slots + ((hash + probe) & table->mask), __ATOMIC_RELAXED);
        if (!slot)
            return -1;
        if (slot >> 32 != hash >> 32)
            continue;
        int64_t entry = (int64_t)(slot & UINT32_MAX) - 1;
        if (entry >= table->count)
            continue;
        int64_t start = table->starts[entry];
        if (table->starts[entry + 1] - start == length &&
            are_equal(table->bytes + start, table->length - start, at, room, length))
            return (int32_t)entry;
    }
    return -1;
}

/* starts rise from 0 on, none beyond `end` */
static int rising(const int32_t *starts, int64_t count, int64_t end)
{
    for (int64_t place = 0; place < count; place++)
        if (starts[place] < 0 || starts[place] > starts[place + 1])
            return 0;
    return starts[0] >= 0 && starts[count] <= end;
}

static int read_table(Buffers *buffers, PyObject *tuple, Table *table, int writable)
{
    PyObject *slots, *starts, *bytes;
    long long size, count, length;
    unsigned long long seed;
    if (!PyArg_ParseTuple(tuple, "OLKOLOL", &slots, &size, &seed, &starts, &count, &bytes, &length))
        return 0;
    if (size < 1 || size & (size - 1) || count < 0 || count >= INT32_MAX || length < 0 || length > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the sizes of a table are wrong");
        return 0;
    }
    *table = (Table){.mask = (uint64_t)size - 1, .seed = seed, .count = (int32_t)count, .length = length};
    if (!(table->slots = memory(buffers, slots, size, 8, writable)) ||
        !(table->starts = memory(buffers, starts, count + 1, 4, 0)) ||
        !(table->bytes = memory(buffers, bytes, length, 1, 0)))
        return 0;
    if (!rising(table->starts, count, length)) {
        PyErr_SetString(PyExc_ValueError, "the strings of a table do not follow one another");
        return 0;
    }
    return 1;
}

/* Put the strings from `begin` on into the table's slots; return how many found no slot. */
PyObject *index_strings(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *table_of;
    long long begin, lost = 0;
    if (!PyArg_ParseTuple(args, "OL", &table_of, &begin))
        return NULL;
    Buffers buffers = {.count = 0};
    Table table;
    int is_read = read_table(&buffers, table_of, &table, 1);
    if (is_read) {
        uint64_t *slots = (uint64_t *)(uintptr_t)table.slots; /* taken as writable */
        for (int64_t entry = begin < 0 ? 0 : begin; entry < table.count; entry++) {
            int64_t start = table.starts[entry];
            uint64_t probe = 0, hash = hashed(table.bytes + start, table.starts[entry + 1] - start, table.length - start,
                                              table.seed);
            while (probe < PROBES && slots[(hash + probe) & table.mask])
                probe++;
            if (probe < PROBES)
                __atomic_store_n(slots + ((hash + probe) & table.mask), (hash >> 32 << 32) | (uint64_t)(entry + 1),
                                 __ATOMIC_RELAXED);
            else
                lost++;
        }
    }
    let_go(&buffers);
    return is_read ? PyLong_FromLongLong(lost) : NULL;
}

typedef struct {
    const uint8_t *data, *classes;
    int64_t length; /* of the data */
    Texts texts;
    const int64_t *span_starts, *span_ends, *span_ranges; /* the spans of text t: from span_ranges[t] to [t+1] */
    const uint8_t *span_flags;
    int64_t spans;
    Table words, gaps;
    const int32_t *first_parts, *parts, *gap_flags;
    int64_t part_count;
    int by_position; /* whether a capital goes where a sentence begins */
    int32_t empty, space;
    int32_t *starts, *ends, *codes; /* of the edits */
    uint8_t *flags;
    int64_t room, edits;
    int32_t *misses; /* three numbers each: whether it is a word, where it starts and ends */
    int64_t miss_room, miss_count;
} Cutter;

enum { AT_ONCE = 16 };

/* A run of letters: where it begins and ends, and the hash by which it is looked up. */
typedef struct {
    int64_t start, stop;
    uint64_t hash;
} Run;

/* A word whose fate hangs on the gap behind it. */
typedef struct {
    int64_t start, end, place;
    int32_t code, flags, before;
    int is_first, after_alnum, waits;
} Word;

static int add_edit(Cutter *cutter, int64_t start, int64_t end, int32_t code, int flags)
{
    if (cutter->edits == cutter->room)
        return STRANGE;
    int64_t edit = cutter->edits++;
    cutter->starts[edit] = (int32_t)start;
    cutter->ends[edit] = (int32_t)end;
    cutter->codes[edit] = code;
    cutter->flags[edit] = (uint8_t)flags;
    return DONE;
}

/* As forms.py: whether a word is spelt and written as a function word is, and so left alone. */
static int is_left_alone(const Word *word, int32_t after, int is_last)
{
    return word->flags & FUNCTION && !(word->flags & SINGLE && after & DOT) &&
           (word->flags & PLAIN || (word->flags & CAPITAL && (word->is_first || word->before & STARTS))) &&
           !(word->before & (word->is_first ? BEFORE_OUT : BEFORE_IN)) && !(after & (is_last ? AFTER_OUT : AFTER_IN));
}

static int decide(Cutter *cutter, Word *word, int32_t after, int is_last, int32_t *counts)
{
    if (!word->waits)
        return DONE;
    word->waits = 0;
    if (is_left_alone(word, after, is_last))
        return DONE;
    if (word->code == NUMBER)
        return STRANGE;
    counts[word->code < 0 ? 2 : 1]++;
    int flags = word->code < 0 ? OUTSIDE : 0;
    if (cutter->by_position && (word->place == 0 || word->before & SENTENCE))
        flags |= AS_CAPITAL;
    else if (word->before & EMPTY && word->place > 0)
        flags |= TOUCHES | (word->after_alnum ? AFTER_ALNUM : 0);
    return add_edit(cutter, word->start, word->end, word->code, flags);
}

static int miss(Cutter *cutter, int is_word, int64_t start, int64_t end)
{
    if (end - start > LONGEST)
        return STRANGE;
    if (cutter->miss_count < cutter->miss_room) {
        int32_t *one = cutter->misses + 3 * cutter->miss_count++;
        one[0] = is_word;
        one[1] = (int32_t)start;
        one[2] = (int32_t)end;
    }
    return MISSES;
}

static int gap_between(Cutter *cutter, int64_t start, int64_t end, int32_t *flags)
{
    *flags = 0;
    if (start == end)
        *flags = cutter->empty;
    else if (end - start == 1 && cutter->data[start] == ' ')
        *flags = cutter->space;
    else {
        const uint8_t *gap = cutter->data + start;
        int64_t length = end - start, room = cutter->length - start;
        int32_t entry = -1;
        if (length <= LONGEST)
            entry = found(&cutter->gaps, gap, length, room, hashed(gap, length, room, cutter->gaps.seed));
        if (entry < 0)
            return miss(cutter, 0, start, end);
        *flags = cutter->gap_flags[entry];
    }
    return DONE;
}

static inline int is_plain(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

/* Where letters of English end. */
static inline int64_t plain_end(const uint8_t *data, int64_t at, int64_t end)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t ones = 0x0101010101010101u, highs = 0x80 * ones;
    for (; at + 8 <= end; at += 8) { /* eight at once: the high bit of each byte says whether it is no letter */
        uint64_t some, low;
        memcpy(&some, data + at, 8);
        low = (some | 0x20 * ones) & ~highs;
        uint64_t others = (~(low + (0x80 - 'a') * ones) | (low + (0x7F - 'z') * ones) | some) & highs;
        if (others)
            return at + (__builtin_ctzll(others) >> 3);
    }
#endif
    while (at < end && is_plain(data[at]))
        at++;
    return at;
}

/* Where the next run of letters begins and ends; both at `end` if there is none. 0 for a character not known here. */
static int next_run(const Cutter *cutter, int64_t *start, int64_t *stop, int64_t end)
{
    const uint8_t *data = cutter->data, *classes = cutter->classes;
    int64_t at = *start;
    int in_run = 0, bytes;
    while (at < end && data[at] < 0x80 && !(classes[data[at]] & SPELLS))
        at++;
    if (at < end && is_plain(data[at])) { /* most words have no other letters */
        in_run = 1;
        *start = at;
        at = plain_end(data, at, end);
        if (at == end || (data[at] < 0x80 && !(classes[data[at]] & (INSIDE | APOSTROPHE)))) {
            *stop = at;
            return 1;
        }
    }
    while (at < end) {
        uint32_t one = data[at] < 0x80 ? (bytes = 1, data[at]) : character(data + at, end - at, &bytes);
        if (!bytes || one >= KINDS)
            return 0;
        uint8_t class = classes[one];
        if (!in_run) {
            if (class & SPELLS) {
                in_run = 1;
                *start = at;
            }
        } else if (!(class & INSIDE)) {
            if (!(class & APOSTROPHE) || at + bytes >= end)
                break;
            int next;
            uint32_t other = character(data + at + bytes, end - at - bytes, &next);
            if (!next || other >= KINDS)
                return 0;
            if (!(classes[other] & SPELLS))
                break;
        }
        at += bytes;
    }
    if (!in_run)
        *start = at;
    *stop = at;
    return 1;
}

/* Find the next runs before a limit, the limit itself as the last, and fetch the slots at which they will be looked up;
   return how many, 0 for a character not known here. */
static int next_runs(const Cutter *cutter, int64_t at, int64_t limit, Run *runs)
{
    for (int count = 0; count < AT_ONCE; count++) {
        Run *run = runs + count;
        run->start = at;
        if (!next_run(cutter, &run->start, &run->stop, limit))
            return 0;
        if (run->start == limit)
            return count + 1;
        at = run->stop;
        if (run->stop - run->start > LONGEST)
            continue;
        run->hash = hashed(cutter->data + run->start, at - run->start, cutter->length - run->start, cutter->words.seed);
        __builtin_prefetch(cutter->words.slots + (run->hash & cutter->words.mask));
    }
    return AT_ONCE;
}

static int cut_one(Cutter *cutter, int64_t text, int32_t *counts)
{
    int64_t at = cutter->texts.starts[text], end = cutter->texts.ends[text], place = 0;
    int64_t span = cutter->span_ranges[text], last_span = cutter->span_ranges[text + 1];
    int after_markup = 0, after_alnum = 0, state = DONE, run = 0, run_count = 0;
    Word word = {.waits = 0};
    Run runs[AT_ONCE];
    while (!(state & STRANGE)) {
        int64_t limit = span < last_span ? cutter->span_starts[span] : end, start, stop;
        if (limit < at || limit > end)
            return STRANGE;
        if (run == run_count) {
            run = 0;
            run_count = next_runs(cutter, at, limit, runs);
            if (!run_count)
                return STRANGE;
        }
        const uint64_t hash = runs[run].hash;
        int32_t gap;
        start = runs[run].start;
        stop = runs[run++].stop;
        state |= gap_between(cutter, at, start, &gap);
        int is_over = start == limit && span == last_span;
        state |= decide(cutter, &word, gap, is_over, counts);
        if (is_over || state & STRANGE)
            break;
        if (start == limit) { /* a span is one word */
            if (cutter->span_ends[span] <= limit || cutter->span_ends[span] > end)
                return STRANGE;
            state |= add_edit(cutter, limit, cutter->span_ends[span], -1 - (int32_t)span, 0);
            after_markup = (cutter->span_flags[span] & IS_MARKUP) != 0;
            after_alnum = (cutter->span_flags[span] & ENDS_ALNUM) != 0;
            at = cutter->span_ends[span++];
            place++;
            continue;
        }
        int32_t entry = -1;
        if (stop - start <= LONGEST)
            entry = found(&cutter->words, cutter->data + start, stop - start, cutter->length - start, hash);
        at = stop;
        if (entry < 0) {
            state |= miss(cutter, 1, start, stop);
            place++;
            continue;
        }
        for (int32_t part = cutter->first_parts[entry]; part < cutter->first_parts[entry + 1]; part++) {
            const int32_t *one = cutter->parts + (int64_t)PART * part;
            if (one[0] < 0 || one[1] < 0 || start + one[0] + one[1] > stop)
                return STRANGE;
            word = (Word){start, start + one[0], place, one[2], one[3], gap, !place || after_markup, after_alnum, 1};
            after_markup = 0;
            after_alnum = (one[3] & ALNUM) != 0;
            counts[0]++;
            place++;
            start += one[0] + one[1];
            if (part + 1 < cutter->first_parts[entry + 1]) {
                gap = one[4];
                state |= decide(cutter, &word, gap, 0, counts);
            }
        }
    }
    return state & STRANGE ? STRANGE : state;
}

/* Cut the texts from `begin` on, until there is no room for more that is missing; return how many were looked at, and
   how many edits and misses there are now. */
PyObject *cut_texts(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *starts_of, *ends_of, *classes_of, *spans_of, *words_of, *gaps_of, *edits_of, *out_of;
    PyObject *span_starts, *span_ends, *span_flags, *span_ranges, *table, *first_parts, *parts, *gap_flags;
    PyObject *edit_starts, *edit_ends, *codes, *flags, *states_of, *counts_of, *stops_of, *misses_of;
    long long length, count, begin, spans, part_count, room, edits, miss_room;
    Cutter cutter = {.miss_count = 0};
    if (!PyArg_ParseTuple(args, "OLOOLLOOOOiiiOO", &data_of, &length, &starts_of, &ends_of, &count, &begin, &classes_of,
                          &spans_of, &words_of, &gaps_of, &cutter.by_position, &cutter.empty, &cutter.space, &edits_of,
                          &out_of) ||
        !PyArg_ParseTuple(spans_of, "OOOOL", &span_starts, &span_ends, &span_flags, &span_ranges, &spans) ||
        !PyArg_ParseTuple(edits_of, "OOOOLL", &edit_starts, &edit_ends, &codes, &flags, &room, &edits) ||
        !PyArg_ParseTuple(out_of, "OOOOL", &states_of, &counts_of, &stops_of, &misses_of, &miss_room))
        return NULL;
    if (length < 0 || length >= INT32_MAX || begin < 0 || begin > count || edits < 0 || edits > room || spans < 0 ||
        spans >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "there is too much at once, or no such text");
        return NULL;
    }
    Buffers buffers = {.count = 0};
    uint8_t *states;
    int32_t *counts;
    int64_t *stops;
    PyObject *result = NULL;
    cutter.length = length;
    cutter.spans = spans;
    cutter.room = room;
    cutter.edits = edits;
    cutter.miss_room = miss_room;
    if (!(cutter.data = memory(&buffers, data_of, length, 1, 0)) ||
        !read_texts(&buffers, starts_of, ends_of, count, length, &cutter.texts) ||
        !(cutter.classes = memory(&buffers, classes_of, KINDS, 1, 0)) ||
        !(cutter.span_starts = memory(&buffers, span_starts, spans, 8, 0)) ||
        !(cutter.span_ends = memory(&buffers, span_ends, spans, 8, 0)) ||
        !(cutter.span_flags = memory(&buffers, span_flags, spans, 1, 0)) ||
        !(cutter.span_ranges = memory(&buffers, span_ranges, count + 1, 8, 0)) ||
        !(cutter.starts = memory(&buffers, edit_starts, room, 4, 1)) ||
        !(cutter.ends = memory(&buffers, edit_ends, room, 4, 1)) || !(cutter.codes = memory(&buffers, codes, room, 4, 1)) ||
        !(cutter.flags = memory(&buffers, flags, room, 1, 1)) || !(states = memory(&buffers, states_of, count, 1, 1)) ||
        !(counts = memory(&buffers, counts_of, product(count, 3), 4, 1)) ||
        !(stops = memory(&buffers, stops_of, count, 8, 1)) ||
        !(cutter.misses = memory(&buffers, misses_of, product(miss_room, 3), 4, 1)))
        goto over;
    if (!PyArg_ParseTuple(words_of, "OOOL", &table, &first_parts, &parts, &part_count) ||
        !read_table(&buffers, table, &cutter.words, 0) ||
        !(cutter.first_parts = memory(&buffers, first_parts, cutter.words.count + 1, 4, 0)) ||
        !(cutter.parts = memory(&buffers, parts, product(part_count, PART), 4, 0)) ||
        !PyArg_ParseTuple(gaps_of, "OO", &table, &gap_flags) || !read_table(&buffers, table, &cutter.gaps, 0) ||
        !(cutter.gap_flags = memory(&buffers, gap_flags, cutter.gaps.count, 4, 0)))
        goto over;
    int is_sound = rising(cutter.first_parts, cutter.words.count, part_count) && cutter.span_ranges[0] == 0 &&
                   cutter.span_ranges[count] == spans;
    for (int64_t text = 0; text < count; text++)
        is_sound &= cutter.span_ranges[text] <= cutter.span_ranges[text + 1];
    if (!is_sound) {
        PyErr_SetString(PyExc_ValueError, "the parts of words or the spans of texts do not follow one another");
        goto over;
    }
    int64_t text = begin;
    Py_BEGIN_ALLOW_THREADS;
    for (; text < count && cutter.miss_count < miss_room; text++) {
        int64_t before = cutter.edits;
        if (states[text] != STRANGE) {
            memset(counts + 3 * text, 0, 3 * sizeof *counts);
            states[text] = (uint8_t)cut_one(&cutter, text, counts + 3 * text);
        }
        if (states[text] != DONE)
            cutter.edits = before;
        stops[text] = cutter.edits;
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("LLL", (long long)text, (long long)cutter.edits, (long long)cutter.miss_count);
over:
    let_go(&buffers);
    return result;
}

typedef struct {
    const int64_t *starts; /* one more than there are strings */
    const uint8_t *bytes;
    int64_t count;
} Strings;

static int read_strings(Buffers *buffers, PyObject *tuple, Strings *strings)
{
    PyObject *starts, *bytes;
    long long count, length;
    if (!PyArg_ParseTuple(tuple, "OLOL", &starts, &count, &bytes, &length))
        return 0;
    strings->count = count;
    if (count < 0 || !(strings->starts = memory(buffers, starts, count + 1, 8, 0)) ||
        !(strings->bytes = memory(buffers, bytes, length, 1, 0)))
        return 0;
    int is_sound = strings->starts[0] >= 0 && strings->starts[count] <= length;
    for (int64_t place = 0; place < count; place++)
        is_sound &= strings->starts[place] <= strings->starts[place + 1];
    if (!is_sound)
        PyErr_SetString(PyExc_ValueError, "strings must follow one another");
    return is_sound;
}

/* Write the texts with their edits: of each the number of a word, or -1-n for the string n beside the vocabulary. Says
   where the texts stand then; what lies between texts stays. */
PyObject *write_texts(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *starts_of, *ends_of, *edits_of, *plain_of, *capital_of, *alnum_of, *beside_of, *bounds_of;
    PyObject *edit_starts, *edit_ends, *codes_of, *flags_of, *new_starts_of, *new_ends_of;
    long long length, count, edits;
    if (!PyArg_ParseTuple(args, "OLOOLOOOOOO", &data_of, &length, &starts_of, &ends_of, &count, &edits_of, &plain_of,
                          &capital_of, &alnum_of, &beside_of, &bounds_of) ||
        !PyArg_ParseTuple(edits_of, "OOOOL", &edit_starts, &edit_ends, &codes_of, &flags_of, &edits) ||
        !PyArg_ParseTuple(bounds_of, "OO", &new_starts_of, &new_ends_of))
        return NULL;
    Buffers buffers = {.count = 0};
    Texts texts;
    Strings plain, capital, beside;
    const uint8_t *data, *alnum;
    const int32_t *starts, *ends, *codes;
    uint8_t *flags;
    int64_t *new_starts, *new_ends;
    PyObject *result = NULL;
    if (!(data = memory(&buffers, data_of, length, 1, 0)) ||
        !read_texts(&buffers, starts_of, ends_of, count, length, &texts) ||
        !(starts = memory(&buffers, edit_starts, edits, 4, 0)) || !(ends = memory(&buffers, edit_ends, edits, 4, 0)) ||
        !(codes = memory(&buffers, codes_of, edits, 4, 0)) || !(flags = memory(&buffers, flags_of, edits, 1, 1)) ||
        !read_strings(&buffers, plain_of, &plain) || !read_strings(&buffers, capital_of, &capital) ||
        !read_strings(&buffers, beside_of, &beside) || !(alnum = memory(&buffers, alnum_of, 2 * plain.count, 1, 0)) ||
        !(new_starts = memory(&buffers, new_starts_of, count, 8, 1)) ||
        !(new_ends = memory(&buffers, new_ends_of, count, 8, 1)))
        goto over;
    int64_t size = length, before = 0;
    int is_sound = plain.count == capital.count;
    for (int64_t edit = 0; edit < edits && is_sound; edit++) {
        int64_t code = codes[edit];
        is_sound = before <= starts[edit] && starts[edit] < ends[edit] && ends[edit] <= length &&
                   (code < 0 ? -1 - code < beside.count : code < plain.count);
        if (!is_sound)
            break;
        if (flags[edit] & TOUCHES) {
            /* A word that touches the one before it, as this is written by now: words of the vocabulary come first,
               those for unknown words next, then all else, so that nothing but what is drawn is looked at. */
            int is_new = edit > 0 && ends[edit - 1] == starts[edit] && codes[edit - 1] >= 0 &&
                         (flags[edit] & OUTSIDE || !(flags[edit - 1] & OUTSIDE));
            int touches = is_new ? alnum[2 * codes[edit - 1] + (flags[edit - 1] & AS_CAPITAL)]
                                 : (flags[edit] & AFTER_ALNUM) != 0;
            flags[edit] = (uint8_t)((flags[edit] & ~SPACE) | (touches ? SPACE : 0));
            size += touches;
        }
        const Strings *from = code < 0 ? &beside : flags[edit] & AS_CAPITAL ? &capital : &plain;
        code = code < 0 ? -1 - code : code;
        size += from->starts[code + 1] - from->starts[code] - (ends[edit] - starts[edit]);
        before = ends[edit];
    }
    if (!is_sound) {
        PyErr_SetString(PyExc_ValueError, "edits must follow one another, with words that there are");
        goto over;
    }
    result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (!result)
        goto over;
    char *out = PyBytes_AsString(result);
    Py_BEGIN_ALLOW_THREADS;
    int64_t at = 0, text = 0, bound = 0; /* what was read of the data; bounds of texts that were passed, two for each */
    char *to = out;
    for (int64_t edit = 0; edit <= edits; edit++) {
        int64_t until = edit < edits ? starts[edit] : length;
        for (; text < count; bound ^= 1) {
            int64_t mark = bound ? texts.ends[text] : texts.starts[text];
            if (mark > until)
                break;
            memcpy(to, data + at, (size_t)(mark - at));
            to += mark - at;
            at = mark;
            if (bound)
                new_ends[text++] = to - out;
            else
                new_starts[text] = to - out;
        }
        memcpy(to, data + at, (size_t)(until - at));
        to += until - at;
        at = until;
        if (edit == edits)
            break;
        int64_t code = codes[edit] < 0 ? -1 - (int64_t)codes[edit] : codes[edit];
        const Strings *from = codes[edit] < 0 ? &beside : flags[edit] & AS_CAPITAL ? &capital : &plain;
        if (flags[edit] & TOUCHES && flags[edit] & SPACE)
            *to++ = ' ';
        size_t bytes = (size_t)(from->starts[code + 1] - from->starts[code]);
        memcpy(to, from->bytes + from->starts[code], bytes);
        to += bytes;
        at = ends[edit];
    }
    Py_END_ALLOW_THREADS;
over:
    let_go(&buffers);
    return result;
}

/* For numbers below `width`, in groups that rise: which come first in their group, and for each which of those it is. */
PyObject *first_uses(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *groups_of, *numbers_of, *first_of, *place_of;
    long long count, width, uses = 0;
    if (!PyArg_ParseTuple(args, "OOLLOO", &groups_of, &numbers_of, &count, &width, &first_of, &place_of))
        return NULL;
    Buffers buffers = {.count = 0};
    const int64_t *groups, *numbers;
    int64_t *first, *place;
    PyObject *result = NULL;
    int64_t *latest = width < 1 || width > INT32_MAX ? NULL : malloc(sizeof *latest * (size_t)width);
    if (!latest)
        PyErr_NoMemory();
    else if ((groups = memory(&buffers, groups_of, count, 8, 0)) &&
             (numbers = memory(&buffers, numbers_of, count, 8, 0)) &&
             (first = memory(&buffers, first_of, count, 8, 1)) && (place = memory(&buffers, place_of, count, 8, 1))) {
        int is_sound = 1;
        Py_BEGIN_ALLOW_THREADS;
        for (int64_t number = 0; number < width; number++)
            latest[number] = -1; /* the latest of the first uses that is one of this number */
        for (int64_t at = 0; at < count && is_sound; at++) {
            int64_t number = numbers[at];
            is_sound = number >= 0 && number < width && (!at || groups[at - 1] <= groups[at]);
            if (!is_sound)
                break;
            if (latest[number] < 0 || groups[first[latest[number]]] != groups[at]) {
                first[uses] = at;
                latest[number] = uses++;
            }
            place[at] = latest[number];
        }
        Py_END_ALLOW_THREADS;
        if (is_sound)
            result = PyLong_FromLongLong(uses);
        else
            PyErr_SetString(PyExc_ValueError, "groups must rise, and numbers be below the width");
    }
    free(latest);
    let_go(&buffers);
    return result;
}
