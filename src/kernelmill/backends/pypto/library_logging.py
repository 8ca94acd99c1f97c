"""Log output of the vendor's library, switched on. The zygote imports this before the library."""

import os

os.environ["ASCEND_SLOG_PRINT_TO_STDOUT"] = "1"
