"""Modules and functions with kernels put in: drop-in, revertible, and wrong in no call."""

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils import _pytree as pytree

from kernelmill.deploy.capture import Capture
from kernelmill.deploy.optimize_report import OptimizeReport
from kernelmill.deploy.patching import Run
from kernelmill.records.errors import UsageError
from kernelmill.shipped.operators import Engagement, Kernel


class PatchedGraph:
    """A captured module's graph with kernels, and the conditions under which it is used."""

    def __init__(self, capture: Capture, run: Run, kernels: Mapping[str, Kernel]) -> None:
        self.capture = capture
        self.kernels = dict(kernels)
        self.engagement = Engagement()
        self._run = run
        self._device = next(iter(kernels.values())).device if kernels else "cpu"

    def refusal(self, module: nn.Module, leaves: list[Any], structure: pytree.TreeSpec) -> str:
        """Why the module itself must answer a call; empty where the graph may."""
        if torch.is_autocast_enabled(self._device):
            return "autocast"
        reason = self.capture.refusal(module, leaves, structure)
        if reason or not torch.is_grad_enabled():
            return reason
        needed = [*module.parameters(), *leaves]
        wanted = any(isinstance(one, torch.Tensor) and one.requires_grad for one in needed)
        return "gradients" if wanted else ""

    def answer(self, module: nn.Module, leaves: list[Any]) -> Any:
        outputs = self._run(*self.capture.values(module, leaves))
        wanted = self.capture.strides
        laid = [_lay_out(one, strides) for one, strides in zip(outputs, wanted, strict=True)]
        return pytree.tree_unflatten(laid, self.capture.returned)

    def copied(self, memo: dict[int, Any]) -> "PatchedGraph":
        """For a deep copy of the module, made with this memo; kernels are shared."""
        return PatchedGraph(self.capture.copied(memo), self._run, self.kernels)


def _lay_out(output: Any, strides: tuple[int, ...] | None) -> Any:
    """An output with the strides that the original's has."""
    if strides is None or output.stride() == strides or 0 in strides:
        return output
    laid = torch.empty_strided(output.shape, strides, dtype=output.dtype, device=output.device)
    return laid.copy_(output)


class Optimized(Protocol):
    """What `optimize` returns, beside being a drop-in for what it was given."""

    report: OptimizeReport

    def revert(self) -> Any: ...

    def engagement(self) -> dict[str, Engagement]: ...

    def __call__(self, *arguments: Any, **named: Any) -> Any: ...


class OptimizedModule(nn.Module):
    """Forward, copying and reverting of an optimized module.

    Its class has the module's own class as other base. Its attributes are the module's own, all of
    them, so that what is set on one is set on the other.
    """

    # Of the class, so that the module's own attributes stay as they are.
    report: OptimizeReport
    _kernelmill_original: nn.Module
    _kernelmill_kind: type[nn.Module]
    _kernelmill_graph: PatchedGraph | None

    def forward(self, *arguments: Any, **named: Any) -> Any:
        graph, kind = self._kernelmill_graph, self._kernelmill_kind
        if graph is None:
            return kind.forward(self, *arguments, **named)
        leaves, structure = pytree.tree_flatten((arguments, named))
        reason = graph.refusal(self, leaves, structure)
        if not torch.compiler.is_compiling():
            graph.engagement.count(reason)
        if reason:
            return kind.forward(self, *arguments, **named)
        return graph.answer(self, leaves)

    def revert(self) -> nn.Module:
        """The module that was optimized. It was never changed, and its state is shared."""
        return self._kernelmill_original

    def engagement(self) -> dict[str, Engagement]:
        """How often the graph and each kernel ran, and what answered instead and why."""
        graph = self._kernelmill_graph
        if graph is None:
            return {}
        kernels = {name: kernel.engagement for name, kernel in graph.kernels.items()}
        return {"graph": graph.engagement, **kernels}

    def __prepare_scriptable__(self) -> nn.Module:
        return self.revert()

    def __copy__(self) -> nn.Module:
        return put_in(copy.copy(self.revert()), self._kernelmill_graph, self.report)

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        module, graph = copy.deepcopy(self.revert(), memo), self._kernelmill_graph
        return put_in(module, None if graph is None else graph.copied(memo), self.report)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "an optimized module cannot be pickled: pickle what .revert() returns, or save the "
            "state dict, and call kernelmill.optimize again, which finds its kernels at once"
        )


def put_in(module: nn.Module, graph: PatchedGraph | None, report: OptimizeReport) -> nn.Module:
    """A drop-in for a module, sharing its state; without a graph it does what the module does."""
    kind: Any = type(module)

    @functools.wraps(kind.forward)
    def forward(self: OptimizedModule, *arguments: Any, **named: Any) -> Any:
        return OptimizedModule.forward(self, *arguments, **named)

    body = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "forward": forward,  # with the signature that tools look at
        "report": report,
        "_kernelmill_original": module,
        "_kernelmill_kind": kind,
        "_kernelmill_graph": graph,
    }
    made: Any = type(f"Optimized{kind.__name__}", (OptimizedModule, kind), body)
    optimized: nn.Module = made.__new__(made)
    optimized.__dict__ = module.__dict__
    return optimized


def demand_free_names(module: nn.Module) -> None:
    """Raise UsageError where a module has an attribute that its drop-in needs for itself."""
    for name in ("report", "revert", "engagement"):
        if hasattr(module, name):
            raise UsageError(
                f"{module._get_name()} has an attribute {name!r}, as what optimize returns has: "
                "rename it, or optimize a module that holds this one"
            )


class FunctionModule(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = [function]
        self.training = False

    def _get_name(self) -> str:
        return getattr(self._function[0], "__name__", "the function")

    def forward(self, *arguments: Any, **named: Any) -> Any:
        return self._function[0](*arguments, **named)


class OptimizedFunction:
    """A function with kernels put in."""

    def __init__(self, module: Any, function: Callable[..., Any]) -> None:
        self._module = module
        self._function = function
        self.report: OptimizeReport = module.report
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._module(*arguments, **named)

    def revert(self) -> Callable[..., Any]:
        """The function that was optimized."""
        return self._function

    def engagement(self) -> dict[str, Engagement]:
        found: dict[str, Engagement] = self._module.engagement()
        return found
