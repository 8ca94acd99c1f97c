"""The conformance suite of the generator contract.

A test module subclasses `GeneratorConformance`, and pytest runs the contract's tests on it:

    class TestMine(GeneratorConformance):
        def generator(self) -> Generator:
            return get_generator("mine")

        def proposals(self) -> Sequence[Proposal]:
            return [Proposal(task, "cpp", Stage.DRAFT, seed) for seed in range(3)]
"""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from kernelmill.backends import backend_names
from kernelmill.generators.base import Declined, Generator
from kernelmill.records.cost_budget import PreflightCostBudget
from kernelmill.records.errors import GeneratorUnavailable, UsageError
from kernelmill.records.model_calls import bill
from kernelmill.records.model_settings import ModelSettings
from kernelmill.records.proposal import Draft, Proposal

_THREADS = 4


class GeneratorConformance:
    """The tests of the contract in `kernelmill.generators.base`.

    A subclass, named `Test...`, defines `generator` and `proposals`, and `backend` where the
    generator does not write for `cpp`.
    """

    backend = "cpp"
    """The backend that the proposals are for."""

    def generator(self) -> Generator:
        """A generator that is ready to write: one that asks models was given them."""
        raise NotImplementedError

    def proposals(self) -> Sequence[Proposal]:
        """Proposals for described tasks: some that it answers and, if possible, one it declines."""
        raise NotImplementedError

    def test_its_name_can_be_typed(self) -> None:
        generator = self.generator()
        assert generator.name
        assert ":" not in generator.name, "a colon ends the name on the command line"

    def test_it_answers_at_least_one_proposal_at_once(self) -> None:
        assert self.generator().at_once >= 1

    def test_it_takes_models_or_says_that_it_asks_none(self) -> None:
        """`use` raises UsageError or nothing."""
        objection = _message_of(UsageError, lambda: self.generator().use(ModelSettings(())))
        assert objection != "", "say what to leave out"

    def test_it_can_write_for_its_backend(self) -> None:
        """`check` accepts the backend of the proposals."""
        self.generator().check(self.backend)

    def test_it_says_for_which_backends_it_cannot_write(self) -> None:
        """`check` raises GeneratorUnavailable or nothing, whichever backend it is asked about."""
        generator = self.generator()
        for backend in backend_names():
            missing = _message_of(GeneratorUnavailable, partial(generator.check, backend))
            assert missing != "", f"say what is missing for {backend}"

    def test_it_writes_or_declines(self) -> None:
        """`write` returns files or raises Declined with a reason; both may report calls."""
        generator = self.generator()
        for proposal in self.proposals():
            draft = _draft(generator, proposal)
            assert draft is None or draft.candidate.files, "a candidate has files"

    def test_it_pays_from_its_budget(self) -> None:
        """The cost of a draft's calls was taken from the budget that `fund` set."""
        generator, budget = self.generator(), PreflightCostBudget()
        generator.fund(budget)
        reported = 0.0
        for proposal in self.proposals():
            draft = _draft(generator, proposal)
            cost = 0.0 if draft is None else bill(draft.calls).cost_usd or 0.0
            assert cost >= 0
            reported += cost
        assert reported <= sum(cost or 0.0 for cost in budget.spent) + 1e-9

    def test_it_leaves_proposals_as_they_are(self) -> None:
        generator = self.generator()
        for proposal in self.proposals():
            before = copy.deepcopy(proposal)
            _draft(generator, proposal)
            assert proposal == before, "a proposal belongs to the caller"

    def test_its_answer_does_not_depend_on_earlier_proposals(self) -> None:
        generator = self.generator()
        for proposal in self.proposals():
            first = _draft(generator, proposal)
            for other in self.proposals():
                _draft(generator, other)
            again = _draft(generator, proposal)
            assert (first is None) == (again is None)

    def test_it_writes_from_several_threads_at_once(self) -> None:
        generator, proposals = self.generator(), list(self.proposals())
        alone = [_draft(generator, proposal) is None for proposal in proposals]
        with ThreadPoolExecutor(_THREADS) as pool:
            drafts = list(pool.map(lambda proposal: _draft(generator, proposal), proposals * 2))
        assert [draft is None for draft in drafts] == alone * 2

    def test_what_it_declines_for_good_it_declines_again(self) -> None:
        """Neither another seed nor another number changes its mind, where it says so."""
        generator = self.generator()
        for proposal in self.proposals():
            if _draft(generator, proposal) is not None or not generator.declines_for_good:
                continue
            for step in (1, 2):
                seed, number = proposal.seed + step, proposal.number + step
                later = msgspec.structs.replace(proposal, seed=seed, number=number)
                assert _draft(generator, later) is None, "set declines_for_good to False"


def _draft(generator: Generator, proposal: Proposal) -> Draft | None:
    """None where it declines, which must have a reason."""
    try:
        return generator.write(proposal)
    except Declined as declined:
        reason = str(declined)
    assert reason, "a decline says why"
    return None


def _message_of(expected: type[Exception], call: Callable[[], None]) -> str | None:
    """The message of the exception that a call may raise; None where it raises none."""
    try:
        call()
    except expected as error:
        return str(error)
    return None
