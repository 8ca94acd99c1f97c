"""The programs of runners on an NPU: sandboxes with a candidate or the baseline, and the profiler.

Nothing here is trusted once a candidate is loaded: the judge keeps the clock and compares outputs.
"""

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import torch

from kernelmill.judge.devices.npu.loading import load_model, start_npu, synchronise
from kernelmill.judge.devices.npu.protocol import CallResult, ProfileRequest, ProfileText
from kernelmill.judge.model_server import GivenTensors, ModelServer
from kernelmill.judge.protocol import CandidateRequest, ReferenceRequest
from kernelmill.records.tensors import Layout
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.confine import OWN_FOLDER
from kernelmill.sandbox.serving import Done, failure
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.torch_side import TensorView, describe_value, write

_PROFILED = "kernelmill.judge.devices.npu.profiled"
_SUMMARIES = "PROF_*/**/op_summary*.csv"
_MOST_SUMMARY = 1 << 20
_MOST_LOG = 4000


def run_npu_candidate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Serve a candidate's ModelNew. An entry of the zygote."""
    device = start_npu(arguments["environment"], arguments["threads"])
    message = channel.receive()
    folder = Path(scratch) / "candidate"
    writing = (OWN_FOLDER, *arguments["device_files"])
    try:
        request = msgspec.convert(message.body, CandidateRequest)
        model = load_model(request, message.files, folder, device, writing)
    except BaseException as error:  # the candidate's own code may raise anything, SystemExit too
        channel.send(msgspec.to_builtins(failure(error, folder)))
        return
    channel.send(msgspec.to_builtins(Done()))
    _NpuServer(channel, model, folder, device).serve()


def run_npu_baseline(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Serve a task's Model, eager, on the NPU. An entry of the zygote."""
    device = start_npu(arguments["environment"], arguments["threads"])
    request = msgspec.convert(channel.receive().body, ReferenceRequest)
    try:
        module = TaskModule(request.source, request.scale)
        model = module.draw({}, "plain", request.seed).model.to(device)
    except Exception as error:  # untrusted task code
        channel.send(msgspec.to_builtins(failure(error, Path("<task>"))))
        return
    channel.send(msgspec.to_builtins(Done()))
    _NpuServer(channel, model, Path("<task>"), device).serve()


class _NpuServer(ModelServer):
    """Copies what it is given to the device, and what is asked for back."""

    def __init__(self, channel: Channel, model: Any, folder: Path, device: torch.device) -> None:
        super().__init__(channel, model, folder, device)
        self._view: TensorView | None = None
        self._copies: list[torch.Tensor] = []
        self.add_command("fetch", self._fetch)

    def take_tensors(
        self, message: ChannelMessage, layout: Layout, writable: Collection[int]
    ) -> GivenTensors:
        if self._view is not None:
            self._view.close()
        self._view = TensorView(message.files[0], layout, writable=())
        self._copies = [tensor.to(self._device) for tensor in self._view.tensors]
        return GivenTensors(self._copies)

    def synchronise(self) -> None:
        synchronise()

    def _fetch(self, message: ChannelMessage) -> tuple[CallResult, tuple[int, ...]]:
        """The outputs of the trial, or of one call of the batch."""
        call = message.body["call"]
        outputs: list[torch.Tensor] = []
        describe_value(self._held if call is None else self._held[call], outputs)
        written = write([output.cpu() for output in outputs])
        return CallResult(written.layout, self._changed()), (written.file,)

    def _changed(self) -> int | None:
        given = self._view.tensors if self._view is not None else []
        for index, (before, now) in enumerate(zip(given, self._copies, strict=True)):
            if before.numel() and not torch.equal(_bytes(before), _bytes(now.cpu())):
                return index
        return None


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def run_msprof(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Call a candidate under msprof, in a program of its own. An entry of the zygote."""
    message = channel.receive()
    request = msgspec.convert(message.body, ProfileRequest)
    folder = Path(scratch) / "profiled"
    folder.mkdir()
    (folder / "request.json").write_bytes(msgspec.json.encode(request))
    for number, file in enumerate(message.files):
        with os.fdopen(file, "rb") as content:
            (folder / str(number)).write_bytes(content.read())
    application = f"{sys.executable} -P -m {_PROFILED} {folder}"
    folders = (str(Path(__file__).parents[4]), *filter(None, sys.path))
    paths = {"PYTHONPATH": os.pathsep.join(folders)}
    environment = {**os.environ, **arguments["environment"], **paths}
    output = folder / "msprof"
    try:
        done = subprocess.run(
            ["msprof", f"--output={output}", f"--application={application}"],
            env=environment, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        log = done.stdout[-_MOST_LOG:].decode(errors="replace")
    except OSError as error:
        log = f"msprof cannot be started: {error}"
    found = sorted(output.glob(_SUMMARIES))
    text = found[-1].read_text(errors="replace")[:_MOST_SUMMARY] if found else ""
    channel.send(msgspec.to_builtins(ProfileText(text, log)))
