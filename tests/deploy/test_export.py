"""Exported packages: operators, modules, guards, engagement, layouts and evidence."""

import copy
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import forward_ad

from deploy.workspaces import SCALED_NORM, store_champions
from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.deploy.export import PackageLayout, export_campaign
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import UsageError
from kernelmill.shipped.operators import Kernel
from kernelmill.workspace import Workspace

pytestmark = pytest.mark.compiler
FOREIGN = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.MODEL, "double")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace") / "w"
    store_champions(
        folder, {"mine/scaled_norm": SCALED_NORM, "double": TASK}, candidates={"double": FOREIGN}
    )
    return folder


def export(
    workspace: Path, to: Path, layout: PackageLayout = PackageLayout.PACKAGE
) -> dict[str, Any]:
    with Workspace(workspace) as opened:
        exported = export_campaign(opened, None, to, layout=layout)
    return json.loads(exported.manifest.to_json())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def package(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("exported") / "exported_kernels"
    export(workspace, folder)
    sys.path.insert(0, str(folder / "src"))
    yield importlib.import_module("exported_kernels")
    sys.path.remove(str(folder / "src"))


def exact(kernel: Any, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    wide = [t.double() if t.is_floating_point() else t for t in tensors]
    return list(kernel.run_reference(wide))


def outputs_of(returned: Any) -> list[torch.Tensor]:
    return [returned] if isinstance(returned, torch.Tensor) else list(returned)


def _strided(tensor: torch.Tensor, how: str) -> torch.Tensor:
    if how == "transposed" and tensor.dim() == 2:
        return tensor.mT.contiguous().mT
    if how == "sliced":
        return tensor.repeat_interleave(2, -1)[..., ::2]
    if how == "expanded" and tensor.dim() == 2:
        return tensor[:1].expand_as(tensor)
    if how == "negated" and tensor.dtype is not torch.bfloat16:
        return torch.complex(tensor, tensor).conj().imag
    return tensor


@settings(max_examples=int(os.environ.get("KERNELMILL_CALLS", "60")))
@given(
    name=st.sampled_from(["scaled_norm", "double"]),
    rows=st.integers(0, 70),
    width=st.sampled_from([0, 1, 7, 8, 9, 256]),
    dtype=st.sampled_from([torch.float32, torch.float32, torch.float64, torch.bfloat16]),
    how=st.sampled_from(["plain", "transposed", "sliced", "expanded", "negated"]),
    rank=st.sampled_from([2, 2, 2, 1, 3]),
)
def test_no_call_gives_a_wrong_result(
    package: ModuleType, name: str, rows: int, width: int, dtype: torch.dtype, how: str, rank: int
) -> None:
    """The kernel or the reference answers, or the reference's own error is raised."""
    kernel = package.kernels[name]
    shape = {1: (width,), 2: (rows, width), 3: (2, rows, width)}[rank]
    count = len(kernel.spec["tensors"])
    tensors = [_strided(torch.randn(shape).to(dtype), how) for _ in range(count)]
    tensors.append(torch.rand(8 if name == "scaled_norm" else 256).to(dtype))
    try:
        wanted = exact(kernel, tensors)
    except (RuntimeError, IndexError):
        with pytest.raises((RuntimeError, IndexError)):
            kernel.operator(*tensors)
        return
    tolerance = 2e-2 if dtype is torch.bfloat16 else 1e-4
    for ours, theirs in zip(outputs_of(kernel.operator(*tensors)), wanted, strict=True):
        assert ours.dtype is dtype
        torch.testing.assert_close(ours.double(), theirs, rtol=tolerance, atol=tolerance)


def test_the_reason_of_every_fallback_is_counted(package: ModuleType) -> None:
    kernel = package.kernels["double"]
    kernel.engagement.reset()
    x, bias = torch.randn(64, 256), torch.randn(256)
    calls = [
        (x, bias), (x[:3], bias), (x.double(), bias.double()), (x[0], bias), (x[:0], bias),
    ]  # fmt: skip
    for tensors in calls:
        torch.testing.assert_close(kernel.operator(*tensors), 2 * tensors[0] + tensors[1])
    # A kernel that checks nothing itself is held to the sizes that it was judged with.
    wanted = {"sizes": 1, "dtype": 1, "rank": 1, "empty": 1}
    assert (kernel.engagement.kernel, kernel.engagement.fallbacks) == (1, wanted)
    assert "kernel 1; reference: 1 sizes" in str(package.engagement()["double"])


def test_operators_are_checked_by_torch(package: ModuleType) -> None:
    kernel = package.kernels["scaled_norm"]
    tensors = tuple(torch.rand(shape).requires_grad_() for shape in ((5, 8), (5, 8), (8,)))
    torch.library.opcheck(kernel.operator, tensors)
    spread = tuple(t.detach().repeat_interleave(2, -1)[..., ::2] for t in tensors)
    torch.library.opcheck(kernel.operator, spread)


def test_gradients_are_those_of_the_reference(package: ModuleType) -> None:
    kernel = package.kernels["scaled_norm"]
    tensors = [torch.rand(shape).requires_grad_() for shape in ((5, 8), (5, 8), (8,))]
    kernel.operator(*tensors)[0].sin().sum().backward()
    found = [tensor.grad for tensor in tensors]
    model = package.ScaledNorm(8)
    with torch.no_grad():
        model.weight.copy_(tensors[2])
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors[:2]]
    model(*leaves)[0].sin().sum().backward()
    for ours, theirs in zip(
        found, [*(leaf.grad for leaf in leaves), model.weight.grad], strict=True
    ):
        torch.testing.assert_close(ours, theirs)
    assert kernel.engagement.fallbacks["gradients"] == 1


def test_modules_stand_for_their_reference(package: ModuleType) -> None:
    kernel = package.kernels["scaled_norm"]
    torch.manual_seed(3)
    model = package.ScaledNorm(8)
    torch.manual_seed(3)
    reference = kernel.reference.Model(8)
    assert isinstance(model, kernel.reference.Model)
    assert torch.equal(model.state_dict()["weight"], reference.state_dict()["weight"])
    x = torch.randn(4, 8)
    with torch.no_grad():
        kernel.engagement.reset()
        for one in (model, copy.deepcopy(model), model.eval()):
            torch.testing.assert_close(one(x, residual=x), reference(x, x))
        assert kernel.engagement.kernel == 3
        with torch.autocast("cpu"):
            torch.testing.assert_close(model(x, x), reference(x, x))
        wide = package.ScaledNorm(9)
        y = torch.randn(4, 9)
        wide(y, y)
    assert kernel.engagement.fallbacks == {"autocast": 1, "other constructor arguments": 1}


SHIFTED = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = 1.5
        self.norm = nn.LayerNorm(8)
        self.register_buffer("mask", torch.ones(8), persistent=False)

    def forward(self, x):
        return torch.sigmoid(self.norm(x)) * self.mask + self.shift


def get_inputs():
    return [torch.randn(4, 8)]


def get_init_inputs():
    return []
"""


def test_changed_modules_answer_themselves(tmp_path: Path) -> None:
    store_champions(tmp_path / "w", {"shifted": SHIFTED})
    export(tmp_path / "w", tmp_path / "changed_kernels")
    sys.path.insert(0, str(tmp_path / "changed_kernels" / "src"))
    package = importlib.import_module("changed_kernels")
    sys.path.pop(0)
    kernel, x = package.kernels["shifted"], torch.randn(4, 8)
    changes: list[tuple[Callable[[Any], Any], str]] = [
        (lambda one: None, ""),
        (lambda one: setattr(one, "shift", 0.25), "other attributes (shift)"),
        (lambda one: one.mask.zero_(), "other state"),
        (lambda one: setattr(one, "norm", torch.nn.LayerNorm(8, 1.0)), "other attributes (eps)"),
        (lambda one: setattr(one, "norm", torch.nn.Identity()), "other submodules"),
        (lambda one: one.norm.register_forward_hook(lambda *_: x), "hooks"),
        (lambda one: one.norm.register_parameter("bias", None), "other state"),
    ]
    with torch.no_grad():
        for change, reason in changes:
            kernel.engagement.reset()
            ours, theirs = package.Shifted(), kernel.new_reference()
            change(ours)
            change(theirs)
            torch.testing.assert_close(ours(x), theirs(x), rtol=1e-4, atol=1e-5)
            copied = copy.deepcopy(ours)
            torch.testing.assert_close(copied(x), theirs(x), rtol=1e-4, atol=1e-5)
            assert set(kernel.engagement.fallbacks) == ({reason} if reason else set())
        many = torch.stack([x, 2 * x])
        torch.testing.assert_close(
            torch.func.vmap(package.Shifted())(many), torch.func.vmap(kernel.new_reference())(many)
        )
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones_like(x))
            tangents = [
                forward_ad.unpack_dual(one(dual)).tangent
                for one in (package.Shifted(), kernel.new_reference())
            ]
            torch.testing.assert_close(*tangents)


def test_threads_do_not_mix_their_states(package: ModuleType) -> None:
    models = [package.ScaledNorm(8) for _ in range(4)]
    wrong: list[int] = []

    def work(number: int) -> None:
        model = models[number]
        with torch.no_grad():
            for turn in range(30):
                x = torch.full((turn + 1, 8), float(number + 1))
                own, _ = model(x, x)
                if not torch.allclose(own, model.weight.expand_as(own), rtol=1e-4):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_self_check_turns_off_a_kernel_that_is_wrong(workspace: Path, tmp_path: Path) -> None:
    wrong = {**FOREIGN.files, "kernel.cpp": KERNEL.replace("2 *", "3 *").replace("2.0f", "3.0f")}
    assert wrong["kernel.cpp"] != KERNEL
    folder = tmp_path / "w"
    given = {"double": Candidate(wrong, Origin.MODEL)}
    store_champions(folder, {"double": TASK}, candidates=given)
    export(folder, tmp_path / "wrong_kernels")
    sys.path.insert(0, str(tmp_path / "wrong_kernels" / "src"))
    package = importlib.import_module("wrong_kernels")
    sys.path.pop(0)
    kernel = package.kernels["double"]
    kernel.self_check = True
    x, bias = torch.randn(64, 256), torch.randn(256)
    with pytest.warns(UserWarning, match="self-check"):
        torch.testing.assert_close(kernel.operator(x, bias), 2 * x + bias)
    torch.testing.assert_close(kernel.operator(x, bias), 2 * x + bias)
    assert kernel.engagement.kernel == 0


def test_a_package_passes_its_own_tests_without_kernelmill(workspace: Path, tmp_path: Path) -> None:
    manifest = export(workspace, tmp_path / "own_kernels")
    assert [kernel["operator"] for kernel in manifest["kernels"]] == [
        "own_kernels::scaled_norm", "own_kernels::double",
    ]  # fmt: skip
    first = manifest["kernels"][0]
    assert first["over_baseline"]["low"] > 1 and first["versions"]["torch"] and first["lineage"]
    hide = "import sys; sys.modules.update(dict.fromkeys(('kernelmill', 'msgspec', 'jinja2')));"
    code = f"{hide} import unittest; unittest.main('test_kernels', argv=['t'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "own_kernels", capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": "src:tests"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\nOK" in done.stderr


def test_without_a_compiler_the_reference_answers(workspace: Path, tmp_path: Path) -> None:
    export(workspace, tmp_path / "unbuilt_kernels")
    folder = tmp_path / "unbuilt_kernels" / "src" / "unbuilt_kernels" / "kernels" / "double"
    recipe = json.loads((folder / "build.json").read_text()) | {"compilers": ["no-compiler"]}
    (folder / "build.json").write_text(json.dumps(recipe))
    kernel = Kernel(folder, "unbuilt_kernels")
    x, bias = torch.randn(64, 256), torch.randn(256)
    with pytest.warns(UserWarning, match="no-compiler, and none is installed"):
        torch.testing.assert_close(kernel.operator(x, bias), 2 * x + bias)
    assert kernel.engagement.kernel == 0
    assert "no-compiler" in kernel.build()


def test_a_patch_can_be_applied(workspace: Path, tmp_path: Path) -> None:
    export(workspace, tmp_path / "patched", PackageLayout.PATCH)
    target = tmp_path / "repository"
    target.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    patch = tmp_path / "patched" / "patched.patch"
    assert "2.00x [1.96, 2.04]" in patch.read_text()
    subprocess.run(["git", "apply", str(patch)], cwd=target, check=True)
    assert (target / "patched" / "kernels" / "double" / "kernel.cpp").read_text() == KERNEL
    assert (target / "tests" / "test_patched.py").is_file()


def test_a_repository_for_the_kernels_library_is_complete(workspace: Path, tmp_path: Path) -> None:
    export(workspace, tmp_path / "hub_kernels", PackageLayout.HF_KERNELS)
    build = tmp_path / "hub_kernels" / "build" / "torch-cpu"
    metadata = json.loads((build / "metadata.json").read_text())
    assert metadata["version"] == 1 and metadata["backend"] == {"type": "cpu"}
    assert (build / "__init__.py").is_file()
    assert "edition = 5" in (tmp_path / "hub_kernels" / "build.toml").read_text()


def test_mistakes_are_named(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(UsageError, match="is not empty"):
        export(workspace, tmp_path / "full")
    with pytest.raises(UsageError, match="no name for a Python package"):
        export(workspace, tmp_path / "1 2")
    slow = tmp_path / "slow"
    store_champions(slow, {"double": TASK}, 0.9, {"double": FOREIGN})
    with pytest.raises(UsageError, match="double: not shown to be faster"):
        export(slow, tmp_path / "nothing")
