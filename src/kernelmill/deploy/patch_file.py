"""New files of a folder as one patch in git's format."""

from collections.abc import Iterator
from pathlib import Path


def as_patch(folder: Path, message: str) -> str:
    """A patch that adds every file of a folder; the message stands before it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    parts = [message.rstrip() + "\n\n"]
    for path in files:
        parts += _addition(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8"))
    return "".join(parts)


def _addition(name: str, text: str) -> Iterator[str]:
    yield f"diff --git a/{name} b/{name}\nnew file mode 100644\n"
    lines = text.split("\n")
    ends = lines[-1] == ""
    if ends:
        lines.pop()
    if not lines:
        return
    yield f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{len(lines)} @@\n"
    yield "".join(f"+{line}\n" for line in lines)
    if not ends:
        yield "\\ No newline at end of file\n"
