"""Templates: files with placeholders, and the block that gives the choices of each."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

import msgspec

from kernelmill.generators.model.call_problems import CallProblem, UnusableAnswer
from kernelmill.generators.model.fenced_blocks import FencedBlock
from kernelmill.records.decisions import Choice
from kernelmill.records.sweep import PLACEHOLDER, Parameter, SweepSpace

BLOCK = "sweep"
"""The language of the fenced block that declares the parameters."""
_SHAPE = (
    "write `${NAME}` in the files in place of a value, and one block ```sweep with a JSON object "
    'that gives each name its values, the one to begin with first: {"NAME": [4, 2, 8]}; or write '
    "plain values and no block"
)
MOST_PARAMETERS, MOST_CHOICES, MOST_COMBINATIONS = 6, 12, 512
_MOST_CHARACTERS = 60
"""Of a choice that is text."""


def is_declaration(block: FencedBlock) -> bool:
    return block.language.lower() == BLOCK


def parse_template(
    declarations: Sequence[FencedBlock], files: Mapping[str, str], changed: Mapping[str, str]
) -> SweepSpace | None:
    """The space of a template; None where the files are plain. Raises UnusableAnswer.

    `changed` are the files that the answer gives: only there a placeholder needs a declaration.
    """
    used = {name for text in files.values() for name in PLACEHOLDER.findall(text)}
    if not declarations:
        forgotten = {name for text in changed.values() for name in PLACEHOLDER.findall(text)}
        if forgotten:
            _refuse(f"{_quoted(forgotten)} has no values: the answer has no sweep block")
        return None
    if len(declarations) > 1:
        _refuse("there is more than one sweep block")
    parameters = _declared(declarations[0])
    names = {one.name for one in parameters}
    if used - names:
        _refuse(f"{_quoted(used - names)} is in the files and not in the sweep block")
    if names - used:
        _refuse(f"{_quoted(names - used)} is in the sweep block and not in the files")
    space = SweepSpace(parameters, dict(files))
    if space.size > MOST_COMBINATIONS:
        _refuse(f"there are {space.size} combinations; at most {MOST_COMBINATIONS} are allowed")
    return space


def _declared(block: FencedBlock) -> tuple[Parameter, ...]:
    if not block.closed:
        raise UnusableAnswer(CallProblem.CUT_SHORT, "the sweep block has no closing fence", _SHAPE)
    try:
        values = msgspec.json.decode(block.text, type=dict[str, list[int | float | str]])
    except (msgspec.DecodeError, RecursionError) as error:
        _refuse(f"the sweep block is not a JSON object with a list of values per name: {error}")
    if not 1 <= len(values) <= MOST_PARAMETERS:
        _refuse(f"the sweep block has {len(values)} names; 1 to {MOST_PARAMETERS} are allowed")
    return tuple(_parameter(name, choices) for name, choices in values.items())


def _parameter(name: str, values: Sequence[int | float | str]) -> Parameter:
    if not PLACEHOLDER.fullmatch(f"${{{name}}}"):
        _refuse(f"{name[:_MOST_CHARACTERS]!r} is not a name")
    choices: tuple[Choice, ...] = tuple(one if isinstance(one, int) else str(one) for one in values)
    if not 2 <= len(choices) <= MOST_CHOICES:
        _refuse(f"{name} has {len(choices)} values; 2 to {MOST_CHOICES} are allowed")
    if len({str(one) for one in choices}) < len(choices):
        _refuse(f"a value of {name} is given twice")
    for one in choices:
        text = str(one)
        if len(text) > _MOST_CHARACTERS or "\n" in text or PLACEHOLDER.search(text):
            _refuse(f"a value of {name} is not a short text of one line: {text[:40]!r}")
    return Parameter(name, choices)


def _quoted(names: set[str]) -> str:
    return ", ".join(f"${{{name}}}" for name in sorted(names))


def _refuse(found: str) -> NoReturn:
    raise UnusableAnswer(CallProblem.BAD_TEMPLATE, found, _SHAPE)
