"""`kernelmill doctor`: what this machine provides, and what is lost without the rest."""

import platform
import sys
from itertools import groupby
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

from kernelmill import __version__
from kernelmill.backends.base import Requirement
from kernelmill.campaign.readiness import probe_machine
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.json_records import MachineReport
from kernelmill.cli.terminal import folding_table, wide_console
from kernelmill.sandbox import Features, Tier

_LOST = {
    "namespaces": "other processes are visible, scratch is an ordinary temporary folder",
    "landlock": "a candidate could read and write the files of this user",
    "seccomp": "a candidate could start processes and open sockets",
    "memory_reading": "no verdict is possible: outputs are read from the runner's memory",
}
_TITLES = {
    "namespaces": "namespaces (user, mount, pid, net, ipc)",
    "landlock": "Landlock",
    "seccomp": "seccomp",
    "memory_reading": "reading a runner's memory",
}
_MECHANISM_COLUMNS = ("mechanism", "available", "lost without it")
_NOT_READY = 1


def doctor_command(json: JsonOption = False) -> None:
    """Check what this machine can do, and how to get what is missing.

    Exit code 1 where nothing can be judged here.
    """
    if json:
        _print_json()
        return
    console = wide_console()
    console.print(
        f"kernelmill {__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.release()} {platform.machine()}"
    )
    machine = probe_machine()
    console.print(_isolation(machine.isolation))
    console.print(_backends(machine.requirements))
    if not machine.is_ready:
        console.print("[red]not ready[/red]: the tables show what is missing")
        raise typer.Exit(_NOT_READY)
    console.print(f"[green]ready[/green] for {', '.join(machine.usable_backends)}")
    console.print(f"Python: {sys.executable}", highlight=False, markup=False, soft_wrap=True)


def _print_json() -> None:
    machine = probe_machine()
    print_json(
        MachineReport(
            __version__,
            platform.python_version(),
            str(machine.isolation.tier),
            machine.is_ready,
            tuple(machine.usable_backends),
            {name: tuple(needs) for name, needs in machine.requirements.items()},
        )
    )
    if not machine.is_ready:
        raise typer.Exit(_NOT_READY)


def _backends(requirements: dict[str, list[Requirement]]) -> Table:
    """Everything that was found for a backend that is ready; for the others, what is missing."""
    table = folding_table("backend", "requirement", "found, or how to get it", title="backends")
    for name, needs in requirements.items():
        table.add_section()
        rows = [(need.name, escape(_from_home(need.found))) for need in needs]
        if missing := [need for need in needs if not need.found]:
            rows = [
                (", ".join(need.name for need in alike), f"[red]missing[/red]: {escape(remedy)}")
                for remedy, alike in groupby(missing, lambda need: need.remedy)
            ]
        for number, row in enumerate(rows):
            table.add_row("" if number else name, *row)
    return table


def _from_home(path: str) -> str:
    """A path as people write it, so that a narrow table need not break it."""
    home = f"{Path.home()}/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else path


def _isolation(features: Features) -> Table:
    table = folding_table(*_MECHANISM_COLUMNS, title=f"isolation: {features.tier}")
    for name, title in _TITLES.items():
        reason: str = getattr(features, name)
        version = f" (ABI {features.landlock_abi})" if name == "landlock" and not reason else ""
        available = f"[red]no[/red]: {escape(reason)}" if reason else f"[green]yes[/green]{version}"
        table.add_row(title, available, _LOST[name] if reason else "")
    if features.tier < Tier.PARTIAL:
        table.caption = "candidates from models, agents and files need --allow-unsandboxed here"
    return table
