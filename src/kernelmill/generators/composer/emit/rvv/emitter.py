"""The emitter for rvv."""

from kernelmill.generators.composer.emit.rvv.decisions import CATALOGUE
from kernelmill.generators.composer.emit.rvv.program import RvvProgram
from kernelmill.generators.composer.emitters import Emitter

EMITTER = Emitter(RvvProgram, CATALOGUE)
