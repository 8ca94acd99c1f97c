"""C++ for RISC-V vectors."""
