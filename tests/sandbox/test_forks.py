"""Forks of a sandbox begin alike, and leave nothing behind for one another."""

from collections.abc import Iterator
from pathlib import Path

import fork_programs
import pytest

from kernelmill.sandbox import (
    Policy,
    Sandbox,
    SandboxCrashed,
    SandboxProtocolError,
    Zygote,
)

pytestmark = pytest.mark.isolation

PROGRAMS = "fork_programs"
HERE = Path(__file__).parent
SECONDS = 20.0
KINDS = sorted(
    name.removeprefix("_leave_")
    for name in vars(fork_programs._Traces)
    if name.startswith("_leave_")
)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote((PROGRAMS,), threads=1, environment={"PYTHONPATH": str(HERE)}) as zygote:
        yield zygote


def template(zygote: Zygote, **arguments: str) -> Sandbox:
    sandbox = zygote.spawn(f"{PROGRAMS}:leave_and_find", arguments, Policy(forked=True))
    sandbox.request({}, SECONDS)
    sandbox.stop()
    return sandbox


@pytest.mark.parametrize("kind", KINDS)
def test_no_trace_of_a_fork_reaches_the_next(zygote: Zygote, kind: str) -> None:
    with template(zygote) as sandbox:
        with sandbox.fork(SECONDS) as first:
            first.request({"leave": kind}, SECONDS)
        try:
            with sandbox.fork(SECONDS) as second:
                answer = second.request({"find": kind}, SECONDS).body
        except SandboxProtocolError:
            return  # found out before the next fork was made
        assert not answer.get("found"), answer


def test_a_fork_begins_with_the_memory_of_its_template(zygote: Zygote) -> None:
    with template(zygote) as sandbox, sandbox.fork(SECONDS) as fork:
        fork.request({"leave": "memory"}, SECONDS)
        assert fork.request({"find": "memory"}, SECONDS).body["found"]


@pytest.mark.parametrize("stray", sorted(fork_programs.STRAYS))
def test_a_template_that_is_not_alone_is_not_forked(zygote: Zygote, stray: str) -> None:
    with template(zygote, stray=stray) as sandbox, pytest.raises(SandboxProtocolError):
        sandbox.fork(SECONDS)


def test_a_template_cannot_stand_in_for_its_fork(zygote: Zygote) -> None:
    policy = Policy(forked=True)
    with zygote.spawn(f"{PROGRAMS}:pretend_to_fork", {}, policy) as sandbox:
        sandbox.request({}, SECONDS)
        sandbox.stop()
        with pytest.raises(SandboxProtocolError):
            sandbox.fork(SECONDS)


def test_the_crash_of_a_fork_is_reported_and_its_template_lives_on(zygote: Zygote) -> None:
    with template(zygote) as sandbox:
        fork = sandbox.fork(SECONDS)
        with pytest.raises(SandboxCrashed) as crashed:
            fork.request({"crash": True}, SECONDS)
        assert crashed.value.signal_name == "SIGSEGV"
        with sandbox.fork(SECONDS) as second:
            assert second.request({"find": "memory"}, SECONDS).body == {"found": False}
