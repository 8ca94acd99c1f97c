"""Static rules on an artefact: the kernel computes, and the other sections only launch it."""

import ast
import re
from collections.abc import Iterator

from kernelmill.backends.ascendc.artefact import Artefact
from kernelmill.backends.ascendc.project import BINDING
from kernelmill.backends.base import RuleFinding
from kernelmill.backends.cpp.source_rules import check_text, without_comments
from kernelmill.backends.support.python_rules import EmbeddedLanguage, PythonRules
from kernelmill.syntax import parse_python

_LAUNCH = re.compile(r"\bEXEC_NPU_CMD\s*\(\s*(\w+)")
_VENDOR_CALL = re.compile(r"\baclnn\w+|\b(?:at_npu|op_api|acl_op)\s*::\s*\w+")
_METHOD = re.compile(r"(?:\.|->)\s*(\w+)\s*\(")
_BINDING_METHODS = frozenset(
    """begin contiguous data data_ptr def defined device dim emplace_back empty end impl
    is_contiguous itemsize new_empty ndimension numel options push_back reserve scalar_type size
    sizes stride strides value has_value dtype view reshape""".split()
)
_KERNEL_ENTRY = r'extern\s+"C"\s+__global__\s+__aicore__\s+void\s+{entry}\s*\('
_GLOBAL_WRITE = re.compile(
    r"\bDataCopy(?:Pad|CustomPad)?\s*\(|\bSetValue\s*\(|\bIterateAll\s*\(|\bGetTensorC\s*\(|\bFixpipe\s*\("
)
_BINDING_HINT = "allocate with at::empty and call EXEC_NPU_CMD; compute in kernel_src"


def check_artefact(artefact: Artefact) -> list[RuleFinding]:
    return [
        *_check_kernel(artefact),
        *_check_host(artefact),
        *_check_binding(artefact),
        *_check_model(artefact),
    ]


def _check_kernel(artefact: Artefact) -> Iterator[RuleFinding]:
    section, code = "kernel_src", without_comments(artefact.kernel)
    yield from check_text(artefact.kernel, section)
    entry = artefact.operator.entry
    # `code` has no string literals, and the pattern needs the "C" of one.
    if not re.search(_KERNEL_ENTRY.format(entry=entry), artefact.kernel):
        yield RuleFinding(
            "kernel-entry", section, f"there is no kernel named {entry}",
            f'define extern "C" __global__ __aicore__ void {entry}(GM_ADDR ..., GM_ADDR workspace, '
            "GM_ADDR tiling): the name follows from op in project_json_src",
        )  # fmt: skip
    elif not _GLOBAL_WRITE.search(code):
        yield RuleFinding(
            "dummy-kernel", section, "the kernel writes nothing to global memory",
            "do the work of the reference in it and copy the results out",
        )  # fmt: skip


def _check_host(artefact: Artefact) -> Iterator[RuleFinding]:
    yield from check_text(artefact.tiling, "host_tiling_src")
    yield from check_text(artefact.host, "host_operator_src")
    name = artefact.operator.op
    if not re.search(rf"\bOP_ADD\s*\(\s*{name}\s*\)", artefact.host):
        yield RuleFinding(
            "registration", "host_operator_src", f"{name} is not registered",
            f"define class {name} : public OpDef and add OP_ADD({name});",
        )  # fmt: skip
    if not re.search(rf"\bREGISTER_TILING_DATA_CLASS\s*\(\s*{name}\s*,", artefact.tiling):
        yield RuleFinding(
            "registration", "host_tiling_src", f"the tiling data of {name} is not registered",
            f"add REGISTER_TILING_DATA_CLASS({name}, {name}TilingData)",
        )  # fmt: skip


def _check_binding(artefact: Artefact) -> Iterator[RuleFinding]:
    section, code = "python_bind_src", without_comments(artefact.binding)
    own = f"aclnn{artefact.operator.op}"
    yield from check_text(artefact.binding, section, framework_allowed=True)
    if own not in _LAUNCH.findall(code):
        yield RuleFinding(
            "no-launch", section, "the operator is never launched",
            f"call EXEC_NPU_CMD({own}, inputs..., outputs...)",
        )  # fmt: skip
    for match in _VENDOR_CALL.finditer(code):
        if match.group() != own:
            what = f"calls {match.group()}, which is not this operator"
            yield RuleFinding(
                "vendor-operator", _location(section, code, match), what, _BINDING_HINT
            )
    for match in _METHOD.finditer(code):
        if match[1] not in _BINDING_METHODS:
            what = f"computes with .{match[1]}()"
            yield RuleFinding(
                "framework-compute", _location(section, code, match), what, _BINDING_HINT
            )


def _check_model(artefact: Artefact) -> Iterator[RuleFinding]:
    section = "model_src"
    bound = frozenset(re.findall(r"\bm\s*\.\s*def\s*\(\s*\"(\w+)\"", artefact.binding))
    language = EmbeddedLanguage(
        {"torch_npu": frozenset(), BINDING: bound}, frozenset(), frozenset()
    )
    findings = PythonRules(language=language).check(artefact.model, section)
    yield from findings
    if not findings and not _calls_binding(artefact.model):
        yield RuleFinding(
            "no-kernel", section, f"forward never calls {BINDING}",
            f"call a function that python_bind_src binds: {', '.join(sorted(bound)) or 'none yet'}",
        )  # fmt: skip


def _calls_binding(model: str) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == BINDING
        for function in ast.walk(parse_python(model))
        if isinstance(function, ast.FunctionDef) and function.name != "__init__"
        for node in ast.walk(function)
    )


def _location(section: str, code: str, match: re.Match[str]) -> str:
    return f"{section}:{code.count(chr(10), 0, match.start()) + 1}"
