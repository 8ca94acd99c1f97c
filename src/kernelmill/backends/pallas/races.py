"""Races that the interpreter detects in any kernel of a call. JAX remembers those of the last one.

Used inside sandboxes only.
"""

from typing import Any

from jax._src.pallas.mosaic.interpret import interpret_pallas_call

_make_state = interpret_pallas_call.RaceDetectionState
_states: list[Any] = []


def _make_recorded_state(**arguments: Any) -> Any:
    state = _make_state(**arguments)
    _states.append(state)
    return state


interpret_pallas_call.RaceDetectionState = _make_recorded_state


def reset_races() -> None:
    _states.clear()


def races_found() -> bool:
    return any(state.races_found for state in _states)
