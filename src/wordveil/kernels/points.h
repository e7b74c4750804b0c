/* The two words nearest to each of many points. Included by falls.h after rays.h, once for each kind of processor; the levels
   and the way to pass most words by are those of rays.h.

   A point lies on the way from one word to another (or at the first), moved along a direction. So its squared distance from a
   word is, but for what all words have in common, a mean of that word's squared distances from the two, less a multiple of its
   product with the direction: nothing here costs more in more dimensions. */

#ifndef WORDVEIL_POINTS
#define WORDVEIL_POINTS
typedef struct {
    const float *products;     /* of directions with words */
    const float *squares;      /* of the distances of words from some words, */
    const int64_t *places;     /* which those are */
    const int32_t *directions; /* of each point, which direction, */
    const int32_t *ends;       /* which two of those words it lies between, */
    const float *shares;       /* how near to the second of them, 0 being at the first, */
    const float *sizes;        /* and twice how far along the direction */
    int64_t words, rows, centres, count;
} Points;
#endif

typedef struct {
    const Levels *far, *near, *other;
    float own, weight, share, size; /* the product at the point's place, and by what squares and products are multiplied */
    float scores[2];                /* the two least so far */
    int32_t where[2];
} NAME(Pair);

/* Which of GROUP numbers are worth a look. */
TARGET static inline unsigned NAME(worth_of_pair)(const float *far, const float *near, const float *other, const NAME(Pair) *pair)
{
    const FLOATS limit = pair->scores[1] + (FLOATS){0};
    unsigned some = 0;
    for (int place = 0; place < GROUP; place += LANES) {
        const FLOATS square = pair->weight * NAME(load)(near + place) + pair->share * NAME(load)(other + place);
        some |= LESS(square - pair->size * (NAME(load)(far + place) - pair->own), limit) << place;
    }
    return some;
}

TARGET static inline float NAME(score_of_pair)(const NAME(Pair) *pair, int64_t word)
{
    const float square = pair->weight * pair->near->words[word] + pair->share * pair->other->words[word];
    return square - pair->size * (pair->far->words[word] - pair->own);
}

TARGET static inline void NAME(look_at)(NAME(Pair) *pair, int64_t word)
{
    const float score = NAME(score_of_pair)(pair, word);
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
    const Levels *far = pair->far, *near = pair->near, *other = pair->other;
    const int64_t bunches = in_groups(in_groups(words));
    int32_t some[RUN + GROUP], few[RUN * GROUP + GROUP];
    for (int64_t first = 0; first < bunches; first += RUN) {
        const NAME(Pair) now = *pair;
        int listed = 0, left = 0;
        for (int64_t bunch = first; bunch < first + RUN && bunch < bunches; bunch += GROUP) {
            const unsigned found =
                NAME(worth_of_pair)(far->bunches + bunch, near->bunches + bunch, other->bunches + bunch, &now);
            LIST(found, (int32_t)bunch, some + listed);
            listed += __builtin_popcount(found);
        }
        for (int number = 0; number < listed; number++) {
            const int64_t group = (int64_t)some[number] * GROUP;
            const unsigned found =
                NAME(worth_of_pair)(far->groups + group, near->groups + group, other->groups + group, &now);
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
            unsigned one = NAME(worth_of_pair)(far->words + begin, near->words + begin, other->words + begin, pair);
            for (; one; one &= one - 1)
                NAME(look_at)(pair, begin + __builtin_ctz(one));
        }
    }
}

/* The two words nearest to each point, nearest first, and what they score: how much farther their squared distance is than that
   of the place on the way from which the point was moved, before what all words have in common. */
TARGET static int NAME(nearest_two)(const Points *points, int32_t *out, float *scores)
{
    const int64_t words = points->words, groups = groups_of(words), each = levels_of(words);
    const int64_t all = points->rows + points->centres;
    float *room = malloc(sizeof(float) * (size_t)(each * (all ? all : 1)));
    Levels *levels = malloc(sizeof(Levels) * (size_t)(all ? all : 1));
    int64_t *tops = malloc(sizeof(int64_t) * (size_t)(points->rows ? points->rows : 1));
    int32_t last[2] = {0, 0}; /* who was nearest to the point before, which is often much the same point */
    if (!room || !levels || !tops) {
        free(room);
        free(levels);
        free(tops);
        return 0;
    }
    for (int64_t row = 0; row < all; row++) {
        const int is_far = row < points->rows;
        const float *numbers = is_far ? points->products + row * words : points->squares + (row - points->rows) * words;
        float *own = room + each * row;
        bound_groups(numbers, words, is_far ? 1.0f : -1.0f, own);
        bound_groups(own, groups, is_far ? 1.0f : -1.0f, own + groups);
        levels[row] = (Levels){numbers, own, own + groups};
        if (is_far)
            tops[row] = farthest(numbers, own, words);
    }
    for (int64_t number = 0; number < points->count; number++) {
        const int32_t *ends = points->ends + 2 * number;
        const float share = points->shares[number];
        const Levels *far = levels + points->directions[number], *near = levels + points->rows;
        const float own = (1.0f - share) * far->words[points->places[ends[0]]] + share * far->words[points->places[ends[1]]];
        NAME(Pair) pair = {far, near + ends[0], near + ends[1], own, 1.0f - share, share, points->sizes[number],
                           {FLT_MAX, FLT_MAX}, {-1, -1}};
        for (int end = 0; end < 2; end++) {
            NAME(look_at)(&pair, points->places[ends[end]]);
            NAME(look_at)(&pair, last[end]);
        }
        NAME(look_at)(&pair, tops[points->directions[number]]);
        NAME(search_two)(words, &pair);
        memcpy(last, pair.where, sizeof last);
        memcpy(out + 2 * number, pair.where, sizeof pair.where);
        memcpy(scores + 2 * number, pair.scores, sizeof pair.scores);
    }
    free(room);
    free(levels);
    free(tops);
    return 1;
}
