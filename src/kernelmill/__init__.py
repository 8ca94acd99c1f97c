"""Fast, verified compute kernels from a PyTorch reference.

The public names are imported on first use: sandboxed processes import this package too, and must
stay small.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelmill.api import RunResult, resume, run, verify
    from kernelmill.campaign.watcher import Watcher
    from kernelmill.deploy.optimize import optimize, optimized
    from kernelmill.generators.model.model_specs import ModelSpec
    from kernelmill.records.candidate import Candidate
    from kernelmill.records.errors import KernelmillError
    from kernelmill.records.verdict import Verdict
    from kernelmill.workspace import Workspace

__version__ = "0.1.0"
__all__ = [
    "Candidate",
    "KernelmillError",
    "ModelSpec",
    "RunResult",
    "Verdict",
    "Watcher",
    "Workspace",
    "optimize",
    "optimized",
    "resume",
    "run",
    "verify",
]
_MODULES = {
    "Candidate": "kernelmill.records.candidate",
    "KernelmillError": "kernelmill.records.errors",
    "ModelSpec": "kernelmill.generators.model.model_specs",
    "RunResult": "kernelmill.api",
    "Verdict": "kernelmill.records.verdict",
    "Watcher": "kernelmill.campaign.watcher",
    "Workspace": "kernelmill.workspace",
    "optimize": "kernelmill.deploy.optimize",
    "optimized": "kernelmill.deploy.optimize",
    "resume": "kernelmill.api",
    "run": "kernelmill.api",
    "verify": "kernelmill.api",
}

if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'kernelmill' has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(_MODULES[name]), name)

    def __dir__() -> list[str]:
        return sorted([*globals(), *__all__])
