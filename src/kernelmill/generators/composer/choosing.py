"""Which decisions to take: from the context first, then the usual ones, then at random."""

import random
from collections.abc import Sequence

from kernelmill.generators.base import Hint, Proposal
from kernelmill.generators.composer.decisions import CATALOGUE, is_choice, usual
from kernelmill.generators.decisions import Choice, Decisions, was_tried

_AS_THEY_ARE = 0.5
"""How often a draft without any context takes the usual choices."""
_TRIES = 20
_BAD = -0.5
"""Below this share of blame a choice is left even if nothing speaks for another."""
_Worth = dict[tuple[str, Choice], float]


def choose(proposal: Proposal, open_decisions: Sequence[str], cold: bool = False) -> Decisions:
    """A choice for every open decision; the same again for the same proposal.

    Whoever is `cold` does not know what is usual: without advice every decision is a lot.
    """
    dice = random.Random(proposal.seed)
    start = _drawn(open_decisions, dice) if cold else _usual(open_decisions)
    tried = [hint.decisions for hint in proposal.context if hint.decisions]
    at_hand: Decisions = {}
    if proposal.parent is not None:
        tried.append(proposal.parent.decisions)
        if proposal.parent.verdict.passed:
            at_hand = proposal.parent.decisions
            start = _adopt(start, at_hand)
    worth = _worth(proposal.context, at_hand)
    advised = {name: _best(name, choice, worth, dice) for name, choice in start.items()}
    if advised != start and not was_tried(advised, tried):
        return advised
    if not cold and (proposal.seed == 0 or (not tried and dice.random() < _AS_THEY_ARE)):
        return start
    if cold and not was_tried(start, tried):
        return start
    return _explore(advised, tried, worth, dice)


def _usual(names: Sequence[str]) -> Decisions:
    return {name: choice for name, choice in usual().items() if name in names}


def _drawn(names: Sequence[str], dice: random.Random) -> Decisions:
    return {name: dice.choice(CATALOGUE[name].choices) for name in CATALOGUE if name in names}


def _adopt(start: Decisions, other: Decisions) -> Decisions:
    return start | {
        name: choice for name, choice in other.items() if name in start and is_choice(name, choice)
    }


def _worth(context: Sequence[Hint], at_hand: Decisions) -> _Worth:
    """How well each choice went over everything shown.

    Credit and blame are shared by the choices in which a hint differs from what is at hand.
    """
    worth: _Worth = {}
    for hint in context:
        told = [
            (name, choice)
            for name, choice in hint.decisions.items()
            if is_choice(name, choice) and at_hand.get(name) != choice
        ]
        for key in told:
            worth[key] = worth.get(key, 0.0) + (hint.outcome or 0.0) / len(told)
    return worth


def _best(name: str, start: Choice, worth: _Worth, dice: random.Random) -> Choice:
    """What went well and better than the start; anything else where the start went badly."""
    choices = CATALOGUE[name].choices
    known = worth.get((name, start), 0.0)
    highest = max(worth.get((name, choice), 0.0) for choice in choices)
    if highest > max(0.0, known) or known < _BAD:
        return dice.choice([one for one in choices if worth.get((name, one), 0.0) == highest])
    return start


def _explore(
    start: Decisions, tried: Sequence[Decisions], worth: _Worth, dice: random.Random
) -> Decisions:
    """Change one or two decisions into something that was not tried yet, nor went badly."""
    changed = dict(start)
    for _ in range(_TRIES):
        changed = dict(start)
        count = min(len(start), dice.choice((1, 1, 2)))
        for name in dice.sample(sorted(start), k=count):
            others = [choice for choice in CATALOGUE[name].choices if choice != start[name]]
            hopeful = [choice for choice in others if worth.get((name, choice), 0.0) >= 0]
            changed[name] = dice.choice(hopeful or others)
        if not was_tried(changed, tried):
            break
    return changed
