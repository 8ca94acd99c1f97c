"""The skill strategy: repair and optimise apart, a base that moves on clear wins, values that learn."""

from functools import partial

import msgspec
import pytest

from kernelmill.errors import UsageError
from kernelmill.generators.base import Draft, Proposal, Stage
from kernelmill.generators.planning import Guidance, Method
from kernelmill.memory import ItemKind, Memory, Role
from kernelmill.memory.learning import learn
from kernelmill.memory.values import constant_step
from kernelmill.skills.policy import REPAIR
from kernelmill.skills.starting import base_of, to_repair
from kernelmill.strategies import Strategy, get_strategy
from kernelmill.strategies.conformance import StrategyConformance, make_attempt
from kernelmill.strategies.skill import SkillDriven
from kernelmill.workspace import Attempt, Observation, Planned, Result, Seconds, State
from samples import make_verdict
from skills.helpers import PARALLEL, SERIAL, VECTORS, ToldHistory, candidate, plan, task, told


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
    proposal = SkillDriven().propose(task(), ToldHistory([]))
    assert (proposal.stage, proposal.parent, proposal.guidance) == (Stage.DRAFT, None, None)


def test_what_was_refused_is_repaired_and_given_up_after_a_while() -> None:
    attempts = [told(1, None), told(2, None, start=1), told(3, None, start=2)]
    first = SkillDriven().propose(task(), ToldHistory(attempts[:1]))
    assert first.parent is not None and first.parent.attempt == 101
    assert first.guidance is not None and first.guidance.rule == REPAIR
    assert not first.guidance.methods
    assert "Repair" in first.instruction
    assert SkillDriven().propose(task(), ToldHistory(attempts)).parent is None


def test_what_passed_is_improved_by_a_method() -> None:
    proposal = SkillDriven().propose(task(), ToldHistory([told(1, 1.0, PARALLEL)]))
    assert proposal.stage is Stage.REFINE
    assert proposal.guidance is not None and proposal.guidance.methods
    assert proposal.instruction == "Make it faster and keep it right."


def test_a_refused_refinement_is_repaired_and_then_left_for_the_base() -> None:
    history = [told(1, 1.0, PARALLEL), told(2, None, start=1)]
    assert SkillDriven().propose(task(), ToldHistory(history)).parent.attempt == 102  # type: ignore[union-attr]
    history += [told(3, None, start=2), told(4, None, start=3)]
    assert SkillDriven().propose(task(), ToldHistory(history)).parent.attempt == 101  # type: ignore[union-attr]


def test_without_long_term_memory_nothing_is_allowed_or_forbidden() -> None:
    history = ToldHistory([told(1, 1.0, PARALLEL), told(2, 1.1, PARALLEL, 1, lanes=16)])
    proposal = SkillDriven("long=off").propose(task(), history)
    assert proposal.guidance is None
    assert [hint.decisions["lanes"] for hint in proposal.context] == [64, 16]


def test_without_short_term_memory_nothing_is_remembered() -> None:
    history = ToldHistory(
        [told(1, 1.0, PARALLEL), told(2, 0.9, VECTORS, 1, "demand-vectors", vectorise=True)]
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
    found = base_of(attempts(*ratios), patience=4)
    assert (None if found is None else found.number) == base


def test_declined_attempts_are_not_repaired() -> None:
    assert to_repair([make_attempt(1, State.DECLINED)], 2) is None
    refused = make_attempt(1, State.REFUSED)
    assert to_repair([refused, make_attempt(2, State.DECLINED)], 2) == refused
    assert to_repair([refused], 0) is None


# Learning


def follow(
    strategy: SkillDriven, history: ToldHistory, ratio: float | None, kernel: str = VECTORS
) -> str:
    """Carry out the first method that is allowed, and observe what came of it."""
    proposal = strategy.propose(task(), history)
    assert proposal.guidance is not None
    method = proposal.guidance.methods[0].name
    draft = Draft(candidate(kernel), plan=plan(method))
    result = Result(proposal, Seconds(), draft, make_verdict(ratio))
    state = State.REFUSED if ratio is None else State.PASSED
    attempt = msgspec.structs.replace(make_attempt(9, state, ratio), stage=Stage.REFINE)
    strategy.observe(Observation(attempt, result, 1.0, "scripted"), history.database)
    return method


def skill_values(history: ToldHistory) -> dict[str, float]:
    memory = Memory(history.database)
    items = {item.id: item for item in memory.of_kind(ItemKind.SKILL, "cpp")}
    values = memory.values(items, Role.REFINE)
    return {items[item].names[0]: one.value for (item, family), one in values.items() if not family}


def test_methods_that_keep_failing_sink_and_come_back_when_they_help() -> None:
    strategy, history = SkillDriven("short=off"), ToldHistory([told(1, 1.0, PARALLEL)])
    first = follow(strategy, history, 0.5)
    second = follow(strategy, history, 0.5)
    assert first != second, "what failed is no longer the most promising"
    assert skill_values(history)[first] < 0


def test_a_poor_implementation_says_less_of_its_method() -> None:
    lost = []
    for kernel in (VECTORS, PARALLEL):
        history = ToldHistory([told(1, 1.0, PARALLEL)])
        method = follow(SkillDriven(), history, 0.5, kernel)
        lost.append(skill_values(history)[method])
    wrong_method, poor_implementation = lost
    assert wrong_method == pytest.approx(2 * poor_implementation)


def test_values_are_those_of_a_rule_a_backend_and_a_device() -> None:
    history = ToldHistory([told(1, 1.0, PARALLEL)])
    method = follow(SkillDriven(), history, 2.0)
    (item,) = Memory(history.database).of_kind(ItemKind.SKILL, "cpp")
    assert (item.category, item.names, item.provenance.backend) == ("cpp-scalar", (method,), "cpp")
    again = SkillDriven("short=off").propose(task(), history)
    assert again.guidance is not None
    assert again.guidance.methods[0].item == item.id
    elsewhere = ToldHistory([told(1, 1.0, PARALLEL)])
    elsewhere.database = history.database
    other = msgspec.structs.replace(
        make_verdict(1.0),
        evidence=msgspec.structs.replace(make_verdict(1.0).evidence, processor="other"),
    )
    elsewhere._parents[101] = msgspec.structs.replace(elsewhere._parents[101], verdict=other)  # type: ignore[type-var]
    unknown = SkillDriven("short=off").propose(task(), elsewhere)
    assert unknown.guidance is not None
    assert all(method.item is None for method in unknown.guidance.methods)


def test_a_repair_that_passes_speaks_for_the_method_it_repaired() -> None:
    method = Method("demand-vectors", "how", "vectors up")
    guidance = Guidance(
        "cpp-scalar", "scalar", "high", "streaming", ("vectors = 0",), (method,), {}
    )
    planned = Planned(guidance, plan("demand-vectors"), None)
    base, (refused, made, _) = told(1, 1.0, PARALLEL), told(2, None, VECTORS, 1)
    history = ToldHistory([base, (refused, made, planned)])
    strategy = SkillDriven()
    proposal = strategy.propose(task(), history)
    assert proposal.guidance is not None and proposal.guidance.rule == "cpp-scalar"
    for number, ratio in ((3, None), (4, 2.0)):
        result = Result(proposal, Seconds(), Draft(candidate(VECTORS)), make_verdict(ratio))
        state = State.REFUSED if ratio is None else State.PASSED
        attempt = msgspec.structs.replace(make_attempt(number, state, ratio), stage=Stage.REFINE)
        strategy.observe(Observation(attempt, result, 1.0, "scripted"), history.database)
    assert skill_values(history)["demand-vectors"] > 0


def test_an_attempt_without_a_plan_moves_no_skill() -> None:
    history = ToldHistory([told(1, 1.0, SERIAL)])
    strategy = SkillDriven()
    proposal = strategy.propose(task(), history)
    result = Result(proposal, Seconds(), Draft(candidate(SERIAL)), make_verdict(2.0))
    attempt = make_attempt(2, State.PASSED, 2.0)
    strategy.observe(Observation(attempt, result, 1.0, "scripted"), history.database)
    assert Memory(history.database).of_kind(ItemKind.SKILL, "cpp") == []


def test_learning_says_what_was_earned() -> None:
    history = ToldHistory([])
    result = Result(Proposal(task(), "cpp", Stage.DRAFT, 1), Seconds(), None, make_verdict(2.0))
    earned = learn(
        Memory(history.database), make_attempt(1, State.PASSED, 2.0), result,
        generator="scripted", best_before=None, step=partial(constant_step, alpha=0.3),
    )  # fmt: skip
    assert earned == (Role.DRAFT, 1.0)
