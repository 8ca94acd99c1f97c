"""The share of a candidate's time that may be spent in code that is not its own."""

from kernelmill.records.verdict import Feedback, Gate, Profile

_MOST_SHARE = 0.35
_MOST_OF_BASELINE = 0.25
NEGLIGIBLE_MS = 0.02
"""Foreign time per call that is always accepted: calls into the framework cost a little."""
_ACCEPTED_MS = 0.1
_ACCEPTED_OF_BASELINE = 0.5
"""As much is accepted of calls that are long enough, else this share of the baseline's time."""


def foreign_compute(profile: Profile, baseline_ms: float) -> Feedback | None:
    """The refusal of a candidate where foreign code takes too much of its computing time, or too
    much of the time that the baseline takes; None where it does not."""
    accepted = max(NEGLIGIBLE_MS, min(_ACCEPTED_MS, _ACCEPTED_OF_BASELINE * baseline_ms))
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
