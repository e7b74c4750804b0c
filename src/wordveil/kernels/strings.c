/* Fills the tables in which strings are looked up. */

#include "strings.h"

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

/* Put the strings from `begin` on into a table of short ones, with a number of each; return how many found no slot. */
PyObject *index_short(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *table_of, *strings_of, *known_of;
    long long begin, lost = 0;
    if (!PyArg_ParseTuple(args, "OOOL", &table_of, &strings_of, &known_of, &begin))
        return NULL;
    Buffers buffers = {.count = 0};
    ShortTable table;
    Strings strings;
    const uint64_t *known = NULL;
    if (read_short_table(&buffers, table_of, &table, 1) && read_strings(&buffers, strings_of, &strings) &&
        (known = memory(&buffers, known_of, strings.count, 8, 0))) {
        for (int64_t one = begin < 0 ? 0 : begin; one < strings.count; one++) {
            const int64_t start = strings.starts[one], length = strings.starts[one + 1] - start;
            int probe = 0;
            if (length < 1 || length > SHORT || memchr(strings.bytes + start, 0, (size_t)length)) {
                lost++;
                continue;
            }
            const Short string = short_of(strings.bytes + start, length, strings.length - start);
            uint64_t *slot = (uint64_t *)(uintptr_t)short_slot(&table, string); /* taken as writable */
            for (; probe < PROBES && slot[0]; probe++)
                slot = slot == table.slots + SLOT * table.mask ? (uint64_t *)(uintptr_t)table.slots : slot + SLOT;
            if (probe == PROBES) {
                lost++;
                continue;
            }
            slot[1] = string.high;
            slot[2] = known[one];
            __atomic_store_n(slot, string.low, __ATOMIC_RELEASE);
        }
    }
    let_go(&buffers);
    return known ? PyLong_FromLongLong(lost) : NULL;
}
