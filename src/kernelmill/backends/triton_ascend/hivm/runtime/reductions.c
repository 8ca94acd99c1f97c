/* Library operations along axes: reductions, places of extremes, running folds, sorting. */
#include <math.h>
#include <stdlib.h>

#include "hivm.h"

#define CHUNK 1024
#define LANES 64 /* partial results along a row: as many as a repeat of a vector has floats */

/* The elements of a source that one element of the target is made from, and where they begin. */
typedef struct {
    View kept;
    View folded;
} Split;

static Split split_axes(Core *core, unsigned axes, const View *source, const View *target) {
    demand_inside(core, source);
    demand_inside(core, target);
    if (source->rank != target->rank) fail(core, UNSUPPORTED, "a reduction from rank %d to %d", source->rank, target->rank);
    Split split = {*source, *source};
    for (int d = 0; d < source->rank; d++) {
        bool is_folded = axes >> d & 1;
        if (is_folded) split.kept.shape[d] = 1;
        else split.folded.shape[d] = 1;
    }
    return split;
}

/* The innermost dimension with more than one element: its rows have one stride. */
static int row_axis(const View *view) {
    int d = view->rank - 1;
    while (d > 0 && view->shape[d] == 1) d--;
    return d;
}

static float real_start(int op) { return op == ADD ? 0 : op == MUL ? 1 : op == MAX ? -INFINITY : INFINITY; }

static float join_reals(int op, float a, float b) {
    return op == ADD ? a + b : op == MUL ? a * b : op == MAX ? larger_real(a, b) : smaller_real(a, b);
}

static int64_t whole_start(int op) {
    return op == ADD || op == OR || op == XOR ? 0 : op == MUL ? 1 : op == MAX ? INT64_MIN : op == MIN ? INT64_MAX : -1;
}

static int64_t join_wholes(int op, int64_t a, int64_t b) {
    switch (op) {
        case ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
        case MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
        case MAX: return a > b ? a : b;
        case MIN: return a < b ? a : b;
        case OR: return a | b;
        case XOR: return a ^ b;
        default: return a & b;
    }
}

static float fold_reals(int op, const View *folded) {
    int axis = row_axis(folded);
    int64_t length = folded->rank ? folded->shape[axis] : 1, stride = folded->rank ? folded->strides[axis] : 1;
    int64_t rows = length ? elements(folded) / length : 0;
    float lanes[LANES], row[CHUNK];
    for (int i = 0; i < LANES; i++) lanes[i] = real_start(op);
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = place(folded, r * length);
        for (int64_t done = 0; done < length; done += CHUNK) {
            int64_t count = length - done < CHUNK ? length - done : CHUNK;
            read_reals(folded, at + done * stride, stride, count, row);
            if (op == ADD)
                for (int64_t i = 0; i < count; i++) lanes[(i + r) % LANES] += row[i];
            else
                for (int64_t i = 0; i < count; i++) lanes[i % LANES] = join_reals(op, lanes[i % LANES], row[i]);
        }
    }
    for (int width = LANES / 2; width; width /= 2)
        for (int i = 0; i < width; i++) lanes[i] = join_reals(op, lanes[i], lanes[i + width]);
    return lanes[0];
}

static int64_t fold_wholes(int op, const View *folded) {
    int64_t result = whole_start(op), value;
    for (int64_t i = 0, count = elements(folded); i < count; i++) {
        read_wholes(folded, place(folded, i), 1, 1, &value);
        result = join_wholes(op, result, value);
    }
    return result;
}

static void reduction_work(Core *core, const View *source) {
    int64_t bytes = bytes_of(source);
    vector_work(core, bytes, 2);
    vector_work(core, bytes < 4096 ? bytes : 4096, 2);
}

void reduce(Core *core, int op, unsigned axes, const View *source, const View *target, Operand start) {
    Split split = split_axes(core, axes, source, target);
    int64_t count = elements(&split.kept);
    if (elements(target) != count) fail(core, UNSUPPORTED, "a reduction to other sizes");
    for (int64_t i = 0; i < count; i++) {
        split.folded.offset = place(&split.kept, i);
        int64_t at = place(target, i);
        if (is_real(source->dtype)) {
            float value = join_reals(op, fold_reals(op, &split.folded), (float)start.real);
            write_reals(target, at, 1, 1, &value);
        } else {
            int64_t value = join_wholes(op, fold_wholes(op, &split.folded), start.whole);
            write_wholes(target, at, 1, 1, &value);
        }
    }
    reduction_work(core, source);
}

/* The extreme of each row and the place of its first occurrence. */
void reduce_place(Core *core, int op, unsigned axes, const View *source, const View *target, const View *found) {
    Split split = split_axes(core, axes, source, target);
    int64_t count = elements(&split.kept), length = elements(&split.folded);
    demand_inside(core, found);
    if (elements(target) != count || elements(found) != count) fail(core, UNSUPPORTED, "a reduction to other sizes");
    for (int64_t i = 0; i < count; i++) {
        split.folded.offset = place(&split.kept, i);
        float best = 0, value;
        int64_t best_at = 0;
        for (int64_t j = 0; j < length; j++) {
            read_reals(source, place(&split.folded, j), 1, 1, &value);
            bool better = j == 0 || (value != value && best == best) || (op == MAX ? value > best : value < best);
            if (better) best = value, best_at = j;
        }
        write_reals(target, place(target, i), 1, 1, &best);
        write_wholes(found, place(found, i), 1, 1, &best_at);
    }
    reduction_work(core, source);
}

/* Running sums or products along the axes, which lie next to each other. */
void running(Core *core, int op, unsigned axes, bool reverse, const View *source, const View *target) {
    Split from = split_axes(core, axes, source, source), to = split_axes(core, axes, target, target);
    int64_t count = elements(&from.kept), length = elements(&from.folded);
    if (elements(target) != elements(source)) fail(core, UNSUPPORTED, "a running fold to other sizes");
    for (int64_t i = 0; i < count; i++) {
        from.folded.offset = place(&from.kept, i), to.folded.offset = place(&to.kept, i);
        float real = real_start(op), value;
        int64_t whole = whole_start(op), number;
        for (int64_t j = 0; j < length; j++) {
            int64_t step = reverse ? length - 1 - j : j;
            int64_t in = place(&from.folded, step), out = place(&to.folded, step);
            if (is_real(source->dtype)) {
                read_reals(source, in, 1, 1, &value);
                real = j ? join_reals(op, real, value) : value;
                write_reals(target, out, 1, 1, &real);
            } else {
                read_wholes(source, in, 1, 1, &number);
                whole = join_wholes(op, whole, number);
                write_wholes(target, out, 1, 1, &whole);
            }
        }
    }
    vector_work(core, bytes_of(source), 8);
}
