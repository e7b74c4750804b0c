/* Draws on a graph, by rejection: hops.py says why their law is exact. Included by native.c. */

#include "around.h"
#include "hop_rows.h"
#include "hop_tests.h"
#include "nearby.h"
#include "random_bits.h"

#define LARGER 4   /* times as many words are listed after so many attempts in vain: as in hops.py */
#define PATIENCE 4 /* blocks, after the first attempt; then four times as many, and so on */
#define ALL_LINES 28 /* of memory, about, that have what is kept of a word */
#define MANY 6            /* draws of a word: they look at nearly all lines of its row, */
#define LARGEST_ROW 2048  /* which are fetched together, if it has no more numbers of 64 bits */
#define SEVERAL (TOGETHER * QUARTERS)

/* An attempt that does not end in a word that is listed. */
typedef struct {
    int64_t draw, lane;
    double aim;
    uint64_t bits;
    int is_guess;  /* and not the end of an edge */
    int32_t word;
    int64_t edge;
    int is_taken;  /* whether the guess is where it may be, or UNTOLD */
    int64_t most;  /* hops that a guess may be away */
} Try;

/* Where words go: those of draws that follow one another have places of their own. */
typedef struct {
    int64_t *words;
    const int32_t *places; /* or NULL where they stand in the order of the draws */
} Out;

static inline void put_out(const Out *out, int64_t draw, int64_t word)
{
    out->words[out->places ? out->places[draw] : draw] = word;
}

/* The place of an edge that begins at the reach, one of all of them. */
static int64_t edge_out(const Around *around, uint64_t bits)
{
    const Near *near = &around->near;
    int64_t low = near->levels[around->reach], high = near->levels[around->reach + 1] - 1;
    const int64_t first = near->edges[low], edge = first + one_of(bits, near->edges[high + 1] - first);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (near->edges[middle + 1] > edge)
            high = middle;
        else
            low = middle + 1;
    }
    return around->graph->indptr[near->queue[low]] + (edge - near->edges[low]);
}

/* Whether a word is drawn to which an edge leads that begins at the reach: it lies beyond, and this is the one of the edges
   that lead there, as many as it has neighbours within, for which it is taken. */
static int steps_to(Around *around, int32_t word, uint64_t bits)
{
    const Near *near = &around->near;
    const int64_t *levels = near->levels + around->reach;
    const uint64_t count = (uint64_t)(near->edges[levels[1]] - near->edges[levels[0]]);
    if (around->blocked && around->blocked[word])
        return 0;
    list_near(around);
    if ((uint64_t)level_of(around, word) <= (uint64_t)around->reach)
        return 0;
    return one_of(bits * count, touches(around, word, around->reach)) == 0;
}

/* How many hops away a guess may be by its aim. */
static inline int64_t most_of(const Around *around, double aim)
{
    const double words = (double)around->graph->words;
    int64_t most = around->reach + around->steps + 1;
    while (most + 1 < around->hops && words * around->weights[most + 1] > aim)
        most++;
    return most;
}

/* What an attempt is about: guesses (0), edges that lead out (1), or a level, the farthest first. */
static inline int64_t place_of(const Around *around, double aim)
{
    int64_t place = 0;
    if (around->reach + 2 < SUMS)
        for (int sum = 0; sum < SUMS; sum++) /* no branch to guess */
            place += around->sums[sum] <= aim;
    else
        while (place < around->reach + 2 && around->sums[place] <= aim)
            place++;
    return place;
}

/* Make an attempt: put its word out if it is listed, else note what is to be tried. Returns how many are noted then. */
static inline int64_t attempt(Around *around, double uniform, uint64_t bits, int64_t draw, int64_t lane, const Out *out,
                              Try *tries, int64_t noted)
{
    const double aim = uniform * around->sums[around->reach + 2];
    const int64_t place = place_of(around, aim);
    if (place > 1) {
        const int64_t level = around->reach + 2 - place, *levels;
        const int32_t source = around->source, *edges = around->graph->indices + around->graph->indptr[source];
        /* Counts may come from a file, so places are bounded by the graph and by what is listed, not by them. */
        if (around->counts && (!level || (level == 1 && around->counts[2] == around->counts[1]))) {
            put_out(out, draw, level ? edges[one_of(bits, around->graph->indptr[source + 1] - around->graph->indptr[source])] : source);
            return noted;
        }
        if (lists_for_once(around, level)) {
            levels = around->levels + level;
            put_out(out, draw, around->queue[levels[0] + one_of(bits, levels[1] - levels[0])]);
            return noted;
        }
        settle(around);
        levels = around->near.allowed_levels + level;
        put_out(out, draw, around->near.allowed[levels[0] + one_of(bits, levels[1] - levels[0])]);
        return noted;
    }
    const int32_t word = (int32_t)one_of(bits, around->graph->words);
    tries[noted] = (Try){.draw = draw, .lane = lane, .aim = aim, .bits = bits, .is_guess = !place, .word = word, .is_taken = UNTOLD};
    return noted + 1;
}

/* Finish what was noted. Returns how many were in vain, which stand first then. */
static int64_t finish(Around *around, Try *tries, int64_t noted, const Out *out)
{
    int64_t left = 0;
    /* What is looked at lies anywhere in memory. */
    for (int64_t one = 0; one < noted; one++)
        if (!tries[one].is_guess) {
            settle(around);
            tries[one].edge = edge_out(around, tries[one].bits);
            __builtin_prefetch(around->graph->indices + tries[one].edge);
        } else {
            __builtin_prefetch(around->graph->indptr + tries[one].word);
            if (around->row)
                __builtin_prefetch(around->row + PLANES * (tries[one].word >> 6));
            else if (around->afar)
                __builtin_prefetch(around->afar + AFAR * (int64_t)tries[one].word);
        }
    for (int64_t one = 0; one < noted; one++) {
        Try *this = tries + one;
        if (!this->is_guess)
            this->word = around->graph->indices[this->edge];
        else {
            this->most = most_of(around, this->aim);
            if (around->row)
                this->is_taken = by_row(around, this->word, this->most);
            else if (around->afar && is_far(around, this->word, this->most))
                this->is_taken = 0;
        }
        if (this->is_taken == UNTOLD)
            fetch_edges(around->graph, this->word);
    }
    for (int64_t one = 0; one < noted; one++) {
        const Try this = tries[one];
        int64_t word = -1;
        if (this.is_taken == UNTOLD)
            settle(around);
        if (!this.is_guess)
            word = steps_to(around, this.word, this.bits) ? this.word : -1;
        else if (this.is_taken && !(around->blocked && around->blocked[this.word]) &&
                 (this.is_taken == 1 || is_beyond(around, this.word, this.most)))
            word = this.word;
        if (word >= 0)
            put_out(out, this.draw, word);
        else
            tries[left++] = this;
    }
    return left;
}

/* Attempts after the first, for draws of a source that wait; a block has the bits of some. Returns 1, or 0 where there are
   no words to draw. */
static int try_again(Around *around, const Stream *stream, const Out *out, int64_t *waiting, int64_t left, int64_t draws)
{
    Blocks blocks;
    Try tries[TOGETHER];
    int64_t ball = around->ball;
    uint64_t patience = PATIENCE;
    for (uint64_t counter = 1; left; counter++) {
        int64_t still = 0;
        if (counter > patience && (ball == around->ball || ball < around->graph->words)) {
            patience *= LARGER;
            settle(around);
            (void)reach_to(around, ball *= LARGER, draws);
            if (!(around->sums[around->reach + 2] > 0.0))
                return 0;
        }
        for (int64_t first = 0; first < left; first += TOGETHER) {
            int64_t count = left - first < TOGETHER ? left - first : TOGETHER;
            uint64_t names[TOGETHER];
            for (int64_t lane = 0; lane < count; lane++) {
                tries[lane].draw = waiting[first + lane];
                tries[lane].lane = lane;
                names[lane] = name_of(stream, waiting[first + lane]);
            }
            fill_blocks(stream, names, count, counter, &blocks);
            for (int quarter = 0; quarter < QUARTERS && count; quarter++) {
                int64_t noted = 0;
                for (int64_t one = 0; one < count; one++) {
                    const int64_t draw = tries[one].draw, lane = tries[one].lane;
                    const uint64_t number = QUARTERS * (counter - 1) + (uint64_t)quarter + 1;
                    const double uniform = uniform_of(stream, bits_of(&blocks, lane, 2 * quarter), draw, number);
                    const uint64_t bits = bits_of(&blocks, lane, 2 * quarter + 1);
                    noted = attempt(around, uniform, bits, draw, lane, out, tries, noted);
                }
                count = finish(around, tries, noted, out);
            }
            for (int64_t one = 0; one < count; one++)
                waiting[still++] = tries[one].draw; /* never ahead of what is read */
        }
        left = still;
    }
    return 1;
}

/* Fetch what is kept of the sources to come. */
static inline void foresee_sources(const Around *around, const int64_t *sources, const int64_t *starts, int64_t left)
{
    if (left > 2 * AHEAD) {
        __builtin_prefetch(around->graph->indptr + sources[2 * AHEAD]);
        if (around->nearby.counts)
            __builtin_prefetch(around->nearby.counts + 2 * around->nearby.levels * sources[2 * AHEAD]);
        if (around->kept)
            __builtin_prefetch(around->kept->entries + (int64_t)ENTRIES * sources[2 * AHEAD]);
    }
    /* Many draws look at nearly all of a row, in no order. */
    if (left > 1 && around->kept && starts[2] - starts[1] > MANY) {
        const int64_t place = around->kept->entries[(int64_t)ENTRIES * sources[1] + ROW], size = row_size(around->graph);
        for (int64_t line = 0; place && size <= LARGEST_ROW && line < size; line += 8)
            __builtin_prefetch(around->kept->room + place + line);
    }
    if (left > AHEAD && around->nearby.counts)
        fetch_edges(around->graph, (int32_t)sources[AHEAD]);
    if (left > AHEAD && around->kept) {
        int64_t place = around->kept->entries[(int64_t)ENTRIES * sources[AHEAD] + NEAR];
        const int64_t lines = starts[AHEAD + 1] - starts[AHEAD] > 4 ? ALL_LINES : 4; /* few draws look at few of them */
        for (int64_t line = 0; place > 0 && line < lines; line++)
            __builtin_prefetch(around->kept->room + place + 8 * line);
    }
}

/* The draws of source s are those from starts[s] to starts[s+1]. Returns 1, or 0 where there is no memory, or -1 where all
   words are blocked. */
static int draw_all(Around *around, const Stream *stream, const int64_t *sources, int64_t count, const int64_t *starts,
                    int64_t *waiting, Window *window, const Out *out)
{
    Firsts firsts = {.end = -1};
    Try tries[SEVERAL];
    const int64_t several = stream->one_key ? QUARTERS : 1;
    for (int64_t source = 0; source < count; source++) {
        const int64_t end = starts[source + 1];
        int64_t draw = starts[source], left = 0;
        const uint64_t *row = NULL;
        if (window->wants && window->wants[source] && !(row = next_row(window, around->graph, nearest_of(around->kept), sources, source, count)))
            return 0;
        if (draw == end)
            continue;
        foresee_sources(around, sources + source, starts + source, count - source);
        /* What a draw with a key of its own becomes does not depend on others. */
        const int64_t draws = stream->one_key ? end - draw : 1;
        begin_source(around, (int32_t)sources[source], draws);
        around->row = row ? row : around->row;
        if (!(around->sums[around->reach + 2] > 0.0))
            return -1;
        while (draw < end) {
            if (draw >= firsts.end)
                fill_firsts(stream, draw, starts[count], &firsts);
            const int64_t stop = end < firsts.end ? end : firsts.end;
            int64_t noted = 0;
            for (; draw < stop; draw++) {
                const int64_t at = draw - firsts.begin, lane = at / several;
                const int quarter = (int)(at % several);
                const double uniform = uniform_of(stream, bits_of(&firsts.blocks, lane, 2 * quarter), draw, 0);
                noted = attempt(around, uniform, bits_of(&firsts.blocks, lane, 2 * quarter + 1), draw, lane, out, tries, noted);
            }
            noted = finish(around, tries, noted, out);
            for (int64_t one = 0; one < noted; one++)
                waiting[left++] = tries[one].draw;
        }
        if (!try_again(around, stream, out, waiting, left, draws))
            return -1;
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
    around->met = next_of(begin, &taken, words, 4);
    around->levels = next_of(begin, &taken, words + 2, 8);
    around->allowed_levels = next_of(begin, &taken, words + 2, 8);
    around->sums = next_of(begin, &taken, words + 3 + SUMS, 8);
    around->level = next_of(begin, &taken, words, 1);
    return taken;
}

/* Returns 1, or 0 where there is no memory, or -1 where all words are blocked. What a thread works with may outlive the
   call: to begin with new memory each time takes longer than many draws. */
static int draw_around(const Graph *graph, const Kept *kept, const uint8_t *blocked, const double *weights,
                       int64_t hops, Stream *stream, const int64_t *sources, int64_t count,
                       const int64_t *starts, const uint8_t *wants, const uint8_t *afar, const Nearby *nearby, const Out *out, uint64_t *scratch)
{
    Window window = {.wants = wants};
    const int64_t size = lay_out(NULL, graph->words);
    uint64_t *begin = scratch ? scratch : calloc((size_t)size, 8);
    int64_t *waiting = malloc(sizeof(int64_t) * (size_t)(starts[count] - starts[0] + 1));
    int done = begin && waiting;
    stream->lanes = runs_here("avx512") ? 16 : runs_here("avx2") ? 8 : 4;
    if (done) {
        Around *around = (Around *)begin;
        if (around->trial > UINT32_MAX / 2)
            memset(begin, 0, 8 * (size_t)size);
        (void)lay_out(begin, graph->words);
        around->graph = graph;
        around->kept = kept;
        around->blocked = blocked;
        around->weights = weights;
        around->afar = afar;
        around->nearby = *nearby;
        around->hops = hops;
        around->ball = graph->words / BALL_SHARE > SMALLEST_BALL ? graph->words / BALL_SHARE : SMALLEST_BALL;
        done = draw_all(around, stream, sources, count, starts, waiting, &window, out);
    }
    if (!scratch)
        free(begin);
    free(waiting);
    let_searches_go(graph, window.lanes, window.memory);
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

static int read_kept(Buffers *buffers, PyObject *tuple, const Graph *graph, Kept *kept)
{
    PyObject *entries, *room, *used;
    long long size;
    if (!PyArg_ParseTuple(tuple, "OOLO", &entries, &room, &size, &used))
        return 0;
    kept->size = size;
    return (kept->entries = memory(buffers, entries, product(graph->words, ENTRIES), 8, 1)) &&
           (kept->room = memory(buffers, room, size, 8, 1)) && (kept->used = memory(buffers, used, 2, 8, 1));
}

/* Find the hops from some words to every word, and keep them. */
static PyObject *keep_rows(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *graph_of, *sources_of, *kept_of;
    long long count;
    if (!PyArg_ParseTuple(args, "OOLO", &graph_of, &sources_of, &count, &kept_of))
        return NULL;
    Buffers buffers = {.count = 0};
    Graph graph;
    Kept kept;
    const int64_t *sources;
    PyObject *result = NULL;
    if (read_graph(&buffers, graph_of, &graph) && (sources = memory(&buffers, sources_of, count, 8, 0)) &&
        all_below(sources, count, graph.words) && read_kept(&buffers, kept_of, &graph, &kept)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = find_and_keep(&graph, sources, count, &kept);
        Py_END_ALLOW_THREADS;
        result = answer(done);
    }
    let_go(&buffers);
    return result;
}

static int all_places(const int32_t *places, int64_t count, int64_t limit)
{
    int64_t fit = 1;
    for (int64_t one = 0; one < count; one++)
        fit &= places[one] >= 0 && places[one] < limit;
    if (!fit)
        PyErr_SetString(PyExc_IndexError, "there is no such place");
    return (int)fit;
}

/* Bring equal words together: list each, where its places begin among all, and all places. Returns how many there are. */
static PyObject *group_words(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *words_of, *found_of, *starts_of, *places_of;
    long long count, limit;
    if (!PyArg_ParseTuple(args, "OLLOOO", &words_of, &count, &limit, &found_of, &starts_of, &places_of))
        return NULL;
    Buffers buffers = {.count = 0};
    const int64_t *words;
    int64_t *found, *starts, several = 0, begin = 0;
    int32_t *places, *next = NULL;
    PyObject *result = NULL;
    if (limit < 0 || limit >= INT32_MAX || count < 0 || count >= INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "there are fewer words");
    else if ((words = memory(&buffers, words_of, count, 8, 0)) && (found = memory(&buffers, found_of, count < limit ? count : limit, 8, 1)) &&
             (starts = memory(&buffers, starts_of, (count < limit ? count : limit) + 1, 8, 1)) &&
             (places = memory(&buffers, places_of, count, 4, 1)) && all_below(words, count, limit)) {
        next = calloc((size_t)limit + 1, sizeof *next);
        if (!next)
            PyErr_NoMemory();
        else {
            Py_BEGIN_ALLOW_THREADS;
            for (int64_t place = 0; place < count; place++)
                next[words[place]]++;
            for (int64_t word = 0; word < limit; word++)
                if (next[word]) {
                    const int32_t times = next[word];
                    found[several] = word;
                    starts[several++] = begin;
                    next[word] = (int32_t)begin;
                    begin += times;
                }
            starts[several] = begin;
            for (int64_t place = 0; place < count; place++)
                places[next[words[place]]++] = (int32_t)place;
            Py_END_ALLOW_THREADS;
            result = PyLong_FromLongLong((long long)several);
        }
    }
    free(next);
    let_go(&buffers);
    return result;
}

static PyObject *draw_hops(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *graph_of, *blocked_of, *weights_of, *sources_of, *starts_of, *keys_of, *out_of;
    PyObject *kept_of = Py_None, *scratch_of = Py_None, *places_of = Py_None, *wants_of = Py_None, *afar_of = Py_None, *nearby_of = Py_None;
    uint64_t *scratch = NULL;
    long long hops, count, draws, whole = 0, levels = 0;
    Nearby nearby = {NULL, 0};
    unsigned long long first;
    Stream stream;
    if (!PyArg_ParseTuple(args, "OOOLOLOOpKLO|OOOLOOOL", &graph_of, &blocked_of, &weights_of, &hops, &sources_of,
                          &count, &starts_of, &keys_of, &stream.one_key, &first, &draws, &out_of, &kept_of,
                          &scratch_of, &places_of, &whole, &wants_of, &afar_of, &nearby_of, &levels))
        return NULL;
    stream.first = first;
    Buffers buffers = {.count = 0};
    Graph graph;
    Kept kept = {.size = 0};
    const uint8_t *blocked = NULL, *wants = NULL, *afar = NULL;
    const double *weights;
    const int64_t *sources, *starts;
    Out out = {.places = NULL};
    PyObject *result = NULL;
    if (hops < 1)
        PyErr_SetString(PyExc_ValueError, "weights have at least one entry");
    else if (read_graph(&buffers, graph_of, &graph) &&
             (blocked_of == Py_None || (blocked = memory(&buffers, blocked_of, graph.words, 1, 0))) &&
             (weights = memory(&buffers, weights_of, hops, 8, 0)) &&
             (afar_of == Py_None || (afar = memory(&buffers, afar_of, product(graph.words, AFAR), 1, 0))) &&
             (nearby_of == Py_None || (nearby.counts = memory(&buffers, nearby_of, levels > 1 ? product(graph.words, 2 * levels) : -1, 2, 0))) &&
             (wants_of == Py_None || (wants = memory(&buffers, wants_of, count, 1, 0))) &&
             (sources = memory(&buffers, sources_of, count, 8, 0)) &&
             (starts = memory(&buffers, starts_of, count + 1, 8, 0)) &&
             (stream.keys = memory(&buffers, keys_of, stream.one_key ? 8 : product(draws, 8), 4, 0)) &&
             (places_of == Py_None || (out.places = memory(&buffers, places_of, draws, 4, 0))) &&
             (out.words = memory(&buffers, out_of, out.places ? whole : draws, 8, 1)) &&
             (!out.places || all_places(out.places, draws, whole)) && all_below(sources, count, graph.words) &&
             rising(starts, count, draws) &&
             (kept_of == Py_None || read_kept(&buffers, kept_of, &graph, &kept)) &&
             (scratch_of == Py_None ||
              (scratch = memory(&buffers, scratch_of, lay_out(NULL, graph.words), 8, 1)))) {
        int done;
        nearby.levels = levels;
        Py_BEGIN_ALLOW_THREADS;
        done = draw_around(&graph, kept.room ? &kept : NULL, blocked, weights, hops, &stream, sources, count, starts,
                           kept.room ? wants : NULL, afar, &nearby, &out, scratch);
        Py_END_ALLOW_THREADS;
        if (done < 0)
            PyErr_SetString(PyExc_ValueError, "every word of the graph is blocked");
        else
            result = answer(done);
    }
    let_go(&buffers);
    return result;
}
