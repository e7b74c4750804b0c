/* The hops from many words to every word, found together and kept. Included by graph_draws.h. */

#define PLANES 4 /* bits of a number of hops: what does not fit counts as the largest */
#define FARTHEST ((1 << PLANES) - 1)
#define LANE 64      /* searches that go on together, */
#define MANY_LANES 4 /* and so many times as many where what they hold of all words fits into a cache, */
#define FEW_LANES 2
#define LARGE 100000 /* as it does of fewer words: as in hop_draws.py */
#define SPARSE 8     /* times as many words as were just reached: then these tell their neighbours, which do not ask */

static inline int64_t row_size(const Graph *graph)
{
    return PLANES * (graph->words / 64 + 1);
}

/* The hops in a row: of 64 words the lowest bits stand first, then the next. */
static inline int64_t hops_in(const uint64_t *row, int32_t word)
{
    const uint64_t *group = row + PLANES * (int64_t)(word >> 6);
    uint64_t hops = 0;
    for (int plane = 0; plane < PLANES; plane++)
        hops |= (group[plane] >> (word & 63) & 1) << plane;
    return (int64_t)hops;
}

/* Turn 64 rows of 64 bits into columns: halves change places, then quarters of halves, and so on. */
static void turn_bits(uint64_t bits[64])
{
    uint64_t mask = 0xffffffff;
    for (int width = 32; width; width >>= 1, mask ^= mask << width)
        for (int first = 0; first < 64; first += 2 * width)
            for (int row = first; row < first + width; row++) {
                uint64_t swap = (bits[row] >> width ^ bits[row + width]) & mask;
                bits[row + width] ^= swap;
                bits[row] ^= swap << width;
            }
}

/* Search from some words, 64 in a lane; `memory` holds as many numbers as it takes, and the rows go to `out`. Whether a word
   has been reached is a bit for each search, so that one pass over the edges moves all of them a hop further. */
static inline __attribute__((always_inline)) void search_lanes(const Graph *graph, const int64_t *sources, int64_t count,
                                                               const int lanes, uint64_t *memory, uint64_t **out)
{
    const int32_t *indptr = graph->indptr, *indices = graph->indices;
    const int64_t words = graph->words, size = words * lanes;
    uint64_t *shell = memory, *next = shell + size, *unseen = next + size, *planes = unseen + size;
    int64_t full = count; /* words with anything in the shell */
    memset(shell, 0, 8 * (size_t)size);
    memset(unseen, 0xff, 8 * (size_t)size);
    memset(planes, 0, 8 * (size_t)(PLANES * size));
    for (int64_t source = 0; source < count; source++) {
        const int64_t at = sources[source] * lanes + source / 64;
        shell[at] |= (uint64_t)1 << (source % 64);
        unseen[at] &= ~((uint64_t)1 << (source % 64));
    }
    for (int hop = 1; full && hop <= FARTHEST; hop++) {
        const int is_sparse = full * SPARSE < words;
        if (is_sparse)
            memset(next, 0, 8 * (size_t)size);
        for (int64_t word = 0; is_sparse && word < words; word++) {
            const uint64_t *here = shell + word * lanes;
            uint64_t any = 0;
            for (int lane = 0; lane < lanes; lane++)
                any |= here[lane];
            for (int32_t edge = indptr[word]; any && edge < indptr[word + 1]; edge++) {
                uint64_t *other = next + (int64_t)indices[edge] * lanes;
                for (int lane = 0; lane < lanes; lane++)
                    other[lane] |= here[lane];
            }
        }
        full = 0;
        for (int64_t word = 0; word < words; word++) {
            uint64_t reached[MANY_LANES] = {0}, missing = 0, *here = unseen + word * lanes, *own = planes + word * PLANES * lanes;
            for (int lane = 0; lane < lanes; lane++)
                missing |= here[lane];
            uint64_t found = 0;
            if (missing) {
                const int32_t stop = is_sparse ? 0 : indptr[word + 1];
                for (int lane = 0; is_sparse && lane < lanes; lane++)
                    reached[lane] = next[word * lanes + lane];
                for (int32_t edge = indptr[word]; edge < stop; edge++) {
                    const uint64_t *other = shell + (int64_t)indices[edge] * lanes;
                    for (int lane = 0; lane < lanes; lane++)
                        reached[lane] |= other[lane];
                }
                for (int lane = 0; lane < lanes; lane++) {
                    reached[lane] = hop == FARTHEST ? here[lane] : reached[lane] & here[lane];
                    here[lane] &= ~reached[lane];
                    found |= reached[lane];
                }
                for (int plane = 0; plane < PLANES; plane++)
                    if (hop >> plane & 1)
                        for (int lane = 0; lane < lanes; lane++)
                            own[plane * lanes + lane] |= reached[lane];
            }
            for (int lane = 0; lane < lanes; lane++)
                next[word * lanes + lane] = reached[lane];
            full += found != 0;
        }
        uint64_t *swap = shell;
        shell = next;
        next = swap;
    }
    for (int64_t first = 0; first < words; first += 64)
        for (int64_t lane = 0; 64 * lane < count; lane++)
            for (int plane = 0; plane < PLANES; plane++) {
                uint64_t bits[64] = {0};
                for (int64_t word = first; word < words && word < first + 64; word++)
                    bits[word - first] = planes[(word * PLANES + plane) * lanes + lane];
                turn_bits(bits);
                for (int64_t source = 64 * lane; source < count && source < 64 * lane + 64; source++)
                    out[source][PLANES * (first / 64) + plane] = bits[source % 64];
            }
}

/* Find the hops from some words to every word, and keep them, as far as there is room. Returns 0 where there is no memory. */
static int find_rows(const Graph *graph, const int64_t *sources, int64_t count, const Kept *kept)
{
    const int lanes = graph->words < LARGE ? MANY_LANES : FEW_LANES;
    uint64_t *memory = malloc(sizeof(uint64_t) * (size_t)((3 + PLANES) * lanes * (graph->words + 1)));
    int has_room = memory != NULL;
    while (has_room && count) {
        uint64_t *rows[LANE * MANY_LANES];
        int64_t places[LANE * MANY_LANES], some = 0;
        while (some < count && some < LANE * lanes && has_room) {
            rows[some] = room_for(kept, 8 * row_size(graph), places + some);
            has_room = rows[some] != NULL;
            some += has_room;
        }
        if (lanes == MANY_LANES)
            search_lanes(graph, sources, some, MANY_LANES, memory, rows);
        else
            search_lanes(graph, sources, some, FEW_LANES, memory, rows);
        for (int64_t one = 0; one < some; one++)
            __atomic_store_n(kept->entries + ENTRIES * sources[one] + ROW, places[one], __ATOMIC_RELEASE);
        sources += some;
        count -= some;
    }
    free(memory);
    return memory != NULL;
}
