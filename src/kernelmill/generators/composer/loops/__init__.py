"""Loops as data, and kernels of values in them: what C++ and RISC-V share."""
