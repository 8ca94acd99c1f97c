"""Expressions in the Python of Triton's kernels."""

from collections.abc import Callable

from kernelmill.generators.composer.host.language import Language, Term, is_number, wider
from kernelmill.generators.composer.ir.operators import Form


class KernelLanguage(Language):
    """Elements of tiles. `load` gives the code that reads memory."""

    def __init__(self, type_of: Callable[[str], str], load: Callable[[str, Term], Term]) -> None:
        super().__init__(type_of)
        self._load = load

    def form(self, form: Form) -> str:
        return form.triton

    def choice(self, condition: Term, chosen: Term, otherwise: Term) -> Term:
        code = f"tl.where({condition.code}, {chosen.code}, {otherwise.code})"
        return Term(code, wider(chosen.dtype, otherwise.dtype))

    def element(self, memory: str, place: Term) -> Term:
        return self._load(memory, place)

    def cast(self, term: Term, dtype: str) -> Term:
        if term.dtype == dtype or (dtype == "int" and term.dtype.startswith(("int", "uint"))):
            return term
        if dtype == "int":
            return Term(f"tl.cast({term.code}, tl.int32)", dtype)
        if dtype == "bool":
            return self._logical(term)
        if term.dtype == "int" and term.code.lstrip("-").isdigit() and "float" in dtype:
            return Term(f"{term.code}.0", dtype)
        return Term(f"tl.cast({term.code}, tl.{dtype})", dtype)

    def call(self, template: str, arguments: list[Term], dtype: str) -> Term:
        if "(" in template and all(
            is_number(a.code) or a.code.startswith("float(") for a in arguments
        ):
            first, *rest = arguments  # Triton's functions want a tensor among their arguments
            kind = "int32" if dtype == "int" else dtype
            arguments = [first._replace(code=f"tl.full([], {first.code}, tl.{kind})"), *rest]
        return super().call(template, arguments, dtype)
