#include <cstdint>
#include <cstring>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
typedef uint32_t uvec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);

// x = n ln2 + r, a polynomial in r, and n added to the exponent bits.
static inline vec exp(vec x) {
    constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves n in the low bits
    x = x < -87.0f ? vec{} - 87.0f : x;
    x = x > 88.0f ? vec{} + 88.0f : x;
    const vec shifted = x * 1.44269504f + round;
    const vec n = shifted - round;
    const vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    vec p = 1.381461028e-3f * r + 8.368711147e-3f;
    p = p * r + 4.166838749e-2f;
    p = p * r + 1.666652068e-1f;
    p = p * r + 4.999999345e-1f;
    p = p * (r * r) + r + 1.0f;
    return vec(uvec(p) + (uvec(shifted) << 23));
}

// x/2 (1 + tanh(u)) is x / (1 + exp(-2u)), which also keeps its accuracy where tanh nears -1.
static inline vec gelu(vec x) {
    constexpr float minus_two_sqrt_2_over_pi = -1.5957691216f;
    return x / (1.0f + exp(minus_two_sqrt_2_over_pi * (x + 0.044715f * (x * x * x))));
}

extern "C" void gelu_forward(const float* x, float* y, int64_t count) {
    const int64_t whole = count / lanes * lanes;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < whole; i += lanes) {
        vec v;
        std::memcpy(&v, x + i, sizeof v);
        v = gelu(v);
        std::memcpy(y + i, &v, sizeof v);
    }
    vec v{};
    std::memcpy(&v, x + whole, (count - whole) * sizeof(float));
    v = gelu(v);
    std::memcpy(y + whole, &v, (count - whole) * sizeof(float));
}
