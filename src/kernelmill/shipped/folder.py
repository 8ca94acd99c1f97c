"""A kernel with its reference's interface: `ModelNew`, built on first import."""

from pathlib import Path

from .building import load_kernel

ModelNew = load_kernel(Path(__file__).parent).ModelNew
