/* Cuts texts in UTF-8 into words, and finds which are to be replaced.

   Nothing is decided here that Python does not decide: what a run of letters and what a gap between two runs is, comes
   from tables that wordveil/text/flow.py fills by asking the functions that cut texts in Python, once for each run and
   each gap that differs. What a table lacks is told to the caller, and a text with anything else is left to Python. */

#include "strings.h"
#include "texts.h"

#include <stdlib.h>

enum { EMPTY = 1, SENTENCE = 2, STARTS = 4, DOT = 8, BEFORE_IN = 16, BEFORE_OUT = 32, AFTER_IN = 64, AFTER_OUT = 128 };
enum { FUNCTION = 1, PLAIN = 2, CAPITAL = 4, SINGLE = 8, ALNUM = 16 }; /* of a word */
enum { IS_MARKUP = 1, ENDS_ALNUM = 2 };                                /* of a span */
enum { DONE = 0, STRANGE = 1, MISSES = 2 };                            /* of a text */
enum { SEEN = 1 << 14 }; /* hashes of what is missing */
enum { PART = 5 }; /* numbers of a part: bytes of its word and of the gap behind it, what it is, flags of both */

#define NUMBER INT32_MIN

/* What is to be replaced: a span (-1 less its number), or (0) the next of the words of the vocabulary, or of those outside
   it, which stand by themselves. */
typedef struct {
    int32_t *starts, *ends, *codes;
    uint8_t *flags;
    int64_t *inside, *outside;
    int64_t room, count, inside_count, outside_count;
} Edits;

typedef struct {
    const uint8_t *data, *classes;
    int64_t length; /* of the data */
    Texts texts;
    const int64_t *span_starts, *span_ends, *span_ranges; /* the spans of text t: from span_ranges[t] to [t+1] */
    const uint8_t *span_flags;
    int64_t spans;
    Table words, gaps;
    ShortTable short_words;
    const int32_t *first_parts, *parts, *gap_flags;
    int64_t part_count;
    int by_position; /* whether a capital goes where a sentence begins */
    int32_t empty, space;
    Edits edits;
    int32_t *misses; /* three numbers each: whether it is a word, where it starts and ends */
    int64_t miss_room, miss_count;
    uint64_t *seen; /* hashes of what is missing already, each at its place, so that it is told once, or seldom more */
} Cutter;

enum { FEWEST = 24, AT_ONCE = FEWEST + WINDOW / 2 + 1 }; /* runs that are found together */

/* A run of letters: where it begins and ends, and, if it is short, the string and where that is looked up first. */
typedef struct {
    int64_t start, stop;
    Short string;
    const uint64_t *slot;
} Run;

/* A word whose fate hangs on the gap behind it. */
typedef struct {
    int64_t start, end;
    int32_t code, form, before;
    int is_first, flags, waits;
} Word;

/* A text that is being cut. */
typedef struct {
    Edits edits;
    Word word;
    int64_t place;
    int32_t words;
    int after_markup, after_alnum;
} Cutting;

static int add_span(Edits *edits, int64_t start, int64_t end, int64_t span)
{
    if (edits->count == edits->room)
        return STRANGE;
    int64_t edit = edits->count++;
    edits->starts[edit] = (int32_t)start;
    edits->ends[edit] = (int32_t)end;
    edits->codes[edit] = -1 - (int32_t)span;
    edits->flags[edit] = 0;
    return DONE;
}

/* As forms.py: whether a word is spelt and written as a function word is, and so left alone. Without a branch: in prose
   nothing tells function words from others beforehand. */
static inline int is_left_alone(const Word *word, int32_t after, int is_last)
{
    const int32_t form = word->form, before = word->before;
    const int32_t joined = (before & (word->is_first ? BEFORE_OUT : BEFORE_IN)) | (after & (is_last ? AFTER_OUT : AFTER_IN));
    const int is_initial = ((form & SINGLE) != 0) & ((after & DOT) != 0);
    const int is_written = ((form & PLAIN) != 0) | (((form & CAPITAL) != 0) & (word->is_first | ((before & STARTS) != 0)));
    return ((form & FUNCTION) != 0) & !is_initial & is_written & !joined;
}

/* Decide what becomes of the word before a gap. The place for its edit is written to either way. */
static inline int decide(Cutting *now, int32_t after, int is_last)
{
    const Word *word = &now->word;
    Edits *edits = &now->edits;
    if (!word->waits)
        return DONE;
    now->word.waits = 0;
    if (edits->count == edits->room)
        return STRANGE;
    const int is_drawn = !is_left_alone(word, after, is_last), is_outside = word->code < 0;
    const int64_t edit = edits->count;
    edits->starts[edit] = (int32_t)word->start;
    edits->ends[edit] = (int32_t)word->end;
    edits->codes[edit] = 0;
    edits->flags[edit] = (uint8_t)(word->flags | (is_outside ? OUTSIDE : 0));
    edits->inside[edits->inside_count] = word->code;
    edits->outside[edits->outside_count] = -1 - (int64_t)word->code;
    edits->count += is_drawn;
    edits->inside_count += is_drawn & !is_outside;
    edits->outside_count += is_drawn & is_outside;
    return is_drawn && word->code == NUMBER ? STRANGE : DONE;
}

static int miss(Cutter *cutter, int is_word, int64_t start, int64_t end, uint64_t hash)
{
    if (end - start > LONGEST)
        return STRANGE;
    uint64_t *seen = cutter->seen + hash % SEEN;
    if (cutter->miss_count < cutter->miss_room && *seen != (hash | 1)) {
        *seen = hash | 1; /* never the 0 of a place that is free */
        int32_t *one = cutter->misses + 3 * cutter->miss_count++;
        one[0] = is_word;
        one[1] = (int32_t)start;
        one[2] = (int32_t)end;
    }
    return MISSES;
}

static int other_gap(Cutter *cutter, int64_t start, int64_t end, int32_t *flags)
{
    const uint8_t *gap = cutter->data + start;
    const int64_t length = end - start, room = cutter->length - start;
    int32_t entry = -1;
    uint64_t hash = 0;
    *flags = 0;
    if (length <= LONGEST)
        entry = found(&cutter->gaps, gap, length, room, hash = hashed(gap, length, room, cutter->gaps.seed));
    if (entry < 0)
        return miss(cutter, 0, start, end, hash);
    *flags = cutter->gap_flags[entry];
    return DONE;
}

static inline int gap_between(Cutter *cutter, int64_t start, int64_t end, int32_t *flags)
{
    if (end - start == 1 && cutter->data[start] == ' ')
        *flags = cutter->space;
    else if (start == end)
        *flags = cutter->empty;
    else
        return other_gap(cutter, start, end, flags);
    return DONE;
}

/* Go on with a word, whose fate is decided when the gap behind it is known. */
static inline void begin_word(const Cutter *cutter, Cutting *now, int64_t start, int64_t end, int32_t code, int32_t form,
                              int32_t before)
{
    int flags = 0;
    if (cutter->by_position && (now->place == 0 || before & SENTENCE))
        flags = AS_CAPITAL;
    else if (before & EMPTY && now->place > 0)
        flags = TOUCHES | (now->after_alnum ? AFTER_ALNUM : 0);
    now->word = (Word){start, end, code, form, before, !now->place || now->after_markup, flags, 1};
    now->after_markup = 0;
    now->after_alnum = (form & ALNUM) != 0;
    now->words++;
    now->place++;
}

/* Where the next run of letters begins and ends; both at `end` if there is none. 0 for a character not known here. */
static int next_run(const Cutter *cutter, int64_t *start, int64_t *stop, int64_t end)
{
    const uint8_t *data = cutter->data, *classes = cutter->classes;
    int64_t at = *start;
    int in_run = 0, bytes;
    while (at < end && data[at] < 0x80 && !(classes[data[at]] & SPELLS))
        at++;
    while (at < end) {
        uint32_t one = data[at] < 0x80 ? (bytes = 1, data[at]) : character(data + at, end - at, &bytes);
        if (!bytes || one >= KINDS)
            return 0;
        uint8_t class = classes[one];
        if (class & UNKNOWN)
            return 0;
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
            if (!next || other >= KINDS || classes[other] & UNKNOWN)
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

static inline void add_run(const Cutter *cutter, Run *run, int64_t start, int64_t stop)
{
    run->start = start;
    run->stop = stop;
    run->slot = NULL;
    if (stop - start > SHORT || stop == start)
        return;
    run->string = short_of(cutter->data + start, stop - start, cutter->length - start);
    run->slot = short_slot(&cutter->short_words, run->string);
    __builtin_prefetch(run->slot);
}

/* Find the next runs before a limit of which nothing has to be asked but where letters and digits of ASCII begin and end:
   those that end in a window, before anything that is not of ASCII and any apostrophe that may belong to a word. Return
   how many, and say whether the limit is reached, or else whether the next run has to be looked at more slowly. */
static inline int plain_runs(const Cutter *cutter, int64_t at, int64_t limit, Run *runs, int *is_over, int *is_odd)
{
    const int64_t left = limit - at;
    uint8_t last[WINDOW];
    int count = 0;
    Window window = window_of(bytes_of(cutter->data, at, cutter->length, last));
    const uint64_t within = left < WINDOW ? ((uint64_t)1 << left) - 1 : ~(uint64_t)0;
    window.letters &= within;
    const uint64_t after = window.letters << 1, odd = (window.others | (window.apostrophes & after)) & within;
    uint64_t starts = window.letters & ~after, stops = after & ~window.letters;
    const int64_t end = odd ? __builtin_ctzll(odd) : WINDOW;
    while (stops) {
        const int64_t start = __builtin_ctzll(starts), stop = __builtin_ctzll(stops);
        if (stop >= end)
            break;
        add_run(cutter, runs + count++, at + start, at + stop);
        starts &= starts - 1;
        stops &= stops - 1;
    }
    *is_over = !odd && left < WINDOW; /* then all that begin also end */
    *is_odd = odd || !count;
    return count;
}

/* Find some of the next runs before a limit, the limit itself as the last, and fetch the slots at which they will be
   looked up; return how many, 0 for a character not known here. */
static int next_runs(const Cutter *cutter, int64_t at, int64_t limit, Run *runs)
{
    int count = 0, is_over = 0;
    while (count < FEWEST && !is_over) {
        int is_odd;
        int64_t start = at, stop;
        const int found = plain_runs(cutter, at, limit, runs + count, &is_over, &is_odd);
        count += found;
        start = at = count ? runs[count - 1].stop : at;
        if (is_over)
            start = stop = limit;
        else if (!is_odd)
            continue;
        else if (!next_run(cutter, &start, &stop, limit))
            return 0;
        add_run(cutter, runs + count++, start, at = stop);
        is_over |= start == limit;
    }
    return count;
}

/* Cut a word that is not among the short ones, which may have several parts; the last of them waits then. */
static int cut_long(Cutter *cutter, const Run *run, int32_t gap, Cutting *now)
{
    const int64_t length = run->stop - run->start, room = cutter->length - run->start;
    const uint8_t *at = cutter->data + run->start;
    int64_t start = run->start;
    int32_t entry = -1;
    uint64_t hash = 0;
    int state = DONE;
    if (length <= LONGEST)
        entry = found(&cutter->words, at, length, room, hash = hashed(at, length, room, cutter->words.seed));
    if (entry < 0) {
        now->place++;
        return miss(cutter, 1, run->start, run->stop, hash);
    }
    for (int32_t part = cutter->first_parts[entry]; part < cutter->first_parts[entry + 1]; part++) {
        const int32_t *one = cutter->parts + (int64_t)PART * part;
        if (one[0] < 0 || one[1] < 0 || start + one[0] + one[1] > run->stop)
            return STRANGE;
        begin_word(cutter, now, start, start + one[0], one[2], one[3], gap);
        start += one[0] + one[1];
        if (part + 1 < cutter->first_parts[entry + 1]) {
            gap = one[4];
            state |= decide(now, gap, 0);
        }
    }
    return state;
}

static int cut_one(Cutter *cutter, int64_t text, int32_t *counts)
{
    int64_t at = cutter->texts.starts[text], end = cutter->texts.ends[text];
    int64_t span = cutter->span_ranges[text], last_span = cutter->span_ranges[text + 1];
    int state = DONE, run = 0, run_count = 0;
    Cutting now = {.edits = cutter->edits};
    Run runs[AT_ONCE];
    while (!(state & STRANGE)) {
        const int64_t limit = span < last_span ? cutter->span_starts[span] : end;
        if (limit < at || limit > end)
            return STRANGE;
        if (run == run_count) {
            run = 0;
            run_count = next_runs(cutter, at, limit, runs);
            if (!run_count)
                return STRANGE;
        }
        const Run *here = runs + run++;
        const int64_t start = here->start;
        const int is_over = start == limit && span == last_span;
        int32_t gap;
        state |= gap_between(cutter, at, start, &gap);
        state |= decide(&now, gap, is_over);
        if (is_over || state & STRANGE)
            break;
        if (start == limit) { /* a span is one word */
            if (cutter->span_ends[span] <= limit || cutter->span_ends[span] > end)
                return STRANGE;
            state |= add_span(&now.edits, limit, cutter->span_ends[span], span);
            now.after_markup = (cutter->span_flags[span] & IS_MARKUP) != 0;
            now.after_alnum = (cutter->span_flags[span] & ENDS_ALNUM) != 0;
            at = cutter->span_ends[span++];
            now.place++;
            continue;
        }
        at = here->stop;
        const uint64_t *known = here->slot ? short_found(&cutter->short_words, here->string, here->slot) : NULL;
        if (known)
            begin_word(cutter, &now, start, at, (int32_t)(uint32_t)*known, (int32_t)(*known >> 32), gap);
        else { /* a copy, so that nothing else can change what is at hand */
            Cutting other = now;
            state |= cut_long(cutter, here, gap, &other);
            now = other;
        }
    }
    if (state != DONE)
        return state & STRANGE ? STRANGE : MISSES;
    counts[0] = now.words;
    counts[1] = (int32_t)(now.edits.inside_count - cutter->edits.inside_count);
    counts[2] = (int32_t)(now.edits.outside_count - cutter->edits.outside_count);
    cutter->edits = now.edits;
    return DONE;
}

/* Whether the characters of ASCII are what `letters_of` takes them for. */
static int is_as_usual(const uint8_t *classes)
{
    for (int one = 0; one < 0x80; one++)
        if ((classes[one] & (SPELLS | INSIDE)) != (is_letter_or_digit((uint8_t)one) ? SPELLS | INSIDE : 0))
            return 0;
    return 1;
}

/* Cut the texts from `begin` on, until there is no room for more that is missing; return how many were looked at, and
   how many edits there are now, of words of the vocabulary and others, and misses. */
PyObject *cut_texts(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *starts_of, *ends_of, *classes_of, *spans_of, *words_of, *gaps_of, *edits_of, *out_of;
    PyObject *span_starts, *span_ends, *span_flags, *span_ranges, *table, *first_parts, *parts, *gap_flags;
    PyObject *edit_starts, *edit_ends, *codes, *flags, *inside, *outside;
    PyObject *short_words, *states_of, *counts_of, *stops_of, *misses_of;
    long long length, count, begin, spans, part_count, room, edits, inside_count, outside_count, miss_room;
    Cutter cutter = {.miss_count = 0};
    if (!PyArg_ParseTuple(args, "OLOOLLOOOOiiiOO", &data_of, &length, &starts_of, &ends_of, &count, &begin, &classes_of,
                          &spans_of, &words_of, &gaps_of, &cutter.by_position, &cutter.empty, &cutter.space, &edits_of,
                          &out_of) ||
        !PyArg_ParseTuple(spans_of, "OOOOL", &span_starts, &span_ends, &span_flags, &span_ranges, &spans) ||
        !PyArg_ParseTuple(edits_of, "OOOOOOLLLL", &edit_starts, &edit_ends, &codes, &flags, &inside, &outside, &room, &edits,
                          &inside_count, &outside_count) ||
        !PyArg_ParseTuple(out_of, "OOOOL", &states_of, &counts_of, &stops_of, &misses_of, &miss_room))
        return NULL;
    if (length < 0 || length >= INT32_MAX || begin < 0 || begin > count || edits < 0 || edits > room || inside_count < 0 ||
        inside_count > edits || outside_count < 0 || outside_count > edits - inside_count || spans < 0 || spans >= INT32_MAX) {
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
    cutter.edits.room = room;
    cutter.edits.count = edits;
    cutter.edits.inside_count = inside_count;
    cutter.edits.outside_count = outside_count;
    cutter.miss_room = miss_room;
    if (!(cutter.seen = calloc(SEEN, sizeof *cutter.seen))) {
        PyErr_NoMemory();
        goto over;
    }
    if (!(cutter.data = memory(&buffers, data_of, length, 1, 0)) ||
        !read_texts(&buffers, starts_of, ends_of, count, length, &cutter.texts) ||
        !(cutter.classes = memory(&buffers, classes_of, KINDS, 1, 0)) ||
        !(cutter.span_starts = memory(&buffers, span_starts, spans, 8, 0)) ||
        !(cutter.span_ends = memory(&buffers, span_ends, spans, 8, 0)) ||
        !(cutter.span_flags = memory(&buffers, span_flags, spans, 1, 0)) ||
        !(cutter.span_ranges = memory(&buffers, span_ranges, count + 1, 8, 0)) ||
        !(cutter.edits.starts = memory(&buffers, edit_starts, room, 4, 1)) ||
        !(cutter.edits.ends = memory(&buffers, edit_ends, room, 4, 1)) ||
        !(cutter.edits.codes = memory(&buffers, codes, room, 4, 1)) ||
        !(cutter.edits.inside = memory(&buffers, inside, room, 8, 1)) ||
        !(cutter.edits.outside = memory(&buffers, outside, room, 8, 1)) ||
        !(cutter.edits.flags = memory(&buffers, flags, room, 1, 1)) || !(states = memory(&buffers, states_of, count, 1, 1)) ||
        !(counts = memory(&buffers, counts_of, product(count, 3), 4, 1)) ||
        !(stops = memory(&buffers, stops_of, count, 8, 1)) ||
        !(cutter.misses = memory(&buffers, misses_of, product(miss_room, 3), 4, 1)))
        goto over;
    if (!PyArg_ParseTuple(words_of, "OOOLO", &table, &first_parts, &parts, &part_count, &short_words) ||
        !read_table(&buffers, table, &cutter.words, 0) ||
        !read_short_table(&buffers, short_words, &cutter.short_words, 0) ||
        !(cutter.first_parts = memory(&buffers, first_parts, cutter.words.count + 1, 4, 0)) ||
        !(cutter.parts = memory(&buffers, parts, product(part_count, PART), 4, 0)) ||
        !PyArg_ParseTuple(gaps_of, "OO", &table, &gap_flags) || !read_table(&buffers, table, &cutter.gaps, 0) ||
        !(cutter.gap_flags = memory(&buffers, gap_flags, cutter.gaps.count, 4, 0)))
        goto over;
    int is_sound = rising_starts(cutter.first_parts, cutter.words.count, part_count) && cutter.span_ranges[0] == 0 &&
                   cutter.span_ranges[count] == spans && is_as_usual(cutter.classes);
    for (int64_t text = 0; text < count; text++)
        is_sound &= cutter.span_ranges[text] <= cutter.span_ranges[text + 1];
    if (!is_sound) {
        PyErr_SetString(PyExc_ValueError, "parts of words or spans of texts do not follow one another, or ASCII is another");
        goto over;
    }
    int64_t text = begin;
    Py_BEGIN_ALLOW_THREADS;
    for (; text < count && cutter.miss_count < miss_room; text++) {
        if (states[text] != STRANGE) {
            memset(counts + 3 * text, 0, 3 * sizeof *counts);
            states[text] = (uint8_t)cut_one(&cutter, text, counts + 3 * text);
        }
        stops[text] = cutter.edits.count;
    }
    Py_END_ALLOW_THREADS;
    const Edits *now = &cutter.edits;
    result = Py_BuildValue("LLLLL", (long long)text, (long long)now->count, (long long)now->inside_count,
                           (long long)now->outside_count, (long long)cutter.miss_count);
over:
    free(cutter.seen);
    let_go(&buffers);
    return result;
}
