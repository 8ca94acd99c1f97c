"""The optional content of a prompt: kernels, lessons, own attempts, guide, example, steps.

What each part is worth is learned where it can be: an item's value scales the worth of all that is
shown of it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernelmill.generators.model.allotment import PromptPart, tokens_of
from kernelmill.records.candidate import Candidate
from kernelmill.records.guidance import TrajectoryStep
from kernelmill.records.proposal import Hint

_GUIDE_SHARE = 0.35
"""Share of the prompt that the guide may take whole; beyond it, its points compete one by one."""
_LESSON, _OWN_ATTEMPT, _STEP = 1.0, 3.0, 4.0
_FAMILY_KERNEL, _TASK_KERNEL, _OTHER_KERNEL = 8.0, 12.0, 4.0
_EXAMPLE, _EXAMPLE_BESIDE_KERNELS = 8.0, 2.0
_FIX, _CHANGE, _OWN_CHANGE, _EXCERPT = 6.0, 4.0, 3.0, 2.0
_CASE = 4.0
_CHAPTER, _POINT, _RETRIEVED_POINT = 10.0, 0.3, 3.0
_LEAST_FACTOR = 0.2
"""An item that did harm so far is worth this share of a new one."""
_OVERHEAD = 24
"""Tokens around a part: its heading, its fences."""


class GuidePoint(NamedTuple):
    """A chapter of the guide, or one of its points."""

    chapter: str
    heading: str
    """The chapter's text before its first point; empty where the text is the whole chapter."""
    text: str
    retrieved: bool = False
    """Whether a fact with this text was retrieved for the proposal."""


class ShownHint(NamedTuple):
    """A hint, and what is shown of its code."""

    hint: Hint
    files: dict[str, str]
    diff: str
    excerpt: str
    elsewhere: str
    """The target it was learned on, where that is another one; else empty."""


class ChosenContent(NamedTuple):
    """What of the optional content is shown."""

    kernels: tuple[ShownHint, ...]
    """Kernels that passed, in full: those for the task first, then those of its family."""
    lessons: tuple[ShownHint, ...]
    own: tuple[ShownHint, ...]
    """Earlier attempts on the task."""
    chapters: dict[str, str]
    example: Candidate | None
    steps: tuple[TrajectoryStep, ...]
    case: str
    """The code of the method that was planned."""
    left_out: tuple[str, ...]

    @property
    def items(self) -> tuple[int, ...]:
        """Ids of the items that are shown."""
        shown = (*self.kernels, *self.lessons)
        return tuple(one.hint.item for one in shown if one.hint.item is not None)


class _Slot(NamedTuple):
    """What a part stands for: an entry of the content, by its index."""

    kind: str
    number: int


class PromptContent:
    """The optional content for one prompt, as parts that can be chosen."""

    def __init__(
        self,
        hints: Sequence[Hint],
        points: Sequence[GuidePoint],
        example: Candidate | None,
        steps: Sequence[TrajectoryStep],
        *,
        task: str,
        family: str,
        backend: str,
        shown_source: str = "",
        case: str = "",
    ) -> None:
        """`shown_source` is the digest of the candidate that the prompt shows in any case; `case`
        the code of the method that was planned."""
        self._case = case
        self._hints = hints
        self._points = points
        self._example = example
        self._steps = steps
        self._task, self._family, self._backend = task, family, backend
        self._seen = {shown_source}
        self._slots: list[_Slot] = []
        self.parts: list[PromptPart] = []
        for slot, part in self._all():
            self._slots.append(slot)
            self.parts.append(part)

    def chosen(self, indices: Sequence[int]) -> ChosenContent:
        """The content of some parts."""
        slots = {self._slots[index] for index in indices}
        left_out = [part.name for index, part in enumerate(self.parts) if index not in set(indices)]
        shown = [
            self._shown(hint, index, slots)
            for index, hint in enumerate(self._hints)
            if _Slot("hint", index) in slots
        ]
        kernels = [one for one in shown if one.files]
        kernels.sort(key=lambda one: (one.hint.task != self._task, one.hint.family != self._family))
        others = [one for one in shown if not one.files]
        return ChosenContent(
            tuple(kernels),
            tuple(one for one in others if one.hint.item is not None),
            tuple(one for one in others if one.hint.item is None),
            _chapters([one for n, one in enumerate(self._points) if _Slot("guide", n) in slots]),
            self._example if _Slot("example", 0) in slots else None,
            tuple(one for n, one in enumerate(self._steps) if _Slot("step", n) in slots),
            self._case if _Slot("case", 0) in slots else "",
            tuple(left_out),
        )

    def _shown(self, hint: Hint, index: int, slots: set[_Slot]) -> ShownHint:
        code = hint.code
        elsewhere = hint.backend if hint.backend != self._backend else ""
        if code is None:
            return ShownHint(hint, {}, "", "", elsewhere)
        return ShownHint(
            hint,
            code.files if _Slot("files", index) in slots else {},
            code.diff if _Slot("diff", index) in slots else "",
            code.excerpt if _Slot("excerpt", index) in slots else "",
            elsewhere,
        )

    def _all(self) -> Iterator[tuple[_Slot, PromptPart]]:
        number = 0
        for index, hint in enumerate(self._hints):
            found = list(self._hint_parts(index, hint, number))
            number += len(found)
            yield from found
        for index, point in enumerate(self._points):
            yield _Slot("guide", index), _guide_part(point)
        if self._example is not None:
            verified = any(hint.code is not None and hint.code.files for hint in self._hints)
            worth = _EXAMPLE_BESIDE_KERNELS if verified else _EXAMPLE
            text = "".join(self._example.files.values())
            name = f"the example {self._example.name}"
            yield _Slot("example", 0), PromptPart(name, tokens_of(text) + _OVERHEAD, worth)
        if self._case:
            cost = tokens_of(self._case) + _OVERHEAD
            yield _Slot("case", 0), PromptPart("the method's code case", cost, _CASE)
        for index, step in enumerate(self._steps):
            cost = tokens_of(step.plan + step.outcome) + _OVERHEAD
            worth = _STEP + index / (1 + len(self._steps))
            part = PromptPart("an early step on this task", cost, worth)
            yield _Slot("step", index), part

    def _hint_parts(
        self, index: int, hint: Hint, number: int
    ) -> Iterator[tuple[_Slot, PromptPart]]:
        factor, own = _factor(hint), hint.item is None
        cost = tokens_of(hint.text) + _OVERHEAD
        recent = index / (1 + len(self._hints))
        worth = _OWN_ATTEMPT + recent if own else _LESSON * factor
        name = "an early attempt on this task" if own else "a lesson from another attempt"
        yield _Slot("hint", index), PromptPart(name, cost, worth)
        code = hint.code
        if code is None:
            return
        if code.files and code.source not in self._seen:
            self._seen.add(code.source)
            cost = tokens_of("".join(code.files.values())) + _OVERHEAD * len(code.files)
            part = PromptPart(
                f"the kernel of {hint.task}", cost, self._kernel_worth(hint) * factor, number
            )
            yield _Slot("files", index), part
        if code.diff:
            text = code.diff + code.diagnosis_before + code.diagnosis_after
            is_fix = hint.kind == "experience" and not code.diagnosis_before
            worth = _OWN_CHANGE + recent if own else (_FIX if is_fix else _CHANGE) * factor
            name = "the change of an early attempt" if own else f"a change on {hint.task}"
            yield _Slot("diff", index), PromptPart(name, tokens_of(text) + _OVERHEAD, worth, number)
        if code.excerpt:
            cost = tokens_of(code.excerpt) + _OVERHEAD
            part = PromptPart(f"an excerpt of {hint.task}", cost, _EXCERPT * factor, number)
            yield _Slot("excerpt", index), part

    def _kernel_worth(self, hint: Hint) -> float:
        if hint.task == self._task:
            return _TASK_KERNEL
        return _FAMILY_KERNEL if hint.family == self._family else _OTHER_KERNEL


def guide_points(
    chapters: dict[str, str], hints: Sequence[Hint], most_tokens: int
) -> list[GuidePoint]:
    """The guide by chapters; by single points where it is larger than its share of the prompt."""
    if tokens_of("".join(chapters.values())) <= _GUIDE_SHARE * most_tokens:
        return [GuidePoint(name, "", text) for name, text in chapters.items()]
    retrieved = {" ".join(hint.text.split()) for hint in hints if hint.kind == "api"}
    points = []
    for name, text in chapters.items():
        heading, *bullets = re.split(r"^- ", text, flags=re.MULTILINE)
        for bullet in bullets:
            known = " ".join(bullet.split()) in retrieved
            points.append(GuidePoint(name, heading.strip(), f"- {bullet.strip()}", known))
    return points


def _guide_part(point: GuidePoint) -> PromptPart:
    cost = tokens_of(point.text) + _OVERHEAD
    if not point.heading:
        return PromptPart(f"the guide's chapter on {point.chapter}", cost, _CHAPTER)
    worth = _RETRIEVED_POINT if point.retrieved else _POINT
    return PromptPart(f"a point of the guide's chapter on {point.chapter}", cost, worth)


def _chapters(points: Sequence[GuidePoint]) -> dict[str, str]:
    """Texts of the chapters, made of the points that are shown."""
    texts: dict[str, str] = {}
    for point in points:
        before = texts.get(point.chapter, point.heading and f"{point.heading}\n\n")
        texts[point.chapter] = f"{before}{point.text}\n"
    return texts


def _factor(hint: Hint) -> float:
    """What is learned of an item, as a factor of its worth: 1 for a value of 0."""
    value = 0.0 if hint.why is None or hint.why.value is None else hint.why.value
    return max(_LEAST_FACTOR, 1.0 + value)
