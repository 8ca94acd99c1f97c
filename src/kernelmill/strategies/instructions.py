"""Instructions that a proposal gives the generator."""

from kernelmill.records.proposal import Parent, Stage

_INSTRUCTIONS = {
    Stage.DRAFT: "Repair it: the verdict says what is wrong.",
    Stage.REFINE: "Make it faster and keep it right.",
}


def instruction(stage: Stage, parent: Parent | None) -> str:
    return "" if parent is None else _INSTRUCTIONS[stage]
