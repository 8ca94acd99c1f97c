"""Triton's interpreter, for machines without a GPU. Imported by the warm process."""

import os

os.environ["TRITON_INTERPRET"] = "1"

from typing import Any

from triton.runtime import interpreter

_patch_tensor = interpreter._patch_lang_tensor


def _patch_tensor_and_index(tensor: Any, scope: Any) -> None:
    """Numpy no longer makes a number of an array of one element, which Triton 3.6 asks for."""
    _patch_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = _patch_tensor_and_index
