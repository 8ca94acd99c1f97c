"""From an attempt to the next prompt: what is learned reaches a model, as code."""

from pathlib import Path

import msgspec
import pytest

from kernelmill.campaign.history import StoredHistory
from kernelmill.generators.model.prompting import Prompt, opening_role, prompt_for
from kernelmill.memory import Memory, ValueRole
from kernelmill.memory.guide import seed_guide
from kernelmill.records.attempt import Result, Seconds
from kernelmill.records.calibration import calibrate
from kernelmill.records.campaign import Campaign, NewTask
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.model_settings import PROMPT_TOKENS
from kernelmill.records.proposal import Draft, Proposal, Stage
from kernelmill.records.target import backend_name
from kernelmill.records.task import Task
from kernelmill.records.verdict import (
    DeviceDiagnosis,
    Feedback,
    Gate,
    KernelUse,
    Modelled,
    Verdict,
)
from kernelmill.strategies import get_strategy
from kernelmill.workspace import Workspace
from samples import SETTINGS, make_task, make_verdict, observing

SOFTMAX = {"model.py": "import lib\n", "kernel.cpp": "row_max();\nsum_of_exp();\ndivide();\n"}
FUSED = {**SOFTMAX, "kernel.cpp": "row_max();\nonline_sum();\ndivide();\n"}
BROKEN = {**SOFTMAX, "kernel.cpp": "row_max();\nundeclared();\ndivide();\n"}
SLOWER = {**SOFTMAX, "kernel.cpp": "row_max();\nsum_of_exp();\ndivide_again();\n"}
STRATEGY = "value:epsilon=0"
"""The default strategy, without random choices."""


def task(name: str, family: str = "softmax") -> Task:
    return msgspec.structs.replace(
        make_task(name), family=family, source=f"# {name}\n", signature=(f"aten.{family}",)
    )


class Mill:
    """A workspace in which a model writes what it is told to."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder, create=True)
        self.strategy = get_strategy(STRATEGY)

    def campaign(self, *tasks: Task, backend: str = "cpp") -> Campaign:
        settings = msgspec.structs.replace(
            SETTINGS, strategy=STRATEGY, generator="model", budget=30, backend=backend
        )
        return self.workspace.create_campaign(settings, [NewTask(one.id, one) for one in tasks])

    def propose(self, campaign: Campaign, one: Task) -> Proposal:
        entry = next(e for e in self.workspace.tasks(campaign) if e.name == one.id)
        assert entry.task is not None
        number = len(self.workspace.attempts(campaign, entry.task)) + 1
        history = StoredHistory(self.workspace, campaign, entry.task, one.id, number)
        return self.strategy.propose(one, history)

    def without_methods(self, campaign: Campaign, one: Task) -> Proposal:
        self.strategy = get_strategy(f"{STRATEGY},methods=0")
        return self.propose(campaign, one)

    def attempt(
        self,
        campaign: Campaign,
        one: Task,
        files: dict[str, str],
        ratio: float | None,
        verdict: Verdict | None = None,
        approach: str = "",
        prediction: str = "",
    ) -> None:
        proposal = self.propose(campaign, one)
        entry = next(e for e in self.workspace.tasks(campaign) if e.name == one.id)
        assert entry.task is not None
        claim = self.workspace.claim(campaign, entry.task)
        assert claim is not None
        draft = Draft(
            Candidate(files, Origin.MODEL),
            {"approach": approach} if approach else {},
            prediction,
        )
        judged = msgspec.structs.replace(
            verdict or make_verdict(ratio, one.id), backend=backend_name(proposal.backend)
        )
        result = Result(proposal, Seconds(), draft, judged)
        self.workspace.complete(claim, result, observing(self.strategy))

    def prompt(self, campaign: Campaign, one: Task, tokens: int = PROMPT_TOKENS) -> Prompt:
        proposal = self.propose(campaign, one)
        return prompt_for(opening_role(proposal), proposal, tokens)


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    return Mill(tmp_path / "workspace")


def refused(message: str = "'undeclared' was not declared", at: Gate = Gate.BUILD) -> Verdict:
    feedback = Feedback(at, "compile-error", message, ("kernel.cpp:2:1: error",))
    return msgspec.structs.replace(make_verdict(None), gate=at, feedback=(feedback,))


def test_a_draft_is_shown_the_verified_kernel_of_a_neighbour(mill: Mill) -> None:
    solved, new = task("suite/softmax"), task("suite/log_softmax")
    campaign = mill.campaign(solved, new)
    mill.attempt(campaign, solved, FUSED, 2.0, approach="one pass")
    prompt = mill.prompt(campaign, new)
    assert "# Kernels that passed every gate" in prompt.user
    assert FUSED["kernel.cpp"] in prompt.user
    assert "suite/softmax (softmax) with approach=one pass: 2.00x eager" in prompt.user
    assert prompt.user.count("online_sum();") == 1, "the trace and the experience share a source"


def test_the_family_comes_first_and_what_is_left_out_is_said(mill: Mill) -> None:
    tasks = [task("suite/softmax"), task("suite/matmul", "matmul"), task("suite/new")]
    campaign = mill.campaign(*tasks)
    large = {"model.py": "x = 1  # of the product\n" * 200}
    mill.attempt(campaign, tasks[1], large, 2.0)
    mill.attempt(campaign, tasks[0], FUSED, 2.0)
    prompt = mill.prompt(campaign, tasks[2])
    assert prompt.user.index("online_sum();") < prompt.user.index("# of the product")
    short = mill.prompt(campaign, tasks[2], 3000)
    assert "online_sum();" in short.user and "# of the product" not in short.user
    assert "the kernel of suite/matmul" in short.user.partition("Left out for lack of room")[2]
    assert "the kernel of suite/matmul" in short.left_out


def test_a_draft_is_shown_the_kernel_of_another_backend_for_the_very_task(mill: Mill) -> None:
    one = task("suite/softmax")
    elsewhere = mill.campaign(one, backend="triton")
    mill.attempt(elsewhere, one, {"model.py": "tl.load(everything)\n"}, 3.0)
    here = mill.campaign(one)
    prompt = mill.prompt(here, one)
    assert "tl.load(everything)" in prompt.user
    assert "passed for this task before" in prompt.user
    assert "on triton" in prompt.user, "it is for another target"


def test_a_known_error_is_shown_with_its_fix(mill: Mill) -> None:
    first, second = task("suite/softmax"), task("suite/matmul", "matmul")
    campaign = mill.campaign(first, second)
    mill.attempt(campaign, first, BROKEN, None, refused())
    repair = mill.prompt(campaign, first)
    assert "It was refused at the build gate" in repair.user
    mill.attempt(campaign, first, SOFTMAX, 1.0)
    draft = mill.prompt(campaign, second)
    assert "build compile-error: 'undeclared' was not declared" in draft.user
    assert "> undeclared();" in draft.user, "the offending line"
    assert "This change mended it:" in draft.user
    assert "-undeclared();\n+sum_of_exp();" in draft.user
    mill.attempt(campaign, second, {"model.py": "other"}, None, refused())
    repair = mill.prompt(campaign, second)
    assert "-undeclared();\n+sum_of_exp();" in repair.user


def test_a_refinement_is_shown_practices_as_changes(mill: Mill) -> None:
    first, second = task("suite/softmax"), task("suite/log_softmax")
    campaign = mill.campaign(first, second)
    mill.attempt(campaign, first, SOFTMAX, 1.0)
    mill.attempt(campaign, first, FUSED, 2.0, approach="online sum")
    mill.attempt(campaign, second, {"model.py": "slow"}, 1.0)
    prompt = mill.prompt(campaign, second)
    assert "approach=online sum made it 2.00x as fast" in prompt.user
    assert "-sum_of_exp();\n+online_sum();" in prompt.user
    assert "2.00x as fast:" in prompt.user
    assert "Before: 1 ms;" in prompt.user and "After: 0.5 ms;" in prompt.user


def test_a_refinement_is_shown_the_children_with_what_they_changed(mill: Mill) -> None:
    one = task("suite/softmax")
    campaign = mill.campaign(one)
    mill.attempt(campaign, one, SOFTMAX, 2.0)
    mill.attempt(campaign, one, SLOWER, 1.0, prediction="2.5x eager")
    mill.attempt(campaign, one, BROKEN, None, refused())
    prompt = mill.prompt(campaign, one)
    assert "# Earlier attempts on this task" in prompt.user
    assert "This change made it 0.50x as fast:" in prompt.user
    assert "-divide();\n+divide_again();" in prompt.user
    assert "Refused after this change:" in prompt.user
    assert "-sum_of_exp();\n+undeclared();" in prompt.user
    assert "(expected: 2.5x eager)" in prompt.user


def test_a_refinement_is_shown_all_that_the_verdict_knows(mill: Mill) -> None:
    one = task("suite/softmax")
    campaign = mill.campaign(one)
    kernel = KernelUse("softmax_kernel", 3, 12.5, 128, 256, 72, 4096, 8, 0.25)
    verdict = msgspec.structs.replace(
        make_verdict(1.0),
        diagnosis=DeviceDiagnosis((kernel,), 0.8, 0.31, 0.07),
        modelled=Modelled("a model", 1000, "XLA", 2000, 4096, {"MXU": 0.5, "XLU": 0.2}, ("note",)),
    )
    mill.attempt(campaign, one, SOFTMAX, 1.0, verdict)
    user = mill.prompt(campaign, one).user
    for fact in (
        "3 launches per call; the device computes 80% of the time",
        "memory at 31%, arithmetic at 7%",
        "72 registers", "8 spilled", "occupancy 25%",
        "1,000 modelled cycles", "MXU 50%, XLU 20%", "4,096 bytes moved",
    ):  # fmt: skip
        assert fact in user, fact


def test_facts_are_shown_by_the_names_in_retrieved_code(mill: Mill) -> None:
    """Where a guide is too long to be pasted, its points are retrieved."""
    first, second = task("suite/softmax"), task("suite/log_softmax")
    campaign = mill.campaign(first, second)
    with mill.workspace.writing() as transaction:
        guide = {"own": "# Own\n\n- `online_sum` needs two accumulators.\n- `unrelated` is slow.\n"}
        seed_guide(Memory(transaction), "cpp", guide)
    mill.attempt(campaign, first, FUSED, 2.0)
    prompt = mill.prompt(campaign, second)
    assert "needs two accumulators" in prompt.user
    assert "`unrelated` is slow" not in prompt.user


def test_lessons_of_the_composer_are_readable_for_a_model(mill: Mill) -> None:
    first, second = task("suite/softmax"), task("suite/log_softmax")
    campaign = mill.campaign(first, second)
    mill.attempt(campaign, second, SOFTMAX, 1.0, approach="by hand")
    proposal = mill.propose(campaign, first)
    claim = mill.workspace.claim(campaign, 1)
    assert claim is not None
    draft = Draft(Candidate(FUSED, Origin.COMPOSER), {"lanes": 16})
    result = Result(proposal, Seconds(), draft, make_verdict(2.0))
    mill.workspace.complete(claim, result, observing(mill.strategy))
    prompt = mill.prompt(campaign, second)
    assert "lanes=16" in prompt.user and "online_sum();" in prompt.user


def test_a_solved_task_begins_with_refining_its_best(mill: Mill) -> None:
    one = task("suite/softmax")
    first = mill.campaign(one)
    mill.attempt(first, one, SOFTMAX, 1.0)
    mill.attempt(first, one, FUSED, 2.0)
    mill.attempt(first, one, SLOWER, 0.5)
    second = mill.campaign(one)
    proposal = mill.propose(second, one)
    assert proposal.stage is Stage.REFINE and proposal.parent is not None
    assert proposal.parent.candidate.files == FUSED
    prompt = mill.prompt(second, one)
    assert FUSED["kernel.cpp"] in prompt.user
    assert "+divide_again();" in prompt.user, "what was tried from there"
    before = Memory(mill.workspace.database).statistics("cpp").count
    mill.attempt(second, one, {**FUSED, "kernel.cpp": "vectors();\n"}, 4.0)
    assert Memory(mill.workspace.database).statistics("cpp").count == before + 1, "a refinement"
    skilled = get_strategy("skill").propose(
        one, StoredHistory(mill.workspace, mill.campaign(one), 1, one.id, 1)
    )
    assert skilled.parent is not None
    assert skilled.parent.candidate.files["kernel.cpp"] == "vectors();\n"


def test_a_campaign_can_be_told_to_begin_anew(mill: Mill) -> None:
    one = task("suite/softmax")
    mill.attempt(mill.campaign(one), one, SOFTMAX, 1.0)
    mill.strategy = get_strategy(f"{STRATEGY},start=campaign")
    proposal = mill.propose(mill.campaign(one), one)
    assert (proposal.stage, proposal.parent) == (Stage.DRAFT, None)


def test_a_kernel_of_another_target_is_no_start(mill: Mill) -> None:
    one = task("suite/softmax")
    mill.attempt(mill.campaign(one, backend="pallas:v5e"), one, SOFTMAX, 1.0)
    assert mill.propose(mill.campaign(one), one).parent is None


def test_predictions_are_compared_with_what_came_of_them(mill: Mill) -> None:
    one = task("suite/softmax")
    campaign = mill.campaign(one)
    assert "So far:" not in mill.prompt(campaign, one).user
    mill.attempt(campaign, one, SOFTMAX, 1.0, prediction="2x eager, limited by memory")
    mill.attempt(campaign, one, FUSED, 1.5, prediction="1.5x: one pass less")
    mill.attempt(campaign, one, BROKEN, None, refused(), prediction="3 times as fast")
    mill.attempt(campaign, one, SLOWER, 0.9, prediction="it will be better")
    told = "3 predictions: 1 refused, 1 right to within a quarter; measured speed was 0.75 times"
    assert f"So far: {told}" in mill.prompt(campaign, one).user
    assert calibrate(mill.workspace.predictions()).predictions == 3


SLOW_LOOP = 'extern "C" void run(float* x) { for (int i = 0; i < 9; ++i) x[i] = 0; }\n'


def test_a_refinement_is_shown_a_method_that_the_rules_allow_with_its_code(mill: Mill) -> None:
    one = task("suite/softmax")
    campaign = mill.campaign(one)
    serial = {"model.py": "import lib\n", "kernel.cpp": SLOW_LOOP}
    mill.attempt(campaign, one, serial, 1.0)
    proposal = mill.propose(campaign, one)
    (method,) = [hint for hint in proposal.context if hint.kind == "skill"]
    assert method.why is not None and "the rule cpp-one-thread allows it here" in method.why.reason
    prompt = mill.prompt(campaign, one)
    assert f"[item {method.item}, skill]" in prompt.user
    assert "The method on another kernel:" in prompt.user
    assert method.code is not None and method.code.diff.splitlines()[-1] in prompt.user
    mill.attempt(campaign, one, {**serial, "kernel.cpp": "// " + SLOW_LOOP}, 0.5)
    assert method.item is not None
    values = Memory(mill.workspace.database).values([method.item], ValueRole.REFINE)
    assert values[method.item, ""].visits == 1 and values[method.item, ""].value < 0
    assert not [h for h in mill.without_methods(campaign, one).context if h.kind == "skill"]


def test_skills_are_shown_with_what_was_experienced(mill: Mill) -> None:
    first, second = task("suite/softmax"), task("suite/log_softmax")
    campaign = mill.campaign(first, second)
    mill.attempt(campaign, first, FUSED, 2.0)
    history = StoredHistory(mill.workspace, campaign, 2, second.id, 1)
    for strategy, seen in (
        ("skill", True),
        ("skill:long=off", False),
        ("skill:experiences=0", False),
    ):
        proposal = get_strategy(strategy).propose(second, history)
        text = prompt_for(opening_role(proposal), proposal, PROMPT_TOKENS).user
        assert ("online_sum();" in text) == seen, strategy
