"""Tasks: PyTorch references in KernelBench's format, loaded in a cell, described and screened."""

from kernelmill.tasks.loader import TaskFile, load_suite, suite_names
from kernelmill.tasks.task import Task, Variant

__all__ = ["Task", "TaskFile", "Variant", "load_suite", "suite_names"]
