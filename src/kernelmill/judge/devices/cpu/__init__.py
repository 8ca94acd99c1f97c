"""The CPU as a device that candidates are judged on."""
