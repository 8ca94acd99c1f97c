"""Use of proven kernels: packages, regions of models, and models with kernels put in."""
