"""Who decides what is tried next: the built-in strategies, and whatever is plugged in."""

from importlib.metadata import entry_points

from kernelmill.errors import UsageError
from kernelmill.strategies.base import History, Strategy

__all__ = ["History", "Strategy", "get_strategy", "strategy_names"]
_GROUP = "kernelmill.strategies"


def strategy_names() -> tuple[str, ...]:
    return tuple(sorted(entry.name for entry in entry_points(group=_GROUP)))


def get_strategy(name: str) -> Strategy:
    """The strategy behind an entry point, the built-in ones included."""
    for entry in entry_points(group=_GROUP, name=name):
        strategy: Strategy = entry.load()()
        return strategy
    raise UsageError(f"no strategy is called {name!r}; there are {', '.join(strategy_names())}")
