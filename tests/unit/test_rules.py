"""Static rules: what they find, and that honest code stays unharmed."""

import pytest

from judge.kernels import KERNEL, MODEL
from kernelmill.backends.cpp.backend import CppBackend
from kernelmill.backends.cpp.binary_rules import check_library
from kernelmill.backends.cpp.source_rules import check_text
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.support.diagnostics import first_errors
from kernelmill.backends.support.python_rules import PythonRules
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import CandidateError


def python_rules(text: str) -> set[str]:
    return {finding.rule for finding in PythonRules().check(text, "model.py")}


def with_forward(*lines: str) -> str:
    return MODEL.replace("return out", "\n        ".join((*lines, "return out")))


PYTHON = {
    "import os": "import",
    "import torch, subprocess": "import",
    "from torch.utils import cpp_extension": "import",
    "from . import helper": "import",
    "exec('x = 1')": "forbidden-name",
    "f = getattr(torch, 'mat' + 'mul')": "forbidden-name",
    "torch.matmul = None": "framework-compute",
    "fast = torch.matmul": "framework-compute",
    "from pathlib import os": "import",
    "from typing import sys": "import",
    "x = torch.os": "framework-compute",
    "x = torch._C": "framework-compute",
    "x = [len][0]([])": "indirect-call",
    "f = lambda: 1": "unneeded",
    "ctypes.CDLL(None)": "foreign-library",
    "ctypes.CDLL('libblas.so')": "foreign-library",
    "ctypes.pythonapi": "ctypes",
    "ctypes.memmove(0, 0, 0)": "ctypes",
    "().__class__.__subclasses__()": "internals",
    "f = _lib._FuncPtr": "internals",
    "f = _lib._handle": "internals",
    "_lib.run.errcheck = print": "internals",
    "_lib.run.restype = nn.ReLU()": "indirect-call",
    "_lib.run(b'12345678')": "state",
    "x = max([1], key=print)": "indirect-call",
    "ctypes.cdll.LoadLibrary('libblas.so')": "foreign-library",
    "f = ctypes.cdll.LoadLibrary": "ctypes",
    "_calls = enumerate(range(9))": "state",
    "_calls = (n for n in range(9))": "state",
    "_calls = [zip(range(9))]": "state",
}


@pytest.mark.parametrize("line", PYTHON)
def test_lines_that_no_candidate_needs(line: str) -> None:
    assert PYTHON[line] in python_rules(f"{MODEL}\n{line}\n")


FORWARD = {
    "out = torch.relu(x)": "framework-compute",
    "out = nn.functional.relu(x)": "framework-compute",
    "out = x @ x": "framework-compute",
    "out = x.matmul(x)": "framework-compute",
    "out = x.sum()": "framework-compute",
    "out = self.layer(x)": "framework-layer",
    "out = nn.Linear(3, 3)(x)": "framework-layer",
    "out = x.numpy()": "framework-compute",
    "f = x.matmul": "framework-compute",
    "self.calls = 3": "state",
    "self.cache.append(x)": "state",
    "out = self._modules['layer'](x)": "indirect-call",
    "out = self._modules['layer'].forward(x)": "framework-compute",
    "self._buffers['cache'] = x": "state",
    "out = self.to(torch.float64)": "framework-layer",
    "_cache[0] = x": "state",
    "global cache": "state",
    "box = self.box; box[0] = 1": "state",
    "box = _lib; del box[0]": "state",
    "box = self.box; box.append(1)": "state",
    "for box in self.boxes: box[0] = 1": "state",
    "self.box = [0]; box = self.box; box += [1]": "state",
    "def count(): yield 1": "state",
    "text = '{0.shape}'.format(x)": "internals",
    "text = str(x.shape).format(x)": "internals",
}


@pytest.mark.parametrize("line", FORWARD)
def test_lines_that_forward_does_not_need(line: str) -> None:
    assert FORWARD[line] in python_rules(with_forward(line))


def test_fallbacks_are_found() -> None:
    text = MODEL.replace(
        "        out = torch.empty_like(x)",
        "        try:\n            out = torch.empty_like(x)\n        except Exception:\n"
        "            out = x",
    )
    assert "fallback" in python_rules(text)


def test_inheriting_the_reference_is_found() -> None:
    assert "base-class" in python_rules(MODEL.replace("nn.Module", "Model"))


HONEST_FORWARD = (
    "shape = list(x.shape); shape[0] = 3",
    "parts = [0] * 3; parts[1] = 2; parts.append(4)",
    "dim = self.dim; dim += 2",
    "pairs = zip(x.shape, x.shape); total = [a * b for a, b in pairs]",
    "height, width = (size // 2 for size in x.shape)",
    "text = '{} of {:d}'.format(1, 2)",
    "x = x.contiguous()",
    "out = torch.empty(x.shape[0], x.size(1), dtype=torch.float32)",
    "out = torch.zeros(3)",
    "y = x.transpose(0, 1).view(-1)",
    "n = x.numel() // 2 + 1",
    "scale = math.sqrt(x.shape[1])",
    "assert x.is_contiguous()",
    "run = _lib.run",
    "_lib.sum(x.data_ptr())",
    "rows, columns = x.shape",
    "sizes = [x.shape[0]] * 2; sizes[1] = 3",
    "assert x.dtype == torch.float32 and x.dim() == 2, 'what?'",
    "outs = [torch.empty_like(x) for _ in range(3)]",
    "weight = self._modules['layer']._parameters['weight'].contiguous()",
)


@pytest.mark.parametrize("line", HONEST_FORWARD)
def test_honest_lines_stay_unharmed(line: str) -> None:
    assert python_rules("import math\n" + with_forward(line)) == set()


HONEST_MODULES = (
    "self.lib = _lib",
    "self.run = _lib.run",
    "self.mask = torch.triu(torch.ones(4, 4), diagonal=1)",
    "nn.init.xavier_uniform_(torch.empty(3, 3))",
    "self.to(torch.bfloat16)",
    "self.table = nn.Parameter(torch.tril(torch.randn(3, 3)).mul_(0.5))",
)


def with_constructor(line: str, forward: str = "out = torch.empty_like(x)") -> str:
    methods = (
        "def __init__(self) -> None:\n        super().__init__()\n",
        "        self.reset_parameters()\n        ",
        line,
        "\n\n    def reset_parameters(self) -> None:\n        with torch.no_grad():\n",
        "            nn.init.zeros_(torch.empty(3))\n\n    def forward(",
    )
    text = MODEL.replace("def forward(", "".join(methods))
    return text.replace("out = torch.empty_like(x)", forward)


@pytest.mark.parametrize("line", HONEST_MODULES)
def test_constructors_may_construct(line: str) -> None:
    assert python_rules(with_constructor(line)) == set()


@pytest.mark.parametrize("call", ["self.lib.sum(x.data_ptr())", "self.run(x.data_ptr())"])
def test_a_library_may_have_any_name(call: str) -> None:
    constructor = "self.lib = _lib; self.run = self.lib.run"
    forward = f"out = torch.empty_like(x); {call}"
    assert python_rules(with_constructor(constructor, forward)) == set()


BORROWED_NAMES = (
    ("self.lib = _lib; self.lib = torch", "out = self.lib.relu(x)"),
    ("self.run = _lib.run; self.run = torch.matmul", "out = self.run(x, x)"),
    ("self.fast = torch.matmul", "out = self.fast(x, x)"),
    ("pass", "out = nn.init.zeros_(x)"),
    ("pass", "self.reset_parameters(); out = torch.empty_like(x)"),
)


@pytest.mark.parametrize(("constructor", "forward"), BORROWED_NAMES)
def test_a_library_name_holds_nothing_else(constructor: str, forward: str) -> None:
    assert python_rules(with_constructor(constructor, forward))


LOADS = (
    "from ctypes import CDLL\n_other = CDLL(str(pathlib.Path(__file__).with_name('kernel.so')))",
    "_here = pathlib.Path(__file__).with_name('kernel.so')\n_other = ctypes.CDLL(str(_here))",
    "_other = ctypes.cdll.LoadLibrary(str(pathlib.Path(__file__).with_name('kernel.so')))",
    "def _load() -> ctypes.CDLL:\n    lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("
    "'kernel.so')))\n    lib.run.restype = None\n    return lib\n\n\n_other = _load()",
)


@pytest.mark.parametrize("lines", LOADS)
def test_ways_to_load_the_kernel(lines: str) -> None:
    assert python_rules(f"{MODEL}\n\n{lines}\n") == set()


CPP = {
    "void f() { asm volatile(\"nop\"); }": "assembly",
    "#include <thread>": "include",
    "#include <torch/extension.h>": "include",
    "#include \"../../etc/passwd\"": "include",
    "#include \"/etc/passwd\"": "include",
    "std::thread t;": "threads",
    "auto f = dlsym(0, \"x\");": "dynamic-loading",
    "int f() { return fork(); }": "processes",
    "int f() { return system(\"ls\"); }": "processes",
    "auto f = fopen(\"a\", \"r\");": "files",
    "std::ifstream f;": "files",
    "int s = socket(1, 2, 3);": "network",
    "auto k = getenv(\"KEY\");": "environment",
    "cblas_sgemm(1);": "vendor-library",
    "at::Tensor t;": "framework",
    "typedef int (*Walk)(int, void*);": "function-pointer",
    "auto f = reinterpret_cast<float (*)(float)>(p);": "function-pointer",
    "auto t = __rdtsc();": "clock",
    "static double f() __attribute__((weakref(\"omp_get_wtime\")));": "linkage",
    "[[gnu::alias(\"g\")]] void f();": "linkage",
    "#pragma redefine_extname f bsearch": "linkage",
    "extern \"C\" void GOMP_parallel(Body*, void*, unsigned, unsigned);": "run-time-name",
    "extern \"C\" long __dso_handle;": "run-time-name",
}  # fmt: skip


@pytest.mark.parametrize("text", CPP)
def test_cpp_that_no_kernel_needs(text: str) -> None:
    assert CPP[text] in {finding.rule for finding in check_text(text, "kernel.cpp")}


HONEST_CPP = (
    "// system(\"ls\") and fork() in a comment",
    "/* asm\n dlopen */ int x;",
    "const char* text = \"fork() and asm\";",
    "struct S { float system; }; float g(S s) { return s.system; }",
    "#include <immintrin.h>\n#include <omp.h>\n#include <cmath>\n#include \"my/header.h\"",
    "float signal_energy(const float* signal_in);",
    "template <int open_width> struct Window {};",
    "float at(const float* p, int i) { return p[i]; }",
    "constexpr int fork = 3;",
    "int alias = 1; [[maybe_unused]] int weak = alias;",
    "#pragma omp parallel for",
    "float f(float a, float* b) { return (*b) * (a); }",
    "void g(float (&rows)[4][16], const float (*p)[8]);",
    "template <class F> void each(F&& f) { (f)(1); }",
)  # fmt: skip


@pytest.mark.parametrize("text", HONEST_CPP)
def test_honest_cpp_stays_unharmed(text: str) -> None:
    assert check_text(text, "kernel.cpp") == []


def test_places_are_right() -> None:
    findings = check_text("int a;\n\n/* long\ncomment */\nint x = fork();\n", "kernel.cpp")
    assert [finding.where for finding in findings] == ["kernel.cpp:5"]


def test_the_examples_are_honest_to_every_source_rule() -> None:
    backend = CppBackend()
    folders = list((backend.examples() / "starter").iterdir())
    assert folders
    for folder in folders:
        assert backend.inspect_sources(read_candidate(folder)) == []


def test_a_file_that_is_no_library() -> None:
    assert check_library(b"MZ not an ELF file", "kernel.so", set())[0].rule == "not-a-library"


def test_compiler_output_is_cut_to_the_first_errors() -> None:
    output = "In file included from x\nkernel.cpp:3:5: error: 'y' was not declared\n    3 |   y;\n      |   ^\n"
    assert first_errors(output * 10)[:3] == (
        "kernel.cpp:3:5: error: 'y' was not declared",
        "    3 |   y;",
        "      |   ^",
    )
    assert len(first_errors(output * 10)) == 9


@pytest.mark.parametrize("name", ["../model.py", "/etc/passwd", "a/../../b.cpp", "bad\nname.cpp"])
def test_candidate_files_stay_inside(name: str) -> None:
    with pytest.raises(CandidateError, match="not a path inside"):
        Candidate({"model.py": MODEL, name: KERNEL}, Origin.FILE)


def test_digests_tell_candidates_apart() -> None:
    one = Candidate({"model.py": MODEL, "a.cpp": "x"}, Origin.FILE)
    two = Candidate({"model.py": MODEL, "a.cpp": "y"}, Origin.FILE)
    split = Candidate({"model.py": MODEL, "a": ".cppx"}, Origin.FILE)
    assert len({one.digest, two.digest, split.digest}) == 3
