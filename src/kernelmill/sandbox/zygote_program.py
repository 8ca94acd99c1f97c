"""The program of the zygote: imports the framework once, then forks one sandbox per request.

It has one thread, holds no secret (its environment is scrubbed before it starts), and runs no
untrusted code itself. It ends when its parent's end of the socket closes.
"""

import gc
import importlib
import os
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import msgspec

from kernelmill.sandbox import syscalls
from kernelmill.sandbox.channel import Channel, ChannelClosed, ChannelMessage
from kernelmill.sandbox.confine import enter_namespaces
from kernelmill.sandbox.features import probe_in_this_process
from kernelmill.sandbox.large_pages import use_large_pages
from kernelmill.sandbox.policy import Policy, Tier
from kernelmill.sandbox.supervisor import SCRATCH_PREFIX, Entry, Supervisor, raise_priority


def run_zygote() -> NoReturn:
    parent = Channel(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    features = probe_in_this_process()
    for module in sys.argv[2:]:
        importlib.import_module(module)
    _remove_abandoned_scratch()
    signal.signal(signal.SIGCHLD, _reap)
    gc.collect()
    gc.freeze()
    use_large_pages()
    try:
        parent.send({"features": msgspec.to_builtins(features)})
        while True:
            _spawn(parent, parent.receive())
    except ChannelClosed:
        os._exit(0)


def _spawn(parent: Channel, request: ChannelMessage) -> None:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        parent.close()
        try:
            _become_supervisor(request)
        finally:
            os._exit(1)
    for file in request.files:
        os.close(file)


def _become_supervisor(request: ChannelMessage) -> None:
    channel_file, control_file, log = request.files
    policy = msgspec.convert(request.body["policy"], Policy)
    entry = _resolve(request.body["entry"])
    raise_priority()
    if policy.tier >= Tier.FULL:
        enter_namespaces()
        if os.fork():
            # The supervisor is the fork: the first process of the new pid namespace. It becomes
            # the zygote's own child once this one is gone.
            os._exit(0)
    channel = Channel(socket.socket(fileno=channel_file))
    control = Channel(socket.socket(fileno=control_file))
    Supervisor(policy, channel, control, log).supervise(entry, request.body["arguments"])


def _resolve(path: str) -> Entry:
    module, _, name = path.partition(":")
    entry: Entry = getattr(sys.modules[module], name)
    return entry


def _reap(_signal: int, _frame: object) -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _remove_abandoned_scratch() -> None:
    """Delete the scratch folders of killed supervisors (only below the full tier)."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*"):
        owner = folder.name.removeprefix(SCRATCH_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)
