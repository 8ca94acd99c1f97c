"""Copies of KernelBench's tasks with sizes that a CPU can run in milliseconds.

    python benchmarks/parts/cut_to_size.py PATH/TO/KernelBench/level1 cut/level1

The largest size constant is halved until inputs and weights are small. Constants that only the
inputs use come first, since they change no layer. Tasks that do not run any more are left out and
printed.
"""

import argparse
import re
import warnings
from pathlib import Path
from types import ModuleType

import torch

INPUT_BYTES = 8 << 20
WEIGHT_BYTES = 16 << 20
MOST_HALVINGS = 14
SMALLEST_LAYER = 64
CONSTANT = re.compile(r"^(\w+) *= *([\d\s*+(),]+?)(\s*#.*)?$", re.MULTILINE)
Size = int | tuple[int, ...]


def cut(source: str) -> str:
    for _ in range(MOST_HALVINGS):
        module = load(source)
        inputs, weights = input_bytes(module), weight_bytes(module)
        if inputs < INPUT_BYTES and weights < WEIGHT_BYTES:
            break
        shorter = halve_largest(source, module, only_inputs=inputs >= INPUT_BYTES)
        if shorter == source:
            break
        source = shorter
    return source


def load(source: str) -> ModuleType:
    module = ModuleType("task")
    exec(compile(source, "<task>", "exec"), module.__dict__)
    return module


def input_bytes(module: ModuleType) -> int:
    with torch.device("meta"):
        tensors = [v for v in module.get_inputs() if isinstance(v, torch.Tensor)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def weight_bytes(module: ModuleType) -> int:
    with torch.device("meta"):
        model = module.Model(*module.get_init_inputs())
    return sum(4 * parameter.numel() for parameter in model.parameters())


def halve_largest(source: str, module: ModuleType, only_inputs: bool) -> str:
    sizes = constants(source)
    for_inputs = set(module.get_inputs.__code__.co_names)
    for_layers = set(module.get_init_inputs.__code__.co_names)
    free = {n: s for n, s in sizes.items() if n in for_inputs - for_layers and largest(s) > 2}
    layers = {
        n: s for n, s in sizes.items() if largest(s) >= SMALLEST_LAYER and largest(s) % 2 == 0
    }
    chosen = (free if only_inputs else {}) or layers
    if not chosen:
        return source
    name = max(chosen, key=lambda one: largest(chosen[one]))
    match = next(m for m in CONSTANT.finditer(source, source.rindex("class Model")) if m[1] == name)
    return f"{source[: match.start()]}{name} = {halved(chosen[name])}{source[match.end() :]}"


def constants(source: str) -> dict[str, Size]:
    found: dict[str, Size] = {}
    for match in CONSTANT.finditer(source, source.rindex("class Model")):
        value = eval(match[2])
        is_shape = isinstance(value, tuple) and "shape" in match[1]
        if is_shape or (isinstance(value, int) and value > 1):
            found[match[1]] = value
    return found


def largest(size: Size) -> int:
    return size if isinstance(size, int) else max(size)


def halved(size: Size) -> Size:
    if isinstance(size, int):
        return max(2, size // 2)
    return tuple(max(1, one // 2) if one == max(size) else one for one in size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_grad_enabled(False)
    arguments.target.mkdir(parents=True, exist_ok=True)
    for path in sorted(arguments.source.glob("*.py")):
        text = cut(path.read_text())
        try:
            module = load(text)
            module.Model(*module.get_init_inputs())(*module.get_inputs())
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            print(f"left out: {path.name}: {error}")
            continue
        (arguments.target / path.name).write_text(text)


if __name__ == "__main__":
    main()
