"""Input distributions: what the judge makes of a task's own inputs. Used inside sandboxes only.

Every transformation keeps the promises of the tensor: see `promises.py`.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from kernelmill.tasks.promises import Promises, restore

BASIC = ("plain", "symmetric", "heavy", "large", "small", "shifted", "hollow")
"""The file's own inputs, random signs, heavy tails, large and small magnitudes, a shifted mean, and
a range of zeros. The reference stays finite under them."""
STRUCTURES = ("regimes", "clustered", "impulse", "ties", "alike", "skewed")
"""Structures that a kernel might rely on without a promise: the same magnitude everywhere, maxima
that are spread out, information everywhere, distinct values, tensors that have nothing to do with
each other, and balanced indices."""
EXTREMES = tuple(f"extreme-{decades}" for decades in (30, 18, 9, 4))
"""Magnitudes of up to so many decades; the largest that the reference bears is used."""
_LIMIT = "limit"
"""Magnitudes of just so many decades."""
INFINITIES = ("infinite", "infinite-plus", "infinite-minus")
"""Both infinities, or one of them."""
SPECIALS = ("nan", "infinite", "denormal")
"""A few NaN, infinities, denormals and signed zeros; the last two are in the others as well."""

_SHIFT = 20.0
_LARGE = 32.0
_SMALL_DECADES = (3.0, 15.0)
_NEAR = 1e-3
"""Relative distance of tensors that are alike."""
_SHARE = 0.25
"""Share of the first dimension that is hollow, and of the others that a cluster takes."""
_UNTOUCHABLE = frozenset({"discrete", "prefix"})
_NOT_PLANTED = frozenset({"finite", "sorted", "normalised", "symmetric", "lower", "upper"})
_LEAST_EXTREME = 3
_MOST_PLANTED = 8
_CHUNK = 1 << 26
"""Elements looked at a time, few enough for what is computed of them to fit beside a task."""
_REGIMES = 8


def limit_of(extreme: str) -> str:
    """The distribution of the largest magnitudes that one of `EXTREMES` may draw."""
    return extreme.replace("extreme", _LIMIT)


class InputDistribution:
    """Transforms a task's own inputs into inputs of another distribution."""

    def __init__(
        self,
        name: str,
        generator: torch.Generator,
        promises: tuple[Promises, ...] = (),
        repair: str = "own",
    ) -> None:
        """`repair` is applied first, to tensors without promises: see `REPAIRS`."""
        self._name, _, self._strength = name.partition("-")
        self._generator = generator
        self._promises = promises
        self._repair = repair
        self._place = self._uniform()
        """Where in the first dimension something happens, in all inputs alike."""
        most = int(self._strength) if self._name in ("extreme", _LIMIT) else _LEAST_EXTREME
        share = 1.0 if self._name == _LIMIT else self._uniform()
        self._decades = _LEAST_EXTREME + share * (most - _LEAST_EXTREME)
        least, furthest = _SMALL_DECADES
        self._halvings = int(math.log2(10) * (least + self._place * (furthest - least)))
        """By how many powers of two small inputs are smaller."""
        self._seen = 0
        self._earlier: list[torch.Tensor] = []
        """Tensors that later ones may be alike."""

    def apply(self, value: Any) -> Any:
        """The inputs, or a part of them; tensors are met in the order of their promises."""
        if isinstance(value, list | tuple):
            return type(value)(self.apply(item) for item in value)
        if isinstance(value, dict):
            return {key: self.apply(item) for key, item in value.items()}
        if not isinstance(value, torch.Tensor):
            return value
        words = self._promises[self._seen] if self._seen < len(self._promises) else ()
        self._seen += 1
        if value.is_floating_point() and not words:
            value = repaired(value, self._repair)
        return self._transformed(value, words) if value.numel() else value

    def _transformed(self, value: torch.Tensor, words: Promises) -> torch.Tensor:
        if self._name == "plain":
            return value
        if not value.is_floating_point() or not _UNTOUCHABLE.isdisjoint(words):
            return self._skewed(value, words) if self._name == "skewed" else value
        if self._name in SPECIALS:
            return self._planted(value, words)
        transform = self._transforms.get(self._name)
        return value if transform is None else restore(transform(value), words)

    @property
    def _transforms(self) -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
        return {
            "symmetric": lambda value: self._signs(value).mul_(value),
            "heavy": self._heavy,
            "large": lambda value: value * _LARGE,
            "small": lambda value: value * 2.0 ** -min(self._halvings, _most_halvings(value)),
            "shifted": lambda value: value + _SHIFT,
            "hollow": self._hollowed,
            "regimes": self._in_regimes,
            "clustered": self._clustered,
            "impulse": self._impulse,
            "ties": self._tied,
            "alike": self._alike,
            "extreme": lambda value: value * self._factor(value),
            _LIMIT: lambda value: value * self._factor(value),
        }

    # Random numbers

    @property
    def _drawn(self) -> dict[str, Any]:
        return {"generator": self._generator, "device": self._generator.device}

    def _uniform(self) -> float:
        return float(torch.rand((), **self._drawn))

    def _below(self, limit: int) -> int:
        return min(int(self._uniform() * limit), limit - 1)

    def _normal(self, like: torch.Tensor) -> torch.Tensor:
        return torch.randn(like.shape, **self._drawn)

    def _signs(self, like: torch.Tensor) -> torch.Tensor:
        ones = torch.randint(0, 2, like.shape, dtype=torch.int8, **self._drawn)
        return ones.mul_(2).sub_(1).to(like.dtype)

    # Transformations of floating tensors

    def _heavy(self, value: torch.Tensor) -> torch.Tensor:
        """Of other magnitudes, some of them many times larger."""
        return self._normal(value).mul_(0.8).exp_().to(value.dtype).mul_(value)

    def _hollowed(self, value: torch.Tensor) -> torch.Tensor:
        """Zero the same range of the first dimension in every input, so that whole rows vanish."""
        if value.dim() == 0:
            return value
        size = value.shape[0]
        start, length = int(self._place * (1 - _SHARE) * size), max(1, int(_SHARE * size))
        value = value.clone()
        value[start : start + length] = 0
        return value

    def _in_regimes(self, value: torch.Tensor) -> torch.Tensor:
        """Parts of the first dimension with a mean and a magnitude of their own, in every input
        another: gates that are open or shut, histories that stay or vanish, constant rows. They are
        blocks, or every eighth row."""
        value = value.clone()
        strewn = value.dim() > 1 and self._uniform() < 0.5
        for block in _strewn(value) if strewn else _blocks(value):
            match self._below(_REGIMES):
                case 0 | 1:
                    block.add_(_SHIFT)
                case 2 | 3:
                    block.sub_(_SHIFT)
                case 4:
                    block.mul_(_LARGE)
                case 5:
                    block.div_(_LARGE)
                case 6:
                    block.fill_(_grid(block) * (1 + self._below(4)))
        return value

    def _clustered(self, value: torch.Tensor) -> torch.Tensor:
        """Great values side by side, at the end of each dimension or anywhere: nothing outside of
        the cluster is ever a maximum."""
        value = value.clone()
        cluster = value
        for dim in range(value.dim() - 1, max(0, value.dim() - 3), -1):
            cluster = self._window(cluster, dim)
        if value.dim() == 1:
            cluster = self._window(cluster, 0)
        spread = _spread(value)
        cluster.add_((_LARGE * spread) * (1 + self._normal(cluster).abs()).to(value.dtype))
        return value

    def _impulse(self, value: torch.Tensor) -> torch.Tensor:
        """Zero but for a short stretch at the beginning or the end of one dimension: what looks
        elsewhere sees nothing."""
        result = torch.zeros_like(value)
        first = self._below(2)
        for number, (source, target) in enumerate(
            zip(_blocks(value), _blocks(result), strict=True), first
        ):
            dims = [dim for dim in range(source.dim()) if source.shape[dim] > 1]
            inner = [dim for dim in dims if dim > 0] or dims
            if not inner:
                return value
            dim = inner[self._below(len(inner))]
            size = source.shape[dim]
            length = max(1, size // 8)
            start = (size - length) * (number % 2)
            target.narrow(dim, start, length).copy_(source.narrow(dim, start, length))
        return result

    def _tied(self, value: torch.Tensor) -> torch.Tensor:
        """A few values, many times each; some rows are constant."""
        grid = _grid(value)
        value = (value / grid).round_().mul_(grid)
        for number, block in enumerate(_blocks(value)):
            if number % 4 == 3:
                block.fill_(grid * (1 + self._below(4)))
        return value

    def _alike(self, value: torch.Tensor) -> torch.Tensor:
        """Rows near those of an earlier tensor, if any: their differences cancel."""
        length = value.shape[-1:]
        earlier = [t for t in self._earlier if (t.shape[-1:], t.dtype) == (length, value.dtype)]
        self._earlier.append(value)
        if not earlier or not length:
            return value
        rows = earlier[0].reshape(-1, *length)
        count = value.numel() // value.shape[-1]
        same = torch.arange(count, device=rows.device)
        drawn = torch.randint(rows.shape[0], (count,), **self._drawn)
        near = rows[same if earlier[0].shape == value.shape else drawn].view_as(value)
        return near * (1 + _NEAR * self._normal(value)).to(value.dtype)

    def _factor(self, like: torch.Tensor) -> float:
        """A power of two, so that rounding stays what it is."""
        largest = torch.finfo(like.dtype).max / max(float(like.abs().max()), 1.0)
        return 2.0 ** int(math.log2(min(10.0**self._decades, largest / 16)))

    def _window(self, value: torch.Tensor, dim: int) -> torch.Tensor:
        """A part of one dimension, at its end in every other case."""
        size = value.shape[dim]
        length = max(1, int(_SHARE * size))
        start = size - length if self._uniform() < 0.5 else self._below(size - length + 1)
        return value.narrow(dim, start, length)

    # Special values

    def _planted(self, value: torch.Tensor, words: Promises) -> torch.Tensor:
        """A few special values in a few rows, which are the same in every input."""
        if not _NOT_PLANTED.isdisjoint(words) or any(w.startswith("range ") for w in words):
            return value
        value = value.clone()
        rows = value.shape[0] if value.dim() > 1 else 1
        chosen = [int(self._place * rows), *(self._below(rows) for _ in range(rows // 8))]
        signed = "positive" not in words and "nonnegative" not in words
        kinds = self._kinds(value, signed)
        for number, row in enumerate(dict.fromkeys(chosen[:_MOST_PLANTED])):
            flat = value[row].view(-1) if value.dim() > 1 else value.view(-1)
            flat[self._below(flat.numel())] = kinds[number % len(kinds)]
        return value

    def _kinds(self, value: torch.Tensor, signed: bool) -> list[float]:
        """Special values in random order, the distribution's own twice as often as others."""
        tiny = torch.finfo(value.dtype).tiny
        finite = [tiny / 8, *([-tiny / 2, -0.0] if signed else [])]
        infinities = {"plus": [math.inf], "minus": [-math.inf]}.get(
            self._strength, [math.inf, -math.inf]
        )
        if not signed:
            infinities = [number for number in infinities if number > 0]
        own = {"nan": [math.nan], "infinite": infinities, "denormal": []}[self._name]
        kinds = [*own, *own, *finite]
        start = self._below(max(1, len(own)))
        return kinds[start:] + kinds[:start]

    # Indices and masks

    def _skewed(self, value: torch.Tensor, words: Promises) -> torch.Tensor:
        """Indices without balance, masks without variety, within the range that was drawn."""
        if "prefix" in words:
            return self._other_prefixes(value)
        if "distinct" in words or value.dim() == 0:
            return value
        low, high = value.min(), value.max()
        middle = value.reshape(-1)[self._below(value.numel())].clone()
        is_mask = value.dtype == torch.bool or "discrete" in words
        value = value.clone()
        for block in _blocks(value) if value.dim() > 1 else _stretches(value):
            match self._below(5):
                case 0:
                    block.fill_(low)
                    if is_mask:  # what a mask hides entirely is defined by no reference
                        block[..., self._below(block.shape[-1])] = high
                case 1:
                    block.fill_(high)
                case 2 | 3 if not is_mask:
                    block.fill_(middle)
        return restore(value, words)

    def _other_prefixes(self, value: torch.Tensor) -> torch.Tensor:
        """Prefixes of other lengths: all, one, and those between."""
        on, off = value.amax(), value.amin()
        length = value.shape[-1]
        rows = value.reshape(-1, length).clone()
        for row in rows:
            kept = (1, length, 1 + self._below(length))[self._below(3)]
            row[:kept], row[kept:] = on, off
        return rows.view_as(value)


def _strewn(value: torch.Tensor) -> list[torch.Tensor]:
    """Views of every eighth part of the first dimension."""
    return [value[first::_REGIMES] for first in range(min(_REGIMES, value.shape[0]))]


def _blocks(value: torch.Tensor) -> list[torch.Tensor]:
    """Views of up to eight parts of the first dimension; a vector is one part."""
    return list(value.chunk(_REGIMES)) if value.dim() > 1 else [value]


def _most_halvings(value: torch.Tensor) -> int:
    """Those after which squares are no denormals."""
    return int(-math.log2(torch.finfo(value.dtype).tiny)) // 2


def _stretches(value: torch.Tensor) -> list[torch.Tensor]:
    return list(value.chunk(3)) if value.numel() >= 3 else [value]


def _grid(value: torch.Tensor) -> float:
    """The power of two next to the magnitude of a tensor's values: sums of its multiples are exact,
    in whatever order an honest kernel forms them."""
    return 2.0 ** round(math.log2(_spread(value)))


def _spread(value: torch.Tensor) -> float:
    """The magnitude of a tensor's values; 1 where they are all zero or not finite."""
    total, count = 0.0, 0
    for part in value.reshape(-1).split(_CHUNK):
        finite = torch.isfinite(part)
        total += float(part.abs().where(finite, 0).sum(dtype=torch.float64))
        count += int(finite.sum())
    return total / count if total > 0 else 1.0


REPAIRS = (
    ("positive", "positive"), ("own", "positive"), ("positive", "own"), ("positive", "negative"),
    ("own", "negative"), ("small", "own"), ("small", "small"), ("own", "small"), ("large", "own"),
)  # fmt: skip
"""What is tried, in order, of inputs and of parameters where a task's own ask nothing."""


def repaired(value: torch.Tensor, how: str) -> torch.Tensor:
    """A floating tensor with other signs or another magnitude."""
    match how:
        case "positive":
            return value.abs()
        case "negative":
            return -value.abs()
        case "small":
            return value / _LARGE
        case "large":
            return value * _LARGE
        case _:
            return value
