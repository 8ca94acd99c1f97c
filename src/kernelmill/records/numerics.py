"""Numerics: the arithmetic that a reference, its baselines and a candidate are held to."""

import enum

from kernelmill.records.errors import UsageError


class Numerics(enum.StrEnum):
    """Which roundings are allowed between inputs and outputs of a float32 task."""

    FRAMEWORK = "framework"
    """What PyTorch does as installed: on a GPU convolutions in TF32, products in float32."""
    IEEE = "ieee"
    """Products and convolutions in float32."""
    TF32 = "tf32"
    """Products and convolutions may round their operands to TF32."""
    HALF = "half"
    """PyTorch's autocast: operators that gain from it compute in float16."""

    @property
    def rounds_convolutions(self) -> bool:
        return self is not Numerics.IEEE

    @property
    def rounds_products(self) -> bool:
        return self in (Numerics.TF32, Numerics.HALF)

    @property
    def rounds_to(self) -> str:
        """What operands are rounded to, and of which operators, in words."""
        return _ROUNDS_TO[self]


_ROUNDS_TO = {
    Numerics.FRAMEWORK: "TF32 in convolutions (not in matrix products)",
    Numerics.IEEE: "nothing less than float32",
    Numerics.TF32: "TF32 in convolutions and matrix products",
    Numerics.HALF: "float16 in convolutions and matrix products",
}


def choose_numerics(wanted: str | None, known: tuple[Numerics, ...], device: str) -> Numerics:
    """The numerics that a user wants, of those that a device knows; its first one by default.

    Raises UsageError.
    """
    if wanted is None:
        return known[0]
    if wanted not in known:
        names = ", ".join(known)
        raise UsageError(f"there are no numerics {wanted!r} on a device of kind {device}: {names}")
    return Numerics(wanted)
