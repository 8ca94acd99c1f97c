"""All methods and rules: those that come along, and a folder of one's own."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from kernelmill.errors import UsageError
from kernelmill.skills.method_files import WrittenMethod, read_method
from kernelmill.skills.rule_files import RuleFile, Table, read_rules, table

SHIPPED = Path(__file__).parent
METHODS, RULES = "methods", "rules"


class Library(NamedTuple):
    methods: dict[str, WrittenMethod]
    rules: tuple[RuleFile, ...]

    @property
    def backends(self) -> tuple[str, ...]:
        """Those for which there are cases."""
        files = [file for file in self.rules if file.cases]
        return tuple(sorted({backend for file in files for backend in file.backends}))

    def table(self, backend: str) -> Table:
        return table(self.rules, backend)


@cache
def load_library(folder: Path | None = None) -> Library:
    """The shipped files, then those of a folder; raises UsageError for one that cannot be read."""
    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no folder of skills at {folder}")
    folders = [SHIPPED] if folder is None else [SHIPPED, folder]
    methods: dict[str, WrittenMethod] = {}
    for path in _files(folders, METHODS, ".md"):
        method = read_method(path)
        if method.name in methods:
            raise UsageError(f"{path} and {methods[method.name].path} have the same name")
        methods[method.name] = method
    return Library(methods, tuple(map(read_rules, _files(folders, RULES, ".yaml"))))


def _files(folders: list[Path], kind: str, suffix: str) -> list[Path]:
    return [path for folder in folders for path in sorted((folder / kind).glob(f"*{suffix}"))]
