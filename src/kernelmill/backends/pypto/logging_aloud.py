"""Makes the vendor's library say what is wrong. The warm process imports it before the library."""

import os

os.environ["ASCEND_SLOG_PRINT_TO_STDOUT"] = "1"
