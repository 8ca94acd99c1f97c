"""Stand-in for torch_npu: a simulated accelerator of the name `npu`, on the processor."""

from pathlib import Path
from types import ModuleType

import torch

torch.ops.load_library(str(Path(__file__).parent / "lib" / "libtorch_npu.so"))
torch.utils.rename_privateuse1_backend("npu")


def _module() -> ModuleType:
    module = ModuleType("torch.npu")
    facts = {
        "is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0,
        "_is_in_bad_fork": False, "_lazy_init": None, "synchronize": None,
    }  # fmt: skip
    for name, value in facts.items():
        setattr(module, name, lambda *_, value=value: value)
    return module


torch._register_device_module("npu", _module())
