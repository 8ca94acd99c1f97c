"""Targets: one folder for each, which knows nothing of the others.

A target writes what the composer has lowered, behind the entry point `kernelmill.emitters`.
"""
