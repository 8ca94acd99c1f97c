"""Hints for exceptions that candidates raise on a GPU."""

from kernelmill.judge.correctness import ExceptionHint

_ILLEGAL_ACCESS = "check bounds, masks and alignment of every load and store"
_TOO_MUCH_MEMORY = "it asks for more memory than there is: smaller tiles, fewer stages"

EXCEPTION_HINTS = (
    ExceptionHint(("CUDA", "illegal"), _ILLEGAL_ACCESS),
    ExceptionHint(("CUDA", "misaligned"), _ILLEGAL_ACCESS),
    ExceptionHint(("out of memory",), _TOO_MUCH_MEMORY),
    ExceptionHint(("out of resource",), _TOO_MUCH_MEMORY),
)
