"""The tool chain at work. Runs inside cells only."""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.backends.rvv.calling import Call, pack, place
from kernelmill.backends.rvv.toolchain import emulating
from kernelmill.sandbox.channel import Channel
from kernelmill.tensors.blob import FILE_NAME
from kernelmill.tensors.layout import Layout, lay_out

_MOST_OUTPUT = 200_000
_MOST_SAID = 2_000
_POISON = b"\xff" * (1 << 20)


def build(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: write the sources, run the commands in order, hand back what they made."""
    folder = Path(scratch) / "build"
    for name, text in arguments["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    channel.receive()
    for command in arguments["commands"]:
        done = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            output = done.stderr[:_MOST_OUTPUT].decode(errors="replace")
            channel.send({"status": done.returncode, "output": output})
            return
    made = [os.open(folder / name, os.O_RDONLY) for name in arguments["made"]]
    channel.send({"status": 0, "output": ""}, tuple(made))


def emulate(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: take the program and the meter, then run one process for every call asked for."""
    folder = Path(scratch)
    for name, file in zip(arguments["artefacts"], channel.receive().files, strict=True):
        with os.fdopen(file, "rb") as source:
            (folder / name).write_bytes(source.read())
        (folder / name).chmod(0o500)
    channel.send({})
    while True:
        message = channel.receive()
        call = msgspec.convert(message.body, Call)
        made = lay_out([(kind.dtype, kind.shape) for kind in call.outputs])
        outputs = _poisoned(made)
        (given,) = message.files
        body = _run(folder, arguments["bits"], call, given, made, outputs)
        channel.send(body, (outputs,))
        os.close(given)
        os.close(outputs)


def _run(
    folder: Path, bits: int, call: Call, given: int, made: Layout, outputs: int
) -> dict[str, Any]:
    manifest, report = folder / "manifest", folder / "report"
    manifest.write_bytes(pack(given, outputs, call, place(call, made)))
    report.unlink(missing_ok=True)
    with manifest.open("rb") as told:
        done = subprocess.run(
            emulating(bits, folder, manifest, report),
            cwd=folder,
            stdin=told,
            capture_output=True,
            pass_fds=(given, outputs),
        )
    said = done.stderr[-_MOST_SAID:].decode(errors="replace")
    text = report.read_text() if report.is_file() else ""
    return {"status": done.returncode, "report": text, "said": said}


def _poisoned(layout: Layout) -> int:
    """A file in memory full of ones: what is not written shows, as it is not a number."""
    file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    for start in range(0, layout.bytes, len(_POISON)):
        os.pwrite(file, _POISON[: layout.bytes - start], start)
    return file
