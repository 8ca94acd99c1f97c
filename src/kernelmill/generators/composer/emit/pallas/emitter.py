"""The emitter for pallas."""

from kernelmill.generators.composer.emit.pallas.decisions import CATALOGUE
from kernelmill.generators.composer.emit.pallas.program import PallasProgram
from kernelmill.generators.composer.emitters import Emitter

EMITTER = Emitter(PallasProgram, CATALOGUE)
