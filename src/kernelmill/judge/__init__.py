"""The judge: a PyTorch reference and a candidate in, a verdict nobody can fool out.

The trust boundary is a process boundary: reference, seeds, expected outputs, comparison, clock
and statistics live here; the candidate lives in a cell and sees inputs only.
"""

from kernelmill.judge.judge import Judge
from kernelmill.judge.settings import Settings
from kernelmill.judge.verdict import Evidence, Feedback, Gate, Interval, Latency, Verdict

__all__ = [
    "Evidence",
    "Feedback",
    "Gate",
    "Interval",
    "Judge",
    "Latency",
    "Settings",
    "Verdict",
]
