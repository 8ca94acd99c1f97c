"""The emitter for triton."""

from kernelmill.generators.composer.emit.triton.decisions import CATALOGUE
from kernelmill.generators.composer.emit.triton.program import TritonProgram
from kernelmill.generators.composer.emitters import Emitter

EMITTER = Emitter(TritonProgram, CATALOGUE)
