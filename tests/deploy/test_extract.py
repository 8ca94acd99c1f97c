"""`kernelmill extract` and `kernelmill patch`: from a model's file to tasks and back."""

from pathlib import Path

import msgspec
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from typer.testing import CliRunner

from deploy.workspaces import describe
from kernelmill.cli.main import app
from kernelmill.cli.schema import SCHEMAS
from kernelmill.deploy.model_files import load_model
from kernelmill.deploy.optimize import extract_regions
from kernelmill.records.errors import UsageError

MODEL = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.table = nn.Embedding(10, width)
        self.register_buffer("mask", torch.ones(4, width, dtype=torch.bool))
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x, index):
        x = self.linear(x) + self.table(index)
        x = self.norm(x.masked_fill(~self.mask, 0.0))
        return torch.minimum(x, torch.full_like(x, float("inf")))


def get_inputs():
    return [torch.randn(4, 8), torch.randint(0, 10, (4,))]


def get_init_inputs():
    return {"width": 8}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path / "model.py"


def test_regions_become_tasks_that_load(model: Path, tmp_path: Path) -> None:
    command = ["extract", str(model), "--to", str(tmp_path / "regions")]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    (task,) = (tmp_path / "regions").iterdir()
    source = task.read_text()
    assert "torch.ops.aten.embedding.default" in source and "linear" not in source
    assert "torch.randint(0, 10, (4,), dtype=torch.int64)" in source
    assert "torch.rand((4, 8)) < 0.5" in source
    described = describe("t", source)
    # The table and the four tensors of the norm are state; mask, index and the product are inputs.
    assert (len(described.state), len(described.shown.tensors)) == (5, 3)
    assert task.stem in done.output and "at most" in done.output
    done = CliRunner().invoke(app, [*command, "--json"])
    (row,) = msgspec.json.decode(done.stdout, type=SCHEMAS["extract"])
    assert row.task == task.stem


class Pooled(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = F.max_pool2d(F.relu(x).exp(), 2)
        return torch.stack([pooled.sum(-1), pooled.mean(-1)]).sigmoid()


def test_what_is_read_many_times_is_computed_before() -> None:
    tasks = extract_regions(Pooled(), (torch.randn(1, 2, 4, 4),), {}).tasks
    (before,) = [task.operators for task in tasks if "relu" in task.operators]
    assert before == ("relu", "exp")
    (joined,) = [task.operators for task in tasks if "sigmoid" in task.operators]
    assert "sum" not in joined and "mean" not in joined and "max_pool2d" not in joined


class Bagged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 4, mode="mean")

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.bag(index).exp()


def test_what_a_region_makes_of_nothing_is_no_input() -> None:
    """Drawn at random, the offsets of bags would be no offsets."""
    (task,) = extract_regions(Bagged(), (torch.randint(0, 10, (5, 3)),), {}).tasks
    assert "arange" in task.operators
    described = describe("t", task.source)
    assert len(described.shown.tensors) == 1


class Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ParameterList(torch.randn(10, 4) for _ in range(3))

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        sums = [table[index[:, i]].sum(1) for i, table in enumerate(self.tables)]
        return torch.cat([one.mm(one.mT) for one in sums])


def test_what_is_selected_differs_and_the_region_does_not() -> None:
    tasks = extract_regions(Tables(), (torch.randint(0, 10, (5, 3, 2)),), {}).tasks
    assert [len(one.regions) for one in tasks if one.operators == ("index", "sum")] == [3]


def test_a_model_without_kernels_stays_as_it_is(model: Path, tmp_path: Path) -> None:
    options = ["--workspace", str(tmp_path / "nothing")]
    done = CliRunner().invoke(app, ["patch", str(model), *options])
    assert done.exit_code == 1, done.output
    assert "no kernel makes it faster" in done.output
    assert not (tmp_path / "nothing").exists()


def test_a_model_may_import_what_lies_beside_it(model: Path) -> None:
    model.rename(model.with_name("its_own_layers.py"))
    model.write_text("from its_own_layers import Model, get_init_inputs, get_inputs\n")
    assert type(load_model(str(model)).module).__module__ == "its_own_layers"


def test_what_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(UsageError, match="gives no model: AttributeError"):
        load_model(str(tmp_path / "empty.py"))
    with pytest.raises(UsageError, match="there is no file"):
        load_model(str(tmp_path / "missing.py"))
    with pytest.raises(UsageError, match="gives no model: ModuleNotFoundError"):
        load_model("no_such_module_at_all")
