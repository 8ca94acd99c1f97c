"""Runs composed candidates in Triton's interpreter. A program: the interpreter is chosen before
Triton is imported, and holds for a whole process."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import torch
from triton.runtime import interpreter

_patch = interpreter._patch_lang_tensor


def _patch_and_mend(tensor: Any, scope: Any) -> None:
    """From numpy 2.4 on an array of one element is no number: loops with bounds from data."""
    _patch(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


def main(folder: Path) -> None:
    interpreter._patch_lang_tensor = _patch_and_mend
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
