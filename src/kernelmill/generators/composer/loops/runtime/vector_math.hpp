// Elementwise math that GCC turns into AVX-512 code inside `#pragma omp simd` loops, and clang into
// RISC-V vector code.
//
// Include this file FIRST: the pragmas below hold for everything after them, and GCC does not
// inline a function across different pragmas (a std::max from a header included earlier stays a call).
// Every function is a branch-free scalar: both sides of a choice are computed, then one is selected.
#pragma once
#ifndef __clang__
#pragma GCC optimize("no-math-errno", "no-trapping-math")  // without: floor, trunc and sqrt stay scalar
#pragma GCC optimize("no-thread-jumps")                    // without: each select forks what follows it, up to 1.3x the work
#pragma GCC target("prefer-vector-width=512")              // without: 256-bit vectors
#endif

// GCC fixes at start-up that sqrt may write errno, whatever the pragma says later; redeclaring it as
// const takes that back.
extern "C" float __builtin_sqrtf(float) noexcept __attribute__((const));
extern "C" double __builtin_sqrt(double) noexcept __attribute__((const));

#define KM_FN [[gnu::always_inline]] inline

namespace km {

inline constexpr float inf = __builtin_inff();
inline constexpr float nan = __builtin_nanf("");

// ---------------------------------------------------------------- building blocks

KM_FN int bits(float x) { return __builtin_bit_cast(int, x); }
KM_FN long bits(double x) { return __builtin_bit_cast(long, x); }
KM_FN float from_bits(int i) { return __builtin_bit_cast(float, i); }
KM_FN double from_bits(long i) { return __builtin_bit_cast(double, i); }

KM_FN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KM_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
KM_FN float abs(float x) { return __builtin_fabsf(x); }
KM_FN double abs(double x) { return __builtin_fabs(x); }
KM_FN float copysign(float x, float s) { return __builtin_copysignf(x, s); }
KM_FN double copysign(double x, double s) { return __builtin_copysign(x, s); }

// c0 + c1 x + c2 x^2 + ...
template <class T> KM_FN T poly(T, T c0) { return c0; }
// KM_APART: a product and a sum instead of one instruction. A fused one needs its constant in a vector
// register, and long vectors leave few of those.
template <class T, class... C> KM_FN T poly(T x, T c0, C... higher) {
#ifdef KM_APART
#pragma clang fp contract(off)
    return poly(x, higher...) * x + c0;
#else
    return fma(poly(x, higher...), x, c0);
#endif
}

// Written as "x unless beyond": a NaN compares false and passes through, as in torch.clamp.
template <class T> KM_FN T clamp(T x, T low, T high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

// The cheap forms of it: GCC spends four comparisons on a two-sided clamp.
template <class T> KM_FN T at_most(T x, T high) { return x > high ? high : x; }
template <class T> KM_FN T at_least(T x, T low) { return x < low ? low : x; }
template <class T> KM_FN T limit(T x, T size) { return abs(x) > size ? copysign(size, x) : x; }

// ---------------------------------------------------------------- rounding, sign, comparison

KM_FN float floor(float x) { return __builtin_floorf(x); }
KM_FN double floor(double x) { return __builtin_floor(x); }
KM_FN float ceil(float x) { return __builtin_ceilf(x); }
KM_FN double ceil(double x) { return __builtin_ceil(x); }
KM_FN float trunc(float x) { return __builtin_truncf(x); }
KM_FN double trunc(double x) { return __builtin_trunc(x); }
KM_FN float round(float x) { return __builtin_rintf(x); }  // half to even; roundeven would not vectorise
KM_FN double round(double x) { return __builtin_rint(x); }
KM_FN float sqrt(float x) { return __builtin_sqrtf(x); }
KM_FN double sqrt(double x) { return __builtin_sqrt(x); }

template <class T> KM_FN T reciprocal(T x) { return T(1) / x; }
template <class T> KM_FN T rsqrt(T x) { return T(1) / sqrt(x); }
template <class T> KM_FN bool isnan(T x) { return x != x; }
template <class T> KM_FN bool isinf(T x) { return abs(x) == T(inf); }
template <class T> KM_FN T sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0); }
// Elementwise only: inside `reduction(max:m)` a NaN corrupts the lanes' result; reduce with x > m ? x : m
// and collect NaNs in a separate reduction(|:...).
template <class T> KM_FN T minimum(T a, T b) { return (a < b) | (a != a) ? a : b; }
template <class T> KM_FN T maximum(T a, T b) { return (a > b) | (a != a) ? a : b; }
template <class T> KM_FN T relu(T x) { return x < T(0) ? T(0) : x; }

// Exact while |x / y| < 2^53, NaN beyond: the double quotient is off by at most one, and always upwards.
KM_FN float fmod(float x, float y) {
    double size = abs(x), step = abs(y), quotient = size / step;
    double rest = fma(-trunc(quotient), step, size);
    rest = rest < 0.0 ? rest + step : rest;
    rest = quotient < 0x1p53 ? rest : double(nan);
    return copysign(size < step ? abs(x) : float(rest), x);
}

KM_FN float remainder(float x, float y) {  // takes the sign of y, as in Python
    float rest = fmod(x, y);
    return (rest != 0.0f) & ((rest < 0.0f) != (y < 0.0f)) ? rest + y : rest;
}

// ---------------------------------------------------------------- exponentials

inline constexpr float log2_e = 1.44269504f, ln2_high = 0.693147182f, ln2_low = -1.90465421e-9f;

// Adding 1.5 * 2^23 rounds a small float to an integer n and leaves n in the low bits.
inline constexpr float round_magic = 0x1.8p23f;

// p * 2^n, for n held as n + round_magic + 254. In two factors, so that neither overflows where the
// product does not, and denormal results come out right; the 254 is the exponent bias of both.
KM_FN float times_two_to(float p, float shifted_n) {
    int first = bits(shifted_n) >> 1, second = bits(shifted_n) - first;
    return p * from_bits(first << 23) * from_bits(second << 23);
}

// 2^n, for n held as n + round_magic + 127, -127 < n < 128.
KM_FN float two_to(float shifted_n) { return from_bits(bits(shifted_n) << 23); }

// (e^r - 1 - r) / r^2 for |r| <= ln2 / 2
KM_FN float exp_tail(float r) { return poly(r, 0.5f, 0.166665182f, 0.041666206f, 0.00836890284f, 0.0013950516f); }

// 2^r for |r| <= 1/2
KM_FN float exp2_near_zero(float r) {
    return poly(r, 1.0f, 0.693147182f, 0.240226507f, 0.0555032529f, 0.00961809698f, 0.0013401265f, 0.000154454014f);
}

struct Reduced { float r, shifted_n; };  // x = r + n ln2, |r| <= ln2 / 2, shifted_n = n + magic

KM_FN Reduced reduce_exp(float x, float magic) {
    float shifted_n = fma(x, log2_e, magic), n = shifted_n - magic;
    return {fma(n, -ln2_low, fma(n, -ln2_high, x)), shifted_n};
}

// e^x * 2^shift: cosh and sinh need e^x / 2 where e^x itself overflows.
KM_FN float exp_shifted(float x, float shift) {
    auto [r, shifted_n] = reduce_exp(limit(x, 105.0f), round_magic + 254.0f + shift);
    return times_two_to(fma(fma(exp_tail(r), r, 1.0f), r, 1.0f), shifted_n);
}

KM_FN float exp(float x) { return exp_shifted(x, 0.0f); }

KM_FN float exp2(float x) {
    x = limit(x, 152.0f);
    float magic = round_magic + 254.0f, shifted_n = x + magic;
    return times_two_to(exp2_near_zero(x - (shifted_n - magic)), shifted_n);
}

// e^x for x <= 0, within 2 ulp; below -87 (about 2^-126) it is 0, NaN stays NaN.
KM_FN float exp_nonpositive(float x) {
    auto [r, shifted_n] = reduce_exp(x, round_magic + 127.0f);
    float near_one = poly(r, 1.0f, 0.999999702f, 0.499991477f, 0.166676387f, 0.0418981612f, 0.00829027221f);
    return x < -87.0f ? 0.0f : near_one * two_to(shifted_n);  // cheaper than a clamp: the product takes a mask
}

// The cheaper forms for results that neither overflow nor are denormal.
KM_FN float exp2_moderate(float x) {
    float magic = round_magic + 127.0f, shifted_n = x + magic;
    return exp2_near_zero(x - (shifted_n - magic)) * two_to(shifted_n);
}

KM_FN float expm1_moderate(float x) {
    auto [r, shifted_n] = reduce_exp(x, round_magic + 127.0f);
    float scale = two_to(shifted_n);
    return fma(scale, fma(r * r, exp_tail(r), r), scale - 1.0f);
}

KM_FN float expm1(float x) {
    float magic = round_magic + 126.0f;  // makes it 2^n / 2, which never overflows
    float y = at_least(x, -26.0f);
    float shifted_n = at_most(fma(y, log2_e, magic), magic + 128.0f), n = shifted_n - magic;
    float r = fma(n, -ln2_low, fma(n, -ln2_high, y));
    float half_scale = two_to(shifted_n);
    float half = fma(half_scale, fma(r * r, exp_tail(r), r), half_scale - 0.5f);
    return abs(x) < 0x1p-25f ? x : half + half;  // keeps -0 and denormals
}

KM_FN float tanh(float x) {
    float a = abs(x), z = a * a;
    float small = fma(a * z, poly(z, -0.333332807f, 0.133314416f, -0.0537397154f, 0.020639088f, -0.00570498826f), a);
    float large = 1.0f - 2.0f / (exp2_moderate(2.0f * log2_e * at_most(a, 10.0f)) + 1.0f);
    return copysign(a < 0.625f ? small : large, x);
}

KM_FN float sinh(float x) {
    float a = abs(x), z = a * a;
    float small = fma(a * z, poly(z, 0.166666672f, 0.0083333496f, 0.000198361595f, 2.81695134e-06f), a);
    float half_exp = exp_shifted(a, -1.0f);
    return copysign(a < 1.0f ? small : half_exp - 0.25f / half_exp, x);
}

KM_FN float cosh(float x) {
    float half_exp = exp_shifted(abs(x), -1.0f);
    return half_exp + 0.25f / half_exp;
}

// ---------------------------------------------------------------- logarithms

struct Parts { float fraction, exponent; };  // x = (1 + fraction) * 2^exponent, sqrt(1/2) <= 1 + fraction < sqrt(2)

inline constexpr int sqrt_half_bits = 0x3f3504f3, exponent_mask = 0xff800000;

KM_FN Parts split(float x) {  // positive and finite
    bool tiny = x < 0x1p-126f;
    int i = bits(x * (tiny ? 0x1p25f : 1.0f)), above = i - sqrt_half_bits;
    return {from_bits(i - (above & exponent_mask)) - 1.0f, float(above >> 23) - (tiny ? 25.0f : 0.0f)};
}

KM_FN float log_of(Parts x) {
    float f = x.fraction, z = f * f;
    // (log(1 + f) - f) / f^2
    float p = poly(f, -0.5f, 0.333333313f, -0.250008196f, 0.200012267f, -0.166233569f, 0.142017558f, -0.13160184f, 0.127615958f,
                   -0.0763451457f);
    float small_terms = fma(z, p, x.exponent * ln2_low);
    return fma(x.exponent, ln2_high, f + small_terms);
}

// What a logarithm is outside 0 < x < inf.
KM_FN float log_or_special(float x, float log) {
    log = x < inf ? log : x;
    log = x == 0.0f ? -inf : log;
    return x < 0.0f ? nan : log;
}

KM_FN float log(float x) { return log_or_special(x, log_of(split(x))); }

KM_FN float log2(float x) {
    constexpr float log2_e_low = 1.92596303e-8f;
    Parts s = split(x);
    float f = s.fraction, z = f * f;
    // (log2(1 + f) - log2_e * f) / f^2
    float p = poly(f, -0.5f * log2_e, 0.480898321f, -0.360685617f, 0.288556695f, -0.23982434f, 0.204888016f, -0.189861327f, 0.184110925f,
                   -0.11014276f);
    float small_terms = fma(z, p, f * log2_e_low);
    return log_or_special(x, s.exponent + fma(f, log2_e, small_terms));
}

// For finite x > -1. The rounded 1 + x only picks the power of two; the fraction comes from x itself.
KM_FN float log1p_finite(float x) {
    int above = bits(1.0f + x) - sqrt_half_bits;
    float four_scale = from_bits(bits(4.0f) - (above & exponent_mask));  // 4 * 2^-n: 2^-n alone may be denormal
    float fraction = fma(0.25f * x, four_scale, fma(0.25f, four_scale, -1.0f));
    float log = log_of({fraction, float(above >> 23)});
    return abs(x) < 0x1p-25f ? x : log;
}

KM_FN float log1p(float x) {
    float log = x < inf ? log1p_finite(x) : x;
    return x > -1.0f ? log : x == -1.0f ? -inf : nan;
}

// The exponent y * log2|x| must be right to 2^-26 where it is as large as 150: more than a float holds.
KM_FN float pow(float x, float y) {
    float a = abs(x);
    Parts s = split(a);
    float exponent = a == 0.0f ? -inf : a < inf ? s.exponent : a;
    double f = s.fraction;
    double log2_a = fma(f, poly(f, 1.4426950408687076, -0.72134752086876841, 0.48089836139467435, -0.36067367482576251,
                                0.28853729351324442, -0.24045316565402403, 0.20617535856280161, -0.18030060039864224,
                                0.15876981082448277, -0.14315647145329929, 0.14474841198880714, -0.14283926773052075,
                                0.077370364204974937), double(exponent));
    double t = limit(limit(y, 1e30f) * log2_a, 160.0);  // y finite: 0 * inf would make 1^inf NaN
    double n = round(t);
    float r = float(t - n);
    float power = times_two_to(exp2_near_zero(r), float(n) + (round_magic + 254.0f));

    bool whole = trunc(y) == y, odd = whole & (trunc(0.5f * y) != 0.5f * y);
    power = odd ? copysign(power, x) : power;
    power = (x < 0.0f) & (a < inf) & !whole ? nan : power;
    return (y == 0.0f) | (x == 1.0f) ? 1.0f : power;
}

// ---------------------------------------------------------------- error function

// erfc(a) = e^(a Q(a)) with a smooth Q, so one polynomial serves all of 0 <= a <= 4; beyond, erf is 1.
KM_FN float erf(float x) {
    float a = at_most(abs(x), 4.0f);
    // 2 / sqrt(pi) is needed beyond float precision near 0: its rest opens the polynomial
    float rest = poly(a, 5.86353834e-8f, -0.636619389f, -0.102777831f, 0.0191530678f, 0.000160388139f, -0.00166701828f, 0.000632831128f,
                    -0.000117639494f, 9.25604854e-06f);
    return copysign(-expm1_moderate(fma(a, -1.12837923f, a * rest)), x);
}

// ---------------------------------------------------------------- trigonometry

struct Angle { float r; int quarter; };  // x = r + quarter * pi / 2, |r| <= pi / 4

inline constexpr float largest_angle = 0x1p44f;  // beyond, the double reduction runs out of bits: NaN

KM_FN Angle reduce(float x) {
    constexpr double two_over_pi = 0.63661977236758134, half_pi = 1.5707963267948966, half_pi_low = 6.123233995736766e-17;
    constexpr double magic = 0x1.8p52;  // as round_magic, for double
    double wide = abs(x) < largest_angle ? x : nan;
    double shifted_n = fma(wide, two_over_pi, magic), n = shifted_n - magic;
    return {float(fma(n, -half_pi_low, fma(n, -half_pi, wide))), int(bits(shifted_n))};
}

KM_FN float sin_near_zero(float r) {
    float z = r * r;
    return fma(r * z, poly(z, -0.166666552f, 0.008332178f, -0.000195172179f), r);
}

KM_FN float cos_near_zero(float r) {
    float z = r * r;
    return fma(z * z, poly(z, 0.0416666456f, -0.00138873665f, 2.44383591e-05f), fma(z, -0.5f, 1.0f));
}

KM_FN float sin_of(Angle a) {
    float s = a.quarter & 1 ? cos_near_zero(a.r) : sin_near_zero(a.r);
    return from_bits(bits(s) ^ (a.quarter & 2) << 30);  // two quarters turn the sign
}

KM_FN float sin(float x) { return x == 0.0f ? x : sin_of(reduce(x)); }

KM_FN float cos(float x) {
    Angle a = reduce(x);
    return sin_of({a.r, a.quarter + 1});
}

KM_FN float tan(float x) {
    Angle a = reduce(x);
    float z = a.r * a.r;
    float p = poly(z, 0.333333492f, 0.13332662f, 0.0540600643f, 0.0212813951f, 0.0108379209f, 8.67982744e-05f, 0.00437765662f);
    float t = fma(a.r * z, p, a.r);
    return x == 0.0f ? x : a.quarter & 1 ? -1.0f / t : t;
}

inline constexpr float pi_high = 3.14159274f, pi_low = -8.74227766e-8f;

KM_FN float atan(float x) {
    float a = abs(x);
    bool steep = a > 1.0f;
    float t = steep ? 1.0f / a : a, z = t * t;
    float p = poly(z, -0.333332986f, 0.199985489f, -0.142642424f, 0.109521858f, -0.08403451f, 0.0579576083f, -0.0311778616f,
                   0.0109146144f, -0.00179362379f);
    float angle = fma(t * z, p, t);
    return copysign(steep ? 0.5f * pi_high - (angle - 0.5f * pi_low) : angle, x);
}

// (asin(t) - t) / t^3 as a function of t^2, t <= 0.55
KM_FN float asin_tail(float z) {
    return poly(z, 0.166666403f, 0.0750160515f, 0.0443146452f, 0.0334171988f, 0.00866199192f, 0.0451940335f);
}

KM_FN float asin(float x) {
    float a = abs(x);
    bool large = a > 0.55f;  // then asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)); from 0.541 on that angle is below 1
    float z = large ? fma(a, -0.5f, 0.5f) : a * a;
    float t = large ? sqrt(z) : a;
    float angle = fma(t * z, asin_tail(z), t);
    return copysign(large ? 0.5f * pi_high - fma(2.0f, angle, -0.5f * pi_low) : angle, x);
}

KM_FN float acos(float x) {
    float a = abs(x);
    bool large = a > 0.55f;
    float z = large ? fma(a, -0.5f, 0.5f) : a * a;
    float t = large ? sqrt(z) : a;
    float angle = fma(t * z, asin_tail(z), t);
    float near_end = x < 0.0f ? pi_high - fma(2.0f, angle, -pi_low) : 2.0f * angle;
    return large ? near_end : 0.5f * pi_high - (copysign(angle, x) - 0.5f * pi_low);
}

// ---------------------------------------------------------------- double

KM_FN double times_two_to(double p, double shifted_n) {
    long first = bits(shifted_n) >> 1, second = bits(shifted_n) - first;
    return p * from_bits(first << 52) * from_bits(second << 52);
}

inline constexpr double log2_e_d = 1.4426950408889634, ln2_high_d = 0.69314718055994529, ln2_low_d = 2.3190468138462996e-17;

KM_FN double exp_tail(double r) {
    return poly(r, 0.5, 0.16666666666666685, 0.041666666666666727, 0.0083333333333167146, 0.0013888888888858501,
                0.00019841269897121475, 2.480158737361776e-05, 2.7557234173230248e-06, 2.7557233467783644e-07,
                2.5112262343575626e-08, 2.0926909748680689e-09);
}

KM_FN double exp(double x) {
    x = limit(x, 746.0);
    double magic = 0x1.8p52 + 2046.0;
    double shifted_n = fma(x, log2_e_d, magic), n = shifted_n - magic;
    double r = fma(n, -ln2_low_d, fma(n, -ln2_high_d, x));
    return times_two_to(fma(fma(exp_tail(r), r, 1.0), r, 1.0), shifted_n);
}

KM_FN double exp_nonpositive(double x) { return exp(x); }

KM_FN double expm1(double x) {
    double y = at_least(x, -60.0);
    double magic = 0x1.8p52 + 1022.0;
    double shifted_n = at_most(fma(y, log2_e_d, magic), magic + 1024.0), n = shifted_n - magic;
    double r = fma(n, -ln2_low_d, fma(n, -ln2_high_d, y));
    double half_scale = from_bits(bits(shifted_n) << 52);
    double half = fma(half_scale, fma(r * r, exp_tail(r), r), half_scale - 0.5);
    return abs(x) < 0x1p-54 ? x : half + half;
}

KM_FN double tanh(double x) {
    double e = expm1(-2.0 * abs(x));
    return copysign(e / (e + 2.0), x);
}

KM_FN double log(double x) {
    bool tiny = x < 0x1p-1022;
    long i = bits(x * (tiny ? 0x1p54 : 1.0)), above = i - bits(0.70710678118654757);
    double exponent = double(above >> 52) - (tiny ? 54.0 : 0.0);
    double f = from_bits(i - (above & ~0L << 52)) - 1.0, z = f * f;
    double p = poly(f, 0.33333333333333454, -0.2499999999999892, 0.19999999999946128, -0.16666666666914315, 0.14285714293842175,
                    -0.12499999982026148, 0.11111110516006592, -0.10000000382905321, 0.090909335067398414,
                    -0.08333345771448307, 0.076917144622884293, -0.071419998619357591, 0.066751482072800308,
                    -0.062698033759653701, 0.058177825569853674, -0.053267663523362117, 0.054159492100759862,
                    -0.062750637709805018, 0.056969275456201535, -0.024276512005163807);
    double small_terms = fma(f * z, p, fma(exponent, ln2_low_d, -0.5 * z));
    double log = fma(exponent, ln2_high_d, f + small_terms);
    log = x < double(inf) ? log : x;
    return x > 0.0 ? log : x == 0.0 ? double(-inf) : double(nan);
}

KM_FN double erf(double x) {  // as for float, up to 6
    double a = at_most(abs(x), 6.0);
    double rest = poly(a, -0.6366197723675836, -0.10277260330178854, 0.019128447005065729, 0.00020919469489498392,
                     -0.001696206386112865, 0.00059012555462726094, -2.5878610095733487e-05, -6.449184640467629e-05,
                     2.9724018847353628e-05, -3.4072253338755945e-06, -2.8351870020121673e-06, 1.7415912539097245e-06,
                     -3.3639790229501669e-07, -1.3716152640206914e-07, 1.4175158212231331e-07, -6.5729268658924517e-08,
                     2.096127719309744e-08, -4.9973502377067321e-09, 9.0815187576100543e-10, -1.2483024008566536e-10,
                     1.2609807702178937e-11, -8.8446649529499957e-13, 3.8500994213502185e-14, -7.8332572050517078e-16);
    return copysign(-expm1(fma(a, -1.1283791670955126, a * a * rest)), x);
}

// ---------------------------------------------------------------- activations

template <class T> KM_FN T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
template <class T> KM_FN T silu(T x) { return x / (T(1) + exp(-x)); }
template <class T> KM_FN T softsign(T x) { return x / (T(1) + abs(x)); }
template <class T> KM_FN T hardtanh(T x, T low = T(-1), T high = T(1)) { return clamp(x, low, high); }
template <class T> KM_FN T hardsigmoid(T x) { return clamp(x + T(3), T(0), T(6)) / T(6); }
template <class T> KM_FN T hardswish(T x) { return x * clamp(x + T(3), T(0), T(6)) / T(6); }
template <class T> KM_FN T elu(T x, T alpha = T(1)) { return x > T(0) ? x : alpha * expm1(x); }

KM_FN float selu(float x) {
    constexpr float scale = 1.05070102f, scale_alpha = 1.75809932f;
    return x > 0.0f ? scale * x : scale_alpha * expm1(x);
}

// x * Phi(x). For x < 0, 2 Phi(x) = 2^(a Q(a)), a = |x|: no 1 + erf that cancels. Below -7 it is below 1e-11: 0.
KM_FN float gelu_erf(float x) {
    float a = at_most(abs(x), 7.0f);
    float q = poly(a, -1.15110421f, -0.459223092f, -0.0524225235f, 0.00689353095f, 7.4608688e-05f, -0.000338416226f,
                   0.000104300416f, -1.91317486e-05f, 2.33335209e-06f, -1.85709538e-07f, 8.74788686e-09f, -1.85027604e-10f);
    float two_tails = a < 7.0f ? exp2_moderate(a * q) : 0.0f;
    float two_phi = x > 0.0f ? 2.0f - two_tails : two_tails;
    return 0.5f * x * two_phi;
}

// 0.5 x (1 + tanh(u)) = x / (1 + e^(-2u)) with u = sqrt(2 / pi) (x + 0.044715 x^3)
KM_FN float gelu_tanh(float x) {
    constexpr float linear = -2.30220819f, cubic = -0.102943239f;  // -2 sqrt(2 / pi) log2(e), times 0.044715
    return x / (1.0f + exp2(x * fma(x * x, cubic, linear)));
}

// log(1 + e^z) = max(z, 0) + log(1 + e^-|z|)
KM_FN float softplus(float x, float beta = 1.0f, float threshold = 20.0f) {
    float z = beta * x;
    return z > threshold ? x : (relu(z) + log1p_finite(exp(-abs(z)))) / beta;
}

KM_FN float logsigmoid(float x) { return (x > 0.0f ? 0.0f : x) - log1p_finite(exp(-abs(x))); }

// tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2) with e = e^x; it is 1 from x = 20 on.
KM_FN float mish(float x) {
    float e = exp(at_most(x, 20.0f)), n = fma(e, e, e + e);
    return x > 20.0f ? x : x * n / (n + 2.0f);
}

}  // namespace km
