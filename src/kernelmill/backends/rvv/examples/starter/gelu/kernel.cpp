// GELU in its tanh form, as x / (1 + e^(-2u)): one exponential and one division an element.
#include <riscv_vector.h>

#include "kernelmill.h"

namespace {

using Floats = vfloat32m4_t;

// e^x: 2^n * e^r with |r| <= ln(2)/2, and a polynomial for e^r. Limited to what a float can hold.
inline Floats exponential(Floats x, size_t vl) {
    x = __riscv_vfmin(__riscv_vfmax(x, -87.0f, vl), 88.0f, vl);
    vint32m4_t n = __riscv_vfcvt_x(__riscv_vfmul(x, 1.44269504f, vl), vl);
    Floats whole = __riscv_vfcvt_f(n, vl);
    Floats r = __riscv_vfnmsac(x, 0.693359375f, whole, vl);
    r = __riscv_vfnmsac(r, -2.12194440e-4f, whole, vl);
    Floats p = __riscv_vfmv_v_f_f32m4(1.3981999507e-3f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 8.3334519073e-3f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 4.1665795894e-2f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 1.6666665459e-1f, vl);
    p = __riscv_vfadd(__riscv_vfmul(p, r, vl), 5.0000001201e-1f, vl);
    p = __riscv_vfmadd(p, __riscv_vfmul(r, r, vl), __riscv_vfadd(r, 1.0f, vl), vl);
    vint32m4_t scale = __riscv_vsll(__riscv_vadd(n, 127, vl), 23, vl);
    return __riscv_vfmul(p, __riscv_vreinterpret_f32m4(scale), vl);
}

}  // namespace

extern "C" void model_new(const Tensor* inputs, const Tensor*, Tensor* outputs) {
    const float* x = static_cast<const float*>(inputs[0].data);
    float* y = static_cast<float*>(outputs[0].data);
    int64_t left = 1;
    for (int64_t d = 0; d < inputs[0].rank; d++) left *= inputs[0].sizes[d];
    for (size_t vl; left > 0; left -= vl, x += vl, y += vl) {
        vl = __riscv_vsetvl_e32m4(left);
        Floats v = __riscv_vle32_v_f32m4(x, vl);
        // -2u = -2 sqrt(2/pi) x (1 + 0.044715 x^2)
        Floats u = __riscv_vfmul(__riscv_vfmul(v, v, vl), -0.0713548163f, vl);
        u = __riscv_vfmul(__riscv_vfadd(u, -1.5957691216f, vl), v, vl);
        Floats below = __riscv_vfadd(exponential(u, vl), 1.0f, vl);
        __riscv_vse32(y, __riscv_vfdiv(v, below, vl), vl);
    }
}
