/* Where noise lands, for words that share their directions: _mechanisms/laws/rays.py says what is looked for. Included by
   falls.h, once for each kind of processor.

   Words that stand together lie together, in groups of GROUP, and groups in bunches of GROUP. Of each, the largest product
   with a direction and the least distance from a word bound what any word inside can have, so that most are passed by. */

#ifndef WORDVEIL_RAYS
#define WORDVEIL_RAYS
#define GROUP 16 /* a multiple of all LANES */

typedef struct {
    const float *products; /* of directions, times twice the length of the noise, with words */
    const float *squares;  /* of the distances of words from each of `count` words; infinite from itself */
    const int64_t *places; /* which those are */
    const float *scales;   /* of each of the `count` words, so many */
    int64_t words, directions, count, several;
    int are_known; /* whether the rises are known from before */
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

typedef struct {
    const Levels *far, *near; /* of a direction, and of a word */
    const float *scales;      /* of that word */
    int64_t words;
    int32_t itself;
    float own, rise;          /* its product, and the steepest rise from it */
    int in_order;             /* whether the scales rise or fall throughout */
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

static int are_in_order(const float *numbers, int64_t count)
{
    int rise = 1, fall = 1;
    for (int64_t place = 1; place < count; place++) {
        rise &= numbers[place] >= numbers[place - 1];
        fall &= numbers[place] <= numbers[place - 1];
    }
    return rise || fall;
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

TARGET static void NAME(search)(const Levels *far, const Levels *near, int64_t words, NAME(Aim) *aim)
{
    const int64_t bunches = in_groups(in_groups(words));
    for (int64_t first = 0; first < bunches; first += LANES)
        for (unsigned some = NAME(worth)(far->bunches + first, near->bunches + first, aim); some; some &= some - 1) {
            const int64_t bunch = first + __builtin_ctz(some);
            for (int64_t group = bunch * GROUP; group < (bunch + 1) * GROUP; group += LANES)
                for (unsigned few = NAME(worth)(far->groups + group, near->groups + group, aim); few; few &= few - 1) {
                    const int64_t begin = (group + __builtin_ctz(few)) * GROUP;
                    if (begin + GROUP > words) {
                        NAME(look)(far, near, begin, words, aim);
                        continue;
                    }
                    for (int64_t place = begin; place < begin + GROUP; place += LANES)
                        for (unsigned one = NAME(worth)(far->words + place, near->words + place, aim); one; one &= one - 1)
                            NAME(look)(far, near, place + __builtin_ctz(one), place + __builtin_ctz(one) + 1, aim);
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

/* Who comes out at the scales between two whose winners are known. A ray leaves every cell at most once, since cells have
   no dents; so where the two are the same, all between are, if the scales rise or fall throughout. */
TARGET static void NAME(land_between)(const Fan *fan, int64_t first, int64_t last, int64_t step, int32_t *winners)
{
    const int32_t one = winners[first * step], other = winners[last * step];
    if (one == other && fan->in_order) {
        for (int64_t number = first + 1; number < last; number++)
            winners[number * step] = one;
        return;
    }
    if (last - first < 2)
        return;
    const int64_t middle = first + (last - first) / 2;
    NAME(land)(fan, middle, one, other, winners + middle * step);
    NAME(land_between)(fan, first, middle, step, winners);
    NAME(land_between)(fan, middle, last, step, winners);
}

/* For each word and direction the steepest rise, unless it is known, and for each scale of the word who comes out. */
TARGET static int NAME(follow)(const Rays *rays, float *rises, int32_t *out)
{
    const int64_t words = rays->words, groups = in_groups(in_groups(words)) * GROUP;
    const int64_t bunches = in_groups(groups / GROUP) * GROUP, each = groups + bunches;
    float *room = malloc(sizeof(float) * (size_t)(each * (rays->directions + 1)));
    int64_t *tops = malloc(sizeof(int64_t) * (size_t)(rays->directions ? rays->directions : 1));
    if (!room || !tops) {
        free(room);
        free(tops);
        return 0;
    }
    for (int64_t direction = 0; direction < rays->directions; direction++) {
        float *own = room + each * (direction + 1);
        bound_groups(rays->products + direction * words, words, 1.0f, own);
        bound_groups(own, groups, 1.0f, own + groups);
        tops[direction] = farthest(rays->products + direction * words, own, words);
    }
    for (int64_t word = 0; word < rays->count; word++) {
        const int32_t itself = (int32_t)rays->places[word];
        const float *scales = rays->scales + word * rays->several;
        const int in_order = are_in_order(scales, rays->several);
        const Levels near = {rays->squares + word * words, room, room + groups};
        bound_groups(near.words, words, -1.0f, room);
        bound_groups(room, groups, -1.0f, room + groups);
        int64_t closest = 0;
        for (int64_t group = 1; group < in_groups(words); group++)
            closest = near.groups[group] < near.groups[closest] ? group : closest;
        closest *= GROUP;
        for (int64_t direction = 0; direction < rays->directions; direction++) {
            float *bounds = room + each * (direction + 1);
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
            const Fan fan = {&far, &near, scales, words, itself, rise.own, rise.weight, in_order};
            int32_t *winners = out + word * rays->several * rays->directions + direction;
            NAME(land)(&fan, 0, rise.where, (int32_t)tops[direction], winners);
            const int64_t last = rays->several - 1;
            if (last) {
                NAME(land)(&fan, last, winners[0], rise.where, winners + last * rays->directions);
                NAME(land_between)(&fan, 0, last, rays->directions, winners);
            }
        }
    }
    free(room);
    free(tops);
    return 1;
}
