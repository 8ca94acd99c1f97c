"""Sample guidance, and a plan that follows it."""

from typing import Any

from kernelmill.records.guidance import Guidance, Method, TrajectoryStep

GUIDANCE = Guidance(
    rule="memory-bound-streaming",
    bottleneck="memory",
    headroom="high",
    structure="streaming",
    evidence=("bytes moved: 3.2 times the least", "share of peak bandwidth: 31%"),
    methods=(
        Method("fusion", "Do it in one pass.", "bytes moved fall to the least"),
        Method("unrolling", "Unroll by eight.", "fewer branches", tried="0.98x: no gain"),
    ),
    forbidden={"streaming-stores": "the output is read again"},
    trajectory=(TrajectoryStep(7, "unrolling", "unroll by eight", "0.98x", "wrong method"),),
)
PLAN: dict[str, Any] = {
    "method": "fusion",
    "steps": ["merge the loops over rows"],
    "evidence": "bytes moved: 3.2 times the least",
    "ruled_out": "arithmetic: 4% of peak",
    "expects": "bytes moved fall to 1.0 times the least",
    "difference": "",
}
