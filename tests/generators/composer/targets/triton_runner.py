"""Runs composed candidates in Triton's interpreter: one folder per line of standard input.

A program: the interpreter is chosen before Triton is imported, and holds for a whole process.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch

import kernelmill.backends.triton.interpreted  # noqa: F401 - before any kernel is loaded


def main() -> None:
    for line in sys.stdin:
        folder = Path(line.strip())
        torch.save(_answers(folder), folder / "answers.pt")
        print("done", flush=True)


def _answers(folder: Path) -> list[Any]:
    spec = importlib.util.spec_from_file_location("candidate", folder / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = torch.load(folder / "given.pt")
    answers: list[Any] = []
    for inputs in given["inputs"]:
        candidate = module.ModelNew()
        candidate.load_state_dict(given["state"])
        try:
            answers.append(candidate(*inputs))
        except Exception as error:  # reported by the test of this case
            answers.append(repr(error))
    return answers


if __name__ == "__main__":
    with torch.no_grad():
        main()
