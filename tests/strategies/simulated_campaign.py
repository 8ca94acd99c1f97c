"""Campaigns without a judge: kernels are decisions, and their true speed is a function of these."""

import hashlib
import math
import random
from pathlib import Path

import msgspec

from archive.simulation import Kernel, make_kernel, verdict_of
from kernelmill.campaign.history import StoredHistory
from kernelmill.records.attempt import Attempt, Remeasured, Result, Seconds
from kernelmill.records.campaign import NewTask
from kernelmill.records.candidate import Candidate
from kernelmill.records.decisions import APPROACH, Decisions, is_open
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.records.sweep import Parameter, SweepSpace
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.strategies import Strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_task, observing

CHOICES = {"passes": (5, 3, 2, 1), "parallel": (False, True), "tile": (4, 8, 16, 32), "odd": (0, 1)}
REFUSED = {"tile": 32, "parallel": False}
"""Decisions that make a kernel fail together."""


def true_level(decisions: Decisions) -> float:
    passes, tile = int(decisions["passes"]), int(decisions["tile"])
    return (
        0.3 * (5 - passes) / 4
        + (0.4 if decisions["parallel"] else 0.0)
        - 0.1 * abs(math.log2(tile / 16))
    )


def fastest_level() -> float:
    return true_level({"passes": 1, "parallel": True, "tile": 16, "odd": 0})


class SimulatedCampaign:
    """Proposes and stores attempts as a campaign does; every result follows from the seed."""

    def __init__(
        self, folder: Path, strategy: Strategy, budget: int, noise: float = 0.0, seed: int = 1,
        tasks: int = 1, free_form: bool = False, templates: bool = False,
    ) -> None:  # fmt: skip
        """`free_form` kernels say their decisions in their code alone, as those of a model do.
        `templates`: the generator leaves TILE and PASSES open."""
        self.workspace = Workspace(folder, create=True)
        self.strategy = strategy
        self._noise, self._free_form, self._templates = noise, free_form or templates, templates
        if self.workspace.campaigns():
            self.campaign = self.workspace.campaign()
        else:
            settings = msgspec.structs.replace(
                SETTINGS, budget=budget, seed=seed, strategy=strategy.name
            )
            named = [make_task(f"suite/task{number}") for number in range(tasks)]
            new = [NewTask(task.id, task) for task in named]
            self.campaign = self.workspace.create_campaign(settings, new)

    def run(self, most: int | None = None) -> None:
        """All attempts, or some of them; the tasks in turn."""
        entries = self.workspace.tasks(self.campaign)
        done = 0
        while most is None or done < most:
            before = done
            for entry in entries:
                assert entry.task is not None and entry.described is not None
                claim = self.workspace.claim(self.campaign, entry.task)
                if claim is None or (most is not None and done >= most):
                    continue
                history = self.history(entry.task, entry.described, claim.number)
                proposal = self.strategy.propose(entry.described, history)
                result = self.carry_out(proposal)
                self.workspace.complete(claim, result, observing(self.strategy))
                done += 1
            if done == before:
                return

    def history(self, task: int, described: Task, number: int) -> StoredHistory:
        return StoredHistory(self.workspace, self.campaign, task, described.id, number)

    def attempts(self, task: int = 1) -> tuple[Attempt, ...]:
        return self.workspace.attempts(self.campaign, task)

    def carry_out(self, proposal: Proposal) -> Result:
        draft = proposal.draft or self._draft(proposal)
        candidate = draft.candidate
        verdict = self._measure(candidate, f"first {proposal.seed}")
        confirming = None
        speed = None if verdict.latency is None else verdict.latency.over_baseline.ratio
        if speed is not None and speed > _bar(proposal):
            confirming = self._measure(candidate, f"confirming {proposal.seed}")
        remeasured = tuple(
            Remeasured(
                one.attempt,
                self._measure(one.candidate, f"again {one.attempt} {proposal.seed}"),
            )
            for one in proposal.remeasure
        )
        return Result(
            proposal, Seconds(), draft, verdict, confirming,
            champion=speed is not None, remeasured=remeasured,
        )  # fmt: skip

    def _draft(self, proposal: Proposal) -> Draft:
        decisions = _write(proposal)
        candidate = _candidate(decisions)
        told: Decisions = {APPROACH: "a loop"} if self._free_form else decisions
        return Draft(candidate, told, space=self._space(candidate, decisions))

    def _space(self, candidate: Candidate, decisions: Decisions) -> SweepSpace | None:
        if self._templates:
            opened = {name: CHOICES[name] for name in ("passes", "tile")}
            text = candidate.files["kernel.cpp"]
            for name in opened:
                text = text.replace(f'"{name}":{decisions[name]}', f'"{name}":${{{name}}}')
            parameters = [
                Parameter(name, (decisions[name], *(one for one in some if one != decisions[name])))
                for name, some in opened.items()
            ]
            return SweepSpace(tuple(parameters), candidate.files | {"kernel.cpp": text})
        if self._free_form:
            return None
        return SweepSpace(tuple(Parameter(name, tuple(some)) for name, some in CHOICES.items()))

    def _measure(self, candidate: Candidate, when: str) -> Verdict:
        kernel, decisions = Kernel(0, 0.0, candidate), _decisions(candidate)
        if REFUSED.items() <= decisions.items():
            return verdict_of(kernel, None)
        seed = hashlib.sha256(f"{candidate.digest} {when}".encode()).hexdigest()
        error = random.Random(seed).gauss(0.0, self._noise)
        return verdict_of(kernel, math.exp(true_level(decisions) + error))


def _bar(proposal: Proposal) -> float:
    return math.inf if proposal.confirm_above is None else proposal.confirm_above


def _write(proposal: Proposal) -> Decisions:
    """Decisions that are asked for, or a random change of the parent's, or random ones."""
    rng = random.Random(proposal.seed)
    parent = proposal.parent
    methods = () if proposal.guidance is None else proposal.guidance.methods
    told = proposal.decisions or next((one.decisions for one in methods), {})
    known = {name: choice for name, choice in told.items() if is_open(name, choice, CHOICES)}
    if parent is not None:
        name = rng.choice(sorted(CHOICES))
        return _decisions(parent.candidate) | (known or {name: rng.choice(CHOICES[name])})
    return {name: rng.choice(choices) for name, choices in CHOICES.items()} | known


def _candidate(decisions: Decisions) -> Candidate:
    kernel = make_kernel(0, 0.0, int(decisions["passes"]), bool(decisions["parallel"]))
    told = msgspec.json.encode(decisions, order="sorted").decode()
    text = kernel.candidate.files["kernel.cpp"] + f"// {told}\n"
    return Candidate(kernel.candidate.files | {"kernel.cpp": text}, kernel.candidate.origin)


def _decisions(candidate: Candidate) -> Decisions:
    *_, last = candidate.files["kernel.cpp"].strip().splitlines()
    return msgspec.json.decode(last.removeprefix("// "), type=Decisions)


def tables(workspace: Workspace, *names: str) -> dict[str, list[tuple[object, ...]]]:
    """The rows of some tables, to compare two workspaces."""
    return {
        name: [tuple(row) for row in workspace.database.execute(f"SELECT * FROM {name}")]
        for name in names
    }
