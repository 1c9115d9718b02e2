"""What results are returned as: the dtype of their floats, and tensors for tensors.

Everything is decided and computed in float64. ``dtype=np.float32`` rounds the result once, at the end.

Tensors of torch in host memory are read without a copy, like any other array (`broadphase.arguments.array_of`). If
the boxes, points, origins, centers or rows of a call are a tensor, so are the arrays of its result, in the same memory:
`as_given` is where. torch is not imported: where it is not, there is no tensor.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from broadphase.errors import quoted
from broadphase.floats import FLOAT32, FLOAT64

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

__all__ = ["as_given", "in_dtype", "is_single", "is_tensor"]

Result = TypeVar("Result")


def is_single(dtype: DTypeLike) -> bool:
    """Return whether ``dtype=`` is float32; TypeError if it is not float64 either.

    >>> is_single("float32"), is_single(float)
    (True, False)
    """
    if dtype is np.float64:
        return False
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # as NumPy reads texts
        kind = np.dtype(object)
    if kind not in (FLOAT64, FLOAT32):
        raise TypeError(f"dtype must be float64 or float32, not {quoted(dtype)}")
    return kind == FLOAT32


def in_dtype(found: Result, dtype: DTypeLike) -> Result:
    """Return a result with its arrays of float64 rounded to float32, if `dtype` says so; TypeError for another dtype.

    A number beyond the largest float32 becomes infinite. Single numbers stay float.
    """
    rounded: Result = _changed(found, _rounded) if is_single(dtype) else found
    return rounded


def is_tensor(given: Any) -> bool:
    """Return whether this is a tensor of torch, or begins with one, as a tuple of two corners does."""
    kind = type(given)
    if (kind is tuple or kind is list) and given:
        kind = type(given[0])
    return kind.__module__.partition(".")[0] == "torch"


def as_given(given: Any, found: Result) -> Result:
    """Return a result with tensors in place of its arrays, if what was given is a tensor."""
    if type(given) is np.ndarray or not is_tensor(given):
        return found
    made: Result = _changed(found, sys.modules["torch"].from_numpy)
    return made


def _rounded(array: Any) -> Any:
    if array.dtype != FLOAT64:
        return array
    with np.errstate(all="ignore"):
        return array.astype(FLOAT32)


def _changed(found: Any, change: Callable[[Any], Any]) -> Any:
    """Change the arrays of a result: an array, a tuple of results, or the arrays of many queries with their offsets."""
    if isinstance(found, np.ndarray):
        return change(found)
    if isinstance(found, tuple):
        parts = [_changed(part, change) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    if hasattr(found, "offsets"):
        for name in type(found).__slots__:
            setattr(found, name, _changed(getattr(found, name), change))
    return found
