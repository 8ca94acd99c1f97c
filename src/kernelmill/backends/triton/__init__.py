"""The `triton` backend: Triton kernels on NVIDIA GPUs, or in its interpreter."""
