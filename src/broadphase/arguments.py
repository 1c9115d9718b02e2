"""Checks of single arguments: whole numbers, real numbers, True or False, and arrays of anything.

Each names the argument in its errors, so that none comes from NumPy or the core, which know no names.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from broadphase.errors import clipped, quoted

__all__ = [
    "array_of", "as_array", "as_flag", "as_length", "as_own_array", "as_real", "as_reals", "as_whole", "is_on_device",
    "require_no_gradient", "require_undamaged", "require_unmasked", "undamaged",
]  # fmt: skip


def as_whole(value: Any, name: str, least: int | None = None, most: int | None = None) -> int:
    """Convert a whole number, which may be a float such as 1e6.

    >>> as_whole(1e6, "chunk", 1)
    1000000
    >>> as_whole(0, "chunk", 1)
    Traceback (most recent call last):
    ValueError: chunk must be at least 1, not 0
    """
    if type(value) is not int:
        if isinstance(value, bool | np.bool_ | np.ndarray | str | bytes):
            raise TypeError(f"{name} must be a whole number, not {quoted(value)}")
        if isinstance(value, float | np.floating):
            if not float(value).is_integer():
                raise ValueError(f"{name} must be a whole number, not {value}")
            value = int(value)
        else:
            try:
                value = operator.index(value)
            except TypeError:
                raise TypeError(f"{name} must be a whole number, not {quoted(value)}") from None
    if (least is not None and value < least) or (most is not None and value > most):
        if most is None:
            wanted = "must not be negative" if least == 0 else f"must be at least {least}"
        else:
            wanted = f"must be at most {most}" if least is None else f"must be from {least} to {most}"
        raise ValueError(f"{name} {wanted}, not {quoted(value)}")
    return int(value)


def as_real(value: Any, name: str) -> float:
    """Convert one real number; NaN and infinities are numbers here.

    >>> as_real(10**400, "margin")
    Traceback (most recent call last):
    ValueError: margin is beyond the largest float
    """
    if type(value) is float:
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "__dlpack_device__"):  # an array or a tensor
        value = array_of(value, name)[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, not {quoted(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is beyond the largest float") from None


def as_length(value: Any, name: str, *, finite: bool = True) -> float:
    """Convert a length that is at least 0, and finite unless that is not asked for."""
    length = as_real(value, name)
    if not length >= 0 or (finite and length == np.inf):
        raise ValueError(f"{name} must be {'finite and ' if finite else ''}at least 0, not {length}")
    return length


def as_flag(value: Any, name: str) -> bool:
    """Convert True or False, also of NumPy, or 1 or 0.

    >>> as_flag("no", "sort")
    Traceback (most recent call last):
    TypeError: sort must be True or False, not 'no'
    """
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} must be True or False, not {quoted(value)}")


def as_array(values: Any, name: str) -> npt.NDArray[Any]:
    """Convert anything to an array of any dtype.

    >>> as_array([[1, 2], [3]], "rows")
    Traceback (most recent call last):
    ValueError: rows must not be sequences of different lengths
    """
    if type(values) is np.ndarray:
        return values
    require_unmasked(values, name)
    try:
        return _converted(values, name)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(f"{name} must not be sequences of different lengths") from None


def as_own_array(values: Any, name: str) -> npt.NDArray[Any]:
    """Convert anything to an array of any dtype whose memory nobody else has.

    Another thread may write to the array of the caller at any time. Numbers that say where to read or write, such as
    rows, keys and faces, are checked in a copy, which then is what is used. Flags are 0 or 1 in it, whatever bytes the
    caller has.
    """
    array = as_array(values, name)
    if type(values) in _MADE_ANEW:
        return array
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array.copy()


# What NumPy makes an array of, rather than view its memory.
_MADE_ANEW = frozenset({list, tuple, int, float, bool, str})

# Devices of DLPack whose memory the processor reads: its own, pinned, and managed by CUDA or ROCm; and CUDA's.
_HOST, _CUDA = (1, 3, 11, 13), 2


def array_of(values: Any, name: str) -> npt.NDArray[Any]:
    """Convert anything to an array of any dtype, without a copy where it shares its memory.

    Tensors of another device, or that require a gradient, raise TypeError with what to pass. Nested sequences of
    different lengths raise the ValueError of NumPy.

    >>> class Tensor:
    ...     def __dlpack_device__(self):
    ...         return 2, 1
    >>> array_of(Tensor(), "boxes")
    Traceback (most recent call last):
    TypeError: boxes is on device cuda:1; copy it to host memory, such as boxes.cpu() of torch or boxes.get() of cupy
    """
    if type(values) is np.ndarray:
        return values
    require_unmasked(values, name)
    return _converted(values, name)


def _converted(values: Any, name: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    is_plain = type(values) in _MADE_ANEW
    is_tensor = not is_plain and hasattr(values, "__dlpack_device__")
    if is_tensor:
        _require_host(values, name)
    if not is_plain:
        if hasattr(values, "__array_interface__"):
            _require_within(values, name)
        require_undamaged(values, name)
    try:
        return np.from_dlpack(values) if is_tensor and not hasattr(values, "__array__") else np.asarray(values)
    except (TypeError, RuntimeError, BufferError) as error:
        raise TypeError(f"{name} cannot be read as an array: {clipped(str(error))}") from error


_PLAIN = frozenset({int, float, bool, str})


def require_unmasked(values: Any, name: str) -> None:
    """Raise ValueError if an array, or one in a list or a tuple, has a masked value: what it hides is not to be used.

    >>> require_unmasked(np.ma.array([1, 2], mask=[False, True]), "scores")
    Traceback (most recent call last):
    ValueError: scores: row 1 has a masked value; fill it or remove the row
    """
    kind = type(values)
    if kind is np.ndarray or kind in _PLAIN:
        return
    ma: Any = sys.modules.get("numpy.ma")  # as long as nobody has imported it, nobody has masked a value
    masked_array = getattr(ma, "MaskedArray", None)
    if masked_array is None:
        return
    if kind is list or kind is tuple:
        # NumPy itself makes NaN of a masked value among plain numbers.
        if not values or type(values[0]) in _PLAIN:
            return
        if not any(issubclass(one, masked_array) for one in {*map(type, values)}):
            return
        masked = [row for row, value in enumerate(values) if np.any(ma.getmask(value))]
    elif isinstance(values, masked_array):
        mask = ma.getmaskarray(values)
        if not mask.ndim and mask:
            raise ValueError(f"{name} is a masked value; fill it")
        masked = np.flatnonzero(mask.any(axis=tuple(range(1, mask.ndim)))).tolist() if mask.ndim else []
    else:
        return
    if masked:
        raise ValueError(f"{name}: row {masked[0]} has a masked value; fill it or remove the row")


def undamaged(data: Any, name: str, *, is_utf8: bool = True) -> Any:
    """Return data of pyarrow if its lengths, offsets and indices are within its buffers, or raise ValueError.

    pyarrow does not check what it reads of other libraries, or of files of Arrow. `is_utf8` False: for those that take
    text as bytes.
    """
    if hasattr(data, "schema"):
        for title, column in zip(data.schema.names, data.columns, strict=True):
            undamaged(column, f"{name}, column {quoted(title)}", is_utf8=is_utf8)
        return data
    pyarrow: Any = sys.modules["pyarrow"]
    bytes_of = {} if is_utf8 else {pyarrow.string(): pyarrow.binary(), pyarrow.large_string(): pyarrow.large_binary()}
    try:
        for chunk in data.chunks if hasattr(data, "chunks") else [data]:
            chunk.validate()
            as_bytes = bytes_of.get(chunk.type)
            (chunk if as_bytes is None else chunk.view(as_bytes)).validate(full=True)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise ValueError(f"{name}: the Arrow data is damaged: {clipped(str(error))}") from None
    return data


def require_undamaged(values: Any, name: str) -> None:
    """Raise ValueError for damaged data of pyarrow, among them columns of pandas that it holds."""
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        for place, label in enumerate(values.columns):
            require_undamaged(values.iloc[:, place], f"{name}, column {quoted(label)}")
    elif type(values).__module__.partition(".")[0] == "pyarrow":
        if hasattr(values, "validate"):
            undamaged(values, name)
    else:
        dtype = getattr(values, "dtype", None)
        if type(dtype).__name__ == "ArrowDtype" or getattr(dtype, "storage", None) == "pyarrow":
            undamaged(getattr(values, "array", values).__arrow_array__(), name)


def _require_within(values: Any, name: str) -> None:
    """Raise ValueError where the shape, strides or offset of an array interface lead out of its buffer.

    NumPy does not check them. Nobody can where there is a pointer in place of the buffer.
    """
    interface = values.__array_interface__
    data = interface.get("data") if isinstance(interface, dict) else ()
    if isinstance(data, tuple):
        return
    try:
        given = memoryview(values if data is None else data).nbytes
        itemsize = np.dtype(interface["typestr"]).itemsize
        shape = [operator.index(size) for size in interface["shape"]]
        steps = interface.get("strides") or [itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))]
        ways = [(size - 1) * operator.index(step) for size, step in zip(shape, steps, strict=True)]
        begin = operator.index(interface.get("offset") or 0)
    except (TypeError, ValueError, KeyError) as error:
        raise TypeError(f"{name} cannot be read as an array: {clipped(str(error))}") from error
    low = begin + sum(way for way in ways if way < 0)
    high = begin + sum(way for way in ways if way > 0) + itemsize
    if 0 not in shape and (low < 0 or high > given):
        raise ValueError(f"{name} is damaged: its shape and strides lead to bytes {low} to {high} of {given}")


def is_on_device(values: Any) -> bool:
    """Return whether numbers are in the memory of a CUDA device, as DLPack or the CUDA array interface tells."""
    kind = type(values)
    if kind is tuple and len(values) == 2:  # lower and upper corners
        values, kind = values[0], type(values[0])
    if kind is np.ndarray or kind is list:
        return False
    if hasattr(kind, "__dlpack_device__"):
        try:
            return int(values.__dlpack_device__()[0]) == _CUDA
        except Exception:  # such as ValueError of torch for tensors without data, which `array_of` explains
            return False
    return hasattr(kind, "__cuda_array_interface__")


def require_no_gradient(values: Any, name: str) -> None:
    """Raise TypeError for a tensor that is part of a computation of gradients."""
    if getattr(values, "requires_grad", False) is True:
        variable = name.rpartition(", ")[2]  # of "boxes, lower"
        raise TypeError(f"{name} is a tensor that requires a gradient, which no result has; pass {variable}.detach()")


def _require_host(values: Any, name: str) -> None:
    variable = name.rpartition(", ")[2]
    require_no_gradient(values, name)
    try:
        kind, number = map(int, values.__dlpack_device__())
    except Exception as error:  # such as ValueError of torch for tensors without data
        raise TypeError(f"{name} is on a device whose memory cannot be read: {clipped(str(error))}") from error
    if kind not in _HOST:
        device = {_CUDA: "cuda", 8: "metal", 10: "rocm", 14: "oneapi"}.get(kind, f"DLPack type {kind}")
        raise TypeError(
            f"{name} is on device {device}:{number}; copy it to host memory,"
            f" such as {variable}.cpu() of torch or {variable}.get() of cupy"
        )
    if "bfloat16" in str(getattr(values, "dtype", "")):
        raise TypeError(f"{name} is of dtype bfloat16, which NumPy does not have; pass {variable}.float()")


def as_reals(values: Any, name: str) -> npt.NDArray[np.float64]:
    """Convert real numbers of any shape to float64."""
    array = as_array(values, name)
    if array.dtype.kind not in "biuf" and array.size:
        raise TypeError(f"{name} must be numbers, not {array.dtype if array.ndim else quoted(values)}")
    return array.astype(np.float64, copy=False)
