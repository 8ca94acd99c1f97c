/* Library operations that work element by element: arithmetic, selection, casts and copies. */
#include <math.h>
#include <string.h>

#include "hivm.h"

#define CHUNK 1024
#define VIEWS 4

/* A walk over the elements of up to four views of one shape, row by row. Dimensions that lie
 * contiguously in all views are merged, so that rows are long. */
typedef struct {
    int views;
    int rank;
    int64_t shape[MAX_RANK];
    int64_t strides[VIEWS][MAX_RANK];
    int64_t at[VIEWS];
} Walk;

/* Dimensions of size 1 broadcast. The last view gives the shape. */
static Walk walk_of(Core *core, int count, const View *const *views) {
    const View *target = views[count - 1];
    Walk walk = {count, 0, {0}, {{0}}, {0}};
    for (int v = 0; v < count; v++) {
        if (!views[v]) continue;
        demand_inside(core, views[v]);
        walk.at[v] = views[v]->offset;
        if (views[v]->rank != target->rank) fail(core, UNSUPPORTED, "operands of ranks %d and %d", views[v]->rank, target->rank);
    }
    for (int d = 0; d < target->rank; d++) {
        int64_t size = target->shape[d];
        if (size == 1) continue;
        int64_t strides[VIEWS];
        bool merges = walk.rank > 0;
        for (int v = 0; v < count; v++) {
            int64_t own = views[v] ? views[v]->shape[d] : 1;
            if (own != size && own != 1) fail(core, UNSUPPORTED, "operands of %lld and %lld elements", (long long)own, (long long)size);
            strides[v] = own == 1 ? 0 : views[v]->strides[d];
            merges = merges && walk.strides[v][walk.rank - 1] == strides[v] * size;
        }
        if (!merges) walk.shape[walk.rank++] = 1;
        walk.shape[walk.rank - 1] *= size;
        for (int v = 0; v < count; v++) walk.strides[v][walk.rank - 1] = strides[v];
    }
    if (walk.rank == 0) walk.shape[walk.rank++] = 1;
    return walk;
}

/* Calls `row` with a place in each view, a stride and a number of elements, at most CHUNK. */
typedef void (*Row)(void *context, const int64_t *at, const int64_t *strides, int64_t count);

static void walk_rows(const Walk *walk, Row row, void *context) {
    int64_t index[MAX_RANK] = {0}, at[VIEWS], strides[VIEWS];
    int last = walk->rank - 1;
    for (int d = 0; d <= last; d++)
        if (walk->shape[d] == 0) return;
    memcpy(at, walk->at, sizeof at);
    for (int v = 0; v < walk->views; v++) strides[v] = walk->strides[v][last];
    for (;;) {
        for (int64_t done = 0; done < walk->shape[last]; done += CHUNK) {
            int64_t left = walk->shape[last] - done, places[VIEWS];
            for (int v = 0; v < walk->views; v++) places[v] = at[v] + done * strides[v];
            row(context, places, strides, left < CHUNK ? left : CHUNK);
        }
        int d = last - 1;
        for (; d >= 0; d--) {
            for (int v = 0; v < walk->views; v++) at[v] += walk->strides[v][d];
            if (++index[d] < walk->shape[d]) break;
            for (int v = 0; v < walk->views; v++) at[v] -= walk->strides[v][d] * walk->shape[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

typedef struct {
    int op;
    const View *views[VIEWS];
    double reals[VIEWS];
    int64_t wholes[VIEWS];
    int64_t mode;
} Work;

static void reals_of(const Work *work, int v, const int64_t *at, const int64_t *strides, int64_t count, float *out) {
    if (work->views[v]) read_reals(work->views[v], at[v], strides[v], count, out);
    else
        for (int64_t i = 0; i < count; i++) out[i] = (float)work->reals[v];
}

static void wholes_of(const Work *work, int v, const int64_t *at, const int64_t *strides, int64_t count, int64_t *out) {
    if (work->views[v]) read_wholes(work->views[v], at[v], strides[v], count, out);
    else
        for (int64_t i = 0; i < count; i++) out[i] = work->wholes[v];
}

static Work work_of(int op, int count, const Operand *operands, const View *target) {
    Work work = {op, {0}, {0}, {0}, 0};
    for (int v = 0; v < count; v++) {
        work.views[v] = operands[v].view;
        work.reals[v] = operands[v].real;
        work.wholes[v] = operands[v].whole;
    }
    work.views[count] = target;
    return work;
}

#define EACH(EXPRESSION) \
    for (int64_t i = 0; i < count; i++) y[i] = (EXPRESSION); \
    break

static void unary_reals(int op, const float *x, float *y, int64_t count) {
    switch (op) {
        case EXP: EACH(expf(x[i]));
        case LN: EACH(logf(x[i]));
        case SQRT: EACH(sqrtf(x[i]));
        case ABS: EACH(fabsf(x[i]));
        case NOT: EACH(x[i] == 0);
        case RSQRT: EACH(1 / sqrtf(x[i]));
        case REC: EACH(1 / x[i]);
        case RELU: EACH(x[i] > 0 || x[i] != x[i] ? x[i] : 0);
        case TANH: EACH(tanhf(x[i]));
        case SIN: EACH(sinf(x[i]));
        case COS: EACH(cosf(x[i]));
        case ERF: EACH(erff(x[i]));
        case FLOOR: EACH(floorf(x[i]));
        case CEIL: EACH(ceilf(x[i]));
        case ROUND: EACH(rintf(x[i]));
        case TRUNC: EACH(truncf(x[i]));
        default: EACH(-x[i]);
    }
}

static void unary_wholes(int op, int dtype, const int64_t *x, int64_t *y, int64_t count) {
    switch (op) {
        case ABS: EACH(x[i] < 0 ? -x[i] : x[i]);
        case NOT: EACH(dtype == I1 ? !x[i] : ~x[i]);
        case RELU: EACH(x[i] > 0 ? x[i] : 0);
        case NEG: EACH(-x[i]);
        default: EACH(x[i]);
    }
}

static void unary_row(void *context, const int64_t *at, const int64_t *strides, int64_t count) {
    const Work *work = context;
    const View *target = work->views[1];
    if (is_real(work->views[0]->dtype)) {
        float x[CHUNK], y[CHUNK];
        reals_of(work, 0, at, strides, count, x);
        unary_reals(work->op, x, y, count);
        write_reals(target, at[1], strides[1], count, y);
    } else {
        int64_t x[CHUNK], y[CHUNK];
        wholes_of(work, 0, at, strides, count, x);
        unary_wholes(work->op, work->views[0]->dtype, x, y, count);
        write_wholes(target, at[1], strides[1], count, y);
    }
}

void unary(Core *core, int op, double cost, const View *source, const View *target) {
    Work work = work_of(op, 1, &VIEW(*source), target);
    Walk walk = walk_of(core, 2, work.views);
    walk_rows(&walk, unary_row, &work);
    vector_work(core, bytes_of(target), cost);
}

static void binary_reals(int op, const float *a, const float *b, float *y, int64_t count) {
    switch (op) {
        case ADD: EACH(a[i] + b[i]);
        case SUB: EACH(a[i] - b[i]);
        case MUL: EACH(a[i] * b[i]);
        case DIV: EACH(a[i] / b[i]);
        case MAX: EACH(a[i] > b[i] || a[i] != a[i] ? a[i] : b[i]);
        case MIN: EACH(a[i] < b[i] || a[i] != a[i] ? a[i] : b[i]);
        case POW: EACH(powf(a[i], b[i]));
        case MOD: EACH(fmodf(a[i], b[i]));
        case AND: EACH(a[i] != 0 && b[i] != 0);
        default: EACH(a[i] != 0 || b[i] != 0);
    }
}

static int64_t power(int64_t base, int64_t exponent) {
    int64_t result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

static void binary_wholes(int op, const int64_t *a, const int64_t *b, int64_t *y, int64_t count) {
    switch (op) {
        case ADD: EACH((int64_t)((uint64_t)a[i] + (uint64_t)b[i]));
        case SUB: EACH((int64_t)((uint64_t)a[i] - (uint64_t)b[i]));
        case MUL: EACH((int64_t)((uint64_t)a[i] * (uint64_t)b[i]));
        case DIV: EACH(quotient(a[i], b[i]));
        case MOD: EACH(remainder_of(a[i], b[i]));
        case MAX: EACH(a[i] > b[i] ? a[i] : b[i]);
        case MIN: EACH(a[i] < b[i] ? a[i] : b[i]);
        case AND: EACH(a[i] & b[i]);
        case OR: EACH(a[i] | b[i]);
        case XOR: EACH(a[i] ^ b[i]);
        case POW: EACH(power(a[i], b[i]));
        case SHL: EACH((int64_t)((uint64_t)a[i] << (b[i] & 63)));
        default: EACH(a[i] >> (b[i] & 63));
    }
}

static const View *typed(const Work *work, int operands) {
    for (int v = 0; v < operands; v++)
        if (work->views[v]) return work->views[v];
    return work->views[operands];
}

static void binary_row(void *context, const int64_t *at, const int64_t *strides, int64_t count) {
    const Work *work = context;
    const View *target = work->views[2];
    if (is_real(typed(work, 2)->dtype)) {
        float a[CHUNK], b[CHUNK], y[CHUNK];
        reals_of(work, 0, at, strides, count, a);
        reals_of(work, 1, at, strides, count, b);
        binary_reals(work->op, a, b, y, count);
        write_reals(target, at[2], strides[2], count, y);
    } else {
        int64_t a[CHUNK], b[CHUNK], y[CHUNK];
        wholes_of(work, 0, at, strides, count, a);
        wholes_of(work, 1, at, strides, count, b);
        binary_wholes(work->op, a, b, y, count);
        write_wholes(target, at[2], strides[2], count, y);
    }
}

void binary(Core *core, int op, double cost, Operand left, Operand right, const View *target) {
    Work work = work_of(op, 2, (Operand[]){left, right}, target);
    Walk walk = walk_of(core, 3, work.views);
    walk_rows(&walk, binary_row, &work);
    vector_work(core, bytes_of(target), cost);
}

#define COMPARE \
    switch (work->op) { \
        case EQ: EACH(a[i] == b[i]); \
        case NE: EACH(a[i] != b[i]); \
        case LT: EACH(a[i] < b[i]); \
        case LE: EACH(a[i] <= b[i]); \
        case GT: EACH(a[i] > b[i]); \
        default: EACH(a[i] >= b[i]); \
    }

static void compare_row(void *context, const int64_t *at, const int64_t *strides, int64_t count) {
    const Work *work = context;
    int64_t y[CHUNK];
    if (is_real(typed(work, 2)->dtype)) {
        float a[CHUNK], b[CHUNK];
        reals_of(work, 0, at, strides, count, a);
        reals_of(work, 1, at, strides, count, b);
        COMPARE
    } else {
        int64_t a[CHUNK], b[CHUNK];
        wholes_of(work, 0, at, strides, count, a);
        wholes_of(work, 1, at, strides, count, b);
        COMPARE
    }
    write_wholes(work->views[2], at[2], strides[2], count, y);
}

void compare(Core *core, int op, Operand left, Operand right, const View *target) {
    Work work = work_of(op, 2, (Operand[]){left, right}, target);
    Walk walk = walk_of(core, 3, work.views);
    walk_rows(&walk, compare_row, &work);
    vector_work(core, bytes_of(typed(&work, 2)), 1);
}

static void choose_row(void *context, const int64_t *at, const int64_t *strides, int64_t count) {
    const Work *work = context;
    int64_t chosen[CHUNK];
    wholes_of(work, 0, at, strides, count, chosen);
    if (is_real(work->views[3]->dtype)) {
        float a[CHUNK], b[CHUNK];
        reals_of(work, 1, at, strides, count, a);
        reals_of(work, 2, at, strides, count, b);
        for (int64_t i = 0; i < count; i++) a[i] = chosen[i] ? a[i] : b[i];
        write_reals(work->views[3], at[3], strides[3], count, a);
    } else {
        int64_t a[CHUNK], b[CHUNK];
        wholes_of(work, 1, at, strides, count, a);
        wholes_of(work, 2, at, strides, count, b);
        for (int64_t i = 0; i < count; i++) a[i] = chosen[i] ? a[i] : b[i];
        write_wholes(work->views[3], at[3], strides[3], count, a);
    }
}

void choose(Core *core, const View *condition, Operand left, Operand right, const View *target) {
    Work work = work_of(0, 3, (Operand[]){VIEW(*condition), left, right}, target);
    Walk walk = walk_of(core, 4, work.views);
    walk_rows(&walk, choose_row, &work);
    vector_work(core, bytes_of(target), 1);
}

enum { RINT, AWAY, DOWN, UP, TOWARDS_ZERO };

static float whole_real(float x, int64_t mode) {
    switch (mode) {
        case RINT: return rintf(x);
        case AWAY: return roundf(x);
        case DOWN: return floorf(x);
        case UP: return ceilf(x);
        default: return truncf(x);
    }
}

static void cast_row(void *context, const int64_t *at, const int64_t *strides, int64_t count) {
    const Work *work = context;
    const View *source = work->views[0], *target = work->views[1];
    if (!is_real(source->dtype)) {
        int64_t x[CHUNK];
        wholes_of(work, 0, at, strides, count, x);
        write_wholes(target, at[1], strides[1], count, x);
        return;
    }
    float x[CHUNK];
    reals_of(work, 0, at, strides, count, x);
    bool to_whole = !is_real(target->dtype) ? target->dtype != I1 : target->dtype == source->dtype;
    if (to_whole)
        for (int64_t i = 0; i < count; i++) x[i] = whole_real(x[i], work->mode);
    write_reals(target, at[1], strides[1], count, x);
}

void cast(Core *core, int64_t mode, const View *source, const View *target) {
    Work work = work_of(0, 1, &VIEW(*source), target);
    work.mode = mode;
    Walk walk = walk_of(core, 2, work.views);
    walk_rows(&walk, cast_row, &work);
    int64_t from = bytes_of(source), to = bytes_of(target);
    vector_work(core, from > to ? from : to, 1);
}

static void copy_row(void *context, const int64_t *at, const int64_t *strides, int64_t count) {
    const Work *work = context;
    if (is_real(work->views[1]->dtype)) {
        float x[CHUNK];
        reals_of(work, 0, at, strides, count, x);
        write_reals(work->views[1], at[1], strides[1], count, x);
    } else {
        int64_t x[CHUNK];
        wholes_of(work, 0, at, strides, count, x);
        write_wholes(work->views[1], at[1], strides[1], count, x);
    }
}

static void move(Core *core, Operand source, const View *target) {
    Work work = work_of(0, 1, &source, target);
    Walk walk = walk_of(core, 2, work.views);
    walk_rows(&walk, copy_row, &work);
}

void broadcast(Core *core, Operand source, const View *target) {
    move(core, source, target);
    vector_work(core, bytes_of(target), 1);
}

void copy(Core *core, int pipe, const View *source, const View *target, int64_t atomic) {
    static const int ATOMICS[] = {0, ADD, MAX, MIN};
    if (atomic == NO_ATOMIC) move(core, VIEW(*source), target);
    else if (atomic <= ATOMIC_MIN) {
        Work work = work_of(ATOMICS[atomic], 2, (Operand[]){VIEW(*target), VIEW(*source)}, target);
        Walk walk = walk_of(core, 3, work.views);
        walk_rows(&walk, binary_row, &work);
    } else fail(core, UNSUPPORTED, "a store with atomic kind %lld", (long long)atomic);
    const View *outside = source->memory->global ? source : target;
    if (outside->memory->global) core->bytes += bytes_of(outside);
    if (pipe == PIPE_V) vector_work(core, bytes_of(target), 1);
    else copy_work(core, pipe, bytes_of(outside), contiguous_runs(outside));
}

void fill_l1(Core *core, Operand value, const View *target) {
    move(core, value, target);
    pipe_work(core, PIPE_MTE2, (double)bytes_of(target) / 256);
}
