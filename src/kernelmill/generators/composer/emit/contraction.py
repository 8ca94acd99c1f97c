"""Contractions: operands as small functions, what follows them fused into the store."""

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.scope import Scope, Unfit
from kernelmill.generators.composer.index import Index
from kernelmill.generators.composer.values import (
    Buffer,
    Contract,
    ContractForm,
    Guarded,
    Literal,
    Map,
    Value,
    View,
)

_FEW_ROWS = 8


def emit_contraction(
    contract: Contract, result: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[str]:
    """The C++ of one contraction whose finished sums become elements of `result`."""
    form = contract.form
    left, right = contract.inputs
    lines = [
        f"const km::Shape shape{{{form.batch.code}, {form.rows.code}, {form.depth.code}, "
        f"{form.lines.code}, {form.columns.code}, {form.columns.code}}};"
    ]
    lines += _operand(
        "left", left, form.left("b", "m", "k"), "long b, long m, long k", plan, stored
    )
    lines += _operand(
        "right",
        right,
        form.right("b", "k", "r", "c"),
        "long b, long k, long r, long c",
        plan,
        stored,
    )
    lines += _store(contract, result, target, stored)
    lines += _call(form, plan)
    return ["{", *(f"  {line}" for line in lines), "}"]


def _operand(
    name: str, value: Value, index: Index, parameters: str, plan: Plan, stored: dict[int, Buffer]
) -> list[str]:
    _demand_cheap(value, plan, stored)
    scope = Scope(stored=stored)
    result = scope.value(value, index)
    body = " ".join([*scope.lines, f"return {result};"])
    return [f"const auto {name} = [=]({parameters}) -> float {{ {body} }};"]


def _demand_cheap(value: Value, plan: Plan, stored: dict[int, Buffer]) -> None:
    """An operand is packed more than once: what costs something is computed before."""
    while isinstance(value, View | Guarded) and id(value) not in stored:
        value = value.inputs[0]
    if id(value) in stored or isinstance(value, Buffer):
        return
    simple = isinstance(value, Map) and "km::" not in value.template and plan.fuse
    plain = all(isinstance(source, Buffer | Literal) for source in value.inputs)
    if not (simple and plain):
        raise Unfit(value)


def _store(
    contract: Contract, result: Value, target: Buffer, stored: dict[int, Buffer]
) -> list[str]:
    root = Scope(stored=stored)
    root.contraction = contract
    body = root.child("v")
    index = contract.form.out("b", "m", "r", "c0 + v")
    body.names.add("sum")
    body.lines.append("const float sum = sums[v];")
    element = body.value(result, index)
    body.lines.append(f"{target.name}[{index.ravel(target.shape)}] = {element};")
    root.loop("for (long v = 0; v < count; ++v)", body, "#pragma omp simd")
    head = (
        "const auto store = [=](long b, long m, long r, long c0, long count, const float* sums) {"
    )
    return [head, *(f"  {line}" for line in root.lines), "};"]


def _call(form: ContractForm, plan: Plan) -> list[str]:
    left = f"km::packed<km::Along::{form.left_along}>(left, {form.copies})"
    right = f"km::packed<km::Along::{form.right_along}>(right)"
    if form.rows.value <= _FEW_ROWS and form.left_along == form.right_along == "k":
        rows = form.rows.value
        return [f"km::contract_dot<{rows}, 4>(shape, {left}, {right}, store);"]
    rows, vectors = plan.tile.split("x")
    tile = f"km::Tile<{rows}, {vectors}, {plan.depth_block}>"
    return [
        f"km::contract<{tile}, km::Split::{_split(form, plan)}>(shape, {left}, {right}, store);"
    ]


def _split(form: ContractForm, plan: Plan) -> str:
    if plan.split != "auto":
        return {"rows": "m", "columns": "columns", "batch": "batch"}[plan.split]
    if form.batch.value >= 2:
        return "batch"
    return "m" if form.rows.value >= form.columns.value else "columns"
