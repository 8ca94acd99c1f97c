"""Folders of kernels that build and run without Kernelmill."""

from pathlib import Path

import msgspec

from kernelmill.records.candidate import Candidate
from kernelmill.shipped import shipped_source
from kernelmill.shipped.building import BUILD_FILE

LOADER_FILES = {"__init__.py": "folder", "building.py": "building"}
"""Files that load a kernel from its folder, by the modules they are copies of."""


class BuildRecipe(msgspec.Struct, frozen=True):
    """How a kernel is built where Kernelmill is not installed: what `build.json` holds."""

    backend: str
    device: str
    """Kind of device that its tensors must be on, as torch names it."""
    files: tuple[str, ...]
    """All source files."""
    library: str = ""
    """Name of the library to build; empty where the kernel is Python that compiles itself."""
    sources: tuple[str, ...] = ()
    """Source files that are given to the compiler."""
    compilers: tuple[str, ...] = ()
    """Compilers to try, in this order."""
    variable: str = ""
    """Environment variable that names another compiler."""
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    """Options that follow the sources."""


def write_kernel_folder(folder: Path, candidate: Candidate, recipe: BuildRecipe | None) -> None:
    """The sources of a kernel, and how they are built."""
    for name, text in candidate.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if recipe is not None:
        encoded = msgspec.json.format(msgspec.json.encode(recipe), indent=2)
        (folder / BUILD_FILE).write_bytes(encoded + b"\n")


def write_importable(folder: Path, candidate: Candidate, recipe: BuildRecipe | None) -> None:
    """The same as a Python package that defines `ModelNew`, where the kernel can run natively."""
    write_kernel_folder(folder, candidate, recipe)
    if recipe is not None and not candidate.files.keys() & LOADER_FILES.keys():
        for name, module in LOADER_FILES.items():
            (folder / name).write_text(shipped_source(module), encoding="utf-8")


def is_loader(path: Path) -> bool:
    """Whether a file beside a kernel is the loader that Kernelmill has put there."""
    module = LOADER_FILES.get(path.name)
    return module is not None and path.read_bytes() == shipped_source(module).encode()
