"""The case cache of the examiner: which cases stay, and which are made again."""

import pytest
import torch

from judge.kernels import TASK
from kernelmill.judge.devices.cuda.case_cache import CaseCache
from kernelmill.judge.devices.cuda.protocol import CaseRequest
from kernelmill.tasks.module import Draw, TaskModule

CASES = 8


class Counted(TaskModule):
    drawn = 0

    def draw(self, *what: object) -> Draw:  # type: ignore[override]
        self.drawn += 1
        return super().draw(*what)  # type: ignore[arg-type]


def request(seed: int) -> CaseRequest:
    return CaseRequest({}, "plain", seed, 1e-5, ())


def case_cache(capacity: float) -> tuple[CaseCache, Counted]:
    """A cache that holds so many cases."""
    module = Counted(TASK, "cpu")
    size = CaseCache(module, 0).get(request(0)).bytes
    module.drawn = 0
    return CaseCache(module, int(capacity * size)), module


@pytest.mark.parametrize(("capacity", "missing"), [(0, 8), (3, 5), (6, 2), (7, 0)])
def test_few_are_made_again_where_some_do_not_fit(capacity: int, missing: int) -> None:
    """One more than fits may stay until another case needs the memory."""
    with torch.no_grad():
        cases, module = case_cache(capacity + 0.5)
        made = []
        for _ in range(3):
            module.drawn = 0
            for seed in range(CASES):
                cases.get(request(seed))
            made.append(module.drawn)
    assert made == [CASES, missing, missing]


def test_a_case_made_again_is_the_same() -> None:
    with torch.no_grad():
        cases, _ = case_cache(0.0)
        first = cases.get(request(1))
        cases.get(request(2))
        again = cases.get(request(1))
    assert again is not first
    assert all(map(torch.equal, first.given, again.given))
    assert torch.equal(first.expected[0].exact, again.expected[0].exact)


def test_a_dropped_case_is_made_again() -> None:
    with torch.no_grad():
        cases, module = case_cache(9)
        cases.get(request(1))
        cases.drop(request(1))
        cases.get(request(1))
    assert module.drawn == 2
