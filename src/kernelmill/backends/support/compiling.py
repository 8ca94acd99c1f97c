"""Programs that run a compiler. Used inside sandboxes only."""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.cpp.source_rules import check_text
from kernelmill.backends.support.machine_code import forbidden_instructions
from kernelmill.backends.support.preprocessing import PreprocessedSource, preprocess
from kernelmill.sandbox.channel import Channel
from kernelmill.tensors.blob import memory_file

_MAX_OUTPUT = 200_000


def compile_sources(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: write, check, preprocess and compile the sources; send back the library and what the
    preprocessor made of the sources."""
    folder = Path(scratch) / "build"
    for name, text in arguments["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    channel.receive()
    if findings := _check_extension(arguments["extension"]):
        channel.send({"status": 0, "output": "", "findings": msgspec.to_builtins(findings)})
        return
    source = PreprocessedSource()
    if command := arguments["preprocess"]:
        own_files = frozenset(arguments["files"])
        status, output, source = preprocess(command, arguments["sources"], own_files, folder)
        if status != 0:
            channel.send({"status": status, "output": output[:_MAX_OUTPUT]})
            return
    done = subprocess.run(
        arguments["compile"], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL
    )
    output = done.stderr[:_MAX_OUTPUT].decode(errors="replace")
    library = folder / arguments["library"]
    if done.returncode != 0 or not library.is_file():
        channel.send({"status": done.returncode or 1, "output": output})
        return
    found = forbidden_instructions(library) if arguments["disassembled"] else []
    body = {"status": 0, "output": output, "instructions": found}
    channel.send(body, (os.open(library, os.O_RDONLY), pack_source(source)))


def pack_source(source: PreprocessedSource) -> int:
    """A memory file with preprocessed source."""
    return memory_file(msgspec.msgpack.encode(source))


def _check_extension(texts: dict[str, str]) -> list[RuleFinding]:
    return [
        finding
        for name, text in texts.items()
        for finding in check_text(text, name, framework_allowed=True)
    ]


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or [])


def record_extension(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: import a candidate that calls `load_inline`, and send back the call's arguments."""
    from torch.utils import cpp_extension

    class Recorded(Exception):
        pass

    call: dict[str, Any] = {}

    def record(name: str, cpp_sources: Any, functions: Any = None, **options: Any) -> None:
        cuda_sources = _listed(options.get("cuda_sources"))
        if cuda_sources and not arguments["with_cuda"]:
            raise ValueError("cuda_sources: the cpp backend builds C++ only")
        sources, names = _listed(cpp_sources), _listed(functions)
        call.update(name=name, sources=sources, cuda_sources=cuda_sources, functions=names)
        raise Recorded

    cpp_extension.load_inline = record  # type: ignore[assignment]
    channel.receive()
    try:
        exec(compile(arguments["source"], "model.py", "exec"), {"__name__": "candidate_model"})
    except Recorded:
        pass
    except BaseException as error:  # the candidate's own code may raise anything
        call["error"] = f"{type(error).__name__}: {error}"
    channel.send(call)
