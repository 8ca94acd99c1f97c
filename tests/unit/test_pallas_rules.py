"""Static rules on Pallas candidates: what they find, and that honest code passes."""

from pathlib import Path

import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.pallas.source_rules import check_pallas_source
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Origin

HONEST = """
import functools
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def _kernel(x_ref, y_ref, *, factor):
    @pl.when(pl.program_id(0) == 0)
    def _():
        y_ref[...] = jnp.exp(x_ref[...]) * factor

class ModelNew:
    def __init__(self, factor):
        self._factor = factor

    def forward(self, state, x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(functools.partial(_kernel, factor=self._factor), out_shape=shape)(x)
"""
FORWARD = "        shape = jax"


def rules(source: str) -> set[str]:
    return {finding.rule for finding in check_pallas_source(source, "model.py", entry=True)}


def folders() -> list[Path]:
    return sorted((get_backend("pallas").examples() / "starter").iterdir())


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_examples_break_no_rule(folder: Path) -> None:
    candidate = read_candidate(folder, Origin.SHIPPED)
    assert get_backend("pallas").inspect_sources(candidate) == []


def test_honest_source_breaks_no_rule() -> None:
    assert rules(HONEST) == set()


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("        import os\n", "import"),
        ("        from jax._src import core\n", "import"),
        ("        from jax.experimental import io_callback\n", "import"),
        ("        import torch\n", "import"),
        ("        from . import other\n", "import"),
        ("        jax.config.update('jax_enable_x64', True)\n", "kernel-language"),
        ("        jax.pure_callback(print, None)\n", "callback"),
        ("        x = x.__class__\n", "internals"),
        ("        eval('1')\n", "forbidden-name"),
        ("        self._factor = 2\n", "state"),
        ("        global kept\n", "state"),
        (
            "        try:\n            pass\n        except ValueError:\n            pass\n",
            "fallback",
        ),
        ("        with open('x'):\n            pass\n", "unneeded"),
    ],
)
def test_forbidden_code_is_found(line: str, rule: str) -> None:
    assert rule in rules(HONEST.replace(FORWARD, line + FORWARD))


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("class ModelNew", "class Other", "no-model"),
        ("def forward", "def call", "no-forward"),
        ("pl.pallas_call", "pl.other", "no-kernel"),
        ("class ModelNew:", "class ModelNew(dict):", "base-class"),
        ("import jax\n", "import jax(\n", "syntax"),
    ],
)
def test_a_malformed_candidate_is_found(before: str, after: str, rule: str) -> None:
    assert rule in rules(HONEST.replace(before, after))
