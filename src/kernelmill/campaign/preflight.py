"""Checks before a campaign begins: tools, devices and tasks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from kernelmill.backends.base import Backend
from kernelmill.campaign import measurement_lock
from kernelmill.generators.base import Generator
from kernelmill.judge import Judge
from kernelmill.records.campaign import NewTask
from kernelmill.records.errors import TaskError, UsageError
from kernelmill.records.numerics import Numerics
from kernelmill.tasks import TaskFile, find_suite, load_suite


def check_tools(backend: Backend, generator: Generator) -> None:
    """Raises BackendUnavailable, GeneratorUnavailable or WorkspaceError."""
    backend.demand_requirements()
    generator.check(backend.name)
    measurement_lock.check_locks()


def check_devices(backend: Backend, numbers: tuple[int, ...]) -> None:
    """Raises UsageError where a campaign cannot be judged on these devices at once."""
    if not numbers:
        return
    names = backend.devices()
    if not names:
        raise UsageError(f"backend {backend.name} has no devices to choose from here")
    unknown = [str(number) for number in numbers if not 0 <= number < len(names)]
    if unknown:
        raise UsageError(f"no device {', '.join(unknown)}: they are 0 to {len(names) - 1}")
    if len(set(numbers)) < len(numbers):
        raise UsageError("a device is named twice: name each once")
    if len({names[number] for number in numbers}) > 1:
        raise UsageError(
            "the timings of devices of different kinds cannot be compared: name devices of one kind"
        )


def find_tasks(suites: tuple[str, ...]) -> list[TaskFile | NewTask]:
    """The task files behind all names, each once; a file that is no task is set aside."""
    found: dict[str, TaskFile | NewTask] = {}
    for suite in suites:
        for entry in _entries(suite):
            name = entry.id if isinstance(entry, TaskFile) else entry.name
            if found.setdefault(name, entry) != entry:
                raise UsageError(f"two different tasks are called {name}: rename one of the files")
    if not found:
        raise UsageError(f"{', '.join(suites)} holds no task: no Python file in it defines Model")
    return list(found.values())


def find_task(name: str) -> TaskFile:
    """The task file behind a name. Raises UsageError where it stands for several tasks."""
    first, *others = load_suite(name)
    if others:
        raise UsageError(f"{name} is {len(others) + 1} tasks: name one of them, e.g. {first.id}")
    return first


def _entries(spec: str) -> Iterator[TaskFile | NewTask]:
    try:
        suite = find_suite(spec)
    except TaskError as error:
        yield NewTask(spec, None, str(error))
        return
    yield from suite.tasks
    for file in suite.skipped:
        if file.is_broken:
            yield NewTask(file.name, None, file.reason)


def describe_tasks(
    judge: Judge,
    entries: list[TaskFile | NewTask],
    scale: str,
    numerics: Numerics | None = None,
) -> Iterator[NewTask]:
    """Describe each task in a sandbox, one per processor; one that does not load, or asks nothing,
    is set aside.

    Tasks described at the same time may run out of a device's memory: one that failed is described
    again, alone, after all others.
    """
    failed = []
    with ThreadPoolExecutor(judge.settings.threads, "kernelmill-describe") as pool:
        found = pool.map(lambda entry: _described(judge, entry, scale, numerics), entries)
        for entry, new in zip(entries, found, strict=True):
            if judge.device.is_scarce and new.task is None:
                failed.append(entry)
            else:
                yield new
    for entry in failed:
        yield _described(judge, entry, scale, numerics)


def _described(
    judge: Judge, entry: TaskFile | NewTask, scale: str, numerics: Numerics | None
) -> NewTask:
    if isinstance(entry, NewTask):
        return entry
    try:
        task = judge.describe(entry, scale, numerics)
        if task.degenerate:
            return NewTask(entry.id, None, f"degenerate task: {task.degenerate}")
        if lacking := judge.backend.lacks(task):
            return NewTask(entry.id, None, f"backend {judge.backend.name} lacks {lacking}")
        return NewTask(entry.id, task)
    except TaskError as error:
        return NewTask(entry.id, None, str(error))


def demand_some(tasks: list[NewTask]) -> None:
    """Raises UsageError where no task loads."""
    broken = [new for new in tasks if new.task is None]
    if len(broken) == len(tasks):
        raise UsageError(
            f"none of the {len(tasks)} tasks loads; the first: {broken[0].set_aside}"
            + (
                ""
                if len(tasks) == 1
                else "; all reasons: `kernelmill tasks show` with the same name"
            )
        )
