"""Numbers of any shape as native float32 or float64, the dtypes of corners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import array_of
from broadphase.floats import as_float
from broadphase.tables import arrow

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["as_numbers", "as_plain_array"]

_OF_PYTHON = frozenset({list, tuple, float, int})


def as_numbers(values: ArrayLike, *, name: str) -> NDArray[Any]:
    """Convert real numbers of any shape to native float32 or float64, as box corners are.

    Parameters
    ----------
    values : array_like
        float32 and float64 are kept as they are; integers, bool and float16 become float64. Also DLPack, and Arrow
        arrays of numbers or of lists of one length.
    name : str
        Name of the argument in error messages.

    Raises
    ------
    ValueError
        A ragged list; a masked value; an integer beyond 2**53. Names the row.
    TypeError
        Any other dtype; a tensor that is not in host memory.

    Examples
    --------
    >>> as_numbers([1, 2], name="centers")
    array([1., 2.])
    """
    return as_float(as_plain_array(values, name), name)


def as_plain_array(values: Any, name: str) -> NDArray[Any]:
    """Convert anything to an array of any dtype; masked values and rows of different lengths raise ValueError."""
    if type(values) is np.ndarray:
        return values
    if type(values) not in _OF_PYTHON and arrow.is_arrow(values):
        data = arrow.opened(values, name)
        if data is not None and not hasattr(data, "schema"):
            return arrow.numbers_of(data, name)
    try:
        return array_of(values, name)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(f"{name}: the rows have different lengths{_first_odd_row(values)}") from None


def _first_odd_row(values: Any) -> str:
    try:
        shapes = [np.shape(row) for row in values]
    except (TypeError, ValueError):  # ragged further down: the row is unknown
        return ""
    odd = next((row for row, shape in enumerate(shapes) if shape != shapes[0]), None)
    return "" if odd is None else f": row {odd} has shape {shapes[odd]}, row 0 has {shapes[0]}"
