"""Static rules on sources and objects: nothing may run outside the counted call."""

import io
import re

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.cpp.source_rules import TokenRule, check_preprocessed, check_text
from kernelmill.backends.support.preprocessing import PreprocessedSource

KERNEL_FILE = "kernel.cpp"
"""The file that every candidate has."""
_ENTRY_POINT = "model_new"
_SOURCE_RULES = (
    TokenRule("clock",
              r"\b__builtin_read(?:cycle|steady)counter\b|\b\w*rd(?:cycle|time|instret)h?\b",
              "a kernel needs no clock"),
    TokenRule("constructor",
              r"\b(?:constructor|destructor|ifunc|init_priority)\b",
              "do all work inside model_new"),
    TokenRule("section", r"\bsection\s*\(", "leave the placement of code to the linker"),
)  # fmt: skip
_SECTIONS = re.compile(
    r"^(?:|\.(?:rela\.)?(?:text|rodata|srodata|data|sdata|bss|sbss|tdata|tbss|eh_frame|group)(?:\..*)?"
    r"|\.(?:comment|note\..*|riscv\.attributes|symtab|strtab|shstrtab|llvm_addrsig))$"
)
_INDIRECT_FUNCTION = "STT_LOOS"
"""Name of pyelftools for an indirect function, which runs before main."""


def check_sources(files: dict[str, str]) -> list[RuleFinding]:
    findings = [
        finding
        for file, text in files.items()
        for finding in check_text(text, file, rules=_SOURCE_RULES)
    ]
    if not any(re.search(rf"\b{_ENTRY_POINT}\s*\(", text) for text in files.values()):
        findings.append(
            RuleFinding(
                "no-kernel", KERNEL_FILE, f"does not define {_ENTRY_POINT}",
                'define it as "kernelmill.h" declares it',
            )
        )  # fmt: skip
    return findings


def check_preprocessed_source(source: PreprocessedSource) -> list[RuleFinding]:
    return check_preprocessed(source, rules=_SOURCE_RULES)


def check_object(content: bytes) -> list[RuleFinding]:
    """Findings in an object: functions and data are fine, but nothing may run before the call."""
    try:
        elf = ELFFile(io.BytesIO(content))
        return [*_check_sections(elf), *_check_symbols(elf)]
    except (ELFError, ArithmeticError, LookupError, ValueError) as error:
        return [
            RuleFinding("not-an-object", "kernel.o", f"cannot be read: {error}", "plain C++ only")
        ]


def _check_sections(elf: ELFFile) -> list[RuleFinding]:
    return [
        RuleFinding(
            "section", "kernel.o", f"has a section {section.name}",
            "no static constructors, and no sections of its own: do all work inside model_new",
        )
        for section in elf.iter_sections()
        if section["sh_size"] and not _SECTIONS.match(section.name)
    ]  # fmt: skip


def _check_symbols(elf: ELFFile) -> list[RuleFinding]:
    """A global C symbol could replace a function that the program around the kernel calls."""
    table = elf.get_section_by_name(".symtab")
    if not isinstance(table, SymbolTableSection):
        raise ELFError("it has no .symtab")
    defined = [
        symbol
        for symbol in table.iter_symbols()
        if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"
    ]
    findings = [
        RuleFinding(
            "symbol", "kernel.o", f"defines {symbol.name}",
            f"make everything but {_ENTRY_POINT} static, or put it in a namespace",
        )
        for symbol in defined
        if symbol.name != _ENTRY_POINT and not symbol.name.startswith("_Z")
    ]  # fmt: skip
    if any(s["st_info"]["type"] == _INDIRECT_FUNCTION for s in table.iter_symbols()):
        findings.append(
            RuleFinding(
                "constructor", "kernel.o", "has an indirect function", "call functions by name"
            )
        )
    return findings
