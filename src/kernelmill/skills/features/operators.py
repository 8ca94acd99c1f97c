"""Metrics of a task, from the operators of its reference."""

import math

from kernelmill.records.task import Task, TensorSpec
from kernelmill.records.tensors import item_size

# Prefixes of ATen operator names.
_CONTRACTIONS = ("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "addr", "convolution",
                 "_convolution", "linear", "_scaled_dot_product", "scaled_dot_product")  # fmt: skip
_REDUCTIONS = ("sum", "mean", "amax", "amin", "max.", "min.", "argmax", "argmin", "prod", "var",
               "std", "norm", "logsumexp", "_softmax", "_log_softmax", "native_layer_norm",
               "native_group_norm", "native_batch_norm", "_native_batch_norm", "_fused_rms_norm",
               "linalg_vector_norm", "nll_loss", "cross_entropy", "mse_loss", "huber_loss",
               "smooth_l1_loss", "all.", "any.", "_scaled_dot_product",
               "scaled_dot_product")  # fmt: skip
_WINDOWS = ("convolution", "_convolution", "max_pool", "avg_pool", "adaptive_", "_adaptive",
            "upsample", "unfold", "im2col")  # fmt: skip
_SCANS = ("cumsum", "cumprod", "cummax", "cummin", "_cummax", "_cummin", "logcumsumexp",
          "_logcumsumexp")  # fmt: skip
_GATHERS = ("gather", "scatter", "index", "_index", "embedding", "_embedding", "take", "sort",
            "topk")  # fmt: skip


def operator_metrics(task: Task) -> dict[str, float]:
    size = bytes_once(task)
    return {
        "operators": len(task.signature),
        "contractions": _count(task, _CONTRACTIONS),
        "reductions": _count(task, _REDUCTIONS),
        "windows": _count(task, _WINDOWS),
        "scans": _count(task, _SCANS),
        "gathers": _count(task, _GATHERS),
        "megabytes": size / 1e6,
        "flops_per_byte": task.flops / max(1, size),
    }


def bytes_once(task: Task) -> int:
    """Bytes of inputs, parameters and outputs, each counted once."""
    return sum(map(_bytes, (*task.shown.tensors, *task.state.values(), *task.outputs)))


def _count(task: Task, prefixes: tuple[str, ...]) -> int:
    return sum(name.startswith(prefixes) for name in task.signature)


def _bytes(spec: TensorSpec) -> int:
    return math.prod(spec.shape) * item_size(spec.dtype)
