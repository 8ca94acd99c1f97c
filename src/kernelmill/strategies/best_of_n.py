"""The `best-of-n` strategy: independent drafts, without learning."""

from kernelmill.memory import Memory
from kernelmill.records.attempt import Observation
from kernelmill.records.proposal import Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.strategies.base import History, Strategy


class BestOfN(Strategy):
    name = "best-of-n"

    def propose(self, task: Task, history: History) -> Proposal:
        return history.proposal(task, stage=Stage.DRAFT)

    def observe(self, observation: Observation, memory: Memory) -> None:
        """Does nothing: drafts are independent."""
