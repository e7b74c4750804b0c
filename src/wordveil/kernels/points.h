/* The two words nearest to each of many points, for words that share their directions. Included by falls.h after rays.h, once
   for each kind of processor; the levels and the way to pass most words by are those of rays.h.

   A point is a word moved along a direction, so a word's squared distance from it is, but for what all words have in common,
   that from the word less a multiple of its product with the direction: nothing here costs more in more dimensions. */

#ifndef WORDVEIL_POINTS
#define WORDVEIL_POINTS
typedef struct {
    const float *products; /* of directions with words */
    const float *squares;  /* of the distances of words from each of `count` words */
    const int64_t *places; /* which those are */
    const float *sizes;    /* twice how far each of them is moved along each direction, `several` times */
    int64_t words, directions, count, several;
} Points;

/* Write the levels of some rows of numbers, the largest (or least, with a sign of -1) of each group and bunch, to `room`. */
static void find_levels(const float *numbers, int64_t rows, int64_t words, float sign, float *room, Levels *levels)
{
    const int64_t groups = groups_of(words);
    for (int64_t row = 0; row < rows; row++, numbers += words, room += levels_of(words)) {
        bound_groups(numbers, words, sign, room);
        bound_groups(room, groups, sign, room + groups);
        levels[row] = (Levels){numbers, room, room + groups};
    }
}
#endif

typedef struct {
    const Levels *far, *near;
    float own, size; /* the word's own product, and by what products are multiplied */
    float scores[2]; /* the two least so far */
    int32_t where[2];
} NAME(Pair);

/* Which of GROUP numbers are worth a look. */
TARGET static inline unsigned NAME(worth_of_pair)(const float *far, const float *near, const NAME(Pair) *pair)
{
    const FLOATS limit = pair->scores[1] + (FLOATS){0};
    unsigned some = 0;
    for (int place = 0; place < GROUP; place += LANES)
        some |= LESS(NAME(load)(near + place) - pair->size * (NAME(load)(far + place) - pair->own), limit) << place;
    return some;
}

TARGET static inline void NAME(look_at)(NAME(Pair) *pair, int64_t word)
{
    const float score = pair->near->words[word] - pair->size * (pair->far->words[word] - pair->own);
    if (!(score < pair->scores[1]) || word == pair->where[0])
        return;
    const int wins = score < pair->scores[0];
    pair->scores[1] = wins ? pair->scores[0] : score;
    pair->where[1] = wins ? pair->where[0] : (int32_t)word;
    if (wins) {
        pair->scores[0] = score;
        pair->where[0] = (int32_t)word;
    }
}

/* As search of rays.h does, for two. */
TARGET static void NAME(search_two)(int64_t words, NAME(Pair) *pair)
{
    const Levels *far = pair->far, *near = pair->near;
    const int64_t bunches = in_groups(in_groups(words));
    int32_t some[RUN + GROUP], few[RUN * GROUP + GROUP];
    for (int64_t first = 0; first < bunches; first += RUN) {
        const NAME(Pair) now = *pair;
        int listed = 0, left = 0;
        for (int64_t bunch = first; bunch < first + RUN && bunch < bunches; bunch += GROUP) {
            const unsigned found = NAME(worth_of_pair)(far->bunches + bunch, near->bunches + bunch, &now);
            LIST(found, (int32_t)bunch, some + listed);
            listed += __builtin_popcount(found);
        }
        for (int number = 0; number < listed; number++) {
            const int64_t group = (int64_t)some[number] * GROUP;
            const unsigned found = NAME(worth_of_pair)(far->groups + group, near->groups + group, &now);
            LIST(found, (int32_t)group, few + left);
            left += __builtin_popcount(found);
        }
        for (int number = 0; number < left; number++) {
            const int64_t begin = (int64_t)few[number] * GROUP;
            if (begin + GROUP > words) {
                for (int64_t word = begin; word < words; word++)
                    NAME(look_at)(pair, word);
                continue;
            }
            unsigned one = NAME(worth_of_pair)(far->words + begin, near->words + begin, pair);
            for (; one; one &= one - 1)
                NAME(look_at)(pair, begin + __builtin_ctz(one));
        }
    }
}

/* The two words nearest to each point, nearest first, and what they score: their squared distance less that of the word. */
TARGET static int NAME(nearest_two)(const Points *points, int32_t *out, float *scores)
{
    const int64_t words = points->words, rows = points->directions + points->count;
    float *room = malloc(sizeof(float) * (size_t)(levels_of(words) * (rows ? rows : 1)));
    Levels *far = malloc(sizeof(Levels) * (size_t)(rows ? rows : 1)), *near = far + points->directions;
    int64_t *tops = malloc(sizeof(int64_t) * (size_t)(points->directions ? points->directions : 1));
    if (!room || !far || !tops) {
        free(room);
        free(far);
        free(tops);
        return 0;
    }
    find_levels(points->products, points->directions, words, 1.0f, room, far);
    find_levels(points->squares, points->count, words, -1.0f, room + levels_of(words) * points->directions, near);
    for (int64_t direction = 0; direction < points->directions; direction++)
        tops[direction] = farthest(far[direction].words, far[direction].groups, words);
    int32_t last[2] = {0, 0}; /* who was nearest to the point before, which is often much the same point */
    const float *size = points->sizes;
    for (int64_t word = 0; word < points->count; word++)
        for (int64_t direction = 0; direction < points->directions; direction++)
            for (int64_t number = 0; number < points->several; number++, size++, out += 2, scores += 2) {
                const int64_t itself = points->places[word];
                NAME(Pair) pair = {far + direction,    near + word, far[direction].words[itself], *size,
                                   {FLT_MAX, FLT_MAX}, {-1, -1}};
                NAME(look_at)(&pair, itself);
                NAME(look_at)(&pair, last[0]);
                NAME(look_at)(&pair, last[1]);
                NAME(look_at)(&pair, tops[direction]);
                NAME(search_two)(words, &pair);
                memcpy(last, pair.where, sizeof last);
                memcpy(out, pair.where, sizeof pair.where);
                memcpy(scores, pair.scores, sizeof pair.scores);
            }
    free(room);
    free(far);
    free(tops);
    return 1;
}
