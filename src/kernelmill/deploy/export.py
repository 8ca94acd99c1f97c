"""Export of a campaign's champions: a Python package, a repository for `kernels`, or a patch."""

import enum
import hashlib
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2
import msgspec

from kernelmill.backends.shipping import write_kernel_folder
from kernelmill.deploy.champions import Champion, LeftOut, champions_of
from kernelmill.deploy.kernel_spec import describe_kernel
from kernelmill.deploy.manifest import Manifest, describe_evidence, make_manifest
from kernelmill.deploy.patch_file import as_patch
from kernelmill.records.errors import UsageError
from kernelmill.shipped import shipped_source
from kernelmill.workspace import Workspace

_TEMPLATES = Path(__file__).with_name("templates")
_RUNTIME = "_runtime"
_RUNTIME_MODULES = ("building", "snapshot", "index_ranges", "operators", "modules")
_VERSION = 1
DEFAULT_LICENCE = "Apache-2.0"


class PackageLayout(enum.StrEnum):
    PACKAGE = "package"
    HF_KERNELS = "hf-kernels"
    PATCH = "patch"


class Named(NamedTuple):
    """A champion under the names it gets in a package."""

    name: str
    module: str
    champion: Champion


class Exported(NamedTuple):
    folder: Path
    manifest: Manifest


def export_campaign(
    workspace: Workspace,
    campaign: int | None,
    to: Path,
    *,
    name: str = "",
    layout: PackageLayout = PackageLayout.PACKAGE,
    licence: str = DEFAULT_LICENCE,
    only_faster: bool = True,
) -> Exported:
    """Write the champions of a campaign, by default the latest, into a new or empty folder.

    `only_faster` leaves out kernels whose interval does not say that they are faster. Raises
    UsageError where nothing is left, or the folder is not empty.
    """
    found = workspace.campaign(campaign)
    package = name or re.sub(r"\W", "_", to.resolve().name).strip("_").lower()
    if not package.isidentifier() or keyword.iskeyword(package):
        raise UsageError(f"{package!r} is no name for a Python package: choose one with --name")
    usable, left_out = _sort_out(champions_of(workspace, found), only_faster)
    if not usable:
        reasons = "; ".join(f"{one.name}: {one.reason}" for one in left_out[:3])
        raise UsageError(f"campaign {found.id} has no kernel to export: {reasons}")
    named = list(_name(usable))
    evidence = tuple(
        describe_evidence(one.champion, one.name, f"{package}::{one.name}", one.module)
        for one in named
    )
    manifest = make_manifest(package, licence, found.id, evidence, tuple(left_out))
    _demand_empty(to)
    if layout is PackageLayout.PACKAGE:
        _write_package(to, named, manifest)
    elif layout is PackageLayout.HF_KERNELS:
        _write_repository(to, named, manifest)
    else:
        _write_patch(to, named, manifest)
    return Exported(to, manifest)


def _sort_out(
    found: list[Champion | LeftOut], only_faster: bool
) -> tuple[list[Champion], list[LeftOut]]:
    usable: list[Champion] = []
    left_out: list[LeftOut] = []
    for one in found:
        if isinstance(one, LeftOut):
            left_out.append(one)
        elif only_faster and not one.is_faster:
            left_out.append(LeftOut(one.name, "not shown to be faster than its baseline"))
        else:
            usable.append(one)
    return usable, left_out


def _name(champions: list[Champion]) -> Iterator[Named]:
    """Names by task, made longer until they differ."""
    taken: set[str] = set()
    for champion in champions:
        parts = [re.sub(r"\W+", "_", part).strip("_") for part in champion.name.split("/")]
        name = parts.pop()
        while parts and name in taken:
            name = f"{parts.pop()}_{name}"
        name = f"kernel_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name
        while name in taken:
            name += "_"
        taken.add(name)
        module = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
        yield Named(name, module, champion)


def _demand_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: name a new folder")
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from error


def _write_package(to: Path, named: list[Named], manifest: Manifest) -> None:
    _write_modules(to / "src" / manifest.package, named, manifest)
    _write_text(to / "pyproject.toml", _render("pyproject.toml.j2", manifest))
    _write_text(to / "README.md", _render("README.md.j2", manifest))
    _write_text(to / "tests" / "test_kernels.py", _render("test_kernels.py.j2", manifest))


def _write_repository(to: Path, named: list[Named], manifest: Manifest) -> None:
    """Sources for the kernel builder, and the build that needs no builder."""
    devices = {one.champion.recipe.device for one in named}
    if len(devices) > 1:
        raise UsageError("one repository holds kernels of one device: export them one by one")
    (device,) = devices
    _write_modules(to / "torch-ext" / manifest.package, named, manifest)
    variant = to / "build" / f"torch-{device}"
    _write_modules(variant, named, manifest)
    metadata = {
        "id": f"_{manifest.package}_{_digest(variant)}",
        "name": manifest.package.replace("_", "-"),
        "version": _VERSION,
        "license": manifest.licence,
        "python-depends": [],
        "backend": {"type": device},
    }
    (variant / "metadata.json").write_bytes(msgspec.json.encode(metadata))
    _write_text(to / "build.toml", _render("build.toml.j2", manifest, device=device))
    _write_text(to / "README.md", _render("README.md.j2", manifest))


def _write_patch(to: Path, named: list[Named], manifest: Manifest) -> None:
    made = to / manifest.package
    _write_modules(made, named, manifest)
    tests = to / "tests" / f"test_{manifest.package}.py"
    _write_text(tests, _render("test_kernels.py.j2", manifest))
    text = as_patch(to, _render("README.md.j2", manifest))
    _write_text(to / f"{manifest.package}.patch", text)


def _write_modules(folder: Path, named: list[Named], manifest: Manifest) -> None:
    _write_text(folder / "__init__.py", _render("package.py.j2", manifest))
    _write_text(folder / _RUNTIME / "__init__.py", "")
    for module in _RUNTIME_MODULES:
        _write_text(folder / _RUNTIME / f"{module}.py", shipped_source(module))
    (folder / "manifest.json").write_bytes(manifest.to_json())
    for one in named:
        write_kernel(folder / "kernels" / one.name, one.champion, one.name)


def write_kernel(folder: Path, champion: Champion, name: str, only_measured: bool = False) -> None:
    """The folder that an operator is made from."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = describe_kernel(champion, name, only_measured)
    write_kernel_folder(folder, champion.candidate, champion.recipe)
    _write_text(folder / "reference.py", champion.task.source)
    (folder / "kernel.json").write_bytes(msgspec.json.encode(spec))
    (folder / "verdict.json").write_bytes(champion.verdict.to_json())


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return whole.hexdigest()[:12]


def _render(template: str, manifest: Manifest, **values: object) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    return environment.get_template(template).render(manifest=manifest, **values)


def _cell(text: object) -> str:
    """Text that does not end a cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
