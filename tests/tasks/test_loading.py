"""Task files as people have them: folders with other files, functions, dicts, JSON cases."""

import json
from pathlib import Path

import pytest

from judge.kernels import TASK
from kernelmill.campaign.preflight import find_tasks
from kernelmill.judge import Judge
from kernelmill.records.campaign import NewTask
from kernelmill.records.errors import TaskError, UsageError
from kernelmill.tasks import TaskFile, find_suite, load_suite
from kernelmill.tasks.shown import shown_source

FUNCTION = """
import torch

rows = 8


def helper(x):
    return x


def reference(x, scale):
    return torch.relu(helper(x)) * scale


def get_inputs():
    return {"scale": torch.randn(16), "x": torch.randn(rows, 16)}
"""
GROUPS = """
import json
import os
import torch


class Model(torch.nn.Module):
    def forward(self, x, power=2):
        return x.abs() ** power


def get_input_groups():
    with open(os.path.join(os.path.dirname(__file__), "1_power.json"), "r") as file:
        cases = [json.loads(line) for line in file if line.strip()]
    return [[torch.randn(c["inputs"][0]["shape"]), c["inputs"][1]["value"]] for c in cases]


def get_init_inputs():
    return []
"""


def case(*shape: int, dtype: str = "float32", power: int = 2) -> str:
    tensor = {"name": "x", "type": "tensor", "dtype": dtype, "shape": shape}
    attribute = {"name": "power", "type": "attr", "dtype": "int", "value": power}
    return json.dumps({"inputs": [tensor, attribute]})


def test_one_file_that_is_no_task_does_not_stop_a_folder(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(TASK)
    (tmp_path / "half.py").write_text(TASK.replace("def get_inputs", "def inputs"))
    (tmp_path / "broken.py").write_text("class Model:\n  def (")
    (tmp_path / "helpers.py").write_text("import os\n")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    suite = find_suite(str(tmp_path))
    assert [task.id for task in suite.tasks] == [f"{tmp_path.name}/good"]
    reasons = {file.name.rpartition("/")[2]: file for file in suite.skipped}
    assert "does not define get_inputs" in reasons["half"].reason
    assert "not a Python file" in reasons["broken"].reason
    assert "not a text file" in reasons["binary"].reason
    assert not reasons["helpers"].is_broken and reasons["half"].is_broken
    entries = find_tasks((str(tmp_path),))
    assert [type(entry) for entry in entries] == [TaskFile, NewTask, NewTask, NewTask]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "model.py").write_text(f"{TASK}# {folder}")
        (tmp_path / folder / f"{folder}.py").write_text(TASK)
    names = [entry.id for entry in find_tasks((str(tmp_path),)) if isinstance(entry, TaskFile)]
    inner = ["first/model", "second/model", "first", "second"]
    assert sorted(names) == sorted(f"{tmp_path.name}/{name}" for name in inner)


def test_a_folder_without_a_task_says_why(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("import os\n")
    for find in (load_suite, lambda spec: find_tasks((spec,))):
        with pytest.raises(UsageError, match="holds no task"):
            find(str(tmp_path))


def described(judge: Judge, path: Path, source: str):
    path.write_text(source)
    return judge.describe(load_suite(str(path))[0])


def test_a_function_is_a_task_and_arguments_may_have_names(judge: Judge, tmp_path: Path) -> None:
    task = described(judge, tmp_path / "function.py", FUNCTION)
    assert [spec.shape for spec in task.shown.tensors] == [(8, 16), (16,)]
    assert task.family == "activation" and task.hidden
    assert "class Model" in task.source
    declared = described(judge, tmp_path / "own.py", 'FAMILY = "fused"\n' + FUNCTION)
    assert declared.family == "fused"
    with pytest.raises(TaskError, match=r"there are activation"):
        described(judge, tmp_path / "odd.py", 'FAMILY = "odd"\n' + FUNCTION)
    with pytest.raises(TaskError, match=r"2 functions may be meant \(helper, other\)"):
        described(judge, tmp_path / "two.py", FUNCTION.replace("reference", "other"))


def test_a_functions_defaults_stay(judge: Judge, tmp_path: Path) -> None:
    """Parameters with defaults need not be among the inputs; those by name only keep theirs."""
    source = FUNCTION.replace(
        "reference(x, scale)", "reference(x, scale, bias=rows / 4, *, more=1.0)"
    )
    source = source.replace("* scale", "* scale + bias * more")
    task = described(judge, tmp_path / "defaults.py", source)
    assert len(task.shown.tensors) == 2 and "bias=rows / 4" in task.source
    with pytest.raises(TaskError, match=r"reference takes more by name only: give it a default"):
        described(judge, tmp_path / "needed.py", source.replace("more=1.0", "more"))


def test_a_dict_may_leave_out_what_has_a_default(judge: Judge, tmp_path: Path) -> None:
    named = TASK.replace("return [features]", 'return {"features": features, "last": 3}')
    between = named.replace("(self, features)", "(self, features, between=2, last=1)")
    assert described(judge, tmp_path / "between.py", between).state["bias"].shape == (256,)
    by_name = named.replace("(self, features)", "(self, features, *, last=1)")
    with pytest.raises(TaskError, match=r"gives last by name, .* take last by position"):
        described(judge, tmp_path / "by_name.py", by_name)


def test_constructor_arguments_may_be_a_dict(judge: Judge, tmp_path: Path) -> None:
    named = TASK.replace("return [features]", 'return {"features": features}')
    assert described(judge, tmp_path / "named.py", named).state["bias"].shape == (256,)
    with pytest.raises(TaskError, match=r"get_init_inputs.* does not fit.*features"):
        described(judge, tmp_path / "other.py", named.replace('"features"', '"width"'))
    with pytest.raises(TaskError, match=r"get_init_inputs\(\) returns a int: it must return"):
        described(judge, tmp_path / "int.py", TASK.replace("return [features]", "return features"))


def test_attention_with_a_mask_is_attention_and_has_arithmetic(
    judge: Judge, tmp_path: Path
) -> None:
    source = """
import torch
import torch.nn.functional as F

length = 8


def attention(q, k, v):
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def get_inputs():
    return [torch.randn(2, 2, length, 4) for _ in range(3)]
"""
    task = described(judge, tmp_path / "masked.py", source)
    assert task.family == "attention"
    assert task.flops == 2 * 2 * (2 * 2 * 8 * 8 * 4)


def test_cases_in_json_are_shapes(judge: Judge, tmp_path: Path) -> None:
    cases = [case(4, 4), case(16, 8), case(64, 64, dtype="float16"), case(9, 9, power=3)]
    (tmp_path / "1_power.json").write_text("\n".join([*cases, case(3, 5)]) + "\n")
    task = described(judge, tmp_path / "1_power.py", GROUPS)
    assert [spec.shape for spec in task.shown.tensors] == [(16, 8)]
    assert [variant.tensors[0].shape for variant in task.hidden] == [(3, 5), (4, 4)]
    assert "[3, 5]" in task.source and "[3, 5]" not in shown_source(task)
    (tmp_path / "1_power.json").write_text("{}")
    with pytest.raises(TaskError, match=r"1_power.json, line 1, is not a case"):
        load_suite(str(tmp_path / "1_power.py"))
    (tmp_path / "1_power.json").unlink()
    with pytest.raises(TaskError, match="cannot be read from"):
        load_suite(str(tmp_path / "1_power.py"))


def test_a_reference_for_other_hardware_is_skipped_with_the_reason(tmp_path: Path) -> None:
    forward = "        import torch_npu\n        return torch_npu.npu_abs(x)\n"
    (tmp_path / "npu.py").write_text(TASK.replace("        return 2 * x + self.bias\n", forward))
    assert "needs torch_npu" in find_suite(f"multikernelbench:{tmp_path}").skipped[0].reason
