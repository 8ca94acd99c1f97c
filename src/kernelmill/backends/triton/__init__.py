"""NVIDIA GPUs through Triton."""
