"""Foreign text: nothing of it moves a cursor, hides a character or floods a terminal."""

import unicodedata

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import CandidateError, TaskError, UsageError
from kernelmill.records.text import clean_line, clean_text, is_clean_line
from kernelmill.records.verdict import Feedback, Gate, Modelled

MOST = 5000
ANY_TEXT = st.text(st.characters()) | st.text(
    st.sampled_from("a\x1b[31m\x07\r\n\t\x00\x7f\x85\x9b\u202e\u2066\u200f\u061c\u2028\ud800\ufeff")
)


def harmless(text: str) -> bool:
    return len(text) < MOST and all(
        character in "\n\t"
        or (
            unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
            and unicodedata.bidirectional(character)
            not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        )
        for character in text
    )


@given(ANY_TEXT)
def test_cleaned_text_is_harmless_and_stays_so(text: str) -> None:
    cleaned = clean_text(text)
    assert harmless(cleaned)
    assert clean_text(cleaned) == cleaned
    assert "\n" not in clean_line(text)


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Z"))))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert clean_text(text) == text
    assert is_clean_line(text)


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3))
def test_no_record_lets_control_characters_through(text: str, lines: list[str]) -> None:
    feedback = Feedback(Gate.BUILD, text, text, tuple(lines), text)
    assert harmless(feedback.text().replace(" ", ""))
    decoded = msgspec.json.decode(msgspec.json.encode(feedback), type=Feedback)
    assert decoded == feedback
    modelled = Modelled(text, 1.0, text, 1.0, 1, {text: 1.0}, tuple(lines))
    assert harmless(modelled.text()[:MOST])
    assert harmless(Candidate({"model.py": ""}, Origin.FILE, text).name)
    for error in (TaskError, CandidateError, UsageError):
        assert harmless(str(error(text)))
    assert "\n" not in str(TaskError(text))


def test_long_text_is_cut() -> None:
    assert len(clean_text("x" * 10**7)) < MOST
