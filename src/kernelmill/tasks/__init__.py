"""Tasks: PyTorch references in KernelBench's format, loaded and described in a sandbox."""

from kernelmill.records.task import Task, Variant
from kernelmill.tasks.loader import TaskFile, load_suite, suite_names

__all__ = ["Task", "TaskFile", "Variant", "load_suite", "suite_names"]
