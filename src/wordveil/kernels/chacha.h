/* Blocks of ChaCha20 for one kind of processor. Included by random_bits.h once for each, with LANES, TARGET and NAME. */

typedef uint32_t NAME(words) __attribute__((vector_size(4 * LANES)));

#define TURNED(x, by) ((x) << (by) | (x) >> (32 - (by)))
#define QUARTER(a, b, c, d)                                                                                            \
    a += b, d ^= a, d = TURNED(d, 16), c += d, b ^= c, b = TURNED(b, 12), a += b, d ^= a, d = TURNED(d, 8), c += d,       \
        b ^= c, b = TURNED(b, 7)

TARGET static void NAME(fill_blocks)(const Stream *stream, const uint64_t *names, int64_t count, uint64_t counter,
                                     Blocks *out)
{
    static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    const NAME(words) zero = {0};
    for (int64_t first = 0; first < count; first += LANES) {
        NAME(words) start[16], x[16];
        for (int place = 0; place < 4; place++)
            start[place] = zero + constants[place];
        for (int place = 0; place < 8; place++)
            start[4 + place] = zero + stream->keys[place];
        start[12] = zero + (uint32_t)counter;
        start[13] = zero + (uint32_t)(counter >> 32);
        for (int lane = 0; lane < LANES; lane++) {
            uint64_t name = names[first + lane < count ? first + lane : count - 1], nonce = stream->one_key ? name : 0;
            start[14][lane] = (uint32_t)nonce;
            start[15][lane] = (uint32_t)(nonce >> 32);
            for (int place = 0; !stream->one_key && place < 8; place++)
                start[4 + place][lane] = stream->keys[8 * name + (uint64_t)place];
        }
        memcpy(x, start, sizeof x);
        for (int round = 0; round < 10; round++) {
            QUARTER(x[0], x[4], x[8], x[12]);
            QUARTER(x[1], x[5], x[9], x[13]);
            QUARTER(x[2], x[6], x[10], x[14]);
            QUARTER(x[3], x[7], x[11], x[15]);
            QUARTER(x[0], x[5], x[10], x[15]);
            QUARTER(x[1], x[6], x[11], x[12]);
            QUARTER(x[2], x[7], x[8], x[13]);
            QUARTER(x[3], x[4], x[9], x[14]);
        }
        for (int place = 0; place < 16; place++) {
            x[place] += start[place];
            memcpy(&out->words[place][first], &x[place], sizeof x[place]);
        }
    }
}

#undef TURNED
#undef QUARTER
#undef LANES
#undef TARGET
#undef NAME
