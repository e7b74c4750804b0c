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
                        if (NAME(worth)(far->words + place, near->words + place, aim))
                            NAME(look)(far, near, place, place + LANES, aim);
                }
        }
}

/* For each word and direction the steepest rise, unless it is known, and for each scale of the word who comes out. */
TARGET static int NAME(follow)(const Rays *rays, float *rises, int32_t *out)
{
    const int64_t words = rays->words, groups = in_groups(in_groups(words)) * GROUP;
    const int64_t bunches = in_groups(groups / GROUP) * GROUP, each = groups + bunches;
    float *room = malloc(sizeof(float) * (size_t)(each * (rays->directions + 1)));
    if (!room)
        return 0;
    for (int64_t direction = 0; direction < rays->directions; direction++) {
        float *own = room + each * (direction + 1);
        bound_groups(rays->products + direction * words, words, 1.0f, own);
        bound_groups(own, groups, 1.0f, own + groups);
    }
    for (int64_t word = 0; word < rays->count; word++) {
        const int32_t itself = (int32_t)rays->places[word];
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
                NAME(search)(&far, &near, words, &rise);
                rises[word * rays->directions + direction] = rise.weight;
            }
            int32_t before = rise.where;
            for (int64_t number = 0; number < rays->several; number++) {
                const float size = rays->scales[word * rays->several + number];
                int32_t *winner = out + (word * rays->several + number) * rays->directions + direction;
                *winner = itself;
                if (!(rise.weight * size >= 1.0f))
                    continue;
                /* the winner at the scale before is a good one to begin with */
                float score = before == itself ? 0.0f : near.words[before] - size * (far.words[before] - rise.own);
                NAME(Aim) aim = {rise.own, 1.0f, size, score, before, 0};
                NAME(search)(&far, &near, words, &aim);
                *winner = before = aim.where;
            }
        }
    }
    free(room);
    return 1;
}
