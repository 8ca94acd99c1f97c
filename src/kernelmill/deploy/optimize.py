"""`kernelmill.optimize`: a model with proven kernels put in where the whole becomes faster."""

import copy
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.backends import get_backend
from kernelmill.campaign import Watcher
from kernelmill.deploy.capture import Capture, capture_module
from kernelmill.deploy.champions import Champion
from kernelmill.deploy.kernel_lookup import (
    Lookup,
    Progress,
    SearchBudget,
    look_up_kernels,
    make_kernel,
    write_tasks,
)
from kernelmill.deploy.measure import time_arms
from kernelmill.deploy.model_files import load_model
from kernelmill.deploy.optimize_report import FASTER, REPLACED, OptimizeReport, RegionRow
from kernelmill.deploy.optimized import (
    FunctionModule,
    OptimizedFunction,
    OptimizedModule,
    PatchedGraph,
    demand_free_names,
    put_in,
)
from kernelmill.deploy.patching import patch_graph
from kernelmill.deploy.profile import GraphProfile, profile_graph
from kernelmill.deploy.region_tasks import RegionTask, name_regions
from kernelmill.deploy.regions import find_regions
from kernelmill.judge.statistics import ratio_interval, typical_time
from kernelmill.records.errors import UsageError
from kernelmill.records.verdict import Interval
from kernelmill.shipped.operators import Kernel, within_budget

_LEAST_SHARE = 0.005
"""Regions with less of the model's time are not worth a kernel."""
_SCREENING_ROUNDS = 12
_LEAST_GAIN = 0.99
"""A kernel that brings less within the model is left out; noise hides what is nearer to 1."""
_TOLERANCE = 8.0
DEFAULT_BUDGET = 2
DEFAULT_ROUNDS = 30


class Regions(NamedTuple):
    """A captured module with its kinds of regions, the most time-consuming first."""

    capture: Capture
    profile: GraphProfile
    tasks: tuple[RegionTask, ...]

    def share(self, task: RegionTask) -> float:
        spent = sum(map(self.profile.of_region, task.regions))
        return spent / max(self.profile.total, 1e-12)


class _Measured(NamedTuple):
    end_to_end: Interval
    a_a: Interval
    graph_alone: Interval
    original_ms: float


def optimize(
    module_or_function: nn.Module | Callable[..., Any],
    example_inputs: Any,
    *,
    budget: int = DEFAULT_BUDGET,
    backend: str = "cpp",
    workspace: str | Path = DEFAULT_WORKSPACE,
    max_minutes: float | None = None,
    rounds: int = DEFAULT_ROUNDS,
    progress: Progress = lambda _text: None,
    watcher: Watcher | None = None,
) -> Any:
    """A drop-in for a module or function, with proven kernels where the whole becomes faster.

    `example_inputs` are the arguments of one call: a tuple or list, a dict by name, or one tensor.
    `budget` is the number of attempts per kind of region that the workspace has no kernel for; 0
    only looks up. The result has `report`, `revert()` and `engagement()`. A call that differs from
    the example in types, sizes, strides or training mode, needs gradients, or runs under autocast,
    is answered by the original.
    """
    return _optimize(
        module_or_function, *_arguments(example_inputs), budget=budget, backend=backend,
        workspace=workspace, max_minutes=max_minutes, rounds=rounds, progress=progress,
        watcher=watcher,
    )  # fmt: skip


def _optimize(
    module_or_function: Any,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
    *,
    budget: int = DEFAULT_BUDGET,
    backend: str = "cpp",
    workspace: str | Path = DEFAULT_WORKSPACE,
    max_minutes: float | None = None,
    rounds: int = DEFAULT_ROUNDS,
    progress: Progress = lambda _text: None,
    watcher: Watcher | None = None,
) -> Any:
    begun = time.monotonic()
    original = _original(module_or_function)
    module = original if isinstance(original, nn.Module) else FunctionModule(original)
    demand_free_names(module)
    _demand_device(module, (arguments, named), backend)
    progress("capturing the graph")
    regions = extract_regions(module, arguments, named)
    worth = [task for task in regions.tasks if regions.share(task) >= _LEAST_SHARE]
    lookup = look_up_kernels(
        worth, Path(workspace), backend, SearchBudget(budget, max_minutes), progress, watcher
    )
    work = _Assembly(module, arguments, named, regions, lookup, Path(workspace), rounds, progress)
    graph, report = work.assemble(backend, begun)
    optimized = put_in(module, graph, report)
    return optimized if original is module else OptimizedFunction(optimized, original)


def optimized(
    example_inputs: Any = None, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a function: `optimize` with the inputs of its first call, or with those given.

    The default budget is 0, so that a first call only looks the workspace up.
    """
    settings = {"budget": 0, **options}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        made: list[Any] = []
        if example_inputs is not None:
            made.append(optimize(function, example_inputs, **settings))

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if torch.compiler.is_compiling():
                return function(*arguments, **named)
            if not made:
                made.append(_optimize(function, arguments, named, **settings))
            return made[0](*arguments, **named)

        call.revert = lambda: function  # type: ignore[attr-defined]
        call.optimized = lambda: made[0] if made else None  # type: ignore[attr-defined]
        return call

    return decorate


def extract_regions(
    module: nn.Module, arguments: Sequence[Any], named: Mapping[str, Any]
) -> Regions:
    """Capture, cut and profile a module. Raises UsageError where it cannot be captured."""
    capture = capture_module(module, arguments, named)
    _demand_determinism(capture.graph.graph, module)
    found = find_regions(capture.graph.graph)
    leaves = pytree.tree_leaves((tuple(arguments), dict(named)))
    profile = profile_graph(capture.graph, capture.values(module, leaves), found)
    placeholders = [node for node in capture.graph.graph.nodes if node.op == "placeholder"]
    sources = dict(zip(placeholders, capture.sources, strict=True))
    tasks = name_regions(found, sources, profile.examples, module._get_name())
    regions = Regions(capture, profile, tuple(tasks))
    return regions._replace(tasks=tuple(sorted(tasks, key=regions.share, reverse=True)))


def extract_model_file(model: str, to: Path) -> tuple[RegionRow, ...]:
    """Write the regions of a model's file as tasks; their share of its time, the largest first."""
    module, inputs = load_model(model)
    regions = extract_regions(module, *_arguments(inputs))
    write_tasks(regions.tasks, to)
    return tuple(
        RegionRow(task.name, task.operators, len(task.regions), regions.share(task), None, "")
        for task in regions.tasks
    )


def patch_model_file(model: str, **options: Any) -> OptimizeReport:
    """`optimize` of a model's file: its report."""
    module, inputs = load_model(model)
    report: OptimizeReport = optimize(module, inputs, **options).report
    return report


def _demand_device(module: nn.Module, given: Any, backend: str) -> None:
    wanted = get_backend(backend).shipped_device
    if not wanted:
        raise UsageError(f"kernels of backend {backend} run in a simulator only: choose another")
    tensors = [one for one in pytree.tree_leaves(given) if isinstance(one, torch.Tensor)]
    kinds = {one.device.type for one in (*tensors, *module.parameters(), *module.buffers())}
    kinds.discard("meta")  # which capturing names
    if kinds and wanted not in kinds:
        raise UsageError(
            f"kernels of backend {backend} run on {wanted}, and the tensors of "
            f"{module._get_name()} are on {', '.join(sorted(kinds))}: move them, or choose "
            "another backend"
        )


def _demand_determinism(graph: fx.Graph, module: nn.Module) -> None:
    for node in graph.nodes:
        if _draws(node):
            remedy = "call .eval() first" if module.training else "optimize the parts that do not"
            raise UsageError(f"{module._get_name()} draws random numbers ({node.target}): {remedy}")


def _draws(node: fx.Node) -> bool:
    """Whether a node draws random numbers; dropout that is turned off does not."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    for number, argument in enumerate(target._schema.arguments):
        if argument.name in ("dropout_p", "train", "training"):
            given = node.args[number] if number < len(node.args) else argument.default_value
            return bool(node.kwargs.get(argument.name, given))
    return True


class _Assembly:
    """One model, its kernels, and the choice of those that make it faster."""

    def __init__(
        self,
        module: nn.Module,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        regions: Regions,
        lookup: Lookup,
        workspace: Path,
        rounds: int,
        progress: Progress,
    ) -> None:
        self._module = module
        self._arguments, self._named = arguments, named
        self._regions = regions
        self._lookup = lookup
        self._workspace = workspace
        self._rounds = rounds
        self._progress = progress
        self._kernels: dict[str, Kernel] = {}
        self._outcomes: dict[str, str] = {}

    def assemble(self, backend: str, begun: float) -> tuple[PatchedGraph | None, OptimizeReport]:
        for task in self._regions.tasks:
            self._outcomes[task.name] = self._prepare(task)
        chosen = self._screen([t for t in self._regions.tasks if t.name in self._kernels])
        graph = self._patched(chosen) if chosen else None
        measured, outcome = None, "no kernel makes it faster"
        if graph is not None:
            measured, outcome = self._judge(graph)
        for task in chosen:
            self._outcomes[task.name] = REPLACED if outcome == FASTER else outcome
        report = OptimizeReport(
            self._module._get_name(),
            backend,
            tuple(map(self._row, self._regions.tasks)),
            None if measured is None else measured.end_to_end,
            None if measured is None else measured.original_ms,
            outcome,
            self._lookup.searched,
            self._lookup.found,
            time.monotonic() - begun,
            None if measured is None else measured.a_a,
            None if measured is None else measured.graph_alone,
        )
        return (graph if outcome == FASTER else None), report

    def _prepare(self, task: RegionTask) -> str:
        """Make the kernel of a region, if it may be used; returns why not, else nothing."""
        champion = self._lookup.champions.get(task.name)
        if champion is None:
            if self._regions.share(task) < _LEAST_SHARE:
                return "too little time to be worth a kernel"
            return self._lookup.reasons.get(task.name, "no kernel in the workspace")
        if not champion.is_faster:
            return "its kernel is not shown to be faster than PyTorch"
        kernel = make_kernel(champion, self._workspace)
        if problem := kernel.build():
            return problem
        examples = self._regions.profile.examples
        for arguments in task.arguments:
            tensors = [examples[node].detach() for node in arguments]
            if reason := kernel.refusal(tensors):
                return f"its kernel does not take the tensors of this model: {reason}"
            with torch.no_grad():
                outputs = kernel.run(*tensors)
                listed = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
                if not kernel.agrees(tensors, listed):
                    return "its kernel is not exact enough on the values of this model"
        self._kernels[task.name] = kernel
        return "slower within the model"

    def _screen(self, tasks: list[RegionTask]) -> list[RegionTask]:
        """The kinds of regions whose kernels help within the model, each on its own."""
        if not tasks:
            return []
        self._progress(f"measuring {len(tasks)} kernels within the model")
        plain = self._patched([])
        arms = {"plain": self._arm(plain)}
        arms |= {task.name: self._arm(self._patched([task])) for task in tasks}
        times = time_arms(arms, _SCREENING_ROUNDS)
        gains = {t.name: ratio_interval(times["plain"], times[t.name]).ratio for t in tasks}
        return [task for task in tasks if gains[task.name] > _LEAST_GAIN]

    def _judge(self, graph: PatchedGraph) -> tuple[_Measured, str]:
        self._progress("measuring end to end")
        arms = {
            "original": lambda: self._module(*self._arguments, **self._named),
            "again": lambda: self._module(*self._arguments, **self._named),
            "graph": self._arm(self._patched([])),
            "kernels": self._arm(graph),
        }
        times = time_arms(arms, self._rounds)
        measured = _Measured(
            ratio_interval(times["original"], times["kernels"]),
            ratio_interval(times["original"], times["again"]),
            ratio_interval(times["original"], times["graph"]),
            1e3 * typical_time(times["original"]),
        )
        return measured, self._conclusion(graph, measured)

    def _conclusion(self, graph: PatchedGraph, measured: _Measured) -> str:
        if not graph.engagement.kernel:
            return f"the original answers the example itself ({graph.engagement})"
        for kernel in graph.kernels.values():
            if not kernel.engagement.kernel or kernel.engagement.fallbacks:
                return f"a kernel was not engaged ({kernel.name}: {kernel.engagement})"
        if not self._agrees(graph):
            return "the whole is not exact enough"
        if measured.end_to_end.verdict != "faster":
            return "not shown to be faster end to end"
        return FASTER

    def _agrees(self, graph: PatchedGraph) -> bool:
        """Whether outputs are as near to those in float64 as the original's may be."""
        with torch.no_grad():
            theirs = pytree.tree_leaves(self._module(*self._arguments, **self._named))
            ours = pytree.tree_leaves(self._arm(graph)())
            try:
                exact = self._in_float64()
            except (RuntimeError, TypeError):  # code with a fixed type
                exact = [t.double() if t.is_floating_point() else t for t in theirs]
        return all(
            within_budget(one, other, wide, _TOLERANCE)
            for one, other, wide in zip(ours, theirs, exact, strict=True)
            if isinstance(one, torch.Tensor)
        )

    def _in_float64(self) -> list[Any]:
        wide = copy.deepcopy(self._module).double()
        cast: Any = lambda t: t.double() if t.is_floating_point() else t  # noqa: E731
        arguments, named = pytree.tree_map_only(torch.Tensor, cast, (self._arguments, self._named))
        return pytree.tree_leaves(wide(*arguments, **named))

    def _patched(self, tasks: Sequence[RegionTask]) -> PatchedGraph:
        kernels = {task.name: self._kernels[task.name] for task in tasks}
        for kernel in kernels.values():
            kernel.engagement.reset()
        run = patch_graph(self._regions.capture, tasks, kernels)
        return PatchedGraph(self._regions.capture, run, kernels)

    def _arm(self, graph: PatchedGraph) -> Callable[[], Any]:
        """A call as a user makes it, with every check."""
        optimized = put_in(self._module, graph, _NO_REPORT)
        return lambda: optimized(*self._arguments, **self._named)

    def _row(self, task: RegionTask) -> RegionRow:
        champion = self._lookup.champions.get(task.name)
        return RegionRow(
            task.name,
            task.operators,
            len(task.regions),
            self._regions.share(task),
            _alone(champion),
            self._outcomes[task.name],
        )


_NO_REPORT = OptimizeReport("", "", (), None, None, "", 0, 0, 0.0)


def _alone(champion: Champion | None) -> Interval | None:
    latency = None if champion is None else champion.verdict.latency
    return None if latency is None else latency.over_baseline


def _original(given: Any) -> Any:
    if isinstance(given, torch.jit.ScriptModule):
        raise UsageError("a scripted module cannot be captured: give the module it was made from")
    if isinstance(given, torch._dynamo.eval_frame.OptimizedModule):
        raise UsageError("a compiled module cannot be captured: give the module it was made from")
    if isinstance(given, OptimizedModule | OptimizedFunction):
        return given.revert()
    if not callable(given):
        raise UsageError(f"a {type(given).__name__} is neither a module nor a function")
    return given


def _arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, Mapping):
        return (), dict(example)
    if isinstance(example, list | tuple):
        return tuple(example), {}
    return (example,), {}
