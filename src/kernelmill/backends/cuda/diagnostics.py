"""Facts that a kernel's build is judged by, from the output of nvcc."""

import re

_DEVICE_STATE = re.compile(r"ptxas info\s*: (?!0 bytes)(\d+) bytes gmem(?!, \d+ bytes cmem)")


def device_state(output: str) -> str:
    """Why ptxas's report shows variables that stay on the device between calls; empty if none."""
    found = _DEVICE_STATE.search(output)
    return f"it keeps {found[1]} bytes on the device between calls" if found else ""
