"""The walk over a graph that every lowering takes: a node becomes what its operator's rule says."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.graph import Graph, Node, Reference, Source
from kernelmill.generators.composer.plan import Plan

Made = TypeVar("Made")
Rule = TypeVar("Rule", bound=Callable[..., Any])


class Walk(ABC, Generic[Made]):
    """Operators are found by name: `add.Tensor`, or `add` for all its forms."""

    rules: ClassVar[dict[str, Callable[..., Any]]]
    """Name -> (walk, node) -> what it made, or a sequence with one for each result."""
    dtypes: ClassVar[Collection[str]]

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.plan = plan
        self._made: dict[Reference, Made] = {}
        for source in graph.sources:
            if source.kind.dtype not in self.dtypes:
                raise Declined(f"tensors of type {source.kind.dtype}")
            self._made[Reference(source.name)] = self._source(source)

    @abstractmethod
    def _source(self, source: Source) -> Made:
        """An input, a parameter or a constant."""

    @abstractmethod
    def _number(self, argument: Any, dtype: str) -> Made:
        """An argument that is no tensor."""

    def run(self) -> list[Made]:
        """What the graph's outputs became."""
        needed = _wanted(self.graph)
        for node in self.graph.nodes:
            if node.name in needed:
                self._lower(node)
        return [self.value(output) for output in self.graph.outputs]

    def value(self, argument: Any, dtype: str = "float32") -> Made:
        """What an argument became: a tensor, or a number of the given type."""
        if not isinstance(argument, Reference):
            return self._number(argument, dtype)
        if argument not in self._made:
            raise Declined(f"result {argument.part} of {argument.node}")
        return self._made[argument]

    @classmethod
    def lowers(cls, op: str) -> bool:
        """Whether there is a rule for an operator."""
        return op in cls.rules or op.partition(".")[0] in cls.rules

    def _lower(self, node: Node) -> None:
        rule = rule_of(self.rules, node)
        if rule is None:
            raise Declined(f"the operator aten.{node.op}")
        for kind in node.results:
            if kind.dtype not in self.dtypes:
                raise Declined(f"aten.{node.op} with a result of type {kind.dtype}")
        made = rule(self, node)
        parts = made if isinstance(made, Sequence) else [made]
        for part, one in enumerate(parts):
            if one is not None:
                self._made[Reference(node.name, part)] = one


def rule_of(rules: Mapping[str, Callable[..., Any]], node: Node) -> Callable[..., Any] | None:
    """The rule for the very form of an operator, or for all of its forms."""
    return rules.get(node.op) or rules.get(node.op.partition(".")[0])


def registering(*tables: dict[str, Callable[..., Any]]) -> Callable[..., Callable[[Rule], Rule]]:
    """A decorator that registers a rule for operators of the given names."""

    def lowers(*names: str) -> Callable[[Rule], Rule]:
        def register(rule: Rule) -> Rule:
            for rules in tables:
                rules.update(dict.fromkeys(names, rule))
            return rule

        return register

    return lowers


def _wanted(graph: Graph) -> set[str]:
    """The nodes that the outputs depend on."""
    found = {output.node for output in graph.outputs}
    for node in reversed(graph.nodes):
        if node.name in found:
            found.update(_references([*node.arguments, *node.keywords.values()]))
    return found


def _references(argument: Any) -> set[str]:
    if isinstance(argument, Reference):
        return {argument.node}
    if isinstance(argument, list):
        return set().union(*(_references(item) for item in argument))
    return set()
