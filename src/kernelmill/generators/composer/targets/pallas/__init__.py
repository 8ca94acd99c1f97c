"""Kernels in Pallas for a TPU: blocks of tensors at a time, not elements."""
