"""Which decisions to take: from the context first, then the usual ones, then at random."""

import random
from collections.abc import Mapping, Sequence

from kernelmill.generators.base import Choice, Decisions, Hint, Proposal
from kernelmill.generators.composer.decisions import CATALOGUE, Catalogue, is_choice

_AS_THEY_ARE = 0.5
"""How often a draft without any context takes the usual choices."""
_TRIES = 20
_BAD = -0.5
"""Below this share of blame a choice is left even if nothing speaks for another."""
_Worth = dict[tuple[str, Choice], float]


def choose(
    proposal: Proposal,
    open_decisions: Sequence[str],
    cold: bool = False,
    catalogue: Catalogue = CATALOGUE,
) -> Decisions:
    """A choice for every open decision; the same again for the same proposal.

    Whoever is `cold` does not know what is usual: without advice every decision is a lot.
    """
    dice = random.Random(proposal.seed)
    choices = {name: one.choices for name, one in catalogue.items() if name in open_decisions}
    start = {name: dice.choice(some) if cold else some[0] for name, some in choices.items()}
    tried = [hint.decisions for hint in proposal.context if hint.decisions]
    at_hand: Decisions = {}
    if proposal.parent is not None:
        tried.append(proposal.parent.decisions)
        if proposal.parent.verdict.passed:
            at_hand = proposal.parent.decisions
            start = _adopt(start, at_hand, catalogue)
    worth = _worth(proposal.context, at_hand, catalogue)
    advised = {
        name: _best(name, choice, choices[name], worth, dice) for name, choice in start.items()
    }
    if advised != start and not _was_tried(advised, tried):
        return advised
    if not cold and (proposal.seed == 0 or (not tried and dice.random() < _AS_THEY_ARE)):
        return start
    if cold and not _was_tried(start, tried):
        return start
    return _explore(advised, choices, tried, worth, dice)


def _adopt(start: Decisions, other: Decisions, catalogue: Catalogue) -> Decisions:
    return start | {
        name: choice
        for name, choice in other.items()
        if name in start and is_choice(name, choice, catalogue)
    }


def _worth(context: Sequence[Hint], at_hand: Decisions, catalogue: Catalogue) -> _Worth:
    """How well each choice went over everything shown.

    Credit and blame are shared by the choices in which a hint differs from what is at hand.
    """
    worth: _Worth = {}
    for hint in context:
        told = [
            (name, choice)
            for name, choice in hint.decisions.items()
            if is_choice(name, choice, catalogue) and at_hand.get(name) != choice
        ]
        for key in told:
            worth[key] = worth.get(key, 0.0) + (hint.outcome or 0.0) / len(told)
    return worth


def _best(
    name: str, start: Choice, choices: Sequence[Choice], worth: _Worth, dice: random.Random
) -> Choice:
    """What went well and better than the start; anything else where the start went badly."""
    known = worth.get((name, start), 0.0)
    highest = max(worth.get((name, choice), 0.0) for choice in choices)
    if highest > max(0.0, known) or known < _BAD:
        return dice.choice([one for one in choices if worth.get((name, one), 0.0) == highest])
    return start


def _was_tried(decisions: Decisions, tried: Sequence[Decisions]) -> bool:
    return any(
        all(before.get(name) == choice for name, choice in decisions.items()) for before in tried
    )


def _explore(
    start: Decisions,
    choices: Mapping[str, Sequence[Choice]],
    tried: Sequence[Decisions],
    worth: _Worth,
    dice: random.Random,
) -> Decisions:
    """Change one or two decisions into something that was not tried yet, nor went badly."""
    changed = dict(start)
    for _ in range(_TRIES):
        changed = dict(start)
        count = min(len(start), dice.choice((1, 1, 2)))
        for name in dice.sample(sorted(start), k=count):
            others = [choice for choice in choices[name] if choice != start[name]]
            hopeful = [choice for choice in others if worth.get((name, choice), 0.0) >= 0]
            changed[name] = dice.choice(hopeful or others)
        if not _was_tried(changed, tried):
            break
    return changed
