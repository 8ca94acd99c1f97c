"""Sweeps: combinations of a kernel's parameters, chosen, measured and ranked by the engine."""

from kernelmill.sweeps.log import SweepLog
from kernelmill.sweeps.planning import plan_trial
from kernelmill.sweeps.trials import SweepTrial

__all__ = ["SweepLog", "SweepTrial", "plan_trial"]
