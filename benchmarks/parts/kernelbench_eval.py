"""KernelBench's own evaluation of candidates, each in a new process.

    python benchmarks/parts/kernelbench_eval.py CHECKOUT JOBS.json [--workers 4] [--minutes 5]

JOBS.json is a list of objects with `name`, `reference` and `candidate` (paths) and `backend`. For
every job a line of JSON is printed as soon as it is done. KernelBench's `eval_kernel_against_ref`
decides whether a candidate is right. Times are taken by KernelBench's clock: of the candidate, of
eager, and of torch.compile. Checks of several candidates run side by side; while one is timed, the
others leave the device alone. With --whole, `eval_kernel_against_ref` takes the times itself.

The process that starts the others never touches the device, so that they can be forked from it.
"""

import argparse
import contextlib
import fcntl
import importlib
import importlib.util
import io
import json
import multiprocessing
import os
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

_SEED = 42
"""KernelBench's own."""
_CLIENTS = {"openai": "OpenAI", "litellm": "completion", "dotenv": "load_dotenv"}
"""Packages that KernelBench imports to ask language models, with the name it takes from each."""
_NO_MEMORY = "out of memory"


class Job(NamedTuple):
    name: str
    reference: str
    candidate: str
    backend: str


class Options(NamedTuple):
    checkout: str
    trials: int
    """Correctness trials."""
    calls: int
    """Timed calls of each side; 0 takes no times."""
    compiled: bool
    whole: bool
    """Whether KernelBench's function takes the times as well, which draws all inputs anew."""
    seconds: float
    """Time limit of one job."""


class _Running(NamedTuple):
    process: BaseProcess
    job: Job
    answer: Connection
    deadline: float


class DeviceLock:
    """Shared by checks, exclusive for timings. Who waits for a timing goes before new checks."""

    def __init__(self, folder: Path) -> None:
        self._turn, self._device = folder / "turn", folder / "device"

    @contextlib.contextmanager
    def hold(self, exclusive: bool) -> Iterator[None]:
        with self._device.open("w") as device:
            with self._turn.open("w") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                fcntl.flock(device, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--seconds", type=float, default=300.0, help="limit of one job")
    arguments = parser.parse_args()
    options = Options(
        str(arguments.checkout.resolve()), arguments.trials, arguments.calls,
        not arguments.no_compile, arguments.whole, arguments.seconds,
    )  # fmt: skip
    end = None if arguments.minutes is None else time.monotonic() + 60 * arguments.minutes
    jobs = [Job(**one) for one in json.loads(arguments.jobs.read_text())]
    for result in evaluate_all(jobs, options, arguments.workers, end):
        print(json.dumps(result), flush=True)


def evaluate_all(
    jobs: list[Job], options: Options, workers: int, end: float | None
) -> Iterator[dict[str, Any]]:
    """The result of each job, as it is done; after `end` no job begins, and none goes on.

    A job that found too little memory beside the others is repeated alone.
    """
    alone = []
    with tempfile.TemporaryDirectory() as folder:
        lock = DeviceLock(Path(folder))
        for result in _run(jobs, options, workers, end, lock):
            if workers > 1 and _NO_MEMORY in result["reason"] + result["untimed"]:
                alone.append(result["name"])
            else:
                yield result
        again = [job for job in jobs if job.name in alone]
        yield from _run(again, options, 1, end, lock)


def _run(
    jobs: list[Job], options: Options, workers: int, end: float | None, lock: DeviceLock
) -> Iterator[dict[str, Any]]:
    context = multiprocessing.get_context("fork")
    waiting, running = list(jobs), list[_Running]()
    if waiting:
        _import_framework()
    while waiting or running:
        while waiting and len(running) < workers and not _is_over(end):
            running.append(_start(context, waiting.pop(0), options, lock, end))
        if not running:
            return
        wait([one.answer for one in running], timeout=0.5)
        for one in list(running):
            if one.answer.poll() or time.monotonic() > one.deadline or not one.process.is_alive():
                running.remove(one)
                yield {"name": one.job.name, "untimed": "", **_result(one)}


def _is_over(end: float | None) -> bool:
    return end is not None and time.monotonic() > end


def _start(
    context: Any, job: Job, options: Options, lock: DeviceLock, end: float | None
) -> _Running:
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_evaluate, args=(job, options, lock, theirs), daemon=True)
    process.start()
    theirs.close()
    deadline = time.monotonic() + options.seconds
    return _Running(process, job, ours, deadline if end is None else min(deadline, end))


def _result(one: _Running) -> dict[str, Any]:
    """What a process answered; where it did not, why. The process is gone afterwards."""
    result: dict[str, Any] = {"correct": False, "reason": "took too long"}
    try:
        if one.answer.poll():
            result = one.answer.recv()
        elif not one.process.is_alive():
            result["reason"] = f"its process ended with exit code {one.process.exitcode}"
    except EOFError:
        one.process.join(5)
        result["reason"] = f"its process ended with exit code {one.process.exitcode}"
    one.answer.close()
    one.process.join(5)
    one.process.kill()
    one.process.join()
    return result


def _import_framework() -> None:
    """What every process needs, before they are forked; nothing here may touch the device."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    import torch
    import torch._dynamo

    assert not torch.cuda.is_initialized()


def _evaluate(job: Job, options: Options, lock: DeviceLock, answer: Connection) -> None:
    """The whole life of the process of one job."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        evaluation = import_kernelbench(options.checkout)
        start = time.perf_counter()
        try:
            result = evaluate(evaluation, job, options, lock)
        except Exception as error:  # whatever a candidate raises under a foreign evaluation
            result = {"correct": False, "reason": _said(error)}
    result["seconds"] = time.perf_counter() - start
    answer.send(result)


def evaluate(evaluation: Any, job: Job, options: Options, lock: DeviceLock) -> dict[str, Any]:
    """KernelBench's findings on one candidate, in this process."""
    reference, candidate = Path(job.reference).read_text(), Path(job.candidate).read_text()
    with lock.hold(exclusive=options.whole):
        found = evaluation.eval_kernel_against_ref(
            reference,
            candidate,
            num_correct_trials=options.trials,
            num_perf_trials=options.calls,
            measure_performance=options.whole,
            check_for_excessive_speedup=options.whole,
            backend=job.backend,
        )
        if found is None:
            return {"correct": False, "reason": "KernelBench gave no result"}
        result = {"correct": bool(found.correctness), "reason": _reason(found)}
        if options.whole:
            return result | {"ms": found.runtime, "eager_ms": found.ref_runtime}
        if not options.calls or not found.compiled or "runtime_error" in found.metadata:
            return result
        try:
            sides = _load_sides(evaluation, reference, candidate, options.compiled)
        except Exception as error:  # of memory, or of torch.compile
            return result | {"untimed": _said(error)}
    with lock.hold(exclusive=True):
        return result | _times(evaluation, sides, options)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def import_kernelbench(checkout: str) -> Any:
    """KernelBench's module of evaluation. It imports clients of language models, which no
    evaluation calls: where they are missing, empty ones stand in."""
    for package, name in _CLIENTS.items():
        if package not in sys.modules and importlib.util.find_spec(package) is None:
            stand_in = types.ModuleType(package)
            setattr(stand_in, name, lambda *_, **__: None)
            sys.modules[package] = stand_in
    if (source := str(Path(checkout) / "src")) not in sys.path:
        sys.path.insert(0, source)
    return importlib.import_module("kernelbench.eval")


def _reason(found: Any) -> str:
    """Why a candidate is not right, in one line; empty where it is."""
    if found.correctness:
        return ""
    metadata = found.metadata
    kinds = ("compilation_error", "runtime_error", "correctness_issue")
    said = next((str(metadata[kind]) for kind in kinds if metadata.get(kind)), "not said")
    worst = metadata.get("max_difference")
    return said[:400] + (f", worst differences {', '.join(worst)}" if worst else "")


class _Sides(NamedTuple):
    """What is timed, on the device, with the inputs of KernelBench's timings."""

    models: dict[str, Any]
    inputs: list[Any]


def _load_sides(evaluation: Any, reference: str, candidate: str, compiled: bool) -> _Sides:
    """Construct both models as KernelBench does, and call each once, so that it is compiled."""
    import torch

    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    model, init_inputs, get_inputs = evaluation.load_original_model_and_inputs(reference, {})
    kernel, file = evaluation.load_custom_model_with_tempfile(candidate)
    made = {}
    with torch.no_grad():
        for name, kind in (("ms", kernel), ("eager_ms", model)):
            evaluation.set_seed(_SEED)
            made[name] = kind(*_on_device(init_inputs())).to("cuda")
        evaluation.set_seed(_SEED)
        inputs = _on_device(get_inputs())
        if compiled:
            made["compile_ms"] = torch.compile(made["eager_ms"])
        for one in made.values():
            one(*inputs)
        torch.cuda.synchronize()
    Path(file.name).unlink()
    return _Sides(made, inputs)


def _on_device(values: list[Any]) -> list[Any]:
    """As KernelBench moves them: every tensor becomes float32."""
    import torch

    return [
        value.to("cuda", torch.float32) if isinstance(value, torch.Tensor) else value
        for value in values
    ]


def _times(evaluation: Any, sides: _Sides, options: Options) -> dict[str, float]:
    """Mean milliseconds per call of each side, by KernelBench's clock."""
    import torch

    timing = evaluation.timing
    clock = timing.get_timing_function("cuda_event")
    device = torch.device("cuda", torch.cuda.current_device())
    means = {}
    with torch.no_grad():
        for name, model in sides.models.items():
            taken = clock(
                model, sides.inputs, num_trials=options.calls, verbose=False, device=device
            )
            means[name] = float(timing.get_timing_stats(taken, device=device)["mean"])
    return means


if __name__ == "__main__":
    main()
