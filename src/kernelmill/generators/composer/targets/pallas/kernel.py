"""The text of one kernel, and of the call that starts it."""

from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.blocks import Blocks, accumulates
from kernelmill.generators.composer.targets.pallas.lowering.registry import DTYPES
from kernelmill.generators.composer.targets.pallas.tensors import (
    Broadcast,
    Convolution,
    Cut,
    Fold,
    Iota,
    Joined,
    Map,
    Number,
    Padded,
    Permute,
    Pool,
    Product,
    Reshape,
    Scan,
    Tensor,
)
from kernelmill.syntax import names_in

_FOLDS = {"sum": "jnp.sum", "max": "jnp.max", "min": "jnp.min", "prod": "product_of"}
_JOINS = {"sum": "{0} + {1}", "max": "jnp.maximum({0}, {1})", "min": "jnp.minimum({0}, {1})",
          "prod": "{0} * {1}"}  # fmt: skip
_IDENTITIES = {"sum": "0.0", "max": "-jnp.inf", "min": "jnp.inf", "prod": "1.0"}
_INTEGER_IDENTITIES = {"sum": "0", "max": "-(2**31)", "min": "2**31 - 1", "prod": "1"}


class KernelText(NamedTuple):
    """A kernel and the call of it."""

    definition: list[str]
    call: list[str]
    """Python of the host: `{0}`, `{1}`... in its last line stand for what it reads."""


def write_kernel(number: int, blocks: Blocks, plan: Plan, names: Sequence[str]) -> KernelText:
    """`names` are those that the outputs get on the host."""
    return _Writer(number, blocks, plan).write(names)


def block_shape(tensor: Tensor, blocks: Blocks) -> list[str]:
    """Of the block of a tensor that a step sees: at least two axes, as Python."""
    sizes = []
    for place, extent in zip(blocks.axes.of(tensor), tensor.shape, strict=True):
        axis = blocks.grid_axis(place) if place is not None else None
        sizes.append(f"block_{axis}" if axis is not None else host(extent.code))
    return ["1"] * (2 - len(sizes)) + sizes


def whole_shape(tensor: Tensor) -> list[str]:
    return ["1"] * (2 - len(tensor.shape)) + [host(extent.code) for extent in tensor.shape]


def as_tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


class _Writer:
    def __init__(self, number: int, blocks: Blocks, plan: Plan) -> None:
        self._number, self._blocks, self._plan = number, blocks, plan
        self._codes: dict[int, str] = {}
        self._scratch: list[tuple[str, Tensor]] = []
        self._accumulated = [axis.place for axis in blocks.grid if axis.accumulated]

    def write(self, names: Sequence[str]) -> KernelText:
        inputs = [f"in_{number}" for number in range(len(self._blocks.inputs))]
        outputs = [f"out_{number}" for number in range(len(names))]
        body = [*self._loads(inputs), *self._computed(outputs)]
        scratch = [name for name, _ in self._scratch]
        sizes = sorted(filter(_is_size, names_in("\n".join(body))))
        parameters = ", ".join([*inputs, *outputs, *scratch, *(["*", *sizes] if sizes else [])])
        definition = [
            f"def kernel_{self._number}({parameters}):",
            *(f"    {line}" for line in body),
        ]
        return KernelText(definition, self._call(names, sizes))

    def _loads(self, inputs: Sequence[str]) -> list[str]:
        lines = []
        for name, tensor in zip(inputs, self._blocks.inputs, strict=True):
            self._codes[id(tensor)] = f"v{len(self._codes)}"
            lines.append(f"{self._codes[id(tensor)]} = {name}[...]")
        return lines

    def _computed(self, outputs: Sequence[str]) -> list[str]:
        late = self._blocks.late
        lines = [
            line
            for tensor in self._blocks.tensors
            if id(tensor) not in late or accumulates(tensor, self._blocks.axes, self._accumulated)
            for line in self._tensor(tensor)
        ]
        stores = dict(zip((id(t) for t in self._blocks.outputs), outputs, strict=True))
        lines += self._stores({key: name for key, name in stores.items() if key not in late})
        if not late:
            return lines
        after = [
            line
            for tensor in self._blocks.tensors
            if id(tensor) in late and not accumulates(tensor, self._blocks.axes, self._accumulated)
            for line in self._tensor(tensor)
        ]
        after += self._stores({key: name for key, name in stores.items() if key in late})
        known = [f"{self._codes[key]} = {name}[...]" for name, key in self._sums()]
        lines += ["", f"@pl.when({self._at('last')})", "def _():"]
        return [*lines, *(f"    {line}" for line in (*known, *after))]

    def _sums(self) -> list[tuple[str, int]]:
        return [(name, id(tensor)) for name, tensor in self._scratch]

    def _at(self, end: str) -> str:
        axes = [number for number, axis in enumerate(self._blocks.grid) if axis.accumulated]
        return f"at_{end}({', '.join(map(str, axes))})"

    def _stores(self, stores: dict[int, str]) -> list[str]:
        return [f"{name}[...] = {self._codes[key]}" for key, name in stores.items()]

    def _code(self, tensor: Tensor) -> str:
        return tensor.code if isinstance(tensor, Number) else self._codes[id(tensor)]

    def _tensor(self, tensor: Tensor) -> list[str]:
        """The statements that compute a tensor."""
        if self._is_absorbed(tensor):
            return []
        code = self._expression(tensor)
        summed = accumulates(tensor, self._blocks.axes, self._accumulated)
        name = f"v{len(self._codes)}"
        self._codes[id(tensor)] = name
        if not summed:
            return [f"{name} = {code}"]
        scratch = f"sum_{len(self._scratch)}"
        self._scratch.append((scratch, tensor))
        op = tensor.op if isinstance(tensor, Fold) else "sum"
        nothing = f"jnp.full({scratch}.shape, {_identity(op, tensor)}, {scratch}.dtype)"
        return [
            "",
            f"@pl.when({self._at('first')})",
            "def _():",
            f"    {scratch}[...] = {nothing}",
            "",
            f"{scratch}[...] = {_JOINS[op].format(f'{scratch}[...]', code)}",
        ]

    def _is_absorbed(self, tensor: Tensor) -> bool:
        """Whether products read the transpose of it instead."""
        users = [t for t in self._blocks.tensors if any(s is tensor for s in t.inputs)]
        return (
            isinstance(tensor, Permute)
            and any(tensor is made for made in self._blocks.tensors)
            and _is_swap(tensor)
            and not any(tensor is output for output in self._blocks.outputs)
            and all(isinstance(user, Product) for user in users)
        )

    def _shape(self, tensor: Tensor) -> str:
        return as_tuple(block_shape(tensor, self._blocks))

    def _expression(self, tensor: Tensor) -> str:
        sources = [self._code(s) for s in tensor.inputs if not self._is_absorbed(s)]
        if isinstance(tensor, Map):
            return tensor.template.format(*sources)
        if isinstance(tensor, Iota):
            return self._iota(tensor, tensor.axis, DTYPES[tensor.dtype])
        if isinstance(tensor, Fold):
            return self._fold(tensor)
        if isinstance(tensor, Product):
            return self._product(tensor)
        if isinstance(tensor, Reshape):
            return f"{sources[0]}.reshape({self._shape(tensor)})"
        if isinstance(tensor, Permute):
            return f"jnp.transpose({sources[0]}, {tensor.order})"
        if isinstance(tensor, Broadcast):
            return f"jnp.broadcast_to({sources[0]}, {self._shape(tensor)})"
        if isinstance(tensor, Cut):
            return self._cut(tensor, sources[0])
        if isinstance(tensor, Joined):
            axis = self._axis(tensor, tensor.axis)
            return f"jnp.concatenate([{', '.join(sources)}], axis={axis})"
        if isinstance(tensor, Padded):
            edges = [(0, 0)] * (2 - len(tensor.shape)) + list(tensor.edges)
            return f"jnp.pad({sources[0]}, {edges}, constant_values={tensor.filler})"
        if isinstance(tensor, Scan):
            axis = self._axis(tensor, tensor.axis)
            return f"running_{tensor.op}({sources[0]}, {axis}, {tensor.backwards})"
        if isinstance(tensor, Pool):
            return self._pool(tensor, sources[0])
        if isinstance(tensor, Convolution):
            return self._convolution(tensor, sources)
        raise Declined(f"a {type(tensor).__name__.lower()} inside of kernels")

    def _axis(self, tensor: Tensor, axis: int) -> int:
        """Its number in the kernel, where every tensor has two axes at least."""
        return axis + max(0, 2 - len(tensor.shape))

    def _cut(self, tensor: Cut, source: str) -> str:
        axis = self._axis(tensor, tensor.axis)
        size = host(tensor.shape[tensor.axis].code)
        return f"lax.slice_in_dim({source}, {tensor.start}, {tensor.start} + {size}, axis={axis})"

    def _iota(self, tensor: Tensor, axis: int, dtype: str) -> str:
        place = self._axis(tensor, axis)
        code = f"lax.broadcasted_iota(jnp.int32, {self._shape(tensor)}, {place})"
        number = self._blocks.grid_axis(self._blocks.axes.of(tensor)[axis])
        if number is not None:
            code = f"({code} + pl.program_id({number}) * block_{number})"
        return code if dtype == "jnp.int32" else f"{code}.astype({dtype})"

    def _fold(self, tensor: Fold) -> str:
        source = tensor.inputs[0]
        axes = as_tuple([str(self._axis(source, axis)) for axis in tensor.axes])
        identity = _identity(tensor.op, tensor)
        code = self._code(source)
        for axis in tensor.axes:
            code = self._within(source, axis, code, identity)
        return f"fold_along({_FOLDS[tensor.op]}, {code}, {axes})"

    def _within(self, tensor: Tensor, axis: int, code: str, identity: str) -> str:
        """With the identity in place of what lies beyond the end of an accumulated axis."""
        place = self._blocks.axes.of(tensor)[axis]
        if place not in self._accumulated:
            return code
        number = self._blocks.grid_axis(place)
        size = host(tensor.shape[axis].code)
        at = f"{self._axis(tensor, axis)}, {number}, block_{number}, {size}"
        return f"within({code}, {at}, {identity})"

    def _product(self, tensor: Product) -> str:
        sides, turned = [], []
        for side, along in zip(tensor.inputs, (-1, -2), strict=True):
            flat = self._is_absorbed(side)
            turned.append(flat)
            inner = side.inputs[0] if flat else side
            axis = len(inner.shape) + (along if not flat else -3 - along)
            sides.append(self._within(inner, axis, self._code(inner), "0.0"))
        flags = [
            f", {name}=True"
            for name, on in zip(("turn_left", "turn_right"), turned, strict=True)
            if on
        ]
        dot = f"dot_{self._plan.precision}"
        return f"multiply({dot}, {', '.join(sides)}{''.join(flags)})"

    def _pool(self, tensor: Pool, source: str) -> str:
        places = as_tuple([host(size.code) for size in tensor.shape[-len(tensor.slides) :]])
        if tensor.op == "adaptive":
            return f"pool_shares({source}, {places})"
        moves = [tuple(slide) for slide in tensor.slides]
        return f"pool_{tensor.op}({source}, {places}, {moves})"

    def _convolution(self, tensor: Convolution, sources: Sequence[str]) -> str:
        places = as_tuple([host(size.code) for size in tensor.shape[2:]])
        moves = [tuple(slide) for slide in tensor.slides]
        form = "deconvolve" if tensor.transposed else "convolve"
        dot = f"dot_{self._plan.precision}"
        groups = 0 if tensor.depthwise else tensor.groups
        return f"{form}({dot}, {', '.join(sources)}, {places}, {moves}, {groups})"

    def _call(self, names: Sequence[str], sizes: Sequence[str]) -> list[str]:
        blocks = self._blocks
        kernel = f"kernel_{self._number}"
        if sizes:
            given = ", ".join(f"{name}={name}" for name in sizes)
            kernel = f"functools.partial({kernel}, {given})"
        shapes = [
            f"jax.ShapeDtypeStruct({as_tuple(whole_shape(t))}, {DTYPES[t.dtype]})"
            for t in blocks.outputs
        ]
        scratch = [f"pltpu.VMEM({self._shape(t)}, {DTYPES[t.dtype]})" for _, t in self._scratch]
        read = ", ".join(f"{{{number}}}" for number in range(len(blocks.inputs)))
        return [
            *self._block_sizes(),
            f"[{', '.join(names)}] = pl.pallas_call(",
            f"    {kernel},",
            *_listed("out_shape", shapes),
            *self._grid(),
            *_listed("in_specs", [self._spec(tensor, True) for tensor in blocks.inputs]),
            *_listed("out_specs", [self._spec(tensor, False) for tensor in blocks.outputs]),
            *(_listed("scratch_shapes", scratch) if scratch else []),
            "    compiler_params=pltpu.CompilerParams(",
            *self._dimension_semantics(),
            f"        vmem_limit_bytes={self._plan.vmem} * 2**20,",
            "    ),",
            f")({read})",
        ]

    def _block_sizes(self) -> list[str]:
        lines = []
        for number, axis in enumerate(self._blocks.grid):
            size = host(self._blocks.axes.extent(axis.place).code)
            choose = "dividing" if axis.accumulated else "min"
            lines.append(f"block_{number} = {choose}({size}, {axis.block})")
        return lines

    def _grid(self) -> list[str]:
        if not self._blocks.grid:
            return []
        steps = [
            f"pl.cdiv({host(self._blocks.axes.extent(axis.place).code)}, block_{number})"
            for number, axis in enumerate(self._blocks.grid)
        ]
        return [f"    grid={as_tuple(steps)},"]

    def _dimension_semantics(self) -> list[str]:
        if not self._blocks.grid:
            return []
        kinds = [self._semantics(axis.accumulated) for axis in self._blocks.grid]
        return [f"        dimension_semantics={as_tuple(kinds)},"]

    def _semantics(self, accumulated: bool) -> str:
        chosen = self._plan.semantics
        if chosen == "auto":
            chosen = "arbitrary" if accumulated else "parallel"
        return f'"{chosen}"'

    def _spec(self, tensor: Tensor, is_input: bool) -> str:
        grid = self._blocks.grid
        if not grid:
            return "pl.BlockSpec(memory_space=pltpu.VMEM)"
        indices = [f"i{number}" for number in range(len(grid))]
        places = [
            self._blocks.grid_axis(place) if place else None
            for place in self._blocks.axes.of(tensor)
        ]
        index = ["0"] * (2 - len(places)) + [f"i{p}" if p is not None else "0" for p in places]
        cut_up = any(place is not None for place in places)
        if is_input and not cut_up and self._plan.resident == "vmem":
            return "pl.BlockSpec(memory_space=pltpu.VMEM)"
        mode = ""
        if cut_up and is_input and self._plan.buffers != 2:
            mode = f", pipeline_mode=pl.Buffered({self._plan.buffers})"
        placed = f"lambda {', '.join(indices)}: {as_tuple(index)}"
        return f"pl.BlockSpec({self._shape(tensor)}, {placed}{mode})"


def _listed(name: str, items: Sequence[str]) -> list[str]:
    """A list as an argument, one item to a line."""
    return [f"    {name}=[", *(f"        {item}," for item in items), "    ],"]


def _is_swap(tensor: Permute) -> bool:
    rank = len(tensor.order)
    return tensor.order == (*range(rank - 2), rank - 1, rank - 2)


def _identity(op: str, tensor: Tensor) -> str:
    return (_IDENTITIES if tensor.dtype == "float32" else _INTEGER_IDENTITIES)[op]


def _is_size(name: str) -> bool:
    """Whether a name is that of a size or of a block's."""
    return name.removeprefix("block_").isdigit() or (name[0] == "s" and name[1:].isdigit())
