"""The emitter for C++."""

from kernelmill.generators.composer.decisions import CATALOGUE
from kernelmill.generators.composer.emit.program import Program
from kernelmill.generators.composer.emitters import Emitter

EMITTER = Emitter(Program, CATALOGUE)
