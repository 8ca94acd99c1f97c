"""Writes Triton: kernels over tiles, and the Python that launches them."""
