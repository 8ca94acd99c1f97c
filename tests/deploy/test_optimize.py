"""Optimized modules: drop-in in every respect, and the original wherever it must answer."""

import copy
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import kernelmill
from deploy.workspaces import store_champions
from kernelmill.campaign import Watcher
from kernelmill.deploy import kernel_lookup
from kernelmill.deploy import optimize as optimizing
from kernelmill.deploy.optimize import extract_regions
from kernelmill.deploy.optimize_report import REPLACED
from kernelmill.records.errors import UsageError
from kernelmill.workspace import Workspace

pytestmark = pytest.mark.compiler


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.norm = nn.Parameter(torch.rand(8) + 0.5)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.dropout(self.linear(x))
        y = y * torch.sigmoid(y) + x
        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5) * self.norm


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block(), Block())
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor, scale: float = 2.0) -> dict[str, torch.Tensor]:
        return {"logits": self.head(self.blocks(x)) * scale}


def new_net(seed: int = 0) -> Net:
    torch.manual_seed(seed)
    return Net().eval()


def example() -> torch.Tensor:
    return torch.randn(6, 8, generator=torch.Generator().manual_seed(1))


def times_of(ratio: float) -> Any:
    """A clock on which graphs with kernels are faster by this ratio."""

    def time_arms(arms: Mapping[str, Any], rounds: int) -> dict[str, Any]:
        with torch.no_grad():
            for arm in arms.values():
                arm()
        slow = {"original", "again", "graph", "plain"}
        return {name: np.full(rounds, 1.0 if name in slow else 1 / ratio) for name in arms}

    return time_arms


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace") / "w"
    regions = extract_regions(new_net(), (example(),), {})
    store_champions(
        folder, {task.name: task.source for task in regions.tasks if "rsqrt" in task.source}
    )
    return folder


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_lookup, "processor_name", lambda: "processor")
    monkeypatch.setattr(optimizing, "time_arms", times_of(2.0))


def optimize(workspace: Path, net: nn.Module, *inputs: Any) -> Any:
    return kernelmill.optimize(net, inputs or (example(),), budget=0, workspace=workspace)


@pytest.fixture
def pair(workspace: Path) -> Iterator[tuple[Net, Any]]:
    net = new_net()
    with torch.no_grad():
        yield net, optimize(workspace, net)


def assert_same(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def counts(optimized: Any) -> tuple[int, dict[str, int]]:
    graph = optimized.engagement()["graph"]
    return graph.kernel, graph.fallbacks


def test_the_same_region_in_many_places_is_one_task() -> None:
    regions = extract_regions(new_net(), (example(),), {})
    (task,) = [task for task in regions.tasks if "rsqrt" in task.source]
    assert len(task.regions) == 3
    assert task.operators.count("rsqrt") == 1 and "linear" not in task.operators
    again = extract_regions(new_net(7), (example(),), {})
    assert {one.name for one in again.tasks} == {one.name for one in regions.tasks}
    assert 0 < sum(map(regions.share, regions.tasks)) < 1


def test_proven_kernels_run_and_the_report_says_so(pair: tuple[Net, Any]) -> None:
    net, optimized = pair
    assert_same(optimized(example()), net(example()))
    (kernel,) = [one for name, one in optimized.engagement().items() if name != "graph"]
    assert kernel.kernel >= 3 and not kernel.fallbacks
    report = optimized.report
    assert report.is_faster and report.end_to_end.ratio == pytest.approx(2.0)
    assert [row.places for row in report.replaced] == [3]
    assert "3 x" in str(report) and "alone 2.00x [1.96, 2.04]: replaced" in str(report)
    assert max(map(len, str(report).splitlines())) <= 80
    assert (report.found, report.searched) == (1, 0)


def test_it_is_a_drop_in(pair: tuple[Net, Any]) -> None:
    net, optimized = pair
    assert isinstance(optimized, Net)
    assert list(optimized.state_dict()) == list(net.state_dict())
    assert optimized.revert() is net and type(net) is Net
    assert [name for name, _ in optimized.named_modules()] == [n for n, _ in net.named_modules()]
    optimized.load_state_dict(new_net(5).state_dict())
    assert_same(optimized(example()), new_net(5)(example()))
    optimized.load_state_dict(new_net(6).state_dict(), assign=True)
    assert_same(optimized(example()), new_net(6)(example()))
    net.blocks[0].norm = nn.Parameter(torch.ones(8))
    assert_same(optimized(example()), net(example()))
    assert counts(optimized)[1] == {}


def test_copies_have_a_state_of_their_own(pair: tuple[Net, Any]) -> None:
    net, optimized = pair
    copied = copy.deepcopy(optimized)
    before = net(example())
    copied.load_state_dict(new_net(9).state_dict())
    assert_same(copied(example()), new_net(9)(example()))
    assert_same(optimized(example()), before)
    assert copied.revert() is not net
    with pytest.raises(TypeError, match=r"pickle what \.revert\(\) returns"):
        pickle.dumps(optimized)
    assert_same(pickle.loads(pickle.dumps(optimized.revert()))(example()), before)


@settings(max_examples=20)
@given(
    rows=st.integers(0, 9),
    width=st.sampled_from([8, 8, 8, 7]),
    dtype=st.sampled_from([torch.float32, torch.float32, torch.float64]),
    how=st.sampled_from(["plain", "transposed", "sliced", "batched"]),
    scale=st.sampled_from([2.0, 3.0, 2]),
)
def test_no_call_gives_a_wrong_result(
    workspace: Path, rows: int, width: int, dtype: torch.dtype, how: str, scale: float
) -> None:
    net = new_net()
    optimized = _shared(workspace)
    x = torch.randn(rows, width).to(dtype)
    x = {
        "plain": x, "transposed": x.mT.contiguous().mT, "batched": x[None],
        "sliced": x.repeat_interleave(2, -1)[..., ::2],
    }[how]  # fmt: skip
    with torch.no_grad():
        try:
            wanted = net(x, scale)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                optimized(x, scale)
            return
        assert_same(optimized(x, scale), wanted)


_optimized: dict[Path, Any] = {}


def _shared(workspace: Path) -> Any:
    if workspace not in _optimized:
        _optimized[workspace] = optimize(workspace, new_net(), example(), 2.0)
    return _optimized[workspace]


def test_the_original_answers_what_the_graph_cannot(pair: tuple[Net, Any]) -> None:
    net, optimized = pair
    x = example()
    assert_same(optimized(x[:3]), net(x[:3]))
    assert_same(optimized(x, scale=3.0), net(x, scale=3.0))
    with torch.enable_grad():
        loss = optimized(x)["logits"].sum()
        loss.backward()
    assert net.blocks[0].norm.grad is not None
    with torch.autocast("cpu"):
        assert optimized(x)["logits"].dtype == net(x)["logits"].dtype
    optimized.train()
    torch.manual_seed(2)
    drawn = optimized(x)
    torch.manual_seed(2)
    assert_same(drawn, net.train()(x))
    optimized.eval()
    seen: list[Any] = []
    handle = net.blocks[1].register_forward_hook(lambda *_: seen.append(1))
    assert_same(optimized(x), net.eval()(x))
    handle.remove()
    assert len(seen) == 2
    replaced = copy.deepcopy(optimized)
    replaced.head = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    assert (replaced(x)["logits"] >= 0).all()
    assert counts(replaced) == (0, {"other submodules": 1})
    reasons = {"sizes", "other arguments", "gradients", "autocast", "other training mode", "hooks"}
    assert set(counts(optimized)[1]) == reasons


def test_two_modules_share_a_kernel_and_no_state(workspace: Path) -> None:
    nets = new_net(1), new_net(2)
    with torch.no_grad():
        first, second = (optimize(workspace, net) for net in nets)
        assert first.report.is_faster and second.report.is_faster
        for _ in range(2):
            assert_same(first(example()), nets[0](example()))
            assert_same(second(example()), nets[1](example()))


def test_where_it_is_not_shown_to_be_faster_the_original_stays(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizing, "time_arms", times_of(1.005))
    net = new_net()
    optimized = optimize(workspace, net)
    assert optimized.report.outcome == "not shown to be faster end to end"
    assert not optimized.report.replaced and optimized.engagement() == {}
    assert_same(optimized(example()), net(example()))
    monkeypatch.setattr(optimizing, "time_arms", times_of(0.5))
    slower = optimize(workspace, net).report
    assert [row.outcome for row in slower.rows if row.places == 3] == ["slower within the model"]


def test_kernels_of_another_machine_are_not_used(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_lookup, "processor_name", lambda: "another")
    report = optimize(workspace, new_net()).report
    assert report.outcome == "no kernel makes it faster" and report.found == 0


def test_kernels_of_a_file_that_was_edited_are_not_used(workspace: Path, tmp_path: Path) -> None:
    net = new_net()
    (task,) = (t for t in extract_regions(net, (example(),), {}).tasks if "rsqrt" in t.source)
    edited = task.source.replace("rsqrt", "sqrt")
    assert edited != task.source
    store_champions(tmp_path / "w", {task.name: edited}, ratio=9.0)
    report = optimize(tmp_path / "w", net).report
    assert report.found == 0 and not report.replaced
    store_champions(tmp_path / "w", {task.name: task.source})
    (row,) = optimize(tmp_path / "w", net).report.replaced
    assert row.task == task.name and row.over_baseline.ratio == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("ratio", "reason"), [(None, "it is <wrong>"), (0.9, "not shown to be faster")]
)
def test_what_was_searched_in_vain_is_searched_with_more_attempts_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratio: float | None, reason: str
) -> None:
    (task,) = [
        task
        for task in extract_regions(new_net(), (example(),), {}).tasks
        if "rsqrt" in task.source
    ]
    store_champions(tmp_path / "w", {task.name: task.source}, ratio)
    searched: list[str] = []
    monkeypatch.setattr(
        kernel_lookup, "_search", lambda tasks, *_: searched.extend(one.name for one in tasks)
    )
    for budget, wanted in ((1, []), (2, [task.name])):
        report = kernelmill.optimize(
            new_net(), example(), budget=budget, workspace=tmp_path / "w"
        ).report
        assert [name for name in searched if name == task.name] == wanted
        assert reason in next(row.outcome for row in report.rows if row.places == 3)


def test_a_search_tells_of_every_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = optimizing.FunctionModule(function)
    inputs = torch.randn(4, 6), torch.randn(4, 6)
    (task,) = extract_regions(module, inputs, {}).tasks

    def search(_paths: Any, *, workspace: Path, watcher: Watcher, **_: Any) -> None:
        store_champions(workspace, {task.name: task.source})
        with Workspace(workspace) as opened:
            watcher.finished(opened.attempt(1), True, opened.totals(opened.campaign()))

    monkeypatch.setattr(kernel_lookup.api, "run", search)
    told: list[str] = []
    kernelmill.optimize(function, inputs, budget=2, workspace=tmp_path, progress=told.append)
    assert f"attempt 1 of 2: {task.name}: passed, 2.00x alone" in told


def test_an_optimized_module_compiles_without_a_graph_break(pair: tuple[Net, Any]) -> None:
    net, optimized = pair
    compiled = torch.compile(optimized, backend="aot_eager", fullgraph=True)
    (kernel,) = [one for name, one in optimized.engagement().items() if name != "graph"]
    before = kernel.kernel
    assert_same(compiled(example()), net(example()))
    assert kernel.kernel == before + 3


def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.silu(x) * y


def test_functions_and_the_decorator(tmp_path: Path) -> None:
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    (task,) = extract_regions(optimizing.FunctionModule(function), (x, y), {}).tasks
    store_champions(tmp_path / "w", {task.name: task.source})
    made = kernelmill.optimize(function, (x, y), budget=0, workspace=tmp_path / "w")
    assert made.report.is_faster and made.revert() is function
    assert_same(made(x, y), function(x, y))
    assert made.engagement()["graph"].kernel >= 1

    @kernelmill.optimized(workspace=tmp_path / "w")
    def decorated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.silu(x) * y

    assert_same(decorated(y=y, x=x), function(x, y))
    assert_same(decorated(x, y), function(x, y))
    assert decorated.optimized().report.replaced[0].outcome == REPLACED
    assert_same(decorated(x[:2], y[:2]), function(x[:2], y[:2]))


class Hopeless(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1


def test_what_cannot_be_optimized_is_refused(workspace: Path) -> None:
    with pytest.raises(UsageError, match=r"draws random numbers .*call \.eval\(\) first"):
        optimize(workspace, new_net().train())
    with pytest.raises(UsageError, match=r"running_mean in its forward: call \.eval\(\)"):
        optimize(workspace, nn.BatchNorm1d(8))
    with pytest.raises(UsageError, match=r"Hopeless branches on the values of tensors"):
        optimize(workspace, Hopeless())
    hooked = new_net()
    hooked.head.register_forward_hook(lambda *_: None)
    with pytest.raises(UsageError, match="head has forward hooks"):
        optimize(workspace, hooked)
    with pytest.raises(UsageError, match="neither a module nor a function"):
        kernelmill.optimize(3, (), workspace=workspace)  # type: ignore[arg-type]
