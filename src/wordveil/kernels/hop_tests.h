/* Whether a word lies so many hops from a source: each test looks only as far as it must. Included by graph_draws.h. */

#define AFAR 32 /* words that the others are seen from: as in hop_draws.py */
#define EDGES_TRIED 16384 /* to find a way to a word around the source, before what is around it is listed itself */
#define EAGER 2           /* times as long as to search an edge takes to list one */
#define SEARCHED 16       /* edges at a word, about: so many times as many are looked at for one more level of a search */

#define UNTOLD -1         /* whether that is so */

/* Whether a neighbour of a word is among those that the row of the source tells apart. */
static inline int touches_row(const Graph *graph, const uint64_t *row, int32_t word)
{
    const int32_t stop = graph->indptr[word + 1];
    for (int32_t edge = graph->indptr[word]; edge < stop; edge++)
        if (hops_in(row, graph->indices[edge]) < FARTHER)
            return 1;
    return 0;
}

/* Whether a way of so many edges, or fewer, leads from a word to one that is told apart in a row or, without one, that is
   listed: the first that comes by will do. It is unknown once there is no patience left. */
static int is_joined(const Around *around, const uint64_t *row, int32_t word, int64_t edges, int64_t *patience)
{
    const Graph *graph = around->graph;
    const int32_t first = graph->indptr[word], stop = graph->indptr[word + 1];
    *patience -= stop - first;
    /* Here too, and not only after the last step: where one word alone is listed, a longer way need not lead there. */
    if (row ? touches_row(graph, row, word) : touches(around, word, around->radius) != 0)
        return 1;
    if (edges == 1)
        return 0;
    for (int32_t edge = first; edge < stop && edge < first + AHEAD; edge++)
        fetch_edges(graph, graph->indices[edge]);
    for (int32_t edge = first; *patience > 0 && edge < stop; edge++) {
        if (edge + AHEAD < stop)
            fetch_edges(graph, graph->indices[edge + AHEAD]);
        if (is_joined(around, row, graph->indices[edge], edges - 1, patience))
            return 1;
    }
    return 0;
}

/* Whether a word is at most so many hops away, by a search from either end, each step by the one that has fewer words to look at. */
static int is_met(Around *around, int32_t word, int64_t most)
{
    const int32_t *indptr = around->graph->indptr, *indices = around->graph->indices;
    const uint32_t trial = ++around->trial;
    int64_t depth = 0, begin = 0, end = 1;
    int32_t *others = around->others;
    uint32_t *met = around->met;
    others[0] = word;
    met[word] = trial;
    /* the two ends are more than radius + depth hops apart */
    while (around->radius + depth < most && begin < end) {
        if (around->levels[around->radius + 1] - around->levels[around->radius] < end - begin) {
            grow_around(around);
            for (int64_t place = around->levels[around->radius]; place < around->levels[around->radius + 1]; place++)
                if (met[around->queue[place]] == trial)
                    return 1;
            continue;
        }
        const int64_t level = end;
        const int is_last = around->radius + ++depth == most;
        for (; begin < level; begin++) {
            if (touches(around, others[begin], around->radius))
                return 1;
            const int32_t from = indptr[others[begin]], stop = is_last ? 0 : indptr[others[begin] + 1];
            for (int32_t edge = from; edge < stop; edge++) {
                others[end] = indices[edge];
                end += met[indices[edge]] != trial;
                met[indices[edge]] = trial;
            }
            around->spent += indptr[others[begin] + 1] - from;
        }
    }
    return 0;
}

/* About how many edges begin at the last level that is listed. */
static inline int64_t edges_about(const Around *around)
{
    return SEARCHED * (around->levels[around->radius + 1] - around->levels[around->radius]);
}

/* About how many edges a search of some levels looks at that ends where it meets a word listed around the source. */
static int64_t to_search(const Around *around, int64_t levels)
{
    const int64_t most = SEARCHED * (around->graph->words / around->levels[around->radius + 1]);
    int64_t edges = 1;
    while (levels-- && edges < most)
        edges *= SEARCHED;
    return edges < most ? edges : most;
}

/* Whether a word is from `least` to `most` hops away, by what is listed around the source, of which more is from time to
   time. */
static int is_listed_between(Around *around, int32_t word, int64_t least, int64_t most)
{
    int64_t patience = EDGES_TRIED, next;
    list_near(around);
    while (around->radius < most && (next = EAGER * edges_about(around)) <
                                        (around->spent + to_search(around, most - around->radius))) {
        note_spent(around, next);
        grow_around(around);
    }
    if (around->level[word]) {
        const int64_t away = level_of(around, word);
        return away >= least && away <= most;
    }
    if (around->radius >= most || (around->radius + 1 < least && touches(around, word, around->radius)))
        return 0;
    if (most + 1 >= around->hops)
        return 1;
    int found = is_joined(around, NULL, word, most - around->radius, &patience);
    around->spent += EDGES_TRIED - patience;
    if (!found && patience <= 0) {
        const int64_t before = around->spent;
        found = is_met(around, word, most);
        note_spent(around, around->spent > before ? around->spent - before : 0);
    }
    note_spent(around, EDGES_TRIED - patience);
    return found;
}

/* Whether a word is farther than so many hops, seen from others: the hops from there to both differ by no more than those
   between the two. */
static inline int is_far(const Around *around, int32_t word, int64_t most)
{
    const uint8_t *here = around->afar + (int64_t)AFAR * around->source, *there = around->afar + (int64_t)AFAR * word;
    uint8_t apart = 0; /* bytes, of which many are compared at once */
    for (int one = 0; one < AFAR; one++) {
        const uint8_t size = here[one] > there[one] ? (uint8_t)(here[one] - there[one]) : (uint8_t)(there[one] - here[one]);
        apart = size > apart ? size : apart;
    }
    return apart > most;
}

/* Whether a word is beyond the reach, and the step from there if there is one, and at most `most` hops away, as far as the
   row of the source tells. */
static inline int by_row(const Around *around, int32_t word, int64_t most)
{
    const int64_t hops = hops_in(around->row, word), nearest = nearest_of(around->kept), low = hops ? nearest + hops : 0;
    const int64_t high = hops < FARTHER ? nearest + hops : around->hops - 1, least = around->reach + around->steps + 1;
    return low >= least && high <= most ? 1 : high < least || low > most ? 0 : UNTOLD;
}

/* The same, where neither a row tells it nor what is seen from afar. */
static int is_beyond(Around *around, int32_t word, int64_t most)
{
    const int64_t least = around->reach + around->steps + 1;
    if (around->row && hops_in(around->row, word) == FARTHER) {
        const int64_t low = nearest_of(around->kept) + FARTHER;
        int64_t patience = EDGES_TRIED;
        if (low >= least && is_joined(around, around->row, word, most - low + 1, &patience))
            return 1;
        if (low >= least && patience > 0)
            return 0;
    }
    return is_listed_between(around, word, least, most);
}
