"""Folds along axes, and norms and softmax, which are made of them."""

from collections.abc import Sequence
from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.graph import Node
from kernelmill.generators.composer.lowering.registry import axes_of, extent_of, keyword
from kernelmill.generators.composer.targets.pypto.held import ONE, Held
from kernelmill.generators.composer.targets.pypto.lowering.registry import Lowering, lowers, number
from kernelmill.generators.composer.targets.pypto.lowering.views import reshape
from kernelmill.generators.composer.targets.pypto.writer import Memory, count

_FOLDS = {"sum": "sum", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin",
          "prod": "prod"}  # fmt: skip


def fold(lowering: Lowering, held: Held, axes: Sequence[int], op: str) -> Held:
    """Along axes, which stay with size one; neighbours at once, other axes one after the other."""
    held = lowering.writer.contiguous(held)
    for group in reversed(_neighbours(axes)):
        sizes = held.shape
        lead, wide, tail = (
            count(part)
            for part in (sizes[: group[0]], sizes[group[0] : group[-1] + 1], sizes[group[-1] + 1 :])
        )
        kept = [ONE if at in group else size for at, size in enumerate(sizes)]
        result = lowering.writer.allocate(kept, held.dtype)
        before: tuple[str, ...] = (lead, wide, tail)
        after: tuple[str, ...] = (lead, "1", tail)
        if tail == "1":
            before, after = before[:2], after[:2]
        if held.dtype != "float32":
            raise Declined(f"a fold of {held.dtype}")
        lowering.writer.launch(
            op,
            [f"y[:] = pypto.{op}(x0, 1, True)"],
            [Memory(held.name, before, held.dtype)],
            Memory(result.name, after, held.dtype),
            tiled=before,
        )
        held = result
    return held


def _neighbours(axes: Sequence[int]) -> list[list[int]]:
    groups: list[list[int]] = []
    for axis in sorted(axes):
        if groups and groups[-1][-1] == axis - 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def without(held: Held, axes: Sequence[int], keep: bool) -> Held:
    """What a fold gave, with or without the axes that it folded."""
    if keep:
        return held
    return reshape(held, [size for axis, size in enumerate(held.shape) if axis not in axes])


def along(
    lowering: Lowering,
    label: str,
    code: str,
    held: Held,
    axes: Sequence[int],
    folded: bool = False,
    vectors: Sequence[Held] = (),
) -> Held:
    """One kernel for an operator that folds neighbouring axes, which are axis 1 of x0 there.

    `code` may use `count`, the number of elements that are folded; x1, x2... are vectors of so many
    elements. The folded axes stay with size one.
    """
    held = lowering.writer.contiguous(held)
    if held.dtype != "float32":
        raise Declined(f"aten.{label} of {held.dtype}")
    first, last = min(axes), max(axes)
    shape = held.shape
    lead, wide, tail = shape[:first], shape[first : last + 1], shape[last + 1 :]
    kept = [*lead, *[ONE] * len(wide), *tail] if folded else shape
    result = lowering.writer.allocate(kept, held.dtype)
    sizes = (count(lead), count(wide), count(tail))
    before: tuple[str, ...] = sizes
    after: tuple[str, ...] = (sizes[0], "1", sizes[2]) if folded else sizes
    if sizes[2] == "1":
        before, after = before[:2], after[:2]
    given = [Memory(held.name, before, held.dtype)]
    for vector in vectors:
        flat = lowering.writer.contiguous(vector)
        given.append(Memory(flat.name, ("1", sizes[1], "1")[: len(before)], flat.dtype))
    *lines, value = [part.strip() for part in code.split(";")]
    numbers = {"count": f"float({sizes[1]})"} if "count" in code else {}
    lowering.writer.launch(
        label,
        [*lines, f"y[:] = {value}"],
        given,
        Memory(result.name, after, held.dtype),
        numbers,
        tiled=before,
    )
    return result


def _adjoin(axes: Sequence[int]) -> bool:
    return len(_neighbours(axes)) == 1


def mean(lowering: Lowering, held: Held, axes: Sequence[int]) -> Held:
    if axes and _adjoin(axes):
        return along(lowering, "mean", "pypto.sum(x0, 1, True) / count", held, axes, folded=True)
    total = fold(lowering, held, axes, "sum")
    elements = f"float({count([held.shape[axis] for axis in axes])})"
    return lowering.same("mean", "{0} / {1}", total, Held.of_number(elements, "float32"))


_CENTRED = "c = x0 - pypto.sum(x0, 1, True) / count"


def variance(lowering: Lowering, held: Held, axes: Sequence[int]) -> Held:
    if axes and _adjoin(axes):
        code = f"{_CENTRED}; pypto.sum(c * c, 1, True) / count"
        return along(lowering, "var", code, held, axes, folded=True)
    return mean(lowering, _squares(lowering, _centred(lowering, held, axes)), axes)


def _centred(lowering: Lowering, held: Held, axes: Sequence[int]) -> Held:
    return lowering.same("centre", "{0} - {1}", held, mean(lowering, held, axes))


def _squares(lowering: Lowering, held: Held) -> Held:
    return lowering.same("square", "{0} * {0}", held)


def _axes(node: Node, held: Held, position: int = 1) -> list[int]:
    return axes_of(keyword(node, position, "dim"), len(held.shape))


def _kept(node: Node, position: int = 2) -> bool:
    return bool(keyword(node, position, "keepdim", False))


@lowers("sum", "amax", "amin", "prod.dim_int", "prod")
def _fold(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    if held.dtype == "bool" and node.results[0].dtype == "int64":
        raise Declined("a count of what is true")
    axes = _axes(node, held)
    return without(fold(lowering, held, axes, _FOLDS[node.op.partition(".")[0]]), axes, _kept(node))


@lowers("max", "min")
def _extreme(lowering: Lowering, node: Node) -> Held | list[Held | None]:
    held = lowering.value(node.arguments[0])
    op = _FOLDS[node.op.partition(".")[0]]
    if len(node.arguments) == 1:
        axes = list(range(len(held.shape)))
        return without(fold(lowering, held, axes, op), axes, False)
    axes = [node.arguments[1] % len(held.shape)]
    return [without(fold(lowering, held, axes, op), axes, _kept(node)), None]


@lowers("mean")
def _mean(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    axes = _axes(node, held)
    return without(mean(lowering, held, axes), axes, _kept(node))


@lowers("var.correction", "std.correction", "var_mean.correction")
def _variance(lowering: Lowering, node: Node) -> Held | list[Held]:
    held = lowering.value(node.arguments[0])
    axes = _axes(node, held)
    correction = node.keywords.get("correction", 1)
    found = variance(lowering, held, axes)
    if correction:
        whole = count([held.shape[axis] for axis in axes])
        factor = f"float({whole}) / ({whole} - {number(correction, 'int64')})"
        found = lowering.same("correct", "{0} * {1}", found, Held.of_number(factor, "float32"))
    kept = bool(node.keywords.get("keepdim", False))
    if node.op.startswith("std"):
        found = lowering.same("sqrt", "pypto.sqrt({0})", found)
    found = without(found, axes, kept)
    if node.op.startswith("var_mean"):
        return [found, without(mean(lowering, held, axes), axes, kept)]
    return found


@lowers("linalg_vector_norm")
def _length(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    order = keyword(node, 1, "ord", 2)
    axes = _axes(node, held, 2)
    if order not in (1, 2):
        raise Declined(f"aten.linalg_vector_norm of order {order}")
    code = "{0} * {0}" if order == 2 else "pypto.abs({0})"
    total = fold(lowering, lowering.same("square", code, held), axes, "sum")
    if order == 2:
        total = lowering.same("sqrt", "pypto.sqrt({0})", total)
    return without(total, axes, _kept(node, 3))


_SOFTMAX = "e = pypto.exp(x0 - pypto.amax(x0, 1, True)); e / pypto.sum(e, 1, True)"
_LOG_SOFTMAX = "s = x0 - pypto.amax(x0, 1, True); s - pypto.log(pypto.sum(pypto.exp(s), 1, True))"
_LOGSUMEXP = (
    "m = pypto.amax(x0, 1, True); m = pypto.where(pypto.abs(m) > 3.4028234663852886e+38, 0.0, m); "
    "pypto.log(pypto.sum(pypto.exp(x0 - m), 1, True)) + m"
)


def softmax(lowering: Lowering, held: Held, axis: int) -> Held:
    return along(lowering, "softmax", _SOFTMAX, held, [axis])


@lowers("_softmax")
def _softmax(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    return softmax(lowering, held, node.arguments[1] % len(held.shape))


@lowers("_log_softmax")
def _log_softmax(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    axis = node.arguments[1] % len(held.shape)
    return along(lowering, "log_softmax", _LOG_SOFTMAX, held, [axis])


@lowers("logsumexp")
def _logsumexp(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    axes = _axes(node, held)
    if not _adjoin(axes):
        raise Declined("aten.logsumexp along axes that are no neighbours")
    found = along(lowering, "logsumexp", _LOGSUMEXP, held, axes, folded=True)
    return without(found, axes, _kept(node))


def _scaled(lowering: Lowering, held: Held, weight: Any, bias: Any, behind: int) -> Held:
    """Times a weight, plus a bias, which have `behind` axes after their own."""
    for argument, label, code in ((weight, "mul", "{0} * {1}"), (bias, "add", "{0} + {1}")):
        if argument is not None:
            vector = lowering.value(argument)
            placed = reshape(vector, [*vector.shape, *[ONE] * behind])
            held = lowering.same(label, code, held, placed)
    return held


def _normalised(lowering: Lowering, held: Held, axes: Sequence[int], epsilon: Any) -> Held:
    least = number(epsilon, "float32")
    if _adjoin(axes):
        code = f"{_CENTRED}; v = pypto.sum(c * c, 1, True) / count; c / pypto.sqrt(v + {least})"
        return along(lowering, "normalise", code, held, axes)
    centred = _centred(lowering, held, axes)
    spread = mean(lowering, _squares(lowering, centred), axes)
    return lowering.same("normalise", f"{{0}} / pypto.sqrt({{1}} + {least})", centred, spread)


@lowers("native_layer_norm")
def _layer_norm(lowering: Lowering, node: Node) -> list[Held | None]:
    source, shape, weight, bias, epsilon = node.arguments
    held = lowering.value(source)
    rank = len(held.shape)
    code = f"{_CENTRED}; v = pypto.sum(c * c, 1, True) / count; "
    code += f"c / pypto.sqrt(v + {number(epsilon, 'float32')})"
    vectors = [lowering.value(one) for one in (weight, bias) if one is not None]
    code += " * x1" if weight is not None else ""
    code += f" + x{len(vectors)}" if bias is not None else ""
    axes = range(rank - len(shape), rank)
    return [along(lowering, "layer_norm", code, held, axes, vectors=vectors), None, None]


@lowers("native_group_norm")
def _group_norm(lowering: Lowering, node: Node) -> list[Held | None]:
    source, weight, bias, _batch, _channels, _places, groups, epsilon = node.arguments
    held = lowering.writer.contiguous(lowering.value(source))
    batch, channels, *places = held.shape
    width = extent_of(channels.value // int(groups))
    split = reshape(held, [batch, extent_of(int(groups)), width, *places])
    normal = _normalised(lowering, split, range(2, len(split.shape)), epsilon)
    normal = reshape(normal, held.shape)
    return [_scaled(lowering, normal, weight, bias, len(places)), None, None]


@lowers("_native_batch_norm_legit", "_native_batch_norm_legit_functional")
def _batch_norm(lowering: Lowering, node: Node) -> list[Held | None]:
    if node.op != "_native_batch_norm_legit.no_stats":
        source, weight, bias, _mean, _variance, _training, _momentum, epsilon = node.arguments
    else:
        source, weight, bias, _training, _momentum, epsilon = node.arguments
    held = lowering.value(source)
    rank = len(held.shape)
    normal = _normalised(lowering, held, [0, *range(2, rank)], epsilon)
    return [_scaled(lowering, normal, weight, bias, rank - 2), None, None]


@lowers("_native_batch_norm_legit_no_training")
def _batch_norm_running(lowering: Lowering, node: Node) -> list[Held | None]:
    source, weight, bias, middle, variance, _momentum, epsilon = node.arguments
    held = lowering.value(source)
    behind = len(held.shape) - 2
    known = [lowering.value(middle), lowering.value(variance)]
    placed = [reshape(vector, [*vector.shape, *[ONE] * behind]) for vector in known]
    code = f"({{0}} - {{1}}) / pypto.sqrt({{2}} + {number(epsilon, 'float32')})"
    normal = lowering.same("normalise", code, held, *placed)
    return [_scaled(lowering, normal, weight, bias, behind), None, None]


@lowers("cumsum")
def _running(lowering: Lowering, node: Node) -> Held:
    held = lowering.writer.contiguous(lowering.value(node.arguments[0]))
    if held.dtype != "float32":
        raise Declined(f"aten.cumsum of {held.dtype}")
    axis = node.arguments[1] % len(held.shape)
    parts = (held.shape[:axis], held.shape[axis : axis + 1], held.shape[axis + 1 :])
    sizes = tuple(count(part) for part in parts)
    sizes = sizes[:2] if sizes[2] == "1" else sizes
    result = lowering.writer.allocate(held.shape, held.dtype)
    lowering.writer.launch(
        "cumsum",
        ["y[:] = pypto.cumsum(x0, 1)"],
        [Memory(held.name, sizes, held.dtype)],
        Memory(result.name, sizes, held.dtype),
    )
    return result
