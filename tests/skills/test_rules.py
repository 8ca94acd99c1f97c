"""The linter covers the whole metric space, and the shipped rules have an answer everywhere."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.records.errors import UsageError
from kernelmill.skills.library import Library
from kernelmill.skills.lint import lint_library
from kernelmill.skills.lint_findings import SkillFlaw
from kernelmill.skills.method_files import FrontMatter
from kernelmill.skills.metric_space import explore, partition
from kernelmill.skills.metrics import METRICS, Metrics, backend_metrics
from kernelmill.skills.predicates import Predicate, parse_predicate
from kernelmill.skills.rule_files import (
    Bucket,
    DecisionTable,
    Prohibition,
    RuleCase,
    RuleFile,
    decision_table,
    read_rules,
)
from kernelmill.skills.rule_matching import applicable_methods, forbidden_methods, match_rules
from skills.cases import LIBRARY

PROJECT = Path(__file__).parent.parent.parent


def points(backend: str) -> st.SearchStrategy[Metrics]:
    """Anywhere in the space of a backend, thresholds included."""
    bounds = {p.bound for rule in LIBRARY.table(backend).rules for p in rule.conditions}
    spaces = {}
    for name, metric in backend_metrics(backend).items():
        inside = sorted(bound for bound in bounds if bound <= metric.high)
        values = st.floats(0, metric.high) | st.sampled_from([0.0, metric.high, *inside])
        spaces[name] = values | st.none() if metric.may_be_missing else values
    return st.fixed_dictionaries(spaces)


def predicates() -> st.SearchStrategy[Predicate]:
    metrics = st.sampled_from(["passes", "vectors", "foreign_share", "megabytes"])
    bounds = st.sampled_from([0.25, 0.5, 1.0])
    compared = st.builds(Predicate, metrics, st.sampled_from(["<", ">="]), bounds)
    present = st.builds(Predicate, metrics, st.sampled_from(["known", "missing"]), st.just(0.0))
    return compared | present


def test_the_shipped_skills_are_clean() -> None:
    assert lint_library(LIBRARY) == []


@given(points("cpp"))
def test_some_method_is_allowed_at_every_point(metrics: Metrics) -> None:
    rules = LIBRARY.table("cpp")
    match = match_rules(rules, metrics)
    assert match.case is not None
    allowed = set(applicable_methods(LIBRARY, rules, match, metrics))
    assert allowed
    assert not allowed & set(forbidden_methods(rules, match.case, metrics))


@given(st.lists(st.lists(predicates(), max_size=3), max_size=4), points("cpp"))
def test_regions_cover_every_point_once(rules: list[list[Predicate]], point: Metrics) -> None:
    def decide(metrics: Metrics) -> list[bool]:
        return [all(one.holds(metrics) for one in conditions) for conditions in rules]

    intervals = partition(
        backend_metrics("cpp"), [one for conditions in rules for one in conditions]
    )
    used = {one.metric: one for conditions in rules for one in conditions}

    def same_interval(name: str, value: float | None) -> bool:
        mine = point[name]
        if value is None or mine is None:
            return value is None and mine is None
        bounds = [
            p.bound for c in rules for p in c if p.metric == name and p.relation in ("<", ">=")
        ]
        return all((value < bound) == (mine < bound) for bound in bounds)

    regions = [
        region
        for region in explore(decide, intervals)
        if all(same_interval(name, value) for name, value in region.point.items())
    ]
    assert [region.result for region in regions] == [decide(point)]
    assert set(regions[0].point) <= set(used)


@given(predicates())
def test_conditions_are_read_as_they_are_written(predicate: Predicate) -> None:
    assert parse_predicate(str(predicate)) == predicate


@pytest.mark.parametrize("text", ["passes", "passes > 1", "passes < many", "< 1", "passes<1"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no condition"):
        parse_predicate(text)


def test_a_comparison_with_a_missing_metric_does_not_hold() -> None:
    metrics = {"foreign_share": None}
    predicates = [
        parse_predicate(f"foreign_share {rest}") for rest in ("< 0.5", ">= 0.5", "known", "missing")
    ]
    assert [one.holds(metrics) for one in predicates] == [False, False, False, True]


def test_every_metric_is_documented_as_it_is() -> None:
    page = (PROJECT / "docs" / "skills.md").read_text()
    for name, metric in METRICS.items():
        unit = f" ({metric.unit})" if metric.unit else ""
        backends = ", ".join(metric.backends) or "all"
        assert f"| `{name}` | {metric.read_from} | {backends} | {metric.about}{unit} |" in page


# What the linter finds


def changed(**parts: object) -> list[tuple[SkillFlaw, str]]:
    """What it says of the shipped rules for processors with some of it replaced."""
    rules = LIBRARY.table("cpp")._replace(**parts)
    return [(one.flaw, one.where) for one in lint_library(with_table(rules))]


def with_table(rules: DecisionTable) -> Library:
    file = RuleFile(("cpp",), *rules[1:])
    methods = {
        name: method._replace(front=on_processors(method.front))
        for name, method in LIBRARY.methods.items()
        if any(name in case.allow for case in rules.cases)
    }
    return Library(methods, (file,))


def on_processors(front: FrontMatter) -> FrontMatter:
    return msgspec.structs.replace(front, backends={"cpp": front.backends["cpp"]})


def extra_case(**fields: object) -> tuple[RuleCase, ...]:
    case = msgspec.convert({"name": "new", "allow": ("share-the-outer-loop",), **fields}, RuleCase)
    return (case, *LIBRARY.table("cpp").cases)


def test_it_finds_unknown_names() -> None:
    for fields in (
        {"when": ("warmth >= 3",)},
        {"when": ("dram_percent >= 3",)},
        {"bottleneck": ("hunger",)},
        {"allow": ("guess",)},
        {"forbid": {"guess": "no"}},
    ):
        assert changed(cases=extra_case(**fields)) == [(SkillFlaw.UNKNOWN, "case new on cpp")]


def test_it_finds_rules_that_cannot_fire() -> None:
    after = RuleCase("late", ("share-the-outer-loop",))
    assert changed(cases=(*LIBRARY.table("cpp").cases, after)) == [
        (SkillFlaw.NEVER, "case late on cpp")
    ]
    twice = ("passes < 1", "passes >= 2")
    assert (SkillFlaw.NEVER, "case new on cpp") in changed(cases=extra_case(when=twice))
    assert (SkillFlaw.NEVER, "case new on cpp") in changed(cases=extra_case(when=("passes < 0",)))
    assert (SkillFlaw.NEVER, "case new on cpp") in changed(cases=extra_case(when=("passes known",)))
    buckets = LIBRARY.table("cpp").headrooms
    assert (SkillFlaw.NEVER, "bucket none on cpp") in changed(
        headrooms=(*buckets, Bucket("none", "there is nothing left"))
    )
    idle = Prohibition("idle", ("share-the-outer-loop",), "why", twice)
    assert changed(prohibitions=(idle,)) == [(SkillFlaw.NEVER, "prohibition idle on cpp")]


def test_it_finds_holes() -> None:
    cases = [case for case in LIBRARY.table("cpp").cases if case.name != "cpp-scalar"]
    assert changed(cases=tuple(cases)) == [(SkillFlaw.HOLE, "cpp")] * 15
    nothing_left = extra_case(when=("vectors >= 1",), allow=("demand-vectors",))
    assert (SkillFlaw.HOLE, "case new on cpp") in changed(cases=nothing_left)


def test_it_finds_contradictions() -> None:
    one = Prohibition("small", ("share-the-outer-loop",), "why", ("megabytes < 1",))
    assert (SkillFlaw.CONTRADICTION, "case cpp-one-thread on cpp") in changed(prohibitions=(one,))
    elsewhere = Prohibition("wide", ("share-the-outer-loop",), "why", ("parallel_loops >= 1",))
    assert changed(prohibitions=(elsewhere,)) == []


def test_it_finds_methods_that_no_case_allows_and_missing_cases() -> None:
    method = LIBRARY.methods["keep-the-row"]
    lonely = method._replace(front=msgspec.structs.replace(method.front, name="lonely"), cases=())
    library = Library({**LIBRARY.methods, "lonely": lonely}, LIBRARY.rules)
    assert [one.flaw for one in lint_library(library)] == [SkillFlaw.UNUSED, SkillFlaw.NO_CASE]


def test_additions_join_a_case() -> None:
    more = RuleFile(("cpp",), additions={"cpp-one-thread": ("demand-vectors",)})
    rules = decision_table([*LIBRARY.rules, more], "cpp")
    (case,) = [case for case in rules.cases if case.name == "cpp-one-thread"]
    assert case.allow[-1] == "demand-vectors"
    unknown = RuleFile(("cpp",), additions={"nowhere": ("demand-vectors",)})
    found = lint_library(Library(LIBRARY.methods, (*LIBRARY.rules, unknown)))
    assert [one.what for one in found] == ["no case nowhere"]


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    for text in ("backends: cpp", "backends: [cpp]\nrules: []", "backends: [cpp"):
        (tmp_path / "rules.yaml").write_text(text)
        with pytest.raises(UsageError, match=r"rules\.yaml"):
            read_rules(tmp_path / "rules.yaml")
