"""Memory of a model that outlives its calls: tensors and structures beside its state.

Used inside sandboxes only. A kernel may use such memory for what it needs during a call. What a
call leaves there tells a later one nothing: between two calls it may become anything.
"""

import ctypes
import gc
import random
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

_MOST_OBJECTS = 200_000
_MOST_BYTES = 1 << 30
_WORD = np.dtype(np.uint32)
_BLOCK, _BLOCK_REST = 16, 8
"""The allocator gives blocks of so many bytes, and so many more."""
_STEPS = (10_007, 1_000_003, 100_000_007)
"""How many more calls a counter shall seem to have counted."""
_STRUCTURES = (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)


class TooMuchHeld(Exception):
    """A model holds more than can be looked through between two calls."""


class _Span(NamedTuple):
    address: int
    size: int


class OwnedMemory:
    """The memory of everything that a model, or the module that defines it, holds."""

    def __init__(self, model: Any, module: ModuleType) -> None:
        self._held = list(_holders([model, vars(module)], module.__name__))
        self._rng = random.Random()
        self._before: dict[_Span, npt.NDArray[Any]] = {}

    def remember(self, state: set[int]) -> None:
        """Note its contents before a call; memory at the addresses `state` is not its own.

        Raises TooMuchHeld.
        """
        spans = {span for span in map(_span, self._held) if span.address not in state}
        if sum(span.size for span in spans) > _MOST_BYTES:
            raise TooMuchHeld(
                f"the model holds more than {_MOST_BYTES >> 20} MiB beside its parameters and "
                "buffers: allocate scratch memory in forward"
            )
        self._before = {span: _words(span).copy() for span in spans}

    def spoil(self) -> bool:
        """Change what the call has changed, in one case of two. Returns whether it did.

        Either it becomes rubbish, or what it would be after many more calls.
        """
        changed = {span: _words(span) != before for span, before in self._before.items()}
        if not any(words.any() for words in changed.values()) or self._rng.random() < 0.5:
            return False
        step = self._rng.choice((0, *_STEPS))
        for span, words in changed.items():
            now, before = _words(span), self._before[span]
            factor = np.array(step).astype(now.dtype)  # wraps, as counters do
            others = now + factor * (now - before) if step else self._rubbish(now)
            now[words] = others[words]
        return True

    def _rubbish(self, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.frombuffer(self._rng.randbytes(like.nbytes), like.dtype)


def _holders(roots: list[Any], own: str) -> Iterator[Any]:
    """All tensors and structures that can be reached, without the classes, functions and modules
    of others. Raises TooMuchHeld."""
    waiting, seen = list(roots), {id(root) for root in roots}
    while waiting:
        if len(seen) > _MOST_OBJECTS:
            raise TooMuchHeld(f"the model and its module hold more than {_MOST_OBJECTS} objects")
        item = waiting.pop()
        if _has_memory(item):
            yield item
        for inner in gc.get_referents(item):
            if id(inner) not in seen and _is_followed(inner, own):
                seen.add(id(inner))
                waiting.append(inner)


def _has_memory(item: Any) -> bool:
    if isinstance(item, torch.Tensor):
        return item.device.type == "cpu" and item.layout is torch.strided
    return isinstance(item, _STRUCTURES)


def _is_followed(item: Any, own: str) -> bool:
    if isinstance(item, type | FunctionType):
        return item.__module__ == own
    return not isinstance(item, ModuleType)


def _span(item: Any) -> _Span:
    if not isinstance(item, torch.Tensor):
        return _Span(ctypes.addressof(item), ctypes.sizeof(item))
    storage = item.untyped_storage()
    size = storage.nbytes()
    if size and storage.resizable():  # the rest of its block belongs to nobody else
        size = max(_BLOCK + _BLOCK_REST, -(-(size - _BLOCK_REST) // _BLOCK) * _BLOCK + _BLOCK_REST)
    return _Span(storage.data_ptr(), size)


def _words(span: _Span) -> npt.NDArray[Any]:
    """The memory itself, in bytes where words would leave some out."""
    kind = ctypes.c_uint8 if span.size % _WORD.itemsize else ctypes.c_uint32
    count = span.size // ctypes.sizeof(kind)
    if count == 0:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((kind * count).from_address(span.address))
