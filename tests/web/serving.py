"""A dashboard on a port of its own, in a thread."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelmill.serving.running import bind
from kernelmill.web.app import make_app


@contextmanager
def serving(folder: Path, host: str = "127.0.0.1") -> Iterator[str]:
    bound = bind(make_app(folder), host, 0)
    thread = threading.Thread(target=bound.run, daemon=True)
    thread.start()
    while not bound.server.started:
        time.sleep(0.01)
    try:
        yield bound.address.url
    finally:
        bound.server.should_exit = True
        thread.join(10)
