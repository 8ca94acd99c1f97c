"""How values are learned: rewards, their running statistics, and the Monte-Carlo step.

Pure functions of numbers. With rewards in [-b, b] and first values in there, values never leave it:
every step is a convex combination.
"""

import math

import msgspec

SIGMA_FLOOR = 0.05
REWARD_BOUND = 3.0


class Value(msgspec.Struct, frozen=True):
    """What an item is worth in one role, and on how many visits that rests."""

    value: float
    visits: int = 0

    def moved(self, reward: float, step: float) -> "Value":
        return Value(self.value + step * (reward - self.value), self.visits + 1)


class RewardStatistics(msgspec.Struct, frozen=True):
    """Cumulative mean and deviation (Welford): every reward counts alike, in any order."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def deviation(self) -> float:
        """1 until there are two rewards to differ."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 1.0

    def with_reward(self, reward: float) -> "RewardStatistics":
        count = self.count + 1
        difference = reward - self.mean
        mean = self.mean + difference / count
        return RewardStatistics(count, mean, self.squares + difference * (reward - mean))

    def joined(self, other: "RewardStatistics") -> "RewardStatistics":
        """As if the rewards of both had been seen by one."""
        count = self.count + other.count
        if not count:
            return self
        difference = other.mean - self.mean
        mean = self.mean + difference * other.count / count
        between = difference * difference * self.count * other.count / count
        return RewardStatistics(count, mean, self.squares + other.squares + between)

    def normalised(self, reward: float) -> float:
        """Against the rewards before it, with a floor on the deviation and a clip."""
        scaled = (reward - self.mean) / max(self.deviation, SIGMA_FLOOR)
        return max(-REWARD_BOUND, min(REWARD_BOUND, scaled))


def draft_reward(passed: bool) -> float:
    return 1.0 if passed else -1.0


def refine_reward(ratio: float | None, best_before: float) -> float:
    """tanh(ln b - ln l) for the best latency before and the new one; -1 for what was refused.

    Latencies enter as ratios to eager measured in the same contest: a machine that was slower for
    a while does not look like a worse kernel.
    """
    return -1.0 if not ratio else math.tanh(math.log(ratio) - math.log(best_before))


def constant_step(_visits: int, alpha: float) -> float:
    return alpha


def decreasing_step(visits: int, alpha: float) -> float:
    """Robbins-Monro: the steps sum to infinity, their squares do not; alpha only caps the first."""
    return min(alpha, 1.0 / (visits + 1))


def shrunk(own: Value, overall: Value, prior_visits: float) -> float:
    """A family's own value, drawn towards the item's overall one while visits are few."""
    weight = own.visits / (own.visits + prior_visits)
    return weight * own.value + (1 - weight) * overall.value


def optimism(visits: int, bonus: float) -> float:
    """What the untried is given in advance; it shrinks with every visit."""
    return bonus / math.sqrt(1 + visits)
