"""Judges for GPU tests, one per backend, with and without static rules."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from kernelmill.backends import get_backend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite

JudgeFor = Callable[..., Judge]


@pytest.fixture(scope="session")
def judge_for() -> Iterator[JudgeFor]:
    """The judge of a backend, with or without static rules; a device can hold one at a time."""
    opened: dict[tuple[str, bool], Judge] = {}

    def open_judge(backend: str, static_rules: bool = True) -> Judge:
        wanted = (backend, static_rules)
        if wanted not in opened:
            for judge in opened.values():
                judge.close()
            opened.clear()
            settings = JudgeSettings(rounds=16, seconds=5.0, static_rules=static_rules)
            opened[wanted] = Judge(get_backend(backend), settings)
        return opened[wanted]

    yield open_judge
    for judge in opened.values():
        judge.close()


@cache
def described(judge: Judge, spec: str) -> Task:
    return judge.describe(load_suite(spec)[0], "gpu")
