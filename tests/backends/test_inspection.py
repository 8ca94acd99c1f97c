"""Static rules in their sandbox: what macros hide is found, and hostile text ends in a refusal."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelmill.backends import get_backend
from kernelmill.backends.base import RuleFinding
from kernelmill.backends.cpp.source_rules import check_text, without_comments
from kernelmill.backends.inspection import Inspector, inspection_modules
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.support.preprocessing import OwnSource, TooLong
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.sandbox import Zygote

BACKEND = get_backend("cpp")
HONEST = read_candidate(BACKEND.examples() / "starter" / "softmax")
LONG = 200_000
INSPECTION = "inspection"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote((*BACKEND.zygote_modules, *inspection_modules(BACKEND)), 1) as zygote:
        yield zygote


@pytest.fixture(scope="module")
def inspector(zygote: Zygote) -> Iterator[Inspector]:
    with closing(Inspector(BACKEND, zygote)) as inspector:
        yield inspector


def with_files(**texts: str) -> Candidate:
    """The honest kernel with text added to its files, and with new headers."""
    files = dict(HONEST.files)
    for name, text in texts.items():
        file = {"model": "model.py", "kernel": "kernel.cpp"}.get(name, f"{name}.h")
        files[file] = text + files.get(file, "")
    return Candidate(files, Origin.FILE, "added")


def findings_of_build(inspector: Inspector, zygote: Zygote, one: Candidate) -> list[RuleFinding]:
    assert inspector.inspect_sources(one) == [], "the text itself shows nothing"
    return inspector.inspect_build(one, BACKEND.build(one, zygote))


HIDDEN = {
    "a pasted name": (
        "#define P(a, b) a##b\nextern \"C\" int P(fo, rk)();\nint f() { return P(fo, rk)(); }\n",
        "processes", "kernel.cpp:2",
    ),
    "a header behind a macro": ("\n#define H <dlfcn.h>\n#include H\n", "include", "kernel.cpp:3"),
    "another directive": ("#include_next <sys/mman.h>\n", "include", "kernel.cpp:1"),
    "a continued line": ("int f(int x) { return x; }\n#include <dl\\\nfcn.h>\n", "include", "kernel.cpp"),
    "a name continued": ("namespace std { class thr\\\nead; }\nusing T = std::thr\\\nead*;\n",
                         "threads", "kernel.cpp"),
    "an absolute path": ('#define H "/usr/share/common-licenses/../../include/link.h"\n#include H\n',
                         "include", "kernel.cpp:2"),
    "a constructor": ("#define K(a, b) __attribute__((a##b)) static void run() {}\nK(const, ructor)\n",
                      "constructor", "kernel.cpp:2"),
}  # fmt: skip


@pytest.mark.compiler
@pytest.mark.parametrize("name", HIDDEN)
def test_what_macros_hide_is_found_at_its_place(
    inspector: Inspector, zygote: Zygote, name: str
) -> None:
    text, rule, place = HIDDEN[name]
    found = findings_of_build(inspector, zygote, with_files(kernel=text))
    assert [f for f in found if f.rule == rule and f.where.startswith(place)], found


@pytest.mark.compiler
def test_a_headers_own_lines_count(inspector: Inspector, zygote: Zygote) -> None:
    header = "#pragma once\n#define P(a, b) a##b\ninline long now() { return P(__builtin_ia32_rd, tsc)(); }\n"
    one = with_files(kernel='#include "own.h"\n', own=header)
    found = findings_of_build(inspector, zygote, one)
    assert ("clock", "own.h:3") in {(f.rule, f.where) for f in found}


RENAMED = (
    '#line 7 "/usr/include/math.h"\n', '# 7 "/usr/include/math.h" 1 3\n',
    '#li\\\nne 7 "x.h"\n', '%:line 7 "x.h"\n', '/* */ # /* */ line 7\n', "  #\tline 7\n",
    '\r#line 7 "x.h"\r', '/* open\n*/ #line 7\n',
)  # fmt: skip


@pytest.mark.parametrize("text", RENAMED)
def test_lines_keep_their_names(text: str) -> None:
    assert "line-names" in {finding.rule for finding in check_text(text, "kernel.cpp")}


@pytest.mark.compiler
def test_code_that_runs_early_and_memory_without_a_name_are_found(
    inspector: Inspector, zygote: Zygote
) -> None:
    early = 'asm(".section .init_array,\\"aw\\"\\n.quad early\\n.text\\nearly: ret");\n'
    unnamed = 'asm(".bss\\n.Lhidden: .zero 64\\n.text");\n'
    untyped = 'asm(".bss\\nkept: .zero 64\\n.text");\n'
    for text, rule in ((early, "constructor"), (unnamed, "state"), (untyped, "state")):
        one = with_files(kernel=text)
        found = inspector.inspect_build(one, BACKEND.build(one, zygote))
        assert rule in {finding.rule for finding in found}, text


@pytest.mark.compiler
def test_streams_and_critical_sections_are_honest(inspector: Inspector, zygote: Zygote) -> None:
    text = (
        "#include <iostream>\n#include <cassert>\n#include <cmath>\n#include <cerrno>\n"
        "#include <limits>\n#include <immintrin.h>\n#include <omp.h>\n"
        "static double worst(double x) {\n  double y = -INFINITY;\n"
        "  #pragma omp parallel\n  {\n    #pragma omp critical\n    y = std::fmax(y, x);\n  }\n"
        "  assert(!std::isnan(y)); if (y < 0) y = 1'000'000 * NAN;\n  return y;\n}\n"
        'extern "C" double also(double x) { return worst(x); }\n'
    )
    assert findings_of_build(inspector, zygote, with_files(kernel=text)) == []


SLOW_FOR_PATTERNS = {
    "blank lines": "\n" * LONG,
    "blanks in brackets": "(*" + " " * LONG,
    "escaped quotes": '"' + '\\"' * LONG,
    "escaped apostrophes": "'" + "\\'" * LONG,
    "open comments": "/*" * LONG,
    "raw strings": 'R"(' * LONG,
    "brackets": "(" * LONG,
    "scopes": "(" + "a::" * LONG,
    "attributes": "[[" * LONG,
    "one word": "rd" * LONG,
    "findings": "fork();\n" * (LONG // 4),
    "directives": "#/*\n" * LONG,
    "continued lines": "\\\n" * LONG,
}


@pytest.mark.parametrize("name", SLOW_FOR_PATTERNS)
def test_long_text_is_read_in_time(inspector: Inspector, name: str) -> None:
    """Each took minutes or hours where a pattern goes back over what it has read."""
    found = inspector.inspect_sources(with_files(kernel=SLOW_FOR_PATTERNS[name]))
    assert INSPECTION not in {finding.rule for finding in found}
    assert len(found) <= 50


def test_nested_expressions_are_spelled_once(inspector: Inspector) -> None:
    arguments = ", ".join("1" for _ in range(300))
    chain = "x" + f".a({arguments})" * 150
    found = inspector.inspect_sources(with_files(model=f"y = {chain}\n" * 10))
    assert found
    assert INSPECTION not in {finding.rule for finding in found}


def test_a_text_that_takes_too_long_is_refused_and_the_next_is_judged(zygote: Zygote) -> None:
    slow = with_files(model="x = 1\n" * 250_000)
    with closing(Inspector(BACKEND, zygote, seconds=0.05)) as inspector:
        inspector.inspect_sources(HONEST)
        (finding,) = inspector.inspect_sources(slow)
    assert finding.rule == INSPECTION
    assert "no answer within" in finding.what
    with closing(Inspector(BACKEND, zygote)) as inspector:
        assert inspector.inspect_sources(HONEST) == []


@settings(max_examples=25)
@given(st.text(st.sampled_from("\"'\\/*\n R(ab)#1_u8L;"), max_size=60))
def test_blanking_keeps_every_line_and_length(text: str) -> None:
    blanked = without_comments(text)
    assert len(blanked) == len(text)
    assert [len(line) for line in blanked.split("\n")] == [len(line) for line in text.split("\n")]


def test_a_digit_separator_opens_no_literal() -> None:
    found = check_text("int x = 1'000; int y = fork(); int z = 1'000;", "kernel.cpp")
    assert [finding.rule for finding in found] == ["processes"]


def test_macros_that_never_stop_are_refused() -> None:
    own = OwnSource({"kernel.cpp"})
    line = "x" * (1 << 20)
    with pytest.raises(TooLong):
        own.read(['# 1 "./kernel.cpp"\n', *([line] * 9)])
