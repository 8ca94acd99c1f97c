"""The emitter for C++."""

from kernelmill.generators.composer.emitters import Emitter
from kernelmill.generators.composer.targets.cpp.decisions import CATALOGUE
from kernelmill.generators.composer.targets.cpp.program import CppProgram

EMITTER = Emitter(CppProgram, CATALOGUE)
