"""C++ with SIMD and OpenMP for CPUs."""
