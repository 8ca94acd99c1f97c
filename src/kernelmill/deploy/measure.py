"""Interleaved end-to-end timing of several versions of the same model."""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from kernelmill.campaign import measurement_lock
from kernelmill.judge.statistics import Timings

_LEAST_SECONDS = 2e-3
"""Shortest timed stretch; a faster call is repeated."""

Arm = Callable[[], Any]


def time_arms(arms: Mapping[str, Arm], rounds: int, seed: int = 0) -> dict[str, Timings]:
    """Seconds per call of each arm, one figure per round; in each round in another order."""
    with measurement_lock.time_cpu(), torch.no_grad():
        repeats = max(1, round(_LEAST_SECONDS / max(_shortest(arms), 1e-9)))
        found: dict[str, list[float]] = {name: [] for name in arms}
        rng = random.Random(seed)
        for _ in range(rounds):
            order = list(arms)
            rng.shuffle(order)
            for name in order:
                found[name].append(_time(arms[name], repeats))
    return {name: np.asarray(times) for name, times in found.items()}


def _shortest(arms: Mapping[str, Arm]) -> float:
    for arm in arms.values():
        arm()
    return min(_time(arm, 1) for arm in arms.values())


def _time(arm: Arm, repeats: int) -> float:
    begun = time.perf_counter()
    for _ in range(repeats):
        arm()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / repeats
