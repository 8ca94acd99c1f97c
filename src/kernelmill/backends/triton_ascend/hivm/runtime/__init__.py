"""Source of the runtime library that executes translated HIVM, and how it is built."""

from pathlib import Path

_HERE = Path(__file__).parent
HEADER = "hivm.h"
HEADER_TEXT = (_HERE / HEADER).read_text()
"""Read here, because the engine's sandbox cannot."""
LIBRARY = "libhivm.so"
COMMAND = (
    "gcc", "-O3", "-std=gnu11", "-shared", "-fPIC", "-fwrapv", "-ffp-contract=off",
    "-fno-math-errno",
)  # fmt: skip
"""No contraction of products and sums, so that results are the same on every processor."""
LINK = ("-lm",)


def runtime_sources() -> dict[str, str]:
    """File name -> content."""
    return {path.name: path.read_text() for path in sorted(_HERE.glob("*.[ch]"))}
