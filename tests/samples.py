"""Small records for tests that need no judge."""

from kernelmill.candidate import Candidate, Origin
from kernelmill.generators.base import Draft, Proposal, Stage
from kernelmill.generators.calls import Call
from kernelmill.generators.decisions import Decisions
from kernelmill.judge import Evidence, Feedback, Gate, Interval, Latency, Verdict
from kernelmill.tasks.task import Kind, Task, Variant
from kernelmill.tensors.layout import Node
from kernelmill.workspace import CampaignSettings, NewTask, Result, Seconds

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
    kind = Kind("float32", (2, 2))
    return Task(
        id=name,
        family="pointwise",
        path="",
        source=name,
        scale="cpu",
        variants=(Variant({}, Node(items=(Node(tensor=0),)), (kind,), False),),
        flavours=("plain",),
        outputs=(kind,),
        state={},
        signature=(),
        flops=0,
    )


def new_tasks(*names: str) -> list[NewTask]:
    return [NewTask(name, make_task(name)) for name in names]


def make_candidate(text: str = "pass") -> Candidate:
    return Candidate({"model.py": text}, Origin.SHIPPED)


def make_verdict(ratio: float | None, task: str = "suite/task", compiled: bool = False) -> Verdict:
    """A verdict that passed with this ratio over eager, or one that did not."""
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
    draft = Draft(make_candidate(text), {"tile": 8}, calls=(Call("generator", "m", cost_usd=cost),))
    return Result(proposal, Seconds(1, 2, 3, 4), draft, make_verdict(ratio), champion=champion)


def code_of(decisions: Decisions) -> str:
    """Where every decision makes a difference to the code."""
    return str(sorted(decisions.items()))
