// Softmax of every row. Three passes over a row: maximum, exponentials and their sum, division.
#include <riscv_vector.h>

#include <cmath>

#include "kernelmill.h"

namespace {

using Floats = vfloat32m4_t;

// e^x for x <= 0: 2^n * e^r with |r| <= ln(2)/2, and a polynomial for e^r. `vfmax` would lose NaN.
inline Floats exponential(Floats x, size_t vl) {
    x = __riscv_vfmerge(x, -87.0f, __riscv_vmflt(x, -87.0f, vl), vl);
    vint32m4_t n = __riscv_vfcvt_x(__riscv_vfmul(x, 1.44269504f, vl), vl);
    Floats whole = __riscv_vfcvt_f(n, vl);
    Floats r = __riscv_vfnmsac(x, 0.693359375f, whole, vl);
    r = __riscv_vfnmsac(r, -2.12194440e-4f, whole, vl);
    Floats p = __riscv_vfmv_v_f_f32m4(1.9875691500e-4f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 1.3981999507e-3f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 8.3334519073e-3f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 4.1665795894e-2f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 1.6666665459e-1f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 5.0000001201e-1f, vl);
    p = __riscv_vfmadd(p, __riscv_vfmul(r, r, vl), __riscv_vfadd(r, 1.0f, vl), vl);
    vint32m4_t scale = __riscv_vsll(__riscv_vadd(n, 127, vl), 23, vl);
    return __riscv_vfmul(p, __riscv_vreinterpret_f32m4(scale), vl);
}

void softmax_row(const float* x, float* y, int64_t columns) {
    const size_t all = __riscv_vsetvlmax_e32m4();
    Floats most = __riscv_vfmv_v_f_f32m4(-INFINITY, all);
    for (int64_t i = 0; i < columns;) {
        size_t vl = __riscv_vsetvl_e32m4(columns - i);
        most = __riscv_vfmax_tu(most, most, __riscv_vle32_v_f32m4(x + i, vl), vl);
        i += vl;
    }
    vfloat32m1_t edge = __riscv_vfmv_s_f_f32m1(-INFINITY, 1);
    float maximum = __riscv_vfmv_f(__riscv_vfredmax(most, edge, all));

    Floats sums = __riscv_vfmv_v_f_f32m4(0.0f, all);
    for (int64_t i = 0; i < columns;) {
        size_t vl = __riscv_vsetvl_e32m4(columns - i);
        Floats e = exponential(__riscv_vfsub(__riscv_vle32_v_f32m4(x + i, vl), maximum, vl), vl);
        __riscv_vse32(y + i, e, vl);
        sums = __riscv_vfadd_tu(sums, sums, e, vl);
        i += vl;
    }
    vfloat32m1_t zero = __riscv_vfmv_s_f_f32m1(0.0f, 1);
    float inverse = 1.0f / __riscv_vfmv_f(__riscv_vfredusum(sums, zero, all));

    for (int64_t i = 0; i < columns;) {
        size_t vl = __riscv_vsetvl_e32m8(columns - i);
        __riscv_vse32(y + i, __riscv_vfmul(__riscv_vle32_v_f32m8(y + i, vl), inverse, vl), vl);
        i += vl;
    }
}

}  // namespace

extern "C" void model_new(const Tensor* inputs, const Tensor*, Tensor* outputs) {
    const int64_t rows = inputs[0].sizes[0], columns = inputs[0].sizes[1];
    const float* x = static_cast<const float*>(inputs[0].data);
    float* y = static_cast<float*>(outputs[0].data);
    for (int64_t row = 0; row < rows; row++)
        softmax_row(x + row * columns, y + row * columns, columns);
}
