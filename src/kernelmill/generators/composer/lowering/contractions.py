"""Matrix products: one form for all of them."""

from kernelmill.generators.composer.ir.expressions import Apply, Argument, Expression, Plain
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.ir.index import Index
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.values import (
    Buffer,
    Contract,
    ContractForm,
    Map,
    Reduce,
    Value,
    View,
)
from kernelmill.generators.composer.lowering.registry import (
    Lowering,
    broadcast,
    keyword,
    literal,
    lowers,
)

_ONE = Extent("1", 1)


def along_last(value: Value) -> bool:
    """Whether the last axis of a matrix runs along memory."""
    rank = len(value.shape)
    parts = [f"a{axis}" for axis in range(rank)]
    index = Index(parts)
    while isinstance(value, View | Map):
        if isinstance(value, View):
            index = value.remap(index)
        widest = [v for v in value.inputs if len(v.shape) == len(value.inputs[0].shape)]
        value = widest[0]
    if isinstance(value, Buffer) and len(index):
        return parts[-1] in _last_factor(index.ravel(value.shape)).names
    return True


def _last_factor(position: Expression) -> Expression:
    """Of the last term of a sum."""
    while isinstance(position, Apply) and position.operator in (Operator.ADD, Operator.MUL):
        position = position.operands[-1]
    return position


def matrix_product(
    lowering: Lowering, left: Value, right: Value, shape: tuple[Extent, ...]
) -> Value:
    """[batch,] rows x depth times [batch,] depth x columns."""
    if left.dtype != "float32" or lowering.plan.takes("contract", "loops"):
        return summed_products(left, right, shape)
    return contracted(left, right, shape)


def contracted(left: Value, right: Value, shape: tuple[Extent, ...]) -> Contract:
    batched = len(shape) == 3

    def at(batch: Plain, *rest: Plain) -> Index:
        return Index([batch, *rest] if batched else rest)

    form = ContractForm(
        batch=shape[0] if batched else _ONE,
        rows=shape[-2],
        depth=left.shape[-1],
        lines=_ONE,
        columns=shape[-1],
        left=lambda b, m, k: at(b, m, k),
        right=lambda b, k, r, c: at(b, k, c),
        out=lambda b, m, r, c: at(b, m, c),
        left_along="k" if along_last(left) else "other",
        right_along="other" if along_last(right) else "k",
        copies=shape[0].code if batched else "1",
    )
    return Contract(left, right, shape, form)


def summed_products(left: Value, right: Value, shape: tuple[Extent, ...]) -> Value:
    """The same in plain loops."""
    full = [*shape, left.shape[-1]]
    factors = [
        View(left, full, lambda i: Index([*i.parts[:-3], i[-3], i[-1]])),
        View(right, full, lambda i: Index([*i.parts[:-3], i[-1], i[-2]])),
    ]
    return Reduce(
        Map(Argument(0) * Argument(1), factors, left.dtype, full), [len(shape)], "sum", left.dtype
    )


@lowers("mm", "bmm")
def _product(lowering: Lowering, node: Node) -> Value:
    left, right = (lowering.value(argument) for argument in node.arguments[:2])
    return matrix_product(lowering, left, right, node.results[0].shape)


@lowers("addmm", "baddbmm")
def _product_plus(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    bias, left, right = (lowering.value(argument) for argument in node.arguments[:3])
    product = matrix_product(lowering, left, right, kind.shape)
    beta, alpha = keyword(node, 3, "beta", 1), keyword(node, 4, "alpha", 1)
    function: Expression = Argument(0)
    if alpha != 1:
        function = function * literal(alpha, kind.dtype)
    if beta != 0:
        added = Argument(1)
        function = function + (added if beta == 1 else added * literal(beta, kind.dtype))
    return Map(function, [product, broadcast(bias, kind.shape)], kind.dtype, kind.shape)


@lowers("mv", "dot")
def _vector_product(lowering: Lowering, node: Node) -> Value:
    left, right = (lowering.value(argument) for argument in node.arguments[:2])
    spread = broadcast(right, left.shape)
    products = Map(Argument(0) * Argument(1), [left, spread], left.dtype, left.shape)
    return Reduce(products, [len(left.shape) - 1], "sum", left.dtype)
