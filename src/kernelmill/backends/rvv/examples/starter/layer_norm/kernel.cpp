// Layer normalisation of every row: mean, variance around it, then scale and shift.
#include <riscv_vector.h>

#include <cmath>

#include "kernelmill.h"

namespace {

using Floats = vfloat32m4_t;

float sum(Floats values) {
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0.0f, 1);
    return __riscv_vfmv_f(__riscv_vfredusum(values, zero, __riscv_vsetvlmax_e32m4()));
}

float mean_of(const float* x, int64_t count) {
    Floats sums = __riscv_vfmv_v_f_f32m4(0.0f, __riscv_vsetvlmax_e32m4());
    for (size_t vl, i = 0; i < size_t(count); i += vl) {
        vl = __riscv_vsetvl_e32m4(count - i);
        sums = __riscv_vfadd_tu(sums, sums, __riscv_vle32_v_f32m4(x + i, vl), vl);
    }
    return sum(sums) / float(count);
}

float variance_of(const float* x, int64_t count, float mean) {
    Floats sums = __riscv_vfmv_v_f_f32m4(0.0f, __riscv_vsetvlmax_e32m4());
    for (size_t vl, i = 0; i < size_t(count); i += vl) {
        vl = __riscv_vsetvl_e32m4(count - i);
        Floats d = __riscv_vfsub(__riscv_vle32_v_f32m4(x + i, vl), mean, vl);
        sums = __riscv_vfmacc_tu(sums, d, d, vl);
    }
    return sum(sums) / float(count);
}

}  // namespace

extern "C" void model_new(const Tensor* inputs, const Tensor* state, Tensor* outputs) {
    const int64_t rows = inputs[0].sizes[0], columns = inputs[0].sizes[1];
    const float* x = static_cast<const float*>(inputs[0].data);
    const float* weight = static_cast<const float*>(state[0].data);
    const float* bias = static_cast<const float*>(state[1].data);
    float* y = static_cast<float*>(outputs[0].data);
    for (int64_t row = 0; row < rows; row++, x += columns, y += columns) {
        const float mean = mean_of(x, columns);
        const float scale = 1.0f / std::sqrt(variance_of(x, columns, mean) + 1e-5f);
        for (size_t vl, i = 0; i < size_t(columns); i += vl) {
            vl = __riscv_vsetvl_e32m4(columns - i);
            Floats v = __riscv_vfsub(__riscv_vle32_v_f32m4(x + i, vl), mean, vl);
            v = __riscv_vfmul(v, scale, vl);
            v = __riscv_vfmadd(v, __riscv_vle32_v_f32m4(weight + i, vl),
                               __riscv_vle32_v_f32m4(bias + i, vl), vl);
            __riscv_vse32(y + i, v, vl);
        }
    }
}
