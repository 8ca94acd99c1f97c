"""Metrics that are read from the source of a candidate's hottest kernel."""

from collections import Counter
from pathlib import PurePath

from kernelmill.records.candidate import MODEL_FILE, SOURCE_SUFFIXES, Candidate
from kernelmill.skills.features.c_like import c_functions, math_metrics
from kernelmill.skills.features.functions import CallGraph, call_graph, loop_metrics, total_counts
from kernelmill.skills.features.python import read_python
from kernelmill.skills.metrics import MetricSource, backend_metrics

_PYTHON = ".py"


def source_metrics(candidate: Candidate, target: str, hottest: str = "") -> dict[str, float]:
    """All metrics of a target that are read from the source.

    `hottest` is the kernel that a profile names. Counts are 0 in a source that nests too deeply to
    be read.
    """
    try:
        found = _count(candidate, hottest)
    except RecursionError:
        found = {}
    return {
        name: float(found.get(name, 0))
        for name, metric in backend_metrics(target).items()
        if metric.read_from is MetricSource.SOURCE
    }


def _count(candidate: Candidate, hottest: str) -> dict[str, float]:
    """Kernels are in C or C++ where there is any, in files or strings; else they are in Python."""
    modules = [read_python(text) for text in _texts(candidate, _PYTHON)]
    c_texts = [
        *_texts(candidate, *(suffix for suffix in SOURCE_SUFFIXES if suffix != _PYTHON)),
        *(text for module in modules for text in module.embedded_c()),
    ]
    if c_texts:
        graph = call_graph(function for text in c_texts for function in c_functions(text))
    else:
        graph = call_graph(function for module in modules for function in module.functions())
    entry = graph.hottest(hottest)
    counts = total_counts(graph.reached(entry))
    return {
        **counts,
        **math_metrics(counts, graph.functions),
        **loop_metrics(graph, entry),
        **_host_metrics(candidate, graph),
    }


def _texts(candidate: Candidate, *suffixes: str) -> list[str]:
    files = sorted(candidate.files.items())
    return [text for name, text in files if PurePath(name).suffix in suffixes]


def _host_metrics(candidate: Candidate, graph: CallGraph) -> Counter[str]:
    """Counts at the places where kernels are launched: in C++ host code, or else in model.py."""
    model = read_python(candidate.files.get(MODEL_FILE, ""))
    in_c = total_counts(one for same in graph.functions.values() for one in same)["launches"]
    found = Counter(launches=in_c or model.launches())
    found.update(model.launch_parameters())
    return found
