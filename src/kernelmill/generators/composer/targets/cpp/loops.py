"""Loops in C++, with OpenMP's demands for vectors and threads."""

from collections.abc import Iterator, Sequence

from kernelmill.generators.composer.loops.printer import LoopPrinter
from kernelmill.generators.composer.loops.statements import Loop, Reduction, Vectors


class OpenMpLoops(LoopPrinter):
    """With `vectors` off, vectors are left to the compiler."""

    def __init__(self, vectors: bool = True) -> None:
        self._vectors = vectors

    def _loop(self, loop: Loop) -> Iterator[str]:
        yield from self._demands(loop)
        yield from self._written(loop, self.lines(loop.body))

    def _demands(self, loop: Loop) -> Iterator[str]:
        vectors = loop.vectors if self._vectors else None
        if loop.unroll:
            yield f"#pragma GCC unroll {loop.unroll}"
        elif loop.threads is not None:
            wanted = loop.vectors or Vectors()
            words = ["parallel for", *_vector_words(vectors)]
            words += _clauses(wanted.reductions or loop.threads.reductions)
            if loop.threads.collapse > 1:
                words.append(f"collapse({loop.threads.collapse})")
            if loop.threads.schedule:
                words.append(f"schedule({loop.threads.schedule})")
            yield f"#pragma omp {' '.join(words)}"
        elif vectors is not None:
            words = [*_vector_words(vectors), *_clauses(vectors.reductions)]
            yield f"#pragma omp {' '.join(words)}"


def _vector_words(vectors: Vectors | None) -> list[str]:
    if vectors is None:
        return []
    return ["simd", *([f"simdlen({vectors.width})"] if vectors.width else [])]


def _clauses(reductions: Sequence[Reduction]) -> list[str]:
    return [f"reduction({reduction.op}:{reduction.name})" for reduction in reductions]
