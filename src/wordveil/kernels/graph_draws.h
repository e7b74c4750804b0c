/* Draws on a graph, by rejection: hops.py says why their law is exact. Included by native.c. */

#include "around.h"
#include "random_bits.h"

#define LARGER 4          /* times as many words are listed after so many attempts in vain: as in hops.py */
#define PATIENCE 16
#define EDGES_TRIED 16384 /* to find a way to a word around the source, before what is around it is listed itself */
#define EAGER 2           /* one more level is listed once this share of what it takes went into searches without it */

/* A word one hop beyond the reach, by an edge that leads there: each has as many as it has neighbours within, and is taken
   for one of them. Or -1. */
static int64_t step_out(Around *around, uint64_t which, uint64_t taken)
{
    const int32_t *indptr = around->graph->indptr, *indices = around->graph->indices;
    const Near *near = &around->near;
    int64_t low = near->levels[near->reach], high = near->levels[near->reach + 1] - 1, first = near->edges[low];
    int64_t edge = first + one_of(which, near->edges[high + 1] - first), within = 0;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (near->edges[middle + 1] > edge)
            high = middle;
        else
            low = middle + 1;
    }
    const int32_t word = indices[indptr[near->queue[low]] + (edge - near->edges[low])];
    if (around->blocked && around->blocked[word])
        return -1;
    list_near(around);
    const uint32_t mark = around->mark, last = mark + (uint32_t)near->reach;
    if (around->seen[word] >= mark && around->seen[word] <= last)
        return -1;
    for (int32_t back = indptr[word]; back < indptr[word + 1]; back++)
        within += around->seen[indices[back]] == last;
    return one_of(taken, within) == 0 ? word : -1;
}

/* Whether a neighbour of a word is one of some words. */
static inline int touches(const Graph *graph, const uint64_t *some, int32_t word)
{
    const int32_t *indices = graph->indices, stop = graph->indptr[word + 1];
    uint64_t found = 0;
    for (int32_t edge = graph->indptr[word]; edge < stop; edge++)
        found |= is_in(some, indices[edge]);
    return (int)found;
}

/* Whether a way of so many edges, or fewer, leads from a word to one of some: the first that comes by will do. It is unknown
   once there is no patience left. */
static int is_joined(const Graph *graph, const uint64_t *some, int32_t word, int64_t edges, int64_t *patience)
{
    *patience -= graph->indptr[word + 1] - graph->indptr[word];
    /* Here too, and not only after the last step: where some is one word alone, a longer way need not lead there. */
    if (touches(graph, some, word))
        return 1;
    if (edges == 1)
        return 0;
    const int32_t first = graph->indptr[word], stop = graph->indptr[word + 1];
    for (int32_t edge = first; edge < stop && edge < first + AHEAD; edge++)
        fetch_edges(graph, graph->indices[edge]);
    for (int32_t edge = first; *patience > 0 && edge < stop; edge++) {
        if (edge + AHEAD < stop)
            fetch_edges(graph, graph->indices[edge + AHEAD]);
        if (is_joined(graph, some, graph->indices[edge], edges - 1, patience))
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
            if (touches(around->graph, around->listed, others[begin]))
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

/* The same, by what is listed around the source, of which more is from time to time. */
static int is_listed_between(Around *around, int32_t word, int64_t most)
{
    const int64_t reach = around->near.reach;
    int64_t patience = EDGES_TRIED;
    list_near(around);
    while (around->spent > edges_of(around, around->radius) && around->radius < most)
        grow_around(around);
    if (around->seen[word] >= around->mark) {
        int64_t away = around->seen[word] - around->mark;
        return away > reach + 1 && away <= most;
    }
    if (around->radius >= most || (around->radius == reach && touches(around->graph, around->listed, word)))
        return 0;
    if (most + 1 >= around->hops)
        return 1;
    int found = is_joined(around->graph, around->listed, word, most - around->radius, &patience);
    around->spent += EDGES_TRIED - patience;
    note_spent(around, spent_on(around) + EDGES_TRIED - patience);
    return found || (patience <= 0 && is_met(around, word, most));
}

/* Whether a word is more than one hop beyond the reach, and at most `most` away. */
static int is_between(Around *around, int32_t word, int64_t most)
{
    const Near *near = &around->near;
    int64_t patience = EDGES_TRIED, next;
    while (around->farther >= 0 && around->farther < FARTHER && near->reach + around->farther < most) {
        next = around->farther ? (int64_t)around->far[around->farther - 1][0]
                               : near->edges[near->levels[near->reach + 1]] - near->edges[near->levels[near->reach]];
        if (spent_on(around) * EAGER < next)
            break;
        note_spent(around, 0);
        list_farther(around);
    }
    if (around->farther <= 0)
        return is_listed_between(around, word, most);
    if (is_in(around->far[0] + 1, word))
        return 0;
    if (most + 1 >= around->hops)
        return 1;
    const int64_t left = most - near->reach - around->farther;
    if (left <= 0)
        return (int)is_in(around->far[most - near->reach - 1] + 1, word);
    const uint64_t *some = around->far[around->farther - 1] + 1;
    if (is_in(some, word))
        return 1;
    int found = is_joined(around->graph, some, word, left, &patience);
    note_spent(around, spent_on(around) + EDGES_TRIED - patience);
    return found || (patience <= 0 && is_listed_between(around, word, most));
}

/* One attempt with these random bits: a word, or -1. */
static int64_t attempt(Around *around, const Blocks *blocks, int64_t lane)
{
    const Near *near = &around->near;
    int64_t place = near->reach + 2, most = place;
    const double aim = uniform_of(blocks, lane, 0) * near->sums[place];
    while (place > 0 && near->sums[place - 1] > aim)
        place--;
    if (place > 1) {
        int64_t level = near->allowed_levels[most - place], end = near->allowed_levels[most - place + 1];
        return end > level ? near->allowed[level + one_of(bits_of(blocks, lane, 2), end - level)] : -1;
    }
    if (place == 1)
        return step_out(around, bits_of(blocks, lane, 2), bits_of(blocks, lane, 3));
    int64_t guess = one_of(bits_of(blocks, lane, 2), around->graph->words);
    if (around->blocked && around->blocked[guess])
        return -1;
    double limit = uniform_of(blocks, lane, 3) * around->weights[most];
    while (most + 1 < around->hops && around->weights[most + 1] > limit)
        most++;
    return is_between(around, (int32_t)guess, most) ? guess : -1;
}

/* Fetch what attempts will look at, from one lane up to another: it lies anywhere in memory. */
static void foresee(const Around *around, const Blocks *blocks, int64_t lane, int64_t last)
{
    const Near *near = &around->near;
    const int64_t most = near->reach + 2;
    int32_t guesses[TOGETHER];
    int count = 0;
    for (; lane < last; lane++) {
        int64_t place = most;
        const double aim = uniform_of(blocks, lane, 0) * near->sums[place];
        while (place > 0 && near->sums[place - 1] > aim)
            place--;
        if (place > 1) {
            int64_t level = near->allowed_levels[most - place], end = near->allowed_levels[most - place + 1];
            __builtin_prefetch(near->allowed + level + one_of(bits_of(blocks, lane, 2), end - level));
        } else if (place == 0) {
            int32_t guess = guesses[count++] = (int32_t)one_of(bits_of(blocks, lane, 2), around->graph->words);
            __builtin_prefetch(around->graph->indptr + guess);
            for (int64_t level = 0; level < around->farther; level++)
                __builtin_prefetch(around->far[level] + 1 + (guess >> 6));
        }
    }
    for (int guess = 0; guess < count; guess++)
        fetch_edges(around->graph, guesses[guess]);
}

/* Fetch what is kept of the sources to come. */
static inline void foresee_sources(const Around *around, const int64_t *sources, int64_t left)
{
    if (!around->kept)
        return;
    if (left > 2 * AHEAD)
        __builtin_prefetch(around->kept->entries + (int64_t)ENTRIES * sources[2 * AHEAD]);
    if (left > AHEAD) {
        int64_t place = around->kept->entries[(int64_t)ENTRIES * sources[AHEAD] + NEAR];
        for (int64_t line = 0; place > 0 && line < 4; line++)
            __builtin_prefetch(around->kept->room + place + 8 * line);
    }
}

/* The draws of source s are those from starts[s] to starts[s+1]. Returns 1, or -1 where all words are blocked. */
static int draw_all(Around *around, const Stream *stream, const int64_t *sources, int64_t count, const int64_t *starts,
                    int64_t *waiting, int64_t *out)
{
    Blocks firsts, others;
    int64_t made = starts[0], end = starts[count], some[TOGETHER]; /* up to which draw there are first blocks */
    for (int64_t source = 0; source < count; source++) {
        if (starts[source] == starts[source + 1])
            continue;
        foresee_sources(around, sources + source, count - source);
        begin_source(around, (int32_t)sources[source], starts[source + 1] - starts[source]);
        int64_t ball = around->ball, left = 0, begin = starts[0];
        for (int64_t draw = starts[source], seen = draw; draw < starts[source + 1]; draw++) {
            if (draw == made) {
                for (int64_t lane = 0; lane < TOGETHER; lane++)
                    some[lane] = made + lane;
                made = made + TOGETHER < end ? made + TOGETHER : end;
                fill_blocks(stream, some, made - draw, 0, &firsts);
            }
            if (draw == seen) {
                seen = made < starts[source + 1] ? made : starts[source + 1];
                foresee(around, &firsts, (draw - begin) % TOGETHER, (seen - 1 - begin) % TOGETHER + 1);
            }
            out[draw] = attempt(around, &firsts, (draw - begin) % TOGETHER);
            waiting[left] = draw;
            left += out[draw] < 0;
        }
        for (uint64_t number = 1; left; number++) {
            int64_t still = 0;
            if (number % PATIENCE == 0 && (ball == around->ball || ball < around->graph->words)) {
                list_near(around);
                around->farther = -1; /* those are for the reach before */
                reach_to(around, ball *= LARGER);
            }
            if (!(around->near.sums[around->near.reach + 2] > 0.0))
                return -1;
            for (int64_t first = 0; first < left; first += TOGETHER) {
                const int64_t last = left - first < TOGETHER ? left - first : TOGETHER;
                fill_blocks(stream, waiting + first, last, number, &others);
                foresee(around, &others, 0, last);
                for (int64_t lane = 0; lane < last; lane++) {
                    const int64_t draw = waiting[first + lane];
                    out[draw] = attempt(around, &others, lane);
                    waiting[still] = draw; /* never ahead of what is read */
                    still += out[draw] < 0;
                }
            }
            left = still;
        }
    }
    return 1;
}

/* Where in some memory, of which so many numbers of 64 bits are taken, items of a size lie; they are taken then. */
static void *next_of(uint64_t *begin, int64_t *taken, int64_t items, int64_t size)
{
    int64_t at = *taken;
    *taken += (items * size + 7) / 8;
    return begin ? begin + at : NULL;
}

/* Lay out what a thread works with, for this many words, in memory that was zero before its first use, or in none; return
   how many numbers of 64 bits it takes. */
static int64_t lay_out(uint64_t *begin, int64_t words)
{
    int64_t taken = 0;
    Around none = {.graph = NULL}, *around = next_of(begin, &taken, 1, sizeof *around);
    if (!around)
        around = &none;
    around->queue = next_of(begin, &taken, words + 1, 4); /* one more, for the last word seen again */
    around->allowed = next_of(begin, &taken, words + 1, 4);
    around->others = next_of(begin, &taken, words + 1, 4);
    around->edges = next_of(begin, &taken, words + 1, 4);
    around->seen = next_of(begin, &taken, words, 4);
    around->met = next_of(begin, &taken, words, 4);
    around->levels = next_of(begin, &taken, words + 2, 8);
    around->allowed_levels = next_of(begin, &taken, words + 2, 8);
    around->sums = next_of(begin, &taken, words + 3, 8);
    around->listed = next_of(begin, &taken, words / 64 + 1, 8);
    for (int level = 0; level < FARTHER; level++)
        around->bits[level] = next_of(begin, &taken, words / 64 + 2, 8);
    return taken;
}

/* Returns 1, or 0 where there is no memory, or -1 where all words are blocked. What a thread works with may outlive the
   call: to begin with new memory each time takes longer than many draws. */
static int draw_around(const Graph *graph, const Kept *kept, const uint8_t *blocked, const double *weights, int64_t hops,
                       Stream *stream, const int64_t *sources, int64_t count, const int64_t *starts, int64_t *out,
                       uint64_t *scratch)
{
    const int64_t size = lay_out(NULL, graph->words);
    uint64_t *begin = scratch ? scratch : calloc((size_t)size, 8);
    int64_t *waiting = malloc(sizeof(int64_t) * (size_t)(starts[count] - starts[0] + 1));
    int done = begin && waiting;
    stream->lanes = runs_here("avx512") ? 16 : runs_here("avx2") ? 8 : 4;
    if (done) {
        Around *around = (Around *)begin;
        if (around->mark > UINT32_MAX / 2 || around->trial > UINT32_MAX / 2)
            memset(begin, 0, 8 * (size_t)size);
        (void)lay_out(begin, graph->words);
        around->graph = graph;
        around->kept = kept;
        around->blocked = blocked;
        around->weights = weights;
        around->hops = hops;
        around->ball = graph->words / BALL_SHARE > SMALLEST_BALL ? graph->words / BALL_SHARE : SMALLEST_BALL;
        done = draw_all(around, stream, sources, count, starts, waiting, out);
    }
    if (!scratch)
        free(begin);
    free(waiting);
    return done;
}

/* How many numbers of 64 bits a thread works with, for so many words. */
static PyObject *scratch_of_hops(PyObject *self, PyObject *args)
{
    (void)self;
    long long words;
    if (!PyArg_ParseTuple(args, "L", &words))
        return NULL;
    if (words < 0 || words >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a graph has fewer words");
        return NULL;
    }
    return PyLong_FromLongLong((long long)lay_out(NULL, words));
}

static PyObject *draw_hops(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *graph_of, *blocked_of, *weights_of, *sources_of, *starts_of, *keys_of, *out_of;
    PyObject *kept_of = Py_None, *scratch_of = Py_None, *entries_of, *room_of, *used_of;
    uint64_t *scratch = NULL;
    long long hops, count, draws, size = 0;
    unsigned long long first;
    Stream stream;
    if (!PyArg_ParseTuple(args, "OOOLOLOOpKLO|OO", &graph_of, &blocked_of, &weights_of, &hops, &sources_of, &count,
                          &starts_of, &keys_of, &stream.one_key, &first, &draws, &out_of, &kept_of,
                          &scratch_of))
        return NULL;
    stream.first = first;
    Buffers buffers = {.count = 0};
    Graph graph;
    Kept kept = {.size = 0};
    const uint8_t *blocked = NULL;
    const double *weights;
    const int64_t *sources, *starts;
    int64_t *out;
    PyObject *result = NULL;
    if (hops < 1)
        PyErr_SetString(PyExc_ValueError, "weights have at least one entry");
    else if (read_graph(&buffers, graph_of, &graph) &&
             (blocked_of == Py_None || (blocked = memory(&buffers, blocked_of, graph.words, 1, 0))) &&
             (weights = memory(&buffers, weights_of, hops, 8, 0)) &&
             (sources = memory(&buffers, sources_of, count, 8, 0)) &&
             (starts = memory(&buffers, starts_of, count + 1, 8, 0)) &&
             (stream.keys = memory(&buffers, keys_of, stream.one_key ? 8 : product(draws, 8), 4, 0)) &&
             (out = memory(&buffers, out_of, draws, 8, 1)) && all_below(sources, count, graph.words) &&
             rising(starts, count, draws) &&
             (kept_of == Py_None || (PyArg_ParseTuple(kept_of, "OOLO", &entries_of, &room_of, &size, &used_of) &&
                                     (kept.entries = memory(&buffers, entries_of, product(graph.words, ENTRIES), 8, 1)) &&
                                     (kept.room = memory(&buffers, room_of, size, 8, 1)) &&
                                     (kept.used = memory(&buffers, used_of, 1, 8, 1)))) &&
             (scratch_of == Py_None ||
              (scratch = memory(&buffers, scratch_of, lay_out(NULL, graph.words), 8, 1)))) {
        int done;
        kept.size = size;
        Py_BEGIN_ALLOW_THREADS;
        done = draw_around(&graph, kept.room ? &kept : NULL, blocked, weights, hops, &stream, sources, count, starts, out,
                           scratch);
        Py_END_ALLOW_THREADS;
        if (done < 0)
            PyErr_SetString(PyExc_ValueError, "every word of the graph is blocked");
        else
            result = answer(done);
    }
    let_go(&buffers);
    return result;
}
