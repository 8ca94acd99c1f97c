"""The linter walks the whole space, and the policy has an answer everywhere in it."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.errors import UsageError
from kernelmill.skills.cells import cut, explore
from kernelmill.skills.library import Library
from kernelmill.skills.lint import Flaw, lint
from kernelmill.skills.method_files import Front
from kernelmill.skills.metrics import CATALOGUE, Metrics, of_backend
from kernelmill.skills.predicates import Predicate, parse
from kernelmill.skills.rule_files import (
    Bucket,
    Case,
    Prohibition,
    RuleFile,
    Table,
    read_rules,
    table,
)
from kernelmill.skills.ruling import forbidden, offered, rule_on
from skills.cases import LIBRARY

PROJECT = Path(__file__).parent.parent.parent


def points(backend: str) -> st.SearchStrategy[Metrics]:
    """Anywhere in the space of a backend, thresholds included."""
    bounds = {p.bound for rule in LIBRARY.table(backend).rules for p in rule.conditions}
    spaces = {}
    for name, metric in of_backend(backend).items():
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
    assert lint(LIBRARY) == []


@given(points("cpp"))
def test_wherever_a_kernel_stands_something_can_be_tried(metrics: Metrics) -> None:
    rules = LIBRARY.table("cpp")
    ruling = rule_on(rules, metrics)
    assert ruling.case is not None
    allowed = set(offered(LIBRARY, rules, ruling, metrics))
    assert allowed
    assert not allowed & set(forbidden(rules, ruling.case, metrics))


@given(st.lists(st.lists(predicates(), max_size=3), max_size=4), points("cpp"))
def test_exploring_covers_every_point_once(rules: list[list[Predicate]], point: Metrics) -> None:
    def decide(metrics: Metrics) -> list[bool]:
        return [all(one.holds(metrics) for one in conditions) for conditions in rules]

    cells = cut(of_backend("cpp"), [one for conditions in rules for one in conditions])
    told = {one.metric: one for conditions in rules for one in conditions}

    def same_cell(name: str, value: float | None) -> bool:
        mine = point[name]
        if value is None or mine is None:
            return value is None and mine is None
        bounds = [
            p.bound for c in rules for p in c if p.metric == name and p.relation in ("<", ">=")
        ]
        return all((value < bound) == (mine < bound) for bound in bounds)

    blocks = [
        block
        for block in explore(decide, cells)
        if all(same_cell(name, value) for name, value in block.point.items())
    ]
    assert [block.said for block in blocks] == [decide(point)]
    assert set(blocks[0].point) <= set(told)


@given(predicates())
def test_conditions_are_read_as_they_are_written(predicate: Predicate) -> None:
    assert parse(str(predicate)) == predicate


@pytest.mark.parametrize("text", ["passes", "passes > 1", "passes < many", "< 1", "passes<1"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no condition"):
        parse(text)


def test_a_missing_number_is_neither_below_nor_above() -> None:
    metrics = {"foreign_share": None}
    told = [parse(f"foreign_share {rest}") for rest in ("< 0.5", ">= 0.5", "known", "missing")]
    assert [one.holds(metrics) for one in told] == [False, False, False, True]


def test_every_metric_is_documented_as_it_is() -> None:
    page = (PROJECT / "docs" / "skills.md").read_text()
    for name, metric in CATALOGUE.items():
        unit = f" ({metric.unit})" if metric.unit else ""
        backends = ", ".join(metric.backends) or "all"
        assert f"| `{name}` | {metric.read_from} | {backends} | {metric.about}{unit} |" in page


# What the linter finds


def changed(**parts: object) -> list[tuple[Flaw, str]]:
    """What it says of the shipped rules for processors with some of it replaced."""
    rules = LIBRARY.table("cpp")._replace(**parts)
    return [(one.flaw, one.where) for one in lint(with_table(rules))]


def with_table(rules: Table) -> Library:
    file = RuleFile(("cpp",), *rules[1:])
    methods = {
        name: method._replace(front=on_processors(method.front))
        for name, method in LIBRARY.methods.items()
        if any(name in case.allow for case in rules.cases)
    }
    return Library(methods, (file,))


def on_processors(front: Front) -> Front:
    return msgspec.structs.replace(front, backends={"cpp": front.backends["cpp"]})


def extra_case(**fields: object) -> tuple[Case, ...]:
    case = msgspec.convert({"name": "new", "allow": ("share-the-outer-loop",), **fields}, Case)
    return (case, *LIBRARY.table("cpp").cases)


def test_it_finds_unknown_names() -> None:
    for fields in (
        {"when": ("warmth >= 3",)},
        {"when": ("dram_percent >= 3",)},
        {"bottleneck": ("hunger",)},
        {"allow": ("guess",)},
        {"forbid": {"guess": "no"}},
    ):
        assert changed(cases=extra_case(**fields)) == [(Flaw.UNKNOWN, "case new on cpp")]


def test_it_finds_rules_that_cannot_fire() -> None:
    after = Case("late", ("share-the-outer-loop",))
    assert changed(cases=(*LIBRARY.table("cpp").cases, after)) == [(Flaw.NEVER, "case late on cpp")]
    twice = ("passes < 1", "passes >= 2")
    assert (Flaw.NEVER, "case new on cpp") in changed(cases=extra_case(when=twice))
    assert (Flaw.NEVER, "case new on cpp") in changed(cases=extra_case(when=("passes < 0",)))
    assert (Flaw.NEVER, "case new on cpp") in changed(cases=extra_case(when=("passes known",)))
    buckets = LIBRARY.table("cpp").headrooms
    assert (Flaw.NEVER, "bucket none on cpp") in changed(
        headrooms=(*buckets, Bucket("none", "there is nothing left"))
    )
    idle = Prohibition("idle", ("share-the-outer-loop",), "why", twice)
    assert changed(prohibitions=(idle,)) == [(Flaw.NEVER, "prohibition idle on cpp")]


def test_it_finds_holes() -> None:
    cases = [case for case in LIBRARY.table("cpp").cases if case.name != "cpp-scalar"]
    assert changed(cases=tuple(cases)) == [(Flaw.HOLE, "cpp")] * 15
    nothing_left = extra_case(when=("vectors >= 1",), allow=("demand-vectors",))
    assert (Flaw.HOLE, "case new on cpp") in changed(cases=nothing_left)


def test_it_finds_contradictions() -> None:
    one = Prohibition("small", ("share-the-outer-loop",), "why", ("megabytes < 1",))
    assert (Flaw.CONTRADICTION, "case cpp-one-thread on cpp") in changed(prohibitions=(one,))
    elsewhere = Prohibition("wide", ("share-the-outer-loop",), "why", ("parallel_loops >= 1",))
    assert changed(prohibitions=(elsewhere,)) == []


def test_it_finds_methods_nobody_allows_and_missing_cases() -> None:
    method = LIBRARY.methods["keep-the-row"]
    lonely = method._replace(front=msgspec.structs.replace(method.front, name="lonely"), cases=())
    library = Library({**LIBRARY.methods, "lonely": lonely}, LIBRARY.rules)
    assert [one.flaw for one in lint(library)] == [Flaw.UNUSED, Flaw.NO_CASE]


def test_additions_join_a_case() -> None:
    more = RuleFile(("cpp",), additions={"cpp-one-thread": ("demand-vectors",)})
    rules = table([*LIBRARY.rules, more], "cpp")
    (case,) = [case for case in rules.cases if case.name == "cpp-one-thread"]
    assert case.allow[-1] == "demand-vectors"
    unknown = RuleFile(("cpp",), additions={"nowhere": ("demand-vectors",)})
    found = lint(Library(LIBRARY.methods, (*LIBRARY.rules, unknown)))
    assert [one.what for one in found] == ["no case nowhere"]


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    for text in ("backends: cpp", "backends: [cpp]\nrules: []", "backends: [cpp"):
        (tmp_path / "rules.yaml").write_text(text)
        with pytest.raises(UsageError, match=r"rules\.yaml"):
            read_rules(tmp_path / "rules.yaml")
