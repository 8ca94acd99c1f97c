"""The archive of a task: islands, behaviour cells, elites, and what came of every attempt."""

from kernelmill.archive.archive import Archive
from kernelmill.archive.behaviour import Cell, behaviour_cell
from kernelmill.archive.elites import Elite, Offspring, Outcome
from kernelmill.archive.fitness import Fitness

__all__ = ["Archive", "Cell", "Elite", "Fitness", "Offspring", "Outcome", "behaviour_cell"]
