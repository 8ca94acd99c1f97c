"""The `cpp` backend: C++20 with SIMD and OpenMP behind a C ABI, on the CPU."""
