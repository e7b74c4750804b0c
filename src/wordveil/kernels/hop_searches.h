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
   In `memory` stand, of each word, the searches that reach it now, that will next, and that have not; and then, bit by bit,
   the hops after which each did. */
TARGET static void NAME(search)(const Graph *graph, const int64_t *sources, int64_t count, uint64_t *memory)
{
    const int32_t *indptr = graph->indptr, *indices = graph->indices;
    const int64_t words = graph->words;
    LANES_OF *shell = (LANES_OF *)memory, *next = shell + words, *unseen = next + words;
    LANES_OF *planes = (LANES_OF *)(memory + planes_at(graph, LANES)), all;
    int64_t full = count; /* words with anything in the shell */
    for (int lane = 0; lane < LANES; lane++) {
        const int64_t left = count - 64 * lane;
        all[lane] = left >= 64 ? ~(uint64_t)0 : left > 0 ? ((uint64_t)1 << left) - 1 : 0;
    }
    memset(shell, 0, sizeof *shell * (size_t)words);
    memset(planes, 0, sizeof *planes * PLANES * (size_t)words);
    for (int64_t word = 0; word < words; word++)
        unseen[word] = all;
    for (int64_t source = 0; source < count; source++) {
        uint64_t *now = (uint64_t *)(shell + sources[source]), *left = (uint64_t *)(unseen + sources[source]);
        now[source / 64] |= (uint64_t)1 << (source % 64);
        left[source / 64] &= ~((uint64_t)1 << (source % 64));
    }
    for (int hop = 1; full && hop < NEAREST + LAST; hop++) {
        const int is_sparse = full * SPARSE < words, told = hop > NEAREST ? hop - NEAREST : 0;
        if (is_sparse)
            memset(next, 0, sizeof *next * (size_t)words);
        for (int64_t word = 0; is_sparse && word < words; word++) {
            const LANES_OF here = shell[word];
            const int32_t stop = NAME(any)(&here) ? indptr[word + 1] : 0;
            for (int32_t edge = indptr[word]; edge < stop; edge++)
                next[indices[edge]] |= here;
        }
        full = 0;
        for (int64_t word = 0; word < words; word++) {
            const LANES_OF missing = unseen[word];
            LANES_OF reached = {0};
            if (NAME(any)(&missing)) {
                const int32_t stop = is_sparse ? 0 : indptr[word + 1];
                if (is_sparse)
                    reached = next[word];
                for (int32_t edge = indptr[word]; edge < stop; edge++)
                    reached |= shell[indices[edge]];
                reached &= missing;
                unseen[word] = missing & ~reached;
                full += NAME(any)(&reached);
                for (int plane = 0; plane < PLANES; plane++)
                    if (told >> plane & 1)
                        planes[word * PLANES + plane] |= reached;
            }
            next[word] = reached;
        }
        LANES_OF *swap = shell;
        shell = next;
        next = swap;
    }
    /* What is left is farther. */
    for (int64_t word = 0; word < words; word++)
        for (int plane = 0; plane < PLANES; plane++)
            planes[word * PLANES + plane] |= unseen[word];
}

TARGET static void NAME(rows)(const Graph *graph, const int64_t *sources, int64_t count, uint64_t *memory, uint64_t **out)
{
    NAME(search)(graph, sources, count, memory);
    const uint64_t *planes = memory + planes_at(graph, LANES);
    for (int64_t first = 0; first < graph->words; first += 64)
        for (int64_t lane = 0; 64 * lane < count; lane++)
            for (int plane = 0; plane < PLANES; plane++) {
                uint64_t bits[64] = {0};
                const int64_t stop = graph->words - first < 64 ? graph->words - first : 64;
                for (int64_t word = 0; word < stop; word++)
                    bits[word] = planes[((first + word) * PLANES + plane) * LANES + lane];
                turn_bits(bits);
                const int64_t end = count - 64 * lane < 64 ? count - 64 * lane : 64;
                for (int64_t source = 0; source < end; source++)
                    out[64 * lane + source][PLANES * (first / 64) + plane] = bits[source];
            }
}

#undef LANES_OF
#undef LANES
#undef TARGET
#undef NAME
