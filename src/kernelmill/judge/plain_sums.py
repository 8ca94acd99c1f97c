"""The count of numbers that a task adds up, as far as its operators and sizes tell."""

from collections.abc import Iterable

_ADDING = frozenset(
    """_fused_rms_norm _softmax addbmm addmm addmv baddbmm binary_cross_entropy
    binary_cross_entropy_with_logits bmm convolution cumprod cumsum dot einsum embedding_bag
    huber_loss index_add index_put l1_loss linalg_vector_norm linear matmul mean mm mse_loss mv
    native_batch_norm native_group_norm native_layer_norm norm prod rms_norm scatter_add
    scatter_reduce smooth_l1_loss soft_margin_loss std sum var var_mean vdot""".split()
)
"""Operators whose results have the relative error of their sums. The logarithm of a sum, as in
logsumexp or the cross-entropy, has not."""
_PREFIXES = ("_native_batch_norm", "_scaled_dot_product", "_flash_attention", "scaled_dot_product")


def longest_sum(signature: Iterable[str], shapes: Iterable[tuple[int, ...]]) -> int:
    """The longest dimension of what a task is given, if one of its operators adds numbers up.

    It is 1 for a task that adds nothing: there the error of a sum explains nothing.
    """
    names = {operator.partition(".")[0] for operator in signature}
    if not any(name.rstrip("_") in _ADDING or name.startswith(_PREFIXES) for name in names):
        return 1
    return max((extent for shape in shapes for extent in shape), default=1)
