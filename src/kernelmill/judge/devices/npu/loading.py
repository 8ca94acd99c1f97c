"""Loading of a candidate on an NPU. Used inside sandboxes only."""

import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kernelmill.judge.model_loading import construct_candidate
from kernelmill.judge.protocol import CandidateRequest

_OPERATORS = Path("opp", "vendors", "customize")
"""Where an archive of operators has those of the candidate."""


def start_npu(environment: dict[str, str], threads: int) -> torch.device:
    """Import torch_npu with the tool chain's variables, and compute once on the device."""
    os.environ.update(environment)
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    import torch_npu  # type: ignore[import-not-found]  # noqa: F401

    device = torch.device("npu", 0)
    torch.zeros(1, device=device)
    synchronise()
    return device


def synchronise() -> None:
    torch.npu.synchronize()  # type: ignore[attr-defined]


def load_model(
    request: CandidateRequest, files: list[int], folder: Path, device: torch.device, writing: Any
) -> nn.Module:
    """Construct ModelNew, with its operators where the binding looks for them."""
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = str(folder / _OPERATORS)
    sys.path.insert(0, str(folder))
    return construct_candidate(request, files, folder, device, writing)
