"""`kernelmill show`: one attempt with its source, verdicts and lineage."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from kernelmill.api import DEFAULT_WORKSPACE
from kernelmill.cli.json_output import JsonOption, print_json
from kernelmill.cli.options import CampaignOption, WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.records.attempt import Attempt
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.text import clean_text
from kernelmill.records.verdict import Verdict
from kernelmill.report.listing import AttemptDetail, attempt_detail
from kernelmill.report.spending import count, dollars
from kernelmill.sweeps.table import described
from kernelmill.workspace import Workspace

_HEADERS = (".h", ".hpp", ".cuh")
_LONG_HEADER = 24
"""Lines."""


def show_command(
    what: Annotated[str, typer.Argument(help="The number of an attempt, or the name of a task.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: CampaignOption = None,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Also show what models were sent and answered.")
    ] = False,
    headers: Annotated[
        bool, typer.Option("--headers", help="Also print long header files.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show one attempt: lineage, decisions, verdicts, source.

    Of a task, the best attempt in the latest campaign that has the task.
    """
    with Workspace(workspace) as opened:
        if what.isdecimal():
            attempt = opened.attempt(int(what))
        else:
            found = opened.campaign(campaign) if campaign else opened.latest_campaign(what)
            attempt = opened.best_attempt(found, what)
        detail = attempt_detail(opened, attempt)
    if json:
        print_json(detail)
    else:
        _print_detail(wide_console(), detail, prompts)
        _print_files(wide_console(), detail, headers)


def _print_detail(console: Console, detail: AttemptDetail, prompts: bool) -> None:
    _print_head(console, detail.attempt)
    _print(console, f"lineage: {_lineage(detail)}")
    if detail.combination:
        _print(console, f"combination of a sweep: {described(detail.combination)}")
    for call, said in zip(detail.calls, detail.conversations, strict=True):
        _print(console, _call_line(call))
        for message in said if prompts else ():
            console.rule(escape(f"{call.role}: {message.speaker}"))
            _print(console, clean_text(message.text, len(message.text)))
    for kind, verdict in detail.verdicts.items():
        _print_verdict(console, kind, verdict)


def _print_files(console: Console, detail: AttemptDetail, headers: bool) -> None:
    """Long headers are mostly a library, above which the kernel itself would be out of sight."""
    for file, text in detail.files.items():
        lines = len(text.splitlines())
        if file.endswith(_HEADERS) and lines > _LONG_HEADER and not headers:
            _print(console, f"{file}: {lines} lines, printed with --headers")
            continue
        console.rule(escape(file))
        lexer = Syntax.guess_lexer(file, text)
        # Not wrapped: what is copied from a terminal or a pipe is the source, line by line.
        console.print(Syntax("", lexer).highlight(text), soft_wrap=True)


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _print_head(console: Console, attempt: Attempt) -> None:
    seconds = attempt.seconds
    cost = "unknown" if attempt.cost_usd is None else f"{attempt.cost_usd:.4f} USD"
    lines = [
        f"attempt {attempt.id}: {attempt.task_name}, attempt {attempt.number} of the task in "
        f"campaign {attempt.campaign}: {attempt.state}",
        f"stage {attempt.stage}, seed {attempt.seed}, cost {cost}; seconds: generate "
        f"{seconds.generate:.1f}, build {seconds.build:.1f}, judge {seconds.measure:.1f}",
        f"decisions: {', '.join(f'{k}={v}' for k, v in attempt.decisions.items()) or 'none'}",
        f"context: {len(attempt.context)} hints",
    ]
    if attempt.prediction:
        lines.append(f"predicted: {attempt.prediction}")
    if attempt.reason:
        lines.append(f"reason: {attempt.reason}")
    _print(console, "\n".join(lines))


def _print_verdict(console: Console, kind: str, verdict: Verdict) -> None:
    outcome = "passed" if verdict.passed else f"refused at {verdict.gate}"
    _print(console, f"{kind} verdict: {outcome}{_speed(verdict)}")
    if verdict.resources.peak_bytes is not None:
        _print(
            console, f"peak memory of a call: {verdict.resources.peak_bytes / (1 << 20):.1f} MiB"
        )
    if verdict.modelled is not None:
        _print(console, verdict.modelled.text())
    for feedback in verdict.feedback:
        _print(console, feedback.text())


def _speed(verdict: Verdict) -> str:
    latency = verdict.latency
    if latency is None:
        return ""
    text = f", {latency.over_baseline} over {latency.baseline}"
    compiled = latency.over_compile
    return text if compiled is None else f"{text}, {compiled} over torch.compile"


def _call_line(call: ModelCall) -> str:
    cost = "from the cache" if call.cached else dollars(call.cost_usd)
    tokens = f"{count(call.tokens_in)} tokens in, {count(call.tokens_out)} out"
    problem = f": {call.problem}" if call.problem else ""
    return f"called {call.model} as {call.role}: {tokens}, {cost}, {call.seconds:.1f} s{problem}"


def _lineage(detail: AttemptDetail) -> str:
    return " -> ".join(
        f"#{one.id} ({one.state if one.ratio is None else f'{one.ratio:.2f}x'})"
        for one in detail.lineage
    )
