/* Simulated memories, and HIVM's views of them. */
#include <math.h>
#include <string.h>

#include "hivm.h"

#define SCALAR_ACCESS_CYCLES 20 /* of the scalar unit, for one access to a memory */

static const int64_t ITEM_BYTES[DTYPES] = {4, 2, 2, 8, 8, 4, 2, 1, 1};

bool is_real(int dtype) { return dtype <= F64; }
int64_t item_bytes(int dtype) { return ITEM_BYTES[dtype]; }

int64_t elements(const View *view) {
    int64_t count = 1;
    for (int d = 0; d < view->rank; d++) count *= view->shape[d];
    return count;
}

int64_t bytes_of(const View *view) {
    int64_t count = elements(view);
    return view->dtype == I1 ? (count + 7) / 8 : count * ITEM_BYTES[view->dtype];
}

/* Number of contiguous runs of elements. */
int64_t contiguous_runs(const View *view) {
    int64_t run = 1;
    for (int d = view->rank - 1; d >= 0; d--) {
        if (view->shape[d] != 1 && view->strides[d] != run) break;
        run *= view->shape[d];
    }
    return run ? elements(view) / run : 0;
}

static int64_t capacity(const View *view) {
    return view->dtype == I1 ? 8 * view->memory->size : view->memory->size / ITEM_BYTES[view->dtype];
}

/* Whether a single element lies in its memory. */
static bool is_inside(const View *one) { return one->offset >= 0 && one->offset < capacity(one); }

void demand_inside(Core *core, const View *view) {
    int64_t first = view->offset, last = view->offset;
    for (int d = 0; d < view->rank; d++) {
        if (view->shape[d] < 0) fail(core, OUT_OF_BOUNDS, "a negative number of elements");
        if (view->shape[d] == 0) return;
        int64_t reach;
        if (__builtin_mul_overflow(view->shape[d] - 1, view->strides[d], &reach) ||
            __builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last))
            fail(core, OUT_OF_BOUNDS, "elements beyond any memory");
    }
    int64_t size = capacity(view);
    if (first < 0 || last >= size)
        fail(core, OUT_OF_BOUNDS, "elements %lld to %lld of %s, which has %lld", (long long)first,
             (long long)last, view->memory->name, (long long)size);
}

/* Where the element with this number lies, in row-major order. */
int64_t place(const View *view, int64_t number) {
    int64_t at = view->offset;
    for (int d = view->rank - 1; d >= 0; d--) {
        at += number % view->shape[d] * view->strides[d];
        number /= view->shape[d];
    }
    return at;
}

/* Loads an element in a loop that the compiler made of a mask that is no range: it loads masked-off
 * elements too, and then selects by the mask. What lies outside of a tensor is not-a-number. */
static void load_masked_element(Core *core, const View *source, int64_t from, const View *target, int64_t to) {
    bool inside = from >= 0 && from < capacity(source);
    float real = NAN;
    int64_t whole = -1;
    core->outside += !inside;
    if (is_real(target->dtype)) {
        if (inside) read_reals(source, from, 1, 1, &real);
        write_reals(target, to, 1, 1, &real);
    } else {
        if (inside) read_wholes(source, from, 1, 1, &whole);
        write_wholes(target, to, 1, 1, &whole);
    }
}

void load_masked(Core *core, const View *source, const View *target) {
    demand_inside(core, target);
    int64_t count = elements(target);
    if (elements(source) != count) fail(core, UNSUPPORTED, "a load of other sizes");
    for (int64_t i = 0; i < count; i++) load_masked_element(core, source, place(source, i), target, place(target, i));
    core->bytes += bytes_of(source);
    copy_work(core, PIPE_MTE2, bytes_of(source), contiguous_runs(source));
}

View local_view(Core *core, int space, int dtype, int64_t address, int rank, const int64_t *shape,
                const int64_t *strides) {
    int64_t begin = dtype == I1 ? 8 * address : address / ITEM_BYTES[dtype];
    View view = {&core->spaces[space], dtype, rank, begin, begin, {0}, {0}};
    for (int d = 0; d < rank; d++) view.shape[d] = shape[d], view.strides[d] = strides[d];
    return view;
}

View reinterpret_view(const View *view, int64_t offset, int rank, const int64_t *shape,
                      const int64_t *strides) {
    View result = {view->memory, view->dtype, rank, view->base, view->base + offset, {0}, {0}};
    for (int d = 0; d < rank; d++) result.shape[d] = shape[d], result.strides[d] = strides[d];
    return result;
}

static void row_major(View *view) {
    int64_t stride = 1;
    for (int d = view->rank - 1; d >= 0; d--) view->strides[d] = stride, stride *= view->shape[d];
}

/* Bytes from a place on, as elements of another type. */
View typed_view(const View *view, int64_t byte_offset, int dtype, int rank, const int64_t *shape) {
    int64_t begin = (view->offset * ITEM_BYTES[view->dtype] + byte_offset) / ITEM_BYTES[dtype];
    View result = {view->memory, dtype, rank, begin, begin, {0}, {0}};
    for (int d = 0; d < rank; d++) result.shape[d] = shape[d];
    row_major(&result);
    return result;
}

View sub_view(const View *view, const int64_t *offsets, const int64_t *shape, const int64_t *steps) {
    View result = *view;
    for (int d = 0; d < view->rank; d++) {
        result.offset += offsets[d] * view->strides[d];
        result.shape[d] = shape[d];
        result.strides[d] = view->strides[d] * steps[d];
    }
    return result;
}

/* The first element of a view's buffer. */
View base_view(const View *view) {
    return (View){view->memory, view->dtype, 0, view->base, view->base, {0}, {0}};
}

/* The other dimensions are of size 1. */
View keep_axes(View view, int rank, const int *axes) {
    for (int d = 0; d < rank; d++) view.shape[d] = view.shape[axes[d]], view.strides[d] = view.strides[axes[d]];
    view.rank = rank;
    return view;
}

/* Merges consecutive dimensions, with the stride of the innermost that is not of size 1. */
View collapse_view(const View *view, int groups, const int *sizes) {
    View result = {view->memory, view->dtype, groups, view->base, view->offset, {0}, {0}};
    for (int g = 0, d = 0; g < groups; d += sizes[g++]) {
        result.shape[g] = 1, result.strides[g] = 1;
        for (int i = d; i < d + sizes[g]; i++) {
            result.shape[g] *= view->shape[i];
            if (view->shape[i] > 1) result.strides[g] = view->strides[i];
        }
    }
    return result;
}

View expand_view(const View *view, int rank, const int64_t *shape, const int *group_of) {
    View result = {view->memory, view->dtype, rank, view->base, view->offset, {0}, {0}};
    int64_t stride = 0;
    for (int d = rank - 1; d >= 0; d--) {
        if (d == rank - 1 || group_of[d] != group_of[d + 1]) stride = view->strides[group_of[d]];
        result.shape[d] = shape[d], result.strides[d] = stride;
        stride *= shape[d];
    }
    return result;
}

static float real_of_bfloat(uint16_t bits) { return real_of_bits((uint32_t)bits << 16); }

static uint16_t bfloat_of_real(float value) {
    union { float f; uint32_t u; } x = {value};
    if (value != value) return 0x7FC0;
    return (uint16_t)((x.u + 0x7FFF + ((x.u >> 16) & 1)) >> 16);
}

float rounded(float value, int dtype) {
    return dtype == F16 ? (float)(_Float16)value : dtype == BF16 ? real_of_bfloat(bfloat_of_real(value)) : value;
}

#define READ(TYPE, CONVERT) \
    for (int64_t i = 0; i < count; i++) out[i] = CONVERT(((const TYPE *)view->memory->data)[at + i * stride]); \
    break
#define PLAIN(x) (x)

void read_reals(const View *view, int64_t at, int64_t stride, int64_t count, float *out) {
    switch (view->dtype) {
        case F32:
            if (stride == 1) {
                memcpy(out, (const float *)view->memory->data + at, (size_t)count * 4);
                break;
            }
            READ(float, PLAIN);
        case F16: READ(_Float16, (float));
        case BF16: READ(uint16_t, real_of_bfloat);
        case F64: READ(double, (float));
        case I64: READ(int64_t, (float));
        case I32: READ(int32_t, (float));
        case I16: READ(int16_t, (float));
        case I8: READ(int8_t, (float));
        default:
            for (int64_t i = 0; i < count; i++) out[i] = view->memory->bits[at + i * stride];
    }
}

static int64_t whole_of_real(float value) {
    return value != value ? 0 : value >= 9.2e18f ? INT64_MAX : value <= -9.2e18f ? INT64_MIN : (int64_t)value;
}

void read_wholes(const View *view, int64_t at, int64_t stride, int64_t count, int64_t *out) {
    switch (view->dtype) {
        case F32: READ(float, whole_of_real);
        case F16: READ(_Float16, whole_of_real);
        case BF16: READ(uint16_t, (int64_t)real_of_bfloat);
        case F64: READ(double, (int64_t));
        case I64: READ(int64_t, PLAIN);
        case I32: READ(int32_t, PLAIN);
        case I16: READ(int16_t, PLAIN);
        case I8: READ(int8_t, PLAIN);
        default:
            for (int64_t i = 0; i < count; i++) out[i] = view->memory->bits[at + i * stride];
    }
}

#define WRITE(TYPE, CONVERT) \
    for (int64_t i = 0; i < count; i++) ((TYPE *)view->memory->data)[at + i * stride] = CONVERT(in[i]); \
    break

void write_reals(const View *view, int64_t at, int64_t stride, int64_t count, const float *in) {
    switch (view->dtype) {
        case F32:
            if (stride == 1) {
                memcpy((float *)view->memory->data + at, in, (size_t)count * 4);
                break;
            }
            WRITE(float, PLAIN);
        case F16: WRITE(_Float16, (_Float16));
        case BF16: WRITE(uint16_t, bfloat_of_real);
        case F64: WRITE(double, PLAIN);
        case I64: WRITE(int64_t, whole_of_real);
        case I32: WRITE(int32_t, (int32_t)whole_of_real);
        case I16: WRITE(int16_t, (int16_t)whole_of_real);
        case I8: WRITE(int8_t, (int8_t)whole_of_real);
        default:
            for (int64_t i = 0; i < count; i++) view->memory->bits[at + i * stride] = in[i] != 0;
    }
}

void write_wholes(const View *view, int64_t at, int64_t stride, int64_t count, const int64_t *in) {
    switch (view->dtype) {
        case F32: WRITE(float, (float));
        case F16: WRITE(_Float16, (_Float16)(float));
        case BF16: WRITE(uint16_t, bfloat_of_real);
        case F64: WRITE(double, (double));
        case I64: WRITE(int64_t, PLAIN);
        case I32: WRITE(int32_t, (int32_t));
        case I16: WRITE(int16_t, (int16_t));
        case I8: WRITE(int8_t, (int8_t));
        default:
            for (int64_t i = 0; i < count; i++) view->memory->bits[at + i * stride] = in[i] != 0;
    }
}

static View element(Core *core, const View *view, const int64_t *index, bool loaded) {
    static const int64_t ones[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    View one = sub_view(view, index, ones, ones);
    scalar_work(core, SCALAR_ACCESS_CYCLES);
    /* The vendor's compiler loads masked-off elements too, and then selects by the mask. */
    if (loaded && view->memory->global && !is_inside(&one)) {
        core->outside++;
        one.memory = NULL;
        return one;
    }
    demand_inside(core, &one);
    if (view->memory->global) core->bytes += bytes_of(&one);
    return one;
}

double load_real(Core *core, const View *view, const int64_t *index) {
    View one = element(core, view, index, true);
    if (!one.memory) return NAN;
    if (one.dtype == F64) return ((const double *)one.memory->data)[one.offset];
    float value;
    read_reals(&one, one.offset, 1, 1, &value);
    return value;
}

int64_t load_whole(Core *core, const View *view, const int64_t *index) {
    View one = element(core, view, index, true);
    if (!one.memory) return -1;
    int64_t value;
    read_wholes(&one, one.offset, 1, 1, &value);
    return value;
}

void store_real(Core *core, double value, const View *view, const int64_t *index) {
    View one = element(core, view, index, false);
    float narrow = (float)value;
    write_reals(&one, one.offset, 1, 1, &narrow);
}

void store_whole(Core *core, int64_t value, const View *view, const int64_t *index) {
    View one = element(core, view, index, false);
    write_wholes(&one, one.offset, 1, 1, &value);
}
