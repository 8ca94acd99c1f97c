"""Sums over the model calls of a campaign."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from rich.markup import escape
from rich.table import Table

from kernelmill.records.campaign import Spending
from kernelmill.report.fitting import Column, fitting_table

_COLUMNS = (
    Column("role"),
    Column("model", flexible=True),
    Column("calls", "right"),
    Column("cached", "right", 3),
    Column("unusable", "right", 2),
    Column("tokens\nin", "right", 4),
    Column("tokens\nout", "right", 4),
    Column("cost", "right"),
)


def by_role(spending: Sequence[Spending]) -> list[Spending]:
    """Sums over all tasks, one per role and model."""
    return _added(spending, lambda one: (one.role, one.model), task="")


def by_task(spending: Sequence[Spending]) -> list[Spending]:
    """Sums over all roles and models, one per task."""
    return _added(spending, lambda one: (one.task,), role="", model="")


def spending_table(spending: Sequence[Spending], width: int) -> Table:
    rows = []
    for one in by_role(spending):
        counts = (str(one.calls), str(one.cached), str(one.problems))
        tokens = (count(one.tokens_in), count(one.tokens_out))
        rows.append((one.role, escape(one.model), *counts, *tokens, dollars(one.cost_usd)))
    return fitting_table(_COLUMNS, rows, width)


def count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f} USD"


def _added(
    spending: Iterable[Spending], key: Callable[[Spending], tuple[str, ...]], **blank: str
) -> list[Spending]:
    sums: dict[tuple[str, ...], Spending] = {}
    for one in spending:
        before = sums.get(key(one))
        sums[key(one)] = msgspec.structs.replace(
            one if before is None else _sum(before, one), **blank
        )
    return [sums[name] for name in sorted(sums)]


def _sum(one: Spending, other: Spending) -> Spending:
    return msgspec.structs.replace(
        one,
        calls=one.calls + other.calls,
        cached=one.cached + other.cached,
        problems=one.problems + other.problems,
        tokens_in=_known(one.tokens_in, other.tokens_in),
        tokens_out=_known(one.tokens_out, other.tokens_out),
        cost_usd=_known(one.cost_usd, other.cost_usd),
    )


def _known(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
