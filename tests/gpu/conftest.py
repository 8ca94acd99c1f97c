"""Judges on the device, one a backend and strictness, for all tests here."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from kernelmill.backends import get_backend
from kernelmill.judge import Judge, Settings
from kernelmill.tasks import Task, load_suite

JudgeFor = Callable[..., Judge]


@pytest.fixture(scope="session")
def judge_for() -> Iterator[JudgeFor]:
    opened: list[Judge] = []

    @cache
    def open_judge(backend: str, static_rules: bool = True) -> Judge:
        settings = Settings(rounds=8, seconds=8.0, static_rules=static_rules)
        opened.append(Judge(get_backend(backend), settings))
        return opened[-1]

    yield open_judge
    for judge in opened:
        judge.close()


@cache
def described(judge: Judge, spec: str) -> Task:
    return judge.describe(load_suite(spec)[0], "gpu")
