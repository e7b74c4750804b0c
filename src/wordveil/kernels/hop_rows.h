/* The hops from many words to every word, found together. Included by graph_draws.h. */

#define PLANES 2 /* bits of a number of hops: as many hops as are told apart last are 1, */
#define FARTHER 3 /* one more are 2, more are this, and fewer are 0 */
#define LANE 64   /* searches that go on together, */
#define LANES_MOST 8 /* and so many times as many, or half of that where what they hold of all words would be more than: */
#define HELD ((int64_t)200 << 20) /* bytes; as in hop_draws.py */
#define LISTED 2                  /* hops that are no work for searches together: few words are so near */
#define SPARED ((size_t)32 << 20) /* bytes that wait for the next searches: to clear new ones takes as long as to search */

static inline int64_t row_size(const Graph *graph)
{
    return PLANES * (graph->words / 64 + 1);
}

/* How many hops rows do not tell apart: it is known before there is a row. */
static inline int64_t nearest_of(const Kept *kept)
{
    return __atomic_load_n(kept->used + 1, __ATOMIC_RELAXED);
}

/* The hops in a row: of 64 words the lower bits stand first, then the higher. */
static inline int64_t hops_in(const uint64_t *row, int32_t word)
{
    const uint64_t *group = row + PLANES * (int64_t)(word >> 6);
    return (int64_t)((group[0] >> (word & 63) & 1) | (group[1] >> (word & 63) & 1) << 1);
}

#if defined(__x86_64__)
#define LANES 8
#define TARGET __attribute__((target("avx512f")))
#define NAME(what) what##_8_avx512
#include "hop_searches.h"

#define LANES 4
#define TARGET __attribute__((target("avx512f")))
#define NAME(what) what##_4_avx512
#include "hop_searches.h"

#define LANES 8
#define TARGET __attribute__((target("avx2")))
#define NAME(what) what##_8_avx2
#include "hop_searches.h"

#define LANES 4
#define TARGET __attribute__((target("avx2")))
#define NAME(what) what##_4_avx2
#include "hop_searches.h"
#endif

#define LANES 8
#define TARGET 
#define NAME(what) what##_8_plain
#include "hop_searches.h"

#define LANES 4
#define TARGET 
#define NAME(what) what##_4_plain
#include "hop_searches.h"

/* How many lanes go on together for so many searches: fewer where that would take too much memory. */
static int lanes_for(const Graph *graph, int64_t count)
{
    return count <= 4 * LANE || (3 + PLANES) * 8 * 8 * graph->words > HELD ? 4 : 8;
}

/* How many numbers of 64 bits searches of so many lanes work with; after them is room for all their rows. */
static inline int64_t searches_of(const Graph *graph, int lanes)
{
    return 3 * lanes * (graph->words + 64);
}

static uint64_t *spared; /* what the last searches worked with, or NULL; it has SPARED bytes */

static inline size_t memory_for(const Graph *graph, int lanes)
{
    return sizeof(uint64_t) * (size_t)(3 + PLANES) * (size_t)lanes * (size_t)(graph->words + 64);
}

/* The memory that searches of so many lanes take, with room for their rows; NULL where there is none. */
static uint64_t *memory_of_searches(const Graph *graph, int lanes)
{
    void *memory = NULL;
    size_t size = memory_for(graph, lanes);
    if (size <= SPARED && (memory = __atomic_exchange_n(&spared, NULL, __ATOMIC_ACQ_REL)))
        return memory;
    if (size <= SPARED)
        size = SPARED; /* what is not written to takes no memory */
    if (posix_memalign(&memory, 1 << 21, size))
        return NULL;
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, size, MADV_HUGEPAGE); /* every edge leads to another page */
#endif
    return memory;
}

static void let_searches_go(const Graph *graph, int lanes, uint64_t *memory)
{
    if (memory && memory_for(graph, lanes) <= SPARED)
        memory = __atomic_exchange_n(&spared, memory, __ATOMIC_ACQ_REL);
    free(memory);
}

/* Search from some words, no more than 64 in each lane; the rows go to `out`. */
static void find_rows(const Graph *graph, const int64_t *sources, int64_t count, int lanes, int64_t nearest, uint64_t *memory,
                      uint64_t **out)
{
#if defined(__x86_64__)
    if (runs_here("avx512"))
        (lanes == 8 ? rows_8_avx512 : rows_4_avx512)(graph, sources, count, nearest, memory, out);
    else if (runs_here("avx2"))
        (lanes == 8 ? rows_8_avx2 : rows_4_avx2)(graph, sources, count, nearest, memory, out);
    else
#endif
        (lanes == 8 ? rows_8_plain : rows_4_plain)(graph, sources, count, nearest, memory, out);
}

/* The rows of some sources that follow one another, found as they come and forgotten: there is no room to keep them. */
typedef struct {
    const uint8_t *wants; /* which sources have one, or NULL */
    int64_t taken, count;
    int lanes;
    uint64_t *memory, *rows[LANE * LANES_MOST];
} Window;

/* The row of a source that has one. Rows are found of many sources to come at once. NULL where there is no memory. */
static const uint64_t *next_row(Window *window, const Graph *graph, int64_t nearest, const int64_t *sources, int64_t source,
                                int64_t count)
{
    int64_t chosen[LANE * LANES_MOST], left = 0;
    if (window->taken < window->count)
        return window->rows[window->taken++];
    for (int64_t one = source; one < count; one++)
        left += window->wants[one] != 0;
    if (!window->memory) {
        window->lanes = lanes_for(graph, left);
        window->memory = memory_of_searches(graph, window->lanes);
        if (!window->memory)
            return NULL;
    }
    window->taken = window->count = 0;
    for (; source < count && window->count < LANE * window->lanes; source++)
        if (window->wants[source]) {
            window->rows[window->count] = window->memory + searches_of(graph, window->lanes) + window->count * row_size(graph);
            chosen[window->count++] = sources[source];
        }
    find_rows(graph, chosen, window->count, window->lanes, nearest, window->memory, window->rows);
    return window->rows[window->taken++];
}

/* Find the hops from some words to every word, and keep them, as far as there is room. Returns 0 where there is no memory. */
static int find_and_keep(const Graph *graph, const int64_t *sources, int64_t count, const Kept *kept)
{
    const int lanes = lanes_for(graph, count);
    uint64_t *memory = memory_of_searches(graph, lanes);
    int has_room = memory != NULL;
    while (has_room && count) {
        uint64_t *rows[LANE * LANES_MOST];
        int64_t places[LANE * LANES_MOST], some = 0;
        while (some < count && some < LANE * lanes && has_room) {
            rows[some] = room_for(kept, 8 * row_size(graph), places + some);
            has_room = rows[some] != NULL;
            some += has_room;
        }
        find_rows(graph, sources, some, lanes, nearest_of(kept), memory, rows);
        for (int64_t one = 0; one < some; one++)
            __atomic_store_n(kept->entries + ENTRIES * sources[one] + ROW, places[one], __ATOMIC_RELEASE);
        sources += some;
        count -= some;
    }
    let_searches_go(graph, lanes, memory);
    return memory != NULL;
}
