"""Execution of a task file. Imported inside sandboxes only: untrusted task code runs here."""

import copy
import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from kernelmill.records.task import Constants
from kernelmill.records.tensors import HALF_TYPES
from kernelmill.tasks.distributions import InputDistribution, repaired
from kernelmill.tasks.fitting import OPERATION_LIMITS, OperationCounter, fit
from kernelmill.tasks.promises import Promises
from kernelmill.tensors.torch_side import describe_value

OWN = ("own", "own")
"""Inputs and parameters as the file draws them."""


_TRAINED_FOR = "num_batches_tracked"
"""A whole number that normalisation keeps, and that few models compute with."""
_MOST_STEPS = 1 << 20


class UnusableTask(Exception):
    """A task cannot be used; the message tells its author why."""


class Draw(NamedTuple):
    """A model and a set of inputs, sampled from one seed."""

    model: nn.Module
    inputs: list[Any]


class TaskModule:
    """The namespace of a task file, whose size constants can be replaced."""

    def __init__(self, source: str, scale: str, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self._module = types.ModuleType("kernelmill_task")
        exec(compile(source, "<task>", "exec"), self._module.__dict__)
        self.source = source
        """The source, with fitted sizes appended where it declares none for the scale."""
        if scale in OPERATION_LIMITS and scale not in self._scales:
            self._declare_fitted(scale)
        elif scale != "cpu" and scale not in self._scales and self._scales:
            known = ", ".join(self._scales)
            raise UnusableTask(f"it has no sizes for scale {scale!r}, only {known}")
        self._module.__dict__.update(self._scales.get(scale, {}))

    @property
    def _scales(self) -> dict[str, Constants]:
        return getattr(self._module, "SCALES", {})

    @property
    def declared_hidden(self) -> list[Constants] | None:
        """The HIDDEN list of the file; None where it has none."""
        return getattr(self._module, "HIDDEN", None)

    @property
    def declared_domain(self) -> Any:
        """The DOMAIN of the file; None where it has none."""
        return getattr(self._module, "DOMAIN", None)

    @property
    def promises(self) -> tuple[Promises, ...]:
        """What the description has found out about the inputs, by tensor."""
        return getattr(self._module, "PROMISES", ())

    @property
    def repair(self) -> tuple[str, str]:
        """How inputs and parameters differ from the file's own, which ask nothing."""
        return getattr(self._module, "REPAIR", OWN)

    @property
    def forward(self) -> Any:
        return self._module.Model.forward

    def declare(self, name: str, value: object) -> None:
        """Append what was found out to the source, so that the next load finds it declared."""
        self._append(f"{name} = {value!r}")

    def _append(self, text: str) -> None:
        exec(compile(text, "<task>", "exec"), self._module.__dict__)
        self.source = f"{self.source}\n{text}\n"

    def _declare_fitted(self, scale: str) -> None:
        """Append fitted sizes to the source, so that the next load finds them declared."""
        most = OPERATION_LIMITS[scale]
        lines = [f"SCALES = {self._scales | {scale: self._fit({}, most)}!r}"]
        if self.declared_hidden is not None:
            hidden = [constants | self._fit(constants, most) for constants in self.declared_hidden]
            lines.append(f"HIDDEN = {hidden!r}")
        self._append("\n".join(lines))

    def _fit(self, constants: Constants, most: int) -> Constants:
        """Sizes to replace so that a call takes at most `most` operations."""
        declared = [name for hidden in self.declared_hidden or () for name in hidden]
        known = {name: vars(self._module)[name] for name in declared} | self.free_constants()
        sizes = {name: int(constants.get(name, value)) for name, value in known.items()}
        return dict(fit(sizes, most, lambda fitted: self._work(constants | fitted)))

    def _work(self, constants: Constants) -> int | None:
        """Operations of one call, counted without computing; None where it raises."""
        counter = OperationCounter()
        try:
            with self.sized(constants), torch.device("meta"), torch.no_grad():
                model = self._module.Model(*self.init_arguments())
                given = self._module.get_inputs()
                inputs = _in_order(given, "get_inputs", model.forward)
                with counter:
                    model(*inputs)
        except Exception:  # the task's own code may raise anything on sizes it was not made for
            return None
        return counter.operations

    def free_constants(self) -> dict[str, int]:
        """Sizes that get_inputs reads and get_init_inputs does not."""
        reads = set(self._module.get_inputs.__code__.co_names)
        fixed = set(self._module.get_init_inputs.__code__.co_names)
        values = vars(self._module)
        return {
            name: values[name]
            for name in sorted(reads - fixed)
            if type(values.get(name)) is int and values[name] > 1
        }

    @contextmanager
    def sized(self, constants: Constants) -> Iterator[None]:
        """Replace constants within the context."""
        before = {name: vars(self._module)[name] for name in constants}
        vars(self._module).update(constants)
        try:
            yield
        finally:
            vars(self._module).update(before)

    def init_arguments(self) -> list[Any]:
        given = self._module.get_init_inputs()
        return _in_order(given, "get_init_inputs", self._module.Model)

    def inputs(self, seed: int) -> list[Any]:
        torch.manual_seed(seed)
        with self.device:
            given = self._module.get_inputs()
        inputs = _in_order(given, "get_inputs", partial(self._module.Model.forward, None))
        return [to_device(_in_type(value, self.dtype), self.device) for value in inputs]

    def model(self, seed: int) -> nn.Module:
        torch.manual_seed(seed)
        with self.device:
            arguments = self.init_arguments()
            torch.manual_seed(seed)
            model = self.construct(*arguments)
        tensors = [*model.parameters(), *model.buffers()]
        # Tensors without values cannot be moved, not even to where they are.
        there = all(tensor.device == self.device for tensor in tensors)
        return model if there else model.to(self.device)

    def construct(self, *arguments: Any) -> nn.Module:
        """A model as the file's own code makes it, in the type that the file declares."""
        model = self._module.Model(*arguments)
        if not isinstance(model, nn.Module):
            raise UnusableTask("Model is not a torch.nn.Module")
        return model if self.dtype is None else model.to(self.dtype)

    @property
    def dtype(self) -> torch.dtype | None:
        """The type that models and inputs are converted to; None where they stay as they are."""
        name = getattr(self._module, "DTYPE", None)
        return getattr(torch, name) if isinstance(name, str) and name in HALF_TYPES else None

    def draw(
        self, constants: Constants, distribution: str, seed: int, change: str = "nothing"
    ) -> Draw:
        """A model with random state and inputs of one distribution, determined by the seed.

        For screening, `change` replaces one part: other "inputs", or the default "state".
        """
        with self.sized(constants):
            model = self.model(seed)
        if change != "state":
            randomise_state(model, torch.Generator(self.device).manual_seed(seed + 2))
        how_inputs, how_state = self.repair
        repair_state(model, how_state)
        other = 100 if change == "inputs" else 0
        return Draw(model, self.drawn_inputs(constants, distribution, seed, how_inputs, other))

    def drawn_inputs(
        self, constants: Constants, distribution: str, seed: int, repair: str, other: int = 0
    ) -> list[Any]:
        """Inputs of one distribution; with `other` not 0, made from other inputs of the file."""
        with self.sized(constants):
            inputs = self.inputs(seed + 1 + other)
        generator = torch.Generator(self.device).manual_seed(seed + 3)
        transform = InputDistribution(distribution, generator, self.promises, repair)
        drawn: list[Any] = transform.apply(list(inputs))
        return drawn


def _in_order(given: Any, function: str, called: Any) -> list[Any]:
    """Arguments as a list; a dict is put into the order of the parameters it is given to."""
    if isinstance(given, list | tuple):
        return list(given)
    if not isinstance(given, dict):
        raise UnusableTask(
            f"{function}() returns a {type(given).__name__}: it must return a list of arguments, "
            "or a dict of arguments by name"
        )
    try:
        signature = inspect.signature(called)
        bound = signature.bind(**given)
    except TypeError as error:
        raise UnusableTask(f"{function}() returns a dict that does not fit: {error}") from error
    parameters = list(signature.parameters.values())
    last = max((n for n, one in enumerate(parameters) if one.name in bound.arguments), default=0)
    for parameter in parameters[:last]:  # by position, an argument needs all those before it
        if parameter.default is not parameter.empty:
            bound.arguments.setdefault(parameter.name, parameter.default)
    if bound.kwargs:
        names = ", ".join(bound.kwargs)
        raise UnusableTask(
            f"{function}() gives {names} by name, and a kernel's arguments come by position: "
            f"take {names} by position, too"
        )
    return list(bound.args)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """All tensors of a value, in the order of their promises."""
    found: list[torch.Tensor] = []
    describe_value(value, found)
    return found


def to_device(value: Any, device: torch.device) -> Any:
    """A tensor, or a container of some, on a device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, list | tuple):
        return type(value)(to_device(item, device) for item in value)
    if isinstance(value, dict):
        return {key: to_device(item, device) for key, item in value.items()}
    return value


def _in_type(value: Any, dtype: torch.dtype | None) -> Any:
    """A tensor, or a container of some, with floating elements of this type."""
    if dtype is None:
        return value
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, list | tuple):
        return type(value)(_in_type(item, dtype) for item in value)
    if isinstance(value, dict):
        return {key: _in_type(item, dtype) for key, item in value.items()}
    return value


def randomise_state(model: nn.Module, generator: torch.Generator) -> None:
    """Perturb parameters and buffers, so that no candidate can assume their defaults."""
    with torch.no_grad():
        for parameter in model.parameters():
            perturb(parameter, generator)
        for name, buffer in model.named_buffers():
            if name.endswith(_TRAINED_FOR) and buffer.dim() == 0:
                steps = torch.randint(_MOST_STEPS, (), generator=generator, device=generator.device)
                buffer.copy_(steps)
            # A buffer with varying values is a table (mask, rotary angles): part of the function.
            if buffer.is_floating_point() and buffer.numel() and _constant(buffer):
                positive = bool((buffer > 0).all())
                change = _noise(buffer, generator)
                buffer.mul_(torch.exp(0.3 * change)) if positive else buffer.add_(0.1 * change)


def perturb(parameter: torch.Tensor, generator: torch.Generator) -> None:
    """Add noise of half the parameter's own spread."""
    if parameter.is_floating_point() and parameter.numel():
        spread = max(float(parameter.std(correction=0)), 0.1 if _constant(parameter) else 0)
        parameter.add_(0.5 * spread * _noise(parameter, generator))


def _noise(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator, device=generator.device).to(like.dtype)


def repair_state(model: nn.Module, how: str) -> None:
    """Give parameters other signs or another magnitude."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                parameter.copy_(repaired(parameter, how))


def _constant(tensor: torch.Tensor) -> bool:
    return bool((tensor == tensor.reshape(-1)[0]).all())


def to_float64(value: Any) -> Any:
    """A tensor, a container, or a module with its tensor attributes, in float64."""
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, list | tuple):
        return type(value)(to_float64(item) for item in value)
    if isinstance(value, nn.Module):
        model = copy.deepcopy(value).double()
        for module in model.modules():
            for name, attribute in vars(module).items():
                if isinstance(attribute, torch.Tensor) and attribute.is_floating_point():
                    setattr(module, name, attribute.double())
        return model
    return value
