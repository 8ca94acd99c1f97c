// Honest uses of OpenMP, as kernels have them.
#include <omp.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

struct Best {
    float value = -std::numeric_limits<float>::infinity();
    int64_t place = -1;
};

#pragma omp declare reduction(best : Best : omp_out = omp_in.value > omp_out.value ? omp_in : omp_out)
#pragma omp declare reduction(+ : std::complex<double> : omp_out += omp_in) initializer(omp_priv = 0)

float tree_sum(const float* x, int64_t n) {
    if (n < 1024) {
        float total = 0;
        for (int64_t i = 0; i < n; ++i) total += x[i];
        return total;
    }
    float left = 0, right = 0;
#pragma omp task shared(left)
    left = tree_sum(x, n / 2);
#pragma omp task shared(right) if (n > 4096) final(n < 2048) mergeable
    right = tree_sum(x + n / 2, n - n / 2);
#pragma omp taskwait
    return left + right;
}

}  // namespace

#pragma omp declare simd notinbranch
static float scaled(float x) { return 0.5f * x; }

extern "C" void schedules(const float* x, float* y, int64_t n, uint64_t m) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) y[i] = x[i];
#pragma omp parallel for schedule(static, 4)
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
#pragma omp parallel for schedule(monotonic : dynamic)
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
#pragma omp parallel for schedule(guided) num_threads(2)
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
#pragma omp parallel for schedule(runtime)
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
#pragma omp parallel for schedule(auto) if (n > 64) proc_bind(close)
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
#pragma omp parallel for simd schedule(simd : static)
    for (int64_t i = 0; i < n; ++i) y[i] += scaled(x[i]);
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (uint64_t i = 0; i < m; ++i)
        for (uint64_t j = 0; j < m; ++j) y[i * m + j] += 1.0f;
#pragma omp parallel for collapse(2)
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i; j < n; ++j) y[i] += 1.0f;
#pragma omp parallel
    {
#pragma omp for schedule(guided) nowait
        for (uint64_t i = 0; i < m; ++i) y[i] += 1.0f;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n; ++i) y[i] += 1.0f;
#pragma omp for schedule(runtime)
        for (uint64_t i = 0; i < m; ++i) y[i] += 1.0f;
#pragma omp loop bind(parallel)
        for (int64_t i = 0; i < n; ++i) y[i] += 1.0f;
    }
}

extern "C" void reductions(const float* x, const int64_t* k, double* y, int64_t n) {
    float sum = 0, product = 1, low = x[0], high = x[0];
    int64_t all = -1, any = 0, odd = 0;
    bool both = true, one = false;
#pragma omp parallel for reduction(+ : sum) reduction(* : product) reduction(min : low) reduction(max : high) \
    reduction(& : all) reduction(| : any) reduction(^ : odd) reduction(&& : both) reduction(|| : one)
    for (int64_t i = 0; i < n; ++i) {
        sum += x[i];
        product *= x[i];
        low = std::min(low, x[i]);
        high = std::max(high, x[i]);
        all &= k[i];
        any |= k[i];
        odd ^= k[i];
        both = both && x[i] > 0;
        one = one || x[i] < 0;
    }
    Best best;
#pragma omp parallel for reduction(best : best)
    for (int64_t i = 0; i < n; ++i)
        if (x[i] > best.value) best = {x[i], i};
    std::complex<double> rotation = 0;
#pragma omp parallel for reduction(+ : rotation) schedule(dynamic)
    for (int64_t i = 0; i < n; ++i) rotation += std::complex<double>(x[i], 1.0);
#pragma omp parallel for reduction(+ : y[ : 4])
    for (int64_t i = 0; i < n; ++i) y[i % 4] += x[i];
    double running = 0;
#pragma omp parallel for simd reduction(inscan, + : running)
    for (int64_t i = 0; i < n; ++i) {
        running += x[i];
#pragma omp scan inclusive(running)
        y[i] = running;
    }
    double by_tasks = 0;
#pragma omp parallel reduction(task, + : by_tasks)
#pragma omp single
    for (int64_t i = 0; i < n; ++i)
#pragma omp task in_reduction(+ : by_tasks)
        by_tasks += x[i];
    y[0] = sum + product + low + high + both + one + rotation.real() + by_tasks;
    y[1] = static_cast<double>(all + any + odd + best.place);
}

extern "C" void together(const float* x, float* y, int64_t n) {
    float total = 0;
    double largest = 0;
    std::complex<double> both = 0;
    std::vector<float> partial(omp_get_max_threads());
#pragma omp parallel shared(total)
    {
        float mine = 0;
#pragma omp for nowait
        for (int64_t i = 0; i < n; ++i) mine += x[i];
#pragma omp critical
        total += mine;
#pragma omp critical(largest)
        largest = std::max<double>(largest, mine);
#pragma omp atomic
        y[0] += mine;
#pragma omp atomic capture
        mine = y[1]++;
        {
#pragma omp critical
            both += mine;
        }
        partial[omp_get_thread_num()] = mine * omp_get_num_threads();
#pragma omp barrier
#pragma omp single copyprivate(mine)
        mine = total;
#pragma omp single
        y[2] = total;
#pragma omp master
        y[3] = mine;
#pragma omp masked
        y[4] = mine;
#pragma omp flush
    }
#pragma omp parallel for ordered schedule(static, 1)
    for (int64_t i = 0; i < n; ++i) {
#pragma omp ordered
        y[i] += y[i > 0 ? i - 1 : 0];
    }
#pragma omp parallel for ordered schedule(dynamic)
    for (int64_t i = 0; i < n; ++i) {
#pragma omp ordered
        y[i] += y[i > 0 ? i - 1 : 0];
    }
#pragma omp parallel for ordered(1)
    for (int64_t i = 1; i < n; ++i) {
#pragma omp ordered depend(sink : i - 1)
        y[i] += y[i - 1];
#pragma omp ordered depend(source)
    }
#pragma omp parallel sections reduction(+ : total)
    {
#pragma omp section
        total += x[0];
#pragma omp section
        total += x[1];
    }
#pragma omp parallel
#pragma omp sections nowait
    {
#pragma omp section
        y[0] = total;
#pragma omp section
        y[1] = total;
    }
}

extern "C" void tasks(const float* x, float* y, int64_t n) {
    float total = 0;
#pragma omp parallel
#pragma omp single nowait
    {
        total = tree_sum(x, n);
#pragma omp taskloop grainsize(16) reduction(+ : total)
        for (int64_t i = 0; i < n; ++i) total += y[i] = 2 * x[i];
#pragma omp taskloop simd num_tasks(4)
        for (uint64_t i = 0; i < uint64_t(n); ++i) y[i] += x[i];
#pragma omp taskgroup task_reduction(+ : total)
        {
#pragma omp task in_reduction(+ : total) depend(out : y[0]) priority(1)
            total += y[0] = x[0];
#pragma omp task in_reduction(+ : total) depend(in : y[0])
            total += y[0];
        }
#pragma omp taskyield
#pragma omp taskwait depend(in : y[0])
    }
    y[0] = total;
    for (int step = 0; step < 3; ++step) {
#pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) {
            if (y[i] != y[i]) {
#pragma omp cancel for
            }
#pragma omp cancellation point for
            y[i] += x[i];
        }
    }
#pragma omp teams num_teams(2)
#pragma omp distribute parallel for
    for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

extern "C" void simd(const float* x, float* y, int64_t n) {
    float total = 0;
#pragma omp simd reduction(+ : total) aligned(x : 64) simdlen(8) safelen(16)
    for (int64_t i = 0; i < n; ++i) total += x[i];
#pragma omp simd linear(x : 1) collapse(1)
    for (int64_t i = 0; i < n; ++i) y[i] = scaled(x[i]) + total;
}
