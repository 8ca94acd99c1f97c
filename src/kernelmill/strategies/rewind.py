"""The `rewind` strategy: undoes one decision of the fastest kernel at a time, to learn its worth.

A step backwards that makes a kernel slower is a practice forwards: the memory gets the change from
the slower kernel to the faster one, with the bottleneck it removes and the lines it costs.
"""

import math
import random
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kernelmill.memory import ItemKind, Memory, NewItem, Provenance, ValueRole
from kernelmill.memory.embedding_text import decisions_text, task_text
from kernelmill.memory.item_extraction import bottleneck_of
from kernelmill.memory.items import ItemEvidence
from kernelmill.records.attempt import Attempt, Observation, State
from kernelmill.records.decisions import APPROACH, Choice, Decisions, same_choice, was_tried
from kernelmill.records.proposal import Parent, Proposal, Stage
from kernelmill.records.search_step import SearchStep
from kernelmill.records.source_diff import source_diff
from kernelmill.records.task import Task
from kernelmill.records.verdict import MARGIN
from kernelmill.skills.library import load_library
from kernelmill.strategies.attempt_hints import attempt_hints
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.templates import render_instruction
from kernelmill.strategies.value import ValueDriven


class _Undoing(NamedTuple):
    """Another choice for one decision of a kernel."""

    decision: str
    choice: Choice


class Rewind(Strategy):
    """Drafts as `value` does until the task is solved."""

    name = "rewind"

    def __init__(self, settings: str = "") -> None:
        """`settings`: those of `value`, with which it drafts and learns."""
        self._value = ValueDriven(settings)
        self._library = load_library()

    def propose(self, task: Task, history: History) -> Proposal:
        base = _fastest(history)
        if base is None:
            draft = self._value.propose(task, history)
            return msgspec.structs.replace(draft, step=SearchStep(self.name, "draft"))
        undoing = self._choose(history, base)
        by_decisions = bool(base.decisions.keys() - {APPROACH})
        if undoing is None and by_decisions:
            # All that is known was undone: look for something faster to undo.
            refined = self._value.propose(task, history)
            return msgspec.structs.replace(refined, step=SearchStep(self.name, "refine"))
        return history.proposal(
            task,
            stage=Stage.REFINE,
            parent=history.parent(base),
            context=attempt_hints(history.attempts, base, history.parent),
            instruction=_instruction(base, undoing),
            decisions={} if undoing is None else {undoing.decision: undoing.choice},
            step=SearchStep(self.name, "undo"),
        )

    def observe(self, observation: Observation, memory: Memory) -> None:
        self._value.observe(observation, memory)
        step = observation.result.proposal.step
        if step is not None and step.operator == "undo":
            practice = _practice(observation)
            if practice is not None:
                memory.add(practice)

    def _choose(self, history: History, base: Attempt) -> _Undoing | None:
        """A change that was not tried on the base; decisions that were undone least come first.

        What a generator was asked for and did not do, it is not asked for again.
        """
        tried = [one.decisions for one in history.attempts if one.decisions]
        asked = {one.instruction for one in history.attempts if one.parent == base.id}
        new = [
            one
            for one in self._undoings(history, base)
            if not was_tried(base.decisions | {one.decision: one.choice}, tried)
            and _instruction(base, one) not in asked
        ]
        if not new:
            return None
        undone = [
            sum(
                decisions.get(one.decision) not in (None, base.decisions[one.decision])
                for decisions in tried
            )
            for one in new
        ]
        least = [one for one, times in zip(new, undone, strict=True) if times == min(undone)]
        return random.Random(history.seed).choice(least)

    def _undoings(self, history: History, base: Attempt) -> Iterator[_Undoing]:
        """Other choices that methods, or kernels that passed, name for the base's decisions."""
        named: list[Decisions] = [
            *history.memory.passed_decisions(history.backend),
            *(one.decisions for one in history.attempts),
        ]
        known: dict[str, list[Choice]] = {}
        for decisions in named:
            for decision, choice in decisions.items():
                known.setdefault(decision, []).append(choice)
        for method in self._library.methods.values():
            part = method.on(history.backend)
            for decision, choices in () if part is None else part.alternatives.items():
                known.setdefault(decision, []).extend(choices)
        for decision, current in sorted(base.decisions.items()):
            others: list[Choice] = []
            for choice in known.get(decision, ()) if decision != APPROACH else ():
                if not any(same_choice(choice, one) for one in (current, *others)):
                    others.append(choice)
            yield from (_Undoing(decision, choice) for choice in sorted(others, key=repr))


def _fastest(history: History) -> Attempt | None:
    passed = [
        one
        for one in (*history.attempts, *history.earlier)
        if one.state == State.PASSED and one.ratio
    ]
    return max(passed, key=lambda one: (one.ratio or 0.0, -one.id), default=None)


def _instruction(base: Attempt, undoing: _Undoing | None) -> str:
    if undoing is None:
        return render_instruction("rewind", decision="", choice="", current="")
    current = base.decisions[undoing.decision]
    return render_instruction(
        "rewind", decision=undoing.decision, choice=undoing.choice, current=current
    )


def _practice(observation: Observation) -> NewItem | None:
    """The way back from a slower kernel to its parent; None where it is not slower."""
    attempt, result = observation.attempt, observation.result
    parent, draft, verdict = result.proposal.parent, result.draft, result.deciding
    if parent is None or draft is None or verdict is None or attempt.ratio is None:
        return None
    if parent.verdict.latency is None:
        return None
    gain = parent.verdict.latency.over_baseline.ratio / attempt.ratio
    diff = source_diff(draft.candidate.files, parent.candidate.files)
    if gain <= 1 + MARGIN or not diff:
        return None
    task, bottleneck = result.proposal.task, bottleneck_of(_end(attempt, observation))
    change = {
        name: choice
        for name, choice in parent.decisions.items()
        if name != APPROACH and draft.decisions.get(name) != choice
    }
    described = decisions_text(change) or "what was taken back"
    lines = sum(line.startswith("+") - line.startswith("-") for line in diff.splitlines())
    outcome = math.tanh(math.log(gain))
    return NewItem(
        ItemKind.PRACTICE,
        f"On {task.family} ({task.id}), limited by {bottleneck}: {described} made it "
        f"{gain:.2f}x as fast, for {lines:+d} lines of source.",
        f"{task_text(task)} {decisions_text(change)} {bottleneck}",
        Provenance(
            task.id,
            task.family,
            result.proposal.backend,
            observation.generator,
            campaign=attempt.campaign,
            attempt=attempt.id,
        ),
        ("change", task.family, decisions_text(change) or diff),
        change,
        outcome,
        bottleneck,
        source=parent.candidate.digest,
        change_from=draft.candidate.digest,
        change_to=parent.candidate.digest,
        evidence=ItemEvidence(
            gain=gain,
            diagnosis_before=verdict.diagnosis_text,
            diagnosis_after=parent.verdict.diagnosis_text,
        ),
        values={ValueRole.REFINE: outcome},
    )


def _end(attempt: Attempt, observation: Observation) -> Parent | None:
    draft, verdict = observation.result.draft, observation.result.deciding
    if draft is None or verdict is None:
        return None
    return Parent(attempt.id, draft.candidate, verdict, draft.decisions)
