/* The words around a word of a graph, level by level: listed, and kept for its next draws. Included by graph_draws.h. */

#define SMALLEST_BALL 128 /* words that are listed around a word before others are guessed, or this share of all: */
#define BALL_SHARE 8192   /* these four as in hops.py */
#define RARE 4            /* guesses are rare enough where they are a fifth of the attempts */
#define EARNS 48          /* edges that a level may have for each draw that it spares an attempt on words farther away */
#define AHEAD 8           /* words whose edges are fetched before they are looked at: they lie anywhere in memory */
#define DEEP 255          /* levels that are told apart at once */
#define CLEARED 32        /* bytes that are cleared in the time of one that stands alone */
#define SUMS 8            /* that are compared at once */

/* The words around a source, level by level. */
typedef struct {
    int64_t deepest;                        /* level */
    const int32_t *queue, *allowed, *edges; /* its words, those that are not blocked, and how many edges begin before each */
    const int64_t *levels, *allowed_levels; /* where each level begins among them */
} Near;

/* Memory that outlives a call, for what was listed around words. What is kept is never changed, and once all is used
   nothing more is. Threads may share it, and have the same words at the same time: then both keep the same, and one of the
   two is found again. */
enum { NEAR, ROW, SPENT, ENTRIES };

typedef struct {
    int64_t *entries; /* of each word: the places of what is near it and of its hops to every word, 0 for none, -1 for a */
    uint64_t *room;   /* word that came once; and edges that were looked at for its guesses */
    int64_t size, *used; /* the first is not; the next number is of the hops that rows do not tell apart */
} Kept;

/* How many words lie at each level, and how many edges begin there: of every word, up to where draws list words at first.
   Then a word that is drawn once is drawn without a list, which takes far longer than a draw. A level without a word here is
   one of which nothing is known; so it is for words with a blocked one at any of their levels. */
typedef struct {
    const uint16_t *counts; /* two for each level of each word, or NULL */
    int64_t levels;
} Nearby;

typedef struct {
    const Graph *graph;
    const Kept *kept;        /* or NULL */
    Nearby nearby;
    const uint8_t *blocked;  /* or NULL */
    const double *weights;   /* of one word at each number of hops */
    int64_t hops;            /* how many of them: more than there are between any two words */
    int64_t ball;            /* words that are listed at first */
    int32_t source;
    int64_t draws;           /* of it */
    const uint16_t *counts;  /* of it, for as long as nothing had to be listed, or NULL */
    Near near;               /* of it: what is kept, or what is listed */
    int64_t reach, steps;    /* up to which level words are drawn from a list; and, if 1, those a step farther by edges */
    double *sums;            /* of the weights of guesses, edges that lead out, and levels, the farthest first */
    const uint64_t *row;     /* of hops to every word, or NULL */
    const uint8_t *afar;     /* the hops from every word to some that lie far from one another, or NULL */
    int64_t entry[ENTRIES];  /* of the source, where nothing is kept */
    int is_listed;           /* whether what follows is of this source */
    int32_t *queue;          /* the words around the source, level by level */
    int64_t *levels;         /* where each begins in the queue */
    int32_t *allowed;        /* those of the queue that are not blocked, */
    int64_t *allowed_levels; /* where each level begins among them, */
    int64_t sorted;          /* and up to which level they are known */
    int32_t *edges;          /* how many edges begin at the words of the queue before each, of those that were */
    int64_t counted;         /* looked at for it */
    uint8_t *level;          /* of each word in the queue, and one more, up to DEEP; 0 elsewhere */
    int64_t radius;          /* levels listed so far, beside the source */
    int64_t spent;           /* edges looked at for guesses since the last level was listed */
    int32_t *others;         /* the words around a guess */
    uint32_t *met, trial;
} Around;

static inline int64_t *entry_of(Around *around)
{
    return around->kept ? around->kept->entries + (int64_t)ENTRIES * around->source : around->entry;
}

/* Add edges that were looked at for guesses of the source. What another thread adds meanwhile may be lost. */
static inline void note_spent(Around *around, int64_t edges)
{
    int64_t *spent = &entry_of(around)[SPENT];
    __atomic_store_n(spent, __atomic_load_n(spent, __ATOMIC_RELAXED) + edges, __ATOMIC_RELAXED);
}

static inline void fetch_edges(const Graph *graph, int32_t word)
{
    const int32_t *edges = graph->indices + graph->indptr[word];
    __builtin_prefetch(edges);
    __builtin_prefetch(edges + 16);
}

static inline uint8_t mark_of(int64_t level)
{
    return (uint8_t)(level < DEEP ? level + 1 : DEEP);
}

/* The level of a word that is listed, or -1. */
static inline int64_t level_of(const Around *around, int32_t word)
{
    const int64_t mark = around->level[word];
    if (mark < DEEP)
        return mark - 1;
    for (int64_t level = DEEP - 1;; level++)
        for (int64_t place = around->levels[level]; place < around->levels[level + 1]; place++)
            if (around->queue[place] == word)
                return level;
}

/* How many neighbours of a word are listed, up to a level. */
static inline int64_t touches(const Around *around, int32_t word, int64_t level)
{
    const int32_t *indices = around->graph->indices, stop = around->graph->indptr[word + 1];
    const uint8_t last = (uint8_t)(level + 1), *of = around->level;
    int64_t found = 0;
    if (level >= DEEP - 1) {
        for (int32_t edge = around->graph->indptr[word]; edge < stop; edge++) {
            const int64_t one = level_of(around, indices[edge]);
            found += one >= 0 && one <= level;
        }
        return found;
    }
    for (int32_t edge = around->graph->indptr[word]; edge < stop; edge++)
        found += (uint8_t)(of[indices[edge]] - 1) < last;
    return found;
}

static void begin_around(Around *around)
{
    const int32_t word = around->source;
    const int64_t before = around->levels[around->radius + 1];
    if (before * CLEARED < around->graph->words)
        for (int64_t place = 0; place < before; place++)
            around->level[around->queue[place]] = 0;
    else
        memset(around->level, 0, (size_t)around->graph->words);
    around->radius = around->counted = around->spent = 0;
    around->sorted = -1;
    around->queue[0] = word;
    around->levels[0] = around->allowed_levels[0] = 0;
    around->levels[1] = 1;
    around->edges[0] = 0;
    around->level[word] = mark_of(0);
    around->is_listed = 1;
}

/* Whether what is near the source is what is listed, and not what is kept. */
static inline int is_own(const Around *around)
{
    return around->near.queue == around->queue;
}

/* From now on it is. */
static inline void take_own(Around *around)
{
    around->near = (Near){0, around->queue, around->queue, around->edges, around->levels, around->allowed_levels};
}

/* List the words one hop farther. */
static void grow_around(Around *around)
{
    const int32_t *indptr = around->graph->indptr, *indices = around->graph->indices;
    int32_t *queue = around->queue;
    uint8_t *level = around->level;
    const uint8_t here = mark_of(around->radius + 1);
    const int64_t last = around->levels[around->radius + 1];
    int64_t end = last;
    for (int64_t place = around->levels[around->radius]; place < last; place++) {
        const int32_t stop = indptr[queue[place] + 1];
        if (place + AHEAD < last)
            fetch_edges(around->graph, queue[place + AHEAD]);
        for (int32_t edge = indptr[queue[place]]; edge < stop; edge++) {
            const int32_t word = indices[edge];
            const uint8_t before = level[word];
            queue[end] = word; /* overwritten unless it is new: no branch to guess, here or in the next but one line */
            end += !before;
            level[word] = before ? before : here;
        }
    }
    around->levels[++around->radius + 1] = end;
    around->spent = 0;
}

/* List the words around the source that is kept. */
static void list_near(Around *around)
{
    const Near *near = &around->near;
    if (around->is_listed)
        return;
    begin_around(around);
    memcpy(around->levels, near->levels, 8 * (size_t)(near->deepest + 2));
    memcpy(around->queue, near->queue, 4 * (size_t)near->levels[near->deepest + 1]);
    for (int64_t one = 0; one <= near->deepest; one++)
        for (int64_t place = near->levels[one]; place < near->levels[one + 1]; place++)
            around->level[near->queue[place]] = mark_of(one);
    around->radius = near->deepest;
}

/* How many edges begin at the words of a level that is known, or listed. */
static int64_t edges_of(Around *around, int64_t level)
{
    const int32_t *indptr = around->graph->indptr, *edges = around->near.edges;
    const int64_t *levels = around->near.levels;
    if (is_own(around) || level > around->near.deepest) {
        edges = around->edges;
        levels = around->levels;
        for (; around->counted < levels[level + 1]; around->counted++) {
            int32_t word = around->queue[around->counted];
            around->edges[around->counted + 1] = around->edges[around->counted] + indptr[word + 1] - indptr[word];
        }
    }
    return edges[levels[level + 1]] - edges[levels[level]];
}

/* How many words of a level may be drawn. What is near the source is known up to that level then. */
static int64_t allowed_at(Around *around, int64_t level)
{
    if (!is_own(around) && level > around->near.deepest) {
        list_near(around);
        take_own(around);
    }
    while (is_own(around) && around->sorted < level) {
        const int64_t one = ++around->sorted;
        int64_t end = around->allowed_levels[one];
        if (one > around->radius)
            grow_around(around);
        if (around->blocked) {
            around->near.allowed = around->allowed;
            for (int64_t place = around->levels[one]; place < around->levels[one + 1]; place++) {
                around->allowed[end] = around->queue[place];
                end += !around->blocked[around->queue[place]];
            }
        } else
            end = around->levels[one + 1];
        around->allowed_levels[one + 1] = end;
        around->near.deepest = one;
    }
    return around->near.allowed_levels[level + 1] - around->near.allowed_levels[level];
}

/* How many words of a level may be drawn, in the order of `edges`: those of which only the number is known, or that are listed. */
static inline int64_t number_at(Around *around, int64_t level)
{
    return around->counts ? around->counts[2 * level] : allowed_at(around, level);
}

/* Decide how far words are listed for so many draws, and cumulate the weights: until the ball is large or, at first,
   until guesses are rare (later it may be that all words near are blocked); then as long as a level earns what it takes.
   Returns 0 where that takes a list, and there is none yet. */
static int reach_to(Around *around, int64_t ball, int64_t draws)
{
    const double words = (double)around->graph->words, *weights = around->weights;
    const uint16_t *counts = around->counts;
    int64_t reach = 0, within = 0, steps, place;
    double near = 0.0, out, guessed;
    for (;; reach++) {
        if (counts && (reach == around->nearby.levels || !counts[2 * reach]))
            return 0;
        near += (double)number_at(around, reach) * weights[reach];
        const int64_t before = within;
        within = counts ? before + counts[2 * reach] : around->near.levels[reach + 1];
        out = guessed = 0.0;
        steps = 0;
        /* Nothing is farther than the weights reach, on a graph that is connected. */
        if (within >= around->graph->words || reach + 1 >= around->hops || within == before)
            break;
        const double edges = (double)(counts ? counts[2 * reach + 1] : edges_of(around, reach)), next = words * weights[reach + 1];
        const double beyond = reach + 2 < around->hops ? words * weights[reach + 2] : 0.0;
        steps = edges * weights[reach + 1] + beyond < next;
        out = steps ? edges * weights[reach + 1] : 0.0;
        guessed = steps ? beyond : next;
        if (within < ball && !(ball == around->ball && guessed * RARE <= near + out))
            continue;
        if (!((double)draws * EARNS * (out + guessed) > edges * (near + out + guessed)))
            break;
    }
    around->reach = reach;
    around->steps = steps;
    around->sums[0] = guessed;
    around->sums[1] = guessed + out;
    for (place = 2; reach >= 0; reach--, place++)
        around->sums[place] = around->sums[place - 1] + (double)number_at(around, reach) * weights[reach];
    for (; place < SUMS; place++)
        around->sums[place] = INFINITY;
    return 1;
}

/* So many bytes to keep something in, in a place of its own; NULL where no more is kept. */
static uint64_t *room_for(const Kept *kept, int64_t bytes, int64_t *place)
{
    const int64_t count = (bytes + 7) / 8;
    if (__atomic_load_n(kept->used, __ATOMIC_RELAXED) + count > kept->size)
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

/* Say where something is kept, after it was written: a process that is forked meanwhile has all of it, or nothing. */
static inline void publish(Around *around, int which, int64_t place)
{
    __atomic_store_n(&entry_of(around)[which], place, __ATOMIC_RELEASE);
}

/* Where something is kept: another thread, which has the same source, may keep it meanwhile. */
static inline int64_t kept_at(Around *around, int which)
{
    return __atomic_load_n(&entry_of(around)[which], __ATOMIC_ACQUIRE);
}

/* Note that a word came once, unless another thread has kept what is near it. */
static inline void note_once(Around *around)
{
    int64_t none = 0;
    (void)__atomic_compare_exchange_n(&entry_of(around)[NEAR], &none, -1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Keep what is listed for the first attempts. */
static void keep_near(Around *around)
{
    const Near *near = &around->near;
    const int64_t reach = around->reach, count = near->levels[reach + 1], allowed = near->allowed_levels[reach + 1];
    const int64_t numbers = 2 * count + (around->blocked ? allowed : 0), bytes = 8 * (8 + 2 * reach) + 4 * numbers;
    int64_t place;
    uint64_t *room = room_for(around->kept, bytes + (int64_t)sizeof *near, &place);
    if (!room)
        return;
    (void)edges_of(around, reach);
    char *at = (char *)room + sizeof *near;
    Near kept = {.deepest = reach};
    kept.levels = part_of(&at, near->levels, 8 * (reach + 2));
    kept.allowed_levels = part_of(&at, near->allowed_levels, 8 * (reach + 2));
    kept.queue = part_of(&at, near->queue, 4 * count);
    kept.allowed = around->blocked ? part_of(&at, near->allowed, 4 * allowed) : kept.queue;
    kept.edges = part_of(&at, near->edges, 4 * (count + 1));
    memcpy(room, &kept, sizeof kept);
    publish(around, NEAR, place);
}

/* Keep what is listed, unless the word comes for the first time, and once: such words are many. */
static void keep_or_note(Around *around)
{
    if (around->kept && (around->draws > 1 || kept_at(around, NEAR)))
        keep_near(around);
    else if (around->kept)
        note_once(around);
}

/* From now on there are lists, and not only counts. */
static void settle(Around *around)
{
    if (!around->counts)
        return;
    around->counts = NULL;
    if (!around->is_listed)
        begin_around(around);
    take_own(around);
    (void)allowed_at(around, around->reach);
    (void)reach_to(around, around->ball, around->draws); /* as before, unless what was counted is wrong */
    keep_or_note(around);
}

/* List no more than a level takes, for a word that comes for the first time, and once. Returns 0 for others. */
static int lists_for_once(Around *around, int64_t level)
{
    if (!around->counts || around->draws > 1 || (around->kept && kept_at(around, NEAR)))
        return 0;
    if (around->kept)
        note_once(around);
    if (!around->is_listed)
        begin_around(around);
    while (around->radius < level)
        grow_around(around);
    return 1;
}

/* Begin with a source: with what is kept of it, with how many words are known to be near, or with what is listed now. */
static void begin_source(Around *around, int32_t source, int64_t draws)
{
    around->source = source;
    around->draws = draws;
    around->is_listed = 0;
    memset(around->entry, 0, sizeof around->entry);
    const int64_t near = kept_at(around, NEAR), row = kept_at(around, ROW);
    around->row = row ? around->kept->room + row : NULL;
    around->counts = NULL;
    if (near > 0)
        memcpy(&around->near, around->kept->room + near, sizeof around->near);
    else if (around->nearby.counts) {
        around->counts = around->nearby.counts + 2 * around->nearby.levels * source;
        if (reach_to(around, around->ball, draws))
            return;
        around->counts = NULL;
    }
    if (near <= 0) {
        begin_around(around);
        take_own(around);
    }
    (void)reach_to(around, around->ball, draws);
    if (is_own(around))
        keep_or_note(around);
}
