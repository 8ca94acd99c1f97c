"""Runs the build steps of an Ascend C project with CANN's tools. Runs inside sandboxes only."""

import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

from kernelmill.sandbox.channel import Channel

_MAX_LOG_BYTES = 200_000


class _Finished(NamedTuple):
    """A command that ended, or that could not be started."""

    log: str
    exit_code: int


def run_build_steps(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: run the steps in order, and send their results back as one archive."""
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
        finished = _run(step["command"], folder / step["folder"], environment)
        if finished.exit_code != 0:
            channel.send({"failed_step": step["name"], "log": finished.log})
            return
    archive = Path(scratch) / "operator.tar"
    with tarfile.open(archive, "w") as tar:
        for name in arguments["results"]:
            tar.add(folder / name, name)
    channel.send({"failed_step": "", "log": ""}, (os.open(archive, os.O_RDONLY),))


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> _Finished:
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        return _Finished(f"{command[0]} cannot be started: {error}", 1)
    return _Finished(done.stdout[-_MAX_LOG_BYTES:].decode(errors="replace"), done.returncode)
