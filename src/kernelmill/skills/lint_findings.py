"""Findings of the linter of the skill library."""

import enum
from typing import NamedTuple

from kernelmill.skills.rule_files import Bucket, DecisionTable, Prohibition, RuleCase

_RULE_KINDS = {Bucket: "bucket", RuleCase: "case", Prohibition: "prohibition"}


class SkillFlaw(enum.StrEnum):
    UNKNOWN = "unknown name"
    """A metric, method, bucket, backend, decision or task that does not exist."""
    NEVER = "can never fire"
    HOLE = "hole"
    """A point of the metric space where no case fits, or no method applies."""
    CONTRADICTION = "contradiction"
    """A method that is allowed and forbidden at the same point."""
    UNUSED = "allowed by no rule"
    NO_CASE = "no code case"


class LintFinding(NamedTuple):
    flaw: SkillFlaw
    where: str
    what: str


def rule_place(table: DecisionTable, rule: Bucket | RuleCase | Prohibition) -> str:
    """A rule as findings name it."""
    return f"{_RULE_KINDS[type(rule)]} {rule.name} on {table.backend}"
