"""Server-sent events: a number that changes whenever the workspace does."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from starlette.requests import Request
from starlette.responses import StreamingResponse

from kernelmill.serving.running import STOPPING
from kernelmill.workspace.database import FILE

_SECONDS = 1.0
_SILENT_SECONDS = 15


def stamp(folder: Path) -> str:
    """Identifies the state of the database: every commit changes its file or its log.

    An empty log says nothing: whoever reads alone creates one, and removes it.
    """
    parts = []
    for name in (FILE, f"{FILE}-wal"):
        try:
            state = (folder / name).stat()
            is_empty = state.st_size == 0
            parts.append("0" if is_empty else f"{state.st_mtime_ns:x}.{state.st_size:x}")
        except OSError:
            parts.append("0")
    return "-".join(parts)


def event_stream(request: Request, folder: Path) -> StreamingResponse:
    """An event for every change; a client that comes back is told what it missed."""

    async def events() -> AsyncIterator[str]:
        known = request.headers.get("last-event-id", "")
        is_stopping = getattr(request.app.state, STOPPING, bool)
        silent = 0.0
        yield "retry: 2000\n\n"
        while not (is_stopping() or await request.is_disconnected()):
            current = stamp(folder)
            if current != known:
                known, silent = current, 0.0
                yield f"id: {current}\ndata: changed\n\n"
            elif silent >= _SILENT_SECONDS:
                silent = 0.0
                yield ": still here\n\n"
            await anyio.sleep(_SECONDS)
            silent += _SECONDS

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)
