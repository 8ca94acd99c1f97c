"""Log of the ATen operators that run. Used inside sandboxes only."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

_aten = torch.ops.aten
_COUNTED_AS = {
    _aten._scaled_dot_product_flash_attention_for_cpu: _aten._scaled_dot_product_flash_attention,
    _aten._scaled_dot_product_fused_attention_overrideable: (
        _aten._scaled_dot_product_flash_attention
    ),
}
"""Operators that the framework's table of FLOPs lacks, with one that does the same."""


class OperatorLog(TorchDispatchMode):
    """Operator names in the order of their first call, and the FLOPs of contractions."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: dict[str, None] = {}
        self.flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace != "prim":  # where fake tensors ask for their device
            self.names[str(func).removeprefix("aten.")] = None
        result = func(*args, **(kwargs or {}))
        operator = func.overloadpacket
        count = flop_registry.get(_COUNTED_AS.get(operator, operator))
        if count is not None:
            self.flops += int(count(*args, **(kwargs or {}), out_val=result))
        return result
