"""Small records for tests that need no judge."""

from kernelmill.memory import Memory
from kernelmill.records.attempt import Result, Seconds
from kernelmill.records.campaign import CampaignSettings, NewTask
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.decisions import Decisions
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Draft, Proposal, Stage
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.records.tensors import Node
from kernelmill.records.verdict import Evidence, Feedback, Gate, Interval, Latency, Verdict
from kernelmill.strategies import Strategy
from kernelmill.workspace.workspace import Observer

EVIDENCE = Evidence(
    "seeds", "Linux", "processor", 2, {"torch": "2", "build": "g++"}, "full", "clock", "now"
)
SETTINGS = CampaignSettings(
    suites=("suite",),
    backend="cpp",
    generator="replay",
    strategy="refine",
    budget=4,
    seed=1,
    scale="cpu",
    threads=2,
    compiled=False,
)


def make_task(name: str = "suite/task") -> Task:
    spec = TensorSpec("float32", (2, 2))
    return Task(
        id=name,
        family="pointwise",
        path="",
        source=name,
        scale="cpu",
        variants=(Variant({}, Node(items=(Node(tensor=0),)), (spec,), False),),
        distributions=("plain",),
        outputs=(spec,),
        state={},
        signature=(),
        flops=0,
    )


def new_tasks(*names: str) -> list[NewTask]:
    return [NewTask(name, make_task(name)) for name in names]


def make_candidate(text: str = "pass") -> Candidate:
    return Candidate({"model.py": text}, Origin.SHIPPED)


def make_verdict(ratio: float | None, task: str = "suite/task", compiled: bool = False) -> Verdict:
    """A verdict that passed with this ratio over the baseline; None: one that did not pass."""
    latency, feedback = None, (Feedback(Gate.CORRECTNESS, "numerical", "it is <wrong>"),)
    if ratio is not None:
        interval = Interval(ratio, ratio * 0.98, ratio * 1.02)
        over_compile = interval if compiled else None
        latency = Latency(1 / ratio, 1.0, None, interval, over_compile, 0.0, 0.0, 5, 1)
        feedback = ()
    gate = Gate.LATENCY if latency else Gate.CORRECTNESS
    return Verdict(
        task, "cpp", "digest", not feedback, gate, feedback, (), latency, None, {}, EVIDENCE
    )


def make_result(
    ratio: float | None = 2.0,
    text: str = "pass",
    champion: bool = False,
    cost: float | None = None,
    task: Task | None = None,
) -> Result:
    proposal = Proposal(task or make_task(), "cpp", Stage.DRAFT, 7)
    draft = Draft(
        make_candidate(text), {"tile": 8}, calls=(ModelCall("generator", "m", cost_usd=cost),)
    )
    return Result(proposal, Seconds(1, 2, 3, 4), draft, make_verdict(ratio), champion=champion)


def code_of(decisions: Decisions) -> str:
    """Stand-in for composed code, different for any two sets of decisions."""
    return str(sorted(decisions.items()))


def observing(strategy: Strategy) -> Observer:
    """The observer that a campaign passes to the workspace: the strategy learns."""
    return lambda observation, transaction: strategy.observe(observation, Memory(transaction))
