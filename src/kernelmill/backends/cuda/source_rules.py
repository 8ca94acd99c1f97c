"""Static rules on CUDA text: those of C++, and calls that no launcher or kernel needs."""

import re
from collections.abc import Iterable

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.cpp.source_rules import TokenRule, check_text

_LAUNCHER = "launch kernels on the stream that is handed in, and return"

_RULES = (
    TokenRule("streams",
              r"\bcuda(?:Stream|Event|Graph|Launch(?:Host)?Func|StreamAddCallback)\w*\s*\("
              r"|\bcu(?:Stream|Event|Graph|Launch|Ctx)\w*\s*\(", _LAUNCHER),
    TokenRule("device-memory",
              r"\bcuda(?:Malloc(?!Async)|HostAlloc|HostRegister|Free(?!Async)|Ipc)\w*\s*\("
              r"|\bcuMem\w+\s*\(",
              "work in the memory that is handed in, or cudaMallocAsync on its stream"),
    TokenRule("device-settings",
              r"\bcuda(?:DeviceSet|SetDevice|Ctx|Profiler)\w*\s*\(|accessPolicyWindow",
              "leave the device as it is"),
    TokenRule("device-variable",
              r"^[^\S\n]*(?:static\s+|extern\s+)*__(?:device__|managed__)\s+"
              r"(?:static\s+|volatile\s+)*[\w:<>]+\s+\w+\s*(?:\[|=|;)",
              "keep nothing between calls"),
    TokenRule("vendor-library",
              r"\b(?:cublas|cudnn|cusparse|cufft|cusolver|nvrtc)\w*\b|\bcutlass\s*::",
              "write it yourself"),
)  # fmt: skip
_KERNEL = re.compile(
    r"__global__\s+(?:static\s+|inline\s+)*void\s+(?:__launch_bounds__\s*\([^)]{0,200}\)\s*)?(\w+)\s*\("
    r"|__global__\s+__launch_bounds__\s*\([^)]{0,200}\)\s*void\s+(\w+)\s*\("
)


def check_cuda(text: str, file: str) -> list[RuleFinding]:
    """All findings in one file."""
    return check_text(text, file, rules=_RULES, assembly_allowed=True)


def own_kernels(texts: Iterable[str]) -> tuple[str, ...]:
    """Names of the kernels that sources define."""
    return tuple(one or other for text in texts for one, other in _KERNEL.findall(text))
