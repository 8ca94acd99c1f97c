"""The steps of forward as lines of Python: launches, and loops over them."""

from kernelmill.generators.composer.targets.triton.rerolling import Loop, Step
from kernelmill.generators.composer.targets.triton.sharing import Call


def step_lines(step: Step) -> list[str]:
    return _loop(step) if isinstance(step, Loop) else _launch(step)


def _launch(call: Call) -> list[str]:
    arguments = [*call.arguments, *(f"{name}={code}" for name, code in call.options.items())]
    lines = (f"    {argument}," for argument in arguments)
    return [f"{call.kernel}[{_tuple(call.grid)}](", *lines, ")"]


def _loop(loop: Loop) -> list[str]:
    single = len(loop.variables) == 1
    rows = [row[0] if single else _tuple(row) for row in loop.rows]
    body = [f"    {line}" for call in loop.body for line in _launch(call)]
    head = f"for {', '.join(loop.variables)} in ("
    return [head, *(f"    {row}," for row in rows), "):", *body]


def _tuple(parts: tuple[str, ...]) -> str:
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
