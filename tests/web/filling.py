"""A workspace as campaigns leave it, without a judge: attempts, lineage, memory, prompts."""

import random
from pathlib import Path

import msgspec

from kernelmill.archive import Archive
from kernelmill.memory import Memory
from kernelmill.memory.items import ItemKind, NewItem, Provenance, ValueRole
from kernelmill.memory.values import ValueEstimate
from kernelmill.records.attempt import Observation, Result, Seconds
from kernelmill.records.campaign import Campaign, CampaignSettings, EventKind, NewTask
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.model_calls import ModelCall, SaidText
from kernelmill.records.proposal import Draft, Hint, HintReason, Parent, Proposal, Stage
from kernelmill.records.search_step import SearchStep
from kernelmill.workspace import Transaction, Workspace
from samples import SETTINGS, make_task, make_verdict

HOSTILE = '<script>document.title = "owned"</script><img src=x onerror="document.title=1">'
NAMES = (
    "softmax", "gelu", "matmul", "layer_norm", "max_pool2d", "cross_entropy", "cumsum", "embedding",
    "conv2d", "causal_attention", "rms_norm", "swiglu",
)  # fmt: skip
ISLANDS = 2
KERNEL = """#include <cstdint>

extern "C" void run(const float* x, float* out, int64_t rows, int64_t cols) {{
#pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {{
    // attempt {number}: {note}
    {loops}
    for (int64_t c = 0; c < cols; c += {step}) out[r * cols + c] = x[r * cols + c];
  }}
}}
"""


LOOP = "for (int64_t c = 0; c < cols; ++c) out[c] += x[c];\n    "


def begin(workspace: Workspace, strategy: str = "value", seed: int = 0) -> Campaign:
    settings: CampaignSettings = msgspec.structs.replace(
        SETTINGS, suites=("starter",), generator="model", strategy=strategy, seed=seed, budget=12
    )
    tasks = [NewTask(f"starter/{name}", make_task(f"starter/{name}")) for name in NAMES]
    tasks.append(NewTask("starter/broken", None, "starter/broken.py: SyntaxError: line 3"))
    campaign = workspace.create_campaign(settings, tasks)
    workspace.note(campaign, EventKind.BEGUN, "")
    return campaign


def learn(workspace: Workspace, count: int) -> list[int]:
    with workspace.writing() as transaction:
        memory = Memory(transaction)
        items = [
            NewItem(
                ItemKind.EXPERIENCE if number % 2 else ItemKind.PRACTICE,
                f"lesson {number}: keep the row in registers while it is reduced {HOSTILE}",
                f"row reduction {number}",
                Provenance("starter/softmax", "softmax", "cpp", "model", 1),
                (f"lesson {number}",),
            )
            for number in range(count)
        ]
        ids = memory.add_all(items)
        for item in ids:
            memory.set_value(item, ValueRole.DRAFT, "", ValueEstimate(0.3, 4))
    return ids


def attempt(
    workspace: Workspace,
    campaign: Campaign,
    task: int,
    ratio: float | None,
    items: list[int],
    parent: int | None = None,
) -> int:
    """One attempt with a hostile source, prompt and answer."""
    claim = workspace.claim(campaign, task)
    assert claim is not None
    files = {
        "model.py": f"# {HOSTILE}\nclass ModelNew: ...\n",
        "kernel.cpp": KERNEL.format(
            number=claim.number,
            note=HOSTILE,
            step=1 + claim.number % 4,
            loops=LOOP * (claim.number % 3),
        ),
    }
    start = None
    if parent is not None:
        before = workspace.attempt(parent)
        candidate, verdict = workspace.candidate(before), workspace.verdict(parent)
        assert candidate is not None and verdict is not None
        start = Parent(parent, candidate, verdict, {})
    hints = tuple(
        Hint("experience", f"a lesson {HOSTILE}", item, why=HintReason("value", 0.7, 0.3, 4))
        for item in items
    )
    described = workspace.tasks(campaign)[task - 1].described
    assert described is not None
    stage = Stage.REFINE if parent is not None else Stage.DRAFT
    said = (
        SaidText("system", "You write kernels."),
        SaidText("user", f"Write {described.id}. {HOSTILE}"),
        SaidText("answer", f"### kernel.cpp {HOSTILE}"),
    )
    call = ModelCall("generator", "a-model", 1200, 800, 0.0123, 4.2, said=said)
    draft = Draft(
        Candidate(files, Origin.MODEL),
        {"tile": 8 * claim.number},
        f"{1 + claim.number / 2}x eager",
        calls=(call,),
    )
    best = workspace.tasks(campaign)[task - 1].champion
    champion = ratio is not None and (
        best is None or ratio > (workspace.attempt(best).ratio or 0.0)
    )
    step = SearchStep("evolve", "edit", claim.number % ISLANDS)
    result = Result(
        Proposal(described, "cpp", stage, 7, start, hints, "Make it faster.", step=step),
        Seconds(4.2, 1.1, 0.3, 6.0),
        draft,
        make_verdict(ratio, described.id, compiled=True),
        champion=champion,
    )
    observe = _archive if campaign.settings.strategy == "evolve" else _forget
    return workspace.complete(claim, result, observe).id


def _archive(observation: Observation, database: Transaction) -> None:
    done = observation.attempt
    Archive(database, done.campaign, done.task).observe(observation, ISLANDS)


def _forget(_observation: Observation, _database: Transaction) -> None:
    """Other strategies keep no archive."""


def fill(folder: Path, attempts: int = 6, strategies: tuple[str, ...] = ("value",)) -> None:
    """Campaigns whose tasks become faster with every attempt, but for two that stay unsolved."""
    chance = random.Random(1)
    with Workspace(folder, create=True) as workspace:
        items = learn(workspace, 8)
        for index, strategy in enumerate(strategies):
            campaign = begin(workspace, strategy, seed=index)
            for task in range(1, len(NAMES) + 1):
                best: int | None = None
                ratio = 0.7 + 0.15 * task * (1.0 if strategy == "value" else 0.7)
                for number in range(attempts):
                    passes = task not in (3, 9) and number > task % 3
                    ratio *= 1.02 + 0.1 * chance.random()
                    done = attempt(
                        workspace, campaign, task, ratio if passes else None, items[:3], best
                    )
                    best = done if passes or best is None else best
            workspace.note(campaign, EventKind.ENDED, "complete: every task has had its attempts")
