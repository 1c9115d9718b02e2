"""Arrow data, of any library that shares it by the PyCapsule interface: opened by pyarrow, and read as NumPy arrays.

Memory is shared where the layout allows: numbers without nulls, and lists of one length. Corners in columns of their
own are gathered into one array, since those of a box must lie side by side.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.arguments import undamaged
from broadphase.errors import clipped
from broadphase.extras import has_library, import_extra
from broadphase.floats import as_float
from broadphase.tables.names import WANTED, find_box_columns, listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Corners = NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]

__all__ = ["bytes_of", "corners_of", "filled", "floats_of", "is_arrow", "numbers_of", "opened", "plain_type", "whole"]

_CORNER_FIELDS = (("lower", "upper"), ("lo", "hi"), ("min", "max"))


def is_arrow(values: Any) -> bool:
    """Return True for Arrow data; those of pandas are not, whose columns are NumPy arrays."""
    kind = type(values)
    return (hasattr(kind, "__arrow_c_array__") or hasattr(kind, "__arrow_c_stream__")) and not hasattr(kind, "iloc")


def opened(values: Any, name: str) -> Any:
    """Return Arrow data as a pyarrow Array, ChunkedArray, RecordBatch or Table; None if pyarrow is not needed."""
    if type(values).__module__.partition(".")[0] == "pyarrow":
        return values.read_all() if hasattr(values, "read_all") else values
    if hasattr(values, "__array__") and not has_library("pyarrow"):
        return None
    pyarrow: Any = import_extra("pyarrow", purpose=f"{name}: reading Arrow data")
    if hasattr(values, "__arrow_c_array__"):
        return pyarrow.array(values)
    try:
        return pyarrow.chunked_array(values)
    except TypeError:  # before pyarrow 17, by tables only
        return pyarrow.table(values)


def corners_of(data: Any, name: str) -> Corners:
    """Return the boxes of opened data, as an array or a tuple of corners; a null box or coordinate becomes NaN.

    Accepted are lists of 2*d numbers; structs or columns ``xmin``, ``ymin``, ... as in .csv files, among them GeoArrow
    boxes; structs or columns ``lower`` and ``upper`` of lists of d numbers; or one column of these. Else TypeError or
    ValueError.
    """
    if hasattr(data, "schema"):
        return _corners_of_columns(list(data.schema.names), data.column, name)
    data = _storage_of(undamaged(data, name))
    types = import_module("pyarrow").types
    kind = data.type
    if types.is_binary(kind) or types.is_large_binary(kind):
        raise TypeError(f"{name} is an array of bytes; for geometries as WKB use bp.boxes.from_geometries")
    if not types.is_struct(kind):
        return numbers_of(data, name)
    fields = [kind.field(place).name for place in range(kind.num_fields)]
    return _corners_of_columns(fields, data.field, name, _nulls_of(data))


def bytes_of(data: Any, name: str) -> list[bytes | None]:
    """Return the bytes of an array of opened data, such as geometries as WKB."""
    kind = str(data.schema if hasattr(data, "schema") else getattr(data.type, "storage_type", data.type))
    if kind not in ("binary", "large_binary", "binary_view", "null"):
        raise TypeError(f"{name} must be geometries as WKB, an array of bytes, not of {clipped(kind)}")
    values: list[bytes | None] = _storage_of(undamaged(data, name)).to_pylist()
    return values


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
    if blank is None or not blank.any():
        return array
    array = array.astype(np.result_type(array, np.float32))
    array[blank] = np.nan
    return array


def _holds_boxes(column: Any) -> bool:
    types = import_module("pyarrow").types
    kind = getattr(column.type, "storage_type", column.type)
    if types.is_struct(kind):
        fields = [kind.field(place).name.lower() for place in range(kind.num_fields)]
        return find_box_columns(fields) is not None or any(set(pair) <= set(fields) for pair in _CORNER_FIELDS)
    return types.is_fixed_size_list(kind) and kind.list_size in (2, 4, 6, 8)


def numbers_of(data: Any, name: str) -> NDArray[Any]:
    """Return the numbers of an array of numbers, (n,), or of lists of one length, (n, k) or (n, k, l); null is NaN."""
    return floats_of(undamaged(data, name), name)


def floats_of(data: Any, name: str) -> NDArray[Any]:
    """Return what `numbers_of` does, of data that is known to be undamaged."""
    values, blank = _values_of(data, name)
    if blank is None or not blank.any():
        return values
    if values.dtype.kind != "f":  # as whole numbers they are checked before they are rounded
        values = values.copy()
        values[blank] = 0
    return _with_blanks(as_float(values, name), blank)


def _values_of(data: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the numbers as they are, with anything in place of null, and where there is null, of the same shape."""
    data = _storage_of(data)
    types = import_module("pyarrow").types
    kind = data.type
    if types.is_fixed_size_list(kind):
        values, blank = _values_of(data.values.slice(data.offset * kind.list_size, len(data) * kind.list_size), name)
        shape = len(data), kind.list_size, *values.shape[1:]
        values, blank = values.reshape(shape), None if blank is None else blank.reshape(shape)
        return values, _joined(data, shape, blank)
    if types.is_list(kind) or types.is_large_list(kind):
        return _values_of_lists(data, name)
    if types.is_decimal(kind) or types.is_null(kind):
        data = data.cast("float64")
    elif not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        raise TypeError(f"{name} must hold numbers, not {kind}")
    if types.is_floating(data.type):
        return data.to_numpy(zero_copy_only=False), None  # with NaN for null
    return filled(data)


def filled(data: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the numbers of an array, 0 where there is null, and where that is; None if nowhere."""
    missing = _nulls_of(data)
    if missing is not None:
        data = data.fill_null(False if import_module("pyarrow").types.is_boolean(data.type) else 0)
    return data.to_numpy(zero_copy_only=False), missing


def _nulls_of(data: Any) -> NDArray[np.bool_] | None:
    return data.is_null().to_numpy(zero_copy_only=False) if data.null_count else None


def _joined(data: Any, shape: tuple[int, ...], blank: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return where lists or their members are null."""
    nulls = _nulls_of(data)
    if nulls is None:
        return blank
    joined = np.zeros(shape, np.bool_) if blank is None else blank.copy()
    joined[nulls] = True
    return joined


def _values_of_lists(data: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    lengths = np.asarray(data.value_lengths().fill_null(-1))
    there = lengths >= 0
    size = int(lengths[there][0]) if there.any() else 4
    odd = np.flatnonzero(there & (lengths != size))
    if len(odd):
        raise ValueError(
            f"{name}: the rows have different lengths: row {odd[0]} has {lengths[odd[0]]} numbers, the first has {size}"
        )
    values, blank = _values_of(data.flatten(), name)  # which leaves out what is null
    shape = len(data), size, *values.shape[1:]
    if there.all():
        return values.reshape(shape), None if blank is None else blank.reshape(shape)
    rows, blanks = np.zeros(shape, values.dtype), np.ones(shape, np.bool_)
    rows[there] = values.reshape(-1, *shape[1:])
    blanks[there] = False if blank is None else blank.reshape(-1, *shape[1:])
    return rows, blanks


def whole(data: Any) -> Any:
    """Return an array of pyarrow, of the chunks of a ChunkedArray if it is one."""
    if not hasattr(data, "chunks"):
        return data
    if data.num_chunks == 1:
        return data.chunk(0)
    pyarrow: Any = import_module("pyarrow")
    return pyarrow.concat_arrays(data.chunks) if data.num_chunks else pyarrow.array([], data.type)


def _storage_of(data: Any) -> Any:
    """Return the data as one array without extension type."""
    data = whole(data)
    return data.storage if hasattr(data, "storage") else data


def plain_type(kind: Any) -> Any:
    """Return the type of a column's values, whether or not they are stored by a dictionary."""
    return kind.value_type if import_module("pyarrow").types.is_dictionary(kind) else kind
