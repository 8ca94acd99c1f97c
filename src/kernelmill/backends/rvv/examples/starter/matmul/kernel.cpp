// Matrix product: six rows by four registers of columns stay in registers over the whole sum.
#include <riscv_vector.h>

#include "kernelmill.h"

namespace {

using Floats = vfloat32m4_t;

struct Sizes {
    int64_t rows, depth, columns;
};

void tile_of_six(const float* a, const float* b, float* c, Sizes s, size_t vl) {
    const float *a0 = a, *a1 = a + s.depth, *a2 = a + 2 * s.depth;
    const float *a3 = a + 3 * s.depth, *a4 = a + 4 * s.depth, *a5 = a + 5 * s.depth;
    Floats c0 = __riscv_vfmv_v_f_f32m4(0.0f, vl), c1 = c0, c2 = c0, c3 = c0, c4 = c0, c5 = c0;
    for (int64_t k = 0; k < s.depth; k++, b += s.columns) {
        Floats row = __riscv_vle32_v_f32m4(b, vl);
        c0 = __riscv_vfmacc(c0, a0[k], row, vl);
        c1 = __riscv_vfmacc(c1, a1[k], row, vl);
        c2 = __riscv_vfmacc(c2, a2[k], row, vl);
        c3 = __riscv_vfmacc(c3, a3[k], row, vl);
        c4 = __riscv_vfmacc(c4, a4[k], row, vl);
        c5 = __riscv_vfmacc(c5, a5[k], row, vl);
    }
    __riscv_vse32(c, c0, vl);
    __riscv_vse32(c + s.columns, c1, vl);
    __riscv_vse32(c + 2 * s.columns, c2, vl);
    __riscv_vse32(c + 3 * s.columns, c3, vl);
    __riscv_vse32(c + 4 * s.columns, c4, vl);
    __riscv_vse32(c + 5 * s.columns, c5, vl);
}

void single_row(const float* a, const float* b, float* c, Sizes s, size_t vl) {
    Floats sums = __riscv_vfmv_v_f_f32m4(0.0f, vl);
    for (int64_t k = 0; k < s.depth; k++, b += s.columns)
        sums = __riscv_vfmacc(sums, a[k], __riscv_vle32_v_f32m4(b, vl), vl);
    __riscv_vse32(c, sums, vl);
}

}  // namespace

extern "C" void model_new(const Tensor* inputs, const Tensor*, Tensor* outputs) {
    const Sizes s{inputs[0].sizes[0], inputs[0].sizes[1], inputs[1].sizes[1]};
    const float* a = static_cast<const float*>(inputs[0].data);
    const float* b = static_cast<const float*>(inputs[1].data);
    float* c = static_cast<float*>(outputs[0].data);
    for (size_t vl, j = 0; j < size_t(s.columns); j += vl) {
        vl = __riscv_vsetvl_e32m4(s.columns - j);
        int64_t i = 0;
        for (; i + 6 <= s.rows; i += 6)
            tile_of_six(a + i * s.depth, b + j, c + i * s.columns + j, s, vl);
        for (; i < s.rows; i++)
            single_row(a + i * s.depth, b + j, c + i * s.columns + j, s, vl);
    }
}
