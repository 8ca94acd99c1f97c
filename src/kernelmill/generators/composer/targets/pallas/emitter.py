"""The emitter for pallas."""

from kernelmill.generators.composer.emitters import Emitter
from kernelmill.generators.composer.targets.pallas.decisions import CATALOGUE
from kernelmill.generators.composer.targets.pallas.program import PallasProgram

EMITTER = Emitter(PallasProgram, CATALOGUE)
