"""The answers of the MCP tools, read from a campaign and its workspace."""

from kernelmill.mcp.agent_campaign import AgentCampaign, Submission
from kernelmill.mcp.results import (
    AgentTask,
    AttemptLine,
    BestText,
    GuideText,
    LessonText,
    ParentText,
    ProfileText,
    Recollection,
    SkillLine,
    SkillList,
    TaskList,
    TaskText,
    VerdictText,
)
from kernelmill.records.attempt import Attempt
from kernelmill.records.campaign import Campaign, CampaignTask
from kernelmill.records.decisions import APPROACH
from kernelmill.records.errors import KernelmillError, UsageError
from kernelmill.records.proposal import Hint, Parent, Stage
from kernelmill.records.verdict import Verdict
from kernelmill.skills.library import load_library
from kernelmill.tasks.shown import shown_source
from kernelmill.workspace import Workspace

_CONTRACT = "contract"


def task_list(campaign: AgentCampaign) -> TaskList:
    with campaign.reading() as (workspace, opened):
        lines = [_line(campaign, workspace, opened, entry) for entry in workspace.tasks(opened)]
    open_tasks = [line.task for line in lines if line.state == "open"]
    solved = [line.task for line in lines if line.state == "solved"]
    if open_tasks:
        step = f"Call read_task and recall with {open_tasks[0]}, then submit a candidate."
    elif solved:
        step = f"All are solved; make one faster: call recall with {solved[0]}."
    else:
        step = "No attempts are left: report what was reached."
    return TaskList(next_step=step, backend=campaign.backend.target, tasks=lines)


def _line(
    campaign: AgentCampaign, workspace: Workspace, opened: Campaign, entry: CampaignTask
) -> AgentTask:
    family = entry.described.family if entry.described is not None else ""
    if entry.task is None:
        return AgentTask(
            task=entry.name,
            family=family,
            state=f"cannot be worked on: {entry.set_aside}",
            attempts=0,
            attempts_left=0,
            best_speedup=None,
        )
    left = campaign.left(workspace, opened, entry)
    champion = None if entry.champion is None else workspace.attempt(entry.champion)
    state = "spent" if left == 0 else "open" if champion is None else "solved"
    return AgentTask(
        task=entry.name,
        family=family,
        state=state,
        attempts=len(workspace.attempts(opened, entry.task)),
        attempts_left=left,
        best_speedup=None if champion is None else champion.ratio,
    )


def read_task(campaign: AgentCampaign, name: str) -> TaskText:
    with campaign.reading() as (workspace, opened):
        task = campaign.entry(workspace, opened, name).described
    assert task is not None
    entry = campaign.backend.entry
    return TaskText(
        next_step="Call guide for the contract of a candidate, then recall for what was learned.",
        task=task.id,
        family=task.family,
        source=shown_source(task),
        inputs=list(map(str, task.shown.tensors)),
        outputs=list(map(str, task.outputs)),
        parameters={name: str(spec) for name, spec in task.state.items()},
        promises=[" ".join(words) for words in task.promises if words],
        hidden_shapes=len(task.hidden),
        candidate=f"{entry} and the files that it uses, for backend {campaign.backend.target}",
    )


def recall(campaign: AgentCampaign, name: str) -> Recollection:
    proposal = campaign.recall(name)
    if proposal.stage is Stage.DRAFT:
        step = "Write a candidate that is correct first, using the lessons, and submit it."
    else:
        step = "Change the parent so that it becomes faster, and submit all of its files."
    return Recollection(
        next_step=step,
        task=proposal.task.id,
        stage=proposal.stage,
        instruction=proposal.instruction,
        lessons=[_lesson(hint) for hint in proposal.context],
        parent=None if proposal.parent is None else _parent(proposal.parent),
    )


def _lesson(hint: Hint) -> LessonText:
    why = hint.why
    return LessonText(
        kind=hint.kind,
        text=hint.text,
        value=None if why is None else why.value,
        visits=0 if why is None else why.visits,
        why="" if why is None else why.reason,
    )


def _parent(parent: Parent) -> ParentText:
    return ParentText(
        attempt=parent.attempt,
        files=parent.candidate.files,
        verdict="\n".join(_words(parent.verdict)),
    )


def _words(verdict: Verdict) -> list[str]:
    lines = [feedback.text() for feedback in verdict.feedback]
    if verdict.latency is not None and verdict.passed:
        lines.append(f"passed: {verdict.latency.over_baseline} over {verdict.latency.baseline}")
    return lines


def verdict(campaign: AgentCampaign, submission: Submission) -> VerdictText:
    """What is known of a submission now."""
    identity = submission.id
    if not submission.judged.done():
        return VerdictText(
            next_step=f"Call wait with submission {identity}.", submission=identity, state="judging"
        )
    error = submission.judged.exception()
    if error is not None and not isinstance(error, KernelmillError):
        raise error
    if error is not None:
        return VerdictText(
            next_step=f"It could not be judged ({error}); work on another task.",
            submission=identity,
            state="failed",
        )
    with campaign.reading() as (workspace, opened):
        attempt = workspace.attempt(submission.judged.result())
        entry = campaign.entry(workspace, opened, attempt.task_name)
        left = campaign.left(workspace, opened, entry)
        deciding = workspace.verdict(attempt.id)
    return _verdict_text(identity, attempt, deciding, entry, left)


def _verdict_text(
    identity: str, attempt: Attempt, deciding: Verdict | None, entry: CampaignTask, left: int
) -> VerdictText:
    is_champion = entry.champion == attempt.id
    if left == 0:
        step = f"The budget of {entry.name} is spent: call list_tasks for another task."
    elif attempt.ratio is None:
        step = f"Read the feedback, call recall with {entry.name}, repair it and submit again."
    elif is_champion:
        step = f"It is the best so far: call profile with {attempt.id} to find what limits it."
    else:
        step = f"Call best with {entry.name} to compare it with the champion."
    latency = deciding.latency if deciding is not None and deciding.passed else None
    ratio = None if latency is None else latency.over_baseline
    return VerdictText(
        next_step=step,
        submission=identity,
        state=attempt.state,
        attempt=attempt.id,
        gate=attempt.gate,
        feedback=[] if deciding is None else [one.text() for one in deciding.feedback],
        speedup=attempt.ratio,
        interval=[] if ratio is None else [ratio.low, ratio.high],
        kernel_ms=None if latency is None else latency.candidate_ms,
        baseline_ms=None if latency is None else latency.baseline_ms,
        champion=is_champion,
        attempts_left=left,
    )


def profile(campaign: AgentCampaign, number: int) -> ProfileText:
    with campaign.reading() as (workspace, opened):
        attempt = workspace.attempt(number)
        if attempt.campaign != opened.id:
            raise UsageError(f"attempt {number} belongs to another campaign")
        found = workspace.verdict(number)
    if found is None or found.latency is None:
        raise UsageError(f"attempt {number} did not pass and has no profile: read its feedback")
    latency = found.latency
    floor = max(latency.floor_ms, latency.arithmetic_ms)
    details = [part.text() for part in (found.diagnosis, found.modelled) if part is not None]
    if found.profile is not None:
        details.append(
            f"{found.profile.kernel:.0%} of the CPU time is in its own library, "
            f"{found.profile.foreign:.0%} in code of others"
        )
    return ProfileText(
        next_step=f"Pick one method that moves the bottleneck (skills), and refine {number}.",
        attempt=number,
        kernel_ms=latency.candidate_ms,
        speed_of_light=floor / latency.candidate_ms if floor else None,
        bottleneck=latency.bottleneck,
        details=details,
    )


def best(campaign: AgentCampaign, name: str) -> BestText:
    with campaign.reading() as (workspace, opened):
        entry = campaign.entry(workspace, opened, name)
        attempts = workspace.attempts(opened, entry.task or 0)
        champion = None if entry.champion is None else workspace.attempt(entry.champion)
        candidate = None if champion is None else workspace.candidate(champion)
    step = (
        f"Nothing has passed yet: call recall with {name} and submit a candidate."
        if champion is None
        else f"Call profile with attempt {champion.id}, or recall with {name} to refine it."
    )
    return BestText(
        next_step=step,
        task=name,
        champion=None if champion is None else _attempt_line(champion),
        files={} if candidate is None else candidate.files,
        attempts=[_attempt_line(one) for one in attempts],
    )


def _attempt_line(attempt: Attempt) -> AttemptLine:
    return AttemptLine(
        attempt=attempt.id,
        number=attempt.number,
        state=attempt.state,
        speedup=attempt.ratio,
        parent=attempt.parent,
        reason=attempt.reason,
        approach=str(attempt.decisions.get(APPROACH, "")),
    )


def skills(campaign: AgentCampaign, name: str) -> SkillList:
    target = campaign.backend.target
    methods = {
        method.name: method
        for method in load_library().methods.values()
        if method.on(target) is not None
    }
    if name and name not in methods:
        raise UsageError(f"there is no skill {name!r} for {target}: call skills without a name")
    lines = []
    for method in methods.values():
        part = method.on(target)
        assert part is not None
        lines.append(SkillLine(name=method.name, title=method.front.title, expects=part.expects))
    return SkillList(
        next_step="Carry out the one that fits, and submit." if name else "Name one to read it.",
        skills=[line for line in lines if not name or line.name == name],
        text=methods[name].text(target) if name else "",
    )


def guide(campaign: AgentCampaign, chapter: str) -> GuideText:
    chapters = campaign.backend.guide()
    wanted = chapter or _CONTRACT
    if wanted not in chapters:
        raise UsageError(f"the guide has no chapter {chapter!r}; it has {', '.join(chapters)}")
    return GuideText(
        next_step="Call recall with a task, then write a candidate that keeps to the contract.",
        chapters=list(chapters),
        chapter=wanted,
        text=chapters[wanted],
        machine=list(campaign.backend.machine()),
    )
