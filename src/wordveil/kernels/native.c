/* The loops that numpy cannot express well. Each function works on buffers that its caller made and checked
   (the Python files beside this one), holds no state, and lets other threads run. */

#include "native.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define BLOCK 64 /* words whose weights are added up together */
#define ROWS 4   /* of them, how many are in registers at once */
#define NEARLY_EQUAL 0.1f
#define MOST_COORDINATES (1 << 24)

typedef struct {
    const float *matrix, *squares, *prior;
    int64_t words, dimension;
    float rate; /* the weight at distance d is 2^(rate*d) */
} Cloud;

#if defined(__x86_64__)
#include <immintrin.h>

#define LANES 16
#define VECTORS 4
#define TARGET __attribute__((target("avx512f,fma")))
#define ROOTS(x) ((NAME(floats))_mm512_sqrt_ps((__m512)(x)))
#define LESS(x, y) ((unsigned)_mm512_cmp_ps_mask((__m512)(x), (__m512)(y), _CMP_LT_OQ))
#define LESS_WIDE(x, y) ((unsigned)_mm512_cmp_pd_mask((__m512d)(x), (__m512d)(y), _CMP_LT_OQ))
#define LIST(bits, first, out)                                                                                             \
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32((__mmask16)(bits), _mm512_add_epi32(_mm512_set1_epi32(first), PLACES)))
#define PLACES _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define NAME(what) what##_avx512
#include "falls.h"

#define LANES 8
#define VECTORS 2
#define TARGET __attribute__((target("avx2,fma")))
#define ROOTS(x) ((NAME(floats))_mm256_sqrt_ps((__m256)(x)))
#define LESS(x, y) ((unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)(x), (__m256)(y), _CMP_LT_OQ)))
#define LESS_WIDE(x, y) ((unsigned)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)(x), (__m256d)(y), _CMP_LT_OQ)))
#define LIST(bits, first, out) list_bits(bits, first, out)
#define NAME(what) what##_avx2
#include "falls.h"

#define LANES 4
#define VECTORS 2
#define TARGET
#define ROOTS(x) ((NAME(floats))_mm_sqrt_ps((__m128)(x)))
#define LESS(x, y) ((unsigned)_mm_movemask_ps(_mm_cmplt_ps((__m128)(x), (__m128)(y))))
#define LESS_WIDE(x, y) ((unsigned)_mm_movemask_pd(_mm_cmplt_pd((__m128d)(x), (__m128d)(y))))
#define LIST(bits, first, out) list_bits(bits, first, out)
#define NAME(what) what##_plain
#include "falls.h"

#else

#define LANES 4
#define VECTORS 2
#define TARGET
#define NAME(what) what##_plain
typedef float four_floats __attribute__((vector_size(16)));
static inline four_floats roots(four_floats x)
{
    four_floats y;
    for (int lane = 0; lane < 4; lane++)
        y[lane] = sqrtf(x[lane]);
    return y;
}
static inline unsigned less(four_floats x, four_floats y)
{
    unsigned found = 0;
    for (int lane = 0; lane < 4; lane++)
        found |= (unsigned)(x[lane] < y[lane]) << lane;
    return found;
}
typedef double two_doubles __attribute__((vector_size(16)));
static inline unsigned less_wide(two_doubles x, two_doubles y)
{
    return (unsigned)(x[0] < y[0]) | (unsigned)(x[1] < y[1]) << 1;
}
#define ROOTS(x) roots(x)
#define LESS(x, y) less(x, y)
#define LESS_WIDE(x, y) less_wide(x, y)
#define LIST(bits, first, out) list_bits(bits, first, out)
#include "falls.h"

#endif

typedef struct {
    const char *name;
    int (*sums)(const Cloud *, const int64_t *, int64_t, const float *, float *);
    int (*table)(const Cloud *, int64_t, int64_t, float, float *);
    int (*pick)(const Cloud *, const int64_t *, const int64_t *, int64_t, const float *, const double *, int64_t *);
    void (*best)(const float *, int64_t, int64_t, const float *, int64_t, float *, int64_t *);
    void (*best_wide)(const double *, int64_t, int64_t, const double *, int64_t, double *, int64_t *);
    int (*follow)(const Rays *, float *, int32_t *);
    int (*nearest_two)(const Points *, int32_t *, float *);
} Kind;

static const Kind KINDS[] = {
#if defined(__x86_64__)
    {"avx512", sums_avx512, table_avx512, pick_avx512, best_avx512, best_wide_avx512, follow_avx512, nearest_two_avx512},
    {"avx2", sums_avx2, table_avx2, pick_avx2, best_avx2, best_wide_avx2, follow_avx2, nearest_two_avx2},
#endif
    {"plain", sums_plain, table_plain, pick_plain, best_plain, best_wide_plain, follow_plain, nearest_two_plain},
};

enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

static int runs_here(const char *name)
{
#if defined(__x86_64__)
    if (!strcmp(name, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
    if (!strcmp(name, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return !strcmp(name, "plain");
}

static const Kind *kind_of(const char *name)
{
    for (int place = 0; place < KIND_COUNT; place++)
        if (!strcmp(KINDS[place].name, name) && runs_here(name))
            return &KINDS[place];
    PyErr_SetString(PyExc_ValueError, "this processor does not run that kind");
    return NULL;
}

static PyObject *kinds(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *found = PyList_New(0);
    for (int place = 0; found && place < KIND_COUNT; place++)
        if (runs_here(KINDS[place].name)) {
            PyObject *name = PyUnicode_FromString(KINDS[place].name);
            if (!name || PyList_Append(found, name))
                Py_CLEAR(found);
            Py_XDECREF(name);
        }
    return found;
}

static int read_cloud(Buffers *buffers, PyObject *tuple, Cloud *cloud)
{
    PyObject *matrix, *squares, *prior;
    long long words, dimension;
    if (!PyArg_ParseTuple(tuple, "OOOLLf", &matrix, &squares, &prior, &words, &dimension, &cloud->rate))
        return 0;
    /* the limits keep every product of a number of words, coordinates and bytes below 2^63 */
    if (words < 1 || words > INT32_MAX || dimension < 1 || dimension > MOST_COORDINATES) {
        PyErr_SetString(PyExc_ValueError, "a cloud has words and coordinates, and not too many");
        return 0;
    }
    cloud->words = words;
    cloud->dimension = dimension;
    return (cloud->matrix = memory(buffers, matrix, product(words, dimension), 4, 0)) &&
           (cloud->squares = memory(buffers, squares, words, 4, 0)) &&
           (cloud->prior = memory(buffers, prior, words, 4, 0));
}

typedef struct {
    const int32_t *indptr, *indices;
    int64_t words;
} Graph;

static int read_graph(Buffers *buffers, PyObject *tuple, Graph *graph)
{
    PyObject *indptr, *indices;
    long long words, edges;
    if (!PyArg_ParseTuple(tuple, "OOLL", &indptr, &indices, &words, &edges))
        return 0;
    if (words < 0 || words >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a graph has fewer words");
        return 0;
    }
    graph->words = words;
    return (graph->indptr = memory(buffers, indptr, words + 1, 4, 0)) &&
           (graph->indices = memory(buffers, indices, edges, 4, 0));
}

static int all_below(const int64_t *numbers, int64_t count, int64_t limit)
{
    for (int64_t place = 0; place < count; place++)
        if (numbers[place] < 0 || numbers[place] >= limit) {
            PyErr_SetString(PyExc_IndexError, "there is no such word or block");
            return 0;
        }
    return 1;
}

static PyObject *block_sums(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *cloud_of, *ids_of, *reach_of, *out_of;
    long long count;
    if (!PyArg_ParseTuple(args, "sOOOLO", &name, &cloud_of, &ids_of, &reach_of, &count, &out_of))
        return NULL;
    const Kind *kind = kind_of(name);
    Buffers buffers = {.count = 0};
    Cloud cloud;
    const int64_t *ids;
    const float *reach;
    float *out;
    PyObject *result = NULL;
    if (kind && read_cloud(&buffers, cloud_of, &cloud) && (ids = memory(&buffers, ids_of, count, 8, 0)) &&
        (reach = memory(&buffers, reach_of, count, 4, 0)) &&
        (out = memory(&buffers, out_of, product(count, (cloud.words + BLOCK - 1) / BLOCK), 4, 1)) &&
        all_below(ids, count, cloud.words)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = kind->sums(&cloud, ids, count, reach, out);
        Py_END_ALLOW_THREADS;
        result = answer(done);
    }
    let_go(&buffers);
    return result;
}

static PyObject *block_table(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *cloud_of, *out_of;
    long long begin, end;
    float reach;
    if (!PyArg_ParseTuple(args, "sOLLfO", &name, &cloud_of, &begin, &end, &reach, &out_of))
        return NULL;
    const Kind *kind = kind_of(name);
    Buffers buffers = {.count = 0};
    Cloud cloud;
    float *out;
    PyObject *result = NULL;
    if (kind && read_cloud(&buffers, cloud_of, &cloud)) {
        int64_t blocks = (cloud.words + BLOCK - 1) / BLOCK;
        if (begin < 0 || begin > end || end > blocks)
            PyErr_SetString(PyExc_IndexError, "there is no such word or block");
        else if ((out = memory(&buffers, out_of, product(cloud.words, blocks), 4, 1))) {
            int done;
            Py_BEGIN_ALLOW_THREADS;
            done = kind->table(&cloud, begin, end, reach, out);
            Py_END_ALLOW_THREADS;
            result = answer(done);
        }
    }
    let_go(&buffers);
    return result;
}

static PyObject *pick(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *cloud_of, *ids_of, *blocks_of, *reach_of, *aims_of, *out_of;
    long long count;
    if (!PyArg_ParseTuple(args, "sOOOOOLO", &name, &cloud_of, &ids_of, &blocks_of, &reach_of, &aims_of, &count,
                          &out_of))
        return NULL;
    const Kind *kind = kind_of(name);
    Buffers buffers = {.count = 0};
    Cloud cloud;
    const int64_t *ids, *blocks;
    const float *reach;
    const double *aims;
    int64_t *out;
    PyObject *result = NULL;
    if (kind && read_cloud(&buffers, cloud_of, &cloud) && (ids = memory(&buffers, ids_of, count, 8, 0)) &&
        (blocks = memory(&buffers, blocks_of, count, 8, 0)) && (reach = memory(&buffers, reach_of, count, 4, 0)) &&
        (aims = memory(&buffers, aims_of, count, 8, 0)) && (out = memory(&buffers, out_of, count, 8, 1)) &&
        all_below(ids, count, cloud.words) && all_below(blocks, count, (cloud.words + BLOCK - 1) / BLOCK)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = kind->pick(&cloud, ids, blocks, count, reach, aims, out);
        Py_END_ALLOW_THREADS;
        result = answer(done);
    }
    let_go(&buffers);
    return result;
}

static PyObject *best_products(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *packed_of, *queries_of, *values_of, *where_of;
    long long words, dimension, count;
    int is_wide;
    if (!PyArg_ParseTuple(args, "spOLLOLOO", &name, &is_wide, &packed_of, &words, &dimension, &queries_of, &count, &values_of,
                          &where_of))
        return NULL;
    const Kind *kind = kind_of(name);
    Buffers buffers = {.count = 0};
    const void *packed, *queries;
    void *values;
    int64_t *where;
    const int size = is_wide ? 8 : 4;
    PyObject *result = NULL;
    if (kind && (words < 1 || words > INT32_MAX || dimension < 1 || dimension > MOST_COORDINATES))
        PyErr_SetString(PyExc_ValueError, "words have coordinates, and there are not too many");
    else if (kind && (packed = memory(&buffers, packed_of, (words + BLOCK - 1) / BLOCK * BLOCK * (dimension + 1), size, 0)) &&
             (queries = memory(&buffers, queries_of, product(count, dimension), size, 0)) &&
             (values = memory(&buffers, values_of, count, size, 1)) && (where = memory(&buffers, where_of, count, 8, 1))) {
        Py_BEGIN_ALLOW_THREADS;
        if (is_wide)
            kind->best_wide(packed, words, dimension, queries, count, values, where);
        else
            kind->best(packed, words, dimension, queries, count, values, where);
        Py_END_ALLOW_THREADS;
        result = Py_NewRef(Py_None);
    }
    let_go(&buffers);
    return result;
}

static PyObject *levels_of_rays(PyObject *self, PyObject *args)
{
    (void)self;
    long long words;
    if (!PyArg_ParseTuple(args, "L", &words))
        return NULL;
    return PyLong_FromLongLong(words < 1 || words > INT32_MAX ? 0 : levels_of(words));
}

static PyObject *follow_rays(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *products_of, *squares_of, *places_of, *scales_of, *levels_of_words, *rises_of, *out_of;
    long long words, directions, count, several;
    int are_made, are_known;
    if (!PyArg_ParseTuple(args, "sLLLLOOOOpOpOO", &name, &words, &directions, &count, &several, &products_of, &squares_of,
                          &places_of, &scales_of, &are_made, &levels_of_words, &are_known, &rises_of, &out_of))
        return NULL;
    const Kind *kind = kind_of(name);
    Buffers buffers = {.count = 0};
    Rays rays = {.words = words, .directions = directions, .count = count, .several = several,
                 .are_known = are_known, .are_made = are_made};
    float *rises;
    int32_t *out;
    PyObject *result = NULL;
    if (kind && (words < 1 || words > INT32_MAX))
        PyErr_SetString(PyExc_ValueError, "there are words, and not too many");
    else if (kind && (rays.products = memory(&buffers, products_of, product(directions, words), 4, 0)) &&
             (rays.squares = memory(&buffers, squares_of, product(count, words), 4, 0)) &&
             (rays.places = memory(&buffers, places_of, count, 8, 0)) &&
             (rays.scales = memory(&buffers, scales_of, product(count, several), 4, 0)) &&
             (rays.levels = memory(&buffers, levels_of_words, product(count, levels_of(words)), 4, 1)) &&
             (rises = memory(&buffers, rises_of, product(count, directions), 4, 1)) &&
             (out = memory(&buffers, out_of, product(product(count, several), directions), 4, 1)) &&
             all_below(rays.places, count, words)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = kind->follow(&rays, rises, out);
        Py_END_ALLOW_THREADS;
        result = answer(done);
    }
    let_go(&buffers);
    return result;
}

static PyObject *nearest_two(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    PyObject *products_of, *squares_of, *places_of, *sizes_of, *out_of, *scores_of;
    long long words, directions, count, several;
    if (!PyArg_ParseTuple(args, "sLLLLOOOOOO", &name, &words, &directions, &count, &several, &products_of, &squares_of,
                          &places_of, &sizes_of, &out_of, &scores_of))
        return NULL;
    const Kind *kind = kind_of(name);
    Buffers buffers = {.count = 0};
    Points points = {.words = words, .directions = directions, .count = count, .several = several};
    const int64_t all = product(product(count, several), directions);
    int32_t *out;
    float *scores;
    PyObject *result = NULL;
    if (kind && (words < 2 || words > INT32_MAX))
        PyErr_SetString(PyExc_ValueError, "there are two words, and not too many");
    else if (kind && (points.products = memory(&buffers, products_of, product(directions, words), 4, 0)) &&
             (points.squares = memory(&buffers, squares_of, product(count, words), 4, 0)) &&
             (points.places = memory(&buffers, places_of, count, 8, 0)) &&
             (points.sizes = memory(&buffers, sizes_of, all, 4, 0)) &&
             (out = memory(&buffers, out_of, product(2, all), 4, 1)) &&
             (scores = memory(&buffers, scores_of, product(2, all), 4, 1)) && all_below(points.places, count, words)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = kind->nearest_two(&points, out, scores);
        Py_END_ALLOW_THREADS;
        result = answer(done);
    }
    let_go(&buffers);
    return result;
}

/* For each aim in (0, 1) the first place of its row at which the cumulated sums exceed so much of the whole. The aims
   of row r are those from starts[r] to starts[r+1]. */
static int search_rows(const void *rows, int wide, int64_t count, int64_t width, const int64_t *starts,
                       const double *aims, int64_t *out)
{
    double *sums = malloc(sizeof(double) * (size_t)(width ? width : 1));
    if (!sums)
        return 0;
    for (int64_t row = 0; row < count; row++) {
        if (starts[row] == starts[row + 1])
            continue;
        double sum = 0.0;
        for (int64_t place = 0; place < width; place++) {
            int64_t entry = row * width + place;
            sum += wide ? ((const double *)rows)[entry] : (double)((const float *)rows)[entry];
            sums[place] = sum;
        }
        for (int64_t draw = starts[row]; draw < starts[row + 1]; draw++) {
            double aim = aims[draw] * sum;
            int64_t low = 0, high = width - 1;
            while (low < high) {
                int64_t middle = low + (high - low) / 2;
                if (sums[middle] > aim)
                    high = middle;
                else
                    low = middle + 1;
            }
            out[draw] = low;
        }
    }
    free(sums);
    return 1;
}

static int rising(const int64_t *starts, int64_t count, int64_t most)
{
    for (int64_t row = 0; row < count; row++)
        if (starts[row] > starts[row + 1]) {
            most = -1;
            break;
        }
    if (starts[0] >= 0 && starts[count] <= most)
        return 1;
    PyErr_SetString(PyExc_IndexError, "the starts of the rows do not rise to the number of draws");
    return 0;
}

static PyObject *choose(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *rows_of, *starts_of, *aims_of, *out_of;
    int wide;
    long long count, width, draws;
    if (!PyArg_ParseTuple(args, "OpLLOOLO", &rows_of, &wide, &count, &width, &starts_of, &aims_of, &draws, &out_of))
        return NULL;
    Buffers buffers = {.count = 0};
    const void *rows;
    const int64_t *starts;
    const double *aims;
    int64_t *out;
    PyObject *result = NULL;
    if (width < 1)
        PyErr_SetString(PyExc_ValueError, "a row has at least one place");
    else if ((rows = memory(&buffers, rows_of, product(count, width), wide ? 8 : 4, 0)) &&
             (starts = memory(&buffers, starts_of, count + 1, 8, 0)) &&
             (aims = memory(&buffers, aims_of, draws, 8, 0)) && (out = memory(&buffers, out_of, draws, 8, 1)) &&
             rising(starts, count, draws)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = search_rows(rows, wide, count, width, starts, aims, out);
        Py_END_ALLOW_THREADS;
        result = answer(done);
    }
    let_go(&buffers);
    return result;
}

#define LANE_BITS 64
#define ALONE 16 /* searches, or fewer, take less one by one */
#define SEARCHES 4 /* lanes of 64 searches each that go on together: what they hold of 50,000 words fits into a cache */

/* The same as below, by a search for each source. */
static int search_each(const Graph *graph, const int64_t *sources, int64_t count, int16_t *out)
{
    const int32_t *indptr = graph->indptr, *indices = graph->indices;
    int32_t *queue = malloc(sizeof(int32_t) * (size_t)(graph->words + 1));
    int done = queue != NULL;
    memset(out, 0xff, sizeof(int16_t) * (size_t)count * (size_t)graph->words);
    for (int64_t source = 0; done == 1 && source < count; source++) {
        int16_t *row = out + source * graph->words;
        int64_t end = 1;
        queue[0] = (int32_t)sources[source];
        row[sources[source]] = 0;
        for (int64_t place = 0; place < end && done == 1; place++) {
            const int16_t hops = row[queue[place]];
            for (int32_t edge = indptr[queue[place]]; edge < indptr[queue[place] + 1]; edge++)
                if (row[indices[edge]] < 0) {
                    if (hops == INT16_MAX)
                        done = -1;
                    else
                        row[indices[edge]] = (int16_t)(hops + 1);
                    queue[end] = indices[edge];
                    end += done == 1;
                }
        }
    }
    free(queue);
    return done;
}

/* Hops from some sources to every word, a row for each source; -1 where there is no way. Whether a word has been reached
   is one bit for each of 256 sources, so that one pass over the edges moves all of their searches a hop further.
   Returns 1, or 0 where there is no memory, or -1 where hops do not fit into 16 bits. */
static int search_all(const Graph *graph, const int64_t *sources, int64_t count, int16_t *out)
{
    const int32_t *indptr = graph->indptr, *indices = graph->indices;
    const int64_t words = graph->words;
    if (count <= ALONE)
        return search_each(graph, sources, count, out);
    const size_t size = sizeof(uint64_t) * SEARCHES * (size_t)(words ? words : 1);
    uint64_t(*shell)[SEARCHES] = malloc(size), (*next)[SEARCHES] = malloc(size), (*unseen)[SEARCHES] = malloc(size);
    int done = shell && next && unseen;
    memset(out, 0xff, sizeof(int16_t) * (size_t)count * (size_t)words);
    for (int64_t first = 0; done == 1 && first < count; first += SEARCHES * LANE_BITS) {
        int64_t several = count - first < SEARCHES * LANE_BITS ? count - first : SEARCHES * LANE_BITS;
        memset(shell, 0, size);
        memset(unseen, 0xff, size);
        for (int64_t source = 0; source < several; source++) {
            int64_t word = sources[first + source];
            uint64_t bit = (uint64_t)1 << (source % LANE_BITS);
            shell[word][source / LANE_BITS] |= bit;
            unseen[word][source / LANE_BITS] &= ~bit;
            out[(first + source) * words + word] = 0;
        }
        int any = 1;
        for (int hop = 1; any; hop++) {
            any = 0;
            for (int64_t word = 0; word < words; word++) {
                uint64_t reached[SEARCHES] = {0};
                for (int32_t edge = indptr[word]; edge < indptr[word + 1]; edge++)
                    for (int lane = 0; lane < SEARCHES; lane++)
                        reached[lane] |= shell[indices[edge]][lane];
                for (int lane = 0; lane < SEARCHES; lane++) {
                    uint64_t fresh = reached[lane] & unseen[word][lane];
                    next[word][lane] = fresh;
                    unseen[word][lane] &= ~fresh;
                    int16_t *row = out + (first + lane * LANE_BITS) * words + word;
                    for (; fresh; fresh &= fresh - 1) {
                        row[__builtin_ctzll(fresh) * words] = (int16_t)hop;
                        any = 1;
                    }
                }
            }
            if (any && hop == INT16_MAX) {
                done = -1;
                break;
            }
            uint64_t(*swap)[SEARCHES] = shell;
            shell = next;
            next = swap;
        }
    }
    free(shell);
    free(next);
    free(unseen);
    return done;
}

static PyObject *all_hops(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *graph_of, *sources_of, *out_of;
    long long count;
    if (!PyArg_ParseTuple(args, "OOLO", &graph_of, &sources_of, &count, &out_of))
        return NULL;
    Buffers buffers = {.count = 0};
    Graph graph;
    const int64_t *sources;
    int16_t *out;
    PyObject *result = NULL;
    if (read_graph(&buffers, graph_of, &graph) && (sources = memory(&buffers, sources_of, count, 8, 0)) &&
        (out = memory(&buffers, out_of, product(count, graph.words), 2, 1)) &&
        all_below(sources, count, graph.words)) {
        int done;
        Py_BEGIN_ALLOW_THREADS;
        done = search_all(&graph, sources, count, out);
        Py_END_ALLOW_THREADS;
        if (done < 0)
            PyErr_SetString(PyExc_OverflowError, "a way has more hops than 16 bits can count");
        else
            result = answer(done);
    }
    let_go(&buffers);
    return result;
}

#include "graph_draws.h"
#include "largest.h"

static PyMethodDef METHODS[] = {
    {"kinds", kinds, METH_NOARGS, "The kinds of code that this processor runs, the fastest first."},
    {"block_sums", block_sums, METH_VARARGS, "Add up falling weights over blocks of words, for some words."},
    {"block_table", block_table, METH_VARARGS, "Add up falling weights over blocks of words, for all words."},
    {"pick", pick, METH_VARARGS, "Finish draws inside their blocks."},
    {"best_products", best_products, METH_VARARGS, "Find the word with the largest product plus bias."},
    {"follow_rays", follow_rays, METH_VARARGS, "Find where noise lands, for words that share their directions."},
    {"levels_of_rays", levels_of_rays, METH_VARARGS, "How many numbers bound the distances of one word."},
    {"nearest_two", nearest_two, METH_VARARGS, "Find the two words nearest to each of many points."},
    {"choose", choose, METH_VARARGS, "Search cumulated rows."},
    {"all_hops", all_hops, METH_VARARGS, "Count the hops from some words to every word."},
    {"keep_largest", keep_largest, METH_VARARGS, "Keep the largest scores of each row."},
    {"draw_hops", draw_hops, METH_VARARGS, "Draw words with weights that fall with their hops."},
    {"scratch_of_hops", scratch_of_hops, METH_VARARGS, "How much memory a thread needs that draws so."},
    {"keep_rows", keep_rows, METH_VARARGS, "Find the hops from some words to every word, and keep them."},
    {"near_counts", near_counts, METH_VARARGS, "Count the words near each word, and their edges."},
    {"group_words", group_words, METH_VARARGS, "Bring equal words together."},
    {"index_strings", index_strings, METH_VARARGS, "Put strings into a table."},
    {"index_short", index_short, METH_VARARGS, "Put short strings into a table, with what is known of each."},
    {"find_values", find_values, METH_VARARGS, "Find plain numbers, and the texts that may hold more than words."},
    {"cut_texts", cut_texts, METH_VARARGS, "Find the words of texts that are to be replaced."},
    {"write_texts", write_texts, METH_VARARGS, "Write texts with new words."},
    {"first_uses", first_uses, METH_VARARGS, "Find the first of equal numbers of each group."},
    {"count_lines", count_lines, METH_VARARGS, "Count the line breaks of a text."},
    {"find_lines", find_lines, METH_VARARGS, "Find where lines start and end."},
    {"ends_in_quotes", ends_in_quotes, METH_VARARGS, "Say whether rows end within a cell."},
    {"cut_table", cut_table, METH_VARARGS, "Find the cells of some columns."},
    {"quote_cells", quote_cells, METH_VARARGS, "Write rows with new cells."},
    {NULL, NULL, 0, NULL},
};

/* To be raised with every change of a function above or of what it takes: native.py turns others down. */
static int add_version(PyObject *module)
{
    return PyModule_AddIntConstant(module, "VERSION", 15);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)add_version}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_native", .m_size = 0, .m_methods = METHODS, .m_slots = SLOTS};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&MODULE);
}
