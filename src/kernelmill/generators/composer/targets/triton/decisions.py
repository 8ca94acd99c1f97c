"""The decisions of a kernel in Triton."""

from kernelmill.generators.composer.lowering.decisions import FUSE
from kernelmill.records.decisions import Catalogue, Decision

CATALOGUE: Catalogue = {
    "fuse": FUSE,
    "specialise": Decision((True, False), "compile for the sizes at hand, or once for all of them"),
    "moments": Decision(
        ("joint", "two-pass", "one-pass"),
        "variance with the mean in one pass, from differences, or from squares in one pass",
    ),
    "keep_rows": Decision(
        (True, False), "keep a row that fits in registers instead of reading it again"
    ),
    "block": Decision((512, 1024, 2048, 4096), "elements to a program where there are no folds"),
    "warps": Decision(("auto", 4, 8, 2, 16), "warps to a program"),
    "precision": Decision(
        ("auto", "bf16x6", "tf32x3", "ieee"),
        "products: as coarse as the task's numerics allow; of planes split beforehand, of parts "
        "split at each use, or whole",
    ),
    "tile": Decision(
        ("auto", "128x128x32", "128x256x32", "64x128x32", "128x64x32", "64x64x32", "256x128x32"),
        "tile of a contraction: rows x columns x depth",
    ),
    "operand": Decision(
        ("auto", "packed", "channels-last", "direct"),
        "a convolution's weights, or its image too, copied so that channels are neighbours",
    ),
    "stages": Decision(("auto", 2, 3, 4, 5), "tiles on their way while one is multiplied"),
    "swizzle": Decision((8, 1, 4, 16), "rows of tiles that share their columns in the cache"),
    "resident": Decision(
        (0, 1, 2), "programs to a multiprocessor that go through all tiles; 0: one program a tile"
    ),
    "split": Decision(("auto", 1, 2, 4, 8, 16, 32), "programs that share the depth of one tile"),
}
