"""The judge, which takes a PyTorch reference and an untrusted candidate to a verdict.

The trust boundary is a process boundary: reference, seeds, expected outputs, comparison, clock
and statistics are on the judge's side; the candidate is in a sandbox and sees inputs only.
"""

from kernelmill.judge.judge import Judge
from kernelmill.judge.settings import JudgeSettings
from kernelmill.records.verdict import Evidence, Feedback, Gate, Interval, Latency, Verdict

__all__ = [
    "Evidence",
    "Feedback",
    "Gate",
    "Interval",
    "Judge",
    "JudgeSettings",
    "Latency",
    "Verdict",
]
