"""Reads what libtpu writes of a compiled program. Used inside cells only."""

import json
import re
from pathlib import Path

from kernelmill.backends.pallas.protocol import UnitUse

_NAME = re.compile(r'hlo_op_name: "(.*?)"')
_CYCLES = re.compile(r"estimated_cycles: (\d+)")
_ALIKE = re.compile(r"num_equivalent_hlos: (\d+)")
_UNITS = "*-final_hlo-static-per-bundle-utilization.txt"
_VMEM = re.compile(r"const DATA =\s*(\{.*?\});?\s*\n\s*(?://|const|let|var|function)", re.DOTALL)


def read_profile(dumps: Path) -> list[UnitUse]:
    """The operations of the program, the longest first."""
    units = {_operation(path): path for path in (dumps / "units").glob(_UNITS)}
    vmem = _vmem_use(dumps / "units")
    found = []
    for path in dumps.glob("*.textproto"):
        text = path.read_text()
        name = _first(_NAME, text)
        cycles = int(_first(_CYCLES, text)) * int(_first(_ALIKE, text, "1"))
        bundles, shares = _shares(units[name]) if name in units else (0, {})
        found.append(UnitUse(name, cycles, bundles, shares, vmem.get(name, 0)))
    return sorted(found, key=lambda use: (-use.cycles, use.name))


def _first(pattern: re.Pattern[str], text: str, default: str = "0") -> str:
    match = pattern.search(text)
    return match[1] if match else default


def _operation(path: Path) -> str:
    """1794758654-fusion.3-00-final...: a stamp, the operation, a number."""
    return path.name.removesuffix(_UNITS[1:]).partition("-")[2].rpartition("-")[0]


def _shares(path: Path) -> tuple[int, dict[str, float]]:
    """How many bundles of instructions there are, and how full each unit's slots in them."""
    lines = path.read_text().splitlines()
    names = [name.strip() for name in lines[1].split(",")]
    slots = [int(count) for count in lines[2].split()]
    rows = [[int(n) for n in line.split()] for line in lines[4:] if line.strip()]
    if not rows:
        return 0, {}
    filled = [sum(column) for column in zip(*rows, strict=True)]
    return len(rows), {
        name: used / (count * len(rows))
        for name, used, count in zip(names, filled, slots, strict=True)
    }


def _vmem_use(folder: Path) -> dict[str, int]:
    """Operation -> bytes of vector memory, out of a page with a script in it."""
    used: dict[str, int] = {}
    for path in folder.glob("*vmem_report.html"):
        match = _VMEM.search(path.read_text())
        if match is None:
            continue
        report = json.loads(match[1])
        for name, breakdown in report["hlo_breakdowns"].items():
            sizes = [
                allocation["size"]
                for block in breakdown["blocks"]
                for allocation in block["allocations"]
            ]
            used[name.strip().lstrip("%")] = sum(sizes)
    return used
