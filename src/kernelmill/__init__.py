"""Kernelmill: fast, proven compute kernels for hardware a generator has hardly seen."""

__version__ = "0.1.0"
