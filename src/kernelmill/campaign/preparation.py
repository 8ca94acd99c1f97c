"""Preparation of an attempt ahead of the judges: the draft is written, built and audited."""

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.campaign import measurement_lock
from kernelmill.campaign.judge_pool import JudgePool
from kernelmill.generators.auditing import Auditor
from kernelmill.generators.base import Declined, Generator, NoAnswer, TaskDeclined, Unaffordable
from kernelmill.records.errors import CandidateError, GeneratorUnavailable, KernelmillError
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Audit, Draft, Proposal
from kernelmill.records.task import Task
from kernelmill.records.text import clean_line

_MOST_SAID = 500


class Prepared(NamedTuple):
    """A draft that is ready for a judge; or a decline, without one."""

    draft: Draft | None
    declined: str = ""
    in_vain: tuple[ModelCall, ...] = ()
    """The model calls of a decline."""
    unaffordable: bool = False
    """It was declined because a call would exceed the cost limit."""
    unanswered: bool = False
    """It was declined because nobody answered, and may be written later."""
    hopeless: bool = False
    """It was declined because the generator can never write for this task."""
    objection: str = ""
    """The auditor's objection; empty where there is none."""
    generate_seconds: float = 0.0
    build_seconds: float = 0.0


class Preparation:
    """May be used from several threads at once."""

    def __init__(self, generator: Generator, auditor: Auditor | None, pool: JudgePool) -> None:
        self._generator = generator
        self._auditor = auditor
        self._pool = pool

    def prepare(self, proposal: Proposal) -> Prepared:
        """Raises GeneratorUnavailable, BackendUnavailable or IsolationError.

        Whatever else goes wrong in a generator or in an auditor is a decline: one bad answer must
        not end a campaign.
        """
        begun = time.perf_counter()
        try:
            computes = self._generator.computes and proposal.draft is None
            if computes:
                self._study(proposal.task)
            studying = time.perf_counter() - begun
            with measurement_lock.generate() if computes else nullcontext():
                begun = time.perf_counter()
                draft = proposal.draft or self._write(proposal)
                generating = studying + time.perf_counter() - begun
            with measurement_lock.compile_():
                begun = time.perf_counter()
                builds = self._builds(proposal, draft)
                building = time.perf_counter() - begun
            audit = self._audit(proposal, draft) if builds else Audit("")
        except Declined as declined:
            seconds = time.perf_counter() - begun
            return Prepared(
                None,
                str(declined),
                declined.calls,
                unaffordable=isinstance(declined, Unaffordable),
                unanswered=isinstance(declined, NoAnswer),
                hopeless=isinstance(declined, TaskDeclined),
                generate_seconds=seconds,
            )
        draft = msgspec.structs.replace(draft, calls=draft.calls + audit.calls)
        return Prepared(
            draft,
            objection=audit.objection,
            generate_seconds=generating,
            build_seconds=building,
        )

    def _study(self, task: Task) -> None:
        with measurement_lock.compile_(), _failing_as_declined("the generator"):
            self._generator.study(task)

    def _write(self, proposal: Proposal) -> Draft:
        with _failing_as_declined("the generator"):
            return self._generator.write(proposal)

    def _builds(self, proposal: Proposal, draft: Draft) -> bool:
        try:
            return self._pool.build_ahead(proposal.task, draft.candidate)
        except CandidateError as error:
            raise Declined(str(error), draft.calls) from error

    def _audit(self, proposal: Proposal, draft: Draft) -> Audit:
        if self._auditor is None:
            return Audit("")
        try:
            with _failing_as_declined("the auditor", draft.calls):
                return self._auditor.audit(proposal, draft.candidate)
        except Unaffordable as error:
            raise Unaffordable(
                f"the audit cannot be paid: {error}", draft.calls + error.calls
            ) from error


@contextmanager
def _failing_as_declined(who: str, calls: tuple[ModelCall, ...] = ()) -> Iterator[None]:
    """Turn every exception that the contract does not name into a decline that says what it was."""
    try:
        yield
    except (Declined, GeneratorUnavailable):
        raise
    except KernelmillError as error:
        raise Declined(str(error), calls) from error
    except Exception as error:  # a plug-in's code may raise anything
        raise Declined(f"{who} failed: {_described(error)}", calls) from error


def _described(error: Exception) -> str:
    """An exception in one line, with the place that raised it."""
    *_, last = traceback.extract_tb(error.__traceback__)
    try:
        said = clean_line(f"{type(error).__name__}: {error}", _MOST_SAID)
    except Exception:  # the exception's own code
        said = type(error).__name__
    return f"{said} ({Path(last.filename).name}, line {last.lineno})"
