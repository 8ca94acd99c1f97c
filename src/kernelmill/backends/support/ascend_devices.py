"""Device files of Ascend NPUs."""

from pathlib import Path

DEVICES = Path("/dev")
_SHARED = ("davinci_manager", "devmm_svm", "hisi_hdc")
"""Of the driver, for all NPUs together."""


def npu_cards() -> list[str]:
    return sorted(str(path) for path in DEVICES.glob("davinci[0-9]*"))


def npu_device_files() -> tuple[str, ...]:
    """All files that a process opens to compute on an NPU; empty where there is none."""
    cards = npu_cards()
    shared = [str(DEVICES / name) for name in _SHARED if (DEVICES / name).exists()]
    return (*cards, *shared) if cards else ()
