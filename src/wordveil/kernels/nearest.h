/* The word with the largest product plus bias, for many queries. Included by falls.h, once for each kind of processor.

   Words lie in blocks of BLOCK, with the coordinates outside and the words inside, and their biases after the last
   coordinate. The products of ROWS queries with a strip of words stay in registers, where most of them are seen to be
   below what was found before: nothing is ever written that a matrix product would have to. */

TARGET static void NAME(best)(const float *packed, int64_t words, int64_t dimension, const float *queries, int64_t count,
                              float *values, int64_t *where)
{
    for (int64_t first = 0; first < words; first += BLOCK, packed += BLOCK * (dimension + 1))
        for (int64_t query = 0; query < count; query += ROWS) {
            const float *rows[ROWS];
            for (int row = 0; row < ROWS; row++)
                rows[row] = queries + (query + row < count ? query + row : count - 1) * dimension;
            for (int64_t part = 0; part < BLOCK; part += STRIP) {
                FLOATS sums[ROWS][VECTORS];
                for (int row = 0; row < ROWS; row++)
                    for (int vector = 0; vector < VECTORS; vector++)
                        sums[row][vector] = NAME(load)(packed + BLOCK * dimension + part + vector * LANES);
                const float *strip = packed + part;
                for (int64_t k = 0; k < dimension; k++, strip += BLOCK) {
                    FLOATS column[VECTORS];
                    for (int vector = 0; vector < VECTORS; vector++)
                        column[vector] = NAME(load)(strip + vector * LANES);
                    for (int row = 0; row < ROWS; row++)
                        for (int vector = 0; vector < VECTORS; vector++)
                            sums[row][vector] += rows[row][k] * column[vector];
                }
                for (int row = 0; row < ROWS && query + row < count; row++) {
                    FLOATS most = values[query + row] + (FLOATS){0};
                    unsigned any = 0;
                    for (int vector = 0; vector < VECTORS; vector++)
                        any |= LESS(most, sums[row][vector]);
                    if (!any)
                        continue;
                    for (int place = 0; place < STRIP; place++) {
                        float sum = sums[row][place / LANES][place % LANES];
                        if (sum > values[query + row]) {
                            values[query + row] = sum;
                            where[query + row] = first + part + place;
                        }
                    }
                }
            }
        }
}
