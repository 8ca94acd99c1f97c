"""The generator `agent`: a coding agent, which writes over MCP and not when it is asked."""

from kernelmill.generators.base import Generator
from kernelmill.records.errors import GeneratorUnavailable
from kernelmill.records.proposal import Draft, Proposal

_WAY_OUT = "an agent writes on its own initiative: start `kernelmill mcp` and connect it"


class AgentGenerator(Generator):
    """Stands for the agent in the settings of a campaign. It cannot be asked: `kernelmill mcp`
    continues such a campaign, `kernelmill resume` says so."""

    name = "agent"

    def check(self, backend: str) -> None:
        raise GeneratorUnavailable(_WAY_OUT)

    def write(self, proposal: Proposal) -> Draft:
        raise GeneratorUnavailable(_WAY_OUT)
