"""What users do with an optimized module: each works, is answered by the original, or is refused."""

import copy
import inspect
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import fx, nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.modules import module as module_internals
from torch.nn.utils import parametrize, prune
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import kernelmill
from deploy.test_optimize import times_of
from deploy.workspaces import store_champions
from kernelmill.deploy import kernel_lookup
from kernelmill.deploy import optimize as optimizing
from kernelmill.deploy.optimize import extract_regions
from kernelmill.records.errors import UsageError

pytestmark = pytest.mark.compiler


class Block(nn.Module):
    scale = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.weight = nn.Parameter(torch.rand(8) + 0.5)
        self.mask = torch.ones(8)
        self.epsilon = 1e-5
        self.limits = [-3.0, 3.0]
        self.gains = {"all": [1.0]}
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.silu(self.dropout(self.linear(x))).clamp(*self.limits) * self.mask + x
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.scale
        return (y * self.weight * self.gains["all"][0]).to(self.weight.dtype)


class Permuted(nn.Module):
    """Regions whose outputs are permuted in PyTorch, one of them viewed and two of them returned."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = F.silu(self.first(x).view(2, 3, 2, 4).transpose(1, 2)) * 2
        z = F.silu(self.second(x)).mT * 2 + 1
        return self.second(y.transpose(1, 2).view(6, 8)), z, y


def tied() -> nn.Sequential:
    net = nn.Sequential(Block(), Block())
    net[1].weight = net[0].weight
    return net.eval()


def example() -> torch.Tensor:
    return torch.randn(6, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace") / "w"
    tasks = [
        task
        for module in (Block(), Permuted(), tied())
        for task in extract_regions(module.eval(), (example(),), {}).tasks
    ]
    store_champions(folder, {task.name: task.source for task in tasks})
    return folder


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kernel_lookup, "processor_name", lambda: "processor")
    monkeypatch.setattr(optimizing, "time_arms", times_of(2.0))
    with torch.no_grad():
        yield


def put_in(workspace: Path, module: nn.Module) -> Any:
    optimized = kernelmill.optimize(module, example(), budget=0, workspace=workspace)
    assert optimized.report.is_faster, str(optimized.report)
    return optimized


@pytest.fixture(scope="module")
def made() -> list[Any]:
    return []


@pytest.fixture
def optimized(workspace: Path, made: list[Any]) -> Any:
    """A copy with a state of its own."""
    if not made:
        torch.manual_seed(0)
        made.append(put_in(workspace, Block().eval()))
    return copy.deepcopy(made[0])


def reasons(optimized: Any) -> set[str]:
    graph = optimized.engagement()["graph"]
    assert graph.kernel or graph.fallbacks
    return set(graph.fallbacks)


def assert_same(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def _set(name: str, value: Any) -> Callable[[Any], None]:
    return lambda module: setattr(module, name, value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_set("epsilon", 10.0), "other attributes (epsilon)"),
        (_set("scale", 3.0), "other attributes (scale)"),
        (_set("mask", torch.zeros(8)), "other attributes (mask)"),
        (lambda module: module.limits.__setitem__(0, 0.5), "other attributes (limits)"),
        (lambda module: module.gains["all"].__setitem__(0, 2.0), "other attributes (gains)"),
        (lambda module: setattr(module.linear, "bias", None), "other state"),
        (lambda module: setattr(module.weight, "data", module.weight.double()), "other state"),
        (_set("linear", nn.Identity()), "other submodules"),
        (lambda module: prune.l1_unstructured(module.linear, "weight", 0.5), "hooks"),
        (lambda module: prune.l1_unstructured(module, "weight", 0.5), "other state"),
        (lambda module: nn.utils.parametrizations.weight_norm(module.linear), "other submodules"),
    ],
)
def test_a_changed_module_answers_itself(
    optimized: Any, change: Callable[[Any], None], reason: str
) -> None:
    change(optimized)
    assert_same(optimized(example()), optimized.revert()(example()))
    assert reasons(optimized) == {reason}


def test_what_changes_within_a_tensor_is_seen_by_the_graph(optimized: Any) -> None:
    optimized.mask.mul_(0.5)
    optimized.weight.mul_(2)
    assert_same(optimized(example()), optimized.revert()(example()))
    assert not reasons(optimized)


def test_it_and_the_original_are_one_in_mode_and_attributes(optimized: Any) -> None:
    net = optimized.revert()
    optimized.train()
    assert net.training and net.dropout.training
    copied = copy.deepcopy(optimized)
    assert copied.training
    net.eval()
    assert not optimized.training
    copied.eval()
    for one in (optimized, copied, copy.copy(optimized)):
        assert_same(one(example()), net(example()))
        assert not reasons(one)
    copied.mask.mul_(0)
    assert_same(copied(example()), copied.revert()(example()))
    assert_same(optimized(example()), net(example()))
    assert set(vars(optimized)) == set(vars(Block()))


def test_a_parametrized_root_is_answered(optimized: Any) -> None:
    class Twice(nn.Module):
        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return 2 * weight

    wanted = 2 * optimized(example())
    parametrize.register_parametrization(optimized, "weight", Twice())
    assert_same(optimized(example()), wanted)


def test_function_transforms_and_forward_gradients(optimized: Any) -> None:
    net, x = optimized.revert(), example()
    many = torch.stack([x, 2 * x])
    assert_same(torch.func.vmap(optimized)(many), torch.func.vmap(net)(many))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        ours, theirs = (forward_ad.unpack_dual(one(dual)).tangent for one in (optimized, net))
        assert_same(ours, theirs)
    given = {name: torch.rand_like(value) for name, value in net.named_parameters()}
    assert_same(
        torch.func.functional_call(optimized, given, (x,)),
        torch.func.functional_call(net, given, (x,)),
    )
    assert reasons(optimized) == {"a function transform", "gradients"}
    assert_same(optimized(x), net(x))


def test_tracers_record_what_depends_on_the_input(optimized: Any) -> None:
    net, x = optimized.revert(), example()
    programs = [
        torch.jit.trace(optimized, (x,)),
        make_fx(optimized)(x),
        torch.export.export(optimized, (x,)).module(),
    ]
    for program in programs:
        assert_same(program(2 * x), net(2 * x))
    assert "kernelmill.region" in str(programs[1].graph)
    assert "kernelmill.region" in str(programs[2].graph)


def test_other_kinds_of_tensors_are_answered_by_the_original(optimized: Any) -> None:
    class Own(torch.Tensor):
        pass

    net, x = optimized.revert(), example()
    assert type(optimized(x.as_subclass(Own))) is Own
    for given in (x.to_sparse(), x.to_sparse_csr(), torch.nested.nested_tensor([x, x])):
        assert _said(optimized, given) == _said(net, given)
    assert reasons(optimized) == {"layout"}


def _said(module: nn.Module, given: torch.Tensor) -> str:
    """The error or the result of a call, without addresses."""
    try:
        return str(module(given))
    except RuntimeError as error:
        return str(error)


def test_parameters_that_were_one_may_part(workspace: Path) -> None:
    net = tied()
    optimized = put_in(workspace, net)
    copied = copy.deepcopy(optimized)
    optimized[0].weight.mul_(2)
    assert_same(optimized(example()), net(example()))
    assert not reasons(optimized)
    net[1].weight = nn.Parameter(torch.rand(8))
    copied.load_state_dict(net.state_dict(), assign=True)
    for one in (optimized, copied):
        assert_same(one(example()), net(example()))
        assert reasons(one) == {"other state"}


def test_a_class_that_gets_another_forward_is_answered(
    optimized: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Block, "forward", lambda self, x: 2 * x)
    assert_same(optimized(example()), 2 * example())
    assert reasons(optimized) == {"another forward"}


def test_modes_of_the_user_see_the_original(optimized: Any) -> None:
    net, x, named = optimized.revert(), example(), set()

    class Zeros(TorchFunctionMode):
        def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None):
            return x if func is F.silu else func(*args, **(kwargs or {}))

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None):
            named.add(str(func))
            return func(*args, **(kwargs or {}))

    with Zeros():
        assert_same(optimized(x), net(x))
    with Names():
        assert_same(optimized(x), net(x))
    assert "aten.silu.default" in named and "kernelmill" not in str(named)
    assert reasons(optimized) == {"a function mode", "a dispatch mode"}


@pytest.mark.parametrize("given", ["cpu", "meta"])
def test_the_default_device_is_respected(optimized: Any, given: str) -> None:
    x = example()
    with torch.device(given):
        assert_same(optimized(x), optimized.revert()(x))
    assert reasons(optimized) == ({"other default device"} if given == "meta" else set())


def test_tools_find_the_signature_of_the_original(optimized: Any) -> None:
    net, x = optimized.revert(), example()
    assert inspect.signature(optimized.forward) == inspect.signature(net.forward)
    traced = fx.symbolic_trace(optimized)
    assert [node.name for node in traced.graph.nodes if node.op == "placeholder"] == ["x"]
    assert_same(traced(2 * x), net(2 * x))
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(optimized, (x,), dynamic_shapes=({0: batch},))
    assert_same(program.module()(x[:3]), net(x[:3]))


def test_a_script_is_one_of_the_original(workspace: Path) -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.SiLU()).eval()
    optimized = kernelmill.optimize(net, example(), budget=0, workspace=workspace)
    assert_same(torch.jit.script(optimized)(example()), net(example()))


def test_a_kernel_of_two_workspaces_is_one_operator(workspace: Path, tmp_path: Path) -> None:
    """The first of them may be gone."""
    gone = tmp_path / "gone"
    shutil.copytree(workspace, gone)
    net = Block().eval().requires_grad_(False)  # so that threads need no mode of their own
    first = put_in(gone, net)
    shutil.rmtree(gone)
    second = put_in(workspace, net)
    threads = [threading.Thread(target=one, args=(example(),)) for one in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in (first, second):
        assert_same(one(example()), net(example()))
        assert all(not part.fallbacks for part in one.engagement().values())


def test_hooks_of_all_modules_are_called(optimized: Any) -> None:
    seen = []
    handle = module_internals.register_module_forward_hook(lambda part, *_: seen.append(type(part)))
    optimized(example())
    handle.remove()
    assert nn.Linear in seen and reasons(optimized) == {"hooks"}


def test_a_first_call_in_inference_mode_leaves_gradients_possible(optimized: Any) -> None:
    with torch.inference_mode():
        optimized(example())
    with torch.enable_grad():
        optimized(example()).sum().backward()
    assert optimized.weight.grad is not None


def test_compiled_code_notices_a_change(optimized: Any) -> None:
    net = optimized.revert()
    compiled = torch.compile(optimized, backend="aot_eager", fullgraph=True)
    assert_same(compiled(example()), net(example()))
    optimized.epsilon = 5.0
    assert_same(compiled(example()), net(example()))


def test_threads_share_a_module(optimized: Any) -> None:
    net, wrong = optimized.revert(), []

    def work(number: int) -> None:
        with torch.no_grad():
            for turn in range(20):
                x = example() * (number + turn)
                if not torch.allclose(optimized(x), net(x), rtol=1e-4, atol=1e-4):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Lookups(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.bag = nn.Embedding(10, 8), nn.EmbeddingBag(12, 8)
        self.table = nn.Parameter(torch.randn(14, 8))

    def forward(self, *index: torch.Tensor) -> torch.Tensor:
        x = self.embedding(index[0]).exp() + self.bag(index[1])
        return x + self.table[index[2]] * torch.gather(self.table, 0, index[3])[0]


def test_indices_out_of_range_are_no_addresses(tmp_path: Path) -> None:
    net = Lookups().eval()
    shapes, rows = ((4,), (4, 3), (4,), (2, 8)), (10, 12, 14, 14)
    good = tuple(torch.randint(0, 5, shape) for shape in shapes)
    tasks = extract_regions(net, good, {}).tasks
    store_champions(tmp_path / "w", {task.name: task.source for task in tasks})
    optimized = kernelmill.optimize(net, good, budget=0, workspace=tmp_path / "w")
    assert optimized.report.is_faster
    for number, size in enumerate(rows):
        for value in (size - 1, size, -1, -size - 1, 10**9):
            given = [one.clone() for one in good]
            given[number].view(-1)[0] = value
            assert _outcome(optimized, given) == _outcome(net, given)
    kernels = [one for name, one in optimized.engagement().items() if name != "graph"]
    assert sum(one.fallbacks["values"] for one in kernels) >= 4 * len(rows)


def _outcome(module: nn.Module, given: list[torch.Tensor]) -> Any:
    try:
        return [round(one, 3) for one in module(*given).flatten().tolist()]
    except (IndexError, RuntimeError) as error:
        return str(error)


def test_outputs_lie_in_memory_as_the_originals_do(workspace: Path) -> None:
    net = Permuted().eval()
    optimized = put_in(workspace, net)
    for ours, theirs in zip(optimized(example()), net(example()), strict=True):
        assert_same(ours, theirs)
        assert ours.stride() == theirs.stride()
    assert not reasons(optimized)


class Counting(Block):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(x)
        return super().forward(x)


def test_what_a_graph_cannot_stand_for_is_refused(workspace: Path) -> None:
    def refused(given: Any, *inputs: Any) -> str:
        with pytest.raises(UsageError) as error:
            kernelmill.optimize(given, inputs or (example(),), budget=0, workspace=workspace)
        return str(error.value)

    outside, linear = torch.randn(8), nn.Linear(8, 8)
    assert "other attributes (seen)" in refused(Counting().eval())
    assert "neither an argument nor a parameter" in refused(lambda x: F.silu(x) * outside)
    assert "neither an argument nor a parameter" in refused(lambda x: F.silu(linear(x)))
    assert "neither an argument nor a parameter" in refused(Block().eval().forward)
    assert "by strides" in refused(lambda x: torch.as_strided(x * 2, (3,), (2,)) + 1)
    assert "a Block is among the arguments" in refused(lambda block, x: x, Block(), example())
    assert "compiled module" in refused(torch.compile(Block().eval()))
    assert "on the device meta" in refused(Block().eval().to("meta"), example().to("meta"))
    assert "on the device meta" in refused(Block().eval(), example().to("meta"))
    assert "0.weight of Sequential has no sizes yet" in refused(nn.Sequential(nn.LazyLinear(8)))
    named = nn.Linear(8, 8)
    named.report = 1  # type: ignore[assignment]
    assert "Linear has an attribute 'report'" in refused(named)


def branching(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.sum() > 0 else x - 1


def drawing(x: torch.Tensor) -> torch.Tensor:
    return x + torch.rand_like(x)


def changing(x: torch.Tensor) -> torch.Tensor:
    return x.mul_(2) + 1


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (branching, "branching branches on the values of tensors"),
        (drawing, "drawing draws random numbers (aten.rand_like.default): optimize the parts"),
        (changing, "changing changes arguments_0 in its forward: optimize the parts"),
    ],
)
def test_functions_are_refused_by_their_names(
    workspace: Path, function: Callable[..., Any], reason: str
) -> None:
    with pytest.raises(UsageError) as error:
        kernelmill.optimize(function, example(), budget=0, workspace=workspace)
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        ("rvv", "kernels of backend rvv run in a simulator only"),
        ("cuda", "kernels of backend cuda run on cuda, and the tensors of Block are on cpu"),
    ],
)
def test_a_backend_of_another_device_is_refused_before_a_search(
    tmp_path: Path, backend: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        kernelmill.optimize(Block().eval(), example(), backend=backend, workspace=tmp_path)


def test_complex_numbers_stay_with_pytorch() -> None:
    def rotate(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        turned = torch.view_as_complex(x.view(6, 4, 2)) * turns
        return F.silu(torch.view_as_real(turned).flatten(1)) * 2

    module = optimizing.FunctionModule(rotate)
    (task,) = extract_regions(module, (example(), torch.randn(4, dtype=torch.cfloat)), {}).tasks
    assert task.operators == ("silu", "mul")


def test_what_the_code_writes_down_is_no_state(workspace: Path) -> None:
    made = kernelmill.optimize(
        lambda x: F.silu(x) * torch.tensor(2.0), example(), budget=0, workspace=workspace
    )
    assert made.report.outcome == "no kernel makes it faster"


def test_tensors_that_are_only_measured_are_no_inputs() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.silu(x) + y.new_zeros(6, 8) + torch.full_like(y, 2.0)

    module = optimizing.FunctionModule(function)
    (task,) = extract_regions(module, (example(), example()), {}).tasks
    assert "def forward(self, x0):" in task.source
