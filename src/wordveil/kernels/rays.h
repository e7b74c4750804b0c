/* Where noise lands, for words that share their directions: _mechanisms/laws/rays.py says what is looked for. Included by
   falls.h, once for each kind of processor.

   Words that stand together lie together, in groups of GROUP, and groups in bunches of GROUP. Of each, the largest product
   with a direction and the least distance from a word bound what any word inside can have, so that most are passed by. */

#ifndef WORDVEIL_RAYS
#define WORDVEIL_RAYS
#define GROUP 16 /* a multiple of all LANES */
#define RUN 64   /* bunches that are looked through together, a multiple of GROUP */
#define MOST_TURNS 32
#define FETCHED 8 /* groups that are fetched ahead of the one that is looked at */

typedef struct {
    const float *products; /* of directions, times twice the length of the noise, with words */
    const float *squares;  /* of the distances of words from each of `count` words; infinite from itself */
    const int64_t *places; /* which those are */
    const float *scales;   /* of each of the `count` words, so many */
    int64_t words, directions, count, several;
    int are_known; /* whether the rises are known from before */
    float *levels; /* of the distances of each of the `count` words, as many as `levels_of` says: */
    int are_made;  /* whether they have been written before */
} Rays;

typedef struct {
    const float *words; /* a number for each word, */
    float *groups;      /* the largest or least of each group, */
    float *bunches;     /* and of each bunch */
} Levels;

static inline int64_t in_groups(int64_t count)
{
    return (count + GROUP - 1) / GROUP;
}

/* How many groups and bunches so many words have, with what fills up the last. */
static inline int64_t groups_of(int64_t words)
{
    return in_groups(in_groups(words)) * GROUP;
}

static inline int64_t levels_of(int64_t words)
{
    return groups_of(words) + in_groups(groups_of(words) / GROUP) * GROUP;
}

typedef struct {
    const Levels *far, *near; /* of a direction, and of a word */
    const float *scales;      /* of that word */
    int64_t words;
    int32_t itself;
    float own, rise;          /* its product, and the steepest rise from it */
    int is_rising, is_falling; /* whether the scales do so throughout */
} Fan;

/* The word with the largest of these numbers, given the largest of each group. */
static int64_t farthest(const float *numbers, const float *groups, int64_t count)
{
    int64_t group = 0;
    for (int64_t place = 1; place < in_groups(count); place++)
        group = groups[place] > groups[group] ? place : group;
    int64_t word = group * GROUP;
    while (numbers[word] < groups[group])
        word++;
    return word;
}

/* Whether numbers rise, or with a sign of -1 fall, throughout. */
static int are_rising(const float *numbers, int64_t count, float sign)
{
    for (int64_t place = 1; place < count; place++)
        if (sign * numbers[place] < sign * numbers[place - 1])
            return 0;
    return 1;
}

/* The largest (or least, with a sign of -1) of every GROUP numbers; what is too much bounds nothing. */
static void bound_groups(const float *numbers, int64_t count, float sign, float *out)
{
    int64_t groups = in_groups(count);
    for (int64_t group = 0; group < groups; group++) {
        int64_t end = (group + 1) * GROUP < count ? (group + 1) * GROUP : count;
        float most = sign * numbers[group * GROUP];
        for (int64_t place = group * GROUP + 1; place < end; place++)
            most = sign * numbers[place] > most ? sign * numbers[place] : most;
        out[group] = sign * most;
    }
    for (; groups % GROUP; groups++)
        out[groups] = -sign * FLT_MAX;
}

/* Write the numbers of the set bits, of GROUP, counted from `first`; there must be room for GROUP. */
static inline void list_bits(unsigned bits, int32_t first, int32_t *out)
{
    for (; bits; bits &= bits - 1)
        *out++ = first + __builtin_ctz(bits);
}
#endif

/* What is looked for: the word with the steepest rise, or the least score. Both begin with what is known, and a word, group
   or bunch is worth a look where weight * square - size * (product - own) is below the limit. */
typedef struct {
    float own, weight, size, limit;
    int32_t where;
    int is_rise;
} NAME(Aim);

TARGET static inline void NAME(look)(const Levels *far, const Levels *near, int64_t begin, int64_t end, NAME(Aim) *aim)
{
    for (int64_t place = begin; place < end; place++) {
        float along = far->words[place] - aim->own, square = near->words[place];
        float score = aim->weight * square - aim->size * along;
        if (!(score < aim->limit))
            continue;
        aim->where = (int32_t)place;
        if (aim->is_rise)
            aim->weight = along / square;
        else
            aim->limit = score;
    }
}

/* Which of LANES numbers are worth a look. */
TARGET static inline unsigned NAME(worth)(const float *far, const float *near, const NAME(Aim) *aim)
{
    FLOATS limit = aim->limit + (FLOATS){0};
    return LESS(aim->weight * NAME(load)(near) - aim->size * (NAME(load)(far) - aim->own), limit);
}

/* Which of GROUP numbers are worth a look. */
TARGET static inline unsigned NAME(worth_of_group)(const float *far, const float *near, const NAME(Aim) *aim)
{
    unsigned some = 0;
    for (int place = 0; place < GROUP; place += LANES)
        some |= NAME(worth)(far + place, near + place, aim) << place;
    return some;
}

/* What is worth a look is listed before it is looked at, without a branch for each: nobody can foresee which groups those are,
   and wrong guesses of the processor would take longer than the looks. The limit falls between runs of bunches. */
TARGET static void NAME(search)(const Levels *far, const Levels *near, int64_t words, NAME(Aim) *aim)
{
    const int64_t bunches = in_groups(in_groups(words));
    int32_t some[RUN + GROUP], few[RUN * GROUP + GROUP];
    for (int64_t first = 0; first < bunches; first += RUN) {
        const NAME(Aim) now = *aim; /* a copy, which stays in registers */
        int listed = 0, left = 0;
        for (int64_t bunch = first; bunch < first + RUN && bunch < bunches; bunch += GROUP) {
            const unsigned found = NAME(worth_of_group)(far->bunches + bunch, near->bunches + bunch, &now);
            LIST(found, (int32_t)bunch, some + listed);
            listed += __builtin_popcount(found);
        }
        for (int number = 0; number < listed; number++) {
            const int64_t group = (int64_t)some[number] * GROUP;
            const unsigned found = NAME(worth_of_group)(far->groups + group, near->groups + group, &now);
            LIST(found, (int32_t)group, few + left);
            left += __builtin_popcount(found);
        }
        for (int number = 0; number < left; number++) {
            const int64_t begin = (int64_t)few[number] * GROUP;
            if (number + FETCHED < left)
                __builtin_prefetch(far->words + (int64_t)few[number + FETCHED] * GROUP);
            if (begin + GROUP > words) {
                NAME(look)(far, near, begin, words, aim);
                continue;
            }
            for (unsigned one = NAME(worth_of_group)(far->words + begin, near->words + begin, aim); one; one &= one - 1)
                NAME(look)(far, near, begin + __builtin_ctz(one), begin + __builtin_ctz(one) + 1, aim);
        }
    }
}

/* Who comes out at one scale, given two guesses: words that do so at other scales are good ones to begin with. */
TARGET static void NAME(land)(const Fan *fan, int64_t number, int32_t one, int32_t other, int32_t *winner)
{
    const float size = fan->scales[number];
    *winner = fan->itself;
    if (!(fan->rise * size >= 1.0f))
        return;
    NAME(Aim) aim = {fan->own, 1.0f, size, 0.0f, fan->itself, 0};
    for (int turn = 0; turn < 2; turn++) {
        const int32_t guess = turn ? other : one;
        if (guess == fan->itself)
            continue;
        const float score = fan->near->words[guess] - size * (fan->far->words[guess] - fan->own);
        if (score < aim.limit) {
            aim.limit = score;
            aim.where = guess;
        }
    }
    NAME(search)(fan->far, fan->near, fan->words, &aim);
    *winner = aim.where;
}

/* The score of a word at a size of the noise, less that of the word itself. */
TARGET static inline float NAME(score)(const Fan *fan, int32_t word, float size)
{
    return word == fan->itself ? 0.0f : fan->near->words[word] - size * (fan->far->words[word] - fan->own);
}

/* Who comes out at the scales from `begin` to `end`, which lie between two sizes whose winners, `one` and `other`, are known; the
   scales go from the size of `one` to that of `other`. The score of a word is a straight line over the size, and the least of
   all lines has no dents: if no line passes below where those of the two cross, nobody else wins between them. If one does, it
   divides the scales. After MOST_TURNS such divisions, which only rounding can cause, each scale is searched. */
TARGET static void NAME(land_between)(const Fan *fan, int64_t begin, int64_t end, int32_t one, int32_t other, int turns, int64_t step,
                                      int32_t *winners)
{
    if (begin < end && one != other) {
        const float ahead = other == fan->itself ? 0.0f : fan->far->words[other] - fan->own;
        const float rise = (one == fan->itself ? 0.0f : fan->far->words[one] - fan->own) - ahead;
        const float fall = NAME(score)(fan, one, 0.0f) - NAME(score)(fan, other, 0.0f), size = fall / rise;
        if (!(size > 0.0f && size < FLT_MAX) || turns == MOST_TURNS) {
            for (int64_t number = begin; number < end; number++)
                NAME(land)(fan, number, one, other, winners + number * step);
            return;
        }
        NAME(Aim) aim = {fan->own, 1.0f, size, NAME(score)(fan, one, size), fan->itself, 0};
        NAME(search)(fan->far, fan->near, fan->words, &aim);
        if (aim.where != fan->itself && aim.where != one && aim.where != other) {
            int64_t middle = begin;
            while (middle < end && (fan->scales[middle] < size) == (fan->is_rising != 0))
                middle++;
            NAME(land_between)(fan, begin, middle, one, aim.where, turns + 1, step, winners);
            NAME(land_between)(fan, middle, end, aim.where, other, turns + 1, step, winners);
            return;
        }
    }
    for (int64_t number = begin; number < end; number++) {
        const float size = fan->scales[number];
        winners[number * step] = NAME(score)(fan, other, size) < NAME(score)(fan, one, size) ? other : one;
    }
}

/* Who comes out at every scale. `first` comes out at scales at which the word has just left its cell; it is the word itself if
   that is unknown. `guess` is likely to come out at large ones. */
TARGET static void NAME(land_all)(const Fan *fan, int64_t several, int32_t first, int32_t guess, int64_t step, int32_t *winners)
{
    int64_t begin = 0, end = several;
    if (!fan->is_rising && !fan->is_falling) {
        for (int64_t number = 0; number < several; number++)
            NAME(land)(fan, number, first, guess, winners + number * step);
        return;
    }
    while (begin < end && !(fan->rise * fan->scales[begin] >= 1.0f))
        winners[begin++ * step] = fan->itself;
    while (begin < end && !(fan->rise * fan->scales[end - 1] >= 1.0f))
        winners[--end * step] = fan->itself;
    if (begin == end)
        return;
    const int64_t largest = fan->is_rising ? --end : begin++;
    NAME(land)(fan, largest, first, guess, winners + largest * step);
    const int32_t last = winners[largest * step];
    if (begin < end && first == fan->itself) {
        const int64_t smallest = fan->is_rising ? begin++ : --end;
        NAME(land)(fan, smallest, last, guess, winners + smallest * step);
        first = winners[smallest * step];
    }
    NAME(land_between)(fan, begin, end, fan->is_rising ? first : last, fan->is_rising ? last : first, 0, step, winners);
}

/* For each word and direction the steepest rise, unless it is known, and for each scale of the word who comes out. */
TARGET static int NAME(follow)(const Rays *rays, float *rises, int32_t *out)
{
    const int64_t words = rays->words, groups = groups_of(words), each = levels_of(words);
    float *room = malloc(sizeof(float) * (size_t)(each * (rays->directions ? rays->directions : 1)));
    int64_t *tops = malloc(sizeof(int64_t) * (size_t)(rays->directions ? rays->directions : 1));
    if (!room || !tops) {
        free(room);
        free(tops);
        return 0;
    }
    for (int64_t direction = 0; direction < rays->directions; direction++) {
        float *own = room + each * direction;
        bound_groups(rays->products + direction * words, words, 1.0f, own);
        bound_groups(own, groups, 1.0f, own + groups);
        tops[direction] = farthest(rays->products + direction * words, own, words);
    }
    for (int64_t word = 0; word < rays->count; word++) {
        const int32_t itself = (int32_t)rays->places[word];
        const float *scales = rays->scales + word * rays->several;
        const int is_rising = are_rising(scales, rays->several, 1.0f), is_falling = are_rising(scales, rays->several, -1.0f);
        float *own = rays->levels + each * word;
        const Levels near = {rays->squares + word * words, own, own + groups};
        if (!rays->are_made) {
            bound_groups(near.words, words, -1.0f, own);
            bound_groups(own, groups, -1.0f, own + groups);
        }
        int64_t closest = 0;
        for (int64_t group = 1; group < in_groups(words); group++)
            closest = near.groups[group] < near.groups[closest] ? group : closest;
        closest *= GROUP;
        for (int64_t direction = 0; direction < rays->directions; direction++) {
            float *bounds = room + each * direction;
            const Levels far = {rays->products + direction * words, bounds, bounds + groups};
            NAME(Aim) rise = {far.words[itself], 0.0f, 1.0f, 0.0f, itself, 1};
            if (rays->are_known)
                rise.weight = rises[word * rays->directions + direction];
            else {
                NAME(look)(&far, &near, closest, closest + GROUP < words ? closest + GROUP : words, &rise);
                NAME(look)(&far, &near, tops[direction], tops[direction] + 1, &rise);
                NAME(search)(&far, &near, words, &rise);
                rises[word * rays->directions + direction] = rise.weight;
            }
            if (!rays->several)
                continue;
            const Fan fan = {&far, &near, scales, words, itself, rise.own, rise.weight, is_rising, is_falling};
            NAME(land_all)(&fan, rays->several, rise.where, (int32_t)tops[direction], rays->directions,
                           out + word * rays->several * rays->directions + direction);
        }
    }
    free(room);
    free(tops);
    return 1;
}
