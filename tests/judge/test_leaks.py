"""Planted secrets: none comes out in any field of a verdict, with the rules off."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.kernels import KERNEL, MODEL, TASK
from kernelmill.backends import get_backend
from kernelmill.backends.reading import read_candidate
from kernelmill.backends.support.build_cache import store_artefact
from kernelmill.judge import Judge, JudgeSettings
from kernelmill.places import cache_home
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import CandidateError
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite

pytestmark = [pytest.mark.compiler, pytest.mark.isolation]

SECRET = "planted_secret_3b9f"


class Planted:
    """Secrets where people and programs keep theirs."""

    def __init__(self, home: Path) -> None:
        store_artefact("ab12cd", f"// {SECRET}\n{SECRET}".encode())
        built = cache_home() / "builds" / "ab" / "ab12cd.so"
        key = home / ".api_key"
        key.write_text(f"{SECRET}\n")
        self.files = [built, key, Path("/proc/self/environ"), Path("/proc/1/environ")]
        self.files.append(Path(f"/proc/{os.getpid()}/environ"))
        self._configuration = Path("/etc/kernelmill-test-secret")
        if os.access("/etc", os.W_OK):
            self._configuration.write_text(f"{SECRET}\n")
            self.files.append(self._configuration)

    def remove(self) -> None:
        self._configuration.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("KERNELMILL_TEST_API_KEY", SECRET)
        secrets = Planted(home)
        yield secrets
        secrets.remove()


@pytest.fixture(scope="module")
def lenient(planted: Planted) -> Iterator[Judge]:
    with Judge(get_backend("cpp"), JudgeSettings(rounds=3, static_rules=False)) as judge:
        yield judge


@pytest.fixture(scope="module")
def task(lenient: Judge, tmp_path_factory: pytest.TempPathFactory) -> Task:
    path = tmp_path_factory.mktemp("task") / "task.py"
    path.write_text(TASK)
    return lenient.describe(load_suite(str(path))[0])


def told(judge: Judge, task: Task, **files: str) -> str:
    """Everything that a verdict on an honest kernel with changed files says."""
    names = {"model": "model.py", "kernel": "kernel.cpp"}
    texts = {"model.py": MODEL, "kernel.cpp": KERNEL}
    texts |= {names[name]: text for name, text in files.items()}
    verdict = judge.verify(task, Candidate(texts, Origin.FILE, "thief"), brief=True)
    return verdict.to_json().decode()


@pytest.mark.parametrize(
    "directive",
    [
        '#include "{path}"\n',
        '#define HEADER "{path}"\n#include HEADER\n',
        'static const char stolen[] = {{\n#embed "{path}"\n}};\nstatic_assert(stolen[0] == 0);\n',
        '#if __has_include("{path}")\n#include "{path}"\n#endif\n',
    ],
    ids=("include", "macro", "embed", "has_include"),
)
def test_a_compile_error_quotes_no_file(
    lenient: Judge, task: Task, planted: Planted, directive: str
) -> None:
    for path in planted.files:
        said = told(lenient, task, kernel=directive.format(path=path) + KERNEL)
        assert SECRET not in said, path


THIEF = """
import os
import pathlib

def _stolen():
    found = []
    for path in PATHS:
        try:
            found.append(pathlib.Path(path).read_text(errors="replace"))
        except OSError as error:
            found.append(str(error.errno))
    return found + [str(dict(os.environ))]

print(_stolen(), flush=True)
raise RuntimeError(str(_stolen()))
"""


def test_a_candidate_reads_no_secret_at_run_time(
    lenient: Judge, task: Task, planted: Planted
) -> None:
    paths = f"PATHS = {[str(path) for path in planted.files]!r}\n"
    said = told(lenient, task, model=paths + THIEF)
    assert "RuntimeError" in said
    assert SECRET not in said


def test_an_assembled_file_is_not_there(lenient: Judge, task: Task, planted: Planted) -> None:
    """The kernel would return the file's bytes as its outputs; it does not assemble."""
    for path in planted.files:
        included = f'asm(".section .rodata\\nstolen: .incbin \\"{path}\\"\\n.text");\n'
        said = told(lenient, task, kernel=included + KERNEL)
        assert SECRET not in said
        if path.name != "environ":
            assert '"passed": false' in said, path


def test_a_link_is_not_read(planted: Planted, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "kernel.cpp").symlink_to(planted.files[1])
    with pytest.raises(CandidateError) as caught:
        read_candidate(tmp_path)
    assert SECRET not in str(caught.value)
