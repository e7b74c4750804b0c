/* Draws on a graph, by rejection: hops.py says why their law is exact. Included by native.c. */

#define SMALLEST_BALL 128 /* words that are listed around a word before others are guessed, or this share of all: */
#define BALL_SHARE 512    /* these five as in hops.py */
#define LARGER 4          /* times as many after so many attempts in vain */
#define PATIENCE 16
#define RARE 4           /* guesses are rare enough where they are a fifth of the attempts */
#define EDGES_TRIED 16384 /* to find a way to a word around the source, before its own surroundings are listed */
#define FARTHER 2        /* levels beyond the reach that are listed for guesses, each as bits, */
#define EAGER 2          /* once a search for it has taken such a share of what it takes to list the next */
#define AHEAD 8          /* words whose edges are fetched before they are looked at: they lie anywhere in memory */
#define TOGETHER 16      /* blocks of random bits that are made at once */

/* What the random bits of draws follow from: all have one key of eight numbers, and each a number; or each has a key. */
typedef struct {
    const uint32_t *keys;
    int one_key, lanes; /* and how many blocks this processor makes at once */
    uint64_t first;     /* number */
} Stream;

/* Blocks of ChaCha20 with a counter and a nonce of 64 bits, side by side. */
typedef struct {
    uint32_t words[16][TOGETHER];
} Blocks;

#if defined(__x86_64__)
#define LANES 16
#define TARGET __attribute__((target("avx512f")))
#define NAME(what) what##_avx512
#include "chacha.h"

#define LANES 8
#define TARGET __attribute__((target("avx2")))
#define NAME(what) what##_avx2
#include "chacha.h"
#endif

#define LANES 4
#define TARGET
#define NAME(what) what##_plain
#include "chacha.h"

/* Make blocks for some draws, no more than are made together: the same on every processor. */
static void fill_blocks(const Stream *stream, const int64_t *draws, int64_t count, uint64_t counter, Blocks *out)
{
#if defined(__x86_64__)
    if (count > 8 && stream->lanes == 16)
        fill_blocks_avx512(stream, draws, count, counter, out);
    else if (count > 4 && stream->lanes >= 8)
        fill_blocks_avx2(stream, draws, count, counter, out);
    else
#endif
        fill_blocks_plain(stream, draws, count, counter, out);
}

/* One of the eight numbers of a block. */
static inline uint64_t bits_of(const Blocks *blocks, int64_t lane, int number)
{
    return (uint64_t)blocks->words[2 * number + 1][lane] << 32 | blocks->words[2 * number][lane];
}

/* As `uniform_from` of entropy.py. */
static inline double uniform_of(const Blocks *blocks, int64_t lane, int number)
{
    uint64_t high = bits_of(blocks, lane, number), low;
    double drawn = (double)high * 0x1p-64;
    if (high < (uint64_t)1 << 53) {
        low = bits_of(blocks, lane, number + 1);
        drawn += (double)(low ? low : 1) * 0x1p-128;
    }
    return drawn < 1.0 - 0x1p-53 ? drawn : 1.0 - 0x1p-53;
}

/* One of so many, fewer than 2^31, by the first bits of a product of 64 bits with it. */
static inline int64_t one_of(uint64_t bits, int64_t count)
{
    uint64_t high = bits >> 32, low = bits & 0xffffffff, several = (uint64_t)count;
    return (int64_t)((high * several + (low * several >> 32)) >> 32);
}

/* What the draws of a source need first: the words around it up to the reach, level by level. */
typedef struct {
    int64_t reach;
    const int32_t *queue, *allowed, *edges; /* its words, those that are not blocked, and how many edges begin before each */
    const int64_t *levels, *allowed_levels; /* where each level begins among them */
    const double *sums;                     /* of the weights of guesses, edges that lead out, and levels, the farthest first */
} Near;

/* Memory that outlives a call, for what was listed around words. What is kept is never changed, and once all is used
   nothing more is. A thread has other words than those beside it. */
enum { NEAR = FARTHER, SPENT, ENTRIES };

typedef struct {
    int64_t *entries; /* of each word: the places of its levels beyond the reach and of what is near, 0 for none; and edges */
    uint64_t *room;   /* that were looked at for its guesses */
    int64_t size, *used; /* the first is not */
} Kept;

typedef struct {
    const Graph *graph;
    const Kept *kept;        /* or NULL */
    const uint8_t *blocked;  /* or NULL */
    const double *weights;   /* of one word at each number of hops */
    int64_t hops;            /* how many of them: more than there are between any two words */
    int64_t ball;            /* words that are listed at first */
    int32_t source;
    Near near;
    int64_t farther;         /* levels beyond the reach of which there are bits, or -1 where none will be: */
    const uint64_t *far[FARTHER]; /* one for each word up to there, after the number of edges that begin at the level */
    uint64_t *bits[FARTHER];
    int64_t entry[ENTRIES];  /* of the source, where nothing is kept */
    int is_listed;           /* whether what follows is of this source */
    int32_t *queue;          /* the words around the source, level by level */
    int64_t *levels;         /* where each begins in the queue */
    int32_t *allowed;        /* those of the queue that are not blocked, */
    int64_t *allowed_levels; /* where each level begins among them, */
    int64_t sorted;          /* and up to which level they are known */
    int32_t *edges;          /* how many edges begin at the words of the queue before each, of those that were */
    int64_t counted;         /* looked at for it */
    uint32_t *seen, mark;    /* a word around the source has its mark and its level, added */
    uint64_t *listed;        /* and a bit here, which is looked at far more often and fits into the nearest cache */
    int64_t radius;          /* levels listed so far, beside the source */
    int64_t spent;           /* edges looked at for guesses since the last level was listed */
    int32_t *others;         /* the words around a guess */
    uint32_t *met, trial;
    double *sums;
} Around;

static inline int64_t groups_of(const Around *around)
{
    return around->graph->words / 64 + 1;
}

static inline int64_t *entry_of(Around *around)
{
    return around->kept ? around->kept->entries + (int64_t)ENTRIES * around->source : around->entry;
}

static inline void fetch_edges(const Graph *graph, int32_t word)
{
    const int32_t *edges = graph->indices + graph->indptr[word];
    __builtin_prefetch(edges);
    __builtin_prefetch(edges + 16);
}

static inline uint64_t is_in(const uint64_t *bits, int32_t word)
{
    return bits[word >> 6] >> (word & 63) & 1;
}

static inline void put_in(uint64_t *bits, int32_t word)
{
    bits[word >> 6] |= (uint64_t)1 << (word & 63);
}

static void begin_around(Around *around)
{
    const int64_t before = around->levels[around->radius + 1], groups = groups_of(around);
    const int32_t word = around->source;
    if (before < groups)
        for (int64_t place = 0; place < before; place++)
            around->listed[around->queue[place] >> 6] = 0;
    else
        memset(around->listed, 0, sizeof *around->listed * (size_t)groups);
    around->mark += (uint32_t)around->radius + 1;
    around->radius = around->counted = around->spent = 0;
    around->sorted = -1;
    around->queue[0] = word;
    around->levels[0] = around->allowed_levels[0] = 0;
    around->levels[1] = 1;
    around->edges[0] = 0;
    around->seen[word] = around->mark;
    put_in(around->listed, word);
    around->is_listed = 1;
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
        if (place + AHEAD < last)
            fetch_edges(around->graph, queue[place + AHEAD]);
        for (int32_t edge = indptr[queue[place]]; edge < stop; edge++) {
            int32_t word = indices[edge];
            uint32_t before = seen[word], is_new = before < mark;
            queue[end] = word; /* overwritten unless it is new: no branch to guess, here or in the next but one line */
            end += is_new;
            seen[word] = before ^ ((before ^ here) & -is_new);
        }
    }
    for (int64_t place = last; place < end; place++)
        put_in(around->listed, queue[place]);
    around->levels[++around->radius + 1] = end;
    around->spent = 0;
}

/* How many words of a level may be drawn. */
static int64_t allowed_at(Around *around, int64_t level)
{
    while (around->sorted < level) {
        const int64_t one = ++around->sorted;
        int64_t end = around->allowed_levels[one];
        for (int64_t place = around->levels[one]; place < around->levels[one + 1]; place++) {
            around->allowed[end] = around->queue[place];
            end += !around->blocked || !around->blocked[around->queue[place]];
        }
        around->allowed_levels[one + 1] = end;
    }
    return around->allowed_levels[level + 1] - around->allowed_levels[level];
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
static void reach_to(Around *around, int64_t ball)
{
    const int64_t words = around->graph->words, *levels = around->levels;
    int64_t reach = 0;
    double near = 0.0, out, guessed;
    for (;; reach++) {
        if (reach > around->radius)
            grow_around(around);
        near += (double)allowed_at(around, reach) * around->weights[reach];
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
        around->sums[place] = around->sums[place - 1] + (double)allowed_at(around, hop) * around->weights[hop];
    around->near = (Near){reach, around->queue, around->allowed, around->edges, levels, around->allowed_levels, around->sums};
}

/* So many bytes to keep something in, in a place of its own; NULL where no more is kept. */
static uint64_t *room_for(const Kept *kept, int64_t bytes, int64_t *place)
{
    const int64_t count = (bytes + 7) / 8;
    if (*kept->used + count > kept->size)
        return NULL;
    *place = __atomic_fetch_add(kept->used, count, __ATOMIC_RELAXED); /* other threads take theirs */
    return *place + count <= kept->size ? kept->room + *place : NULL;
}

static const void *part_of(char **at, const void *from, int64_t bytes)
{
    char *begin = *at;
    memcpy(begin, from, (size_t)bytes);
    *at += (bytes + 7) / 8 * 8;
    return begin;
}

/* Keep what is listed for the first attempts. */
static void keep_near(Around *around)
{
    const Near *near = &around->near;
    const int64_t reach = near->reach, count = near->levels[reach + 1], allowed = near->allowed_levels[reach + 1];
    int64_t place;
    uint64_t *room = room_for(around->kept, 8 * (11 + 3 * reach) + 4 * (2 * count + allowed + 4) + (int64_t)sizeof *near, &place);
    if (!room)
        return;
    (void)edges_of(around, reach);
    char *at = (char *)room + sizeof *near;
    Near kept = {.reach = reach};
    kept.levels = part_of(&at, near->levels, 8 * (reach + 2));
    kept.allowed_levels = part_of(&at, near->allowed_levels, 8 * (reach + 2));
    kept.sums = part_of(&at, near->sums, 8 * (reach + 3));
    kept.allowed = part_of(&at, near->allowed, 4 * allowed);
    kept.queue = part_of(&at, near->queue, 4 * count);
    kept.edges = part_of(&at, near->edges, 4 * (count + 1));
    memcpy(room, &kept, sizeof kept);
    entry_of(around)[NEAR] = place;
}

/* Begin with a source: with what is kept of it, else with what is listed now. */
static void begin_source(Around *around, int32_t source, int64_t draws)
{
    around->source = source;
    around->is_listed = 0;
    around->farther = 0;
    memset(around->entry, 0, sizeof around->entry);
    const int64_t *entry = entry_of(around);
    if (!entry[NEAR]) {
        begin_around(around);
        reach_to(around, around->ball);
        if (around->kept && draws > 1) /* words that come once are many, and seldom come again */
            keep_near(around);
        return;
    }
    memcpy(&around->near, around->kept->room + entry[NEAR], sizeof around->near);
    for (; around->farther < FARTHER && entry[around->farther]; around->farther++)
        around->far[around->farther] = around->kept->room + entry[around->farther];
}

/* List the words around the source that is kept. */
static void list_near(Around *around)
{
    const Near *near = &around->near;
    if (around->is_listed)
        return;
    begin_around(around);
    memcpy(around->levels, near->levels, 8 * (size_t)(near->reach + 2));
    memcpy(around->queue, near->queue, 4 * (size_t)near->levels[near->reach + 1]);
    for (int64_t level = 0; level <= near->reach; level++)
        for (int64_t place = near->levels[level]; place < near->levels[level + 1]; place++) {
            around->seen[near->queue[place]] = around->mark + (uint32_t)level;
            put_in(around->listed, near->queue[place]);
        }
    around->radius = near->reach;
}

/* List one more level beyond the reach, as bits. */
static void list_farther(Around *around)
{
    const int64_t groups = groups_of(around), level = around->near.reach + around->farther + 1;
    int64_t place, *entry = entry_of(around);
    uint64_t *room = around->kept ? room_for(around->kept, 8 * (groups + 1), &place) : NULL;
    list_near(around);
    while (around->radius < level)
        grow_around(around);
    if (room)
        entry[around->farther] = place;
    else
        room = around->bits[around->farther];
    room[0] = (uint64_t)edges_of(around, level);
    if (around->radius == level)
        memcpy(room + 1, around->listed, 8 * (size_t)groups);
    else {
        memset(room + 1, 0, 8 * (size_t)groups);
        for (int64_t one = 0; one < around->levels[level + 1]; one++)
            put_in(room + 1, around->queue[one]);
    }
    around->far[around->farther++] = room;
}

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
    if (edges == 1)
        return touches(graph, some, word);
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
    entry_of(around)[SPENT] += EDGES_TRIED - patience;
    return found || (patience <= 0 && is_met(around, word, most));
}

/* Whether a word is more than one hop beyond the reach, and at most `most` away. */
static int is_between(Around *around, int32_t word, int64_t most)
{
    const Near *near = &around->near;
    int64_t *spent = &entry_of(around)[SPENT], patience = EDGES_TRIED, next;
    while (around->farther >= 0 && around->farther < FARTHER && near->reach + around->farther < most) {
        next = around->farther ? (int64_t)around->far[around->farther - 1][0]
                               : near->edges[near->levels[near->reach + 1]] - near->edges[near->levels[near->reach]];
        if (*spent * EAGER < next)
            break;
        *spent = 0;
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
    *spent += EDGES_TRIED - patience;
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

/* The draws of source s are those from starts[s] to starts[s+1]. Returns 1, or -1 where all words are blocked. */
static int draw_all(Around *around, const Stream *stream, const int64_t *sources, int64_t count, const int64_t *starts,
                    int64_t *waiting, int64_t *out)
{
    Blocks firsts, others;
    int64_t made = starts[0], end = starts[count], some[TOGETHER]; /* up to which draw there are first blocks */
    for (int64_t source = 0; source < count; source++) {
        if (starts[source] == starts[source + 1])
            continue;
        begin_source(around, (int32_t)sources[source], starts[source + 1] - starts[source]);
        int64_t ball = around->ball, left = 0, begin = starts[0];
        for (int64_t draw = starts[source]; draw < starts[source + 1]; draw++) {
            if (draw == made) {
                for (int64_t lane = 0; lane < TOGETHER; lane++)
                    some[lane] = made + lane;
                made = made + TOGETHER < end ? made + TOGETHER : end;
                fill_blocks(stream, some, made - draw, 0, &firsts);
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

/* Returns 1, or 0 where there is no memory, or -1 where all words are blocked. */
static int draw_around(const Graph *graph, const Kept *kept, const uint8_t *blocked, const double *weights, int64_t hops,
                       Stream *stream, const int64_t *sources, int64_t count, const int64_t *starts, int64_t *out)
{
    const size_t words = (size_t)graph->words;
    Around around = {.graph = graph, .kept = kept, .blocked = blocked, .weights = weights, .hops = hops};
    around.ball = graph->words / BALL_SHARE > SMALLEST_BALL ? graph->words / BALL_SHARE : SMALLEST_BALL;
    around.queue = malloc(sizeof(int32_t) * (words + 1)); /* one more, for the last word seen again */
    around.allowed = malloc(sizeof(int32_t) * (words + 1));
    around.others = malloc(sizeof(int32_t) * (words + 1));
    around.levels = malloc(sizeof(int64_t) * (words + 2));
    around.allowed_levels = malloc(sizeof(int64_t) * (words + 2));
    around.sums = malloc(sizeof(double) * (words + 3));
    around.edges = malloc(sizeof(int32_t) * (words + 1));
    around.seen = calloc(words, sizeof(uint32_t));
    around.listed = calloc(words / 64 + 1, sizeof(uint64_t));
    around.met = calloc(words, sizeof(uint32_t));
    int64_t *waiting = malloc(sizeof(int64_t) * (size_t)(starts[count] - starts[0] + 1));
    around.bits[0] = malloc(sizeof(uint64_t) * (words / 64 + 2) * FARTHER);
    for (int level = 1; level < FARTHER; level++)
        around.bits[level] = around.bits[level - 1] + words / 64 + 2;
    int done = around.bits[0] && around.queue && around.allowed && around.others && around.levels && around.allowed_levels && around.sums &&
               around.edges && around.seen && around.listed && around.met && waiting;
    stream->lanes = runs_here("avx512") ? 16 : runs_here("avx2") ? 8 : 4;
    if (done) {
        around.levels[1] = 0; /* nothing is listed yet */
        done = draw_all(&around, stream, sources, count, starts, waiting, out);
    }
    free(around.queue);
    free(around.allowed);
    free(around.others);
    free(around.levels);
    free(around.allowed_levels);
    free(around.sums);
    free(around.edges);
    free(around.seen);
    free(around.listed);
    free(around.met);
    free(around.bits[0]);
    free(waiting);
    return done;
}

static PyObject *draw_hops(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *graph_of, *blocked_of, *weights_of, *sources_of, *starts_of, *keys_of, *out_of;
    PyObject *kept_of = Py_None, *entries_of, *room_of, *used_of;
    long long hops, count, draws, size = 0;
    unsigned long long first;
    Stream stream;
    if (!PyArg_ParseTuple(args, "OOOLOLOOpKLO|O", &graph_of, &blocked_of, &weights_of, &hops, &sources_of, &count,
                          &starts_of, &keys_of, &stream.one_key, &first, &draws, &out_of, &kept_of))
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
                                     (kept.used = memory(&buffers, used_of, 1, 8, 1))))) {
        int done;
        kept.size = size;
        Py_BEGIN_ALLOW_THREADS;
        done = draw_around(&graph, kept.room ? &kept : NULL, blocked, weights, hops, &stream, sources, count, starts, out);
        Py_END_ALLOW_THREADS;
        if (done < 0)
            PyErr_SetString(PyExc_ValueError, "every word of the graph is blocked");
        else
            result = answer(done);
    }
    let_go(&buffers);
    return result;
}
