"""Suites in half precision."""

import pytest
import torch

from kernelmill.records.errors import UsageError
from kernelmill.tasks import load_suite
from kernelmill.tasks.module import TaskModule


def test_models_and_inputs_are_converted() -> None:
    (file,) = load_suite("starter/layer_norm@bfloat16")
    assert file.id == "starter/layer_norm@bfloat16"
    module = TaskModule(file.source, "cpu")
    model, inputs = module.model(1), module.inputs(1)
    assert {tensor.dtype for tensor in (*inputs, *model.parameters())} == {torch.bfloat16}


def test_indices_stay_as_they_are() -> None:
    (file,) = load_suite("starter/cross_entropy@float16")
    types = [tensor.dtype for tensor in TaskModule(file.source, "cpu").inputs(1)]
    assert types == [torch.float16, torch.int64]


def test_a_whole_suite_is_converted() -> None:
    halves, plain = load_suite("starter@float16"), load_suite("starter")
    assert [file.id for file in halves] == [f"{file.id}@float16" for file in plain]


def test_other_types_are_no_suites() -> None:
    with pytest.raises(UsageError, match="starter@int4"):
        load_suite("starter@int4")
