"""Commands in the documentation: they parse, come after activation, and name what exists."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from typer.core import TyperGroup

from kernelmill.cli.main import app

PROJECT = Path(__file__).parent.parent.parent
PAGES = sorted(
    [
        PROJECT / "README.md",
        PROJECT / "CONTRIBUTING.md",
        PROJECT / "experiments" / "README.md",
        *(page for page in (PROJECT / "docs").rglob("*.md") if page.name != "cli.md"),
    ]
)
ACTIVATION = ". .venv/bin/activate"
OF_AN_ATTEMPT = (["show"], ["memory", "explain"], ["skills", "explain"], ["memory", "forget"])
OF_A_CAMPAIGN = (["status"], ["report"], ["export"], ["resume"])


Misuse: Any = typer.BadParameter.__base__
"""A wrong command line: typer's copy of click, where the class is, is private."""


class Line(NamedTuple):
    """A command of a block for a shell."""

    text: str
    words: list[str]


def shell_lines(text: str) -> list[Line]:
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = []
    for text in filter(str.strip, joined.splitlines()):
        words = shlex.split(text, comments=True)
        ends = [index for index, word in enumerate(words) if word in ("|", ">", "&&", ";", "&")]
        lines.append(Line(text, words[: min(ends, default=len(words))]))
    return [line for line in lines if line.words]


def commands(text: str) -> list[list[str]]:
    """The arguments of every `kernelmill` command of a page."""
    return [line.words[1:] for line in shell_lines(text) if line.words[0] == "kernelmill"]


def parse(arguments: list[str]) -> None:
    """Raises Misuse for a verb, an option or a value that there is not."""
    command: Any = typer.main.get_command(app)
    name, rest = "kernelmill", arguments
    while isinstance(command, TyperGroup) and rest:
        found, inner, rest = command.resolve_command(typer.Context(command, info_name=name), rest)
        assert found is not None and inner is not None
        name, command = found, inner
    with command.make_context(name, list(rest)):
        pass


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_commands_are_those_of_the_program(page: Path) -> None:
    for arguments in commands(page.read_text()):
        try:
            parse(arguments)
        except Misuse as error:
            pytest.fail(f"kernelmill {shlex.join(arguments)}: {error.format_message()}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_page_says_how_to_activate_before_its_first_command(page: Path) -> None:
    """Pages of results quote the commands that were run; all others are followed by a reader."""
    if "results" in page.parts:
        return
    text = page.read_text()
    assert "pip install 'kernelmill" not in text and "pip install kernelmill" not in text, (
        "no index has it: install from the checkout"
    )
    words = [line.words for line in shell_lines(text)]
    first = next((n for n, line in enumerate(words) if line[0] == "kernelmill"), None)
    if first is not None:
        assert ACTIVATION.split() in words[:first], page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_numbers_in_examples_exist_after_the_commands_before_them(page: Path) -> None:
    made, campaigns = 0, 0
    for arguments in commands(page.read_text()):
        if arguments[:1] == ["run"]:
            campaigns += 1
            made += int(option(arguments, "--budget", "30"))
        for number in numbers_after(arguments, OF_AN_ATTEMPT):
            assert number <= made, f"{page.name}: {shlex.join(arguments)} after {made} attempts"
        for number in numbers_after(arguments, OF_A_CAMPAIGN):
            assert number <= campaigns, f"{page.name}: {shlex.join(arguments)} after {campaigns}"


def option(arguments: list[str], name: str, otherwise: str) -> str:
    return arguments[arguments.index(name) + 1] if name in arguments else otherwise


def numbers_after(arguments: list[str], verbs: tuple[list[str], ...]) -> Iterator[int]:
    """Numbers right after one of these verbs."""
    for verb in verbs:
        rest = arguments[len(verb) :]
        if arguments[: len(verb)] == verb and rest and rest[0].isdecimal():
            yield int(rest[0])


def test_the_checks_can_fail() -> None:
    wrong = (
        "```sh\nkernelmill rum starter  # comment\nkernelmill run starter --bugdet 3 | tee x\n```"
    )
    for arguments in commands(wrong):
        with pytest.raises(Misuse):
            parse(arguments)
    (show,) = commands("```sh\nkernelmill show 42\n```")
    assert list(numbers_after(show, OF_AN_ATTEMPT)) == [42]
