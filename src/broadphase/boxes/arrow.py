"""Arrow data, of any library that shares it by the PyCapsule interface: opened by pyarrow, and read as NumPy arrays.

Memory is shared where the layout allows: numbers without nulls, and lists of one length. Corners in columns of their
own are gathered into one array, since those of a box must lie side by side.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes.floats import as_float
from broadphase.columns import WANTED, find_box_columns, listed
from broadphase.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Corners = NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]

__all__ = ["corners_of", "is_arrow", "numbers_of", "opened"]

_CORNER_FIELDS = (("lower", "upper"), ("lo", "hi"), ("min", "max"))


def is_arrow(values: Any) -> bool:
    """Return True for Arrow data; those of pandas are not, whose columns are NumPy arrays."""
    kind = type(values)
    return (hasattr(kind, "__arrow_c_array__") or hasattr(kind, "__arrow_c_stream__")) and not hasattr(kind, "iloc")


def opened(values: Any, name: str) -> Any:
    """Return Arrow data as a pyarrow Array, ChunkedArray, RecordBatch or Table; None if pyarrow is not needed.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed, and the data do not convert to NumPy by themselves.
    """
    if type(values).__module__.partition(".")[0] == "pyarrow":
        return values.read_all() if hasattr(values, "read_all") else values
    try:
        pyarrow: Any = import_module("pyarrow")
    except ModuleNotFoundError as error:
        if hasattr(values, "__array__"):
            return None
        raise MissingExtraError(
            f'{name}: Arrow data need pyarrow: pip install "broadphase[io]"', name=error.name
        ) from error
    if hasattr(values, "__arrow_c_array__"):
        return pyarrow.array(values)
    try:
        return pyarrow.chunked_array(values)
    except TypeError:  # before pyarrow 17, by tables only
        return pyarrow.table(values)


def corners_of(data: Any, name: str) -> Corners:
    """Return the boxes of opened data: an array in an accepted form, or a tuple of corners.

    A null, in place of a box or of a coordinate, becomes NaN.

    Parameters
    ----------
    data
        As `opened` returns it: lists of 2*d numbers; structs or columns ``xmin``, ``ymin``, ... as in .csv files, among
        them GeoArrow boxes; structs or columns ``lower`` and ``upper`` of lists of d numbers; or one column of these.
    name : str
        Name of the argument in error messages.

    Raises
    ------
    TypeError, ValueError
        Anything else.
    """
    if hasattr(data, "schema"):
        return _corners_of_columns(list(data.schema.names), data.column, name)
    data = _plain(data)
    types = import_module("pyarrow").types
    kind = data.type
    if types.is_binary(kind) or types.is_large_binary(kind):
        raise TypeError(f"{name} is an array of bytes; for geometries as WKB use bp.boxes.from_geometries")
    if not types.is_struct(kind):
        return numbers_of(data, name)
    fields = [kind.field(place).name for place in range(kind.num_fields)]
    blank = data.is_null().to_numpy(zero_copy_only=False) if data.null_count else None
    return _corners_of_columns(fields, data.field, name, blank)


def _corners_of_columns(
    names: list[str], column: Callable[[int], Any], name: str, blank: NDArray[np.bool_] | None = None
) -> Corners:
    places = find_box_columns(names)
    if places is None:
        low = [one.lower() for one in names]
        pair = next((pair for pair in _CORNER_FIELDS if pair[0] in low and pair[1] in low), None)
        if pair is not None:
            parts = [_with_blanks(numbers_of(column(low.index(side)), f"{name}, {side}"), blank) for side in pair]
            return parts[0], parts[1]
        nested = [place for place, one in enumerate(names) if _holds_boxes(column(place))]
        if len(nested) == 1:
            return corners_of(column(nested[0]), f"{name}, column {names[nested[0]]}")
        if len(nested) > 1:
            raise ValueError(f"{name} has several columns of boxes: {listed(names[place] for place in nested)}")
        raise ValueError(
            f"{name} needs columns {WANTED}; has {listed(names)}."
            " Use bp.boxes.from_frame, and lower= and upper= for other names"
        )
    titles = [f"{name}, column {names[place]}" for place in places]
    arrays = [as_float(numbers_of(column(at), title), title) for at, title in zip(places, titles, strict=True)]
    odd = next((place for place, array in zip(places, arrays, strict=True) if array.ndim != 1), None)
    if odd is not None:
        raise ValueError(f"{name}: column {names[odd]} must hold one number for each row")
    boxes = np.empty((len(arrays[0]), len(arrays)), np.result_type(*arrays))
    for place, array in enumerate(arrays):
        boxes[:, place] = array
    return _with_blanks(boxes, blank)


def _with_blanks(array: NDArray[Any], blank: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Put NaN into the rows that are blank."""
    if blank is None or not blank.any():
        return array
    array = array.astype(np.result_type(array, np.float32))
    array[blank] = np.nan
    return array


def _holds_boxes(column: Any) -> bool:
    types = import_module("pyarrow").types
    kind = _plain(column).type
    if types.is_struct(kind):
        fields = [kind.field(place).name.lower() for place in range(kind.num_fields)]
        return find_box_columns(fields) is not None or any(set(pair) <= set(fields) for pair in _CORNER_FIELDS)
    return types.is_fixed_size_list(kind) and kind.list_size in (2, 4, 6, 8)


def numbers_of(data: Any, name: str) -> NDArray[Any]:
    """Return the numbers of an array of numbers, (n,), or of lists of one length, (n, k) or (n, k, l); null is NaN."""
    data = _plain(data)
    types = import_module("pyarrow").types
    kind = data.type
    if types.is_fixed_size_list(kind):
        return _rows(data, data.values, data.offset * kind.list_size, kind.list_size, name)
    if types.is_list(kind) or types.is_large_list(kind):
        return _rows_of_lists(data, name)
    if types.is_decimal(kind) or types.is_null(kind):
        data = data.cast("float64")
    elif not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        raise TypeError(f"{name} must hold numbers, not {kind}")
    if data.null_count and not types.is_floating(kind):
        filled = as_float(data.fill_null(False if types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False), name)
        return _with_blanks(filled, data.is_null().to_numpy(zero_copy_only=False))
    numbers: NDArray[Any] = data.to_numpy(zero_copy_only=not data.null_count and not types.is_boolean(kind))
    return numbers


def _plain(data: Any) -> Any:
    """Return an Array without extension type, of the chunks of a ChunkedArray, joined if there are several."""
    if hasattr(data, "chunks"):
        data = data.chunk(0) if data.num_chunks == 1 else data.combine_chunks()
        if hasattr(data, "chunks"):  # before pyarrow 16, one without chunks stays one
            data = import_module("pyarrow").concat_arrays(data.chunks)
    return data.storage if hasattr(data, "storage") else data


def _rows(data: Any, values: Any, begin: int, size: int, name: str) -> NDArray[Any]:
    inner = numbers_of(values.slice(begin, len(data) * size), name)
    rows = inner.reshape(len(data), size, *inner.shape[1:])
    return _with_blanks(rows, data.is_null().to_numpy(zero_copy_only=False) if data.null_count else None)


def _rows_of_lists(data: Any, name: str) -> NDArray[Any]:
    lengths = np.asarray(data.value_lengths().fill_null(-1))
    given = lengths[lengths >= 0]
    size = int(given[0]) if len(given) else 4
    odd = np.flatnonzero((lengths >= 0) & (lengths != size))
    if len(odd):
        raise ValueError(
            f"{name}: the rows have different lengths: row {odd[0]} has {lengths[odd[0]]} numbers, the first has {size}"
        )
    if not data.null_count:
        return _rows(data, data.values, int(data.offsets[0].as_py()) if len(data) else 0, size, name)
    inner = numbers_of(data.flatten(), name)  # which leaves out what is null
    rows = np.full((len(data), size, *inner.shape[1:]), np.nan, np.result_type(inner, np.float32))
    rows[lengths >= 0] = inner.reshape(-1, size, *inner.shape[1:])
    return rows
