// Maximum over 3x3 windows with stride 2 and a border of one. Columns come in pairs by segment
// loads, which split even from odd at the price of a plain load. `vfmax` loses NaN: a strip that
// holds one is done again without vectors.
#include <riscv_vector.h>

#include <algorithm>
#include <cmath>

#include "kernelmill.h"

namespace {

struct Rows {
    const float* first;
    int64_t count, width;
};

float maximum(float a, float b) { return b > a || b != b ? b : a; }

float column(const Rows& rows, int64_t x) {
    float most = rows.first[x];
    for (int64_t r = 1; r < rows.count; r++) most = maximum(most, rows.first[r * rows.width + x]);
    return most;
}

// Pairs `j` to `end` with the odd column left of them; the last odd column is returned.
float pool_with_nan(const Rows& rows, float before, size_t j, size_t end, float* y) {
    for (; j < end; j++) {
        const float odd = column(rows, 2 * j + 1);
        y[j] = maximum(maximum(before, column(rows, 2 * j)), odd);
        before = odd;
    }
    return before;
}

void pool_row(const Rows& rows, float* y) {
    const int64_t pairs = rows.width / 2;
    float before = -INFINITY;  // the odd column left of the pairs at hand
    for (size_t vl, j = 0; j < size_t(pairs); j += vl) {
        vl = __riscv_vsetvl_e32m4(pairs - j);
        size_t nans = before != before;
        vfloat32m4_t even = __riscv_vfmv_v_f_f32m4(-INFINITY, vl), odd = even;
        for (int64_t r = 0; r < rows.count; r++) {
            vfloat32m4x2_t both =
                __riscv_vlseg2e32_v_f32m4x2(rows.first + r * rows.width + 2 * j, vl);
            vfloat32m4_t a = __riscv_vget_v_f32m4x2_f32m4(both, 0);
            vfloat32m4_t b = __riscv_vget_v_f32m4x2_f32m4(both, 1);
            vbool8_t nan = __riscv_vmor(__riscv_vmfne(a, a, vl), __riscv_vmfne(b, b, vl), vl);
            nans += __riscv_vcpop(nan, vl);
            even = __riscv_vfmax(even, a, vl);
            odd = __riscv_vfmax(odd, b, vl);
        }
        if (nans) {
            before = pool_with_nan(rows, before, j, j + vl, y);
            continue;
        }
        vfloat32m4_t left = __riscv_vfslide1up(odd, before, vl);
        __riscv_vse32(y + j, __riscv_vfmax(__riscv_vfmax(even, odd, vl), left, vl), vl);
        before = __riscv_vfmv_f(__riscv_vslidedown(odd, vl - 1, vl));
    }
    if (rows.width % 2) y[pairs] = maximum(before, column(rows, rows.width - 1));
}

}  // namespace

extern "C" void model_new(const Tensor* inputs, const Tensor*, Tensor* outputs) {
    const int64_t planes = inputs[0].sizes[0] * inputs[0].sizes[1];
    const int64_t height = inputs[0].sizes[2], width = inputs[0].sizes[3];
    const int64_t out_height = outputs[0].sizes[2], out_width = outputs[0].sizes[3];
    const float* x = static_cast<const float*>(inputs[0].data);
    float* y = static_cast<float*>(outputs[0].data);
    for (int64_t plane = 0; plane < planes; plane++, x += height * width)
        for (int64_t i = 0; i < out_height; i++, y += out_width) {
            const int64_t top = std::max<int64_t>(2 * i - 1, 0);
            const int64_t bottom = std::min<int64_t>(2 * i + 1, height - 1);
            pool_row({x + top * width, bottom - top + 1, width}, y);
        }
}
