"""In-memory cache of the last few builds, for what is not worth a place on the disk."""

import threading
from collections import OrderedDict

_CAPACITY = 64


class RecentBuilds:
    """Key -> content, the oldest dropped first. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def load(self, key: str) -> bytes | None:
        with self._guard:
            return self._kept.get(key)

    def store(self, key: str, content: bytes) -> None:
        with self._guard:
            self._kept[key] = content
            while len(self._kept) > _CAPACITY:
                self._kept.popitem(last=False)
