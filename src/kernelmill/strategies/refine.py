"""Repair the last failure until something passes, then improve the best: no memory but its own."""

from kernelmill.generators.base import Hint, Proposal
from kernelmill.strategies.base import History, Strategy, rewards
from kernelmill.strategies.instructions import instruction
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, Observation, State, Transaction

_MOST_TRACES = 16
"""The latest attempts are shown; more would only crowd a prompt."""


class Refine(Strategy):
    name = "refine"

    def propose(self, task: Task, history: History) -> Proposal:
        tried = [a for a in history.attempts if a.state != State.DECLINED]
        traces = [
            Hint("trace", _text(attempt), decisions=attempt.decisions, outcome=reward)
            for attempt, reward in zip(tried, rewards(tried), strict=True)
        ]
        origin = history.best or (tried[-1] if tried else None)
        parent = None if origin is None else history.parent(origin)
        return Proposal(
            task,
            history.backend,
            history.stage,
            history.seed,
            parent=parent,
            context=tuple(traces[-_MOST_TRACES:]),
            instruction=instruction(history.stage, parent),
        )

    def observe(self, observation: Observation, transaction: Transaction) -> None:
        """The history is all it goes by."""


def _text(attempt: Attempt) -> str:
    if attempt.ratio is not None and attempt.latency_ms is not None:
        return f"passed: {attempt.latency_ms:.4f} ms, {attempt.ratio:.2f}x eager"
    return f"refused: {attempt.reason}"
