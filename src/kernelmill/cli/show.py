"""`kernelmill show`: one attempt, or the best of a task: source, verdict, lineage."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from kernelmill.cli.options import DEFAULT_WORKSPACE, Campaign
from kernelmill.cli.options import Workspace as WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.errors import UsageError
from kernelmill.generators.calls import Call
from kernelmill.judge import Verdict
from kernelmill.report.spending import count, dollars
from kernelmill.workspace import Attempt, VerdictKind, Workspace


def show(
    what: Annotated[str, typer.Argument(help="The number of an attempt, or a task's name.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: Campaign = None,
) -> None:
    """Show an attempt: lineage, decisions, verdicts and source. Of a task, the best one."""
    console = wide_console()
    with Workspace(workspace) as opened:
        attempt = _find(opened, what, campaign)
        _print_head(console, attempt)
        console.print(f"lineage: {_lineage(opened, attempt)}", highlight=False)
        for call in opened.calls(attempt.id):
            console.print(escape(_asked(call)), highlight=False, soft_wrap=True)
        for kind in VerdictKind:
            verdict = opened.verdict(attempt.id, kind)
            if verdict is None:
                continue
            said = "passed" if verdict.passed else f"refused at {verdict.gate}"
            console.print(escape(f"{kind} verdict: {said}{_speed(verdict)}"), highlight=False)
            if verdict.modelled is not None:
                console.print(escape(verdict.modelled.text()), highlight=False)
            for feedback in verdict.feedback:
                console.print(escape(feedback.text()), highlight=False, soft_wrap=True)
        candidate = opened.candidate(attempt)
    for file, text in (candidate.files if candidate is not None else {}).items():
        console.rule(escape(file))
        lexer = Syntax.guess_lexer(file, text)
        console.print(Syntax(text, lexer, background_color="default", word_wrap=True))


def _speed(verdict: Verdict) -> str:
    latency = verdict.latency
    if latency is None:
        return ""
    text = f", {latency.over_eager} {latency.baseline}"
    return text if latency.over_compile is None else f"{text}, {latency.over_compile} torch.compile"


def _find(workspace: Workspace, what: str, campaign: int | None) -> Attempt:
    if what.isdecimal():
        return workspace.attempt(int(what))
    chosen = workspace.campaign(campaign)
    for entry in workspace.tasks(chosen):
        if entry.name != what or entry.task is None:
            continue
        if entry.champion is not None:
            return workspace.attempt(entry.champion)
        attempts = workspace.attempts(chosen, entry.task)
        if not attempts:
            raise UsageError(f"{what} has had no attempt in campaign {chosen.id} yet")
        return attempts[-1]
    raise UsageError(f"campaign {chosen.id} has no task {what!r}, and it is no attempt's number")


def _print_head(console: Console, attempt: Attempt) -> None:
    seconds = attempt.seconds
    cost = "unknown" if attempt.cost_usd is None else f"{attempt.cost_usd:.4f} USD"
    lines = [
        f"attempt {attempt.id}: {attempt.task_name} number {attempt.number} of campaign "
        f"{attempt.campaign}: {attempt.state}",
        f"stage {attempt.stage}, seed {attempt.seed}, cost {cost}; seconds: generate "
        f"{seconds.generate:.1f}, build {seconds.build:.1f}, judge {seconds.measure:.1f}",
        f"decisions: {', '.join(f'{k}={v}' for k, v in attempt.decisions.items()) or 'none'}",
        f"shown: {len(attempt.context)} hints",
    ]
    if attempt.prediction:
        lines.append(f"predicted: {attempt.prediction}")
    if attempt.reason:
        lines.append(f"reason: {attempt.reason}")
    console.print(escape("\n".join(lines)), highlight=False, soft_wrap=True)


def _asked(call: Call) -> str:
    cost = "from the cache" if call.cached else dollars(call.cost_usd)
    tokens = f"{count(call.tokens_in)} tokens in, {count(call.tokens_out)} out"
    problem = f": {call.problem}" if call.problem else ""
    return f"asked {call.model} as {call.role}: {tokens}, {cost}, {call.seconds:.1f} s{problem}"


def _lineage(workspace: Workspace, attempt: Attempt) -> str:
    return " -> ".join(
        f"#{one.id} ({'refused' if one.ratio is None else f'{one.ratio:.2f}x'})"
        for one in workspace.lineage(attempt)
    )
