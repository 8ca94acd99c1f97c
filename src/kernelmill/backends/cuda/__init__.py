"""The `cuda` backend: CUDA C++ behind a C ABI, on NVIDIA GPUs."""
