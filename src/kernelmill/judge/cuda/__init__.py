"""Judging on an NVIDIA GPU: device memory that the judge's side reads and writes itself.

A runner allocates exportable memory and hands it over as open files. The reference's process maps
it, fills inputs in, and reads answers out, while the runner that holds the candidate is stopped.
"""
