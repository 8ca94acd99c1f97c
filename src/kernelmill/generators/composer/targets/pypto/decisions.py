"""The decisions of a candidate in PyPTO."""

from kernelmill.records.decisions import Catalogue, Decision

CATALOGUE: Catalogue = {
    "tile": Decision(
        (8192, 4096, 2048, 1024, 256), "most elements of a vector tile, in every kernel"
    ),
}
