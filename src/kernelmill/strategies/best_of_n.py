"""Independent drafts: the baseline that learns nothing."""

from kernelmill.generators.base import Proposal, Stage
from kernelmill.strategies.base import History, Strategy
from kernelmill.tasks.task import Task
from kernelmill.workspace import Observation, Transaction


class BestOfN(Strategy):
    name = "best-of-n"

    def propose(self, task: Task, history: History) -> Proposal:
        return Proposal(task, history.backend, Stage.DRAFT, history.seed)

    def observe(self, observation: Observation, transaction: Transaction) -> None:
        """Every draft stands alone."""
