"""Results as Arrow data."""

from __future__ import annotations

from typing import Any

import numpy as np

from broadphase.errors import quoted
from broadphase.extras import import_extra

__all__ = ["to_arrow"]


def to_arrow(result: Any) -> Any:
    """Convert a result to Arrow data, without copying its numbers.

    Parameters
    ----------
    result : ndarray, QueryResult, RayHitsAll, or a named tuple of arrays
        Of `broadphase.pairs`, `neighbors`, `contacts` and so on, or of queries of an index; or boxes.

    Returns
    -------
    pyarrow.Array or pyarrow.RecordBatch
        Pairs as a batch with the columns ``first`` and ``second``; a named tuple as a batch with a column for each
        field, pairs as before; a `QueryResult` as lists of rows, one for each query; other arrays of shape (n,) as
        numbers, (n, k) as lists of k numbers, (n, k, l) as lists of these. Memory is shared, but for text, for True and
        False, and for arrays that are not contiguous.

    Raises
    ------
    TypeError
        Anything else, and a result whose arrays are of different lengths: convert these one by one.
    MissingExtraError
        pyarrow is not installed.

    Notes
    -----
    What takes DLPack, such as torch, needs no conversion: ``torch.from_dlpack(bp.pairs(boxes))`` shares memory as well.

    Examples
    --------
    >>> import broadphase as bp
    >>> batch = to_arrow(bp.pairs([[0, 0, 2, 2], [1, 1, 3, 3], [2, 2, 4, 4]], sort=True))
    >>> batch.to_pydict()
    {'first': [0, 0, 1], 'second': [1, 2, 2]}
    """
    pyarrow = import_extra("pyarrow", purpose="to_arrow")
    if isinstance(result, np.ndarray):
        if result.ndim == 2 and result.shape[1] == 2 and result.dtype == np.int32:
            return pyarrow.RecordBatch.from_pydict(_columns_of_pairs(pyarrow, result))
        return _array(pyarrow, result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return _batch(pyarrow, result)
    if not hasattr(result, "rows") or not hasattr(result, "offsets"):
        raise TypeError(f"result must be an array or what a query returns, not {quoted(result)}")
    starts = pyarrow.array(result.offsets)
    rows = pyarrow.LargeListArray.from_arrays(starts, pyarrow.array(result.rows))
    if not hasattr(result, "distances"):
        return rows
    distances = pyarrow.LargeListArray.from_arrays(starts, pyarrow.array(result.distances))
    return pyarrow.RecordBatch.from_pydict({"rows": rows, "distances": distances})


def _batch(pyarrow: Any, result: Any) -> Any:
    fields = {name: value for name, value in result._asdict().items() if value is not None}
    if "pairs" in fields:  # which has all that offsets and rows tell
        fields = {name: value for name, value in fields.items() if name not in ("offsets", "rows")}
    columns: dict[str, Any] = {}
    for name, value in fields.items():
        array = np.asarray(value)
        columns |= _columns_of_pairs(pyarrow, array) if name == "pairs" else {name: _array(pyarrow, array)}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise TypeError(f"the arrays of {type(result).__name__} have different lengths: convert them one by one")
    return pyarrow.RecordBatch.from_pydict(columns)


def _columns_of_pairs(pyarrow: Any, pairs: Any) -> dict[str, Any]:
    # The core writes all first rows, and then all second ones, so both columns are contiguous.
    return {"first": _array(pyarrow, pairs[:, 0]), "second": _array(pyarrow, pairs[:, 1])}


def _array(pyarrow: Any, array: Any) -> Any:
    values = pyarrow.array(np.ascontiguousarray(array).reshape(-1))
    for size in array.shape[:0:-1]:
        values = pyarrow.FixedSizeListArray.from_arrays(values, size)
    return values
