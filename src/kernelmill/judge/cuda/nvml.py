"""What the driver says of the device now. Reads only: clocks are never changed."""

import ctypes
import functools
from typing import Any

_GRAPHICS_CLOCK, _MEMORY_CLOCK = 0, 2
_CELSIUS = 0
_TEXT = 96


def state(index: int = 0) -> str:
    """Driver, clocks and temperature; empty where the driver does not tell."""
    library = _library()
    if library is None:
        return ""
    device = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)):
        return ""
    driver = ctypes.create_string_buffer(_TEXT)
    library.nvmlSystemGetDriverVersion(driver, _TEXT)
    clock, memory = _clock(library, device, _GRAPHICS_CLOCK), _clock(library, device, _MEMORY_CLOCK)
    warmth = ctypes.c_uint()
    library.nvmlDeviceGetTemperature(device, _CELSIUS, ctypes.byref(warmth))
    return f"driver {driver.value.decode()}, {clock} MHz, memory {memory} MHz, {warmth.value} C"


def _clock(library: Any, device: ctypes.c_void_p, kind: int) -> int:
    clock = ctypes.c_uint()
    library.nvmlDeviceGetClockInfo(device, kind, ctypes.byref(clock))
    return clock.value


@functools.cache
def _library() -> Any:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return None if library.nvmlInit_v2() else library
