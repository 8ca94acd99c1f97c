// Sum of the table rows that each bag names: a stretch of columns stays in registers over the bag.
#include <riscv_vector.h>

#include "kernelmill.h"

extern "C" void model_new(const Tensor* inputs, const Tensor* state, Tensor* outputs) {
    const int64_t bags = inputs[0].sizes[0], length = inputs[0].sizes[1];
    const int64_t features = state[0].sizes[1];
    const int64_t* indices = static_cast<const int64_t*>(inputs[0].data);
    const float* table = static_cast<const float*>(state[0].data);
    float* y = static_cast<float*>(outputs[0].data);
    for (int64_t bag = 0; bag < bags; bag++, indices += length, y += features) {
        for (size_t vl, f = 0; f < size_t(features); f += vl) {
            vl = __riscv_vsetvl_e32m8(features - f);
            vfloat32m8_t sums = __riscv_vfmv_v_f_f32m8(0.0f, vl);
            for (int64_t i = 0; i < length; i++) {
                const float* row = table + indices[i] * features + f;
                sums = __riscv_vfadd(sums, __riscv_vle32_v_f32m8(row, vl), vl);
            }
            __riscv_vse32(y + f, sums, vl);
        }
    }
}
