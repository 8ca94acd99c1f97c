"""Which of several models writes an attempt: Thompson's lots over what each has brought so far."""

import random
from collections.abc import Sequence

from kernelmill.generators.base import Standing
from kernelmill.generators.model.settings import Model


def choose(models: Sequence[Model], standings: Sequence[Standing], lot: str) -> Model:
    """Rewards from -1 to 1 count as shares of a success; the same lot gives the same choice."""
    known = {standing.model: standing for standing in standings}
    dice = random.Random(lot)

    def drawn(model: Model) -> float:
        standing = known.get(model.name, Standing(model.name, 0, 0.0))
        good = (standing.attempts + standing.reward) / 2
        return dice.betavariate(1 + good, 1 + standing.attempts - good)

    return max(models, key=drawn)
