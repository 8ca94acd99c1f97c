"""Index expressions: C++ text, kept small."""

import re
from collections.abc import Iterator, Sequence

from kernelmill.generators.composer.graph import Extent

EDGE = "edge"
"""Zero, but the compiler does not know: with bounds it knows, GCC turns a masked load at an edge
into one that reads beyond it."""
_ATOM = re.compile(r"[A-Za-z_]\w*(\[\w+\])?|\d+")


def atom(code: str) -> str:
    return code if _ATOM.fullmatch(code) or _wrapped(code) else f"({code})"


def _wrapped(code: str) -> bool:
    if not (code.startswith("(") and code.endswith(")")):
        return False
    depth = 0
    for position, letter in enumerate(code):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and position < len(code) - 1:
            return False
    return True


def add(left: str, right: str) -> str:
    if left == "0" or right == "0":
        return right if left == "0" else left
    if left.isdigit() and right.isdigit():
        return str(int(left) + int(right))
    return f"{left} + {right}"


def sub(left: str, right: str) -> str:
    if right == "0":
        return left
    if left.isdigit() and right.isdigit() and int(left) >= int(right):
        return str(int(left) - int(right))
    if right.startswith(f"{left} - ") and _ATOM.fullmatch(right.removeprefix(f"{left} - ")):
        return right.removeprefix(f"{left} - ")
    return f"{left} - {atom(right)}"


def mul(left: str, right: str) -> str:
    if "0" in (left, right):
        return "0"
    if left == "1" or right == "1":
        return right if left == "1" else left
    if left.isdigit() and right.isdigit():
        return str(int(left) * int(right))
    return f"{atom(left)} * {atom(right)}"


def product(extents: Sequence[Extent]) -> Extent:
    code, value = "1", 1
    for extent in extents:
        code, value = mul(code, extent.code), value * extent.value
    return Extent(code, value)


def _joined(position: str, part: str, extent: str) -> str:
    """position * extent + part; what a division had taken apart comes together again."""
    whole = part.removesuffix(f" % {atom(extent)}")
    quotient = f"{whole} / {atom(extent)}"
    if whole != part and f" + {position}".endswith(f" + {quotient}"):
        rest = position.removesuffix(quotient).removesuffix(" + ") or "0"
        return add(mul(rest, extent), whole[1:-1] if _wrapped(whole) else whole)
    return add(mul(position, extent), part)


class Joint(str):
    """Several indices as one; taken apart along the same sizes, they are themselves again."""

    parts: tuple[str, ...]
    extents: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[str], extents: Sequence[Extent]) -> "Joint":
        joint = cls(Index(parts).ravel(extents))
        joint.parts = tuple(parts)
        joint.extents = tuple(extent.code for extent in extents)
        return joint


class Index:
    """Where in a tensor: one expression an axis."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = tuple(parts)

    @property
    def parts(self) -> tuple[str, ...]:
        return self._parts

    def __getitem__(self, axis: int) -> str:
        return self.parts[axis]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.parts == other.parts

    def ravel(self, shape: Sequence[Extent]) -> str:
        """The position in row-major memory of this shape."""
        position = "0"
        for part, extent in zip(self.parts, shape, strict=True):
            position = _joined(position, part, extent.code)
        return position


class Flat(Index):
    """A position in row-major order. Its parts cost divisions, and are made only when asked for."""

    def __init__(self, position: str, shape: Sequence[Extent]) -> None:
        self.position = position
        self._shape = tuple(shape)
        self.taken_apart = False

    @property
    def parts(self) -> tuple[str, ...]:
        self.taken_apart = True
        return unravel(self.position, self._shape)

    def __len__(self) -> int:
        return len(self._shape)

    def __hash__(self) -> int:
        return hash(self.position)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Flat)
            and self.position == other.position
            and self._shape == other._shape
        )

    def ravel(self, shape: Sequence[Extent]) -> str:
        if product(shape).code == product(self._shape).code or tuple(shape) == self._shape:
            return self.position
        return super().ravel(shape)


def unravel(position: str, shape: Sequence[Extent]) -> tuple[str, ...]:
    if isinstance(position, Joint) and position.extents == tuple(e.code for e in shape):
        return position.parts
    parts: list[str] = []
    for axis in range(len(shape) - 1, -1, -1):
        if shape[axis].code == "1":
            parts.append("0")
        elif all(extent.code == "1" for extent in shape[:axis]):
            parts.append(position)
            position = "0"
        else:
            parts.append(f"{atom(position)} % {atom(shape[axis].code)}")
            position = f"{atom(position)} / {atom(shape[axis].code)}"
    return tuple(reversed(parts))


def reshaped(index: Index, shape: Sequence[Extent], source: Sequence[Extent]) -> Index:
    """The index into `source` of an element of its reshape to `shape`."""
    if isinstance(index, Flat):
        return Flat(index.ravel(shape), source)
    groups = _matching(shape, source)
    if len(groups) == 1:
        return Flat(index.ravel(shape), source)
    parts: list[str] = []
    for ours, theirs in groups:
        inside = [index[axis] for axis in ours]
        position = inside[0] if len(ours) == 1 else Joint.of(inside, [shape[a] for a in ours])
        parts += unravel(position, [source[axis] for axis in theirs])
    return Index(parts)


def _matching(
    shape: Sequence[Extent], source: Sequence[Extent]
) -> list[tuple[list[int], list[int]]]:
    """Split both shapes into runs of axes that hold the same elements; one run if in doubt."""
    groups = []
    ours, theirs = 0, 0
    while ours < len(shape) or theirs < len(source):
        left, right = [ours] if ours < len(shape) else [], [theirs] if theirs < len(source) else []
        ours, theirs = ours + len(left), theirs + len(right)
        while not _same([shape[i] for i in left], [source[i] for i in right]):
            small = product([shape[i] for i in left]).value
            large = product([source[i] for i in right]).value
            if small <= large and ours < len(shape):
                left.append(ours)
                ours += 1
            elif theirs < len(source):
                right.append(theirs)
                theirs += 1
            else:
                return [(list(range(len(shape))), list(range(len(source))))]
        groups.append((left, right))
    return groups


def _same(left: Sequence[Extent], right: Sequence[Extent]) -> bool:
    """Whether both sides are the same product of sizes, as far as names tell."""
    if _factors(left) == _factors(right):
        return True
    known = all(e.fixed for e in (*left, *right))
    return known and product(left).value == product(right).value


def _factors(extents: Sequence[Extent]) -> list[str]:
    """The number and everything else that is multiplied, in order."""
    number, others = 1, []
    for extent in extents:
        for factor in _multiplied(extent.code):
            if factor.isdigit():
                number *= int(factor)
            else:
                others.append(factor)
    return [str(number), *sorted(others)]


def _multiplied(code: str) -> list[str]:
    """The factors of a product; the expression itself where it is none."""
    depth, parts = 0, [""]
    for sign in code:
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign in "+-/%":
            return [code]
        if depth == 0 and sign == "*":
            parts.append("")
        else:
            parts[-1] += sign
    parts = [part.strip() for part in parts]
    if len(parts) > 1:
        return [factor for part in parts for factor in _multiplied(part)]
    return _multiplied(parts[0][1:-1]) if parts[0].startswith("(") else parts
