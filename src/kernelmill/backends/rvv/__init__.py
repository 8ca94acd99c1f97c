"""The `rvv` backend: C++ for RISC-V vectors, executed and counted by an emulator."""
