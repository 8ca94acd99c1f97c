"""Credit for what an answer used: the model's word, checked against what it wrote."""

import msgspec
import pytest

from generators.model.endpoint import say
from generators.model.test_roles import EDIT, propose, write
from kernelmill.generators.composer.search.credit import credit_of
from kernelmill.generators.model.credit import find_credit
from kernelmill.records.proposal import Credit, Hint, HintCode, Proposal, Stage
from samples import make_task

FUSED = "running_sum = rescale(running_sum, new_max)\n"
KERNEL = Hint("trace", "it passed", item=1, code=HintCode("a", files={"model.py": FUSED}))
CHANGE = Hint("practice", "it is faster", item=2, code=HintCode("b", diff="-slow\n+" + FUSED))
ADVICE = Hint("experience", "rows in parallel", item=3)
FAILURE = Hint(
    "experience",
    "it was refused",
    item=4,
    code=HintCode("c", excerpt="model.py:1\n> pl.store(everything, mask)"),
)
HINTS = (KERNEL, CHANGE, ADVICE, FAILURE)
SHOWN = (1, 2, 3, 4)


def used(claimed: str, written: str, shown: tuple[int, ...] = SHOWN, known: str = "") -> list[int]:
    credit = find_credit(claimed, shown, HINTS, {}, {"model.py": written}, known)
    assert credit.shown == shown
    return list(credit.used)


@pytest.mark.parametrize(
    ("claimed", "written", "expected"),
    [
        ("1", FUSED, [1]),
        ("items 1 and 2", FUSED, [1, 2]),
        ("1", "new_max = rescale(other)\n", [1]),
        ("1", "nothing_of_it = 0\n", []),
        ("3", "anything\n", [3]),
        ("4", "pl.store(a_part, mask)\n", [4]),
        ("4", "pl.store(everything, mask)\n", []),
        ("none", FUSED, []),
        ("99", FUSED, []),
        ("", "anything\n", [1, 2, 3, 4]),
    ],
)
def test_a_claim_is_checked_against_the_code(
    claimed: str, written: str, expected: list[int]
) -> None:
    assert used(claimed, written) == expected


def test_what_is_copied_is_used_whether_it_is_said_or_not() -> None:
    lines = "".join(f"value_{n} = compute(value_{n - 1})\n" for n in range(4))
    hint = msgspec.structs.replace(KERNEL, code=HintCode("a", files={"model.py": lines}))
    credit = find_credit("none", (1,), (hint,), {}, {"model.py": lines})
    assert credit.used == (1,)
    credit = find_credit("none", (1,), (hint,), {}, {"model.py": lines}, known=lines)
    assert credit.used == (), "the example has the same lines"


def test_what_did_not_fit_is_not_credited() -> None:
    assert used("1, 2", FUSED, shown=(2,)) == [2]


def test_the_answer_names_what_it_used() -> None:
    proposal = msgspec.structs.replace(propose(1.25), context=(CHANGE, ADVICE))
    draft, (asked,) = write(proposal, say(f"Used: 3\n{EDIT}"))
    assert "Used: the numbers of the items above" in asked.prompt
    assert draft.credit == Credit((2, 3), (3,))
    nothing = msgspec.structs.replace(propose(1.25), context=())
    draft, (asked,) = write(nothing, say(EDIT))
    assert "Used:" not in asked.prompt
    assert draft.credit == Credit((), ())


def test_the_composer_uses_what_it_follows_and_what_it_avoids() -> None:
    def hint(item: int, outcome: float | None, **decisions: object) -> Hint:
        return Hint("trace", "", item, decisions, outcome)  # type: ignore[arg-type]

    context = (
        hint(1, 0.5, lanes=16),
        hint(2, 0.5, lanes=64),
        hint(3, -1.0, lanes=64),
        hint(4, -1.0, lanes=16),
        hint(5, 0.5, other="not open"),
        hint(6, None, lanes=16),
        Hint("trace", "an attempt on the task itself", decisions={"lanes": 16}, outcome=0.1),
    )
    proposal = Proposal(make_task(), "cpp", Stage.DRAFT, 1, context=context)
    credit = credit_of(proposal, {"lanes": 16, "tile": 8}, {"lanes": (16, 64), "tile": (8, 4)})
    assert credit == Credit((1, 2, 3, 4, 5, 6), (1, 3))
