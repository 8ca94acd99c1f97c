"""UTF-8 whatever the locale: sources, guides and answers of models are not ASCII."""

import codecs
import locale
import os
import sys

_AGAIN = "KERNELMILL_UTF8"
"""Set in a process that was started again, so that it is not started a third time."""


def demand_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale has another encoding.

    Files are UTF-8 then, in our processes and in those that they start. The terminal keeps its own
    encoding: what it cannot show is replaced.
    """
    encoding = locale.getpreferredencoding(False)
    if sys.flags.utf8_mode or codecs.lookup(encoding).name == "utf-8" or _AGAIN in os.environ:
        return
    os.environ.update(
        {"PYTHONUTF8": "1", "PYTHONIOENCODING": f"{encoding}:replace", _AGAIN: encoding}
    )
    os.execv(sys.executable, [sys.executable, "-m", "kernelmill", *sys.argv[1:]])
