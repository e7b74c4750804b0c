/* Finds what may be more than words, and, where that is beyond doubt, plain numbers, amounts in dollars and dates.

   wordveil/text/identifiers.py says what there is to find. Most of what ordinary prose has of it is a number between
   spaces, so the stretches (runs without spaces) that a hint stands in are read here: only where these, and those beside
   them, have one of a few simple forms, for which it is plain what the expressions there find, is the answer given here.
   Any other text is left to Python, whole. Tests hold the two to the same answers. */

#include "values.h"

static int add_value(Finder *finder, int kind, int64_t start, int64_t end, int64_t place)
{
    if (finder->count == finder->room)
        return 0;
    finder->starts[finder->count] = start;
    finder->ends[finder->count] = end;
    finder->texts[finder->count] = finder->text;
    finder->kinds[finder->count++] = (uint8_t)kind;
    finder->place = place;
    return 1;
}

/* Whether a stretch ends, after a number, in signs that belong to nothing; a possessive may stand before them. */
static int ends_plainly(const Finder *finder, int64_t at, int64_t end)
{
    if (at + 1 < end && finder->data[at] == '\'' && finder->data[at + 1] == 's')
        at += 2;
    for (; at < end; at++) {
        if (!finder->data[at] || !strchr(",.;:!?)\"'%", finder->data[at]))
            return 0;
        if (finder->data[at] == ':' && at + 1 < end && !strchr(")\"'", finder->data[at + 1]))
            return 0;
    }
    return 1;
}

/* Where the signs begin that end a stretch with a number up to a place: behind a word that is joined to it (10-inch, or
   1845.-The, as some print it), or the sign of degrees. */
static int64_t joined_end(const Finder *finder, int64_t at, int64_t stop)
{
    const uint8_t *data = finder->data;
    if (at + 1 < stop && !memcmp(data + at, "\xC2\xB0", 2))
        return at + 2;
    const int64_t word = at + (byte_at(finder, at) == '.') + 1;
    int64_t end = word + 1;
    if (end > stop || data[word - 1] != '-' || !(is_small(data[word]) || (is_capital(data[word]) && is_small(byte_at(finder, end)))))
        return at;
    while (end < stop && is_small(data[end]))
        end++;
    return is_month(data + word, end - word) ? at : end;
}

/* From where a text is looked through behind a number that ends a stretch: a word that is joined to it may begin more. */
static int64_t place_behind(const Finder *finder, int64_t end)
{
    const int64_t stop = stretch_end(finder, end), joined = joined_end(finder, end, stop);
    return joined == end || finder->data[end] >= 0x80 ? stop : end;
}

/* The year behind a date, as a stretch that begins at a place: how many digits of it, 0 if there is none, -1 for what is
   not simple. */
static int64_t year_at(const Finder *finder, int64_t at, int is_short_too)
{
    if (at < 0 || !(is_digit(finder->data[at]) || (finder->data[at] == '\'' && is_digit(byte_at(finder, at + 1)))))
        return at >= 0 && (finder->data[at] >= 0x7F || finder->data[at] < ' ') ? -1 : 0;
    int64_t end = digits_end(finder, at), stop = stretch_end(finder, at), digits = end - at;
    if (!(digits == 4 || (is_short_too && digits == 2)) || stop - at > LONGEST ||
        !ends_plainly(finder, joined_end(finder, end, stop), stop) ||
        (byte_at(finder, end) == '\'' && is_digit(byte_at(finder, end + 1))) || is_opened(finder, stop))
        return -1;
    return digits;
}

/* A month before a number: "March 5, 1845" or "March 1845". */
static int month_first(Finder *finder, int64_t month, int64_t number, int64_t end, int64_t stop, int is_ordinal)
{
    int64_t digits = digits_end(finder, number) - number;
    if (digits == 4 && !is_ordinal)
        return add_value(finder, DATE, month, end, stop);
    if (digits > 2)
        return 0;
    if (end < stop && !(end + 1 == stop && finder->data[end] == ','))
        return add_value(finder, DATE, month, end, stop);
    int64_t next = beside(finder, stop), year = year_at(finder, next, 0);
    if (year < 0)
        return 0;
    if (!year)
        return add_value(finder, DATE, month, end, stop);
    return add_value(finder, DATE, month, next + year, place_behind(finder, next + year));
}

/* A month behind a number, at a place: "5 March 1845", "5th of March". 2 if there is none. */
static int month_last(Finder *finder, int64_t number, int64_t next)
{
    int64_t month = next, end = letters_end(finder, next);
    if (end - next == 2 && finder->data[next] == 'o' && finder->data[next + 1] == 'f') {
        month = beside(finder, end);
        if (month < 0) /* another sign may be a space, too */
            return byte_at(finder, end) < 0x7F ? 2 : 0;
        end = letters_end(finder, month);
        if (is_month(finder->data + month, end - month) && month - next != 3)
            return 0;
    }
    const uint8_t *word = finder->data + month;
    if (end - month == 3 && !memcmp(word, "may", 3))
        return 0;
    if (!is_month(word, end - month))
        return 2;
    int64_t stop = stretch_end(finder, month);
    for (int64_t at = month; at < stop; at++)
        if (is_digit(finder->data[at]) || finder->data[at] >= 0x7F || finder->data[at] < ' ')
            return 0;
    if (byte_at(finder, end) == '.') {
        if (is_inside(byte_at(finder, ++end)))
            return 0;
    }
    int64_t at = end + (byte_at(finder, end) == ',');
    if (at == stop) {
        int64_t behind = beside(finder, stop), year = year_at(finder, behind, 1);
        if (year < 0)
            return 0;
        if (year)
            return add_value(finder, DATE, number, behind + year, place_behind(finder, behind + year));
    }
    return add_value(finder, DATE, number, end, end);
}

/* Where the fraction ends that begins at a place, such as 3/4; -1 if there is none. */
static int64_t fraction_end(const Finder *finder, int64_t at)
{
    const int64_t slash = digits_end(finder, at), end = digits_end(finder, slash + 1);
    const int is_one = slash > at && slash - at <= 2 && byte_at(finder, slash) == '/' && end > slash + 1 && end - slash <= 3;
    return is_one && finder->data[at] != '0' && finder->data[slash + 1] != '0' ? end : -1;
}

/* Whether what stands behind a number, beside it, may be of one form with it. */
static int goes_on(const Finder *finder, int64_t end, int64_t stop, int64_t next)
{
    int is_open = 1; /* groups of digits may go on across these */
    for (int64_t at = end; at < stop; at++)
        is_open &= finder->data[at] == '.' || finder->data[at] == ')';
    if (next < 0)
        return 0;
    uint8_t first = finder->data[next], second = byte_at(finder, next + 1);
    if (first >= 0x7F || first < ' ' || (is_open && (is_digit(first) || strchr("().-+/", first))))
        return 1;
    if (end < stop)
        return 0;
    if (first == '$' || (is_capital(first) && (is_capital(second) || second == '$' || second >= 0x7F))) /* 5 S£ */
        return 1;
    if ((first | 0x20) == 'a' || (first | 0x20) == 'p') { /* 5 p.m. */
        int64_t letter = next + 1 + (second == '.');
        return (byte_at(finder, letter) | 0x20) == 'm' && !is_inside(byte_at(finder, letter + 1));
    }
    return 0;
}

/* Two plain numbers, in a fraction behind which nothing may make more of them. */
static int read_fraction(Finder *finder, int64_t at, int64_t end, int64_t stop, int64_t next)
{
    int64_t word = next, word_end = next < 0 ? -1 : letters_end(finder, next);
    if (word_end - word == 2 && !memcmp(finder->data + word, "of", 2)) {
        word = beside(finder, word_end);
        if (word < 0 && byte_at(finder, word_end) >= 0x7F) /* another sign may be a space, too */
            return 0;
        word_end = word < 0 ? -1 : letters_end(finder, word);
    }
    const int is_day = word >= 0 && (is_month(finder->data + word, word_end - word) ||
                                     (word_end - word == 3 && !memcmp(finder->data + word, "may", 3)));
    const int64_t slash = digits_end(finder, at);
    return !is_day && ends_plainly(finder, end, stop) && !goes_on(finder, end, stop, next) &&
           add_value(finder, NUMBER, at, slash, stop) && add_value(finder, NUMBER, slash + 1, end, stop);
}

/* What stands in a stretch with digits; 0 if that is not simple. */
static int read_number(Finder *finder, int64_t digit)
{
    const uint8_t *data = finder->data;
    const int64_t start = stretch_start(finder, digit), stop = stretch_end(finder, digit);
    int64_t before, before_end, end = digits_end(finder, digit), groups = 1, dots = 0, chained = end - digit;
    if (start < finder->place || stop - start > LONGEST || is_opened(finder, stop) ||
        !is_dull_before(finder, start, &before, &before_end))
        return 0;
    int is_amount = digit > start && data[digit - 1] == '$', is_ordinal = 0;
    for (int64_t at = start; at < digit - is_amount; at++)
        if (data[at] != '(' && data[at] != '"' && data[at] != '\'')
            return 0;
    while (end + 1 < stop && (data[end] == ',' || data[end] == '.') && is_digit(data[end + 1])) {
        int64_t next = digits_end(finder, end + 1);
        dots += data[end] == '.';
        chained += groups == dots ? next - end - 1 : 0; /* only dots so far */
        groups++;
        end = next;
    }
    if (dots > 1 || groups > 6 || (end + 1 < stop && data[end] == '\'' && is_digit(data[end + 1])))
        return 0;
    if (end < stop && is_letter(data[end])) {
        if (end + 1 < stop && is_letter(data[end + 1])) {
            const uint8_t *two = data + end;
            is_ordinal = !memcmp(two, "st", 2) || !memcmp(two, "nd", 2) || !memcmp(two, "rd", 2) || !memcmp(two, "th", 2);
            if (!is_ordinal || is_amount || is_inside(byte_at(finder, end + 2)))
                return 0;
            end += 2;
        } else if (is_amount || groups > 1 || chained > 5 || (data[end] != 's' && data[end] != 'd') ||
                   !ends_plainly(finder, end + 1, stop) || is_inside(byte_at(finder, end + 1)))
            return 0;
        else { /* 1990s, 22d: words */
            finder->place = stop;
            return 1;
        }
    }
    const int64_t fraction = start == digit && end == digits_end(finder, digit) ? fraction_end(finder, digit) : -1;
    const int64_t joined = fraction < 0 ? joined_end(finder, end, stop) : fraction, place = place_behind(finder, end);
    if (!ends_plainly(finder, joined, stop))
        return 0;
    if (is_amount)
        return add_value(finder, AMOUNT, digit - 1, end, place);
    if (chained > 5 || (groups == 1 && !is_ordinal && end - digit > 1 && data[digit] == '0'))
        return 0;
    const int64_t next = beside(finder, stop), gap = start - before_end;
    if (start == digit && before < before_end && gap <= FARTHEST) {
        int64_t last = before_end - (data[before_end - 1] == '.'), word = last, capitals = 0;
        while (word > before && is_letter(data[word - 1]))
            capitals += is_capital(data[--word]);
        if (word == before && before > finder->start && is_inside(data[before - 1]))
            return 0;
        if (data[before_end - 1] == '$' || data[before_end - 1] == '+' || data[before_end - 1] == '-' ||
            (last == before_end && capitals == last - word && (capitals == 2 || capitals == 3)))
            return 0;
        if (is_month(data + word, last - word) && !(word > before && is_digit(data[word - 1]))) {
            for (int64_t at = before_end; at < start; at++)
                if (data[at] != ' ')
                    return 0;
            return groups == 1 && joined == end && month_first(finder, word, digit, end, stop, is_ordinal);
        }
    }
    if (groups == 1 && end == stop && next >= 0 && digits_end(finder, digit) - digit <= 2) {
        int found = month_last(finder, digit, next);
        if (found != 2)
            return found;
    }
    if (fraction >= 0)
        return read_fraction(finder, digit, fraction, stop, next);
    const int64_t other = groups == 1 && end == stop && next >= 0 ? fraction_end(finder, next) : -1;
    const int is_mixed = other >= 0 && end - digit + other - next <= MOST_MIXED; /* 4 1/2 */
    return (is_mixed || !goes_on(finder, end, stop, next)) && add_value(finder, NUMBER, digit, end, place);
}

/* Whether a colon is just that, behind a word. */
static int read_colon(Finder *finder, int64_t colon)
{
    int64_t start = stretch_start(finder, colon), stop = stretch_end(finder, colon), before, before_end;
    if (start == finder->start || finder->data[start - 1] == '\n') /* the header of a mail, perhaps */
        return 0;
    for (int64_t at = colon + 1; at < stop; at++) /* a word there might go on in the next stretch */
        if (!finder->data[at] || !strchr(")\"'", finder->data[at]))
            return 0;
    int64_t begin = start < finder->place ? finder->place : start;
    for (int64_t at = begin; at < stop; at++)
        if (is_digit(finder->data[at]) || (at != colon && finder->data[at] == ':'))
            return 0;
    if (!is_dull(finder, begin, stop) || !is_dull_before(finder, start, &before, &before_end) || is_opened(finder, stop))
        return 0;
    finder->place = stop;
    return 1;
}

/* Whether a dot before a small letter is just that, before a word (it was .merely a slip). */
static int read_dot(Finder *finder, int64_t dot)
{
    const int64_t stop = stretch_end(finder, dot);
    int64_t before, before_end;
    if (stretch_start(finder, dot) != dot || stop - dot > LONGEST || !ends_plainly(finder, letters_end(finder, dot + 1), stop) ||
        !is_dull_before(finder, dot, &before, &before_end) || is_opened(finder, stop))
        return 0;
    finder->place = stop;
    return 1;
}

/* What has to be looked at: all that `find_in` asks about, and some others that are rare in prose. */
static inline int is_sign(uint8_t byte)
{
    return (byte >= '#' && byte <= '(') || (byte >= '.' && byte <= '@') || (byte | 0x20) >= '{';
}

/* Which bytes of a window are signs. */
static inline uint64_t signs_of(const uint8_t *at)
{
    uint64_t all = 0;
#ifdef __SSE2__
    const __m128i zero = _mm_setzero_si128();
    for (int place = 0; place < WINDOW; place += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(at + place));
        /* from # to (, from . to @, from [ and { on */
        const __m128i few = _mm_subs_epu8(_mm_sub_epi8(bytes, _mm_set1_epi8('#')), _mm_set1_epi8('(' - '#'));
        const __m128i most = _mm_subs_epu8(_mm_sub_epi8(bytes, _mm_set1_epi8('.')), _mm_set1_epi8('@' - '.'));
        const __m128i rest = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        const __m128i last = _mm_subs_epu8(_mm_sub_epi8(rest, _mm_set1_epi8('{')), _mm_set1_epi8(0x7F - '{'));
        const __m128i ascii = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(few, zero), _mm_cmpeq_epi8(most, zero)),
                                           _mm_cmpeq_epi8(last, zero));
        all |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_or_si128(ascii, bytes)) << place;
    }
#else
    for (int place = 0; place < WINDOW; place++)
        all |= (uint64_t)is_sign(at[place]) << place;
#endif
    return all;
}

/* Find the values of a text; 0 if it is left to Python. */
static int find_in(Finder *finder, const uint8_t *classes)
{
    const uint8_t *data = finder->data;
    const int64_t end = finder->end;
    int64_t from = finder->start, until = from; /* of the bytes among which the signs are known */
    uint64_t signs = 0;
    uint8_t last[WINDOW];
    finder->place = finder->start;
    for (int64_t at = finder->start; at < end;) {
        if (at >= until) {
            signs = signs_of(bytes_of(data, from = at, finder->length, last));
            until = from + WINDOW;
        }
        if (!(signs >> (at - from))) {
            at = until;
            continue;
        }
        at += __builtin_ctzll(signs >> (at - from));
        if (at >= end)
            break;
        uint8_t byte = data[at];
        int bytes = 1;
        if (byte < 0x80) {
            if (classes[byte] & HINT) {
                if (!(is_digit(byte) ? read_number(finder, at) : byte == ':' && read_colon(finder, at)))
                    return 0;
                at = finder->place;
                continue;
            }
            if (byte == '.' && at + 1 < end && is_small(data[at + 1])) {
                if (!read_dot(finder, at))
                    return 0;
                at = finder->place;
                continue;
            }
            if (byte == '[' || byte == '(' || byte == '{') {
                int64_t next = at + 1;
                next += next < end && (data[next] == ' ' || data[next] == '\t');
                if (next + 1 < end && (data[next] | 0x20) == 'a' && (data[next + 1] | 0x20) == 't')
                    return 0;
            }
        } else {
            uint32_t found = character(data + at, end - at, &bytes);
            if (!bytes || found >= KINDS || classes[found] & (HINT | UNKNOWN))
                return 0;
        }
        at += bytes;
    }
    return 1;
}

/* Whether all hints are among the signs. */
static int are_seen(const uint8_t *classes)
{
    int are = 1;
    for (int one = 0; one < 0x80; one++)
        are &= !(classes[one] & HINT) || is_sign((uint8_t)one);
    if (!are)
        PyErr_SetString(PyExc_ValueError, "a hint is not looked for");
    return are;
}

PyObject *find_values(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *data_of, *starts_of, *ends_of, *classes_of, *found_of, *left_of, *texts_of, *from_of, *to_of, *kinds_of;
    long long length, count, room;
    if (!PyArg_ParseTuple(args, "OLOOLOOO", &data_of, &length, &starts_of, &ends_of, &count, &classes_of, &left_of,
                          &found_of) ||
        !PyArg_ParseTuple(found_of, "OOOOL", &texts_of, &from_of, &to_of, &kinds_of, &room))
        return NULL;
    Buffers buffers = {.count = 0};
    Texts texts;
    Finder finder = {.count = 0};
    const uint8_t *classes;
    uint8_t *left;
    PyObject *result = NULL;
    finder.room = room;
    finder.length = length;
    if (count > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "there is too much at once");
    else if ((finder.data = memory(&buffers, data_of, length, 1, 0)) &&
             read_texts(&buffers, starts_of, ends_of, count, length, &texts) &&
             (classes = memory(&buffers, classes_of, KINDS, 1, 0)) && are_seen(classes) && (left = memory(&buffers, left_of, count, 1, 1)) &&
             (finder.texts = memory(&buffers, texts_of, room, 4, 1)) &&
             (finder.starts = memory(&buffers, from_of, room, 8, 1)) &&
             (finder.ends = memory(&buffers, to_of, room, 8, 1)) &&
             (finder.kinds = memory(&buffers, kinds_of, room, 1, 1))) {
        Py_BEGIN_ALLOW_THREADS;
        for (int64_t text = 0; text < count; text++) {
            const int64_t before = finder.count;
            finder.start = texts.starts[text];
            finder.end = texts.ends[text];
            finder.text = (int32_t)text;
            left[text] = !find_in(&finder, classes);
            if (left[text])
                finder.count = before;
        }
        Py_END_ALLOW_THREADS;
        result = PyLong_FromLongLong((long long)finder.count);
    }
    let_go(&buffers);
    return result;
}
