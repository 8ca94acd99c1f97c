"""`kernelmill doctor`: what this machine has, and what is lost without the rest."""

import platform
import sys
from itertools import groupby

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelmill import __version__
from kernelmill.backends import backend_names, get_backend
from kernelmill.backends.base import Requirement
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
    needs = {name: get_backend(name).requirements() for name in backend_names()}
    console.print(_backends(needs))
    usable = [name for name, some in needs.items() if all(need.found for need in some)]
    if not usable or features.memory_reading:
        console.print("[red]not ready[/red]: see what is missing above")
        raise typer.Exit(1)
    console.print(f"[green]ready[/green] for {', '.join(usable)} ({sys.executable})")


def _backends(needs: dict[str, list[Requirement]]) -> Table:
    """What there is of those that are ready; of the others, what is missing."""
    table = Table("backend", "need", "found, or how to get it", title="backends")
    for name, some in needs.items():
        table.add_section()
        rows = [(need.name, escape(need.found)) for need in some]
        if missing := [need for need in some if not need.found]:
            rows = [
                (", ".join(need.name for need in alike), f"[red]missing[/red]: {escape(remedy)}")
                for remedy, alike in groupby(missing, lambda need: need.remedy)
            ]
        for number, row in enumerate(rows):
            table.add_row("" if number else name, *row)
    return table


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
