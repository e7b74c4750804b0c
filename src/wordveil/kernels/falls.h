/* Weights that fall with the distance, for one kind of processor.

   Included once for each kind, with LANES (floats in a vector), VECTORS (vectors of sources in a strip), TARGET (the
   compiler's name of the kind), ROOTS (square roots of a vector), LESS (a bit for each lane of one that is less than that of
   another), LESS_WIDE (the same of doubles), LIST (writes the numbers of the set bits of a mask) and NAME (a suffix for what is
   defined here).

   A *strip* is LANES*VECTORS sources, stored with the coordinates outside and the sources inside, so that one vector
   operation serves LANES of them. A tile is a block of BLOCK words against a strip: the products of ROWS words with the
   strip stay in registers until they have become weights and have been added up. */

#define STRIP (LANES * VECTORS)

typedef float NAME(floats) __attribute__((vector_size(4 * LANES)));
typedef int32_t NAME(ints) __attribute__((vector_size(4 * LANES)));
typedef uint32_t NAME(bits) __attribute__((vector_size(4 * LANES)));
typedef double NAME(doubles) __attribute__((vector_size(4 * LANES)));
#define FLOATS NAME(floats)
#define DOUBLES NAME(doubles)
#define INTS NAME(ints)
#define BITS NAME(bits)

TARGET static inline FLOATS NAME(load)(const float *from)
{
    FLOATS x;
    memcpy(&x, from, sizeof x);
    return x;
}

TARGET static inline FLOATS NAME(least)(FLOATS x, FLOATS y)
{
    INTS first = x < y;
    return (FLOATS)((first & (INTS)x) | (~first & (INTS)y));
}

/* exp2 for -126 < x <= 0: 2^n times a polynomial on [-1/2, 1/2], right to 2^-21. */
TARGET static inline FLOATS NAME(power)(FLOATS x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, kept in the low bits */
    FLOATS moved = x + shift;
    BITS whole = (BITS)moved << 23;
    FLOATS f = x - (moved - shift);
    FLOATS p = f * 1.5403530e-4f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    return (FLOATS)((BITS)p + whole);
}

/* The weights at these squared distances, the prior apart. */
TARGET static inline FLOATS NAME(fall)(FLOATS square, FLOATS reach, float rate)
{
    FLOATS none = {0};
    INTS positive = square > none;
    FLOATS distance = ROOTS((FLOATS)(positive & (INTS)square));
    return NAME(power)(NAME(least)(distance, reach) * rate);
}

/* Store some words as strips. What the last strip has too many of are copies of the first word. */
TARGET static void NAME(pack)(const Cloud *cloud, const int64_t *ids, int64_t count, float *strips)
{
    for (int64_t first = 0; first < count; first += STRIP) {
        for (int64_t lane = 0; lane < STRIP; lane++) {
            int64_t place = first + lane < count ? first + lane : 0;
            const float *from = cloud->matrix + ids[place] * cloud->dimension;
            for (int64_t k = 0; k < cloud->dimension; k++)
                strips[k * STRIP + lane] = from[k];
        }
        strips += STRIP * cloud->dimension;
    }
}

/* Differences of nearly equal vectors, which expanded squares have lost. */
TARGET static void NAME(mend)(const Cloud *cloud, const float *const *rows, const float *row_squares,
                              const float *strip, const float *squares, FLOATS square[ROWS][VECTORS])
{
    for (int row = 0; row < ROWS; row++)
        for (int lane = 0; lane < STRIP; lane++) {
            float sum = row_squares[row] + squares[lane];
            if (square[row][lane / LANES][lane % LANES] >= NEARLY_EQUAL * sum)
                continue;
            float exact = 0.0f;
            for (int64_t k = 0; k < cloud->dimension; k++) {
                float step = rows[row][k] - strip[k * STRIP + lane];
                exact += step * step;
            }
            square[row][lane / LANES][lane % LANES] = exact;
        }
}

/* Add up the weights of a tile: for each source of the strip over the words of the block (`down`), and, if `across` is
   given, for each word of the block over the sources, each times its prior. */
TARGET static void NAME(tile)(const Cloud *cloud, int64_t block, const float *strip, const float *squares,
                              const float *reach, const float *priors, float *down, float *across)
{
    FLOATS sums[VECTORS];
    memset(sums, 0, sizeof sums);
    for (int first = 0; first < BLOCK; first += ROWS) {
        const float *rows[ROWS];
        float row_squares[ROWS], row_priors[ROWS];
        for (int row = 0; row < ROWS; row++) {
            int64_t word = block * BLOCK + first + row;
            int inside = word < cloud->words;
            word = inside ? word : cloud->words - 1;
            rows[row] = cloud->matrix + word * cloud->dimension;
            row_squares[row] = cloud->squares[word];
            row_priors[row] = inside ? cloud->prior[word] : 0.0f;
        }
        FLOATS square[ROWS][VECTORS];
        memset(square, 0, sizeof square);
        for (int64_t k = 0; k < cloud->dimension; k++) {
            FLOATS column[VECTORS];
            for (int vector = 0; vector < VECTORS; vector++)
                column[vector] = NAME(load)(strip + k * STRIP + vector * LANES);
            for (int row = 0; row < ROWS; row++)
                for (int vector = 0; vector < VECTORS; vector++)
                    square[row][vector] += rows[row][k] * column[vector];
        }
        INTS close;
        memset(&close, 0, sizeof close);
        for (int row = 0; row < ROWS; row++)
            for (int vector = 0; vector < VECTORS; vector++) {
                FLOATS sum = row_squares[row] + NAME(load)(squares + vector * LANES);
                square[row][vector] = sum - 2.0f * square[row][vector];
                close |= square[row][vector] < NEARLY_EQUAL * sum;
            }
        int32_t any = 0;
        for (int lane = 0; lane < LANES; lane++)
            any |= close[lane];
        if (any)
            NAME(mend)(cloud, rows, row_squares, strip, squares, square);
        for (int vector = 0; vector < VECTORS; vector++) {
            FLOATS limit = NAME(load)(reach + vector * LANES);
            for (int row = 0; row < ROWS; row++)
                square[row][vector] = NAME(fall)(square[row][vector], limit, cloud->rate);
            /* pairs first: fewer roundings follow one another */
            sums[vector] += (square[0][vector] * row_priors[0] + square[1][vector] * row_priors[1]) +
                            (square[2][vector] * row_priors[2] + square[3][vector] * row_priors[3]);
        }
        if (across)
            for (int row = 0; row < ROWS; row++) {
                FLOATS sum = square[row][0] * NAME(load)(priors);
                for (int vector = 1; vector < VECTORS; vector++)
                    sum += square[row][vector] * NAME(load)(priors + vector * LANES);
                float total = 0.0f;
                for (int lane = 0; lane < LANES; lane++)
                    total += sum[lane];
                across[first + row] += total;
            }
    }
    for (int vector = 0; vector < VECTORS; vector++)
        memcpy(down + vector * LANES, &sums[vector], sizeof sums[vector]);
}

TARGET static int NAME(sums)(const Cloud *cloud, const int64_t *ids, int64_t count, const float *reach, float *out)
{
    int64_t strips = (count + STRIP - 1) / STRIP, blocks = (cloud->words + BLOCK - 1) / BLOCK;
    float *packed = malloc(sizeof(float) * (size_t)(strips * STRIP * cloud->dimension));
    float *squares = malloc(sizeof(float) * (size_t)(strips * STRIP));
    float *limits = malloc(sizeof(float) * (size_t)(strips * STRIP));
    int done = packed && squares && limits;
    if (done) {
        NAME(pack)(cloud, ids, count, packed);
        for (int64_t place = 0; place < strips * STRIP; place++) {
            squares[place] = cloud->squares[ids[place < count ? place : 0]];
            limits[place] = reach[place < count ? place : 0];
        }
        for (int64_t block = 0; block < blocks; block++)
            for (int64_t strip = 0; strip < strips; strip++) {
                float down[STRIP];
                int64_t first = strip * STRIP;
                NAME(tile)(cloud, block, packed + first * cloud->dimension, squares + first, limits + first, NULL, down,
                           NULL);
                for (int64_t lane = 0; lane < STRIP && first + lane < count; lane++)
                    out[(first + lane) * blocks + block] = down[lane];
            }
    }
    free(packed);
    free(squares);
    free(limits);
    return done;
}

/* The sums of all words of some consecutive blocks and, since distances are symmetric, of all words of earlier blocks
   over those blocks: every pair of words is measured once when this is called for all blocks. */
TARGET static int NAME(table)(const Cloud *cloud, int64_t begin, int64_t end, float reach, float *out)
{
    int64_t blocks = (cloud->words + BLOCK - 1) / BLOCK, count = (end - begin) * BLOCK;
    float *packed = malloc(sizeof(float) * (size_t)(count * cloud->dimension));
    float *squares = malloc(sizeof(float) * (size_t)count);
    float *priors = malloc(sizeof(float) * (size_t)count);
    int64_t *ids = malloc(sizeof(int64_t) * (size_t)count);
    int done = packed && squares && priors && ids;
    if (done) {
        float limits[STRIP];
        for (int lane = 0; lane < STRIP; lane++)
            limits[lane] = reach;
        for (int64_t place = 0; place < count; place++) {
            int64_t word = begin * BLOCK + place;
            int inside = word < cloud->words;
            ids[place] = inside ? word : cloud->words - 1;
            squares[place] = cloud->squares[ids[place]];
            priors[place] = inside ? cloud->prior[word] : 0.0f;
        }
        NAME(pack)(cloud, ids, count, packed);
        for (int64_t block = 0; block < end; block++)
            for (int64_t other = block < begin ? begin : block; other < end; other++) {
                float across[BLOCK] = {0};
                for (int64_t part = 0; part < BLOCK; part += STRIP) {
                    float down[STRIP];
                    int64_t first = (other - begin) * BLOCK + part, word = other * BLOCK + part;
                    NAME(tile)(cloud, block, packed + first * cloud->dimension, squares + first, limits, priors + first,
                               down, other > block ? across : NULL);
                    for (int64_t lane = 0; lane < STRIP && word + lane < cloud->words; lane++)
                        out[(word + lane) * blocks + block] = down[lane];
                }
                if (other > block)
                    for (int64_t row = 0; row < BLOCK && block * BLOCK + row < cloud->words; row++)
                        out[(block * BLOCK + row) * blocks + other] = across[row];
            }
    }
    free(packed);
    free(squares);
    free(priors);
    free(ids);
    return done;
}

/* The weights of the words of one block from one source, measured by differences. */
TARGET static void NAME(inside)(const Cloud *cloud, const float *strips, const float *priors, const float *source,
                                float reach, float *weights)
{
    FLOATS limit = reach + (FLOATS){0};
    for (int part = 0; part < BLOCK; part += STRIP) {
        FLOATS square[VECTORS];
        memset(square, 0, sizeof square);
        for (int64_t k = 0; k < cloud->dimension; k++)
            for (int vector = 0; vector < VECTORS; vector++) {
                FLOATS step = NAME(load)(strips + k * STRIP + vector * LANES) - source[k];
                square[vector] += step * step;
            }
        for (int vector = 0; vector < VECTORS; vector++) {
            FLOATS weight = NAME(fall)(square[vector], limit, cloud->rate);
            weight *= NAME(load)(priors + part + vector * LANES);
            memcpy(weights + part + vector * LANES, &weight, sizeof weight);
        }
        strips += STRIP * cloud->dimension;
    }
}

/* Finish draws inside their blocks. Quick where draws from one block, and in it from one source, stand together. */
TARGET static int NAME(pick)(const Cloud *cloud, const int64_t *ids, const int64_t *of_block, int64_t count,
                             const float *reach, const double *aims, int64_t *out)
{
    float *strips = malloc(sizeof(float) * (size_t)(BLOCK * cloud->dimension));
    if (!strips)
        return 0;
    float priors[BLOCK], weights[BLOCK];
    double total = 0.0;
    for (int64_t draw = 0; draw < count; draw++) {
        int64_t block = of_block[draw];
        int another = draw == 0 || block != of_block[draw - 1];
        if (another) {
            int64_t words[BLOCK];
            for (int64_t place = 0; place < BLOCK; place++) {
                int64_t word = block * BLOCK + place;
                int inside = word < cloud->words;
                words[place] = inside ? word : cloud->words - 1;
                priors[place] = inside ? cloud->prior[word] : 0.0f;
            }
            NAME(pack)(cloud, words, BLOCK, strips);
        }
        if (another || ids[draw] != ids[draw - 1]) {
            NAME(inside)(cloud, strips, priors, cloud->matrix + ids[draw] * cloud->dimension, reach[draw], weights);
            total = 0.0;
            for (int place = 0; place < BLOCK; place++)
                total += weights[place];
        }
        double aim = aims[draw] * total, sum = weights[0];
        int64_t place = 0, last = cloud->words - block * BLOCK - 1;
        last = last < BLOCK - 1 ? last : BLOCK - 1;
        while (place < last && sum <= aim)
            sum += weights[++place];
        out[draw] = block * BLOCK + place;
    }
    free(strips);
    return 1;
}

#define NUMBER float
#define NUMBERS FLOATS
#define EACH LANES
#define BELOW LESS
#define FETCH NAME(fetch)
#define BEST NAME(best)
#include "nearest.h"

/* For products of which single precision would keep no digit. */
#define NUMBER double
#define NUMBERS DOUBLES
#define EACH (LANES / 2)
#define BELOW LESS_WIDE
#define FETCH NAME(fetch_wide)
#define BEST NAME(best_wide)
#include "nearest.h"
#include "rays.h"
#include "points.h"

#undef STRIP
#undef FLOATS
#undef DOUBLES
#undef INTS
#undef BITS
#undef LANES
#undef VECTORS
#undef TARGET
#undef ROOTS
#undef LESS
#undef LESS_WIDE
#undef LIST
#undef NAME
