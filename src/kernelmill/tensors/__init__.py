"""How tensors cross a process boundary: a sealed file in memory, and a description of it."""
