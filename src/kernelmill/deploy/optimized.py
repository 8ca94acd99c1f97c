"""Modules and functions with kernels put in: drop-in, revertible, and wrong in no call."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils import _pytree as pytree

from kernelmill.deploy.capture import Capture
from kernelmill.deploy.optimize_report import OptimizeReport
from kernelmill.deploy.patching import Run
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
        return pytree.tree_unflatten(list(outputs), self.capture.returned)


class Optimized(Protocol):
    """What `optimize` returns, beside being a drop-in for what it was given."""

    report: OptimizeReport

    def revert(self) -> Any: ...

    def engagement(self) -> dict[str, Engagement]: ...

    def __call__(self, *arguments: Any, **named: Any) -> Any: ...


class _OptimizedModule(nn.Module):
    """Forward, copying and reverting of an optimized module; its other base is the module's own
    class, and its state the module's own."""

    report: OptimizeReport
    _kernelmill_original: list[nn.Module]
    """In a list, so that it is no submodule."""
    _kernelmill_graph: PatchedGraph | None

    def forward(self, *arguments: Any, **named: Any) -> Any:
        graph = self._kernelmill_graph
        base = type(self).__mro__[2]
        if graph is None:
            return base.forward(self, *arguments, **named)  # type: ignore[attr-defined]
        leaves, structure = pytree.tree_flatten((arguments, named))
        reason = graph.refusal(self, leaves, structure)
        if not torch.compiler.is_compiling():
            graph.engagement.count(reason)
        if reason:
            return base.forward(self, *arguments, **named)  # type: ignore[attr-defined]
        return graph.answer(self, leaves)

    def revert(self) -> nn.Module:
        """The module that was optimized. It was never changed, and its state is shared."""
        return self._kernelmill_original[0]

    def engagement(self) -> dict[str, Engagement]:
        """How often the graph and each kernel ran, and what answered instead and why."""
        graph = self._kernelmill_graph
        if graph is None:
            return {}
        kernels = {name: kernel.engagement for name, kernel in graph.kernels.items()}
        return {"graph": graph.engagement, **kernels}

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        # The graph holds no state: copies share it, and copy what the original copies.
        return put_in(copy.deepcopy(self.revert(), memo), self._kernelmill_graph, self.report)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "an optimized module cannot be pickled: pickle what .revert() returns, or save the "
            "state dict, and call kernelmill.optimize again, which finds its kernels at once"
        )


def put_in(module: nn.Module, graph: PatchedGraph | None, report: OptimizeReport) -> nn.Module:
    """A drop-in for a module, sharing its state; without a graph it does what the module does."""
    kind = type(module)
    body = {"__module__": kind.__module__}
    made: Any = type(f"Optimized{kind.__name__}", (_OptimizedModule, kind), body)
    optimized: nn.Module = made.__new__(made)
    # The dictionaries of parameters, buffers and submodules are the module's own.
    optimized.__dict__.update(module.__dict__)
    optimized.__dict__.update(report=report, _kernelmill_original=[module], _kernelmill_graph=graph)
    return optimized


class FunctionModule(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = [function]

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
