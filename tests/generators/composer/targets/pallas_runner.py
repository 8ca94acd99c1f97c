"""Runs composed candidates in Pallas's interpreter. A program, for the tool chain's own Python."""

import functools
import importlib.util
import pickle
import sys
from pathlib import Path

import jax
import numpy as np
from jax.experimental import pallas as pl


def main(folder: Path) -> None:
    pl.pallas_call = functools.partial(pl.pallas_call, interpret=True)
    for case in sorted(folder.iterdir()):
        spec = importlib.util.spec_from_file_location("candidate", case / "model.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        given = pickle.loads((case / "given.pickle").read_bytes())
        answers = []
        for inputs in given["inputs"]:
            forward = jax.jit(module.ModelNew().forward)
            try:
                found = jax.tree.leaves(forward(given["state"], *inputs))
                answers.append([np.asarray(array) for array in found])
            except Exception as error:  # reported by the test of this case
                answers.append(repr(error))
        (case / "answers.pickle").write_bytes(pickle.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
