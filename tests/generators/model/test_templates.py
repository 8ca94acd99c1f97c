"""Answers that are templates: what is read from them, and what is wrong with others."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.model.test_answers import answer, whole
from kernelmill.generators.model.answers import ParsedCandidate, parse_candidate
from kernelmill.generators.model.call_problems import CallProblem, UnusableAnswer
from kernelmill.records.sweep import PLACEHOLDER

FILES = {"model.py": "x = 1\n", "kernel.cpp": "int rows = ${ROWS};\nint step = ${STEP};\n"}
NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)
CHOICES = st.lists(
    st.integers(-99, 999) | st.from_regex(r"[a-z0-9x]{1,8}", fullmatch=True),
    min_size=2, max_size=5, unique_by=str,
)  # fmt: skip


def template(declared: str, files: dict[str, str] = FILES) -> str:
    return f"{whole(files)}\n```sweep\n{declared}\n```\n"


def parse(text: str, templates: bool = True) -> ParsedCandidate:
    return parse_candidate(answer(text), {}, "task", templates=templates)


def test_a_template_is_read_with_its_first_values() -> None:
    candidate, space = parse(template('{"ROWS": [4, 2, 8], "STEP": ["8 * 2", 1]}'))
    assert candidate.files["kernel.cpp"] == "int rows = 4;\nint step = 8 * 2;\n"
    assert space is not None and space.size == 6
    assert space.filled({"ROWS": 8, "STEP": 1})["kernel.cpp"] == "int rows = 8;\nint step = 1;\n"
    assert [one.choices for one in space.parameters] == [(4, 2, 8), ("8 * 2", 1)]


@given(st.dictionaries(NAMES, CHOICES, min_size=1, max_size=3))
def test_every_combination_fills_every_place(declared: dict[str, list[int | str]]) -> None:
    text = "".join(f"a = ${{{name}}} + ${{{name}}};\n" for name in declared)
    files = {"model.py": "x = 1\n", "kernel.cpp": text}
    candidate, space = parse(template(json.dumps(declared), files))
    assert space is not None
    for choices in space.combinations():
        filled = space.filled(choices)["kernel.cpp"]
        assert not PLACEHOLDER.search(filled)
        assert filled == "".join(f"a = {one} + {one};\n" for one in choices.values())
    assert candidate.files == space.filled(space.defaults)


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ('{"ROWS": [4, 2]}', "${STEP} is in the files and not"),
        ('{"ROWS": [4, 2], "STEP": [1, 2], "MORE": [1, 2]}', "${MORE} is in the sweep block and not"),
        ('{"ROWS": [4, 2], "STEP": [1]}', "STEP has 1 values"),
        ('{"ROWS": [4, 4], "STEP": [1, 2]}', "a value of ROWS is given twice"),
        ('{"ROWS": 4, "STEP": [1, 2]}', "not a JSON object"),
        ('{"ROWS": [true, false], "STEP": [1, 2]}', "not a JSON object"),
        ('{"ROWS": [4, "${STEP}"], "STEP": [1, 2]}', "not a short text"),
        ('{"ROWS": [4, "a\\nb"], "STEP": [1, 2]}', "not a short text"),
        ('{"R-S": [4, 2], "STEP": [1, 2]}', "'R-S' is not a name"),
        ("{}", "has 0 names"),
        ("ROWS = 4, 2", "not a JSON object"),
        (json.dumps({name: list(range(12)) for name in ("ROWS", "STEP")} | {"C": list(range(12))}), "${C}"),
    ],
)  # fmt: skip
def test_a_malformed_template_is_refused_with_what_is_wrong(declared: str, found: str) -> None:
    with pytest.raises(UnusableAnswer) as caught:
        parse(template(declared))
    assert caught.value.problem is CallProblem.BAD_TEMPLATE
    assert found in caught.value.found and "```sweep" in caught.value.instead


def test_too_many_combinations_are_refused() -> None:
    names = ("ROWS", "STEP", "LANES")
    files = FILES | {"kernel.cpp": FILES["kernel.cpp"] + "${LANES}\n"}
    declared = json.dumps({name: list(range(12)) for name in names})
    with pytest.raises(UnusableAnswer, match="1728 combinations"):
        parse(template(declared, files))


def test_places_without_a_block_and_blocks_without_places_are_refused() -> None:
    with pytest.raises(UnusableAnswer, match=r"\$\{ROWS\}, \$\{STEP\} has no values"):
        parse(whole(FILES))
    plain = {"model.py": "x = 1\n"}
    with pytest.raises(UnusableAnswer, match="is in the sweep block and not in the files"):
        parse(template('{"ROWS": [4, 2]}', plain))
    with pytest.raises(UnusableAnswer, match="more than one sweep block"):
        parse(template('{"ROWS": [4, 2]}') + "\n```sweep\n{}\n```\n")
    with pytest.raises(UnusableAnswer, match="nothing would measure its values"):
        parse(template('{"ROWS": [4, 2], "STEP": [1, 2]}'), templates=False)
    with pytest.raises(UnusableAnswer) as caught:
        parse(whole(FILES) + '\n```sweep\n{"ROWS": [4, 2]')
    assert caught.value.problem is CallProblem.CUT_SHORT
