/* What is near each word of a graph, counted once: see `Nearby` in around.h. Included by graph_draws.h. */

/* Count what is near some words that follow one another, until it is enough for draws, or too much to tell. */
static int count_near(const Graph *graph, int64_t first, int64_t count, int64_t levels, uint16_t *out)
{
    const int32_t *indptr = graph->indptr, *indices = graph->indices;
    const int64_t share = graph->words / BALL_SHARE, ball = share > SMALLEST_BALL ? share : SMALLEST_BALL;
    uint8_t *is_met = calloc((size_t)graph->words, 1);
    int32_t *queue = malloc(sizeof *queue * (size_t)(graph->words + 1));
    for (int64_t one = 0; is_met && queue && one < count; one++, out += 2 * levels) {
        int64_t begin = 0, end = 1;
        queue[0] = (int32_t)(first + one);
        is_met[first + one] = 1;
        memset(out, 0, sizeof *out * 2 * (size_t)levels);
        for (int64_t level = 0; level < levels && begin < end; level++) {
            const int64_t stop = end, is_last = level + 1 == levels || stop >= ball;
            int64_t edges = 0;
            for (int64_t place = begin; place < stop; place++)
                edges += indptr[queue[place] + 1] - indptr[queue[place]];
            if (stop - begin > UINT16_MAX || edges > UINT16_MAX)
                break;
            out[2 * level] = (uint16_t)(stop - begin);
            out[2 * level + 1] = (uint16_t)edges;
            if (is_last)
                break;
            for (; begin < stop; begin++) {
                if (begin + AHEAD < stop)
                    fetch_edges(graph, queue[begin + AHEAD]);
                for (int32_t edge = indptr[queue[begin]]; edge < indptr[queue[begin] + 1]; edge++) {
                    queue[end] = indices[edge];
                    end += !is_met[indices[edge]];
                    is_met[indices[edge]] = 1;
                }
            }
        }
        for (int64_t place = 0; place < end; place++)
            is_met[queue[place]] = 0;
    }
    const int done = is_met && queue;
    free(is_met);
    free(queue);
    return done;
}

/* Count the words near each word, and their edges. */
static PyObject *near_counts(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *graph_of, *out_of;
    long long first, count, levels;
    if (!PyArg_ParseTuple(args, "OLLLO", &graph_of, &first, &count, &levels, &out_of))
        return NULL;
    Buffers buffers = {.count = 0};
    Graph graph;
    uint16_t *out;
    PyObject *result = NULL;
    if (read_graph(&buffers, graph_of, &graph) && (out = memory(&buffers, out_of, product(count, product(2, levels)), 2, 1))) {
        if (first < 0 || count > graph.words || first > graph.words - count)
            PyErr_SetString(PyExc_IndexError, "there is no such word");
        else {
            int done;
            Py_BEGIN_ALLOW_THREADS;
            done = count_near(&graph, first, count, levels, out);
            Py_END_ALLOW_THREADS;
            result = answer(done);
        }
    }
    let_go(&buffers);
    return result;
}
