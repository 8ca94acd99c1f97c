"""CANN's tools at work on a project. Runs inside cells only."""

import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from kernelmill.sandbox.channel import Channel

_MOST_OUTPUT = 200_000


def make_operator(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: run the steps in order, and hand back what they leave, as one archive."""
    folder = Path(scratch) / "operator"
    environment = {**os.environ, **arguments["environment"]}
    # An operator of the same name that is installed elsewhere would be taken for this one.
    environment.pop("ASCEND_CUSTOM_OPP_PATH", None)
    channel.receive()
    for step in arguments["steps"]:
        for name, text in step["files"].items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        log, status = _run(step["command"], folder / step["folder"], environment)
        if status != 0:
            channel.send({"failed": step["name"], "log": log})
            return
    archive = Path(scratch) / "operator.tar"
    with tarfile.open(archive, "w") as tar:
        for name in arguments["results"]:
            tar.add(folder / name, name)
    channel.send({"failed": "", "log": ""}, (os.open(archive, os.O_RDONLY),))


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[str, int]:
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        return f"{command[0]} cannot be started: {error}", 1
    return done.stdout[-_MOST_OUTPUT:].decode(errors="replace"), done.returncode
