"""Metrics of sources in every language, counted in the hottest kernel."""

import msgspec
import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.skills.features.operators import operator_metrics
from kernelmill.skills.features.source import source_metrics
from samples import make_task

HOST = """
import ctypes
_lib = ctypes.CDLL("kernel.so")
_lib.run.argtypes = []
class ModelNew:
    def forward(self, x):
        _lib.run(x.data_ptr())
        return x
"""


def cpp(text: str) -> dict[str, float]:
    return source_metrics(Candidate({"model.py": HOST, "kernel.cpp": text}, Origin.FILE), "cpp")


def cuda(text: str, hottest: str = "") -> dict[str, float]:
    files = {"model.py": HOST, "kernel.cu": text}
    return source_metrics(Candidate(files, Origin.FILE), "cuda", hottest)


def python(text: str, backend: str, hottest: str = "") -> dict[str, float]:
    return source_metrics(Candidate({"model.py": text}, Origin.FILE), backend, hottest)


def test_loops_are_counted_with_and_without_braces() -> None:
    found = cpp("""
      extern "C" void run(const float* x) {
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) { x[i] = j; }
        while (more()) { do { step(); } while (again()); }
        if (x) for (;;) stop(); else go();
      }""")
    assert (found["loops"], found["loop_depth"], found["passes"]) == (5, 2, 3)
    assert (found["kernels"], found["launches"]) == (1, 1)


def test_loops_in_functions_that_are_called_count_and_others_do_not() -> None:
    found = cpp("""
      namespace { template <int R> inline void row(float* x) { for (int i = 0; i < R; ++i) x[i] = 0; } }
      static void idle() { for (;;) for (;;) for (;;) {} }
      extern "C" { void run(float* x) {
        #pragma omp parallel for simd
        for (int r = 0; r < 9; ++r) row<16>(x + r);
      } }""")
    assert (found["loops"], found["loop_depth"], found["passes"]) == (2, 2, 1)
    assert (found["parallel_loops"], found["vectors"], found["specialisations"]) == (1, 1, 1)


def test_loops_in_lambdas_belong_to_the_loop_around_them() -> None:
    found = cpp("""
      extern "C" void run(float* x) {
        for (int i = 0; i < 9; ++i) each([&](int k) { for (int j = 0; j < k; ++j) x[j] = 0; });
      }""")
    assert (found["loops"], found["loop_depth"]) == (2, 2)


def test_comments_and_strings_are_no_code() -> None:
    found = cpp("""
      // for (;;) { double
      /* #pragma omp parallel for */
      extern "C" void run() { say("for (;;) { double }"); char c = '}'; }""")
    assert (found["loops"], found["doubles"], found["parallel_loops"]) == (0, 0, 0)


def test_calls_of_the_math_library_are_distinguished_from_own_ones() -> None:
    found = cpp("""
      static inline float exp(float x) { return 1 + x; }
      extern "C" void run(float* x) { x[0] = exp(x[1]); x[1] = std::exp(x[0]) + tanhf(x[2]); }""")
    assert (found["math_calls"], found["library_math"]) == (3, 2)


def test_what_is_cut_off_is_read_as_far_as_it_goes() -> None:
    assert cpp('extern "C" void run(float* x) { for (int i = 0; i < 3; ++i) { x[i')["loops"] == 1
    assert cpp("}}} ))) #")["loops"] == 0
    assert python("def (", "triton")["kernels"] == 0


def test_a_source_that_nests_too_deeply_counts_nothing() -> None:
    braces = "{" * 5000 + "}" * 5000
    assert cpp(f'extern "C" void run() {{ {braces} }}')["loops"] == 0
    sums = "+".join(["x"] * 5000)
    assert python(f"@jit\ndef kernel(x):\n    y = {sums}\n", "triton")["loops"] == 0


CUDA = """
__global__ void small(float* x) { x[threadIdx.x] = 0; __syncthreads(); __syncthreads(); }
__global__ void __launch_bounds__(256) large(const float4* x, float* out) {
  __shared__ float tile[256];
  #pragma unroll
  for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) out[i] = x[j].x;
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32 {%0}, {%1};" : "=f"(out[0]));
  __syncthreads();
}
extern "C" void run(float* x, cudaStream_t stream) {
  small<<<1, 32, 0, stream>>>(x);
  large<<<1, 256, 0, stream>>>((float4*)x, x);
}
"""


def test_metrics_are_those_of_the_hottest_kernel() -> None:
    guessed, named = cuda(CUDA), cuda(CUDA, "small")
    assert (guessed["loops"], guessed["barriers"], guessed["tensor_operations"]) == (2, 1, 1)
    assert (guessed["wide_loads"], guessed["shared_arrays"], guessed["unrolls"]) == (1, 1, 1)
    assert (named["loops"], named["barriers"]) == (0, 2)
    assert guessed["kernels"] == named["kernels"] == 2
    assert guessed["launches"] == named["launches"] == 2


TRITON = """
import triton
import triton.language as tl

@triton.jit
def helper(x):
    return tl.dot(x, x)

@triton.autotune(configs=[triton.Config({"B": 64}, num_warps=8, num_stages=3)], key=["n"])
@triton.jit
def product(x, n, B: tl.constexpr):
    for k in range(n):
        a = tl.load(x + k, mask=k < n)
        helper(a)
    tl.store(x, a)

@triton.jit
def plain(x):
    tl.store(x, tl.load(x))

class ModelNew:
    def forward(self, x):
        product[(1,)](x, 4)
        plain[(1,)](x, num_warps=4)
"""


def test_triton_kernels_are_read_by_pythons_parser() -> None:
    found = python(TRITON, "triton")
    assert (found["kernels"], found["launches"], found["loops"]) == (2, 2, 1)
    assert (found["dots"], found["loads"], found["stores"], found["masks"]) == (1, 1, 1, 1)
    assert (found["warps"], found["pipeline_stages"], found["autotuned"]) == (8, 3, 1)
    assert python(TRITON, "triton", "plain")["dots"] == 0


PALLAS = """
def kernel(x_ref, o_ref, sums):
    def body(k, carry):
        return carry + pl.dot(x_ref[k], x_ref[k])
    o_ref[...] = lax.fori_loop(0, 4, body, 0)

def run(x):
    return pl.pallas_call(
        functools.partial(kernel, flag=True), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)])(x)
"""


def test_pallas_kernels_are_those_passed_to_pallas_call() -> None:
    found = python(PALLAS, "pallas")
    assert (found["kernels"], found["launches"], found["loops"], found["dots"]) == (1, 1, 1, 1)
    assert (found["block_specs"], found["scratch_buffers"]) == (1, 1)


# The language of a source


def example(backend: str) -> Candidate:
    return read_candidate(get_backend(backend).examples() / "starter" / "softmax")


def test_rvv_kernels_are_read_as_cpp() -> None:
    found = source_metrics(example("rvv"), "rvv:vlen128")
    assert (found["kernels"], found["loops"]) == (1, 4), "three loops over a row, one over rows"
    assert (found["loop_depth"], found["passes"]) == (2, 3)


def test_ascendc_kernels_are_read_as_cpp_in_strings() -> None:
    found = source_metrics(example("ascendc"), "ascendc")
    assert (found["kernels"], found["launches"], found["loops"]) == (1, 1, 1)


def test_pallas_kernels_are_read_as_python_for_every_chip() -> None:
    found = source_metrics(example("pallas"), "pallas:v6e")
    assert (found["kernels"], found["launches"], found["block_specs"]) == (1, 1, 1)
    assert found == source_metrics(example("pallas"), "pallas")


def test_inline_cuda_is_read_as_cpp() -> None:
    model = f"from torch.utils.cpp_extension import load_inline\nsource = r'''{CUDA}'''\n"
    assert python(model, "cuda")["barriers"] == cuda(CUDA)["barriers"] == 1
    assert python(model, "cuda")["launches"] == 2


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        (("mm.default", "_softmax.default"), {"contractions": 1, "reductions": 1}),
        (("convolution.default",), {"contractions": 1, "windows": 1}),
        (("max.dim", "cumsum.default"), {"reductions": 1, "scans": 1}),
        (("maximum.default", "index.Tensor"), {"reductions": 0, "gathers": 1}),
    ],
)
def test_operators_are_sorted(signature: tuple[str, ...], expected: dict[str, int]) -> None:
    found = operator_metrics(msgspec.structs.replace(make_task(), signature=signature, flops=64))
    assert {name: found[name] for name in expected} == expected
    assert found["flops_per_byte"] == 2.0
    assert found["megabytes"] == pytest.approx(32e-6)
