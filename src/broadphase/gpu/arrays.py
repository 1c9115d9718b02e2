"""Arrays of other libraries as arrays of Warp and back, and working memory."""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.arguments import is_on_device, require_no_gradient
from broadphase.boxes.numbers import as_plain_array
from broadphase.errors import quoted
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Given", "Library", "Place", "Scratch", "device_named", "opened", "place_of", "release", "view_of",
]  # fmt: skip

#: NVIDIA Warp, started without its banner.
wp: Any = import_extra("warp", purpose="searching on a GPU", extra="gpu")
with wp.ScopedLogLevel(wp.LOG_WARNING):
    wp.init()

_lock = threading.Lock()


class Library:
    """A library of arrays. This one is NumPy: arrays are copied to the device, and results copied back."""

    name = "numpy"

    def stream(self, device: Any) -> Any:
        """Return the caller's stream as one of Warp; None on the CPU."""
        return wp.get_stream(device) if device.is_cuda else None

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
        """Allocate memory of the library; return it as an array of Warp that keeps it alive."""
        try:
            return wp.empty(shape, dtype=dtype, device=device)
        except RuntimeError as error:
            if "allocate" in str(error):
                raise MemoryError(f"no memory for {shape} on {device}: {error}") from error
            raise

    def give(self, array: Any) -> Any:
        """Return an array from `allocate` as one of the library."""
        return array.numpy()


class _Warp(Library):
    """Arrays of Warp, and of other libraries with the CUDA array interface or DLPack."""

    name = "warp"

    def give(self, array: Any) -> Any:
        return array


class _Jax(Library):
    """Arrays of JAX, which waits for other streams when it takes a result by DLPack."""

    name = "jax"

    def give(self, array: Any) -> Any:
        return sys.modules["jax"].dlpack.from_dlpack(array)


class _Torch(Library):
    """Tensors, on torch's current stream and in its memory, also within ``torch.cuda.graph``."""

    name = "torch"

    def stream(self, device: Any) -> Any:
        if not device.is_cuda:
            return None
        return _stream_at(device, sys.modules["torch"].cuda.current_stream(device.ordinal).cuda_stream)

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
        torch: Any = sys.modules["torch"]
        scalar, inner = _parts_of(dtype)
        try:
            kind = wp.dtype_to_torch(scalar)
            made = torch.empty((*shape, *inner), dtype=kind, device=wp.device_to_torch(device))
        except torch.OutOfMemoryError as error:
            raise MemoryError(f"no memory for {shape} on {device}: {error}") from error
        return _lent(made, made.data_ptr(), shape, dtype, device)

    def give(self, array: Any) -> Any:
        return array.owner


class _CuPy(_Torch):
    """Arrays of CuPy, on its current stream and of its memory pool."""

    name = "cupy"

    def stream(self, device: Any) -> Any:
        cupy: Any = sys.modules["cupy"]
        with cupy.cuda.Device(device.ordinal):
            return _stream_at(device, cupy.cuda.get_current_stream().ptr)

    def allocate(self, shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
        cupy: Any = sys.modules["cupy"]
        scalar, inner = _parts_of(dtype)
        try:
            with cupy.cuda.Device(device.ordinal):
                made = cupy.empty((*shape, *inner), wp.dtype_to_numpy(scalar))
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise MemoryError(f"no memory for {shape} on {device}: {error}") from error
        return _lent(made, made.data.ptr, shape, dtype, device)


NUMPY, WARP, JAX, TORCH, CUPY = Library(), _Warp(), _Jax(), _Torch(), _CuPy()
_LIBRARIES = {"torch": TORCH, "cupy": CUPY, "jax": JAX, "jaxlib": JAX, "warp": WARP}


def _parts_of(dtype: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the type of numbers of a type of Warp, and its shape: () unless it is a vector."""
    return getattr(dtype, "_wp_scalar_type_", dtype), getattr(dtype, "_shape_", ())


def _lent(owner: Any, pointer: int, shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    """Return memory of another library as an array of Warp that keeps it alive."""
    if pointer and 0 not in shape:
        array = wp.array(ptr=pointer, dtype=dtype, shape=shape, device=device, copy=False)
    else:
        array = wp.empty(shape, dtype=dtype, device=device)
    array.owner = owner
    return array


_streams: dict[tuple[str, int], Any] = {}


def _stream_at(device: Any, handle: int) -> Any:
    """Return the stream of Warp for a stream of CUDA; 0 is the default stream."""
    key = (device.alias, handle)
    stream = _streams.get(key)
    if stream is None:
        stream = _streams[key] = wp.Stream(device, cuda_stream=handle or None)
    return stream


class Given(NamedTuple):
    """An array of numbers from the caller, and its library."""

    array: Any
    library: Library


def opened(values: Any, name: str, device: Any = None) -> Given:
    """Return an array of any library as one of Warp, without a copy if it is on a device already.

    Arrays in host memory are copied to `device`; an array on another device raises ValueError.
    """
    library = _LIBRARIES.get(type(values).__module__.partition(".")[0])
    if library is None and not is_on_device(values):
        return _copied(values, name, device)
    if library is not WARP:
        require_no_gradient(values, name)
    try:
        if isinstance(values, wp.array):
            array = _as_scalars(values)
        elif library is TORCH:
            array = wp.from_torch(values.detach(), dtype=None) if values.device.type in ("cuda", "cpu") else None
        elif library is not JAX and hasattr(values, "__cuda_array_interface__"):
            array = wp.array(values, device=_device_of_interface(values), copy=False)
        else:
            array = _as_scalars(wp.from_dlpack(values))
    except (TypeError, RuntimeError, BufferError, KeyError, AttributeError, IndexError) as error:
        if not wp.is_cuda_available() and is_on_device(values):
            raise TypeError(f"{name} is on a CUDA device, and Warp finds none: is there a driver?") from error
        raise TypeError(f"{name} cannot be read as an array on a device: {error}") from error
    if array is None:
        raise TypeError(f"{name} is on device {values.device}; the devices here are CUDA's, and the CPU of Warp")
    if device is not None and array.device != device:
        raise ValueError(f"{name} is on {array.device.alias}, and the search is on {device.alias}; copy it there")
    return Given(array, library or WARP)


def _as_scalars(array: Any) -> Any:
    """Return an array of vectors, such as of ``wp.vec3``, as one of numbers with one more axis."""
    scalar, inner = _parts_of(array.dtype)
    if not inner:
        return array
    size = wp.types.type_size_in_bytes(scalar)
    steps = tuple(size * int(np.prod(inner[k + 1 :])) for k in range(len(inner)))
    return view_of(array, 0, (*array.shape, *inner), (*array.strides, *steps), scalar)


def view_of(array: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any = None) -> Any:
    """Return a view of an array, from an offset in bytes on, which keeps it alive."""
    dtype = array.dtype if dtype is None else dtype
    if 0 in shape:
        return wp.empty(shape, dtype=dtype, device=array.device)
    view = wp.array(ptr=array.ptr + offset, dtype=dtype, shape=shape, strides=strides, device=array.device, copy=False)
    view.owner = array
    return view


def _device_of_interface(values: Any) -> Any:
    """Return the device of an array with the CUDA array interface, which does not name it; CuPy's arrays do."""
    number = getattr(getattr(values, "device", None), "id", None)
    return wp.get_cuda_device(number) if isinstance(number, int) else wp.get_cuda_device()


def _copied(values: Any, name: str, device: Any) -> Given:
    if device is None:
        device = wp.get_preferred_device()
    plain = np.ascontiguousarray(as_plain_array(values, name))
    if not plain.dtype.isnative:
        plain = plain.astype(plain.dtype.newbyteorder("="))
    try:
        kind = wp.dtype_from_numpy(plain.dtype)
    except TypeError:
        raise TypeError(f"{name} has dtype {plain.dtype}, which no device has") from None
    array = NUMPY.allocate(plain.shape, kind, device)
    if plain.size:
        array.assign(plain)
    return Given(array, NUMPY)


# Where a call runs ----------------------------------------------------------------------------------------------------


class Scratch:
    """Working memory by name, which grows and is kept: calls of equal sizes allocate once.

    It belongs to the running call. Calls of one stream run one after another: on the host by the lock, on the device by
    the stream.
    """

    def __init__(self, device: Any, allocate: Callable[[tuple[int, ...], Any, Any], Any]) -> None:
        self.lock = threading.RLock()
        self._device = device
        self._allocate = allocate
        self._arrays: dict[tuple[str, Any], Any] = {}
        self._structs: dict[tuple[str, Any], tuple[Any, dict[str, Any]]] = {}
        self._launches: dict[tuple[Any, str], tuple[Any, int, list[Any]]] = {}

    def array(self, name: str, size: int, dtype: Any) -> Any:
        """Return an array of at least one and at least `size` elements."""
        key = name, dtype
        kept = self._arrays.get(key)
        if kept is None or kept.size < size:
            self._arrays.pop(key, None)
            kept = self._arrays[key] = self._allocate((max(size, 1),), dtype, self._device)
        return kept

    def struct(self, name: str, kind: Any, **fields: Any) -> Struct:
        """Return a struct of kernels, in memory kept by `name`; only fields that have changed are written again."""
        key = name, kind
        if key not in self._structs:
            self._structs[key] = kind.ctype(), {}
        memory, written = self._structs[key]
        for field, value in fields.items():
            packed = _packed(value)
            if field not in written or written[field] != packed:
                written[field] = packed
                if value is None:
                    setattr(memory, field, type(getattr(memory, field))())
                else:
                    setattr(memory, field, value if packed is value else value.__ctype__())
        return Struct(memory, fields)

    def launch(self, name: str, kernel: Any, size: int, inputs: list[Any]) -> None:
        """Launch a kernel. Packed arguments are kept by `name`; only those that have changed are packed again.

        This takes a quarter of the time of ``warp.launch``, which takes most of the time of a search of few boxes.
        """
        key = kernel, name
        values = [_packed(value) for value in inputs]
        command, size_before, before = self._launches.get(key, (None, size, values))
        if command is None:
            command = wp.launch(kernel, size, inputs=inputs, device=self._device, record_cmd=True)
            command.fwd_args = None  # it would keep arrays of the caller alive
        else:
            if size != size_before:
                command.set_dim(size)
            for place, (value, old) in enumerate(zip(values, before, strict=True)):
                if value is not old and value != old:
                    command.set_param_at_index(place, inputs[place])
        self._launches[key] = command, size, values
        command.launch()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.capacity for array in self._arrays.values())


class Struct:
    """A struct of kernels. Unlike one of Warp, its memory outlives it, but keeps no arrays of the caller alive."""

    __slots__ = ("_fields", "memory")

    def __init__(self, memory: Any, fields: dict[str, Any]) -> None:
        self.memory, self._fields = memory, fields

    def __ctype__(self) -> Any:
        return self.memory


def _packed(value: Any) -> Any:
    """Return a value that differs if an argument of a kernel has changed, without keeping an array alive."""
    if hasattr(value, "strides"):
        return value.ptr, value.shape, value.strides
    return value.memory if isinstance(value, Struct) else value


_kept: dict[tuple[str, int], Scratch] = {}


class Place(NamedTuple):
    """Where a call runs: a device, the caller's stream, and the library of results."""

    device: Any
    library: Library
    stream: Any

    @property
    def is_capturing(self) -> bool:
        """Whether the stream records a CUDA graph."""
        return self.stream is not None and bool(self.stream.is_capturing)

    def current(self) -> AbstractContextManager[Any]:
        """Make the caller's stream that of Warp for a ``with`` block."""
        if self.stream is None:
            return nullcontext()
        scope: AbstractContextManager[Any] = wp.ScopedStream(self.stream, sync_enter=False)
        return scope

    def given_number(self, array: Any) -> Any:
        """Return an array of one number as one without axes, which all libraries but Warp have."""
        given = self.library.give(array)
        return given if self.library is WARP else given[0]

    @contextmanager
    def running(self) -> Iterator[Scratch]:
        """Make the caller's stream current, and yield the working memory of its calls.

        A graph that is recorded gets memory of its own from the library's allocator, which keeps it for the life of the
        graph: the memory of other calls may be replaced before a replay.
        """
        if self.stream is None:
            scratch = _scratch_of(self.device, 0)
            with scratch.lock:
                yield scratch
            return
        if self.is_capturing:
            with self.current(), self._known_capture():
                yield Scratch(self.device, self.library.allocate)
            return
        scratch = _scratch_of(self.device, self.stream.cuda_stream or 0)
        with scratch.lock, self.current():
            yield scratch

    def _known_capture(self) -> AbstractContextManager[Any]:
        """Tell Warp of a capture that torch or CuPy has begun, so that its sort allocates in the graph."""
        if self.device.captures:
            return nullcontext()
        capture: AbstractContextManager[Any] = wp.ScopedCapture(stream=self.stream, external=True)
        return capture


def _scratch_of(device: Any, stream: int) -> Scratch:
    key = (device.alias, stream)
    with _lock:
        if key not in _kept:
            _kept[key] = Scratch(device, NUMPY.allocate)
        return _kept[key]


def release() -> None:
    """Free the working memory that calls on devices keep for later ones."""
    with _lock:
        _kept.clear()


def place_of(given: Given) -> Place:
    """Return where a call on this array runs."""
    device = given.array.device
    return Place(device, given.library, given.library.stream(device))


def device_named(device: Any) -> Any:
    """Return a device by its name; by default the current CUDA device."""
    if device is None:
        if not wp.is_cuda_available():
            raise ValueError(
                'there is no CUDA device: use broadphase.pairs, or pass device="cpu" to run the kernels on the CPU'
            )
        return wp.get_cuda_device()
    try:
        return wp.get_device(device)
    except (ValueError, RuntimeError) as error:
        names = ", ".join(one.alias for one in wp.get_devices())
        raise ValueError(f"there is no device {quoted(device)}; there are: {names}") from error
