"""State of a device as the driver reports it. Reads only: clocks are never changed."""

import ctypes
import functools
from typing import Any

_GRAPHICS_CLOCK, _MEMORY_CLOCK = 0, 2
_CELSIUS = 0
_TEXT = 96


def state(index: int = 0) -> str:
    """Driver, clocks and temperature in words; empty where the driver does not report them."""
    library = _library()
    if library is None:
        return ""
    device = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)):
        return ""
    driver = ctypes.create_string_buffer(_TEXT)
    library.nvmlSystemGetDriverVersion(driver, _TEXT)
    clock, memory = _clock(library, device, _GRAPHICS_CLOCK), _clock(library, device, _MEMORY_CLOCK)
    temperature = ctypes.c_uint()
    library.nvmlDeviceGetTemperature(device, _CELSIUS, ctypes.byref(temperature))
    version, celsius = driver.value.decode(), temperature.value
    return f"driver {version}, {clock} MHz, memory {memory} MHz, {celsius} C"


def _clock(library: Any, device: ctypes.c_void_p, clock_type: int) -> int:
    clock = ctypes.c_uint()
    library.nvmlDeviceGetClockInfo(device, clock_type, ctypes.byref(clock))
    return clock.value


@functools.cache
def _library() -> Any:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return None if library.nvmlInit_v2() else library
