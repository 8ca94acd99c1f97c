"""Names of C++ functions as their authors wrote them."""

import shutil
import subprocess

_SECONDS = 2.0
_LONGEST = 400
_MOST_NAMES = 64


def demangle(names: list[str]) -> list[str]:
    """The names in C++, where the tool for it is there; long ones stay as they are."""
    tool = shutil.which("c++filt")
    mangled = [name for name in names if name.startswith("_Z") and len(name) <= _LONGEST]
    if tool is None or not mangled:
        return names
    try:
        done = subprocess.run(
            [tool, "--", *mangled[:_MOST_NAMES]], capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return names
    lines = done.stdout.splitlines()
    plain = dict(zip(mangled, lines, strict=False)) if done.returncode == 0 else {}
    return [plain.get(name, name) for name in names]
