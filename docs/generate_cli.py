"""Writes docs/cli.md from the live --help texts."""

import os
import subprocess
import sys
from pathlib import Path

from kernelmill.cli.main import app


def verbs() -> list[tuple[str, ...]]:
    """Every command and group of the program, in the order they are registered."""
    found: list[tuple[str, ...]] = [()]
    found += [(str(command.name),) for command in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        found.append((str(group.name),))
        for command in group.typer_instance.registered_commands:
            assert command.callback is not None
            found.append((str(group.name), command.name or command.callback.__name__))
    return found


def reference() -> str:
    parts = ["# Command line\n\nWritten by `make docs` from `--help`; a test keeps it true.\n"]
    for verb in verbs():
        command = " ".join(("kernelmill", *verb))
        parts.append(f"## {command}\n\n```text\n{_help(verb)}\n```\n")
    return "\n".join(parts)


def _help(verb: tuple[str, ...]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kernelmill", *verb, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"},
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(reference())
