"""A lowered graph as `kernelmill tasks show --ir` prints it."""

from kernelmill.generators.composer.ir.graph import (
    Extent,
    Graph,
    Node,
    Reference,
    Source,
    TensorSpec,
)
from kernelmill.generators.composer.lowering.listing import lowered_text

_ROWS, _COLUMNS = Extent("s0", 8), Extent("4", 4)
_MATRIX = TensorSpec("float32", (_ROWS, _COLUMNS))
_TURNED = TensorSpec("float32", (_COLUMNS, _ROWS))


def _node(name: str, op: str, *arguments: object, kind: TensorSpec = _MATRIX) -> Node:
    return Node(name, op, list(arguments), {}, (kind,))


def test_every_value_is_one_line_behind_its_operands() -> None:
    nodes = (
        _node("a", "exp.default", Reference("x")),
        _node("b", "add.Tensor", Reference("a"), 2.0),
        _node("c", "permute.default", Reference("b"), [1, 0], kind=_TURNED),
        _node("d", "sum.dim_IntList", Reference("c"), [0], kind=TensorSpec("float32", (_ROWS,))),
    )
    source = Source("x", _MATRIX, "input", "0")
    graph = Graph((source,), nodes, (Reference("d"),), "y0", {})
    assert lowered_text(graph).splitlines() == [
        "in_x: float32[s0, 4] = input 0",
        "v0: float32[s0, 4] = exp(in_x)",
        "v1: float32[s0, 4] = v0 + 2.0",
        "v2: float32[4, s0] = v1[i1, i0]",
        "v3: float32[s0] = sum of v2 along axes 0",
        "return v3",
    ]


def test_a_value_under_a_condition_says_what_is_elsewhere() -> None:
    padded = TensorSpec("float32", (_ROWS, Extent("6", 6)))
    nodes = (_node("p", "constant_pad_nd.default", Reference("x"), [1, 1], 0.5, kind=padded),)
    source = Source("x", _MATRIX, "input", "0")
    text = lowered_text(Graph((source,), nodes, (Reference("p"),), "y0", {}))
    assert "i1 - 1 >= edge && i1 - 1 < 4 + edge ? in_x[i0, i1 - 1] : 0.5" in text
