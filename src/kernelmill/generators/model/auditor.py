"""The integrity gate's second tier: a model that looks for tricks no rule knows."""

from kernelmill.candidate import Candidate
from kernelmill.generators.base import Audit, Auditor, Declined, Proposal, Unaffordable
from kernelmill.generators.model.bandit import choose
from kernelmill.generators.model.desk import Desk
from kernelmill.generators.model.prompting import audit_prompt
from kernelmill.generators.model.settings import Role
from kernelmill.generators.model.structured import parse_opinion
from kernelmill.generators.model.talking import Talk


class ModelAuditor(Auditor):
    """An auditor who gives no usable answer objects to nothing; the ledger says that it was so."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def audit(self, proposal: Proposal, candidate: Candidate) -> Audit:
        talk = Talk(self._desk, proposal)
        prompt = audit_prompt(proposal.task, proposal.backend, candidate)
        most = self._desk.settings.prompt_tokens
        if prompt.tokens > most:
            return Audit(f"nobody could look through it: {prompt.tokens} tokens, of {most} allowed")
        lot = f"audit/{proposal.task.id}/{proposal.seed}"
        model = choose(self._desk.settings.for_role(Role.AUDITOR), (), lot)
        try:
            opinion = talk.ask(Role.AUDITOR, model, prompt, parse_opinion)
        except Unaffordable:
            raise
        except Declined:
            return Audit("", talk.calls)
        return Audit("" if opinion.valid else opinion.reason, talk.calls)
