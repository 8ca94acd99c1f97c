"""Which cases of a device's examiner are there, and which are made again."""

import pytest
import torch

from judge.kernels import TASK
from kernelmill.judge.cuda.kept_cases import KeptCases
from kernelmill.judge.cuda.protocol import CaseRequest
from kernelmill.tasks.module import Draw, TaskModule

CASES = 8


class Counted(TaskModule):
    drawn = 0

    def draw(self, *what: object) -> Draw:  # type: ignore[override]
        self.drawn += 1
        return super().draw(*what)  # type: ignore[arg-type]


def request(seed: int) -> CaseRequest:
    return CaseRequest({}, "plain", seed, 1e-5)


def kept_cases(room: float) -> tuple[KeptCases, Counted]:
    """With room for so many."""
    module = Counted(TASK, "cpu")
    size = KeptCases(module, 0).get(request(0)).bytes
    module.drawn = 0
    return KeptCases(module, int(room * size)), module


@pytest.mark.parametrize(("room", "missing"), [(0, 8), (3, 5), (6, 2), (7, 0)])
def test_few_are_made_again_where_some_have_no_room(room: int, missing: int) -> None:
    """One more than there is room for may stay, while nobody needs the place."""
    with torch.no_grad():
        cases, module = kept_cases(room + 0.5)
        made = []
        for _ in range(3):
            module.drawn = 0
            for seed in range(CASES):
                cases.get(request(seed))
            made.append(module.drawn)
    assert made == [CASES, missing, missing]


def test_a_case_made_again_is_the_same() -> None:
    with torch.no_grad():
        cases, _ = kept_cases(0.0)
        first = cases.get(request(1))
        cases.get(request(2))
        again = cases.get(request(1))
    assert again is not first
    assert all(map(torch.equal, first.given, again.given))
    assert torch.equal(first.expected[0].exact, again.expected[0].exact)


def test_what_is_forgotten_is_gone() -> None:
    with torch.no_grad():
        cases, module = kept_cases(9)
        cases.get(request(1))
        cases.forget(request(1))
        cases.get(request(1))
    assert module.drawn == 2
