"""The emitter for pypto."""

from kernelmill.generators.composer.emit.pypto.decisions import CATALOGUE
from kernelmill.generators.composer.emit.pypto.program import PyptoProgram
from kernelmill.generators.composer.emitters import Emitter

EMITTER = Emitter(PyptoProgram, CATALOGUE)
