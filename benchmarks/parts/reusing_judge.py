"""A judge that reuses verdicts on identical sources, from this machine.

The arms of an experiment often produce the same sources. Reusing verdicts saves hours, and removes
timing noise from the comparison of arms.
"""

import hashlib
import os
from pathlib import Path

from kernelmill.backends.base import Backend
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict


class ReusingJudge(Judge):
    def __init__(self, backend: Backend, settings: JudgeSettings, folder: Path) -> None:
        super().__init__(backend, settings)
        self._folder = folder / hashlib.sha256(backend.toolchain().encode()).hexdigest()[:8]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._known = {path.stem for path in self._folder.glob("*.json")}

    @property
    def known(self) -> int:
        """Number of verdicts that can be reused."""
        return len(self._known)

    def verify(
        self,
        task: Task,
        candidate: Candidate,
        compiled: bool = False,
        brief: bool = False,
        objection: str = "",
    ) -> Verdict:
        path = self._folder / f"{_name(task, candidate)}.json"
        if path.exists():
            return Verdict.from_json(path.read_bytes())
        verdict = super().verify(task, candidate, compiled, True, objection)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(verdict.to_json())
        partial.rename(path)
        self._known.add(path.stem)
        return verdict

    def build_ahead(self, task: Task, candidate: Candidate) -> bool:
        return _name(task, candidate) in self._known or super().build_ahead(task, candidate)


def _name(task: Task, candidate: Candidate) -> str:
    return f"{task.digest}-{candidate.digest}"
