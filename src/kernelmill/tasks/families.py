"""Family of a task, by the name of its folder, else by the operators it calls."""

FAMILIES = (
    "activation", "architecture", "attention", "convolution", "fused", "hyper", "index", "loss",
    "matmul", "normalisation", "optimiser", "pointwise", "pooling", "reduction", "resize", "scan",
    "softmax",
)  # fmt: skip

_FOLDERS = {
    "broadcast": "pointwise",
    "conv": "convolution",
    "fuse": "fused",
    "level2": "fused",
    "level3": "architecture",
    "math": "pointwise",
    "normalization": "normalisation",
    "optimizer": "optimiser",
    "reduce": "reduction",
}

# In order of precedence.
_OPERATORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("attention", ("scaled_dot_product", "_scaled_dot_product", "_flash_attention",
                   "_efficient_attention", "_fused_sdp")),
    ("convolution", ("convolution",)),
    ("matmul", ("mm", "bmm", "addmm", "baddbmm", "mv", "dot", "addmv")),
    ("pooling", ("max_pool", "avg_pool", "adaptive_", "max_pool2d_with_indices")),
    ("normalisation", ("native_batch_norm", "native_layer_norm", "native_group_norm",
                       "_native_batch_norm", "linalg_vector_norm", "_fused_rms_norm")),
    ("loss", ("nll_loss", "huber_loss", "smooth_l1_loss", "mse_loss", "clamp_min")),
    ("softmax", ("_softmax", "_log_softmax")),
    ("scan", ("cumsum", "cumprod", "logcumsumexp")),
    ("index", ("embedding", "gather", "index", "scatter")),
    ("reduction", ("sum", "mean", "amax", "amin", "argmax", "argmin", "prod", "var", "max", "min",
                   "logsumexp")),
    ("activation", ("relu", "gelu", "sigmoid", "tanh", "silu", "elu", "softplus", "hardtanh",
                    "hardswish", "leaky_relu", "erf")),
)  # fmt: skip
_HEAVY = ("convolution", "mm", "bmm", "addmm", "baddbmm")


def family_of_folder(folder: str) -> str | None:
    name = folder.lower()
    name = _FOLDERS.get(name, name)
    return name if name in FAMILIES else None


def family_of_signature(signature: tuple[str, ...]) -> str:
    names = [operator.partition(".")[0] for operator in signature]
    found = [
        family
        for family, operators in _OPERATORS
        if any(name.startswith(operator) for name in names for operator in operators)
    ]
    heavy = any(name in _HEAVY for name in names)
    if heavy and len(found) > 1 and found[0] != "attention":
        return "attention" if "_softmax" in names and names.count("bmm") else "fused"
    return found[0] if found else "pointwise"
