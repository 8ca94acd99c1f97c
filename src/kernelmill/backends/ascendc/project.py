"""The build steps of an Ascend C operator: the files of its project, the commands on them."""

from pathlib import Path
from typing import NamedTuple

from kernelmill.backends.ascendc.artefact import Artefact
from kernelmill.backends.ascendc.cann import Cann

BINDING = "custom_ops_lib"
"""The module that model_src imports."""
PACKAGE = "opp"
"""The folder that the operator is installed into, relative to the build folder."""
_PROTOTYPE = "prototype.json"
_HELPER = "pytorch_npu_helper.hpp"
_HELPER_TEXT = (Path(__file__).parent / "binding" / _HELPER).read_text()
_BINDING_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", f"-DTORCH_EXTENSION_NAME={BINDING}")
_BINDING_LIBRARIES = (
    "-lc10",
    "-ltorch_cpu",
    "-ltorch",
    "-ltorch_python",
    "-ltorch_npu",
    "-lascendcl",
)


class BuildStep(NamedTuple):
    """One command."""

    name: str
    command: tuple[str, ...]
    folder: str
    """Its working directory, relative to the build folder."""
    files: dict[str, str]
    """Files written before it, by path in the build folder. They replace those of earlier steps."""


def build_steps(artefact: Artefact, cann: Cann) -> tuple[BuildStep, ...]:
    """The steps from the six sections to an installed operator and its binding."""
    name, entry = artefact.operator.op, artefact.operator.entry
    generate = ("msopgen", "gen", "-i", _PROTOTYPE, "-c", f"ai_core-{cann.soc}", "-lan", "cpp")
    sources = {
        f"{name}/op_host/{entry}_tiling.h": artefact.tiling,
        f"{name}/op_host/{entry}.cpp": artefact.host,
        f"{name}/op_kernel/{entry}.cpp": artefact.kernel,
    }
    install = f'./build_out/custom_opp_*.run --quiet --install-path="$PWD/../{PACKAGE}"'
    bind = (
        cann.compiler, *_BINDING_FLAGS, *(f"-I{path}" for path in cann.headers),
        "op.cpp", "-o", f"../{BINDING}.so",
        *(f"-L{path}" for path in cann.libraries), *_BINDING_LIBRARIES,
    )  # fmt: skip
    binding = {"binding/op.cpp": artefact.binding, f"binding/{_HELPER}": _HELPER_TEXT}
    return (
        BuildStep("msopgen", (*generate, "-out", name), ".", {_PROTOTYPE: artefact.prototype}),
        BuildStep("build", ("bash", "build.sh"), name, sources),
        BuildStep("install", ("sh", "-c", install), name, {}),
        BuildStep("binding", bind, "binding", binding),
    )
