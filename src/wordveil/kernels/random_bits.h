/* Random bits for draws, from ChaCha20: as `key_blocks` and `uniform_from` of entropy.py. Included by graph_draws.h. */

#define TOGETHER 16 /* blocks that are made at once */
#define QUARTERS 4  /* of a block, each two numbers, for an attempt: as in hops.py */

/* What the random bits of draws follow from: all have one key of eight numbers, and each a number; or each has a key. */
typedef struct {
    const uint32_t *keys;
    int one_key, lanes; /* and how many blocks this processor makes at once */
    uint64_t first;     /* number */
} Stream;

/* Blocks of ChaCha20 with a counter of 64 bits, side by side. Each has a name: its nonce under the one key, else its key. */
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

/* Make blocks of some names, no more than are made together: the same on every processor. */
static void fill_blocks(const Stream *stream, const uint64_t *names, int64_t count, uint64_t counter, Blocks *out)
{
#if defined(__x86_64__)
    if (count > 8 && stream->lanes == 16)
        fill_blocks_avx512(stream, names, count, counter, out);
    else if (count > 4 && stream->lanes >= 8)
        fill_blocks_avx2(stream, names, count, counter, out);
    else
#endif
        fill_blocks_plain(stream, names, count, counter, out);
}

/* One of the eight numbers of a block. */
static inline uint64_t bits_of(const Blocks *blocks, int64_t lane, int number)
{
    return (uint64_t)blocks->words[2 * number + 1][lane] << 32 | blocks->words[2 * number][lane];
}

/* The name of the blocks that a draw has to itself. */
static inline uint64_t name_of(const Stream *stream, int64_t draw)
{
    return stream->one_key ? stream->first + (uint64_t)draw : (uint64_t)draw;
}

#define FINER ((uint64_t)1 << 63) /* added to the number of an attempt: the counter of the block that makes it finer */

/* As `uniform_from` of entropy.py: a number below 2^-11 takes more bits, of another block. */
static double finer_of(const Stream *stream, uint64_t high, int64_t draw, uint64_t number)
{
    Blocks blocks;
    const uint64_t name = name_of(stream, draw);
    fill_blocks(stream, &name, 1, FINER + number, &blocks);
    const uint64_t low = bits_of(&blocks, 0, 0);
    return (double)high * 0x1p-64 + (double)(low ? low : 1) * 0x1p-128;
}

static inline double uniform_of(const Stream *stream, uint64_t high, int64_t draw, uint64_t number)
{
    const double drawn = high < (uint64_t)1 << 53 ? finer_of(stream, high, draw, number) : (double)high * 0x1p-64;
    return drawn < 1.0 - 0x1p-53 ? drawn : 1.0 - 0x1p-53;
}

/* Blocks for the first attempts of draws that follow one another. */
typedef struct {
    Blocks blocks;
    int64_t begin, end; /* the first of those draws, which may be one that is not asked for, and that after the last */
} Firsts;

/* Under one key a quarter of a block is for each, and a block's name is a quarter of the first number it is for. */
static void fill_firsts(const Stream *stream, int64_t draw, int64_t end, Firsts *out)
{
    const int64_t several = stream->one_key ? QUARTERS : 1;
    const uint64_t first = name_of(stream, draw) / (uint64_t)several;
    uint64_t names[TOGETHER];
    out->begin = stream->one_key ? draw - (int64_t)(name_of(stream, draw) % QUARTERS) : draw;
    int64_t count = (end - out->begin + several - 1) / several;
    count = count < TOGETHER ? count : TOGETHER;
    for (int64_t lane = 0; lane < count; lane++)
        names[lane] = first + (uint64_t)lane;
    fill_blocks(stream, names, count, 0, &out->blocks);
    out->end = out->begin + several * count;
}

/* One of so many, fewer than 2^31, by the first bits of a product of 64 bits with it; those that are left are as random. */
static inline int64_t one_of(uint64_t bits, int64_t count)
{
    uint64_t high = bits >> 32, low = bits & 0xffffffff, several = (uint64_t)count;
    return (int64_t)((high * several + (low * several >> 32)) >> 32);
}
