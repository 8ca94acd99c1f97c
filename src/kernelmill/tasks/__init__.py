"""Tasks: PyTorch references in KernelBench's format, loaded and described in a sandbox."""

from kernelmill.records.task import Task, Variant
from kernelmill.tasks.loader import Suite, TaskFile, find_suite, load_suite, suite_names

__all__ = ["Suite", "Task", "TaskFile", "Variant", "find_suite", "load_suite", "suite_names"]
