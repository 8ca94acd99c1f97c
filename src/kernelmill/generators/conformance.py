"""What every generator must do, as tests: subclass it in a test module and name the generator."""

from collections.abc import Sequence

from kernelmill.generators.base import Declined, Draft, Generator, Proposal
from kernelmill.generators.calls import bill


class GeneratorConformance:
    """A subclass (named Test...) gives `generator()`, `backend` and `proposals()`."""

    backend = "cpp"

    def generator(self) -> Generator:
        raise NotImplementedError

    def proposals(self) -> Sequence[Proposal]:
        """Some it should answer, for described tasks."""
        raise NotImplementedError

    def test_it_has_a_name_of_its_own(self) -> None:
        generator = self.generator()
        assert generator.name
        assert ":" not in generator.name, "a colon ends the name on the command line"

    def test_it_says_that_it_can_answer(self) -> None:
        self.generator().check(self.backend)

    def test_it_answers_or_declines(self) -> None:
        for proposal in self.proposals():
            draft = _answer(self.generator(), proposal)
            assert draft is None or draft.candidate.files
            assert draft is None or (bill(draft.calls).cost_usd or 0.0) >= 0

    def test_it_keeps_nothing_between_calls(self) -> None:
        generator = self.generator()
        for proposal in self.proposals():
            first = _answer(generator, proposal)
            for other in self.proposals():
                _answer(generator, other)
            again = _answer(generator, proposal)
            assert (first is None) == (again is None)


def _answer(generator: Generator, proposal: Proposal) -> Draft | None:
    try:
        return generator.write(proposal)
    except Declined as declined:
        if not str(declined):
            raise AssertionError("a decline names what stands in the way") from declined
        return None
