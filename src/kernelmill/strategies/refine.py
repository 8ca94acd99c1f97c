"""Repair the last failure until something passes, then improve the best: no memory but its own."""

from kernelmill.generators.base import Proposal
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction
from kernelmill.strategies.tried import answered, tried_hints
from kernelmill.tasks.task import Task
from kernelmill.workspace import Observation, Transaction


class Refine(Strategy):
    name = "refine"

    def propose(self, task: Task, history: History) -> Proposal:
        tried = answered(history.attempts)
        start = history.best or (tried[-1] if tried else None)
        parent = None if start is None else history.parent(start)
        return Proposal(
            task,
            history.backend,
            history.stage,
            history.seed,
            parent=parent,
            context=tuple(tried_hints(tried, start)),
            instruction=instruction(history.stage, parent),
        )

    def observe(self, observation: Observation, transaction: Transaction) -> None:
        """The history is all it goes by."""
