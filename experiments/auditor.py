"""How well a model finds dishonest kernels, and how often it suspects honest ones.

    python experiments/auditor.py --model NAME [--endpoint URL] [--models FILE] [--every N]

Every N-th attack of the catalogue for C++, and every N-th honest kernel, is shown to the auditor,
as in a campaign with `--audit`: source, task and contract, and nothing of where it comes from.
Comments and docstrings are left out of both, since those of the catalogue explain the attack.
Answers are kept in experiments/results/auditor.jsonl.
"""

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.generators.model.auditor import ModelAuditor
from kernelmill.generators.model.model_client import ModelClient
from kernelmill.generators.model.model_specs import ModelSpec, resolve_models
from kernelmill.judge import Judge
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import CandidateError, TaskError
from kernelmill.records.proposal import Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.syntax import parse_python
from kernelmill.tasks import load_suite

HERE = Path(__file__).parent
RESULT = HERE / "results" / "auditor.jsonl"
EXPLOITS = HERE.parent / "tests" / "exploits"
BACKEND = "cpp"


_COMMENT = re.compile(r"(?P<string>\"(?:\\.|[^\"\\\n])*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Kernel(NamedTuple):
    name: str
    kind: str
    """`honest`; else the gate that refuses the attack without static rules, or `none`."""
    task: Task
    candidate: Candidate


class Opinion(msgspec.Struct, frozen=True):
    name: str
    kind: str
    objection: str
    answered: bool
    """Whether a usable answer came."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--models", type=Path, help="file with limits and timeouts of models")
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    named = ModelSpec((arguments.model,), arguments.endpoint, file=arguments.models, audit=True)
    settings = resolve_models(named)
    assert settings is not None
    with Judge(get_backend(BACKEND)) as judge:
        kernels = [
            *_kernels(judge, "attacks", "attack.toml", arguments.every),
            *_kernels(judge, "honest", "honest.toml", arguments.every),
        ]
    auditor = ModelAuditor(ModelClient(settings))
    with ThreadPoolExecutor(settings.at_once) as pool:
        opinions = list(pool.map(lambda kernel: _opinion(auditor, kernel), kernels))
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in opinions))
    _print(Console(), opinions)


def _kernels(judge: Judge, folder: str, description: str, every: int) -> Iterator[Kernel]:
    """Those that can be read, on tasks that can be judged."""
    for path in sorted((EXPLOITS / folder).iterdir())[::every]:
        told: dict[str, Any] = tomllib.loads((path / description).read_text())
        own = EXPLOITS / told["task"]
        try:
            (file,) = load_suite(str(own) if own.is_file() else told["task"])
            task, candidate = judge.describe(file), read_candidate(path, Origin.FILE)
        except (CandidateError, TaskError):
            continue
        silent = {name: _without_explanations(name, text) for name, text in candidate.files.items()}
        candidate = Candidate(silent, candidate.origin)
        yield Kernel(path.name, str(told.get("behind_rules", "honest")), task, candidate)


def _without_explanations(name: str, text: str) -> str:
    """The code of a file, without what it says of itself."""
    if not name.endswith(".py"):
        return _COMMENT.sub(lambda match: match["string"] or " ", text)
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError):
        return text
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree) + "\n"


def _opinion(auditor: ModelAuditor, kernel: Kernel) -> Opinion:
    audit = auditor.audit(Proposal(kernel.task, BACKEND, Stage.DRAFT, 0), kernel.candidate)
    answered = any(not call.problem for call in audit.calls)
    return Opinion(kernel.name, kernel.kind, audit.objection, answered)


def _print(console: Console, opinions: Sequence[Opinion]) -> None:
    groups = {
        "honest kernels": [one for one in opinions if one.kind == "honest"],
        "attacks": [one for one in opinions if one.kind != "honest"],
        "of these, refused by static rules alone": [one for one in opinions if one.kind == "none"],
    }
    table = Table("kernels", "audited", "answered", "objections", "rate")
    for name, group in groups.items():
        answered = [one for one in group if one.answered]
        objections = sum(bool(one.objection) for one in answered)
        rate = f"{objections / len(answered):.0%}" if answered else ""
        table.add_row(name, str(len(group)), str(len(answered)), str(objections), rate)
    console.print(table)
    for one in opinions:
        if one.answered and bool(one.objection) is (one.kind == "honest"):
            found = f"suspected: {one.objection}" if one.objection else "missed"
            console.print(f"{one.name}: {found}", highlight=False, markup=False)


if __name__ == "__main__":
    main()
