# Functions that Triton does not have, for single elements. Copied into a candidate by name, with
# those they call.
import triton
import triton.language as tl


@triton.jit
def expm1(x):
    tail = 0.5 + x * (0.166665182 + x * (0.041666206 + x * (0.00836890284 + x * 0.0013950516)))
    return tl.where(tl.abs(x) < 0.34, x + x * x * tail, tl.exp(x) - 1.0)


@triton.jit
def log1p(x):
    u = 1.0 + x
    return tl.where(u == 1.0, x, tl.where(u == float("inf"), u, tl.log(u) * (x / (u - 1.0))))


@triton.jit
def tanh(x):
    a = tl.abs(x)
    z = a * a
    tail = 0.020639088 - z * 0.00570498826
    small = a + a * z * (-0.333332807 + z * (0.133314416 + z * (-0.0537397154 + z * tail)))
    large = 1.0 - 2.0 / (tl.exp(2.0 * a) + 1.0)
    size = tl.where(a < 0.625, small, large)
    return tl.where(x < 0, -size, size)


@triton.jit
def sinh(x):
    a = tl.abs(x)
    z = a * a
    small = a + a * z * (
        0.166666672 + z * (0.0083333496 + z * (0.000198361595 + z * 2.81695134e-06))
    )
    half = tl.exp(a - 0.6931471805599453)
    size = tl.where(a < 1.0, small, half - 0.25 / half)
    return tl.where(x < 0, -size, size)


@triton.jit
def cosh(x):
    half = tl.exp(tl.abs(x) - 0.6931471805599453)
    return half + 0.25 / half


@triton.jit
def tan(x):
    return tl.sin(x) / tl.cos(x)


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def logsigmoid(x):
    return tl.minimum(x, 0.0) - log1p(tl.exp(-tl.abs(x)))


@triton.jit
def softplus(x, beta, threshold):
    scaled = x * beta
    below = tl.where(scaled > threshold, threshold, scaled)  # tl.minimum would lose NaN
    return tl.where(scaled > threshold, x, log1p(tl.exp(below)) / beta)


@triton.jit
def mish(x):
    e = tl.exp(tl.minimum(x, 20.0))
    n = e * (e + 2.0)
    return tl.where(x > 20.0, x, x * (n / (n + 2.0)))


@triton.jit
def gelu_erf(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def gelu_tanh(x):
    return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@triton.jit
def hardsigmoid(x):
    return clamp(x + 3.0, 0.0, 6.0) * 0.16666666666666666


@triton.jit
def hardswish(x):
    return x * clamp(x + 3.0, 0.0, 6.0) * 0.16666666666666666


@triton.jit
def clamp(x, low, high):
    x = tl.where(x < low, low, x)
    return tl.where(x > high, high, x)


@triton.jit
def trunc(x):
    return tl.where(x < 0, tl.ceil(x), tl.floor(x))


@triton.jit
def round_even(x):
    low = tl.floor(x)
    rest = x - low
    odd = low - 2.0 * tl.floor(low * 0.5)
    up = (rest > 0.5) | ((rest == 0.5) & (odd == 1.0))
    return tl.where(up, low + 1.0, low)


@triton.jit
def copysign(x, sign):
    negative = (sign < 0) | ((sign == 0) & (1.0 / sign < 0))
    return tl.where(negative, -tl.abs(x), tl.abs(x))


@triton.jit
def power(x, y):
    wide = tl.cast(x, tl.float64)
    exponent = tl.cast(y, tl.float64)
    size = tl.exp2(exponent * tl.log2(tl.abs(wide)))
    whole = tl.floor(exponent) == exponent
    odd = tl.floor(exponent * 0.5) * 2.0 != exponent
    signed = tl.where(whole, tl.where(odd, -size, size), float("nan"))
    result = tl.where(wide < 0, signed, size)
    return tl.cast(tl.where(exponent == 0, 1.0, result), tl.float32)


@triton.jit
def fmod(x, y):
    wide = tl.cast(tl.abs(x), tl.float64)
    step = tl.cast(tl.abs(y), tl.float64)
    rest = wide - tl.floor(wide / step) * step
    rest = tl.where(rest < 0, rest + step, rest)
    return copysign(tl.cast(rest, tl.float32), x)


@triton.jit
def remainder(x, y):
    rest = fmod(x, y)
    return tl.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


@triton.jit
def floor_modulo(a, b):
    rest = a % b
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@triton.jit
def floor_quotient(a, b):
    return (a - floor_modulo(a, b)) // b


@triton.jit
def logaddexp(a, b):
    high = larger(a, b)
    low = smaller(a, b)
    return tl.where(low == high, high + 0.6931471805599453, high + log1p(tl.exp(low - high)))


@triton.jit
def parts_of(x):
    high = tl.cast(x, tl.bfloat16)
    rest = x - tl.cast(high, tl.float32)
    middle = tl.cast(rest, tl.bfloat16)
    low = tl.cast(rest - tl.cast(middle, tl.float32), tl.bfloat16)
    return high, middle, low


@triton.jit
def rounded_to_tf32(x):
    bits = tl.cast(x, tl.int32, bitcast=True)
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF
    return tl.where(x == x, tl.cast(rounded, tl.float32, bitcast=True), x)


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def larger(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def largest_of(x):
    largest = tl.max(x, axis=1, keep_dims=True)
    if x.dtype.is_floating():
        nans = tl.max(tl.cast(x != x, tl.int32), axis=1, keep_dims=True)
        largest = tl.where(nans > 0, float("nan"), largest)
    return largest


@triton.jit
def smallest_of(x):
    smallest = tl.min(x, axis=1, keep_dims=True)
    if x.dtype.is_floating():
        nans = tl.max(tl.cast(x != x, tl.int32), axis=1, keep_dims=True)
        smallest = tl.where(nans > 0, float("nan"), smallest)
    return smallest


@triton.jit
def first_of_largest(value, place, other, other_place):
    better = (value > other) | ((value != value) & (other == other))
    equal = (value == other) | ((value != value) & (other != other))
    ours = better | (equal & (place < other_place))
    return tl.where(ours, value, other), tl.where(ours, place, other_place)


@triton.jit
def first_of_smallest(value, place, other, other_place):
    better = (value < other) | ((value != value) & (other == other))
    equal = (value == other) | ((value != value) & (other != other))
    ours = better | (equal & (place < other_place))
    return tl.where(ours, value, other), tl.where(ours, place, other_place)


@triton.jit
def join_spread(count, mean, spread, other_count, other_mean, other_spread):
    total = count + other_count
    share = tl.where(total == 0, 0.0, other_count / total)
    apart = other_mean - mean
    return (
        total,
        mean + apart * share,
        spread + other_spread + apart * share * count * apart,
    )


@triton.jit
def ranked(x, place, inside, descending: tl.constexpr):
    bits = tl.cast(x + 0.0, tl.int32, bitcast=True)
    bits = tl.where(x != x, 0x7FC00000, bits)  # NaN is the greatest, whatever its sign
    key = tl.cast(bits ^ ((bits >> 31) & 0x7FFFFFFF), tl.int64) << 32
    if descending:
        return tl.where(inside, key | (0x7FFFFFFF - tl.cast(place, tl.int64)), -(2**63))
    return tl.where(inside, key | tl.cast(place, tl.int64), 2**63 - 1)


@triton.jit
def place_of(order, descending: tl.constexpr):
    low = order & 0x7FFFFFFF
    if descending:
        return 0x7FFFFFFF - low
    return low
