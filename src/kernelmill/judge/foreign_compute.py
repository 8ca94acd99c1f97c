"""The share of a candidate's time that may be spent in code that is not its own."""

from kernelmill.records.verdict import Feedback, Gate, Profile

_MOST_SHARE = 0.35
_MOST_OF_BASELINE = 0.25
NEGLIGIBLE_MS = 0.02
"""Foreign time per call that is always accepted: calls into the framework cost a little."""
_LEAST_OF_FRAMEWORK = 1 / 16
"""A kernel that computes for less than this share of the time in which the framework fills and
copies memory leaves the work to it."""
_ACCEPTED_MS = 0.1
_ACCEPTED_OF_BASELINE = 0.5
"""As much is accepted of calls that are long enough, else this share of the baseline's time."""


def foreign_compute(profile: Profile, baseline_ms: float) -> Feedback | None:
    """The refusal of a candidate where foreign code takes too much of its computing time, or too
    much of the time that the baseline takes, or where the kernel does next to nothing beside calls
    of the framework; None where none of it holds."""
    accepted = max(NEGLIGIBLE_MS, min(_ACCEPTED_MS, _ACCEPTED_OF_BASELINE * baseline_ms))
    idle = profile.kernel < _LEAST_OF_FRAMEWORK * profile.framework
    if idle and profile.framework_ms > accepted:
        summary = (
            f"{profile.framework_ms:.2f} ms per call are spent in the framework's copies, and next "
            "to none in the kernel"
        )
        hint = "copy and rearrange in the kernel: the framework may prepare its inputs, no more"
        return Feedback(Gate.LATENCY, "foreign-compute", summary, (), hint)
    share = profile.foreign / max(1e-9, profile.foreign + profile.kernel)
    mostly = share > _MOST_SHARE and profile.foreign_ms > accepted
    much = profile.foreign_ms > max(accepted, _MOST_OF_BASELINE * baseline_ms)
    if not mostly and not much:
        return None
    summary = (
        f"{share:.0%} of its computing time is spent in code that is not its own, "
        f"{profile.foreign_ms:.2f} ms per call"
    )
    hint = "move the computation into the kernel"
    return Feedback(Gate.LATENCY, "foreign-compute", summary, (), hint)
