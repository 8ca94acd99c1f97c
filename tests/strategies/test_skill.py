"""The `skill` strategy: repairs, the base of improvements, learned values of methods."""

from functools import partial

import msgspec
import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.conformance.histories import make_attempt
from kernelmill.conformance.strategy import StrategyConformance
from kernelmill.memory import ItemKind, ValueRole
from kernelmill.memory.learning import learn
from kernelmill.memory.values import constant_step
from kernelmill.records.attempt import Attempt, AttemptPlan, Observation, Result, Seconds, State
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import UsageError
from kernelmill.records.guidance import Guidance, Method
from kernelmill.records.proposal import Draft, Parent, Proposal, Stage
from kernelmill.skills.policy import REPAIR
from kernelmill.skills.start_selection import attempt_to_repair, base_attempt
from kernelmill.strategies import Strategy, get_strategy
from kernelmill.strategies.skill import SkillDriven
from samples import make_verdict
from skills.helpers import PARALLEL, SERIAL, VECTORS, RecordedHistory, candidate, plan, record, task


class TestSkill(StrategyConformance):
    def strategy(self) -> Strategy:
        return SkillDriven()


class TestWithoutMemories(StrategyConformance):
    def strategy(self) -> Strategy:
        return SkillDriven("long=off,short=off")


def test_it_is_plugged_in_with_settings() -> None:
    strategy = get_strategy("skill:long=off,repairs=1")
    assert isinstance(strategy, SkillDriven)
    assert (strategy.settings.long, strategy.settings.repairs) == ("off", 1)
    for wrong in ("skill:long=maybe", "skill:sun=shine", "skill:folder=nowhere"):
        with pytest.raises(UsageError):
            get_strategy(wrong)


def test_a_draft_starts_from_nothing() -> None:
    proposal = SkillDriven().propose(task(), RecordedHistory([]))
    assert (proposal.stage, proposal.parent, proposal.guidance) == (Stage.DRAFT, None, None)


def test_what_was_refused_is_repaired_and_given_up_after_a_while() -> None:
    attempts = [record(1, None), record(2, None, start=1), record(3, None, start=2)]
    first = SkillDriven().propose(task(), RecordedHistory(attempts[:1]))
    assert first.parent is not None and first.parent.attempt == 101
    assert first.guidance is not None and first.guidance.rule == REPAIR
    assert not first.guidance.methods
    assert "Repair" in first.instruction
    assert SkillDriven().propose(task(), RecordedHistory(attempts)).parent is None


def test_what_passed_is_improved_by_a_method() -> None:
    proposal = SkillDriven().propose(task(), RecordedHistory([record(1, 1.0, PARALLEL)]))
    assert proposal.stage is Stage.REFINE
    assert proposal.guidance is not None and proposal.guidance.methods
    assert proposal.instruction == "Make it faster and keep it right."


def test_a_refused_refinement_is_repaired_and_then_left_for_the_base() -> None:
    history = [record(1, 1.0, PARALLEL), record(2, None, start=1)]
    assert SkillDriven().propose(task(), RecordedHistory(history)).parent.attempt == 102  # type: ignore[union-attr]
    history += [record(3, None, start=2), record(4, None, start=3)]
    assert SkillDriven().propose(task(), RecordedHistory(history)).parent.attempt == 101  # type: ignore[union-attr]


def test_without_long_term_memory_nothing_is_allowed_or_forbidden() -> None:
    history = RecordedHistory([record(1, 1.0, PARALLEL), record(2, 1.1, PARALLEL, 1, lanes=16)])
    proposal = SkillDriven("long=off").propose(task(), history)
    assert proposal.guidance is None
    assert [hint.decisions["lanes"] for hint in proposal.context] == [64, 16]


def test_without_short_term_memory_nothing_is_remembered() -> None:
    history = RecordedHistory(
        [record(1, 1.0, PARALLEL), record(2, 0.9, VECTORS, 1, "demand-vectors", vectorise=True)]
    )
    proposal = SkillDriven("short=off").propose(task(), history)
    assert proposal.guidance is not None
    assert proposal.guidance.methods[0].name == "demand-vectors"
    assert (proposal.guidance.trajectory, proposal.context) == ((), ())


# The base


def attempts(*ratios: float | None) -> list[Attempt]:
    states = [State.PASSED if ratio else State.REFUSED for ratio in ratios]
    return [make_attempt(n, *one) for n, one in enumerate(zip(states, ratios, strict=True), 1)]


@pytest.mark.parametrize(
    ("ratios", "base"),
    [
        ((), None),
        ((None,), None),
        ((None, 1.0), 2),
        ((1.0, 1.2), 1),
        ((1.0, 1.31), 2),
        ((0.5, 0.65), 2),
        ((4.0, 4.31), 2),
        ((4.0, 4.2, 4.1), 1),
        ((1.0, 1.2, None, 1.1, 0.5), 2),
        ((1.0, 0.9, 0.8, 0.7, 0.6, 0.5), 1),
    ],
)
def test_the_base_moves_on_a_clear_win_or_out_of_patience(
    ratios: tuple[float | None, ...], base: int | None
) -> None:
    found = base_attempt(attempts(*ratios), patience=4)
    assert (None if found is None else found.number) == base


def test_declined_attempts_are_not_repaired() -> None:
    assert attempt_to_repair([make_attempt(1, State.DECLINED)], 2) is None
    refused = make_attempt(1, State.REFUSED)
    assert attempt_to_repair([refused, make_attempt(2, State.DECLINED)], 2) == refused
    assert attempt_to_repair([refused], 0) is None


# Learning


def follow(
    strategy: SkillDriven,
    history: RecordedHistory,
    ratio: float | None,
    written: Candidate | None = None,
) -> str:
    """Carry out the first method that is allowed, and observe the outcome."""
    proposal = strategy.propose(task(), history)
    assert proposal.guidance is not None and proposal.parent is not None
    method = proposal.guidance.methods[0].name
    backend = proposal.parent.verdict.backend
    verdict = msgspec.structs.replace(make_verdict(ratio), backend=backend)
    draft = Draft(written or candidate(VECTORS), plan=plan(method))
    result = Result(proposal, Seconds(), draft, verdict)
    state = State.REFUSED if ratio is None else State.PASSED
    attempt = msgspec.structs.replace(make_attempt(9, state, ratio), stage=Stage.REFINE)
    strategy.observe(Observation(attempt, result, 1.0, "scripted"), history.memory)
    return method


def skill_values(history: RecordedHistory) -> dict[str, float]:
    memory = history.memory
    items = {item.id: item for item in memory.of_kind(ItemKind.SKILL, "cpp")}
    values = memory.values(items, ValueRole.REFINE)
    return {items[item].names[0]: one.value for (item, family), one in values.items() if not family}


def test_a_method_that_failed_is_no_longer_the_first() -> None:
    strategy, history = SkillDriven("short=off"), RecordedHistory([record(1, 1.0, PARALLEL)])
    first = follow(strategy, history, 0.5)
    second = follow(strategy, history, 0.5)
    assert first != second, "what failed is no longer the most promising"
    assert skill_values(history)[first] < 0


def test_a_poor_implementation_moves_the_value_by_half_a_step() -> None:
    lost = []
    for kernel in (VECTORS, PARALLEL):
        history = RecordedHistory([record(1, 1.0, PARALLEL)])
        method = follow(SkillDriven(), history, 0.5, candidate(kernel))
        lost.append(skill_values(history)[method])
    wrong_method, poor_implementation = lost
    assert wrong_method == pytest.approx(2 * poor_implementation)


def test_values_are_those_of_a_rule_a_backend_and_a_device() -> None:
    history = RecordedHistory([record(1, 1.0, PARALLEL)])
    method = follow(SkillDriven(), history, 2.0)
    (item,) = history.memory.of_kind(ItemKind.SKILL, "cpp")
    assert (item.category, item.names, item.provenance.backend) == ("cpp-scalar", (method,), "cpp")
    again = SkillDriven("short=off").propose(task(), history)
    assert again.guidance is not None
    assert again.guidance.methods[0].item == item.id
    elsewhere = RecordedHistory([record(1, 1.0, PARALLEL)])
    elsewhere.memory = history.memory
    other = msgspec.structs.replace(
        make_verdict(1.0),
        evidence=msgspec.structs.replace(make_verdict(1.0).evidence, processor="other"),
    )
    elsewhere.parents[101] = msgspec.structs.replace(elsewhere.parents[101], verdict=other)
    unknown = SkillDriven("short=off").propose(task(), elsewhere)
    assert unknown.guidance is not None
    assert all(method.item is None for method in unknown.guidance.methods)


def test_a_repair_that_passes_credits_the_method_it_repaired() -> None:
    method = Method("demand-vectors", "how", "vectors up")
    guidance = Guidance(
        "cpp-scalar", "scalar", "high", "streaming", ("vectors = 0",), (method,), {}
    )
    planned = AttemptPlan(guidance, plan("demand-vectors"), None)
    refused = record(2, None, VECTORS, 1)._replace(planned=planned)
    history = RecordedHistory([record(1, 1.0, PARALLEL), refused])
    strategy = SkillDriven()
    proposal = strategy.propose(task(), history)
    assert proposal.guidance is not None and proposal.guidance.rule == "cpp-scalar"
    for number, ratio in ((3, None), (4, 2.0)):
        result = Result(proposal, Seconds(), Draft(candidate(VECTORS)), make_verdict(ratio))
        state = State.REFUSED if ratio is None else State.PASSED
        attempt = msgspec.structs.replace(make_attempt(number, state, ratio), stage=Stage.REFINE)
        strategy.observe(Observation(attempt, result, 1.0, "scripted"), history.memory)
    assert skill_values(history)["demand-vectors"] > 0


def test_an_attempt_without_a_plan_changes_no_value() -> None:
    history = RecordedHistory([record(1, 1.0, SERIAL)])
    strategy = SkillDriven()
    proposal = strategy.propose(task(), history)
    result = Result(proposal, Seconds(), Draft(candidate(SERIAL)), make_verdict(2.0))
    attempt = make_attempt(2, State.PASSED, 2.0)
    strategy.observe(Observation(attempt, result, 1.0, "scripted"), history.memory)
    assert history.memory.of_kind(ItemKind.SKILL, "cpp") == []


# Targets with a chip


def history_on(target: str, *, named: str) -> RecordedHistory:
    """One attempt that passed: a shipped kernel, whose verdict names `named` as its backend."""
    kernel = read_candidate(get_backend(target).examples() / "starter" / "softmax")
    history = RecordedHistory([record(1, 1.0)], target)
    verdict = msgspec.structs.replace(make_verdict(1.0), backend=named)
    history.parents[101] = Parent(101, kernel, verdict, {})
    return history


@pytest.mark.parametrize("named", ["pallas", "pallas:v6e"])
def test_methods_are_proposed_and_learned_for_a_chip(named: str) -> None:
    history = history_on("pallas:v6e", named=named)
    strategy = SkillDriven("short=off")
    method = follow(strategy, history, 2.0, history.parents[101].candidate)
    (item,) = history.memory.of_kind(ItemKind.SKILL, "pallas:v6e")
    assert item.names == (method,)
    assert item.text.startswith(f"{item.category}: ")
    again = strategy.propose(task(), history)
    assert again.backend == "pallas:v6e" and again.guidance is not None
    assert item.id in [one.item for one in again.guidance.methods]


@pytest.mark.parametrize("named", ["rvv", "rvv:vlen128"])
def test_a_backend_without_rules_has_no_guidance(named: str) -> None:
    history = history_on("rvv:vlen128", named=named)
    strategy = SkillDriven()
    proposal = strategy.propose(task(), history)
    assert (proposal.backend, proposal.guidance) == ("rvv:vlen128", None)
    assert proposal.parent is not None
    draft = Draft(proposal.parent.candidate, plan=plan("demand-vectors"))
    result = Result(proposal, Seconds(), draft, proposal.parent.verdict)
    attempt = msgspec.structs.replace(make_attempt(2, State.PASSED, 2.0), stage=Stage.REFINE)
    strategy.observe(Observation(attempt, result, 1.0, "scripted"), history.memory)
    assert history.memory.of_kind(ItemKind.SKILL, "rvv:vlen128") == []
    assert history.memory.statistics("rvv:vlen128").count == 1


def test_learning_returns_the_reward() -> None:
    history = RecordedHistory([])
    result = Result(Proposal(task(), "cpp", Stage.DRAFT, 1), Seconds(), None, make_verdict(2.0))
    reward = learn(
        history.memory, make_attempt(1, State.PASSED, 2.0), result,
        generator="scripted", best_before=None, step=partial(constant_step, alpha=0.3),
    )  # fmt: skip
    assert reward == (ValueRole.DRAFT, 1.0)
