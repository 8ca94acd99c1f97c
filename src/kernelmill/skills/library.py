"""The skill library: shipped methods and rules, and those of a folder of the user's."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from kernelmill.records.errors import UsageError
from kernelmill.skills.method_files import MethodFile, read_method
from kernelmill.skills.rule_files import DecisionTable, RuleFile, decision_table, read_rules

SHIPPED = Path(__file__).parent
METHODS, RULES = "methods", "rules"


class Library(NamedTuple):
    methods: dict[str, MethodFile]
    rules: tuple[RuleFile, ...]

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the backends that have rules."""
        files = [file for file in self.rules if file.cases]
        return tuple(sorted({backend for file in files for backend in file.backends}))

    def table(self, target: str) -> DecisionTable:
        """The rules for a target; empty where its backend has none."""
        return decision_table(self.rules, target)


@cache
def load_library(folder: Path | None = None) -> Library:
    """Read the shipped files, then those of a folder. Raises UsageError for a broken file."""
    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no folder of skills at {folder}")
    folders = [SHIPPED] if folder is None else [SHIPPED, folder]
    methods: dict[str, MethodFile] = {}
    for path in _files(folders, METHODS, ".md"):
        method = read_method(path)
        if method.name in methods:
            raise UsageError(f"{path} and {methods[method.name].path} have the same name")
        methods[method.name] = method
    return Library(methods, tuple(map(read_rules, _files(folders, RULES, ".yaml"))))


def _files(folders: list[Path], kind: str, suffix: str) -> list[Path]:
    return [path for folder in folders for path in sorted((folder / kind).glob(f"*{suffix}"))]
