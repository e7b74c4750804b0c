/* What reads values in texts: stretches (runs without spaces) and what stands beside them. */

#ifndef WORDVEIL_VALUES_H
#define WORDVEIL_VALUES_H

#include "texts.h"

#include <string.h>

enum { NUMBER = 0, AMOUNT = 1, DATE = 2 }; /* of a value, in the order of `VALUE` in words.py */
enum { LONGEST = 30, FARTHEST = 3 };       /* bytes of a stretch, spaces over which a form may go on */
enum { MOST_MIXED = 6 }; /* bytes of a number and a fraction behind it: with six digits they might be one of other kinds */

typedef struct {
    const uint8_t *data;
    int64_t length;            /* of the data */
    int64_t start, end, place; /* of the text, and up to where it was looked through */
    int64_t *starts, *ends;    /* of the values */
    int32_t *texts;
    uint8_t *kinds;
    int64_t room, count;
    int32_t text;
} Finder;

static int is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static int is_small(uint8_t byte)
{
    return byte >= 'a' && byte <= 'z';
}

static int is_capital(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z';
}

static int is_letter(uint8_t byte)
{
    return is_small(byte | 0x20);
}

static int is_inside(uint8_t byte)
{
    return is_letter(byte) || is_digit(byte);
}

/* White space: any other sign of the kind counts as part of a stretch, which then is no simple one. */
static int is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* The byte at a place of the text, 0 beyond its end. */
static uint8_t byte_at(const Finder *finder, int64_t at)
{
    return at < finder->end ? finder->data[at] : 0;
}

static int64_t stretch_start(const Finder *finder, int64_t at)
{
    while (at > finder->start && !is_space(finder->data[at - 1]))
        at--;
    return at;
}

static int64_t stretch_end(const Finder *finder, int64_t at)
{
    while (at < finder->end && !is_space(finder->data[at]))
        at++;
    return at;
}

/* Where the next stretch begins, if so few spaces of one line lie before it that a form may go on there; else -1. */
static int64_t beside(const Finder *finder, int64_t at)
{
    int64_t begin = at;
    while (at < finder->end && (finder->data[at] == ' ' || finder->data[at] == '\t'))
        at++;
    return at > begin && at - begin <= FARTHEST && at < finder->end && !is_space(finder->data[at]) ? at : -1;
}

/* Whether no form can begin in a stretch, or a part of it, but one that needs what stands behind it. */
static int is_dull(const Finder *finder, int64_t start, int64_t end)
{
    int hyphens = 0;
    if (end - start > LONGEST)
        return 0;
    for (int64_t at = start; at < end; at++) {
        uint8_t byte = finder->data[at];
        if (byte <= ' ' || byte >= 0x7F || (byte == '.' && at + 1 < end && is_inside(finder->data[at + 1])))
            return 0;
        hyphens += byte == '-';
    }
    return hyphens < 5; /* with which addresses of hardware begin */
}

/* Whether the stretch before a place, as far as it was not looked through, is dull; it is from *start to *end then. */
static int is_dull_before(const Finder *finder, int64_t at, int64_t *start, int64_t *end)
{
    while (at > finder->place && is_space(finder->data[at - 1]))
        at--;
    *end = at;
    *start = stretch_start(finder, at);
    if (*start < finder->place)
        *start = finder->place < at ? finder->place : at;
    return is_dull(finder, *start, *end);
}

/* Whether what follows a stretch may make an address in several words of it: a bracket with an odd space in it. */
static int is_opened(const Finder *finder, int64_t end)
{
    int64_t next = beside(finder, end);
    if (next < 0)
        return 0;
    uint8_t byte = finder->data[next];
    return byte >= 0x7F || byte < ' ' || ((byte == '[' || byte == '(' || byte == '{') && byte_at(finder, next + 1) >= 0x7F);
}

static int is_month(const uint8_t *at, int64_t length)
{
    static const char *const names[] = {"jan",    "january", "feb",  "february", "apr",       "april",   "jun",     "june",
                                        "jul",    "july",    "aug",  "august",   "sep",       "sept",    "sepember",
                                        "september", "oct",  "october", "nov",   "november",  "dec",     "december"};
    static const char *const as_written[] = {"Mar", "March", "MAR", "MARCH", "May", "MAY"};
    char small[16];
    if (length < 3 || length > 9)
        return 0;
    for (int64_t place = 0; place < length; place++)
        small[place] = (char)(at[place] | 0x20);
    for (size_t name = 0; name < sizeof names / sizeof names[0]; name++)
        if (strlen(names[name]) == (size_t)length && !memcmp(names[name], small, (size_t)length))
            return 1;
    for (size_t name = 0; name < sizeof as_written / sizeof as_written[0]; name++)
        if (strlen(as_written[name]) == (size_t)length && !memcmp(as_written[name], at, (size_t)length))
            return 1;
    return 0;
}

static int64_t letters_end(const Finder *finder, int64_t at)
{
    while (at < finder->end && is_letter(finder->data[at]))
        at++;
    return at;
}

static int64_t digits_end(const Finder *finder, int64_t at)
{
    while (at < finder->end && is_digit(finder->data[at]))
        at++;
    return at;
}

#endif
