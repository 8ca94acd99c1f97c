"""The built-in generator: a small compiler from ATen to C++, under explicit decisions."""

from kernelmill.generators.composer.composer import Composer

__all__ = ["Composer"]
