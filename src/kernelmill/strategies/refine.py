"""The `refine` strategy: repairs the last refusal until one passes, then improves the best."""

from kernelmill.memory import Memory
from kernelmill.records.attempt import Observation
from kernelmill.records.proposal import Proposal
from kernelmill.records.task import Task
from kernelmill.strategies.attempt_hints import attempt_hints, judged
from kernelmill.strategies.base import History, Strategy
from kernelmill.strategies.instructions import instruction


class Refine(Strategy):
    name = "refine"

    def propose(self, task: Task, history: History) -> Proposal:
        answered = judged(history.attempts)
        start = history.best or (answered[-1] if answered else None)
        parent = None if start is None else history.parent(start)
        return history.proposal(
            task,
            parent=parent,
            context=tuple(attempt_hints(answered, start, history.parent)),
            instruction=instruction(history.stage, parent),
        )

    def observe(self, observation: Observation, memory: Memory) -> None:
        """Does nothing: it proposes from the task's history alone."""
