"""The policy: methods that are allowed, their order, and the check of predictions."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.records.decisions import Decisions
from kernelmill.records.guidance import Diagnosis, Guidance
from kernelmill.records.verdict import DeviceDiagnosis, KernelUse, Profile
from kernelmill.skills.method_decisions import next_decisions
from kernelmill.skills.method_files import Expectation
from kernelmill.skills.method_values import MethodValue
from kernelmill.skills.metric_reading import read_metrics
from kernelmill.skills.metrics import backend_metrics
from kernelmill.skills.policy import PastAttempts, guidance, repair_guidance
from kernelmill.skills.prediction import check_prediction
from kernelmill.skills.trajectory import trajectory
from samples import make_verdict
from skills.cases import LIBRARY
from skills.helpers import (
    PARALLEL,
    SERIAL,
    VECTORS,
    RecordedHistory,
    candidate,
    parent,
    record,
    task,
)

EQUAL = MethodValue(None, 0.2)


def allowed(kernel: str, tried: PastAttempts | None = None, **values: float) -> Guidance:
    def value(rule: str, method: str) -> MethodValue:
        return MethodValue(None, values.get(method.replace("-", "_"), 0.2))

    found = guidance(LIBRARY, task(), parent(kernel, 1.0, 101), tried or PastAttempts(), value)
    assert found is not None
    return found


def names(found: Guidance) -> list[str]:
    return [method.name for method in found.methods]


def test_the_first_rule_that_fits_fires_with_its_evidence() -> None:
    found = allowed(SERIAL)
    assert (found.rule, found.bottleneck) == ("cpp-one-thread", "one-thread")
    assert names(found) == ["share-the-outer-loop"]
    assert "parallel_loops = 0" in found.evidence
    assert "foreign_share is missing" in found.evidence
    assert found.methods[0].expects == "parallel_loops up"
    assert allowed(PARALLEL).rule == "cpp-scalar"
    assert allowed(VECTORS).rule == "cpp-instructions-streaming"


def test_what_does_not_apply_is_not_offered() -> None:
    assert "fuse-the-passes" not in names(allowed(VECTORS)), "there is one pass only"
    twice = VECTORS.replace("x[i] = 0; }", "x[i] = 0; for (int i = 0; i < 9; ++i) x[i] = 1; }")
    assert names(allowed(twice))[0] == "fuse-the-passes"


def test_values_order_what_a_rule_allows() -> None:
    first, second, *rest = names(allowed(PARALLEL))
    assert names(allowed(PARALLEL, None, **{second.replace("-", "_"): 0.5})) == [
        second,
        first,
        *rest,
    ]
    sunk = allowed(PARALLEL, None, **{first.replace("-", "_"): -1.0})
    assert names(sunk) == [second, *rest, first]


def test_a_profile_names_what_is_hot() -> None:
    profile = Profile(10, 0.5, 0.4, 0.1)
    verdict = msgspec.structs.replace(make_verdict(1.0), profile=profile)
    foreign = msgspec.structs.replace(parent(VECTORS), verdict=verdict)
    found = guidance(LIBRARY, task(), foreign, PastAttempts(), lambda rule, method: EQUAL)
    assert found is not None and found.bottleneck == "foreign"
    assert "foreign_share = 0.4" in found.evidence


def test_metrics_of_a_device_come_from_its_profile() -> None:
    hot = KernelUse("hot", 1.0, 30.0, 128, 256, 300, 2048, spills=2, occupancy=0.5)
    cool = KernelUse("cool", 2.0, 10.0, 128, 256, 32, 0)
    device = DeviceDiagnosis((hot, cool), 0.9, 0.915, 0.1)
    verdict = msgspec.structs.replace(make_verdict(2.0), backend="cuda", diagnosis=device)
    metrics = read_metrics(task(), candidate(""), verdict)
    assert metrics is not None and set(metrics) == set(backend_metrics("cuda"))
    assert (metrics["dram_percent"], metrics["arithmetic_percent"]) == (91.5, 10.0)
    assert metrics["registers"] == 256.0, "no value is beyond the declared limit"
    assert (metrics["kernel_launches"], metrics["hottest_share"]) == (3.0, 0.75)
    assert (metrics["spilled_bytes"], metrics["occupancy_percent"]) == (8.0, 50.0)


def test_nothing_is_said_of_what_was_not_measured() -> None:
    refused = parent(ratio=None)
    assert guidance(LIBRARY, task(), refused, PastAttempts(), lambda rule, method: EQUAL) is None


# What was tried


def tried(history: RecordedHistory) -> PastAttempts:
    steps = trajectory(task(), history, LIBRARY)
    return PastAttempts(steps, [attempt.decisions for attempt in history.attempts])


def test_a_tried_method_comes_last_and_says_what_came_of_it() -> None:
    history = RecordedHistory(
        [record(1, 1.0, PARALLEL), record(2, 1.0, PARALLEL, 1, "demand-vectors", vectorise=True)]
    )
    found = allowed(PARALLEL, tried(history))
    assert names(found)[-1] == "demand-vectors"
    assert "poor implementation" in found.methods[-1].tried
    assert [(step.method, step.judgement) for step in found.trajectory] == [
        ("demand-vectors", "poor implementation")
    ]


def test_a_method_that_was_wrong_here_is_forbidden_here() -> None:
    history = RecordedHistory(
        [record(1, 1.0, PARALLEL), record(2, 0.9, VECTORS, 1, "demand-vectors", vectorise=True)]
    )
    found = allowed(PARALLEL, tried(history))
    assert "demand-vectors" not in names(found)
    assert "vectors = 0 -> vectors = 1, as predicted" in found.forbidden["demand-vectors"]


def test_decisions_of_the_composer_are_no_choices_of_a_model() -> None:
    history = RecordedHistory(
        [record(1, 1.0, PARALLEL), record(2, 0.9, VECTORS, 1, "demand-vectors")]
    )
    model = msgspec.structs.replace(parent(PARALLEL, 1.0, 101), decisions={"approach": "plain"})
    found = guidance(LIBRARY, task(), model, tried(history), lambda rule, method: EQUAL)
    assert found is not None and "demand-vectors" in found.forbidden


def test_a_method_with_choices_left_may_be_varied() -> None:
    reduction = msgspec.structs.replace(task(), signature=("sum.dim_IntList",))
    history = RecordedHistory(
        [record(1, 1.0, VECTORS), record(2, 1.0, VECTORS, 1, "widen-the-lanes", lanes=128)]
    )
    steps = trajectory(reduction, history, LIBRARY)
    before = PastAttempts(steps, [attempt.decisions for attempt in history.attempts])
    found = guidance(LIBRARY, reduction, parent(VECTORS, 1.0, 101), before, lambda r, m: EQUAL)
    assert found is not None
    (lanes,) = [method for method in found.methods if method.name == "widen-the-lanes"]
    assert lanes.decisions == {"lanes": 32}
    assert lanes.tried


def test_what_worked_rules_out_what_would_undo_it() -> None:
    tiny = msgspec.structs.replace(
        make_verdict(1.0),
        latency=msgspec.structs.replace(make_verdict(1.0).latency, candidate_ms=0.01),
    )
    quick = msgspec.structs.replace(parent(PARALLEL, 1.0, 102), verdict=tiny)
    fresh = guidance(LIBRARY, task(), quick, PastAttempts(), lambda rule, method: EQUAL)
    history = RecordedHistory(
        [record(1, 1.0, SERIAL), record(2, 2.0, PARALLEL, 1, "share-the-outer-loop")]
    )
    after = guidance(LIBRARY, task(), quick, tried(history), lambda rule, method: EQUAL)
    assert fresh is not None and after is not None
    assert "stay-on-one-thread" in names(fresh)
    assert "stay-on-one-thread" not in names(after)


def test_repairs_are_remembered_too() -> None:
    diagnosis = Diagnosis("numerical", "wrong", "moments", (), "two passes", 0.5)
    history = RecordedHistory([record(1, None), record(2, 1.0, start=1, diagnosis=diagnosis)])
    (step,) = repair_guidance(tried(history), None).trajectory
    assert (step.method, step.plan, step.outcome) == ("", "two passes", "repaired")


# Predictions


@pytest.mark.parametrize(
    ("was", "now", "gain", "judgement"),
    [
        (3.0, 1.0, 1.5, "worked"),
        (3.0, 3.0, 1.5, "worked"),
        (3.0, 1.0, 0.9, "wrong method"),
        (3.0, 1.0, 1.005, "wrong method"),
        (3.0, 3.0, 1.0, "poor implementation"),
        (1.0, 3.0, 0.5, "poor implementation"),
        (None, 1.0, 0.5, "undecided"),
    ],
)
def test_predictions_are_checked(
    was: float | None, now: float, gain: float, judgement: str
) -> None:
    found = check_prediction(Expectation("passes", "down"), {"passes": was}, {"passes": now}, gain)
    assert found.judgement == judgement
    assert f"{gain:.2f}x" in found.outcome


@given(st.floats(0.1, 10), st.floats(0, 100), st.floats(0, 100))
def test_up_and_down_never_both_come_true(gain: float, was: float, now: float) -> None:
    judgements = {
        check_prediction(
            Expectation("passes", way), {"passes": was}, {"passes": now}, gain
        ).judgement
        for way in ("up", "down")
    }
    assert judgements == {"worked"} or "poor implementation" in judgements


# Choices


LANES = {"lanes": (128, 32, 16, 64)}


@given(st.sampled_from([16, 32, 64, 128]), st.sets(st.sampled_from([16, 32, 64, 128])))
def test_choices_are_tried_in_turn(at_hand: int, before: set[int]) -> None:
    known: list[Decisions] = [{"lanes": one} for one in before]
    chosen = next_decisions(LANES, {"lanes": at_hand}, known)["lanes"]
    assert chosen != at_hand
    left = [one for one in LANES["lanes"] if one not in {at_hand, *before}]
    assert chosen == left[0] if left else chosen in LANES["lanes"]
