"""Memory of a model that outlives its calls: it is found wherever it is held, and spoiled."""

import ctypes
import sys
from types import ModuleType

import pytest
import torch
from torch import nn

from kernelmill.judge import owned_memory
from kernelmill.judge.owned_memory import OwnedMemory, TooMuchHeld

SOURCE = """
import ctypes
import torch
from torch import nn

class Counter(ctypes.Structure):
    _fields_ = [("calls", ctypes.c_int64)]

table = torch.arange(8.0)
counter = Counter()

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.kept = {"inside": [torch.zeros(2, dtype=torch.int64)]}
"""
TRIES = 40


def make_model() -> tuple[ModuleType, nn.Module]:
    module = ModuleType("candidate_model")
    sys.modules[module.__name__] = module
    exec(SOURCE, vars(module))
    return module, module.ModelNew()


def spoil(memory: OwnedMemory, model: nn.Module, call: object) -> bool:
    memory.remember({parameter.data_ptr() for parameter in model.parameters()})
    call()  # type: ignore[operator]
    return memory.spoil()


def test_what_a_call_has_changed_becomes_anything() -> None:
    module, model = make_model()
    memory = OwnedMemory(model, module)
    kept = model.kept["inside"][0]

    def call() -> None:
        module.counter.calls += 1
        kept[1] += 1

    spoiled = sum(spoil(memory, model, call) for _ in range(TRIES))
    assert 0 < spoiled < TRIES
    assert module.counter.calls > 1000 or module.counter.calls < 0
    assert int(kept[1]) > 1000 or int(kept[1]) < 0
    assert int(kept[0]) == 0


def test_what_no_call_changes_stays() -> None:
    module, model = make_model()
    memory = OwnedMemory(model, module)
    with torch.no_grad():
        assert not any(spoil(memory, model, lambda: model.weight.add_(1)) for _ in range(TRIES))
    assert torch.equal(module.table, torch.arange(8.0))
    assert torch.equal(model.weight, torch.full((4,), 1.0 + TRIES))


def test_a_library_is_not_followed() -> None:
    module, model = make_model()
    module.library = ctypes.CDLL(None)
    assert not spoil(OwnedMemory(model, module), model, lambda: module.library.abs(-3))


@pytest.mark.parametrize("size", [1, 3, 5, 68])
def test_every_byte_is_spoiled_up_to_the_end_of_its_block(size: int) -> None:
    module, model = make_model()
    module.scratch = torch.zeros(size, dtype=torch.uint8)
    last = (max(24, (size + 7) // 16 * 16 + 8)) - 1
    byte = ctypes.c_uint8.from_address(module.scratch.data_ptr() + last)

    def call() -> None:
        byte.value = 77

    memory = OwnedMemory(model, module)
    found = set()
    for _ in range(TRIES):
        byte.value = 0
        spoil(memory, model, call)
        found.add(byte.value)
    assert found - {0, 77}


def test_a_model_that_holds_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module, model = make_model()
    with monkeypatch.context() as patched:
        patched.setattr(owned_memory, "_MOST_BYTES", 16)
        with pytest.raises(TooMuchHeld, match="scratch memory in forward"):
            spoil(OwnedMemory(model, module), model, lambda: None)
    module.numbers = [object() for _ in range(300_000)]
    with pytest.raises(TooMuchHeld, match="objects"):
        OwnedMemory(model, module)
