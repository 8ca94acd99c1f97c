"""Rules on the machine code of a library: instructions that no kernel needs.

Libraries are read inside sandboxes only. All executable sections are read, whatever they are
called: a section's name is the candidate's to choose.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
_PREFIXES = r"(?:(?:bnd|notrack|addr32|data16|rex\S*|[c-gs]s|repn?z?) )*"
_INDIRECT = re.compile(
    rf"{_PREFIXES}(?P<kind>l?call|l?jmp)\w? \*(?P<target>.*)|blr .*|br (?!x17$).*"
)
_SYSTEM = re.compile(
    rf"{_PREFIXES}(?:syscall|sysenter|sysexitl?|sysret\w?|int\b.*|iret\w?|lret\w?.*|svc .*)"
)
_CLOCK = re.compile(rf"{_PREFIXES}(?:rdtscp?|rdpmc|xbegin.*|mrs .*cnt\w+_el0)")
_CALLERS_STATE = re.compile(
    rf"""(?x){_PREFIXES.replace(" ", "[ ]")}(?:
        (?:v?ldmxcsr|fldcw|fldenv|frstor|fxrstor(?:64)?|xrstors?(?:64)?|fn?init|wr[fg]sbase|wrpkru
          |std|stac|clac|popf\w?|l[defgs]s\w?|msr)(?:[ ].*)?
        | mov\w?[ ].*,%[c-gs]s )"""
)
_SURROUNDINGS = re.compile(
    rf"{_PREFIXES}(?:rdrand|rdseed|rdpid|rdpru|cpuid|xgetbv|rd[fg]sbase|s[gil]dt|smsw)(?: .*)?"
)
_THREAD_MEMORY = re.compile(r".*%(?:fs:(?!0x28\b)|gs:).*")
"""Memory of the thread, without the word by which a function protects its stack."""
_THROUGH_MEMORY = re.compile(r"-?0x[0-9a-f]+\(%rip\) +# (?P<address>[0-9a-f]+)\b.*")
_START_UP = frozenset({"_init", "register_tm_clones", "deregister_tm_clones"})
_START_UP_CALL = re.compile(
    r"mov \S+\(%rip\),%rax +# [0-9a-f]+ <(?:_ITM_\w+|__gmon_start__)[^>]*>\n"
    r"test %rax,%rax\nje .*\n(?:call|jmp) \*%rax"
)
_RELOCATED = re.compile(
    r"^ +RELRO off +\S+ vaddr 0x(?P<start>[0-9a-f]+) .*\n +filesz \S+ memsz 0x(?P<size>[0-9a-f]+)",
    re.MULTILINE,
)
INSTRUCTION_RULES = tuple(
    rule.pattern
    for rule in (_SYSTEM, _CLOCK, _CALLERS_STATE, _SURROUNDINGS, _THREAD_MEMORY, _INDIRECT)
)
"""The patterns in text: what a build was held to."""
_MOST_FINDINGS = 64
_MOST_LENGTH = 160


class _Instruction(NamedTuple):
    function: str
    text: str
    before: tuple[str, ...]
    """The three instructions in front of it."""


def forbidden_instructions(library: Path) -> list[str]:
    """A sentence for each instruction that no kernel needs, with the function that holds it."""
    relocated = _relocated(_objdump("-p", library))
    found: dict[str, None] = {}
    for instruction in _instructions(_objdump("-d", library)):
        if what := _construct(instruction, relocated):
            found[f"{what} in {instruction.function[:_MOST_LENGTH]}: {instruction.text}"] = None
    return list(found)[:_MOST_FINDINGS]


def _objdump(what: str, library: Path) -> str:
    command = ["objdump", what, "-C", "--no-show-raw-insn", str(library)]
    return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout


def _relocated(headers: str) -> range:
    """Addresses that the loader fills in and then makes read-only."""
    match = _RELOCATED.search(headers)
    if match is None:
        return range(0)
    start = int(match["start"], 16)
    return range(start, start + int(match["size"], 16))


def _instructions(listing: str) -> Iterator[_Instruction]:
    function, before = "an unnamed function", ("", "", "")
    for line in listing.splitlines():
        if header := _FUNCTION.match(line):
            function, before = header[1], ("", "", "")
        elif "\t" in line:
            text = " ".join(line.split("\t", 1)[1].split())
            yield _Instruction(function, text, before)
            before = (*before[1:], text)


def _construct(instruction: _Instruction, relocated: range) -> str:
    """What makes an instruction forbidden, in the words of a source; empty where nothing does."""
    text = instruction.text
    if _SYSTEM.fullmatch(text):
        return "a system call"
    if _CLOCK.fullmatch(text):
        return "a clock or a transaction"
    if _CALLERS_STATE.fullmatch(text):
        return "a change of the floating-point environment or of other state of the caller"
    if _SURROUNDINGS.fullmatch(text):
        return "a question about the machine or a random number of it"
    if _THREAD_MEMORY.fullmatch(text):
        return "an access to the thread's own memory"
    match = _INDIRECT.fullmatch(text)
    if match is None:
        return ""
    memory = _THROUGH_MEMORY.fullmatch(match["target"] or "")
    if memory and int(memory["address"], 16) in relocated:
        return ""  # a call by name: the loader wrote the address, and nobody can write it again
    sequence = "\n".join((*instruction.before, text))
    if instruction.function in _START_UP and _START_UP_CALL.fullmatch(sequence):
        return ""
    if match["kind"] in ("jmp", "ljmp"):
        return "an indirect jump (tail call of a function pointer, computed goto or jump table)"
    return "an indirect call (function pointer, virtual call or std::function)"
