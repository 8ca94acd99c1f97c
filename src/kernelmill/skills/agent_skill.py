"""The skill file that teaches a coding agent how to work with the MCP server."""

from pathlib import Path

from kernelmill.records.errors import UsageError

AGENT_SKILL = Path(__file__).parent / "agent" / "SKILL.md"
NAME = "kernelmill"
AGENT_FOLDERS = {
    "claude": ".claude/skills",
    "codex": ".codex/skills",
    "cursor": ".cursor/skills",
    "gemini": ".gemini/skills",
    "other": ".agents/skills",
}
"""Where each agent looks for skills, within a project or the home folder."""


def install_agent_skill(agent: str, folder: Path) -> Path:
    """Write the skill file for an agent, and return its path. Raises UsageError."""
    if agent not in AGENT_FOLDERS:
        raise UsageError(f"no agent is called {agent!r}; there are {', '.join(AGENT_FOLDERS)}")
    path = folder / AGENT_FOLDERS[agent] / NAME / AGENT_SKILL.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(AGENT_SKILL.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return path
