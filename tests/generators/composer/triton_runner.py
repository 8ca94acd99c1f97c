"""Runs composed candidates in Triton's interpreter. A program: the interpreter is chosen before
Triton is imported, and holds for a whole process."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch

import kernelmill.backends.triton.interpreted  # noqa: F401 - before any kernel is loaded


def main(folder: Path) -> None:
    for case in sorted(folder.iterdir()):
        spec = importlib.util.spec_from_file_location("candidate", case / "model.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        given = torch.load(case / "given.pt")
        answers: list[Any] = []
        for inputs in given["inputs"]:
            candidate = module.ModelNew()
            candidate.load_state_dict(given["state"])
            try:
                answers.append(candidate(*inputs))
            except Exception as error:  # reported by the test of this case
                answers.append(repr(error))
        torch.save(answers, case / "answers.pt")


if __name__ == "__main__":
    with torch.no_grad():
        main(Path(sys.argv[1]))
