"""The compiler at work. Runs inside cells only."""

import os
import subprocess
from pathlib import Path
from typing import Any

from kernelmill.sandbox.channel import Channel

_MOST_OUTPUT = 200_000


def compile_sources(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: write the sources, run the commands in order, hand back the library."""
    folder = Path(scratch) / "build"
    for name, text in arguments["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    channel.receive()
    done = subprocess.run(
        arguments["command"], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL
    )
    output = done.stderr[:_MOST_OUTPUT].decode(errors="replace")
    body = {"status": done.returncode, "output": output}
    library = folder / arguments["output"]
    if done.returncode == 0 and library.is_file():
        file = os.open(library, os.O_RDONLY)
        channel.send(body, (file,))
    else:
        channel.send(body)


def record_extension(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: import a `load_inline` candidate and note what it asks to be built."""
    from torch.utils import cpp_extension

    class Asked(Exception):
        pass

    asked: dict[str, Any] = {}

    def record(name: str, cpp_sources: Any, functions: Any = None, **options: Any) -> None:
        if options.get("cuda_sources"):
            raise ValueError("cuda_sources: the cpp backend builds C++ only")
        sources = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
        names = [functions] if isinstance(functions, str) else list(functions or [])
        asked.update(name=name, sources=sources, functions=names)
        raise Asked

    cpp_extension.load_inline = record  # type: ignore[assignment]
    channel.receive()
    try:
        exec(compile(arguments["source"], "model.py", "exec"), {"__name__": "candidate_model"})
    except Asked:
        pass
    except BaseException as error:  # the candidate's own code may raise anything
        asked["error"] = f"{type(error).__name__}: {error}"
    channel.send(asked)
