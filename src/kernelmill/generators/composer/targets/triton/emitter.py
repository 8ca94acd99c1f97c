"""The emitter for triton."""

from kernelmill.generators.composer.emitters import Emitter
from kernelmill.generators.composer.targets.triton.decisions import CATALOGUE
from kernelmill.generators.composer.targets.triton.program import TritonProgram

EMITTER = Emitter(TritonProgram, CATALOGUE)
