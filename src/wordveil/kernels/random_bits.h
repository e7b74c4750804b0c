/* Random bits for draws, from ChaCha20: as `key_blocks` and `uniform_from` of entropy.py. Included by graph_draws.h. */

#define TOGETHER 16 /* blocks that are made at once */

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
