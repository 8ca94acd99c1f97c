"""Expressions in JAX, for the elements of blocks."""

from collections.abc import Sequence

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import ATOM, Language, Term, is_number, wider
from kernelmill.generators.composer.ir.expressions import Expression, Variable, filled
from kernelmill.generators.composer.ir.operators import Form, Operator
from kernelmill.generators.composer.targets.pallas.lowering.registry import DTYPES

_NUMBERS = {'float("inf")': "jnp.inf", 'float("nan")': "jnp.nan"}


def template_of(function: Expression, dtypes: Sequence[str]) -> str:
    """A function of elements, with {0}, {1}... for operands of these types."""
    places = {f"{{{at}}}": dtype for at, dtype in enumerate(dtypes)}
    language = BlockLanguage(places.__getitem__)
    code = language.write(filled(function, [Variable(place) for place in places])).code
    for number, name in _NUMBERS.items():
        code = code.replace(number, name)
    return code


class BlockLanguage(Language):
    """What kernels of a TPU call things."""

    def form(self, form: Form) -> str:
        return form.pallas

    def choice(self, condition: Term, chosen: Term, otherwise: Term) -> Term:
        code = f"jnp.where({condition.code}, {chosen.code}, {otherwise.code})"
        return Term(code, wider(chosen.dtype, otherwise.dtype))

    def element(self, memory: str, place: Term) -> Term:
        raise Declined(f"an element of {memory} by its place")

    def cast(self, term: Term, dtype: str) -> Term:
        if term.dtype == dtype or is_number(term.code):
            return term._replace(dtype=dtype)
        if dtype == "bool":
            return self._logical(term)
        return Term(f"{term.within(ATOM)}.astype({DTYPES.get(dtype, 'jnp.int32')})", dtype)

    def _binary(self, operator: Operator, left: Term, right: Term) -> Term:
        whole = "float" not in wider(left.dtype, right.dtype)
        if operator is Operator.MUL and left.dtype == right.dtype == "bool":
            operator = Operator.AND
        if operator is Operator.MOD:  # with the sign of the first, as in C
            return self.call("jnp.fmod({0}, {1})", [left, right], wider(left.dtype, right.dtype))
        if operator is Operator.DIV and whole:
            return self.call("lax.div({0}, {1})", [left, right], wider(left.dtype, right.dtype))
        return super()._binary(operator, left, right)
