"""XLA's own way to compute a reference: what candidates are compared with."""
