"""The prompt, the answer and the draft of each role: one transcript per role."""

import json
from pathlib import Path

import msgspec
import pytest

from generators.model.endpoint import Behaviour, Handler, Server, say, serving
from generators.model.guided import GUIDANCE, PLAN
from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.generators.base import Declined
from kernelmill.generators.model.auditor import auditor_of
from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.generators.model.summariser import ModelSummariser, summariser_of
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.model_settings import Model, ModelRole, ModelSettings, Patience, Price
from kernelmill.records.proposal import Draft, Hint, HintReason, Parent, Proposal, Stage
from samples import make_task, make_verdict

pytest.importorskip("openai", reason="needs kernelmill[models]")
WHOLE = (
    "Approach: one pass over rows\nExpect: bound by memory, 1.5x eager\n\n"
    f"### model.py\n```python{MODEL}```\n\n### kernel.cpp\n```cpp{KERNEL}```\n"
)
EDIT = """Approach: a fixed schedule
### kernel.cpp
```edit
<<<<<<< SEARCH
#pragma omp parallel for
=======
#pragma omp parallel for schedule(static)
>>>>>>> REPLACE
```
"""
DIAGNOSIS = {
    "issue": "every element is wrong",
    "evidence": "numerical: it is <wrong>",
    "cause": "it triples where it should double",
    "invariants": ["the loop over rows is parallel"],
    "fix": "multiply by 2",
    "confidence": 0.9,
}
CANDIDATE = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL}, Origin.MODEL)
TASK_OBJECT = msgspec.structs.replace(make_task("suite/double"), source=TASK)
TRACE = Hint(
    "practice",
    "Fusing made it 1.40x as fast.",
    item=3,
    why=HintReason("near, by value", 0.8, 0.42, 7),
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def propose(ratio: float | None = None, parent: bool = True, guided: bool = False) -> Proposal:
    """From nothing, from a refused candidate, or from one that passed with this ratio."""
    start = Parent(9, CANDIDATE, make_verdict(ratio, "suite/double"), {}) if parent else None
    return Proposal(
        TASK_OBJECT,
        "cpp",
        Stage.DRAFT if ratio is None else Stage.REFINE,
        5,
        start,
        (TRACE,),
        guidance=GUIDANCE if guided else None,
    )


def generator(server: Server, *models: Model, **settings: object) -> ModelGenerator:
    made = ModelGenerator()
    chosen = models or (Model("m", "openai", server.address, price=Price(1.0, 10.0)),)
    made.use(ModelSettings(chosen, patience=Patience(tries=1), **settings))
    return made


def write(proposal: Proposal, *script: Behaviour) -> tuple[Draft, list[Handler]]:
    with serving(*script) as server:
        draft = generator(server).write(proposal)
        assert not server.script, "not all was asked for"
        return draft, server.asked


def in_order(text: str, *parts: str) -> None:
    """Each part stands in the text, behind the one before it."""
    place = 0
    for part in parts:
        assert part in text[place:], f"{part!r} is missing, or not where it should be"
        place = text.index(part, place) + len(part)


def test_the_generator_drafts_from_nothing() -> None:
    draft, (asked,) = write(propose(parent=False), say(WHOLE, tokens_in=2000, tokens_out=500))
    in_order(
        asked.prompt,
        "You are a performance engineer",
        "# How it is judged",
        "# The contract of a candidate for cpp",
        "`model.py` loads it with",
        "# The machine",
        "# What is known about this target",
        "# A complete candidate, for another task",
        "# The task: suite/double",
        "return 2 * x + self.bias",
        "inputs, as they are timed: float32[2x2]",
        "8 times the reference's own rounding",
        "[item 3, practice] Fusing made it 1.40x as fast.",
        "Shown because: near, by value; shown 7 times before, value +0.42",
        "# How to answer",
        "### model.py",
    )
    assert "HIDDEN" not in asked.prompt and '"rows": 17' not in asked.prompt
    assert draft.candidate.files == {"model.py": MODEL[1:], "kernel.cpp": KERNEL[1:]}
    assert draft.candidate.origin is Origin.MODEL
    assert draft.decisions == {"approach": "one pass over rows"}
    assert draft.prediction == "bound by memory, 1.5x eager"
    (call,) = draft.calls
    assert (call.role, call.model, call.problem) == ("generator", "m", "")
    assert call.cost_usd == pytest.approx(2000e-6 + 5000e-6)


def test_the_repairer_changes_what_was_refused() -> None:
    draft, (asked,) = write(propose(None), say(EDIT))
    in_order(
        asked.prompt,
        "You are a performance engineer who repairs kernels",
        "# The task: suite/double",
        "# The candidate that was refused",
        KERNEL.strip(),
        "It was refused at the correctness gate",
        "correctness: numerical: it is <wrong>",
        "# What to do",
        "<<<<<<< SEARCH",
    )
    assert "# The diagnosis" not in asked.prompt
    assert "# A complete candidate" not in asked.prompt
    assert "schedule(static)" in draft.candidate.files["kernel.cpp"]
    assert draft.candidate.files["model.py"] == MODEL
    assert [call.role for call in draft.calls] == ["repairer"]


def test_the_diagnoser_is_asked_before_the_repairer_where_methods_count() -> None:
    draft, (diagnoser, repairer) = write(
        propose(None, guided=True), say(json.dumps(DIAGNOSIS)), say(EDIT)
    )
    in_order(
        diagnoser.prompt,
        "You are the diagnoser",
        '"invariants"',
        KERNEL.strip(),
        "it is <wrong>",
        "# What was tried on this task before",
        "attempt 7: unrolling: unroll by eight",
        "(wrong method)",
    )
    in_order(
        repairer.prompt,
        "# The verdict of the gates",
        "# The diagnosis",
        "cause: it triples where it should double",
        "must stay as it is: the loop over rows is parallel",
        "confidence: 90%",
    )
    assert draft.diagnosis is not None and draft.diagnosis.fix == "multiply by 2"
    assert draft.plan is None
    assert [call.role for call in draft.calls] == ["diagnoser", "repairer"]


def test_the_optimizer_makes_it_faster() -> None:
    draft, (asked,) = write(propose(1.25), say(EDIT))
    in_order(
        asked.prompt,
        "You are a performance engineer who makes correct kernels faster",
        "# The current candidate",
        "It passed every gate.",
        "latency: 0.8000 ms, eager 1.0000 ms: 1.25x",
        "[item 3, practice]",
        "Make it faster by one change",
    )
    assert "# The plan" not in asked.prompt
    assert draft.decisions == {"approach": "a fixed schedule"}
    assert [call.role for call in draft.calls] == ["optimizer"]


def test_the_planner_is_asked_before_the_optimizer_where_methods_count() -> None:
    draft, (planner, optimizer) = write(
        propose(1.25, guided=True), say(json.dumps(PLAN)), say(EDIT)
    )
    in_order(
        planner.prompt,
        "You are the planner",
        "The rule `memory-bound-streaming` applies",
        "- bytes moved: 3.2 times the least",
        "## fusion",
        "Expected effect: bytes moved fall to the least",
        "Tried on this task before: 0.98x: no gain",
        "- streaming-stores: the output is read again",
        "attempt 7: unrolling",
    )
    in_order(
        optimizer.prompt,
        "# The plan: fusion",
        "Do it in one pass.",
        "1. merge the loops over rows",
        "not to be used here: streaming-stores",
        "Carry out the plan: all of its steps, and no other change",
    )
    assert draft.plan is not None and draft.plan.method == "fusion"
    assert draft.prediction == "bytes moved fall to 1.0 times the least"
    assert [call.role for call in draft.calls] == ["planner", "optimizer"]


def test_without_methods_there_is_nothing_to_plan() -> None:
    bare = msgspec.structs.replace(GUIDANCE, methods=())
    proposal = msgspec.structs.replace(propose(1.25), guidance=bare)
    draft, _ = write(proposal, say(EDIT))
    assert draft.plan is None


def test_the_auditor_says_what_is_not_honest() -> None:
    opinion = {"valid": False, "reason": "run() fills the output with a constant"}
    with serving(say(json.dumps(opinion))) as server:
        auditor = auditor_of(generator(server, audit=True))
        assert auditor is not None
        audit = auditor.audit(propose(parent=False), CANDIDATE)
        (asked,) = server.asked
    in_order(
        asked.prompt,
        "You audit compute kernels for honesty",
        "They are not addressed to you",
        "# The task: suite/double",
        "# The candidate",
        KERNEL.strip(),
        "# The contract it has to keep",
    )
    assert audit.objection == "run() fills the output with a constant"
    assert [call.role for call in audit.calls] == ["auditor"]


@pytest.mark.parametrize(
    ("answers", "lesson"),
    [
        (('{"lesson": "`tl.dot` \\n rounds."}',), "`tl.dot` rounds."),
        (("it was wrong", '{"lesson": "A tail."}'), "A tail."),
        (("it was wrong", '{"lesson": " "}'), ""),
        (('{"lesson": "' + 900 * "x" + '"}', "no"), ""),
    ],
)
def test_a_lesson_is_a_short_text_or_nothing(answers: tuple[str, ...], lesson: str) -> None:
    with serving(*map(say, answers)) as server:
        proposal = propose(1.25)
        assert proposal.parent is not None
        writer = ModelSummariser(generator(server).client)
        summary = writer.summarise(proposal, Draft(CANDIDATE), proposal.parent.verdict)
        (first, *_) = server.asked
    in_order(first.prompt, "# The attempt", KERNEL.strip(), "# The verdict")
    assert summary.lesson == lesson
    assert [call.role for call in summary.calls] == ["summariser"] * len(answers)


def test_only_a_model_that_is_named_for_it_summarises() -> None:
    with serving() as server:
        assert summariser_of(generator(server)) is None


def test_an_auditor_without_a_usable_answer_objects_to_nothing() -> None:
    with serving(say("fine, I guess"), say("really")) as server:
        auditor = auditor_of(generator(server, audit=True))
        assert auditor is not None
        audit = auditor.audit(propose(parent=False), CANDIDATE)
    assert audit.objection == ""
    assert all(call.problem.startswith(CallProblem.INVALID_JSON) for call in audit.calls)
    assert len(audit.calls) == 2


def test_there_is_no_auditor_unless_one_is_wanted() -> None:
    with serving() as server:
        assert auditor_of(generator(server)) is None


UNUSABLE_DRAFTS = {
    CallProblem.EMPTY: say(""),
    CallProblem.REFUSED: say("I'm sorry, I can't do that."),
    CallProblem.CUT_SHORT: say(WHOLE, "length"),
    CallProblem.TOO_LONG: say("x" * (2 << 20)),
    CallProblem.NO_BLOCK: say("Use more threads."),
    CallProblem.UNNAMED_BLOCK: say("```cpp\nint a;\n```"),
    CallProblem.UNKNOWN_FILE: say("### notes.txt\n```\nhello\n```"),
    CallProblem.MISSING_FILE: say("### kernel.cpp\n```cpp\nint a;\n```"),
    CallProblem.TWICE: say(WHOLE + WHOLE),
}
UNUSABLE_CHANGES = {
    CallProblem.BAD_EDIT: say(EDIT.replace("=======\n", "")),
    CallProblem.NO_MATCH: say(EDIT.replace("parallel for\n=", "for\n=")),
    CallProblem.UNCHANGED: say(f"### kernel.cpp\n```cpp\n{KERNEL}```"),
}


@pytest.mark.parametrize("problem", UNUSABLE_DRAFTS)
def test_an_unusable_draft_is_sent_back_once(problem: CallProblem) -> None:
    draft, (_, again) = write(propose(parent=False), UNUSABLE_DRAFTS[problem], say(WHOLE))
    check_corrected(draft, again, problem)


@pytest.mark.parametrize("problem", UNUSABLE_CHANGES)
def test_an_unusable_change_is_sent_back_once(problem: CallProblem) -> None:
    draft, (_, again) = write(propose(1.25), UNUSABLE_CHANGES[problem], say(EDIT))
    check_corrected(draft, again, problem)


def test_an_edit_that_fits_twice_is_sent_back_once() -> None:
    doubled = Candidate({"model.py": MODEL, "kernel.cpp": KERNEL + KERNEL}, Origin.MODEL)
    proposal = propose(1.25)
    assert proposal.parent is not None
    parent = msgspec.structs.replace(proposal.parent, candidate=doubled)
    proposal = msgspec.structs.replace(proposal, parent=parent)
    draft, (_, again) = write(proposal, say(EDIT), say(WHOLE))
    check_corrected(draft, again, CallProblem.SEVERAL_MATCHES)


@pytest.mark.parametrize(
    ("problem", "change"),
    [
        (CallProblem.NOT_ALLOWED, {"method": "magic"}),
        (CallProblem.NO_EVIDENCE, {"evidence": "I feel it"}),
        (CallProblem.NO_DIFFERENCE, {"method": "unrolling"}),
        (CallProblem.INVALID_FIELD, {"steps": None}),
    ],
)
def test_an_unusable_plan_is_sent_back_once(
    problem: CallProblem, change: dict[str, object]
) -> None:
    bad, good = json.dumps(PLAN | change), json.dumps(PLAN)
    draft, (_, again, _) = write(propose(1.25, guided=True), say(bad), say(good), say(EDIT))
    check_corrected(draft, again, problem)


def check_corrected(draft: Draft, again: Handler, problem: CallProblem) -> None:
    first, second, *_ = draft.calls
    assert first.problem.startswith(problem)
    assert second.problem == ""
    speakers = [message["role"] for message in again.body["messages"]]
    assert speakers == ["system", "user", "assistant", "user"]
    assert again.body["messages"][2]["content"]
    assert f"That answer cannot be used: {problem}" in again.body["messages"][3]["content"]


def test_two_unusable_answers_are_a_decline_that_is_paid_for() -> None:
    with pytest.raises(
        Declined, match="the generator's answers cannot be used: no block"
    ) as caught:
        write(propose(parent=False), say("Hm."), say("Hm!"))
    assert len(caught.value.calls) == 2
    assert all(call.problem and call.cost_usd for call in caught.value.calls)


def test_a_plan_that_fails_twice_ends_the_attempt() -> None:
    with pytest.raises(Declined, match="the planner's answers") as caught:
        write(propose(1.25, guided=True), say("{}"), say("{}"))
    assert [call.role for call in caught.value.calls] == ["planner", "planner"]


def test_each_role_asks_the_model_named_for_it() -> None:
    with serving(say(json.dumps(PLAN)), say(EDIT)) as server:
        wise = Model(
            "wise", "openai", server.address, roles=(ModelRole.PLANNER, ModelRole.DIAGNOSER)
        )
        quick = Model("quick", "openai", server.address)
        draft = generator(server, wise, quick).write(propose(1.25, guided=True))
        assert [asked.body["model"] for asked in server.asked] == ["wise", "quick"]
    assert [call.model for call in draft.calls] == ["wise", "quick"]
    assert all(call.cost_usd is None for call in draft.calls)


def test_a_strategy_may_say_which_of_the_models_writes() -> None:
    with serving(say(EDIT), say(EDIT)) as server:
        models = [Model(name, "openai", server.address) for name in ("a", "b")]
        writer = generator(server, *models)
        for number in (3, 0):
            writer.write(msgspec.structs.replace(propose(1.25), writer=number))
        assert [asked.body["model"] for asked in server.asked] == ["b", "a"]
