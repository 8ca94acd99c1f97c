"""UTF-8 whatever the locale: sources, guides and answers of models are not ASCII."""

import codecs
import io
import locale
import os
import sys

_AGAIN = "KERNELMILL_UTF8"
"""Set in a process that was started again, so that it is not started a third time."""


def demand_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale has another encoding.

    Files are UTF-8 then, in our processes and in those that they start. Output keeps its own
    encoding, which PYTHONIOENCODING may set too: what it does not have is replaced.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    encoding = locale.getpreferredencoding(False)
    if sys.flags.utf8_mode or codecs.lookup(encoding).name == "utf-8" or _AGAIN in os.environ:
        return
    os.environ.setdefault("PYTHONIOENCODING", f"{encoding}:replace")
    os.environ.update({"PYTHONUTF8": "1", _AGAIN: encoding})
    os.execv(sys.executable, [sys.executable, "-m", "kernelmill", *sys.argv[1:]])
