"""Who decides what is tried next: the built-in strategies, and whatever is plugged in."""

from kernelmill.plugins import construct, plugin_names
from kernelmill.strategies.base import History, Strategy

__all__ = ["History", "Strategy", "get_strategy", "strategy_names"]
_GROUP = "kernelmill.strategies"


def strategy_names() -> tuple[str, ...]:
    return plugin_names(_GROUP)


def get_strategy(spec: str) -> Strategy:
    """The strategy behind an entry point; in `name:argument` its constructor gets the argument."""
    strategy: Strategy = construct(_GROUP, "strategy", spec)
    return strategy
