"""`kernelmill doctor`: what this machine has, and what is lost without the rest."""

import platform
import sys

import typer
from rich.console import Console
from rich.table import Table

from kernelmill import __version__
from kernelmill.backends import backend_names, get_backend
from kernelmill.sandbox import Features, Tier, probe_features

_LOST = {
    "namespaces": "foreign processes are visible, scratch is an ordinary temporary folder",
    "landlock": "a candidate could read and write files of this user",
    "seccomp": "a candidate could start processes and open sockets",
    "memory_reading": "no verdict is possible: answers are read from the runner's memory",
}
_TITLES = {
    "namespaces": "namespaces (user, mount, pid, net, ipc)",
    "landlock": "Landlock",
    "seccomp": "seccomp",
    "memory_reading": "reading a runner's memory",
}


def doctor() -> None:
    """Say what works on this machine: isolation, backends, and how to get what is missing."""
    console = Console()
    console.print(
        f"kernelmill {__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.release()} {platform.machine()}"
    )
    features = probe_features()
    console.print(_isolation(features))
    usable = []
    for name in backend_names():
        backend = get_backend(name)
        needs = backend.requirements()
        table = Table("need", "found", "if missing", title=f"backend {name}: {backend.title}")
        for need in needs:
            found = need.found or "[red]missing[/red]"
            table.add_row(need.name, found, "" if need.found else need.remedy)
        console.print(table)
        if all(need.found for need in needs):
            usable.append(name)
    if not usable or features.memory_reading:
        console.print("[red]not ready[/red]: see what is missing above")
        raise typer.Exit(1)
    console.print(f"[green]ready[/green] for {', '.join(usable)} ({sys.executable})")


def _isolation(features: Features) -> Table:
    table = Table("means", "granted", "lost without it", title=f"isolation: {features.tier}")
    for name, title in _TITLES.items():
        reason: str = getattr(features, name)
        version = f" (ABI {features.landlock_abi})" if name == "landlock" and not reason else ""
        granted = f"[red]no[/red]: {reason}" if reason else f"[green]yes[/green]{version}"
        table.add_row(title, granted, _LOST[name] if reason else "")
    if features.tier < Tier.PARTIAL:
        table.caption = "candidates from models, agents and files need --allow-unsandboxed here"
    return table
