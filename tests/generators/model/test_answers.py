"""Parsing of answers into files, and the problem that each bad answer has."""

import string
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.model.answers import find_remark, parse_candidate
from kernelmill.generators.model.call_problems import CallProblem, UnusableAnswer
from kernelmill.generators.model.edits import Edit, apply_edits, parse_edits
from kernelmill.generators.model.protocol import ModelAnswer, StopReason
from kernelmill.generators.model.structured import parse_opinion
from kernelmill.records.candidate import Origin

FILES = {"model.py": "import torch\nx = 1\n", "kernel.cpp": "int a;\nint b;\nint a;\n"}
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"))
LINES = st.lists(st.text(string.ascii_letters + " ;{}#`=<>", max_size=12), min_size=1, max_size=12)


def answer(text: str, stop: StopReason = StopReason.END) -> ModelAnswer:
    return ModelAnswer(text, stop, None)


def whole(files: dict[str, str]) -> str:
    parts = [f"### {name}\n```cpp\n{text}```\n" for name, text in files.items()]
    return "Approach: plain\n\n" + "\n".join(parts)


def edited(search: str, replace: str, name: str = "kernel.cpp") -> str:
    edit = f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"
    return f"### {name}\n```edit\n{edit}```\n"


def parse(
    text: str, before: dict[str, str] | None = None, stop: StopReason = StopReason.END
) -> dict[str, str]:
    candidate = parse_candidate(answer(text, stop), before or {}, "task").candidate
    assert candidate.origin is Origin.MODEL
    return candidate.files


def problem_of(
    text: str, before: dict[str, str] | None = None, stop: StopReason = StopReason.END
) -> CallProblem:
    with pytest.raises(UnusableAnswer) as caught:
        parse(text, before, stop)
    assert caught.value.found and caught.value.instead
    return caught.value.problem


@pytest.mark.parametrize(
    "head",
    [
        "### model.py\n```python\n",
        "**`model.py`**\n\n```\n",
        "File: model.py\n```py\n",
        "1. model.py:\n```python\n",
        "```python model.py\n",
        "```python:model.py\n",
        '```python title="model.py"\n',
        "~~~~ model.py\n",
        "```python\n# model.py\n",
    ],
)
def test_names_of_blocks_as_models_write_them(head: str) -> None:
    fence = "~~~~" if head.startswith("~") else "```"
    files = parse(f"Here it is.\n\n{head}x = 1\n{fence}\n")
    assert files["model.py"].endswith("x = 1\n")


def test_whole_files_and_edits_together() -> None:
    text = whole({"extra.hpp": "#pragma once\n"}) + edited("int b;\n", "int c;\n")
    files = parse(text, FILES)
    assert files == {
        "model.py": FILES["model.py"],
        "kernel.cpp": "int a;\nint c;\nint a;\n",
        "extra.hpp": "#pragma once\n",
    }


def test_sketches_between_files_are_no_files() -> None:
    text = "The plan:\n```text\nload, add, store\n```\n" + whole({"model.py": "x = 1\n"})
    assert parse(text) == {"model.py": "x = 1\n"}


def test_a_longer_fence_holds_a_shorter_one() -> None:
    text = "### model.py\n````python\n'''\n```\n'''\n````\n"
    assert parse(text) == {"model.py": "'''\n```\n'''\n"}


@pytest.mark.parametrize(
    ("problem", "text", "stop"),
    [
        (CallProblem.EMPTY, "", StopReason.END),
        (CallProblem.EMPTY, " \n\t\n", StopReason.LENGTH),
        (CallProblem.REFUSED, "I'm sorry, but I can't help with that.", StopReason.END),
        (CallProblem.REFUSED, "", StopReason.REFUSAL),
        (CallProblem.NO_BLOCK, "Use a faster algorithm.", StopReason.END),
        (CallProblem.NO_BLOCK, "```text\na sketch\n```", StopReason.END),
        (CallProblem.UNNAMED_BLOCK, "```cpp\nint a;\n```", StopReason.END),
        (CallProblem.UNKNOWN_FILE, "### Makefile.am\n```\nall:\n```", StopReason.END),
        (CallProblem.UNKNOWN_FILE, whole({"model.py": "x\n", "../x.py": "x\n"}), StopReason.END),
        (CallProblem.MISSING_FILE, "### kernel.cpp\n```cpp\nint a;\n```", StopReason.END),
        (CallProblem.TWICE, whole({"model.py": "x\n"}) * 2, StopReason.END),
        (CallProblem.CUT_SHORT, "### model.py\n```python\nx = 1\n", StopReason.END),
        (CallProblem.CUT_SHORT, whole(FILES), StopReason.LENGTH),
        (CallProblem.TOO_LONG, whole(FILES), StopReason.ENDLESS),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_answer(problem: CallProblem, text: str, stop: StopReason) -> None:
    assert problem_of(text, stop=stop) is problem


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (CallProblem.NO_MATCH, edited("int z;\n", "int c;\n")),
        (CallProblem.NO_MATCH, edited("int  b;\n", "int c;\n")),
        (CallProblem.NO_MATCH, edited("nt b;\n", "nt c;\n")),
        (CallProblem.SEVERAL_MATCHES, edited("int a;\n", "int c;\n")),
        (CallProblem.UNKNOWN_FILE, edited("int b;\n", "int c;\n", "other.cpp")),
        (CallProblem.BAD_EDIT, edited("", "int c;\n")),
        (CallProblem.BAD_EDIT, edited("int b;\n", "int c;\n").replace("=======\n", "")),
        (CallProblem.BAD_EDIT, edited("int b;\n", "<<<<<<< SEARCH\n")),
        (CallProblem.BAD_EDIT, edited("int b;\n", "int c;\n").replace("REPLACE\n", "REPLACE\nand so\n")),
        (CallProblem.CUT_SHORT, edited("int b;\n", "int c;\n").replace(">>>>>>> REPLACE\n", "")),
        (CallProblem.UNCHANGED, edited("int b;\n", "int b;\n")),
        (CallProblem.UNCHANGED, whole(FILES)),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_edit(problem: CallProblem, text: str) -> None:
    assert problem_of(text, FILES) is problem


def test_an_edit_that_misses_is_shown_what_comes_closest() -> None:
    with pytest.raises(UnusableAnswer, match=r"the closest are:\nint b;\nint a;"):
        parse(edited("int b;\nint c;\n", "int d;\n"), FILES)


def test_a_last_line_without_an_end_is_found() -> None:
    files = parse(edited("int z;\n", "int y;\n"), {"model.py": "x", "kernel.cpp": "int z;"})
    assert files["kernel.cpp"] == "int y;\n"


def test_remarks_are_taken_where_there_are_any() -> None:
    text = "**Approach:** two passes\nExpect: 2x, bound by memory\n```\n```"
    assert find_remark(text, "approach") == "two passes"
    assert find_remark(text, "expect") == "2x, bound by memory"
    assert find_remark("nothing", "approach") == ""


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 500_000,
        " " * 500_000,
        "a" * 500_000,
        "a." * 250_000,
        "```" + "a" * 500_000 + "\nx\n```",
        "```\n" * 100_000,
        "`" * 500_000,
        "approach" + " " * 500_000,
        "*" * 500_000,
    ],
    ids=range(9),
)
def test_no_answer_takes_long_to_parse(text: str) -> None:
    for words in (text, text + whole(FILES), edited("x\n" * 20_000 + "y\n", "")):
        with suppress(UnusableAnswer):
            parse(words, {**FILES, "kernel.cpp": "x\n" * 20_000})
        find_remark(words, "approach")
        with suppress(UnusableAnswer):
            parse_opinion(answer(words))


@given(TEXT)
def test_any_text_is_a_candidate_or_malformed(text: str) -> None:
    for before in ({}, FILES):
        with suppress(UnusableAnswer):
            parse(text, before)


@given(LINES, LINES)
def test_what_is_written_as_asked_is_read_as_written(model: list[str], kernel: list[str]) -> None:
    files = {
        name: "".join(f"{line}\n" for line in lines if "```" not in line and "SEARCH" not in line)
        for name, lines in (("model.py", ["x", *model]), ("kernel.cpp", ["y", *kernel]))
    }
    assert parse(whole(files)) == files


@given(LINES, st.integers(0, 400))
def test_a_part_of_an_answer_never_gives_a_part_of_a_file(lines: list[str], end: int) -> None:
    text = "".join(f"{line}\n" for line in lines if "```" not in line)
    files = {"model.py": f"x\n{text}", "kernel.cpp": f"y\n{text}"}
    try:
        found = parse(whole(files)[:end])
    except UnusableAnswer:
        return
    assert found.items() <= files.items()


@given(LINES, LINES, LINES, LINES)
def test_an_edit_changes_its_place_and_nothing_else(
    before: list[str], old: list[str], new: list[str], after: list[str]
) -> None:
    head, search, replace, tail = (
        "".join(f"{line}\n" for line in lines) for lines in (before, ["@", *old], new, after)
    )
    changed = apply_edits("f", head + search + tail, [Edit(search, replace)])
    assert changed == head + replace + tail


@given(LINES, LINES)
def test_edits_are_read_as_written(old: list[str], new: list[str]) -> None:
    search, replace = ("".join(f"{line}\n" for line in ["@", *lines]) for lines in (old, new))
    text = f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"
    if any(line.startswith("=====") for line in (*old, *new)):
        return
    assert parse_edits("f", text * 2) == [Edit(search, replace)] * 2
