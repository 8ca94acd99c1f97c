"""The parent's handle of the zygote, the warm process that sandboxes fork from.

The program that runs in that process is `zygote_program.py`.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.records.errors import SandboxUnavailable
from kernelmill.sandbox.channel import ChannelClosed, channel_pair
from kernelmill.sandbox.failures import (
    SandboxCrashed,
    SandboxFailure,
    SandboxTimeout,
    ZygoteLost,
)
from kernelmill.sandbox.features import Features
from kernelmill.sandbox.logs import sealed_log
from kernelmill.sandbox.policy import Policy
from kernelmill.sandbox.sandbox import Sandbox

_IMPORT_SECONDS = 180.0
_END_SECONDS = 10.0
_LAST_LINE_CHARACTERS = 400
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
}
_SEARCH_PATHS = ("PATH", "LD_LIBRARY_PATH")
_START = str(Path(__file__).with_name("start.py"))


class Zygote:
    """The warm process. Safe to use from several threads; started anew if it was killed."""

    def __init__(
        self,
        modules: tuple[str, ...],
        threads: int,
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        """Start it with `modules` imported; sandboxes compute with `threads` threads.

        Its environment is ours only as far as search paths for programs and libraries go, plus
        what `environment` adds. Under another `python`, which needs msgspec and numpy, it sees
        that one's packages; under our own it finds what we find.
        """
        self._modules = modules
        paths = _import_paths() if python == sys.executable else {}
        self._environment = {**_environment(threads), **paths, **(environment or {})}
        self._python = python
        self._lock = threading.Lock()
        self._start()

    def spawn(self, entry: str, arguments: dict[str, Any], policy: Policy) -> Sandbox:
        """Fork a sandbox that runs `entry` ("module:function" of an imported module).

        Raises SandboxFailure where the sandbox does not come up, ZygoteLost where the zygote
        itself was killed meanwhile.
        """
        tier = min(policy.tier, self.features.tier)
        policy = msgspec.structs.replace(policy, tier=tier)
        body = {
            "entry": entry,
            "arguments": arguments,
            "policy": msgspec.to_builtins(policy),
        }
        with self._lock:
            if self._process.poll() is not None:
                self.close()
                self._start()
            try:
                return self._fork(body, policy.limits.log_bytes)
            except SandboxCrashed as error:
                if self._process.poll() is not None:
                    reason = f"the warm process was killed: {self._last_line()}"
                    raise ZygoteLost(reason) from error
                raise

    def close(self) -> None:
        self._channel.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._channel, theirs = channel_pair()
        number = theirs.fileno()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [self._python, "-P", _START, str(number), *self._modules],
            pass_fds=(number,),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
            cwd="/",
        )
        theirs.close()
        try:
            hello = self._channel.receive(_IMPORT_SECONDS)
        except (ChannelClosed, SandboxFailure) as error:
            self._process.kill()
            self._process.wait()
            late = f" within {error.seconds:.0f} s" if isinstance(error, SandboxTimeout) else ""
            reason = f"the warm process of the sandboxes did not start{late}: {self._last_line()}"
            self.close()
            raise SandboxUnavailable(reason) from error
        self.features = msgspec.convert(hello.body["features"], Features)

    def _last_line(self) -> str:
        """The last line of its standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:_LAST_LINE_CHARACTERS] if lines else "it printed nothing"

    def _fork(self, body: dict[str, Any], log_bytes: int) -> Sandbox:
        channel, channel_theirs = channel_pair()
        channel.expect_greeting()
        control, control_theirs = channel_pair()
        log = sealed_log(log_bytes)
        try:
            self._channel.send(body, (channel_theirs.fileno(), control_theirs.fileno(), log))
        except ChannelClosed:
            pass  # killed at this moment: the sandbox below gets no greeting and says so
        channel_theirs.close()
        control_theirs.close()
        return Sandbox(channel, control, log)


def _import_paths() -> dict[str, str]:
    """Folders that this process imports from beside those of its installation: plug-ins under
    development lie there."""
    installed = (sys.prefix, sys.base_prefix)
    own = [path for path in sys.path if os.path.isdir(path) and not path.startswith(installed)]
    return {"PYTHONPATH": os.pathsep.join(own)} if own else {}


def _environment(threads: int) -> dict[str, str]:
    """Variables of the zygote; only search paths are copied from the caller's, so no keys leak."""
    copied = {name: os.environ[name] for name in _SEARCH_PATHS if name in os.environ}
    # Named here, because sandboxes cannot look it up in /etc/passwd.
    own = {"PATH": os.defpath, "OMP_NUM_THREADS": str(threads), "HOME": "/", "USER": "kernelmill"}
    return {**_ENVIRONMENT, **own, **copied}
