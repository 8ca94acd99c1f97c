"""Promises of a task: the structure that all of its own inputs have. Used inside sandboxes only.

A kernel may rely on what every input of a task has in common: sorted segments, prefix masks, rows
that sum to one. Structure is found by looking at several draws; a task file may declare more in
`DOMAIN`. Whatever the judge makes of an input must keep it.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from kernelmill.tensors.torch_side import describe_value

Promises = tuple[str, ...]
"""The promises of one input tensor, in words."""

_MOST_DISTINCT = 16
_LEAST_LENGTH = 4
"""Shorter dimensions are sorted, distinct or triangular by chance."""
_TOLERANCE = 1e-4
_SAMPLED = 4096
"""Elements looked at before all others."""
DECLARABLE = (
    "finite", "positive", "nonnegative", "discrete", "sorted", "prefix", "normalised", "distinct",
    "symmetric", "lower", "upper",
)  # fmt: skip


class BrokenPromise(Exception):
    """A task's own inputs do not keep what its file declares."""


def find_promises(draws: Iterable[Sequence[torch.Tensor]]) -> tuple[Promises, ...]:
    """What all draws have in common, by input tensor."""
    common: list[list[str]] | None = None
    for tensors in draws:
        found = [_kept(tensor) for tensor in tensors]
        if common is None:
            common = found
        common = [
            [word for word in before if word in now]
            for before, now in zip(common, found, strict=False)
        ]
    return tuple(tuple(words) for words in common or [])


def _kept(tensor: torch.Tensor) -> list[str]:
    """All structural promises that one tensor keeps."""
    if tensor.numel() < _LEAST_LENGTH or tensor.is_complex():
        return []
    return [word for word, holds in _STRUCTURE.items() if holds(tensor)]


def _is_discrete(tensor: torch.Tensor) -> bool:
    """Few values, or integers stored as floats. A constant tensor is a default, not a promise."""
    if not tensor.is_floating_point():
        return False
    finite = tensor[torch.isfinite(tensor)]
    if finite.numel() and not bool((finite == finite.round()).all()):
        few = tensor.numel() > 4 * _MOST_DISTINCT and _distinct(_sample(tensor)) <= _MOST_DISTINCT
        return few and 1 < _distinct(tensor) <= _MOST_DISTINCT
    return _varies(tensor)


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1)[:_SAMPLED]


def _distinct(tensor: torch.Tensor) -> int:
    return int(tensor.unique().numel())


def _varies(tensor: torch.Tensor) -> bool:
    return bool((tensor != tensor.reshape(-1)[0]).any())


def _is_sorted(tensor: torch.Tensor) -> bool:
    if not tensor.dim() or tensor.shape[-1] < _LEAST_LENGTH or tensor.dtype == torch.bool:
        return False
    return bool((tensor[..., 1:] >= tensor[..., :-1]).all()) and _varies(tensor)


def _is_prefix(tensor: torch.Tensor) -> bool:
    """Whether every row is a run of one value followed by a run of a smaller one."""
    if not tensor.dim() or tensor.shape[-1] < _LEAST_LENGTH:
        return False
    if _distinct(_sample(tensor)) > 2:
        return False
    wide = tensor.double()
    falls = bool((wide[..., 1:] <= wide[..., :-1]).all())
    return falls and _distinct(tensor) == 2


def _is_normalised(tensor: torch.Tensor) -> bool:
    if not tensor.is_floating_point() or not tensor.dim() or tensor.shape[-1] < 2:
        return False
    sums = tensor.double().sum(-1)
    return bool((tensor >= 0).all()) and bool(((sums - 1).abs() < _TOLERANCE).all())


def _is_distinct(tensor: torch.Tensor) -> bool:
    """Whether no index occurs twice in a row, as in a permutation."""
    if tensor.is_floating_point() or tensor.dtype == torch.bool or not tensor.dim():
        return False
    if tensor.shape[-1] < _LEAST_LENGTH:
        return False
    ordered = tensor.sort(-1).values
    return bool((ordered[..., 1:] != ordered[..., :-1]).all())


def _is_square(tensor: torch.Tensor) -> bool:
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2]
    return square and tensor.shape[-1] >= _LEAST_LENGTH and tensor.dtype != torch.bool


def _is_symmetric(tensor: torch.Tensor) -> bool:
    return _is_square(tensor) and bool((tensor == tensor.mT).all()) and _varies(tensor)


def _is_lower(tensor: torch.Tensor) -> bool:
    return _is_square(tensor) and not bool(tensor.triu(1).any()) and bool(tensor.any())


def _is_upper(tensor: torch.Tensor) -> bool:
    return _is_square(tensor) and not bool(tensor.tril(-1).any()) and bool(tensor.any())


_STRUCTURE: dict[str, Callable[[torch.Tensor], bool]] = {
    "discrete": _is_discrete,
    "sorted": _is_sorted,
    "prefix": _is_prefix,
    "normalised": _is_normalised,
    "distinct": _is_distinct,
    "symmetric": _is_symmetric,
    "lower": _is_lower,
    "upper": _is_upper,
}
_VALUES: dict[str, Callable[[torch.Tensor], bool]] = {
    "finite": lambda tensor: bool(torch.isfinite(tensor).all()),
    "positive": lambda tensor: bool((tensor > 0).all()),
    "nonnegative": lambda tensor: bool((tensor >= 0).all()),
}


def keeps(word: str, tensor: torch.Tensor) -> bool:
    """Whether a tensor keeps a promise."""
    if word.startswith("range "):
        low, high = bounds(word)
        return not tensor.numel() or bool((tensor >= low).all() and (tensor <= high).all())
    return {**_STRUCTURE, **_VALUES}[word](tensor)


def bounds(word: str) -> tuple[float, float]:
    """The limits in a promise such as "range 0 9"."""
    _, low, high = word.split()
    return float(low), float(high)


def declared_promises(domain: Any, forward: Any, inputs: list[Any]) -> tuple[Promises, ...]:
    """The promises of a file's `DOMAIN`, by input tensor. Raises BrokenPromise."""
    if isinstance(domain, str):
        domain = {position: [domain] for position in range(len(inputs))}
    if not isinstance(domain, dict):
        raise BrokenPromise('DOMAIN is neither "finite" nor a dictionary')
    names = [name for name in inspect.signature(forward).parameters if name != "self"]
    by_position = {_position(key, names, len(inputs)): value for key, value in domain.items()}
    promises: list[Promises] = []
    for position, value in enumerate(inputs):
        tensors: list[torch.Tensor] = []
        describe_value(value, tensors)
        words = tuple(_words(by_position.get(position, ())))
        for tensor in tensors:
            broken = [word for word in words if not keeps(word, tensor)]
            if broken:
                raise BrokenPromise(
                    f"DOMAIN says that input {position} is {broken[0]}, and get_inputs breaks it"
                )
            promises.append(words)
    return tuple(promises)


def _position(key: Any, names: list[str], count: int) -> int:
    position = names.index(key) if key in names else key
    if not isinstance(position, int) or not 0 <= position < count:
        raise BrokenPromise(f"DOMAIN names {key!r}, which is no input of forward")
    return position


def _words(value: Any) -> Iterator[str]:
    """The words of one entry of DOMAIN: words, and pairs of numbers for a range."""
    for item in [value] if isinstance(value, str) else value:
        if isinstance(item, list | tuple) and len(item) == 2:
            low, high = item
            yield f"range {float(low)} {float(high)}"
        elif item in DECLARABLE:
            yield item
        else:
            known = ", ".join(DECLARABLE)
            raise BrokenPromise(f"DOMAIN has {item!r}, which is neither a pair nor one of {known}")


def restore(tensor: torch.Tensor, words: Promises) -> torch.Tensor:
    """A tensor that was transformed, changed as little as its promises demand."""
    for word in words:
        if word.startswith("range "):
            tensor = tensor.clamp(*bounds(word))
        elif word in _RESTORERS:
            tensor = _RESTORERS[word](tensor)
    return tensor


def _normalise(tensor: torch.Tensor) -> torch.Tensor:
    weights = tensor.abs() + torch.finfo(tensor.dtype).tiny
    return weights / weights.sum(-1, keepdim=True)


def _make_positive(tensor: torch.Tensor) -> torch.Tensor:
    """Absolute values, with the smallest one for zeros: a magnitude that the task itself draws."""
    sizes = tensor.abs()
    least = sizes[sizes > 0].min() if bool((sizes > 0).any()) else torch.ones_like(sizes[:1])
    return torch.where(sizes > 0, sizes, least)


_RESTORERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "positive": _make_positive,
    "nonnegative": torch.abs,
    "symmetric": lambda tensor: (tensor + tensor.mT) / 2,
    "lower": torch.tril,
    "upper": torch.triu,
    "normalised": _normalise,
    "sorted": lambda tensor: tensor.sort(-1).values,
}
