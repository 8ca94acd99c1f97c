"""What is printed means what the tree says."""

import operator
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kernelmill.generators.composer.host.language import HostLanguage
from kernelmill.generators.composer.ir.expressions import (
    Apply,
    Argument,
    Constant,
    Expression,
    Variable,
    apply,
    filled,
    select,
)
from kernelmill.generators.composer.ir.index import add, mul, sub
from kernelmill.generators.composer.ir.operators import BY_ATEN, Operator
from kernelmill.generators.composer.ir.sizes import read_size
from kernelmill.generators.composer.loops.cpp import cpp
from kernelmill.generators.composer.lowering import Lowering
from kernelmill.generators.composer.targets.triton.language import KernelLanguage

_MEANINGS: dict[Operator, Callable[[int, int], int]] = {
    Operator.ADD: operator.add, Operator.SUB: operator.sub, Operator.MUL: operator.mul,
    Operator.DIV: operator.floordiv, Operator.MOD: operator.mod,
    Operator.LT: operator.lt, Operator.GE: operator.ge, Operator.EQ: operator.eq,
    Operator.BIT_AND: operator.and_, Operator.BIT_OR: operator.or_, Operator.BIT_XOR: operator.xor,
    Operator.AND: lambda left, right: left and right,
    Operator.OR: lambda left, right: left or right,
}  # fmt: skip
_VALUES = {"a": 7, "b": 3, "i0_": 11}
_leaves = st.integers(1, 20).map(Constant) | st.sampled_from(list(_VALUES)).map(Variable)


def _trees(*operators: Operator) -> st.SearchStrategy[Expression]:
    def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.builds(apply, st.sampled_from(operators), inner, inner)

    return st.recursive(_leaves, grown, max_leaves=10)


def _meaning(tree: Expression) -> int:
    match tree:
        case Constant(value):
            return int(value)
        case Variable(name):
            return _VALUES[name]
        case Apply(sign, (left, right)):
            return int(_MEANINGS[sign](_meaning(left), _meaning(right)))
    raise AssertionError(tree)


_EXACT = (Operator.ADD, Operator.SUB, Operator.MUL, Operator.LT, Operator.GE, Operator.EQ,
          Operator.BIT_AND, Operator.BIT_OR, Operator.BIT_XOR)  # fmt: skip


@given(_trees(*_EXACT, Operator.AND, Operator.OR))
def test_cpp_has_the_parentheses_that_it_needs(tree: Expression) -> None:
    """Python binds comparisons looser than bits, and chains them: both need parentheses here."""
    code = cpp(tree).replace("&&", "and").replace("||", "or")
    assert int(eval(code, {}, _VALUES)) == _meaning(tree)


@given(_trees(Operator.ADD, Operator.SUB, Operator.MUL))
def test_a_size_is_read_as_it_was_printed(tree: Expression) -> None:
    assert _meaning(read_size(str(tree))) == _meaning(tree)


@given(_trees(Operator.ADD, Operator.MUL), _trees(Operator.ADD, Operator.SUB, Operator.MUL))
def test_sums_and_products_of_indices_are_simplified_rightly(
    left: Expression, right: Expression
) -> None:
    assert _meaning(add(left, right)) == _meaning(left) + _meaning(right)
    assert _meaning(sub(left, right)) == _meaning(left) - _meaning(right)
    assert _meaning(mul(left, right)) == _meaning(left) * _meaning(right)


@given(_trees(Operator.ADD, Operator.SUB, Operator.MUL))
def test_the_host_computes_the_same(tree: Expression) -> None:
    assert eval(HostLanguage().write(tree).code, {}, _VALUES) == _meaning(tree)


def test_a_choice_becomes_python() -> None:
    small = Constant(1) < Constant(2)
    tree = select(small, apply(Operator.SIZE_MAX, 5, 7) / Constant(2), 0)
    assert eval(HostLanguage().write(tree).code) == 3


@given(_trees(*_EXACT))
def test_equal_trees_are_equal_keys(tree: Expression) -> None:
    same = filled(tree, [])
    assert {tree: 1}[same] == 1 and tree.names <= set(_VALUES)
    assert tree.replaced(Variable("a"), Variable("b")).names <= {"b", "i0_"}


def test_every_operator_of_aten_is_lowered_and_said_in_cpp_and_triton() -> None:
    assert len(Operator) == len(Operator.__members__), "two operators have the same forms"
    kernel = KernelLanguage(lambda name: "float32", lambda memory, place: place)
    for name, sign in BY_ATEN.items():
        assert Lowering.lowers(name), name
        tree = apply(sign, *(Variable(f"x{at}") for at in range(sign.value.arity)))
        assert all(f"x{at}" in text for at in range(sign.value.arity)
                   for text in (cpp(tree), kernel.write(tree).code))  # fmt: skip


def test_a_function_of_elements_prints_readably() -> None:
    x, y = Argument(0), Argument(1)
    assert str(apply(Operator.EXP, x - y) * y) == "exp(x0 - x1) * x1"
    assert cpp(apply(Operator.EXP, x - y) * y) == "km::exp(x0 - x1) * x1"
