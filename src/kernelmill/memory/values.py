"""Value learning: rewards, their running statistics, and the Monte-Carlo update.

Pure functions of numbers. If rewards and initial values lie in [-b, b], so do all values: every
update is a convex combination.
"""

import math

import msgspec

SIGMA_FLOOR = 0.05
"""Smallest standard deviation that rewards are normalised by."""
REWARD_BOUND = 3.0
"""Normalised rewards are clipped to this absolute value."""


class ValueEstimate(msgspec.Struct, frozen=True):
    """Estimated value of an item in one role, and the number of visits it rests on."""

    value: float
    visits: int = 0

    def updated(self, reward: float, step: float) -> "ValueEstimate":
        return ValueEstimate(self.value + step * (reward - self.value), self.visits + 1)


class RewardStatistics(msgspec.Struct, frozen=True):
    """Cumulative mean and standard deviation (Welford), independent of the order of rewards."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared differences from the mean."""

    @property
    def deviation(self) -> float:
        """Standard deviation; 1 while there are fewer than two rewards."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 1.0

    def with_reward(self, reward: float) -> "RewardStatistics":
        count = self.count + 1
        difference = reward - self.mean
        mean = self.mean + difference / count
        return RewardStatistics(count, mean, self.squares + difference * (reward - mean))

    def merged(self, other: "RewardStatistics") -> "RewardStatistics":
        """Statistics of the rewards of both."""
        count = self.count + other.count
        if not count:
            return self
        difference = other.mean - self.mean
        mean = self.mean + difference * other.count / count
        between = difference * difference * self.count * other.count / count
        return RewardStatistics(count, mean, self.squares + other.squares + between)

    def normalised(self, reward: float) -> float:
        """The z-score of a reward against all earlier ones, clipped to REWARD_BOUND."""
        scaled = (reward - self.mean) / max(self.deviation, SIGMA_FLOOR)
        return max(-REWARD_BOUND, min(REWARD_BOUND, scaled))


def draft_reward(passed: bool) -> float:
    return 1.0 if passed else -1.0


def refine_reward(ratio: float | None, best_before: float) -> float:
    """tanh(ln b - ln l) for the best latency b before and the new latency l; -1 for a refusal.

    Latencies enter as ratios to a baseline timed alongside: a machine that is slow for a while does
    not make a kernel look worse.
    """
    return -1.0 if not ratio else math.tanh(math.log(ratio) - math.log(best_before))


def attempt_reward(ratio: float | None, best_before: float | None) -> float:
    """The reward of an attempt before normalisation: a draft's until an attempt has passed."""
    if best_before is None:
        return draft_reward(ratio is not None)
    return refine_reward(ratio, best_before)


def constant_step(_visits: int, alpha: float) -> float:
    return alpha


def decreasing_step(visits: int, alpha: float) -> float:
    """Robbins-Monro steps: their sum diverges, that of their squares converges. Alpha is a cap."""
    return min(alpha, 1.0 / (visits + 1))


def shrunk_value(own: ValueEstimate, overall: ValueEstimate, prior_visits: float) -> float:
    """A family's value, shrunk towards the overall value while the family has few visits."""
    weight = own.visits / (own.visits + prior_visits)
    return weight * own.value + (1 - weight) * overall.value


def exploration_bonus(visits: int, bonus: float) -> float:
    """Added to the value of an item: `bonus` for one never shown, less with every visit."""
    return bonus / math.sqrt(1 + visits)
