"""Candidates read from folders and files: all of their sources, or an error."""

import os
from pathlib import Path

import pytest

from kernelmill.backends.reading import is_candidate, read_candidate
from kernelmill.records.candidate import MOST_BYTES, SOURCE_SUFFIXES, Origin
from kernelmill.records.errors import CandidateError

EXPLOITS = Path(__file__).parents[1] / "exploits"
ATTACKS = sorted(path.parent for path in EXPLOITS.glob("*attacks/*/attack.toml"))
UNREADABLE = {
    "75_file_name_becomes_an_option": "not a path inside",
    "87_link_to_the_environment": "is a link",
}
"""The one attack that no candidate can hold."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "gelu"
    write(folder / "model.py", "import torch\n")
    write(folder / "kernel.cpp", "int x;\n")
    return folder


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_folder_is_read_with_its_subfolders(folder: Path) -> None:
    write(folder / "include" / "tile.h", "// tile\n")
    candidate = read_candidate(folder, Origin.MODEL)
    assert candidate.files == {
        "include/tile.h": "// tile\n",
        "kernel.cpp": "int x;\n",
        "model.py": "import torch\n",
    }
    assert (candidate.name, candidate.origin) == ("gelu", Origin.MODEL)


def test_every_source_suffix_is_read(folder: Path) -> None:
    for suffix in SOURCE_SUFFIXES:
        write(folder / f"part{suffix}")
    assert len(read_candidate(folder).files) == len(SOURCE_SUFFIXES) + 2


@pytest.mark.parametrize(
    "name",
    ["verdict.json", "notes.md", "log.txt", "attack.toml", "__pycache__/model.cpython-311.pyc"],
)
def test_companions_are_no_part_of_it(folder: Path, name: str) -> None:
    write(folder / name)
    assert set(read_candidate(folder).files) == {"model.py", "kernel.cpp"}


@pytest.mark.parametrize("name", [".gitignore", ".git/config", ".ipynb_checkpoints/model.py"])
def test_hidden_files_and_folders_are_ignored(folder: Path, name: str) -> None:
    write(folder / name)
    assert set(read_candidate(folder).files) == {"model.py", "kernel.cpp"}


def test_a_hidden_folder_above_the_candidate_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path / ".cache" / "gelu" / "model.py")
    assert set(read_candidate(tmp_path / ".cache" / "gelu").files) == {"model.py"}


@pytest.mark.parametrize("name", ["kernel.so", "kernel.CPP", "kernel.rs", "Makefile", "sub/data"])
def test_an_unknown_suffix_is_an_error(folder: Path, name: str) -> None:
    write(folder / name)
    with pytest.raises(CandidateError, match=rf"{Path(name).name} is no source file.*\.cpp"):
        read_candidate(folder)


@pytest.mark.parametrize("target", ["/etc/passwd", "kernel.cpp", "nowhere.cpp", "/etc"])
def test_links_are_refused(folder: Path, target: str) -> None:
    (folder / "other.cpp").symlink_to(target)
    with pytest.raises(CandidateError, match=r"other\.cpp is a link"):
        read_candidate(folder)


def test_a_companion_that_is_a_link_is_refused(folder: Path) -> None:
    (folder / "notes.md").symlink_to("/etc/passwd")
    with pytest.raises(CandidateError, match="is a link"):
        read_candidate(folder)


def test_a_pipe_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cpp")
    with pytest.raises(CandidateError, match="not a plain file"):
        read_candidate(folder)


def test_one_file_becomes_the_entry(tmp_path: Path) -> None:
    write(tmp_path / "fast.py", "import torch\n")
    candidate = read_candidate(tmp_path / "fast.py")
    assert (candidate.files, candidate.name) == ({"model.py": "import torch\n"}, "fast")
    write(tmp_path / "fast.cc", "int x;\n")
    assert read_candidate(tmp_path / "fast.cc", entry="kernel.cpp").files == {
        "kernel.cpp": "int x;\n"
    }


@pytest.mark.parametrize("name", ["verdict.json", "kernel.so", "model"])
def test_one_file_of_another_kind_is_an_error(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    with pytest.raises(CandidateError, match="is no source file"):
        read_candidate(tmp_path / name)


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CandidateError, match="there is no candidate at"):
        read_candidate(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CandidateError, match="holds no source file"):
        read_candidate(tmp_path / "empty")


def test_binary_and_oversized_files_are_errors(folder: Path) -> None:
    (folder / "kernel.cpp").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CandidateError, match="not a text file"):
        read_candidate(folder)
    (folder / "kernel.cpp").write_bytes(b" " * (MOST_BYTES + 1))
    with pytest.raises(CandidateError, match="larger than 2 MiB"):
        read_candidate(folder)


def test_a_candidate_has_its_entry(folder: Path) -> None:
    assert is_candidate(folder)
    assert is_candidate(folder, "kernel.cpp")
    assert not is_candidate(folder, "kernel.cu")
    assert not is_candidate(folder / "nowhere")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_attacks_are_read(attack: Path) -> None:
    """An attack that cannot be read proves nothing about the judge."""
    if attack.name in UNREADABLE:
        with pytest.raises(CandidateError, match=UNREADABLE[attack.name]):
            read_candidate(attack)
    else:
        assert read_candidate(attack).files
