"""Operators of proven kernels: dispatch, fallback to the reference, and engagement counters.

A kernel's folder holds its sources, `build.json`, the reference as `reference.py`, and
`kernel.json`, which says what the kernel was proven for. A call that it was not proven for is
answered by the reference, and counted with the reason.
"""

import importlib.util
import json
import os
import threading
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.func import functional_call
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from .building import KernelUnavailable, load_kernel, read_recipe
from .index_ranges import IndexRange, find_ranges
from .snapshot import is_plain

SPEC_FILE = "kernel.json"
REFERENCE_FILE = "reference.py"
SELF_CHECK = "KERNELMILL_SELF_CHECK"
"""Environment variable: at the first call with new sizes, compare with the reference."""


class Engagement:
    """How often a kernel ran, and how often the reference ran instead, by reason."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, reason: str) -> None:
        with self._lock:
            self._counts[reason] += 1

    @property
    def kernel(self) -> int:
        return self._counts[""]

    @property
    def fallbacks(self) -> dict[str, int]:
        with self._lock:
            return {reason: count for reason, count in self._counts.items() if reason}

    def reset(self) -> None:
        with self._lock:
            self._counts.clear()

    def __str__(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.fallbacks.items())
        return f"kernel {self.kernel}" + (f"; reference: {reasons}" if reasons else "")


class _Wanted(NamedTuple):
    """What one tensor must be for the kernel to be called."""

    dtype: torch.dtype
    sizes: tuple[tuple[int, int], ...]


class _Skeleton(NamedTuple):
    """A module of one thread, whose state is put in for each call."""

    module: nn.Module
    places: tuple[tuple[dict[str, Any], str], ...]


class Kernel:
    """A proven kernel behind the operator `torch.ops.NAMESPACE.NAME`.

    The operator takes the tensors of the inputs, in order, then the state in the order of the
    reference's state dict. It returns new, contiguous tensors. All methods may be called from
    several threads.
    """

    def __init__(self, folder: str | Path, namespace: str) -> None:
        self.folder = Path(folder)
        self.spec: dict[str, Any] = json.loads((self.folder / SPEC_FILE).read_text("utf-8"))
        self.name: str = self.spec["name"]
        self.engagement = Engagement()
        self.self_check = os.environ.get(SELF_CHECK, "") not in ("", "0")
        self.device: str = read_recipe(self.folder)["device"]
        self.state_names: tuple[str, ...] = tuple(one["name"] for one in self.spec["state"])
        self.reference = _import_reference(self.folder, self.spec["scale"])
        self._wanted = [_wanted(one) for one in (*self.spec["tensors"], *self.spec["state"])]
        self._equal = [[tuple(place) for place in group] for group in self.spec["equal"]]
        self._module: ModuleType | None = None
        self._local = threading.local()
        self._checked: set[tuple[torch.Size, ...]] = set()
        self._disabled = ""
        # On a GPU the values are not known without waiting for them, and PyTorch does not check.
        self._has_integers = self.device == "cpu" and any(
            not one.dtype.is_floating_point and one.dtype is not torch.bool for one in self._wanted
        )
        self._ranges: tuple[IndexRange, ...] | None = None
        self._lock = threading.Lock()
        self.operator = _define(self, namespace)

    # Calls

    def run(self, *tensors: torch.Tensor) -> Any:
        """What the operator does, below autograd."""
        reason = self.refusal(tensors)
        if not reason:
            try:
                outputs = self._run_kernel(tensors)
            except ValueError as refused:  # the kernel's own guard
                reason = f"refused by the kernel ({refused})"
            except Exception as error:
                self._disable(f"failed ({type(error).__name__}: {error})")
                reason = self._disabled
            else:
                self.engagement.count("")
                return _result(outputs)
        self.engagement.count(reason)
        return _result(self.run_reference(tensors))

    def run_reference(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The reference's outputs, as new contiguous tensors."""
        skeleton = self._skeleton("reference", tensors[0].device if tensors else None)
        inputs, state = self._arguments(tensors)
        outputs = functional_call(skeleton.module, state, tuple(inputs), strict=False)
        return _own(pytree.tree_leaves(outputs), tensors)

    def refusal(self, tensors: Sequence[torch.Tensor]) -> str:
        """Why the kernel must not be called with these tensors; empty where it may."""
        if self._disabled:
            return self._disabled
        for tensor, wanted in zip(tensors, self._wanted, strict=True):
            if tensor.dtype is not wanted.dtype:
                return "dtype"
            if tensor.device.type != self.device:
                return "device"
            if tensor.dim() != len(wanted.sizes):
                return "rank"
            if tensor.numel() == 0:
                return "empty"
            if not is_plain(tensor) or tensor.is_neg() or tensor.is_quantized:
                return "layout"
            for size, (least, most) in zip(tensor.shape, wanted.sizes, strict=True):
                if not least <= size <= most:
                    return "sizes"
        for first, *others in self._equal:
            size = tensors[first[0]].shape[first[1]]
            if any(tensors[number].shape[axis] != size for number, axis in others):
                return "sizes"
        if self._has_integers and not all(one.contains(tensors) for one in self._index_ranges()):
            return "values"
        return ""

    def _index_ranges(self) -> tuple[IndexRange, ...]:
        with self._lock:
            if self._ranges is None:
                with _disable_current_modes(), _keep_seed(), torch.no_grad():
                    self._ranges = find_ranges(self._example_tensors(), self._accepts)
            return self._ranges

    def _example_tensors(self) -> list[torch.Tensor]:
        state = self.new_reference().state_dict()
        inputs = self.flatten(self.example_inputs()) or []
        return [*inputs, *(state[name] for name in self.state_names)]

    def _accepts(self, tensors: Sequence[torch.Tensor]) -> bool:
        try:
            self.run_reference(tensors)
        except (IndexError, RuntimeError, ValueError):
            return False
        return True

    def _run_kernel(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        skeleton = self._skeleton("kernel")
        dense = [tensor.contiguous() for tensor in tensors]
        inputs, _ = self._arguments(dense)
        state = dense[len(self.spec["tensors"]) :]
        for (values, leaf), tensor in zip(skeleton.places, state, strict=True):
            values[leaf] = tensor
        try:
            outputs = _own(pytree.tree_leaves(skeleton.module.forward(*inputs)), tensors)
        finally:
            for values, leaf in skeleton.places:
                values[leaf] = None
        if self.self_check:
            self._check(tensors, outputs)
        return outputs

    def _arguments(
        self, tensors: Sequence[torch.Tensor]
    ) -> tuple[list[Any], dict[str, torch.Tensor]]:
        count = len(self.spec["tensors"])
        inputs = [_restore(item, tensors[:count]) for item in self.spec["inputs"]["items"]]
        return inputs, dict(zip(self.state_names, tensors[count:], strict=True))

    # The kernel and the reference as modules

    def init_arguments(self) -> list[Any]:
        """The constructor's arguments that the kernel was proven with."""
        given = self.reference.get_init_inputs()
        return list(given.values()) if isinstance(given, dict) else list(given)

    def new_reference(self) -> nn.Module:
        model: nn.Module = self.reference.Model(*self.init_arguments())
        dtype = getattr(self.reference, "DTYPE", None)
        return model.to(getattr(torch, dtype)) if isinstance(dtype, str) else model

    def example_inputs(self) -> list[Any]:
        """Inputs of the sizes that the kernel was measured with, from the reference's file."""
        given = self.reference.get_inputs()
        given = list(given.values()) if isinstance(given, dict) else list(given)
        dtype = getattr(self.reference, "DTYPE", None)
        if not isinstance(dtype, str):
            return given
        cast = lambda t: t.to(getattr(torch, dtype)) if t.is_floating_point() else t  # noqa: E731
        return [pytree.tree_map_only(torch.Tensor, cast, value) for value in given]

    def flatten(self, inputs: Sequence[Any]) -> list[torch.Tensor] | None:
        """The tensors of a call; None where its structure or other values are not the proven."""
        tensors: list[torch.Tensor] = []
        items = self.spec["inputs"]["items"]
        if len(items) != len(inputs):
            return None
        if not all(_take(i, value, tensors) for i, value in zip(items, inputs, strict=True)):
            return None
        return tensors

    def _skeleton(self, what: str, device: torch.device | None = None) -> _Skeleton:
        key = f"{what} {device}"
        found: _Skeleton | None = getattr(self._local, key, None)
        if found is None:
            # Neither a compiler that traces this call nor the caller's generator may notice.
            with (
                _disable_current_modes(), _keep_seed(), torch.inference_mode(False), torch.no_grad()
            ):  # fmt: skip
                module = self._construct(what)
                if device is not None:
                    module = module.to(device)
            found = _Skeleton(module, tuple(_place(module, name) for name in self.state_names))
            setattr(self._local, key, found)
        return found

    def _construct(self, what: str) -> nn.Module:
        if what == "reference":
            return self.new_reference()
        module: nn.Module = self._load().ModelNew(*self.init_arguments())
        return module

    def _load(self) -> ModuleType:
        """The kernel's module. Its folder is read once, and may be gone after that."""
        if self._module is None:
            self._module = load_kernel(self.folder)
        return self._module

    def build(self) -> str:
        """Build and load the kernel now; returns why that is impossible, else nothing."""
        try:
            self._load()
        except KernelUnavailable as error:
            self._disabled = f"not built ({error})"
        return self._disabled

    def _disable(self, reason: str) -> None:
        self._disabled = reason
        warnings.warn(f"{self.name}: the kernel {reason}; the reference runs", stacklevel=4)

    def _check(self, tensors: Sequence[torch.Tensor], outputs: list[torch.Tensor]) -> None:
        """Raise where outputs are further from float64 than the reference's allow."""
        key = tuple(tensor.shape for tensor in tensors)
        if key in self._checked:
            return
        if not self.agrees(tensors, outputs):
            raise RuntimeError("the self-check found another result than the reference's")
        self._checked.add(key)

    def agrees(self, tensors: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> bool:
        """Whether outputs are as near to the reference in float64 as its own may be."""
        own = self.run_reference(tensors)
        wide = self._wide_reference(tensors)
        tolerance = float(self.spec["tolerance"])
        return all(
            within_budget(ours, theirs, exact, tolerance)
            for ours, theirs, exact in zip(outputs, own, wide, strict=True)
        )

    def _wide_reference(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        wide = [t.double() if t.is_floating_point() else t for t in tensors]
        with _keep_seed():
            module = self.new_reference().double()
        inputs, state = self._arguments(wide)
        outputs = functional_call(module, state, tuple(inputs), strict=False)
        return _own(pytree.tree_leaves(outputs), wide)

    def fake(self, *tensors: torch.Tensor) -> Any:
        """Shapes and types of the outputs, from the reference on tensors without values."""
        module = self.new_reference()
        inputs, state = self._arguments(tensors)
        outputs = functional_call(module, state, tuple(inputs), strict=False)
        return _result(
            [
                torch.empty(leaf.shape, dtype=leaf.dtype, device=leaf.device)
                for leaf in pytree.tree_leaves(outputs)
            ]
        )

    def gradients(self, tensors: Sequence[Any], needed: Sequence[bool], grads: Any) -> list[Any]:
        """PyTorch's own gradients: the reference is computed again."""
        with torch.enable_grad():
            leaves = [
                tensor.detach().requires_grad_(wanted)
                for tensor, wanted in zip(tensors, needed, strict=True)
            ]
            skeleton = self._skeleton("reference", leaves[0].device if leaves else None)
            inputs, state = self._arguments(leaves)
            outputs = functional_call(skeleton.module, state, tuple(inputs), strict=False)
        pairs = [
            (output, grad)
            for output, grad in zip(pytree.tree_leaves(outputs), grads, strict=True)
            if grad is not None and output.requires_grad
        ]
        if not pairs:
            return [None] * len(leaves)
        ends, starts = zip(*pairs, strict=True)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = iter(torch.autograd.grad(ends, wanted, starts, allow_unused=True))
        return [next(found) if leaf.requires_grad else None for leaf in leaves]


def _keep_seed() -> Any:
    """Leaves the CPU's generator as it was; kernels are constructed there."""
    return torch.random.fork_rng(devices=())


def within_budget(
    ours: torch.Tensor, theirs: torch.Tensor, exact: torch.Tensor, tolerance: float
) -> bool:
    """Whether a result is within `tolerance` times the framework's own error of the exact one."""
    if ours.shape != theirs.shape or ours.dtype is not theirs.dtype:
        return False
    if not ours.is_floating_point():
        return torch.equal(ours, theirs)
    epsilon = torch.finfo(ours.dtype).eps
    ours, theirs, exact = ours.double(), theirs.double(), exact.double()
    finite = torch.isfinite(exact) & torch.isfinite(theirs)
    if not torch.equal(ours[~finite].nan_to_num(), theirs[~finite].nan_to_num()):
        return False
    if not bool(finite.any()):
        return True
    exact = exact[finite]
    error = (ours[finite] - exact).abs().max()
    own = (theirs[finite] - exact).abs().max()
    unit = epsilon * exact.abs().max()
    return bool(error <= tolerance * torch.maximum(own, unit))


def _define(kernel: Kernel, namespace: str) -> Any:
    """Register the operator with its fake implementation and its gradient."""
    library = torch.library.Library(namespace, "FRAGMENT")
    _libraries.append(library)
    arguments = ", ".join(f"Tensor t{number}" for number in range(len(kernel._wanted)))
    count = int(kernel.spec["outputs"])
    returned = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
    library.define(f"{kernel.name}({arguments}) -> {returned}", tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(kernel.name, kernel.run, "CompositeExplicitAutograd")
    name = f"{namespace}::{kernel.name}"
    torch.library.register_fake(name, kernel.fake, lib=library)

    def remember(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, *grads: Any) -> Any:
        return tuple(kernel.gradients(ctx.saved_tensors, ctx.needs_input_grad, grads))

    torch.library.register_autograd(name, backward, setup_context=remember, lib=library)
    return getattr(getattr(torch.ops, namespace), kernel.name).default


_libraries: list[torch.library.Library] = []
"""Definitions last as long as these do."""


def _result(outputs: list[torch.Tensor]) -> Any:
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _own(leaves: Sequence[Any], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Outputs as contiguous tensors that share no memory with an input or with each other."""
    taken = {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}
    owned = []
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise TypeError(f"an output is a {type(leaf).__name__}, not a tensor")
        dense = leaf.contiguous()
        if dense.numel() and dense.untyped_storage().data_ptr() in taken:
            dense = dense.clone(memory_format=torch.contiguous_format)
        taken.add(dense.untyped_storage().data_ptr())
        owned.append(dense)
    return owned


def _wanted(spec: dict[str, Any]) -> _Wanted:
    sizes = tuple((int(least), int(most)) for least, most in spec["sizes"])
    return _Wanted(getattr(torch, spec["dtype"]), sizes)


def _place(module: nn.Module, name: str) -> tuple[dict[str, Any], str]:
    """The dictionary that holds a parameter or buffer, and its name there."""
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path)
    values: Any = owner._parameters if leaf in owner._parameters else owner._buffers
    return values, leaf


def _restore(node: dict[str, Any], tensors: Sequence[torch.Tensor]) -> Any:
    """An argument with these tensors in it."""
    if node.get("tensor") is not None:
        return tensors[node["tensor"]]
    if node.get("items") is None:
        return node.get("scalar")
    items = [_restore(item, tensors) for item in node["items"]]
    keys = node.get("keys")
    return items if keys is None else dict(zip(keys, items, strict=True))


def _take(node: dict[str, Any], value: Any, tensors: list[torch.Tensor]) -> bool:
    """Append the tensors of an argument; False where it is not built as this node is."""
    if node.get("tensor") is not None:
        tensors.append(value)
        return isinstance(value, torch.Tensor)
    items = node.get("items")
    if items is None:
        wanted = node.get("scalar")
        return type(value) is type(wanted) and value == wanted
    keys = node.get("keys")
    if keys is not None:
        if not isinstance(value, dict) or list(value) != list(keys):
            return False
        value = list(value.values())
    if not isinstance(value, list | tuple) or len(value) != len(items):
        return False
    return all(_take(item, one, tensors) for item, one in zip(items, value, strict=True))


def _import_reference(folder: Path, scale: str) -> ModuleType:
    path = folder / REFERENCE_FILE
    spec = importlib.util.spec_from_file_location(f"kernelmill_reference_{folder.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module).update(getattr(module, "SCALES", {}).get(scale, {}))
    return module
