"""NVIDIA GPUs as a device that candidates are judged on.

A runner allocates exportable device memory and hands it over as open files. The examiner, a
process on the judge's side, maps it, writes inputs and reads outputs while the runner that holds
the candidate is stopped.
"""
