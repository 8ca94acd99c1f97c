"""Thompson sampling of the model that writes an attempt, from the rewards of each and its price."""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.records.model_settings import PRICE_WEIGHT, Model
from kernelmill.records.proposal import ModelScore

_RANGE = math.log(1000.0)
"""A model that costs a thousand times as much as the cheapest has no cheapness left."""
_LEAST_USD = 1e-6
"""An attempt that costs less counts as free."""


class _Tokens(NamedTuple):
    """Tokens of an attempt."""

    sent: float
    answered: float


_TYPICAL = _Tokens(8000.0, 4000.0)
"""Of a model that was never asked, where none was."""


def choose_model(
    models: Sequence[Model],
    model_scores: Sequence[ModelScore],
    seed: str,
    price_weight: float = PRICE_WEIGHT,
) -> Model:
    """The model with the highest sample from its Beta posterior, in view of its price.

    A reward from -1 to 1 counts as a fraction of a success, from 0 to 1. `price_weight` is the
    share of the cheapness in what is compared. Where the price of a model is unknown, only rewards
    count. The same seed gives the same model.
    """
    known = {score.model: score for score in model_scores}
    rng = random.Random(seed)
    cheap = _cheapness(models, known)
    weight = 0.0 if cheap is None else price_weight

    def sample(index: int) -> float:
        score = known.get(models[index].name, ModelScore(models[index].name, 0, 0.0))
        successes = (score.attempts + score.reward) / 2
        drawn = rng.betavariate(1 + successes, 1 + score.attempts - successes)
        return (1.0 - weight) * drawn + (weight * cheap[index] if cheap is not None else 0.0)

    return models[max(range(len(models)), key=sample)]


def _cheapness(models: Sequence[Model], known: dict[str, ModelScore]) -> list[float] | None:
    """From 0 to 1 for the cheapest, by the logarithm of what an attempt costs.

    None where a price is unknown.
    """
    costs = []
    for model in models:
        if model.price is None:
            return None
        tokens = _tokens_of(known.get(model.name)) or _tokens_of(*known.values()) or _TYPICAL
        usd = (tokens.sent * model.price.input_usd + tokens.answered * model.price.output_usd) / 1e6
        costs.append(max(_LEAST_USD, usd))
    return [max(0.0, 1.0 - math.log(cost / min(costs)) / _RANGE) for cost in costs]


def _tokens_of(*scores: ModelScore | None) -> _Tokens | None:
    """Mean tokens of an attempt; None where they are unknown."""
    found = [one for one in scores if one is not None and one.counted]
    count = sum(one.counted for one in found)
    if not count:
        return None
    return _Tokens(
        sum(one.tokens_in for one in found) / count, sum(one.tokens_out for one in found) / count
    )
