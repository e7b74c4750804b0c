/* The largest of many products, kept as tiles of them come by. Included by native.c. */

#define LOOKED_AT 64 /* scores that are compared with the least kept before any is looked at by itself */

/* Each row of scores belongs to words from `first` on, or to those of `ids`; a row keeps its `k` largest, the largest first,
   of equals the one that came first. A row's own word, if it has one, is left out. */
static void keep_scores(const float *scores, int64_t rows, int64_t width, int64_t first, const int64_t *ids,
                        const int64_t *own, int64_t k, float *values, int64_t *where)
{
    for (int64_t row = 0; row < rows; row++) {
        const float *score = scores + row * width;
        float *kept = values + row * k;
        int64_t *kept_at = where + row * k, itself = own ? own[row] : -1;
        for (int64_t begin = 0; begin < width; begin += LOOKED_AT) {
            int64_t end = begin + LOOKED_AT < width ? begin + LOOKED_AT : width;
            float least = kept[k - 1];
            int any = 0;
            for (int64_t place = begin; place < end; place++)
                any |= score[place] > least;
            if (!any)
                continue;
            for (int64_t place = begin; place < end; place++) {
                int64_t word = ids ? ids[place] : first + place;
                if (!(score[place] > kept[k - 1]) || word == itself)
                    continue;
                int64_t seat = k - 1;
                for (; seat > 0 && kept[seat - 1] < score[place]; seat--) {
                    kept[seat] = kept[seat - 1];
                    kept_at[seat] = kept_at[seat - 1];
                }
                kept[seat] = score[place];
                kept_at[seat] = word;
            }
        }
    }
}

static PyObject *keep_largest(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *scores_of, *ids_of, *own_of, *values_of, *where_of;
    long long rows, width, first, k;
    if (!PyArg_ParseTuple(args, "OLLLOOLOO", &scores_of, &rows, &width, &first, &ids_of, &own_of, &k, &values_of,
                          &where_of))
        return NULL;
    Buffers buffers = {.count = 0};
    const float *scores;
    const int64_t *ids = NULL, *own = NULL;
    float *values;
    int64_t *where;
    PyObject *result = NULL;
    if (k < 1)
        PyErr_SetString(PyExc_ValueError, "an array of none cannot be kept");
    else if ((scores = memory(&buffers, scores_of, product(rows, width), 4, 0)) &&
             (ids_of == Py_None || (ids = memory(&buffers, ids_of, width, 8, 0))) &&
             (own_of == Py_None || (own = memory(&buffers, own_of, rows, 8, 0))) &&
             (values = memory(&buffers, values_of, product(rows, k), 4, 1)) &&
             (where = memory(&buffers, where_of, product(rows, k), 8, 1))) {
        Py_BEGIN_ALLOW_THREADS;
        keep_scores(scores, rows, width, first, ids, own, k, values, where);
        Py_END_ALLOW_THREADS;
        result = Py_NewRef(Py_None);
    }
    let_go(&buffers);
    return result;
}
