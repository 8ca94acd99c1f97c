"""Serialization of jaxprs, from the sandbox that traced them to the engine.

Used inside sandboxes only. The bytes may come from a candidate that has taken over its sandbox, so
deserialization creates instances of a fixed list of JAX's data classes and calls nothing else.
"""

import gc
import io
import pickle
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import jax.experimental.pallas.tpu  # noqa: F401  (registers its primitives)
import numpy as np
from jax._src import core, source_info_util
from jax._src.linear_util import DebugInfo, WrappedFun, wrap_init
from jax._src.literals import TypedNdArray

_CLASSES = {
    "jax._src.core": """ClosedJaxpr DropVar Jaxpr JaxprEqn JaxprEqnContext Literal ManualAxisType
        MemorySpace ShapedArray Var""",
    "jax._src.indexing": "Slice",
    "jax._src.linear_util": "DebugInfo",
    "jax._src.literals": "TypedInt TypedFloat TypedNdArray",
    "jax._src.lax.lax": "DotAlgorithm DotAlgorithmPreset Precision RoundingMethod Tolerance",
    "jax._src.lax.convolution": "ConvDimensionNumbers",
    "jax._src.lax.slicing": "GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers",
    "jax._src.mesh": "AbstractDevice AbstractMesh AxisType Mesh",
    "jax._src.named_sharding": "_unpickle_named_sharding UNSPECIFIED UnspecifiedValue",
    "jax._src.sharding_impls": "UnspecifiedValue",
    "jax._src.layout": "AutoLayout",
    "jax._src.pallas.core": """BlockMapping Blocked BoundedSlice Buffered Element GridMapping
        MemoryRef MemorySpace PallasGridContext Squeezed CostEstimate GridDimensionSemantics""",
    "jax._src.pallas.mosaic.core": """CompilerParams DMASemaphore GridDimensionSemantics MemorySpace
        SemaphoreType TPUMemorySpace AbstractSemaphore""",
    "jax._src.pallas.primitives": "DeviceIdType",
    "jax._src.partition_spec": "PartitionSpec UnconstrainedSingleton _UNCONSTRAINED_PARTITION",
    "jax": "P",
    "jax._src.state.indexing": "NDIndexer Slice",
    "jax._src.state.types": """AbstractRef AccumEffect BitcastTransform ReadEffect ReshapeTransform
        RefBitcaster RefReshaper TransformedRef WriteEffect""",
    "jax._src.tree_util": "default_registry tracing_registry",
    "jaxlib._jax.pytree": "PyTreeDef",
    "ml_dtypes": "bfloat16 float8_e4m3fn float8_e5m2 int4 uint4",
    "numpy": """dtype ndarray bool_ bool float16 float32 float64 int8 int16 int32 int64 uint8 uint16
        uint32 uint64""",
    "numpy._core.multiarray": "scalar _reconstruct",
    "numpy._core.numeric": "_frombuffer",
    "builtins": "slice range complex frozenset set",
    "collections": "OrderedDict",
    __name__: "_no_source _primitive _placeholder",
}
_ALLOWED = {(module, name) for module, names in _CLASSES.items() for name in names.split()}
_PRIMITIVES = {one.name: one for one in gc.get_objects() if isinstance(one, core.Primitive)}
"""All primitives by name: JAX keeps no list of its own."""


class InvalidTrace(Exception):
    """The bytes are not a serialized jaxpr, or contain what a kernel may not."""


def _primitive(name: str) -> core.Primitive:
    if name not in _PRIMITIVES:
        raise InvalidTrace(f"unknown primitive {name!r}")
    return _PRIMITIVES[name]


def _refuse_call(*_: object, **__: object) -> None:
    raise InvalidTrace("it calls back into Python")


def _placeholder(wrapped: bool) -> WrappedFun | Callable[..., None]:
    debug_info = DebugInfo("derivative", "unused", None, None)
    return wrap_init(_refuse_call, debug_info=debug_info) if wrapped else _refuse_call


def _no_source() -> source_info_util.SourceInfo:
    return source_info_util.new_source_info()


class _Serializer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, core.Primitive):
            return _primitive, (value.name,)
        if isinstance(value, source_info_util.SourceInfo):
            return _no_source, ()
        if isinstance(value, TypedNdArray):
            # JAX 0.10.2 passes a wrong second argument when it pickles one itself.
            return TypedNdArray, (np.array(value, copy=True, subok=False), value.aval)
        if isinstance(value, FunctionType | MethodType | partial | WrappedFun):
            known = (getattr(value, "__module__", ""), getattr(value, "__qualname__", ""))
            # The others are rules for derivatives, which are never used.
            return (
                NotImplemented
                if known in _ALLOWED
                else (_placeholder, (isinstance(value, WrappedFun),))
            )
        return NotImplemented


_PythonUnpickler: Any = pickle._Unpickler
"""The implementation in Python, whose opcodes can be overridden."""


class _Deserializer(_PythonUnpickler):  # type: ignore[misc]
    dispatch = dict(_PythonUnpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise InvalidTrace(f"{module}.{name} is not allowed in a traced kernel")
        return super().find_class(module, name)

    def load_build(self) -> None:
        if callable(self.stack[-2]):
            raise InvalidTrace("it modifies a class or function")
        super().load_build()

    dispatch[pickle.BUILD[0]] = load_build


def serialize_jaxpr(jaxpr: core.ClosedJaxpr) -> bytes:
    file = io.BytesIO()
    _Serializer(file, protocol=5).dump(jaxpr)
    return file.getvalue()


def deserialize_jaxpr(content: bytes) -> core.ClosedJaxpr:
    """Raises InvalidTrace, whatever is wrong with the content."""
    try:
        jaxpr = _Deserializer(io.BytesIO(content)).load()
        if not isinstance(jaxpr, core.ClosedJaxpr):
            raise InvalidTrace("not a traced function")
        core.check_jaxpr(jaxpr.jaxpr)
    except InvalidTrace:
        raise
    except Exception as error:  # with arbitrary bytes, the allowed classes may raise anything
        raise InvalidTrace(f"not a traced function: {error}") from error
    return jaxpr
