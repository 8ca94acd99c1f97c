"""Reading of C, C++ and CUDA sources without a parser, also of sources that do not compile.

It knows tokens, function bodies and the nesting of loops, but neither types nor the preprocessor.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from kernelmill.skills.features.functions import Function, LoopStack, SourceLoop

_LITERAL = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
_COMMENT = re.compile(rf"//[^\n]*|/\*.*?\*/|(?P<literal>{_LITERAL})", re.DOTALL)
_TOKEN = re.compile(
    rf"^[ \t]*#(?:\\\n|[^\n])*|{_LITERAL}|[A-Za-z_]\w*|\d[\w.']*|<<<|>>>|::|\S", re.MULTILINE
)
_NO_NAMES = frozenset(
    "__attribute__ __launch_bounds__ alignas decltype noexcept requires explicit if for while "
    "switch return sizeof".split()
)
"""Words before a bracket that are not the name of a function."""
_SCOPES = frozenset({"namespace", "struct", "class", "union", "extern"})
_MATH_NAMES = frozenset(
    f"{name}{suffix}"
    for name in "exp exp2 expm1 log log2 log1p log10 pow tanh sinh cosh sin cos tan atan atan2 erf "
    "erfc lgamma tgamma cbrt".split()
    for suffix in ("", "f")
)
_MATH = " math "
"""Separates scope and name in the counter key of a call of an elementary function."""
_VECTOR_TYPE = re.compile(r"\b(\w+)\s+__attribute__\s*\(\(\s*vector_size")
_WORDS: dict[str, str] = {
    "doubles": r"double",
    "divisions": r"/",
    "buffers": r"vector|malloc|calloc|aligned_alloc|make_unique\w*|new|Memory|cudaMalloc\w*",
    "prefetches": r"__builtin_prefetch|_mm_prefetch",
    "barriers": r"__syncthreads\w*|__syncwarp",
    "shared_arrays": r"__shared__",
    "shuffles": r"__shfl\w*|__reduce_\w+|__ballot\w*",
    "wide_loads": r"(?:float|u?int|half|bfloat16|double|u?short|u?char)[248]",
    "tensor_operations": r"mma_sync",
    "async_copies": r"memcpy_async|__pipeline_memcpy_async",
    "atomics": r"atomic[A-Z]\w*",
    "launches": r"<<<|EXEC_NPU_CMD",
}
_IN_ASSEMBLY: dict[str, str] = {
    "tensor_operations": r"mma\.|wgmma\.",
    "async_copies": r"cp\.async",
    "wide_loads": r"\.v[248]\.",
    "prefetches": r"prefetch\.",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in _WORDS.items()}
_ASSEMBLY = {name: re.compile(pattern) for name, pattern in _IN_ASSEMBLY.items()}


def math_metrics(counts: Counter[str], own: Container[str]) -> dict[str, float]:
    """Calls of elementary functions; one that the candidate does not define is the library's."""
    calls = library = 0
    for key, count in counts.items():
        scope, _, name = key.partition(_MATH)
        if name:
            calls += count
            library += count if scope == "std" or name not in own else 0
    return {"math_calls": calls, "library_math": library}


@lru_cache(maxsize=256)
def c_functions(text: str) -> tuple[Function, ...]:
    vector_types = frozenset(_VECTOR_TYPE.findall(text))
    tokens = _TOKEN.findall(_COMMENT.sub(lambda found: found["literal"] or " ", text))
    found = tuple(_functions(tokens, 0, len(tokens), vector_types, exported=False))
    if "__global__" in tokens:
        # Exported functions of such a file are launchers, which run on the host.
        return tuple(one._replace(entry=one.counts["device_entries"] > 0) for one in found)
    return found


def _functions(
    tokens: Sequence[str], begin: int, end: int, vector_types: frozenset[str], exported: bool
) -> Iterator[Function]:
    """Functions at the level of a file, namespace or class: a head with a bracket, and a body."""
    head = begin
    place = begin
    while place < end:
        token = tokens[place]
        if token == "{":
            close = _closing(tokens, place, end)
            words = [word for word in tokens[head:place] if not word.lstrip().startswith("#")]
            if "(" in words and "=" not in words[: words.index("(")]:
                entry = "extern" in words or (exported and "static" not in words)
                yield _function(words, tokens[place + 1 : close], entry, vector_types)
            elif _SCOPES & set(words):
                inner = "extern" in words
                yield from _functions(tokens, place + 1, close, vector_types, inner)
            place = head = close + 1
        elif token == ";":
            place = head = place + 1
        else:
            place += 1


def _function(
    head: list[str], body: Sequence[str], entry: bool, vector_types: frozenset[str]
) -> Function:
    name = next(
        (
            word
            for word, after in pairwise(head)
            if after == "(" and re.match(r"[A-Za-z_]", word) and word not in _NO_NAMES
        ),
        "",
    )
    counts = _counts(body, vector_types)
    counts["wide_loads"] += sum(bool(_PATTERNS["wide_loads"].fullmatch(word)) for word in head)
    counts["device_entries"] = "__global__" in head
    names = frozenset(word for word in body if re.match(r"[A-Za-z_]", word))
    return Function(name, entry, tuple(_Loops(body).found), names, counts)


def _counts(body: Sequence[str], vector_types: frozenset[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for place, token in enumerate(body):
        before = body[place - 1] if place else ""
        after = body[place + 1] if place + 1 < len(body) else ""
        if token.lstrip().startswith("#"):
            words = set(re.findall(r"\w+", token))
            counts["parallel_loops"] += {"omp", "parallel"} <= words
            counts["vectors"] += {"omp", "simd"} <= words
            counts["unrolls"] += "unroll" in words
            continue
        if token.startswith('"'):
            for name, pattern in _ASSEMBLY.items():
                counts[name] += pattern.search(token) is not None
            continue
        counts["vectors"] += token in vector_types or token.startswith("_mm")
        if token in _MATH_NAMES and after == "(" and before != ".":
            scope = body[place - 2] if before == "::" else ""
            counts[f"{scope}{_MATH}{token}"] += 1
        counts["specialisations"] += after == "<" and _has_number(body, place + 2)
        for name, pattern in _PATTERNS.items():
            counts[name] += pattern.fullmatch(token) is not None
    return counts


def _has_number(body: Sequence[str], place: int) -> bool:
    """Whether a template's arguments include a number, and a call follows."""
    number = False
    for token in range(place, min(place + 40, len(body))):
        if body[token] == ">":
            return number and body[token + 1 : token + 2] == ["("]
        if body[token] in (";", "{", "}", "(", "<"):
            return False
        number = number or (body[token].isdecimal() and body[token - 1] != "-")
    return False


class _Loops:
    """Finds the loops in the statements of a function body."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._loops = LoopStack()
        self._block(0)

    @property
    def found(self) -> list[SourceLoop]:
        return self._loops.found

    def _block(self, place: int) -> int:
        """Read statements up to the closing brace; return the position after it."""
        while place < len(self._tokens):
            if self._tokens[place] == "}":
                return place + 1
            place = self._statement(place)
        return place

    def _statement(self, place: int) -> int:
        if place >= len(self._tokens):
            return place
        token = self._tokens[place]
        if token == "{":
            return self._block(place + 1)
        if token in ("for", "while", "do"):
            return self._loop(place)
        if token in ("if", "switch"):
            return self._statement(self._behind_brackets(place + 1))
        if token == "else" or token.lstrip().startswith("#"):
            return self._statement(place + 1)
        return self._expression(place)

    def _loop(self, place: int) -> int:
        self._loops.begin()
        if self._tokens[place] == "do":
            place = self._statement(place + 1)
            if self._tokens[place : place + 1] == ["while"]:
                place = self._behind_brackets(place + 1) + 1
        else:
            place = self._statement(self._behind_brackets(place + 1))
        self._loops.end()
        return place

    def _expression(self, place: int) -> int:
        """Read up to the semicolon; bodies of lambdas are read as statements."""
        depth = 0
        while place < len(self._tokens):
            token = self._tokens[place]
            if token == "{":
                place = self._block(place + 1)
                continue
            if token == "}" or (token == ";" and depth == 0):
                return place + (token == ";")
            depth += (token in "([") - (token in ")]")
            self._loops.mention(token)
            place += 1
        return place

    def _behind_brackets(self, place: int) -> int:
        """The position after the bracket that closes the next one."""
        while place < len(self._tokens) and self._tokens[place] != "(":
            place += 1
        depth = 0
        while place < len(self._tokens):
            depth += (self._tokens[place] == "(") - (self._tokens[place] == ")")
            place += 1
            if depth == 0:
                break
        return place


def _closing(tokens: Sequence[str], place: int, end: int) -> int:
    depth = 0
    for at in range(place, end):
        depth += (tokens[at] == "{") - (tokens[at] == "}")
        if depth == 0:
            return at
    return end
