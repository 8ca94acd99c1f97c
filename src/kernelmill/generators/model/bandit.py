"""Thompson sampling of the model that writes an attempt, from the rewards of each so far."""

import random
from collections.abc import Sequence

from kernelmill.records.model_settings import Model
from kernelmill.records.proposal import ModelScore


def choose_model(models: Sequence[Model], model_scores: Sequence[ModelScore], seed: str) -> Model:
    """The model with the highest sample from its Beta posterior; the same for the same seed.

    A reward from -1 to 1 counts as a fraction of a success, from 0 to 1.
    """
    known = {score.model: score for score in model_scores}
    rng = random.Random(seed)

    def sample(model: Model) -> float:
        score = known.get(model.name, ModelScore(model.name, 0, 0.0))
        successes = (score.attempts + score.reward) / 2
        return rng.betavariate(1 + successes, 1 + score.attempts - successes)

    return max(models, key=sample)
