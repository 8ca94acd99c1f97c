// Honest uses of the standard library, as kernels have them.
#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cassert>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

struct TooLong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

float median(std::span<const float> values) {
    std::vector<float> copy(values.begin(), values.end());
    std::nth_element(copy.begin(), copy.begin() + copy.size() / 2, copy.end());
    return copy.at(copy.size() / 2);
}

template <class Visit>
void each(std::span<const float> values, Visit&& visit) {
    for (std::size_t i = 0; i < values.size(); ++i) visit(i, values[i]);
}

int64_t number(const std::string& text) {
    if (text.empty()) throw std::invalid_argument("empty: " + text);
    return std::count(text.begin(), text.end(), 'x') + static_cast<int64_t>(text.find("ab"));
}

}  // namespace

extern "C" void order(const float* x, float* y, int64_t* index, int64_t n) {
    std::vector<int64_t> places(n);
    std::iota(places.begin(), places.end(), 0);
    std::sort(places.begin(), places.end(), [x](int64_t a, int64_t b) { return x[a] > x[b]; });
    std::stable_sort(places.begin(), places.end(), [x](int64_t a, int64_t b) { return x[a] < x[b]; });
    std::partial_sort(places.begin(), places.begin() + n / 2, places.end(), std::greater<int64_t>{});
    std::priority_queue<std::pair<float, int64_t>> heap;
    for (int64_t i = 0; i < n; ++i) heap.emplace(x[i], i);
    for (int64_t i = 0; i < n; ++i, heap.pop()) index[i] = heap.top().second + places[i];
    y[0] = median({x, static_cast<std::size_t>(n)});
    y[1] = std::accumulate(x, x + n, 0.0f) + std::inner_product(x, x + n, x, 0.0f);
    std::inclusive_scan(x, x + n, y);
    y[2] = *std::lower_bound(y, y + n, 0.5f) + std::reduce(x, x + n) + *std::max_element(x, x + n);
    std::rotate(y, y + n / 2, y + n);
    std::make_heap(y, y + n);
}

extern "C" void scratch(const float* x, float* y, int64_t n) {
    const std::unique_ptr<float[], Free> aligned(
        static_cast<float*>(std::aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64)));
    const auto zeros = std::make_unique<float[]>(n);
    const std::unique_ptr<float, decltype(&std::free)> plain(
        static_cast<float*>(std::calloc(n, sizeof(float))), &std::free);
    void* other = nullptr;
    if (!aligned || posix_memalign(&other, 64, n * sizeof(float))) throw std::bad_alloc();
    auto* wide = new (std::align_val_t{64}) double[n];
    auto* maybe = new (std::nothrow) float[n];
    std::memcpy(aligned.get(), x, n * sizeof(float));
    std::memmove(other, x, n * sizeof(float));
    std::memset(zeros.get(), 0, n * sizeof(float));
    if (std::memcmp(x, other, n * sizeof(float)) != 0 && maybe) maybe[0] = 1.0f;
    for (int64_t i = 0; i < n; ++i) wide[i] = aligned[i] + zeros[i] + plain.get()[i];
    std::transform(wide, wide + n, y, [](double value) { return static_cast<float>(value); });
    operator delete[](wide, std::align_val_t{64});
    delete[] maybe;
    std::free(std::realloc(other, n));
}

extern "C" void numbers(const float* x, float* y, const uint32_t* bits, int64_t n) {
    std::array<double, 8> sums{};
    std::complex<float> single(1.0f, 0.0f);
    std::complex<double> twice(1.0, 0.5);
    for (int64_t i = 0; i < n; ++i) {
        single *= std::polar(1.0f, x[i]);
        twice = twice / std::exp(std::complex<double>(x[i], 1.0)) + std::sqrt(twice) + std::log(twice);
        sums[i % 8] += std::popcount(bits[i]) + std::countl_zero(bits[i]) + std::bit_width(bits[i]);
        y[i] = std::bit_cast<float>(bits[i]) + std::midpoint(x[i], y[i]) + std::lerp(x[i], y[i], 0.5f);
        y[i] += std::gcd(bits[i], 12u) + std::clamp(x[i], -1.0f, 1.0f);
    }
    y[0] += std::abs(single) + static_cast<float>(std::arg(twice)) + std::norm(single);
    y[1] += std::pow(single, 2.5f).real() + std::sin(single).imag() + std::tanh(twice).real();
    y[2] += sums.at(n % 9);
    each({x, static_cast<std::size_t>(n)}, [y](std::size_t i, float value) { y[i] += value; });
}

extern "C" void maths(const float* x, float* y, const double* a, double* b, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        int power = 0;
        float whole = 0;
        y[i] = std::exp(x[i]) + std::exp2(x[i]) + std::expm1(x[i]) + std::log(x[i]) + std::log2(x[i]) +
               std::log10(x[i]) + std::log1p(x[i]) + std::sin(x[i]) + std::cos(x[i]) + std::tan(x[i]) +
               std::asin(x[i]) + std::acos(x[i]) + std::atan(x[i]) + std::sinh(x[i]) + std::cosh(x[i]) +
               std::tanh(x[i]) + std::asinh(x[i]) + std::acosh(x[i]) + std::atanh(x[i]) + std::erf(x[i]) +
               std::erfc(x[i]) + std::tgamma(x[i]) + std::lgamma(x[i]) + std::cbrt(x[i]) +
               std::pow(x[i], y[i]) + std::atan2(x[i], y[i]) + std::hypot(x[i], y[i]) +
               std::fmod(x[i], 3.0f) + std::remainder(x[i], 3.0f) + std::fma(x[i], y[i], 1.0f) +
               std::frexp(x[i], &power) + std::ldexp(x[i], power) + std::modf(x[i], &whole) +
               std::logb(x[i]) + std::nextafter(x[i], 1.0f) + std::fdim(x[i], y[i]) + std::round(x[i]) +
               std::nearbyint(x[i]) + std::rint(x[i]) + std::trunc(x[i]) + std::lround(x[i]) +
               std::llrint(x[i]) + std::scalbn(x[i], 3) + std::ilogb(x[i]) + std::copysign(x[i], y[i]);
        b[i] = std::exp(a[i]) + std::exp2(a[i]) + std::expm1(a[i]) + std::log(a[i]) + std::log2(a[i]) +
               std::log10(a[i]) + std::log1p(a[i]) + std::sin(a[i]) + std::cos(a[i]) + std::tan(a[i]) +
               std::asin(a[i]) + std::acos(a[i]) + std::atan(a[i]) + std::sinh(a[i]) + std::cosh(a[i]) +
               std::tanh(a[i]) + std::asinh(a[i]) + std::acosh(a[i]) + std::atanh(a[i]) + std::erf(a[i]) +
               std::erfc(a[i]) + std::tgamma(a[i]) + std::lgamma(a[i]) + std::cbrt(a[i]) +
               std::pow(a[i], b[i]) + std::atan2(a[i], b[i]) + std::hypot(a[i], b[i]) +
               std::fmod(a[i], 3.0) + std::remainder(a[i], 3.0) + std::round(a[i]) + std::sqrt(a[i]);
    }
}

extern "C" int64_t containers(const int64_t* keys, const float* x, float* y, int64_t n) {
    std::map<int64_t, float> tree;
    std::set<int64_t> ordered;
    std::unordered_map<int64_t, std::vector<float>> table;
    std::unordered_set<int64_t> seen;
    std::deque<int64_t> window;
    std::list<float> list;
    std::vector<bool> mask(n);
    std::bitset<64> flags;
    std::optional<float> best;
    std::variant<float, int64_t> either = 1.0f;
    for (int64_t i = 0; i < n; ++i) {
        tree[keys[i]] += x[i];
        ordered.insert(keys[i]);
        table[keys[i]].push_back(x[i]);
        if (!seen.insert(keys[i]).second) tree.erase(keys[i]);
        window.push_back(i);
        if (window.size() > 3) window.pop_front();
        list.push_back(x[i]);
        mask[i] = x[i] > 0;
        flags.set(i % 64);
        if (!best || x[i] > *best) best = x[i], either = keys[i];
    }
    for (const auto& [key, value] : tree) y[key] = value;
    for (const auto& [key, values] : table) y[key] += values.back();
    return std::get<int64_t>(either) + static_cast<int64_t>(flags.count() + ordered.size()) + window[0];
}

extern "C" int checked(const float* x, int64_t n) noexcept {
    assert(n < 1 << 20);
    try {
        if (n > 1000) throw TooLong("too long: " + std::to_string(n));
        if (n < 0) throw std::out_of_range("negative");
        const std::string text(n, 'x');
        return static_cast<int>(number(text) + number(text.substr(1) + "ab"));
    } catch (const TooLong&) {
        return -1;
    } catch (const std::invalid_argument&) {
        return -2;
    } catch (const std::exception&) {
        return -3;
    } catch (...) {
        return -4;
    }
}
