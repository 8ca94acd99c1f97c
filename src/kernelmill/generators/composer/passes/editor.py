"""Editing of graphs: the same nodes in their order, some of them replaced by others."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference, TensorSpec

Change = Callable[["Editor", Node], Reference | None]
"""What stands for a node from now on, made of nodes that the editor was told to add; None where
the node stays."""


def edited(graph: Graph, change: Change) -> Graph:
    """The graph with every node offered once for change; the very same graph where none is taken.

    A change may replace the first result of a node alone.
    """
    editor = Editor(graph)
    changed = False
    for given in graph.nodes:
        node = editor.renamed(given)
        other = change(editor, node)
        if other is None:
            editor.add(node)
        else:
            editor.replace(node, other)
            changed = True
    return editor.graph() if changed else graph


class Editor:
    """A graph in the making. It tells what is known of the nodes so far."""

    def __init__(self, graph: Graph) -> None:
        self._given = graph
        self._kinds = {Reference(source.name): source.kind for source in graph.sources}
        self._nodes: dict[str, Node] = {}
        self._instead: dict[Reference, Reference] = {}
        self._uses = Counter(ref for node in needed(graph) for ref in references_of(node))
        self._uses.update(graph.outputs)
        self._taken = {source.name for source in graph.sources}
        self._taken |= {node.name for node in graph.nodes}

    @property
    def nodes(self) -> list[Node]:
        return list(self._nodes.values())

    def kind(self, reference: Reference) -> TensorSpec:
        return self._kinds[reference]

    def producer(self, argument: Any) -> Node | None:
        """The node whose first result an argument is."""
        if not isinstance(argument, Reference) or argument.part:
            return None
        return self._nodes.get(argument.node)

    def uses(self, reference: Reference) -> int:
        """How many arguments and outputs are this result."""
        return self._uses[reference]

    def renamed(self, node: Node) -> Node:
        """With what stands for its arguments."""
        return replace(
            node,
            arguments=_substituted(node.arguments, self._instead),
            keywords={key: _substituted(v, self._instead) for key, v in node.keywords.items()},
        )

    def add(self, node: Node) -> None:
        self._nodes[node.name] = node
        self._kinds |= {Reference(node.name, part): kind for part, kind in enumerate(node.results)}

    def call(
        self, op: str, arguments: Sequence[Any], kind: TensorSpec, **keywords: Any
    ) -> Reference:
        """The result of one operator more."""
        return self.call_for_parts(op, arguments, [kind], **keywords)

    def call_for_parts(
        self, op: str, arguments: Sequence[Any], kinds: Sequence[TensorSpec], **keywords: Any
    ) -> Reference:
        """The first of several results."""
        stem = op.partition(".")[0].strip("_")
        name = next(n for n in _names(f"new_{stem}") if n not in self._taken)
        self._taken.add(name)
        self.add(Node(name, op, list(arguments), keywords, tuple(kinds)))
        for reference in _references([*arguments, *keywords.values()]):
            self._uses[reference] += 1
        return Reference(name)

    def replace(self, node: Node, *others: Reference) -> None:
        """From now on the others are read wherever the node's results were."""
        for part, other in enumerate(others):
            mine = Reference(node.name, part)
            self._instead[mine] = other
            self._uses[other] += self._uses[mine]
        for reference in references_of(node):
            self._uses[reference] -= 1

    def graph(self) -> Graph:
        """As it is now, without what nobody needs any more."""
        made = replace(
            self._given,
            nodes=tuple(self.nodes),
            outputs=tuple(_substituted(list(self._given.outputs), self._instead)),
        )
        return replace(made, nodes=tuple(needed(made)))


def needed(graph: Graph) -> list[Node]:
    """The nodes that the outputs depend on."""
    wanted = {output.node for output in graph.outputs}
    found = []
    for node in reversed(graph.nodes):
        if node.name in wanted:
            wanted.update(reference.node for reference in references_of(node))
            found.append(node)
    return found[::-1]


def references_of(node: Node) -> Iterator[Reference]:
    """Every argument that is another node's result, as often as it is one."""
    return _references([*node.arguments, *node.keywords.values()])


def keyword(node: Node, position: int, name: str, default: Any = None) -> Any:
    """An argument given by position or by name."""
    if position < len(node.arguments):
        return node.arguments[position]
    return node.keywords.get(name, default)


def _references(arguments: Iterable[Any]) -> Iterator[Reference]:
    for argument in arguments:
        if isinstance(argument, Reference):
            yield argument
        elif isinstance(argument, list):
            yield from _references(argument)


def _substituted(argument: Any, instead: dict[Reference, Reference]) -> Any:
    if isinstance(argument, Reference):
        return instead.get(argument, argument)
    if isinstance(argument, list):
        return [_substituted(item, instead) for item in argument]
    return argument


def _names(stem: str) -> Iterator[str]:
    number = 0
    while True:
        yield f"{stem}_{number}"
        number += 1
