"""Statements in C++, with OpenMP's demands for vectors and threads."""

from collections.abc import Iterator, Sequence

from kernelmill.generators.composer.ir.cpp import cpp
from kernelmill.generators.composer.ir.loops import (
    Assign,
    Block,
    Call,
    If,
    Let,
    Loop,
    Reduction,
    Return,
    Statement,
    Statements,
    Vectors,
)


class CppLoops:
    """Prints statements. With `vectors` off, vectors are left to the compiler."""

    def __init__(self, vectors: bool = True) -> None:
        self._vectors = vectors

    def lines(self, statements: Statements) -> list[str]:
        return [line for statement in statements for line in self._statement(statement)]

    def _statement(self, statement: Statement) -> Iterator[str]:
        match statement:
            case str():
                yield statement
            case Let(ctype, name, value, constant):
                yield f"{'const ' if constant else ''}{ctype} {name} = {cpp(value)};"
            case Assign(target, value):
                yield f"{cpp(target)} = {cpp(value)};"
            case Call(text):
                yield text
            case Return(value):
                yield f"return {cpp(value)};"
            case If(condition, body):
                yield from self._if(cpp(condition), body)
            case Block():
                yield from self._block(statement)
            case Loop():
                yield from self._loop(statement)

    def _if(self, condition: str, body: Statements) -> Iterator[str]:
        match body:
            case [str(text)]:
                yield f"if ({condition}) {text}"
            case _:
                yield from (f"if ({condition}) {{", *indented(self.lines(body)), "}")

    def _block(self, block: Block) -> Iterator[str]:
        inner = self.lines(block.body)
        if block.in_line:
            yield " ".join([block.head, *inner, block.tail])
        else:
            yield from (block.head, *indented(inner), block.tail)

    def _loop(self, loop: Loop) -> Iterator[str]:
        yield from self._demands(loop)
        yield from self._written(loop, self.lines(loop.body))

    def _written(self, loop: Loop, body: Sequence[str]) -> Iterator[str]:
        """The loop alone, around a body that is written already."""
        name = loop.variable
        step = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
        head = f"for (long {name} = {loop.start}; {name} < {loop.end}; {step})"
        if loop.in_line:
            yield f"{head} {' '.join(body)}"
        else:
            yield from (f"{head} {{", *indented(body), "}")

    def _demands(self, loop: Loop) -> Iterator[str]:
        vectors = loop.vectors if self._vectors else None
        if loop.unroll:
            yield f"#pragma GCC unroll {loop.unroll}"
        elif loop.threads is not None:
            wanted = loop.vectors or Vectors()
            words = ["parallel for", *_vector_words(vectors)]
            words += _clauses(wanted.reductions or loop.threads.reductions)
            if loop.threads.collapse > 1:
                words.append(f"collapse({loop.threads.collapse})")
            if loop.threads.schedule:
                words.append(f"schedule({loop.threads.schedule})")
            yield f"#pragma omp {' '.join(words)}"
        elif vectors is not None:
            words = [*_vector_words(vectors), *_clauses(vectors.reductions)]
            yield f"#pragma omp {' '.join(words)}"


def _vector_words(vectors: Vectors | None) -> list[str]:
    if vectors is None:
        return []
    return ["simd", *([f"simdlen({vectors.width})"] if vectors.width else [])]


def _clauses(reductions: Sequence[Reduction]) -> list[str]:
    return [f"reduction({reduction.op}:{reduction.name})" for reduction in reductions]


def indented(lines: Sequence[str]) -> list[str]:
    """Behind two spaces, but for directives."""
    return [line if line.startswith("#") else f"  {line}" for line in lines]
