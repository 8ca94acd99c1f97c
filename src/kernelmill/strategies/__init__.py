"""Strategies: they decide what is tried next. Built-in ones and plug-ins are found by name."""

from kernelmill.plugins import construct, plugin_names
from kernelmill.strategies.base import History, Strategy

__all__ = ["History", "Strategy", "get_strategy", "strategy_names"]
_GROUP = "kernelmill.strategies"


def strategy_names() -> tuple[str, ...]:
    return plugin_names(_GROUP)


def get_strategy(spec: str) -> Strategy:
    """Construct a strategy from `name` or `name:settings`. Raises UsageError for an unknown one."""
    strategy: Strategy = construct(_GROUP, "strategy", spec)
    return strategy
