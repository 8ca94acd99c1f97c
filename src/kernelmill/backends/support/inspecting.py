"""The program that applies a backend's static rules. Used inside sandboxes only.

It parses hostile text and runs none of it, so one process serves many candidates.
"""

import os
import sys
from typing import Any

import msgspec

from kernelmill.backends.base import Backend, Built, RuleFinding
from kernelmill.records.candidate import Candidate
from kernelmill.records.text import clean_line
from kernelmill.sandbox.channel import Channel

_MOST_FINDINGS = 50
_MOST_CHARACTERS = 300


class Inspection(msgspec.Struct):
    """What to look at: the sources, and with `built` the artefacts instead."""

    candidate: Candidate
    built: Built | None = None


class Inspected(msgspec.Struct):
    findings: list[RuleFinding]


def apply_rules(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry: answer every inspection, which comes in a file, with its findings."""
    backend = _backend(arguments["backend"], arguments["chip"])
    while True:
        (file,) = channel.receive().files
        with os.fdopen(file, "rb") as content:
            inspection = msgspec.msgpack.decode(content.read(), type=Inspection)
        channel.send(msgspec.to_builtins(Inspected(_findings(backend, inspection))))


def _backend(path: str, chip: str) -> Backend:
    module, _, name = path.partition(":")
    plugin = getattr(sys.modules[module], name)
    backend: Backend = plugin(chip) if chip else plugin()
    return backend


def _findings(backend: Backend, inspection: Inspection) -> list[RuleFinding]:
    candidate, built = inspection.candidate, inspection.built
    found = (
        backend.inspect_sources(candidate)
        if built is None
        else backend.inspect_build(candidate, built)
    )
    return [_short(finding) for finding in found[:_MOST_FINDINGS]]


def _short(finding: RuleFinding) -> RuleFinding:
    parts = (finding.rule, finding.where, finding.what, finding.instead)
    return RuleFinding(*(clean_line(part, _MOST_CHARACTERS) for part in parts))
