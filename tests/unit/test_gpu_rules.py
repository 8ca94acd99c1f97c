"""Static rules on Triton and CUDA: what they find, and that honest code stays unharmed."""

from pathlib import Path

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.cuda.diagnostics import device_state
from kernelmill.backends.cuda.source_rules import check_cuda, own_kernels
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.support.diagnostics import first_errors
from kernelmill.records.candidate import Candidate, Origin

EXAMPLES = [
    (backend, folder)
    for backend in ("triton", "cuda")
    for folder in sorted((get_backend(backend).examples() / "starter").iterdir())
]


@pytest.mark.parametrize(
    ("backend", "folder"), EXAMPLES, ids=lambda value: getattr(value, "name", value)
)
def test_examples_are_unharmed(backend: str, folder: Path) -> None:
    candidate = read_candidate(folder, Origin.FILE)
    assert get_backend(backend).inspect_sources(candidate) == []


HONEST = (get_backend("triton").examples() / "starter" / "gelu" / "model.py").read_text()
RETURN = "        return y"


def triton_rules(text: str) -> set[str]:
    candidate = Candidate({"model.py": text}, Origin.FILE)
    return {finding.rule for finding in get_backend("triton").inspect_sources(candidate)}


IN_FORWARD = {
    "y = torch.nn.functional.gelu(x)": "framework-compute",
    "y = x * x.sum()": "framework-compute",
    "y = x @ x": "framework-compute",
    "stream = torch.cuda.Stream()": "framework-compute",
    "graph = torch.cuda.CUDAGraph()": "framework-compute",
    "self.kept = y": "state",
    "tl.load(x)": "kernel-language",
    "triton.testing.do_bench(gelu_kernel)": "kernel-language",
    "gelu_kernel.run(x)": "framework-compute",
    "other[(1,)](x)": "indirect-call",
}


@pytest.mark.parametrize("line", IN_FORWARD)
def test_lines_that_no_forward_needs(line: str) -> None:
    text = HONEST.replace(RETURN, f"        {line}\n{RETURN}")
    assert IN_FORWARD[line] in triton_rules(text)


IN_MODULE = {
    "import os": "import",
    "from triton.testing import do_bench": "import",
    "@triton.jit\ndef k(x, y=__import__('os')):\n    pass": "forbidden-name",
    "@triton.autotune(configs=[eval('1')], key=[])\n@triton.jit\ndef k(x):\n    pass": "forbidden-name",
    "@print\ndef k(x):\n    pass": "unneeded",
    "class triton(nn.Module):\n    pass": "shadowing",
    "triton = torch": "shadowing",
    "import torch as triton": "shadowing",
    "def jit(f):\n    return f\n\n\n@jit\ndef k(x):\n    eval(x)": "forbidden-name",
}


@pytest.mark.parametrize("line", IN_MODULE)
def test_lines_that_no_module_needs(line: str) -> None:
    assert IN_MODULE[line] in triton_rules(f"{HONEST}\n{line}\n")


def test_a_tuned_kernel_with_a_grid_function_is_honest() -> None:
    tuned = HONEST.replace(
        "@triton.jit",
        '@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=4)], key=["count"])\n@triton.jit',
    )
    tuned = tuned.replace(
        "gelu_kernel[(triton.cdiv(count, 2048),)](x, y, count, BLOCK=2048, num_warps=8)",
        'gelu_kernel[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](x, y, count)',
    )
    assert triton_rules(tuned) == set()


CUDA = {
    "cudaStream_t s; cudaStreamCreate(&s);": "streams",
    "cudaGraphLaunch(graph, stream);": "streams",
    "cudaLaunchHostFunc(stream, f, 0);": "streams",
    "cudaEventRecord(e, stream);": "streams",
    "cudaMalloc(&p, 4);": "device-memory",
    "cudaMallocHost(&p, 4);": "device-memory",
    "cudaDeviceSetLimit(limit, 1);": "device-settings",
    "attribute.accessPolicyWindow.hitRatio = 1;": "device-settings",
    "__device__ float kept[1024];": "device-variable",
    "static __device__ int calls = 0;": "device-variable",
    "cublasSgemm(handle);": "vendor-library",
    "std::thread t;": "threads",
    "fopen(name, mode);": "files",
}


@pytest.mark.parametrize("line", CUDA)
def test_cuda_that_no_kernel_needs(line: str) -> None:
    assert CUDA[line] in {finding.rule for finding in check_cuda(f"{line}\n", "kernel.cu")}


@pytest.mark.parametrize(
    "line",
    [
        "__device__ float twice(float x) { return 2 * x; }",
        "__device__ __forceinline__ float4 load(const float* p);",
        "cudaMallocAsync(&p, 4, stream);",
        'asm volatile("cp.async.wait_all;");',
        "kernel<<<grid, block, 0, stream>>>(x);",
    ],
)
def test_cuda_that_kernels_need(line: str) -> None:
    assert check_cuda(f"{line}\n", "kernel.cu") == []


def test_kernels_are_named() -> None:
    text = """
    template <int T> __global__ void plain(int x) {}
    __global__ void __launch_bounds__(256, 2) bounded(int x) {}
    __global__ __launch_bounds__(256) void early(int x) {}
    """
    assert own_kernels([text]) == ("plain", "bounded", "early")


def test_errors_of_nvcc_keep_their_source_lines() -> None:
    output = (
        './kernel.cu(38): error: identifier "zero" is undefined\n'
        "      float sum = zero;\n                  ^\n\n1 error detected\n"
    )
    assert first_errors(output)[:2] == (
        './kernel.cu(38): error: identifier "zero" is undefined',
        "      float sum = zero;",
    )


def test_memory_that_stays_on_the_device_is_seen() -> None:
    assert device_state("ptxas info    : 4096 bytes gmem\n")
    assert not device_state("ptxas info    : 0 bytes gmem\n")
