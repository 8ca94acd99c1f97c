"""Task files that cannot be used: each is refused with one clear line."""

from pathlib import Path

import msgspec
import pytest

from judge.kernels import TASK
from kernelmill.judge import Judge
from kernelmill.records.errors import KernelmillError, TaskError, UsageError
from kernelmill.tasks import load_suite, prober

GOOD_TAIL = "\ndef get_init_inputs():\n    return [features]\n"

BAD_TEXTS = {
    "not Python": ("class Model(:\n", "not a Python file"),
    "no Model": (TASK.replace("class Model", "class Network"), "does not define Model"),
    "no get_inputs": (TASK.replace("def get_inputs", "def inputs"), "get_inputs"),
    "an import error": ("import does_not_exist\n" + TASK, "does_not_exist"),
    "get_inputs raises": (
        TASK.replace("return [torch.randn", "raise ValueError('no data today')\n    return [torch.randn"),
        "no data today",
    ),
    "forward raises": (TASK.replace("return 2 * x", "return 2 * y"), "name 'y' is not defined"),
    "inputs are no list": (TASK.replace("return [torch.randn(rows, features)]", "return 3"), "list"),
    "no tensor comes out": (TASK.replace("return 2 * x + self.bias", "return 3.0"), "no tensor"),
    "an object comes out": (TASK.replace("return 2 * x + self.bias", "return object()"), "object"),
    "randomness": (
        TASK.replace("return 2 * x", "return torch.rand_like(x) + 2 * x"), "different results",
    ),
    "changed inputs": (TASK.replace("return 2 * x", "x.mul_(2)\n        return x"), "changes its inputs"),
    "no module": (TASK.replace("class Model(nn.Module)", "class Model(list)"), ""),
    "a fork bomb": ("import os\nwhile True:\n    os.fork()\n" + TASK, "not permitted"),
    "a crash": ("import ctypes\nctypes.string_at(0)\n" + TASK, "SIGSEGV"),
    "an early exit": ("import os\nos._exit(0)\n" + TASK, "exit code 0"),
    "gigabytes of output": ("while True:\n    print('y' * 100000, flush=True)\n" + TASK, ""),
    "terminal codes": (
        "raise ValueError('\\x1b[31mred\\x07\\x9b2J\\u202egnp.exe\\r\\nsecond line' + 'x' * 10**6)\n" + TASK,
        "red",
    ),
    "terminal codes in names": (
        TASK.replace("self.bias = nn.Parameter(", "self.register_parameter('a\\x1b[2J', nn.Parameter(")
        .replace("torch.zeros(features))", "torch.zeros(features)))").replace(" + self.bias", ""),
        "is no name",
    ),
    "a type that nobody compares": (
        TASK.replace("return 2 * x + self.bias", "return (2 * x + self.bias).to(torch.complex64)"),
        "complex64",
    ),
    "a type of eight bits": (
        TASK.replace("return 2 * x + self.bias", "return (2 * x + self.bias).to(torch.float8_e5m2)"),
        "float8_e5m2",
    ),
    "100 GB that its code looks at": (
        TASK.replace("rows = 64", "rows = 100_000_000").replace("return 2 * x", "return x[x > 9] + 2 * x"),
        "looks at values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_task_files(judge: Judge, tmp_path: Path, name: str) -> None:
    text, says = BAD_TEXTS[name]
    path = tmp_path / "task.py"
    path.write_text(text)
    with pytest.raises(KernelmillError) as caught:
        judge.describe(load_suite(str(path))[0])
    assert says in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 5000


ANSWERS = {
    "no frame": b"\xff" * 64,
    "no JSON": b"\x04\0\0\0nope",
    "no object": b"\x02\0\0\0[]",
    "nothing in it": b"\x02\0\0\0{}",
    "a number": b'\x0a\0\0\0{"task":3}',
    "an error of another type": b'\x17\0\0\0{"error":{"a":"\\u001b"}}',
    "nested without end": (100_008).to_bytes(4, "little") + b'{"task":' + b"[" * 100_000,
    "half of a frame": b"\xff\0\0\0{",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_task_that_answers_in_the_describers_place(
    judge: Judge, tmp_path: Path, name: str
) -> None:
    """Its code finds the channel among the open files, answers, and leaves."""
    path = tmp_path / "task.py"
    path.write_text(
        "import os, stat\n"
        "for number in range(3, 64):\n"
        "    try:\n"
        "        if stat.S_ISSOCK(os.fstat(number).st_mode):\n"
        f"            os.write(number, {ANSWERS[name]!r})\n"
        "    except OSError:\n"
        "        pass\n"
        f"os._exit(0)\n{TASK}"
    )
    with pytest.raises(TaskError) as caught:
        judge.describe(load_suite(str(path))[0])
    assert str(caught.value).isprintable()


def test_a_name_of_a_file_is_printed_without_its_control_characters(
    judge: Judge, tmp_path: Path
) -> None:
    path = tmp_path / "a\x1b[2Jb\u202e.py"
    path.write_text(TASK)
    task = judge.describe(load_suite(str(path))[0])
    assert task.id.isprintable()


def test_a_task_that_never_ends(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "task.py"
    path.write_text("while True:\n    pass\n" + TASK)
    with pytest.raises(TaskError, match="no answer within"):
        prober.describe_task(judge.zygote, load_suite(str(path))[0], "cpu", seconds=1.0)


def test_binary_and_huge_files(tmp_path: Path) -> None:
    path = tmp_path / "task.py"
    path.write_bytes(b"\xff\xfe\x00class Model")
    with pytest.raises(TaskError, match="not a text file"):
        load_suite(str(path))
    path.write_text("#" * (2 << 20))
    with pytest.raises(TaskError, match="larger"):
        load_suite(str(path))


def test_names_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="built-in suites: attention, basic"):
        load_suite("no-such-suite")
    with pytest.raises(UsageError, match="it has gelu"):
        load_suite("starter/no_such_task")
    with pytest.raises(UsageError, match="holds no task"):
        load_suite(str(tmp_path))
    with pytest.raises(UsageError, match="there is no folder"):
        load_suite(f"kernelbench:{tmp_path}/nothing")


def test_scales_and_hidden_shapes(judge: Judge) -> None:
    gelu = load_suite("starter/gelu")[0]
    small, large = judge.describe(gelu, "cpu"), judge.describe(gelu, "cpu")
    assert small == large
    assert small.hidden
    for variant in small.hidden:
        assert variant.tensors != small.shown.tensors
    with pytest.raises(TaskError, match="no sizes for scale"):
        judge.describe(gelu, "wristwatch")


def test_hidden_shapes_are_found_where_a_file_names_none(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "task.py"
    path.write_text(TASK.replace("HIDDEN", "IGNORED"))
    task = judge.describe(load_suite(str(path))[0])
    shapes = {variant.tensors[0].shape for variant in task.variants}
    assert (64, 256) in shapes
    assert len(shapes) == 3
    assert all(shape[1] == 256 for shape in shapes), "features belong to the parameters"


def test_checkouts_of_the_public_benchmarks(tmp_path: Path) -> None:
    level = tmp_path / "KernelBench" / "level1"
    level.mkdir(parents=True)
    for name in ("10_last.py", "2_middle.py", "1_first.py"):
        (level / name).write_text(TASK)
    (level / "helper.py").write_text("x = 1\n")
    tasks = load_suite(f"kernelbench:{tmp_path}")
    assert [task.id.rpartition("/")[2] for task in tasks] == ["1_first", "2_middle", "10_last"]
    category = tmp_path / "multi" / "reference" / "normalization"
    category.mkdir(parents=True)
    (category / "rms.py").write_text(TASK)
    tasks = load_suite(f"multikernelbench:{tmp_path / 'multi'}")
    assert [task.family for task in tasks] == ["normalisation"]


def test_a_task_travels_as_json(judge: Judge) -> None:
    task = judge.describe(load_suite("starter/cross_entropy")[0])
    assert msgspec.json.decode(msgspec.json.encode(task), type=type(task)) == task
