#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
typedef uint32_t uvec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));
constexpr int64_t lanes = sizeof(vec) / sizeof(float);
constexpr float infinity = std::numeric_limits<float>::infinity();

// Past the end of a row the lanes are -infinity: no maximum, and nothing after exp.
static inline vec load(const float* p, int64_t count = lanes) {
    vec v = vec{} - infinity;
    std::memcpy(&v, p, (count < lanes ? count : lanes) * sizeof(float));
    return v;
}

static inline vec max(vec a, vec b) { return a > b ? a : b; }

// exp for x <= 0: x = n ln2 + r, a polynomial in r, and n added to the exponent bits.
static inline vec exp_neg(vec x) {
    constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves n in the low bits
    const vec shifted = x * 1.44269504f + round;
    const vec n = shifted - round;
    const vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    vec p = 1.381461028e-3f * r + 8.368711147e-3f;
    p = p * r + 4.166838749e-2f;
    p = p * r + 1.666652068e-1f;
    p = p * r + 4.999999345e-1f;
    p = p * (r * r) + r + 1.0f;
    return x < -87.0f ? vec{} : vec(uvec(p) + (uvec(shifted) << 23));
}

static inline float row_max(const float* row, int64_t count) {
    // Four running maxima, so that one comparison need not wait for the last.
    vec m[4] = {load(row, 0), load(row, 0), load(row, 0), load(row, 0)};
    int64_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes)
        for (int j = 0; j < 4; ++j) m[j] = max(m[j], load(row + i + j * lanes));
    for (; i < count; i += lanes) m[0] = max(m[0], load(row + i, count - i));
    const vec all = max(max(m[0], m[1]), max(m[2], m[3]));
    float largest = all[0];
    for (int j = 1; j < lanes; ++j) largest = all[j] > largest ? all[j] : largest;
    return largest;
}

// The sum of exp(row - largest). This pass is bound by arithmetic and finds its row in cache, so it
// also asks for the next row.
static inline double row_sum_exp(const float* row, int64_t count, float largest) {
    vec s[2] = {};
    int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        for (int j = 0; j < 2; ++j) {
            __builtin_prefetch(row + count + i + j * lanes);
            s[j] += exp_neg(load(row + i + j * lanes) - largest);
        }
    }
    for (; i < count; i += lanes) s[0] += exp_neg(load(row + i, count - i) - largest);
    s[0] += s[1];
    double sum = 0.0;
    for (int j = 0; j < lanes; ++j) sum += s[0][j];
    return sum;
}

extern "C" void logsumexp_forward(const float* x, float* y, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; ++i) {
        const float* row = x + i * columns;
        const float largest = row_max(row, columns);
        // An infinite maximum is the answer already, and subtracting it would give NaN.
        y[i] = std::isinf(largest)
                   ? largest
                   : static_cast<float>(largest + std::log(row_sum_exp(row, columns, largest)));
    }
}
