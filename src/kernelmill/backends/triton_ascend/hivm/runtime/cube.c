/* Operations of a cube core: copies into its layout (NZ: columns of blocks of 16 rows), products
 * of tiles, and the way out. */
#include <stdlib.h>
#include <string.h>

#include "hivm.h"

#define BLOCK_BYTES 32 /* of the depth of a block */

typedef struct {
    int64_t columns, rows, height, width;
} Blocks;

static Blocks blocks_of(Core *core, const View *view) {
    demand_inside(core, view);
    if (view->rank != 4) fail(core, UNSUPPORTED, "blocks of rank %d", view->rank);
    return (Blocks){view->shape[0], view->shape[1], view->shape[2], view->shape[3]};
}

static int64_t place_in(const View *view, Blocks blocks, int64_t row, int64_t column) {
    return view->offset + column / blocks.width * view->strides[0] + row / blocks.height * view->strides[1] +
           row % blocks.height * view->strides[2] + column % blocks.width * view->strides[3];
}

static void demand_size(Core *core, Blocks blocks, int64_t rows, int64_t columns) {
    if (rows < 0 || columns < 0 || rows > blocks.rows * blocks.height || columns > blocks.columns * blocks.width)
        fail(core, OUT_OF_BOUNDS, "a %lld x %lld matrix in blocks for %lld x %lld", (long long)rows, (long long)columns,
             (long long)(blocks.rows * blocks.height), (long long)(blocks.columns * blocks.width));
}

void to_blocks(Core *core, const View *source, const View *target) {
    Blocks blocks = blocks_of(core, target);
    demand_inside(core, source);
    if (source->rank != 2) fail(core, UNSUPPORTED, "a matrix of rank %d", source->rank);
    demand_size(core, blocks, source->shape[0], source->shape[1]);
    for (int64_t row = 0; row < source->shape[0]; row++)
        for (int64_t column = 0; column < source->shape[1]; column += blocks.width) {
            int64_t left = source->shape[1] - column, count = left < blocks.width ? left : blocks.width;
            int64_t from = source->offset + row * source->strides[0] + column * source->strides[1];
            float part[64];
            read_reals(source, from, source->strides[1], count, part);
            write_reals(target, place_in(target, blocks, row, column), target->strides[3], count, part);
        }
    if (source->memory->global) core->bytes += bytes_of(source);
    copy_work(core, PIPE_MTE2, bytes_of(source), contiguous_runs(source));
}

/* The first rows and columns as a dense matrix; turned where it is stored transposed. */
static float *dense(Core *core, const View *view, int64_t rows, int64_t columns, bool turned) {
    Blocks blocks = blocks_of(core, view);
    int64_t height = turned ? columns : rows, width = turned ? rows : columns;
    demand_size(core, blocks, height, width);
    float *matrix = malloc(sizeof(float) * (size_t)(rows * columns + 1)), part[64];
    for (int64_t row = 0; row < height; row++)
        for (int64_t column = 0; column < width; column += blocks.width) {
            int64_t count = width - column < blocks.width ? width - column : blocks.width;
            read_reals(view, place_in(view, blocks, row, column), view->strides[3], count, part);
            for (int64_t i = 0; i < count; i++)
                matrix[turned ? (column + i) * columns + row : row * columns + column + i] = part[i];
        }
    return matrix;
}

/* The cube adds up the products of a block of its depth before it adds them to the accumulator. */
static void add_row(float *sums, const float *row, const float *right, int64_t depth, int64_t width, int64_t block) {
    float *partial = malloc((size_t)(width + 1) * sizeof(float));
    for (int64_t begin = 0; begin < depth; begin += block) {
        memset(partial, 0, (size_t)width * sizeof(float));
        for (int64_t j = begin; j < begin + block && j < depth; j++)
            for (int64_t c = 0; c < width; c++) partial[c] += row[j] * right[j * width + c];
        for (int64_t c = 0; c < width; c++) sums[c] += partial[c];
    }
    free(partial);
}

void multiply(Core *core, bool left_turned, bool right_turned, const View *left, const View *right, bool first,
              int64_t m, int64_t k, int64_t n, const View *target, int64_t wait_left, int64_t wait_right,
              int64_t set_left, int64_t set_right) {
    if (wait_left >= 0) wait_flag(core, PIPE_MTE2, PIPE_MTE1, wait_left);
    if (wait_right >= 0) wait_flag(core, PIPE_MTE2, PIPE_MTE1, wait_right);
    Blocks blocks = blocks_of(core, target);
    demand_size(core, blocks, m, n);
    float *a = dense(core, left, m, k, left_turned), *b = dense(core, right, k, n, right_turned);
    float *sums = first ? calloc((size_t)(m * n + 1), sizeof(float)) : dense(core, target, m, n, false);
    for (int64_t i = 0; i < m; i++) add_row(sums + i * n, a + i * k, b, k, n, BLOCK_BYTES / item_bytes(left->dtype));
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column += blocks.width) {
            int64_t count = n - column < blocks.width ? n - column : blocks.width;
            write_reals(target, place_in(target, blocks, row, column), target->strides[3], count, sums + row * n + column);
        }
    free(a), free(b), free(sums);
    cube_work(core, m, k, n, left->dtype, bytes_of(left) + bytes_of(right));
    if (set_left >= 0) set_flag(core, PIPE_MTE1, PIPE_MTE2, set_left);
    if (set_right >= 0) set_flag(core, PIPE_MTE1, PIPE_MTE2, set_right);
}

void write_out(Core *core, const View *source, const View *target) {
    demand_inside(core, target);
    if (target->rank != 2) fail(core, UNSUPPORTED, "a matrix of rank %d", target->rank);
    int64_t rows = target->shape[0], columns = target->shape[1];
    float *matrix = dense(core, source, rows, columns, false);
    for (int64_t row = 0; row < rows; row++)
        write_reals(target, target->offset + row * target->strides[0], target->strides[1], columns, matrix + row * columns);
    free(matrix);
    if (target->memory->global) core->bytes += bytes_of(target);
    copy_work(core, PIPE_FIX, bytes_of(target), contiguous_runs(target));
}
