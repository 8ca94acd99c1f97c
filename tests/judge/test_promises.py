"""Promises of inputs: found, declared, checked, and kept by every distribution."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from judge.kernels import TASK
from kernelmill.judge import Judge
from kernelmill.records.errors import TaskError
from kernelmill.tasks import TaskFile, load_suite
from kernelmill.tasks.distributions import (
    BASIC,
    EXTREMES,
    INFINITIES,
    SPECIALS,
    STRUCTURES,
    InputDistribution,
)
from kernelmill.tasks.promises import find_promises, keeps

ALL = (*BASIC, *STRUCTURES, *EXTREMES, *INFINITIES, *SPECIALS)


def example(word: str, seed: int) -> torch.Tensor:
    """A tensor that keeps a promise."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(8, 8, generator=generator)
    whole = torch.randint(0, 5, (8, 8), generator=generator)
    match word:
        case "sorted":
            return x.sort(-1).values
        case "prefix":
            lengths = torch.randint(1, 8, (8, 1), generator=generator)
            lengths[0] = 4
            return (torch.arange(8) < lengths).float()
        case "normalised":
            return x.softmax(-1)
        case "distinct":
            return torch.stack([torch.randperm(8, generator=generator) for _ in range(8)])
        case "symmetric":
            return x + x.mT
        case "lower":
            return x.tril()
        case "upper":
            return x.triu()
        case _:
            return whole.float()


WORDS = ("sorted", "prefix", "normalised", "distinct", "symmetric", "lower", "upper", "discrete")


@given(st.sampled_from(WORDS), st.sampled_from(ALL), st.integers(0, 2**32))
def test_every_distribution_keeps_what_is_found(word: str, name: str, seed: int) -> None:
    (promises,) = find_promises([[example(word, seed + i)] for i in range(3)])
    assert word in promises
    generator = torch.Generator().manual_seed(seed)
    (made,) = InputDistribution(name, generator, (promises,)).apply([example(word, seed)])
    # What had variety may lose it: a prefix mask that hides nothing is one.
    if word not in ("prefix", "discrete"):
        assert keeps(word, made)
    elif word == "prefix":
        assert bool((made[..., 1:] <= made[..., :-1]).all())
    else:
        assert bool((made == made.round()).all())


@given(st.sampled_from(ALL), st.integers(0, 2**32))
def test_indices_stay_in_their_range(name: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(3, 9, (16, 4), generator=generator)
    (made,) = InputDistribution(name, generator).apply([index])
    assert made.dtype == index.dtype and made.shape == index.shape
    assert int(made.min()) >= 3 and int(made.max()) <= 8


def test_random_inputs_promise_nothing() -> None:
    draws = [[torch.randn(16, 16), torch.randint(0, 9, (16,))] for _ in range(3)]
    assert find_promises(draws) == ((), ())


def _file(folder: Path, text: str) -> TaskFile:
    path = folder / "task.py"
    path.write_text(text)
    return load_suite(str(path))[0]


@pytest.mark.isolation
def test_a_declared_domain_is_kept_and_named(judge: Judge, tmp_path: Path) -> None:
    task = judge.describe(_file(tmp_path, TASK + '\nDOMAIN = "finite"\n'))
    assert task.promises == (("finite",),)
    assert any("outside of the task's domain" in line for line in task.untried)
    assert not {"nan", "infinite"} & set(task.distributions)
    open_task = judge.describe(_file(tmp_path, TASK))
    assert {"nan", "infinite", "extreme-30"} <= set(open_task.distributions)
    assert open_task.untried == ()


@pytest.mark.isolation
def test_no_trial_has_magnitudes_that_the_reference_does_not_bear(judge: Judge) -> None:
    """The variance of what is near 1e30 is infinite, although two draws may be of less."""
    task = judge.describe(*load_suite("fused/conv2d_group_norm_silu"))
    assert "extreme-30" not in task.distributions
    assert any(name in task.distributions for name in EXTREMES)


@pytest.mark.isolation
@pytest.mark.parametrize(
    ("domain", "says"),
    [
        ('{"x": ["positive"]}', "input 0 is positive"),
        ('{"x": [(0, 1)]}', "range 0.0 1.0"),
        ('{"y": ["finite"]}', "no input of forward"),
        ('{"x": ["cheerful"]}', "cheerful"),
        ("7", "neither"),
    ],
)
def test_a_broken_promise_is_refused(judge: Judge, tmp_path: Path, domain: str, says: str) -> None:
    with pytest.raises(TaskError, match="DOMAIN") as caught:
        judge.describe(_file(tmp_path, f"{TASK}\nDOMAIN = {domain}\n"))
    assert says in str(caught.value)


@pytest.mark.isolation
@pytest.mark.parametrize(
    ("formula", "promise"),
    [
        ("torch.log(x)", "positive"),
        ("1 / (torch.sqrt(x) + 1e-6)", "nonnegative"),
    ],
)
def test_signs_are_kept_where_the_reference_needs_them(
    judge: Judge, tmp_path: Path, formula: str, promise: str
) -> None:
    """And no more than it needs: a guard against zeros is tried with zeros."""
    text = TASK.replace("2 * x", formula).replace("torch.randn(rows", "0.1 + torch.rand(rows")
    task = judge.describe(_file(tmp_path, text))
    assert task.promises == ((promise,),)
    assert set(BASIC) - {"hollow"} <= set(task.distributions)
