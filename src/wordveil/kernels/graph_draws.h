/* Draws on a graph, by rejection: hops.py says why their law is exact. Included by native.c. */

#define SMALLEST_BALL 128 /* words that are listed around a word before others are guessed, or this share of all: */
#define BALL_SHARE 512    /* these five as in hops.py */
#define LARGER 4       /* times as many after so many attempts in vain */
#define PATIENCE 16
#define RARE 4 /* guesses are rare enough where they are a fifth of the attempts */
#define LANES_OF_KEYS 4
#define MOST_SHARED 3 /* more searches that one more level around the word may be listed for, */
#define SHARING 8     /* each of so many draws */
#define FAR_EDGES 4   /* between the words around two words, where a way is tried before all are */
#define EDGES_TRIED 1024

typedef uint32_t four __attribute__((vector_size(16)));

static inline four turned(four x, int by)
{
    return x << by | x >> (32 - by);
}

#define QUARTER(a, b, c, d)                                                                                            \
    a += b, d = turned(d ^ a, 16), c += d, b = turned(b ^ c, 12), a += b, d = turned(d ^ a, 8), c += d,                  \
        b = turned(b ^ c, 7)

/* Four blocks of ChaCha20 with a counter and a nonce of 64 bits, each as eight numbers. */
static void key_blocks(const uint32_t *const keys[LANES_OF_KEYS], const uint64_t counters[LANES_OF_KEYS],
                       const uint64_t nonces[LANES_OF_KEYS], uint64_t out[LANES_OF_KEYS][8])
{
    static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    four start[16], x[16];
    for (int lane = 0; lane < LANES_OF_KEYS; lane++) {
        for (int place = 0; place < 4; place++)
            start[place][lane] = constants[place];
        for (int place = 0; place < 8; place++)
            start[4 + place][lane] = keys[lane][place];
        start[12][lane] = (uint32_t)counters[lane];
        start[13][lane] = (uint32_t)(counters[lane] >> 32);
        start[14][lane] = (uint32_t)nonces[lane];
        start[15][lane] = (uint32_t)(nonces[lane] >> 32);
    }
    memcpy(x, start, sizeof x);
    for (int round = 0; round < 10; round++) {
        for (int column = 0; column < 4; column++)
            QUARTER(x[column], x[4 + column], x[8 + column], x[12 + column]);
        for (int column = 0; column < 4; column++)
            QUARTER(x[column], x[4 + (column + 1) % 4], x[8 + (column + 2) % 4], x[12 + (column + 3) % 4]);
    }
    for (int place = 0; place < 8; place++) {
        four low = x[2 * place] + start[2 * place], high = x[2 * place + 1] + start[2 * place + 1];
        for (int lane = 0; lane < LANES_OF_KEYS; lane++)
            out[lane][place] = (uint64_t)high[lane] << 32 | low[lane];
    }
}

/* As `uniform_from` of entropy.py. */
static inline double uniform_of(uint64_t high, uint64_t low)
{
    double drawn = ldexp((double)high, -64);
    if (high < (uint64_t)1 << 53)
        drawn += ldexp((double)(low ? low : 1), -128);
    return drawn < 1.0 - 0x1p-53 ? drawn : 1.0 - 0x1p-53;
}

/* One of so many, fewer than 2^31, by the first bits of a product of 64 bits with it. */
static inline int64_t one_of(uint64_t bits, int64_t count)
{
    uint64_t high = bits >> 32, low = bits & 0xffffffff, several = (uint64_t)count;
    return (int64_t)((high * several + (low * several >> 32)) >> 32);
}

typedef struct {
    const Graph *graph;
    const uint8_t *blocked; /* or NULL */
    const double *weights;  /* of one word at each number of hops */
    int64_t hops;           /* how many of them: more than there are between any two words */
    int64_t ball;           /* words that are listed at first */
    int32_t *queue;         /* the words around the source, level by level */
    int64_t *levels;        /* where each begins in the queue */
    int64_t *allowed;       /* how many of each are not blocked */
    int64_t *edges;         /* how many edges begin at the words of the queue before each, of those that were */
    int64_t counted;        /* looked at for it */
    uint32_t *seen, mark;   /* a word around the source has its mark and its level, added */
    uint64_t *listed;       /* and a bit here, which is looked at far more often and fits into the nearest cache */
    int64_t radius;         /* levels listed so far, beside the source */
    int32_t *others;        /* the words around a guess */
    uint32_t *met, trial;
    double *sums; /* of the weights of guesses, edges that lead out, and levels, the farthest first */
} Around;

static void begin_around(Around *around, int32_t word)
{
    for (int64_t place = 0; place < around->levels[around->radius + 1]; place++)
        around->listed[around->queue[place] >> 6] = 0;
    around->mark += (uint32_t)around->radius + 1;
    around->radius = around->counted = 0;
    around->queue[0] = word;
    around->levels[0] = 0;
    around->levels[1] = 1;
    around->allowed[0] = !around->blocked || !around->blocked[word];
    around->edges[0] = 0;
    around->seen[word] = around->mark;
    around->listed[word >> 6] |= (uint64_t)1 << (word & 63);
}

/* List the words one hop farther. */
static void grow_around(Around *around)
{
    const int32_t *indptr = around->graph->indptr, *indices = around->graph->indices;
    int32_t *queue = around->queue;
    uint32_t *seen = around->seen;
    const uint32_t mark = around->mark, here = mark + (uint32_t)around->radius + 1;
    const int64_t last = around->levels[around->radius + 1];
    int64_t end = last;
    for (int64_t place = around->levels[around->radius]; place < last; place++) {
        const int32_t stop = indptr[queue[place] + 1];
        for (int32_t edge = indptr[queue[place]]; edge < stop; edge++) {
            int32_t word = indices[edge];
            uint32_t before = seen[word], is_new = before < mark;
            queue[end] = word; /* overwritten unless it is new: no branch to guess, here or in the next but one line */
            end += is_new;
            seen[word] = before ^ ((before ^ here) & -is_new);
        }
    }
    for (int64_t place = last; place < end; place++)
        around->listed[queue[place] >> 6] |= (uint64_t)1 << (queue[place] & 63);
    int64_t allowed = end - last;
    if (around->blocked)
        for (int64_t place = last; place < end; place++)
            allowed -= around->blocked[queue[place]];
    around->allowed[++around->radius] = allowed;
    around->levels[around->radius + 1] = end;
}

/* How many edges begin at the words of a level. */
static int64_t edges_of(Around *around, int64_t level)
{
    const int32_t *indptr = around->graph->indptr;
    for (; around->counted < around->levels[level + 1]; around->counted++) {
        int32_t word = around->queue[around->counted];
        around->edges[around->counted + 1] = around->edges[around->counted] + indptr[word + 1] - indptr[word];
    }
    return around->edges[around->levels[level + 1]] - around->edges[around->levels[level]];
}

/* Decide how far words are listed: until the ball is large or, at first, until guesses are rare (later it may be that
   all words near are blocked); and cumulate the weights. */
static int64_t reach_of(Around *around, int64_t ball)
{
    const int64_t words = around->graph->words, *levels = around->levels;
    int64_t reach = 0;
    double near = 0.0, out, guessed;
    for (;; reach++) {
        if (reach > around->radius)
            grow_around(around);
        near += (double)around->allowed[reach] * around->weights[reach];
        out = guessed = 0.0;
        /* Nothing is farther than the weights reach, on a graph that is connected. */
        if (levels[reach + 1] >= words || reach + 1 >= around->hops || levels[reach + 1] == levels[reach])
            break;
        out = (double)edges_of(around, reach) * around->weights[reach + 1];
        guessed = reach + 2 < around->hops ? (double)words * around->weights[reach + 2] : 0.0;
        if (levels[reach + 1] >= ball || (ball == around->ball && guessed * RARE <= near + out))
            break;
    }
    around->sums[0] = guessed;
    around->sums[1] = guessed + out;
    for (int64_t hop = reach, place = 2; hop >= 0; hop--, place++)
        around->sums[place] = around->sums[place - 1] + (double)around->allowed[hop] * around->weights[hop];
    return reach;
}

/* A word one hop beyond the reach, by an edge that leads there: each has as many as it has neighbours within, and is taken
   for one of them. Or -1. */
static int64_t step_out(const Around *around, int64_t reach, const uint64_t bits[8])
{
    const int32_t *indptr = around->graph->indptr, *indices = around->graph->indices;
    int64_t low = around->levels[reach], high = around->levels[reach + 1] - 1, first = around->edges[low];
    int64_t edge = first + one_of(bits[2], around->edges[high + 1] - first);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (around->edges[middle + 1] > edge)
            high = middle;
        else
            low = middle + 1;
    }
    int32_t word = indices[indptr[around->queue[low]] + (edge - around->edges[low])];
    const uint32_t mark = around->mark, last = mark + (uint32_t)reach;
    if ((around->seen[word] >= mark && around->seen[word] <= last) || (around->blocked && around->blocked[word]))
        return -1;
    int64_t within = 0;
    for (int32_t back = indptr[word]; back < indptr[word + 1]; back++)
        within += around->seen[indices[back]] == last;
    return one_of(bits[3], within) == 0 ? word : -1;
}

/* Whether a neighbour of a word lies around the source, as far as that is listed. */
static inline int touches(const Around *around, int32_t word)
{
    const int32_t *indices = around->graph->indices, stop = around->graph->indptr[word + 1];
    uint64_t found = 0;
    for (int32_t edge = around->graph->indptr[word]; edge < stop; edge++)
        found |= around->listed[indices[edge] >> 6] >> (indices[edge] & 63);
    return (int)(found & 1);
}

/* Whether a way of so many edges from a word to one around the source is soon found. Far away there are hundreds of them,
   and the first that comes by will do. */
static int is_joined(const Around *around, int32_t word, int64_t edges, int64_t *patience)
{
    const int32_t *indptr = around->graph->indptr;
    *patience -= indptr[word + 1] - indptr[word];
    if (edges == 1)
        return touches(around, word);
    for (int32_t edge = indptr[word]; *patience > 0 && edge < indptr[word + 1]; edge++)
        if (is_joined(around, around->graph->indices[edge], edges - 1, patience))
            return 1;
    return 0;
}

/* Whether a word is more than `reach` + 1 hops away, and at most `most`: a search from either end, each step by the one
   that has fewer words to look at. What is listed around the source serves the next of its `left` draws, too. */
static int is_between(Around *around, int32_t word, int64_t reach, int64_t most, int64_t left)
{
    const int32_t *indptr = around->graph->indptr, *indices = around->graph->indices;
    const uint32_t mark = around->mark;
    int64_t patience = EDGES_TRIED;
    if (around->seen[word] >= mark) {
        int64_t away = around->seen[word] - mark;
        return away > reach + 1 && away <= most;
    }
    if (around->radius >= most || (around->radius == reach && touches(around, word)))
        return 0;
    if (most + 1 >= around->hops)
        return 1;
    if (around->radius + FAR_EDGES <= most && is_joined(around, word, FAR_EDGES, &patience))
        return 1;
    const uint32_t trial = ++around->trial;
    const int64_t shared = 1 + (left < MOST_SHARED * SHARING ? left / SHARING : MOST_SHARED);
    int64_t depth = 0, begin = 0, end = 1;
    int32_t *others = around->others;
    uint32_t *met = around->met;
    others[0] = word;
    met[word] = trial;
    /* the two ends are more than radius + depth hops apart */
    while (around->radius + depth < most && begin < end) {
        if (around->levels[around->radius + 1] - around->levels[around->radius] < (end - begin) * shared) {
            grow_around(around);
            for (int64_t place = around->levels[around->radius]; place < around->levels[around->radius + 1]; place++)
                if (met[around->queue[place]] == trial)
                    return 1;
            continue;
        }
        const int64_t level = end;
        const int is_last = around->radius + ++depth == most;
        for (; begin < level; begin++) {
            if (touches(around, others[begin]))
                return 1;
            const int32_t stop = is_last ? 0 : indptr[others[begin] + 1];
            for (int32_t edge = indptr[others[begin]]; edge < stop; edge++) {
                others[end] = indices[edge];
                end += met[indices[edge]] != trial;
                met[indices[edge]] = trial;
            }
        }
    }
    return 0;
}

/* One attempt with these random bits: a word, or -1. */
static int64_t attempt(Around *around, int64_t reach, const uint64_t bits[8], int64_t left)
{
    double aim = uniform_of(bits[0], bits[1]) * around->sums[reach + 2];
    int64_t place = reach + 2;
    while (place > 0 && around->sums[place - 1] > aim)
        place--;
    if (place == 1)
        return step_out(around, reach, bits);
    if (place > 1) {
        int64_t hop = reach + 2 - place, level = around->levels[hop], count = around->allowed[hop];
        int64_t rank = one_of(bits[2], count);
        if (count == around->levels[hop + 1] - level)
            return around->queue[level + rank];
        for (rank += count > 0; rank > 0; level++)
            rank -= !around->blocked[around->queue[level]];
        return count ? around->queue[level - 1] : -1;
    }
    int64_t guess = one_of(bits[2], around->graph->words), most = reach + 2;
    if (around->blocked && around->blocked[guess])
        return -1;
    double limit = uniform_of(bits[3], bits[4]) * around->weights[most];
    while (most + 1 < around->hops && around->weights[most + 1] > limit)
        most++;
    return is_between(around, (int32_t)guess, reach, most, left) ? guess : -1;
}

/* One draw that the first attempt did not end; -1 where there is nothing to draw. */
static int64_t attempt_again(Around *around, const uint32_t *key, uint64_t nonce, int64_t left)
{
    const uint32_t *const keys[LANES_OF_KEYS] = {key, key, key, key};
    const uint64_t nonces[LANES_OF_KEYS] = {nonce, nonce, nonce, nonce};
    uint64_t bits[LANES_OF_KEYS][8];
    int64_t ball = around->ball, reach = reach_of(around, ball);
    for (uint64_t first = 0;; first += LANES_OF_KEYS) {
        const uint64_t counters[LANES_OF_KEYS] = {first, first + 1, first + 2, first + 3};
        if (first && first % PATIENCE == 0 && (ball == around->ball || ball < around->graph->words))
            reach = reach_of(around, ball *= LARGER);
        if (!(around->sums[reach + 2] > 0.0))
            return -1;
        key_blocks(keys, counters, nonces, bits);
        for (int lane = 0; lane < LANES_OF_KEYS; lane++) {
            int64_t found = first || lane ? attempt(around, reach, bits[lane], left) : -1;
            if (found >= 0)
                return found;
        }
    }
}

/* The draws of source s are those from starts[s] to starts[s+1]. Each has a key, or all have one, and a number.
   Returns 1, or 0 where there is no memory, or -1 where all words are blocked. */
static int draw_around(const Graph *graph, const uint8_t *blocked, const double *weights, int64_t hops,
                       const int64_t *sources, int64_t count, const int64_t *starts, const uint32_t *keys, int one_key,
                       uint64_t first_number, int64_t *out)
{
    const size_t words = (size_t)graph->words;
    Around around = {.graph = graph, .blocked = blocked, .weights = weights, .hops = hops};
    around.ball = graph->words / BALL_SHARE > SMALLEST_BALL ? graph->words / BALL_SHARE : SMALLEST_BALL;
    around.queue = malloc(sizeof(int32_t) * (words + 1)); /* one more, for the last word seen again */
    around.others = malloc(sizeof(int32_t) * (words + 1));
    around.levels = malloc(sizeof(int64_t) * (words + 2));
    around.allowed = malloc(sizeof(int64_t) * (words + 2));
    around.sums = malloc(sizeof(double) * (words + 3));
    around.edges = malloc(sizeof(int64_t) * (words + 1));
    around.seen = calloc(words, sizeof(uint32_t));
    around.listed = calloc(words / 64 + 1, sizeof(uint64_t));
    around.met = calloc(words, sizeof(uint32_t));
    int done = around.queue && around.others && around.levels && around.allowed && around.sums && around.edges &&
               around.seen && around.listed && around.met;
    if (done) /* nothing is listed yet */
        around.levels[1] = 0;
    for (int64_t source = 0; done == 1 && source < count; source++) {
        begin_around(&around, (int32_t)sources[source]);
        int64_t reach = reach_of(&around, around.ball), end = starts[source + 1];
        for (int64_t draw = starts[source]; draw < end; draw += LANES_OF_KEYS) {
            const uint32_t *lanes[LANES_OF_KEYS];
            uint64_t counters[LANES_OF_KEYS] = {0}, nonces[LANES_OF_KEYS], bits[LANES_OF_KEYS][8];
            for (int lane = 0; lane < LANES_OF_KEYS; lane++) {
                int64_t one = draw + lane < end ? draw + lane : end - 1;
                lanes[lane] = one_key ? keys : keys + 8 * one;
                nonces[lane] = one_key ? first_number + (uint64_t)one : 0;
            }
            key_blocks(lanes, counters, nonces, bits);
            for (int lane = 0; lane < LANES_OF_KEYS && draw + lane < end; lane++) {
                int64_t left = end - draw - lane, found = attempt(&around, reach, bits[lane], left);
                if (found < 0) {
                    found = attempt_again(&around, lanes[lane], nonces[lane], left);
                    reach = reach_of(&around, around.ball);
                }
                out[draw + lane] = found;
                done = found < 0 ? -1 : done;
            }
        }
    }
    free(around.queue);
    free(around.others);
    free(around.levels);
    free(around.allowed);
    free(around.sums);
    free(around.edges);
    free(around.seen);
    free(around.listed);
    free(around.met);
    return done;
}

static PyObject *draw_hops(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *graph_of, *blocked_of, *weights_of, *sources_of, *starts_of, *keys_of, *out_of;
    long long hops, count, draws;
    unsigned long long first_number;
    int one_key;
    if (!PyArg_ParseTuple(args, "OOOLOLOOpKLO", &graph_of, &blocked_of, &weights_of, &hops, &sources_of, &count,
                          &starts_of, &keys_of, &one_key, &first_number, &draws, &out_of))
        return NULL;
    Buffers buffers = {.count = 0};
    Graph graph;
    const uint8_t *blocked = NULL;
    const double *weights;
    const int64_t *sources, *starts;
    const uint32_t *keys;
    int64_t *out;
    PyObject *result = NULL;
    if (hops < 1)
        PyErr_SetString(PyExc_ValueError, "weights have at least one entry");
    else if (read_graph(&buffers, graph_of, &graph) &&
             (blocked_of == Py_None || (blocked = memory(&buffers, blocked_of, graph.words, 1, 0))) &&
             (weights = memory(&buffers, weights_of, hops, 8, 0)) &&
             (sources = memory(&buffers, sources_of, count, 8, 0)) &&
             (starts = memory(&buffers, starts_of, count + 1, 8, 0)) &&
             (keys = memory(&buffers, keys_of, one_key ? 8 : product(draws, 8), 4, 0)) &&
             (out = memory(&buffers, out_of, draws, 8, 1)) && all_below(sources, count, graph.words) &&
             rising(starts, count, draws)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = draw_around(&graph, blocked, weights, hops, sources, count, starts, keys, one_key, first_number, out);
        Py_END_ALLOW_THREADS;
        if (done < 0)
            PyErr_SetString(PyExc_ValueError, "every word of the graph is blocked");
        else
            result = answer(done);
    }
    let_go(&buffers);
    return result;
}
