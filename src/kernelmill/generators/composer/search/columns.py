"""Columns of the models' design matrices."""

from kernelmill.records.decisions import Choice

Column = tuple[str, Choice]
"""A decision and one of its choices."""
