"""The composer as a generator, on real tasks and with the real judge."""

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from kernelmill.backends import get_backend
from kernelmill.conformance.generator import GeneratorConformance
from kernelmill.generators.base import Declined, Generator
from kernelmill.generators.composer import Composer
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.records.candidate import Origin
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.proposal import Hint, Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite
from tiers import one_in

pytestmark = [pytest.mark.compiler, pytest.mark.isolation]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(get_backend("cpp"), JudgeSettings(rounds=5)) as judge:
        yield judge


@pytest.fixture(scope="module")
def composer() -> Iterator[Composer]:
    composer = Composer()
    yield composer
    composer.close()


def described(judge: Judge, name: str) -> Task:
    return judge.describe(load_suite(name)[0])


class TestConformance(GeneratorConformance):
    @pytest.fixture(autouse=True)
    def _given(self, judge: Judge, composer: Composer) -> None:
        self._judge, self._composer = judge, composer

    def generator(self) -> Generator:
        return self._composer

    def proposals(self) -> Sequence[Proposal]:
        tasks = [described(self._judge, f"starter/{name}") for name in ("gelu", "cumsum")]
        return [Proposal(task, "cpp", Stage.DRAFT, seed) for task in tasks for seed in (1, 2)]


NAMES = ("layer_norm", "max_pool2d", "linear_gelu_residual_norm", "cross_entropy")


@pytest.mark.parametrize("name", one_in(2, NAMES))
def test_its_kernels_pass_the_judge(judge: Judge, composer: Composer, name: str) -> None:
    task = described(judge, f"starter/{name}")
    draft = composer.write(Proposal(task, "cpp", Stage.DRAFT, seed=0))
    verdict = judge.verify(task, draft.candidate)
    assert verdict.passed, verdict.feedback
    assert draft.candidate.origin == Origin.COMPOSER


def test_no_attempt_is_spent_on_code_that_was_tried(judge: Judge, composer: Composer) -> None:
    """Though several of its decisions come to the same code here."""
    task = described(judge, "starter/matmul")
    tried: tuple[Hint, ...] = ()
    codes = []
    for seed in range(1, 17):
        draft = composer.write(Proposal(task, "cpp", Stage.DRAFT, seed, context=tried))
        tried += (Hint("trace", "", decisions=draft.decisions, outcome=0.5),)
        codes.append(draft.candidate.digest)
    assert len(set(codes)) == len(codes)


def test_a_reference_that_cannot_be_traced_is_declined(judge: Judge, composer: Composer) -> None:
    task = described(judge, "starter/gelu")
    source = task.source.replace("return ", "return torch.linalg.qr(x)[0].sum() + ", 1)
    assert source != task.source
    with pytest.raises(Declined, match="linalg_qr"):
        composer.write(Proposal(replace(task, source=source), "cpp", Stage.DRAFT, seed=0))


def test_it_knows_which_backends_it_writes_for(composer: Composer) -> None:
    with pytest.raises(GeneratorUnavailable, match="nosuch"):
        composer.check("nosuch")
