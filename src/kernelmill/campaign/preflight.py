"""Everything that can be found wrong before anything is spent."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from kernelmill.backends.base import Backend, Device
from kernelmill.campaign import quiet
from kernelmill.errors import TaskError, UsageError
from kernelmill.generators.base import Generator
from kernelmill.judge import Judge
from kernelmill.tasks import TaskFile, load_suite
from kernelmill.workspace import NewTask


def check_tools(backend: Backend, generator: Generator) -> None:
    """Raises BackendUnavailable, GeneratorUnavailable or WorkspaceError."""
    backend.demand_requirements()
    generator.check(backend.name)
    quiet.check()


def check_devices(backend: Backend, numbers: tuple[int, ...]) -> None:
    """Raises UsageError where a campaign cannot be judged on these devices at once."""
    if not numbers:
        return
    names = backend.devices()
    if not names:
        raise UsageError(f"backend {backend.name} has no devices to choose from here")
    unknown = [str(number) for number in numbers if not 0 <= number < len(names)]
    if unknown:
        raise UsageError(f"no device {', '.join(unknown)}: there are 0 to {len(names) - 1}")
    if len(set(numbers)) < len(numbers):
        raise UsageError("a device is named twice")
    if len({names[number] for number in numbers}) > 1:
        raise UsageError("devices of different kinds would be compared with each other")


def find_tasks(suites: tuple[str, ...]) -> list[TaskFile | NewTask]:
    """The task files behind all names, each once; what is no task file is set aside."""
    found: dict[str, TaskFile | NewTask] = {}
    for suite in suites:
        for entry in _entries(suite):
            name = entry.id if isinstance(entry, TaskFile) else entry.name
            if found.setdefault(name, entry) != entry:
                raise UsageError(f"two different tasks are called {name}: rename one of the files")
    return list(found.values())


def _entries(suite: str) -> Iterator[TaskFile | NewTask]:
    try:
        yield from load_suite(suite)
    except TaskError as error:
        yield NewTask(suite, None, str(error))


def describe_tasks(
    judge: Judge, entries: list[TaskFile | NewTask], scale: str
) -> Iterator[NewTask]:
    """Load each in a cell, one a processor, in order; what does not load is set aside.

    Several that share a device may not find room in it: who failed in company is asked once more,
    alone, when all others are through.
    """
    crowded = judge.backend.device is not Device.CPU
    failed = []
    with ThreadPoolExecutor(judge.settings.threads, "kernelmill-describe") as pool:
        found = pool.map(lambda entry: _described(judge, entry, scale), entries)
        for entry, new in zip(entries, found, strict=True):
            if crowded and new.task is None:
                failed.append(entry)
            else:
                yield new
    for entry in failed:
        yield _described(judge, entry, scale)


def _described(judge: Judge, entry: TaskFile | NewTask, scale: str) -> NewTask:
    if isinstance(entry, NewTask):
        return entry
    try:
        return NewTask(entry.id, judge.describe(entry, scale))
    except TaskError as error:
        return NewTask(entry.id, None, str(error))


def demand_some(tasks: list[NewTask]) -> None:
    """Raises UsageError where there is nothing to work on."""
    broken = [new for new in tasks if new.task is None]
    if len(broken) == len(tasks):
        raise UsageError(f"none of the tasks loads; the first: {broken[0].set_aside}")
