"""Scaffold of a new backend: a package that passes the conformance suite as it is written."""

import re
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from kernelmill import __version__
from kernelmill.backends import backend_names
from kernelmill.records.errors import UsageError

_TEMPLATES = Path(__file__).with_name("scaffold")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def scaffold(name: str, folder: Path) -> list[Path]:
    """Write the package into a new folder. Returns the files written. Raises UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a backend: use lower-case letters, digits and _")
    if name in backend_names():
        raise UsageError(f"there is a backend {name} already: choose another name")
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise UsageError(f"{folder} exists already: name another with --folder") from error
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {error.strerror}") from error
    facts = {"name": name, "class_name": _class_name(name), "version": __version__}
    return [_write(path, folder, facts) for path in sorted(_TEMPLATES.rglob("*")) if path.is_file()]


def _write(template: Path, folder: Path, facts: dict[str, str]) -> Path:
    relative = str(template.relative_to(_TEMPLATES)).replace("NAME", facts["name"])
    path = folder / relative.removesuffix(".j2")
    text = template.read_text()
    if template.suffix == ".j2":
        environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
        text = environment.from_string(text).render(facts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_")) + "Backend"
