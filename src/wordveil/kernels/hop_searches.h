/* Searches from many words at once, for one kind of processor and a number of lanes. Included by hop_rows.h once for each,
   with LANES, TARGET and NAME. */

typedef uint64_t NAME(lanes) __attribute__((vector_size(8 * LANES)));
#define LANES_OF NAME(lanes)

TARGET static inline int NAME(any)(const LANES_OF *bits)
{
    uint64_t any = 0;
    for (int lane = 0; lane < LANES; lane++)
        any |= (*bits)[lane];
    return any != 0;
}

/* Whether a word has been reached is a bit for each search, so that one pass over the edges moves all of them a hop further.
   In `memory` stand, of each word, the searches that have reached it, then those that reach it after two numbers of hops
   that follow one another. The last two are those after `nearest` hops and one, and two, in the end: `last` tells where. */
TARGET static LANES_OF *NAME(search)(const Graph *graph, const int64_t *sources, int64_t count, int64_t nearest, uint64_t *memory)
{
    const int32_t *indptr = graph->indptr, *indices = graph->indices;
    const int64_t words = graph->words, listed = nearest < LISTED ? nearest : LISTED;
    LANES_OF *seen = (LANES_OF *)memory, *shell = seen + words, *next = shell + words, all;
    uint64_t *queue = (uint64_t *)next; /* which is not needed yet */
    for (int lane = 0; lane < LANES; lane++) {
        const int64_t left = count - 64 * lane;
        all[lane] = left >= 64 ? ~(uint64_t)0 : left > 0 ? ((uint64_t)1 << left) - 1 : 0;
    }
    memset(seen, 0, 2 * sizeof *seen * (size_t)words);
    /* The first few words are found one search at a time: a pass looks at all. */
    for (int64_t source = 0; source < count; source++) {
        const uint64_t bit = (uint64_t)1 << (source % 64);
        uint64_t *its = (uint64_t *)seen + source / 64, *reached = (uint64_t *)shell + source / 64;
        int64_t begin = 0, end = 1;
        queue[0] = (uint64_t)sources[source];
        its[LANES * sources[source]] |= bit;
        for (int64_t hop = 0; hop < listed; hop++)
            for (const int64_t stop = end; begin < stop; begin++)
                for (int32_t edge = indptr[queue[begin]]; edge < indptr[queue[begin] + 1]; edge++) {
                    uint64_t *there = its + (int64_t)LANES * indices[edge];
                    queue[end] = (uint64_t)indices[edge];
                    end += !(*there & bit);
                    *there |= bit;
                }
        for (; begin < end; begin++)
            reached[LANES * queue[begin]] |= bit;
    }
    for (int64_t hop = listed + 1; hop <= nearest + 2; hop++) {
        for (int64_t word = 0; word < words; word++) {
            const LANES_OF missing = all & ~seen[word];
            LANES_OF reached = {0};
            if (NAME(any)(&missing)) {
                const int32_t stop = indptr[word + 1];
                for (int32_t edge = indptr[word]; edge < stop; edge++)
                    reached |= shell[indices[edge]];
                reached &= missing;
                seen[word] |= reached;
            }
            next[word] = reached;
        }
        LANES_OF *swap = shell;
        shell = next;
        next = swap;
    }
    return shell;
}

TARGET static void NAME(rows)(const Graph *graph, const int64_t *sources, int64_t count, int64_t nearest, uint64_t *memory,
                              uint64_t **out)
{
    const int64_t words = graph->words;
    const LANES_OF *last = NAME(search)(graph, sources, count, nearest, memory), *seen = (const LANES_OF *)memory;
    const LANES_OF *one = last == seen + words ? last + words : seen + words;
    for (int64_t first = 0; first < words; first += 64) {
        LANES_OF bits[PLANES][64] = {{{0}}};
        const int64_t some = words - first < 64 ? words - first : 64;
        for (int64_t word = 0; word < some; word++) {
            bits[0][word] = one[first + word] | ~seen[first + word];
            bits[1][word] = last[first + word] | ~seen[first + word];
        }
        for (int plane = 0; plane < PLANES; plane++) {
            /* Turn 64 rows of 64 bits into columns: halves change places, then quarters of halves, and so on. */
            uint64_t mask = 0xffffffff;
            for (int width = 32; width; width >>= 1, mask ^= mask << width)
                for (int begin = 0; begin < 64; begin += 2 * width)
                    for (int row = begin; row < begin + width; row++) {
                        const LANES_OF swap = (bits[plane][row] >> width ^ bits[plane][row + width]) & mask;
                        bits[plane][row + width] ^= swap;
                        bits[plane][row] ^= swap << width;
                    }
        }
        for (int64_t source = 0; source < count; source++)
            for (int plane = 0; plane < PLANES; plane++)
                out[source][PLANES * (first / 64) + plane] = bits[plane][source % 64][source / 64];
    }
}

#undef LANES_OF
#undef LANES
#undef TARGET
#undef NAME
