"""Candidates in PyPTO: one kernel for every operator of the reference, with default tiles."""
