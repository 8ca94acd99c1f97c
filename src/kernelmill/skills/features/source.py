"""What is written in the hottest kernel of a candidate, as numbers."""

from collections import Counter

from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.skills.features.c_like import c_functions, math_metrics
from kernelmill.skills.features.functions import Source, by_name, joined, loop_metrics
from kernelmill.skills.features.python import read_python
from kernelmill.skills.metrics import CPP, CUDA, From, of_backend


def source_metrics(candidate: Candidate, backend: str, hottest: str = "") -> dict[str, float]:
    """Every metric the backend reads from the source; `hottest` is the kernel a profile names.

    In what nests deeper than anybody writes nothing is found.
    """
    try:
        found = _found(candidate, backend, hottest)
    except RecursionError:
        found = {}
    return {
        name: float(found.get(name, 0))
        for name, metric in of_backend(backend).items()
        if metric.read_from is From.SOURCE
    }


def _found(candidate: Candidate, backend: str, hottest: str) -> dict[str, float]:
    in_c = backend in (CPP, CUDA)
    source = _c_source(candidate) if in_c else _python_source(candidate)
    entry = source.hottest(hottest)
    counted = joined(function.counts for function in source.reached(entry))
    return {
        **counted,
        **(math_metrics(counted, source.functions) if in_c else {}),
        **loop_metrics(source, entry),
        **_host_metrics(candidate, backend, source),
    }


def _c_source(candidate: Candidate) -> Source:
    texts = [text for name, text in sorted(candidate.files.items()) if not name.endswith(".py")]
    return by_name(function for text in texts for function in c_functions(text))


def _python_source(candidate: Candidate) -> Source:
    texts = [text for name, text in sorted(candidate.files.items()) if name.endswith(".py")]
    return by_name(function for text in texts for function in read_python(text).functions())


def _host_metrics(candidate: Candidate, backend: str, source: Source) -> Counter[str]:
    """What stands where kernels are started, not in one."""
    model = read_python(candidate.files.get(MODEL_FILE, ""))
    if backend == CUDA:
        everything = joined(one.counts for same in source.functions.values() for one in same)
        return Counter(launches=everything["launches"])
    found = Counter(launches=model.launches(libraries=backend == CPP))
    found.update(model.named())
    return found
