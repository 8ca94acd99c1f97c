"""Statements in C++."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from kernelmill.generators.composer.loops.cpp import cpp
from kernelmill.generators.composer.loops.statements import (
    Assign,
    Block,
    Call,
    If,
    Let,
    Loop,
    Return,
    Statement,
    Statements,
)


class LoopPrinter(ABC):
    """Statements as lines. A target says in its own words what is demanded of a loop."""

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

    @abstractmethod
    def _loop(self, loop: Loop) -> Iterator[str]:
        """A loop behind its demands for vectors and threads."""

    def _written(self, loop: Loop, body: Sequence[str]) -> Iterator[str]:
        """The loop alone, around a body that is written already."""
        name = loop.variable
        step = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
        head = f"for (long {name} = {loop.start}; {name} < {loop.end}; {step})"
        if loop.in_line:
            yield f"{head} {' '.join(body)}"
        else:
            yield from (f"{head} {{", *indented(body), "}")


def indented(lines: Sequence[str]) -> list[str]:
    """Behind two spaces, but for directives."""
    return [line if line.startswith("#") else f"  {line}" for line in lines]
