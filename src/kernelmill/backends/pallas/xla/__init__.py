"""The baseline of the pallas backend: the reference, compiled by XLA."""
