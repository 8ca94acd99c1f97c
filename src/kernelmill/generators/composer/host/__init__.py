"""The Python around kernels, which all targets share: constructor, guards, sizes."""
