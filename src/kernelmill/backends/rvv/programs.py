"""Programs that run the compiler and the emulator. Used inside sandboxes only."""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.backends.rvv.calling import EmulatedCall, pack_manifest, place_tensors
from kernelmill.backends.rvv.toolchain import emulator_command
from kernelmill.backends.support.preprocessing import PreprocessedSource, preprocess
from kernelmill.records.tensors import Layout, lay_out
from kernelmill.sandbox.channel import Channel
from kernelmill.tensors.blob import FILE_NAME, memory_file

_MAX_OUTPUT = 200_000
_MAX_MESSAGE = 2_000
_POISON = b"\xff" * (1 << 20)


def build(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: write the sources, run the commands in order, send back what they made."""
    folder = Path(scratch) / "build"
    for name, text in arguments["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    channel.receive()
    source = PreprocessedSource()
    if arguments["sources"]:
        status, output, source = preprocess(
            arguments["preprocess"], arguments["sources"], frozenset(arguments["own_files"]), folder
        )
        if status != 0:
            channel.send({"status": status, "output": output[:_MAX_OUTPUT]})
            return
    for command in arguments["commands"]:
        done = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            output = done.stderr[:_MAX_OUTPUT].decode(errors="replace")
            channel.send({"status": done.returncode, "output": output})
            return
    results = [os.open(folder / name, os.O_RDONLY) for name in arguments["results"]]
    own = memory_file(msgspec.msgpack.encode(source))
    channel.send({"status": 0, "output": ""}, (*results, own))


def emulate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: receive the program and the meter, then run one process per call."""
    folder = Path(scratch)
    for name, file in zip(arguments["artefacts"], channel.receive().files, strict=True):
        with os.fdopen(file, "rb") as source:
            (folder / name).write_bytes(source.read())
        (folder / name).chmod(0o500)
    channel.send({})
    while True:
        message = channel.receive()
        call = msgspec.convert(message.body, EmulatedCall)
        layout = lay_out([(spec.dtype, spec.shape) for spec in call.outputs])
        outputs = _poisoned(layout)
        (given,) = message.files
        body = _run(folder, arguments["bits"], call, given, layout, outputs)
        channel.send(body, (outputs,))
        os.close(given)
        os.close(outputs)


def _run(
    folder: Path, bits: int, call: EmulatedCall, given: int, layout: Layout, outputs: int
) -> dict[str, Any]:
    manifest, report = folder / "manifest", folder / "report"
    manifest.write_bytes(pack_manifest(given, outputs, call, place_tensors(call, layout)))
    report.unlink(missing_ok=True)
    with manifest.open("rb") as stdin:
        done = subprocess.run(
            emulator_command(bits, folder, manifest, report),
            cwd=folder,
            stdin=stdin,
            capture_output=True,
            pass_fds=(given, outputs),
        )
    message = done.stderr[-_MAX_MESSAGE:].decode(errors="replace")
    text = report.read_text() if report.is_file() else ""
    return {"status": done.returncode, "report": text, "message": message}


def _poisoned(layout: Layout) -> int:
    """A memory file of NaNs, so that unwritten outputs show."""
    file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    for start in range(0, layout.bytes, len(_POISON)):
        os.pwrite(file, _POISON[: layout.bytes - start], start)
    return file
