"""Reading of the profile that libtpu dumps with a compiled program. Used inside sandboxes only."""

import json
import re
from pathlib import Path
from typing import NamedTuple

from kernelmill.backends.pallas.protocol import OperationProfile

_NAME = re.compile(r'hlo_op_name: "(.*?)"')
_CYCLES = re.compile(r"estimated_cycles: (\d+)")
_EQUIVALENT = re.compile(r"num_equivalent_hlos: (\d+)")
_UNITS = "*-final_hlo-static-per-bundle-utilization.txt"
_VMEM = re.compile(r"const DATA =\s*(\{.*?\});?\s*\n\s*(?://|const|let|var|function)", re.DOTALL)


class _UnitUse(NamedTuple):
    bundles: int
    """Number of instruction bundles."""
    shares: dict[str, float]
    """Unit -> share of its slots that are filled."""


def read_profile(dumps: Path) -> list[OperationProfile]:
    """The operations of the program, those with the most cycles first."""
    units = {_operation(path): path for path in (dumps / "units").glob(_UNITS)}
    vmem = _vmem_use(dumps / "units")
    found = []
    for path in dumps.glob("*.textproto"):
        text = path.read_text()
        name = _first(_NAME, text)
        cycles = int(_first(_CYCLES, text)) * int(_first(_EQUIVALENT, text, "1"))
        use = _unit_use(units[name]) if name in units else _UnitUse(0, {})
        found.append(OperationProfile(name, cycles, *use, vmem.get(name, 0)))
    return sorted(found, key=lambda profile: (-profile.cycles, profile.name))


def _first(pattern: re.Pattern[str], text: str, default: str = "0") -> str:
    match = pattern.search(text)
    return match[1] if match else default


def _operation(path: Path) -> str:
    """The operation in 1794758654-fusion.3-00-final...: a timestamp, the operation, a number."""
    return path.name.removesuffix(_UNITS[1:]).partition("-")[2].rpartition("-")[0]


def _unit_use(path: Path) -> _UnitUse:
    lines = path.read_text().splitlines()
    names = [name.strip() for name in lines[1].split(",")]
    slots = [int(count) for count in lines[2].split()]
    rows = [[int(n) for n in line.split()] for line in lines[4:] if line.strip()]
    if not rows:
        return _UnitUse(0, {})
    filled = [sum(column) for column in zip(*rows, strict=True)]
    shares = {
        name: used / (count * len(rows))
        for name, used, count in zip(names, filled, slots, strict=True)
    }
    return _UnitUse(len(rows), shares)


def _vmem_use(folder: Path) -> dict[str, int]:
    """Operation -> bytes of vector memory, from the script in libtpu's HTML report."""
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
