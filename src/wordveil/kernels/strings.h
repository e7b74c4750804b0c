/* Strings of bytes: looked up in tables, and kept one behind the other. */

#ifndef WORDVEIL_STRINGS_H
#define WORDVEIL_STRINGS_H

#include "native.h"

#include <string.h>

enum { LONGEST = 64, SHORT = 16, PROBES = 64 }; /* bytes of a string, of one in a table of short ones, slots tried for it */

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

/* Short strings without a NUL, each in a slot with all that is known of it: what a text has most is found by one look at
   memory. A slot has the string, filled up with NUL, and a number. */
typedef struct {
    const uint64_t *slots;
    uint64_t mask, seed;
} ShortTable;

enum { SLOT = 4 }; /* numbers: two of the string, what is known, and one that aligns */

typedef struct {
    uint64_t low, high;
} Short;

static inline Short short_of(const uint8_t *at, int64_t length, int64_t room)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (room >= SHORT) {
        static const uint64_t masks[SHORT + 1][2] = {
#define ONES(bytes) (((uint64_t)1 << 8 * (bytes)) - 1)
            {0, 0},
            {ONES(1), 0},
            {ONES(2), 0},
            {ONES(3), 0},
            {ONES(4), 0},
            {ONES(5), 0},
            {ONES(6), 0},
            {ONES(7), 0},
            {UINT64_MAX, 0},
            {UINT64_MAX, ONES(1)},
            {UINT64_MAX, ONES(2)},
            {UINT64_MAX, ONES(3)},
            {UINT64_MAX, ONES(4)},
            {UINT64_MAX, ONES(5)},
            {UINT64_MAX, ONES(6)},
            {UINT64_MAX, ONES(7)},
            {UINT64_MAX, UINT64_MAX},
#undef ONES
        };
        Short all;
        memcpy(&all, at, SHORT);
        return (Short){all.low & masks[length][0], all.high & masks[length][1]};
    }
#endif
    (void)room;
    Short some = {0, 0};
    memcpy(&some, at, (size_t)length);
    return some;
}

static inline uint64_t short_hash(Short string, uint64_t seed)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 Wide;
    const Wide both = (Wide)(string.low ^ seed) * (string.high ^ (seed * 0x9E3779B97F4A7C15u | 1));
    return (uint64_t)both ^ (uint64_t)(both >> 64);
#else
    uint64_t hash = (string.low ^ seed) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ string.high) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
#endif
}

static inline const uint64_t *short_slot(const ShortTable *table, Short string)
{
    return table->slots + SLOT * (short_hash(string, table->seed) & table->mask);
}

/* What is known of a short string, whose first slot is given; NULL if it is not there. Another thread may add strings
   meanwhile: it writes the first number of a slot last. */
static inline const uint64_t *short_found(const ShortTable *table, Short string, const uint64_t *slot)
{
    for (int probe = 0; probe < PROBES; probe++) {
        const uint64_t low = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (low == string.low && slot[1] == string.high)
            return slot + 2;
        if (!low)
            return NULL;
        slot = slot == table->slots + SLOT * table->mask ? table->slots : slot + SLOT;
    }
    return NULL;
}

/* starts rise from 0 on, none beyond `end` */
static inline int rising_starts(const int32_t *starts, int64_t count, int64_t end)
{
    for (int64_t place = 0; place < count; place++)
        if (starts[place] < 0 || starts[place] > starts[place + 1])
            return 0;
    return starts[0] >= 0 && starts[count] <= end;
}

static inline int read_table(Buffers *buffers, PyObject *tuple, Table *table, int writable)
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
    if (!rising_starts(table->starts, count, length)) {
        PyErr_SetString(PyExc_ValueError, "the strings of a table do not follow one another");
        return 0;
    }
    return 1;
}

static inline int read_short_table(Buffers *buffers, PyObject *tuple, ShortTable *table, int writable)
{
    PyObject *slots;
    long long size;
    unsigned long long seed;
    if (!PyArg_ParseTuple(tuple, "OLK", &slots, &size, &seed))
        return 0;
    if (size < 1 || size & (size - 1)) {
        PyErr_SetString(PyExc_ValueError, "the size of a table is wrong");
        return 0;
    }
    *table = (ShortTable){.mask = (uint64_t)size - 1, .seed = seed};
    table->slots = memory(buffers, slots, product(size, SLOT), 8, writable);
    return table->slots != NULL;
}

/* Strings one behind the other. */
typedef struct {
    const int64_t *starts; /* one more than there are strings */
    const uint8_t *bytes;
    int64_t count, length; /* and of the bytes */
} Strings;

static inline int read_strings(Buffers *buffers, PyObject *tuple, Strings *strings)
{
    PyObject *starts, *bytes;
    long long count, length;
    if (!PyArg_ParseTuple(tuple, "OLOL", &starts, &count, &bytes, &length))
        return 0;
    strings->count = count;
    strings->length = length;
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

#endif
