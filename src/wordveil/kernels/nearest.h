/* The word with the largest product plus bias, for many queries. Included by falls.h, once for each kind of processor and
   precision, with NUMBER, NUMBERS (a vector of them), EACH (how many it has), BELOW (which of one are less than another),
   FETCH and BEST (the names of what is defined here).

   Words lie in blocks of BLOCK, with the coordinates outside and the words inside, and their biases after the last
   coordinate. The products of ROWS queries with a strip of words stay in registers, where most of them are seen to be
   below what was found before: nothing is ever written that a matrix product would have to. */

TARGET static inline NUMBERS FETCH(const NUMBER *from)
{
    NUMBERS found;
    memcpy(&found, from, sizeof found);
    return found;
}

TARGET static void BEST(const NUMBER *packed, int64_t words, int64_t dimension, const NUMBER *queries, int64_t count,
                        NUMBER *values, int64_t *where)
{
    for (int64_t first = 0; first < words; first += BLOCK, packed += BLOCK * (dimension + 1))
        for (int64_t query = 0; query < count; query += ROWS) {
            const NUMBER *rows[ROWS];
            for (int row = 0; row < ROWS; row++)
                rows[row] = queries + (query + row < count ? query + row : count - 1) * dimension;
            for (int64_t part = 0; part < BLOCK; part += VECTORS * EACH) {
                NUMBERS sums[ROWS][VECTORS];
                for (int row = 0; row < ROWS; row++)
                    for (int vector = 0; vector < VECTORS; vector++)
                        sums[row][vector] = FETCH(packed + BLOCK * dimension + part + vector * EACH);
                const NUMBER *strip = packed + part;
                for (int64_t k = 0; k < dimension; k++, strip += BLOCK) {
                    NUMBERS column[VECTORS];
                    for (int vector = 0; vector < VECTORS; vector++)
                        column[vector] = FETCH(strip + vector * EACH);
                    for (int row = 0; row < ROWS; row++)
                        for (int vector = 0; vector < VECTORS; vector++)
                            sums[row][vector] += rows[row][k] * column[vector];
                }
                for (int row = 0; row < ROWS && query + row < count; row++) {
                    NUMBERS most = values[query + row] + (NUMBERS){0};
                    unsigned any = 0;
                    for (int vector = 0; vector < VECTORS; vector++)
                        any |= BELOW(most, sums[row][vector]);
                    if (!any)
                        continue;
                    for (int place = 0; place < VECTORS * EACH; place++) {
                        NUMBER sum = sums[row][place / EACH][place % EACH];
                        if (sum > values[query + row]) {
                            values[query + row] = sum;
                            where[query + row] = first + part + place;
                        }
                    }
                }
            }
        }
}

#undef NUMBER
#undef NUMBERS
#undef EACH
#undef BELOW
#undef FETCH
#undef BEST
