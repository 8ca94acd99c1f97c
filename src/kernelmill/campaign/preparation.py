"""Preparation of an attempt ahead of the judges: the draft is written, built and audited."""

import time
from contextlib import nullcontext
from typing import NamedTuple

import msgspec

from kernelmill.campaign import measurement_lock
from kernelmill.campaign.judge_pool import JudgePool
from kernelmill.generators.auditing import Auditor
from kernelmill.generators.base import Declined, Generator, NoAnswer, TaskDeclined, Unaffordable
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Audit, Draft, Proposal


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
        """Raises GeneratorUnavailable, BackendUnavailable, IsolationError or CandidateError."""
        begun = time.perf_counter()
        try:
            computes = self._generator.computes and proposal.draft is None
            with measurement_lock.generate() if computes else nullcontext():
                begun = time.perf_counter()
                draft = proposal.draft or self._generator.write(proposal)
                generating = time.perf_counter() - begun
            with measurement_lock.compile_():
                begun = time.perf_counter()
                builds = self._pool.build_ahead(proposal.task, draft.candidate)
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

    def _audit(self, proposal: Proposal, draft: Draft) -> Audit:
        if self._auditor is None:
            return Audit("")
        try:
            return self._auditor.audit(proposal, draft.candidate)
        except Unaffordable as error:
            raise Unaffordable(
                f"the audit cannot be paid: {error}", draft.calls + error.calls
            ) from error
