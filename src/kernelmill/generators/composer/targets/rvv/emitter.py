"""The emitter for rvv."""

from kernelmill.generators.composer.emitters import Emitter
from kernelmill.generators.composer.targets.rvv.decisions import CATALOGUE
from kernelmill.generators.composer.targets.rvv.program import RvvProgram

EMITTER = Emitter(RvvProgram, CATALOGUE)
