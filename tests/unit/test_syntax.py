"""Parsing of Python source by several threads at once."""

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from kernelmill.syntax import parse_python

SOURCE = "\n".join(f"def f{i}(a, b):\n    return [a + b * {i}, (a, b)]" for i in range(200))


@pytest.fixture
def _frequent_switches() -> Iterator[None]:
    """Threads switch as often as possible: at every garbage collection, at least."""

    def interrupt(phase: str, info: dict[str, int]) -> None:
        sum(range(50))

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(interrupt)
    yield
    gc.callbacks.remove(interrupt)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_frequent_switches")
def test_threads_do_not_get_in_each_others_way() -> None:
    lengths = []

    def work() -> None:
        for _ in range(40):
            lengths.append(len(parse_python(SOURCE).body))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [200] * 160
