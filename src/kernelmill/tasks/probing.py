"""A probe: one model of a task, called with many inputs. Used inside sandboxes only."""

import copy
from functools import cached_property
from typing import Any

import torch
from torch import nn

from kernelmill.records.task import Constants
from kernelmill.tasks.module import OWN, TaskModule, repair_state, tensors_in, to_float64

_SEED = 20_260_101


class Probe:
    """The model is made once, since making it often takes longer than calling it."""

    def __init__(
        self,
        module: TaskModule,
        constants: Constants,
        model: nn.Module | None = None,
        repair: tuple[str, str] = OWN,
    ) -> None:
        self._module = module
        self._constants = constants
        self._repair = repair
        self.model = module.draw(constants, "plain", _SEED).model if model is None else model

    def repaired(self, repair: tuple[str, str]) -> "Probe":
        """A probe with other inputs and parameters."""
        model = copy.deepcopy(self.model)
        repair_state(model, repair[1])
        return Probe(self._module, self._constants, model, repair)

    @cached_property
    def _wide_model(self) -> Any:
        return to_float64(self.model)

    def inputs(self, distribution: str, seed: int) -> list[Any]:
        return self._module.drawn_inputs(self._constants, distribution, seed, self._repair[0])

    def outputs(self, inputs: list[Any]) -> list[torch.Tensor]:
        return tensors_in(self.model(*inputs))

    def wide_outputs(self, inputs: list[Any]) -> list[torch.Tensor] | None:
        """The outputs in float64; None where the code does not allow it."""
        try:
            return tensors_in(self._wide_model(*to_float64(inputs)))
        except torch.OutOfMemoryError:  # says nothing about the code
            raise
        except (RuntimeError, TypeError):
            return None

    def is_finite(self, inputs: Any) -> bool:
        try:
            outputs = self.outputs(inputs)
        except torch.OutOfMemoryError:
            raise
        except Exception:  # the task's own code may raise anything on inputs it was not made for
            return False
        return all(bool(torch.isfinite(output).all()) for output in outputs)
