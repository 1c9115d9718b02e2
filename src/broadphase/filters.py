"""Filters of pairs: from what the caller writes to what the core reads."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from broadphase import _native
from broadphase.boxes.forms import describe_invalid
from broadphase.errors import InvalidBoxWarning

__all__ = ["as_attribute", "filters_of_rows", "make_filter", "without_invalid"]

_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
# What a set's attribute is where a tuple has None for it: no box static, none in a group.
_UNSET = {"layer": _ALL_BITS, "mask": _ALL_BITS, "group": 0, "static": False}


def make_filter(
    counts: tuple[int, ...],
    layer: Any = None,
    mask: Any = None,
    group: Any = None,
    static: Any = None,
    ignore_pairs: Any = None,
    ignore_shared: Any = None,
) -> _native.PairFilter | None:
    """Make the core's filter for sets of ``counts`` boxes (one number, or two), or None where nothing is filtered."""
    if all(x is None for x in (layer, mask, group, static, ignore_pairs, ignore_shared)):
        return None
    layers = masks = (None, None)
    if layer is not None or mask is not None:
        layers = _attribute("layer", _ALL_BITS if layer is None else layer, counts, np.uint64)
        masks = _attribute("mask", _ALL_BITS if mask is None else mask, counts, np.uint64)
    return _native.PairFilter(
        layers,
        masks,
        _attribute("group", group, counts, np.int64),
        _attribute("static", static, counts, np.uint8),
        _attribute("ignore_shared", ignore_shared, counts, np.int64),
        _ignored_keys(ignore_pairs, counts),
    )


def _attribute(name: str, value: Any, counts: tuple[int, ...], dtype: type[np.generic]) -> tuple[Any, Any]:
    """One array per set, checked and in the core's dtype."""
    if value is None:
        return None, None
    if len(counts) == 1:
        array = as_attribute(name, value, counts[0], dtype)
        return array, array
    if np.isscalar(value):
        value = (value, value)
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError(f"{name}: for two sets of boxes, give a tuple (for the first, for the second)")
    if name == "ignore_shared" and (value[0] is None or value[1] is None):
        return None, None
    first, second = (
        as_attribute(f"{name}[{k}]", _UNSET[name] if value[k] is None else value[k], counts[k], dtype) for k in range(2)
    )
    return first, second


def as_attribute(name: str, value: Any, count: int, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Make one value per box, or for ``ignore_shared`` one row, of what the caller gave as `name`; contiguous."""
    array = np.asarray(value)
    shared = name.startswith("ignore_shared")
    if array.ndim == 0 and not shared:
        array = np.broadcast_to(array, (count,))
    if shared and array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != (2 if shared else 1) or array.shape[0] != count:
        wanted = f"({count}, k) or ({count},)" if shared else f"({count},)"
        raise ValueError(f"{name} has shape {np.shape(value)}; one per box is needed: {wanted}")
    return _converted(name, array, dtype)


def _converted(name: str, array: npt.NDArray[Any], dtype: type[np.generic]) -> npt.NDArray[Any]:
    if dtype is np.uint8:
        if array.dtype != np.bool_:
            raise TypeError(f"{name} must be bool, not {array.dtype}")
    elif array.dtype.kind == "O":
        # Python integers past int64, such as a mask of all 64 bits.
        try:
            return np.ascontiguousarray(np.array([int(x) for x in array.ravel()], dtype=dtype).reshape(array.shape))
        except (OverflowError, TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold integers of 64 bits") from error
    elif array.dtype.kind not in "iub":
        if array.size == 0:
            array = array.astype(dtype)
        else:
            raise TypeError(f"{name} must be integer, not {array.dtype}")
    elif dtype is np.uint64 and array.dtype.kind == "i":
        # Bits are bits: -1 means all of them.
        array = array.astype(np.int64, copy=False)
    elif dtype is np.int64 and array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{name} has values of 2**63 and more")
    return np.ascontiguousarray(array.astype(dtype, copy=False))


def _ignored_keys(pairs: Any, counts: tuple[int, ...]) -> npt.NDArray[np.uint64] | None:
    """Turn the pairs to leave out into sorted keys ``first << 32 | second``."""
    if pairs is None:
        return None
    array = np.asarray(pairs)
    if array.size == 0:
        return None
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"ignore_pairs has shape {array.shape}; (k, 2) is needed")
    if array.dtype.kind not in "iu":
        raise TypeError(f"ignore_pairs must be integer, not {array.dtype}")
    limits = (counts[0], counts[-1])
    bad = ((array < 0) | (array >= np.array(limits))).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"ignore_pairs row {row} names boxes {array[row].tolist()}, but there are {limits}")
    if len(counts) == 1:
        array = np.sort(array, axis=1)
    keys = (array[:, 0].astype(np.uint64) << np.uint64(32)) | array[:, 1].astype(np.uint64)
    return np.sort(keys)


def without_invalid(filters: tuple[Any, ...], *sets: tuple[Any, Any]) -> tuple[tuple[Any, ...], *tuple[Any, ...]]:
    """Leave out the boxes with NaN or lower > upper, and their share of the filters' values.

    Returns the filters, then for each set its lower and upper corners and the kept row numbers (None: all of them).
    """
    names = ("boxes", "other")
    kept: list[npt.NDArray[np.int64] | None] = []
    counts: list[int] = []
    result: list[tuple[Any, Any, Any]] = []
    for name, (lower, upper) in zip(names, sets, strict=True):
        rows = None
        if lower is not None:
            counts.append(len(lower))
            valid = (lower <= upper).all(axis=1)
            if not valid.all():
                rows = np.flatnonzero(valid)
                bad = int(np.argmin(valid))
                warnings.warn(
                    f"{name}: left out {len(valid) - len(rows)} invalid boxes; {describe_invalid(lower, upper, bad)}",
                    InvalidBoxWarning,
                    stacklevel=4,
                )
                lower, upper = lower[rows], upper[rows]
        kept.append(rows)
        result.append((lower, upper, rows))
    filters = filters_of_rows(filters, kept[: len(counts)], counts)
    return filters, *result


def filters_of_rows(filters: tuple[Any, ...], kept: list[Any], counts: list[int]) -> tuple[Any, ...]:
    """Take the share of some rows, in the order of `make_filter`; for each set its kept rows (None: all) and size."""
    if all(rows is None for rows in kept):
        return filters
    *attributes, ignore_pairs = *filters[:4], filters[5], filters[4]
    layer, mask, group, static, shared = (_rows_of(x, kept, counts) for x in attributes)
    return layer, mask, group, static, _renumbered(ignore_pairs, kept, counts), shared


def _rows_of(value: Any, kept: list[Any], counts: list[int]) -> Any:
    if value is None or np.isscalar(value):
        return value
    if len(counts) == 2:
        if not isinstance(value, tuple) or len(value) != 2:
            return value  # make_filter says what is wrong
        return tuple(_rows_of(value[k], [kept[k]], [counts[k]]) for k in range(2))
    if kept[0] is None:
        return value
    array = np.asarray(value)
    if array.ndim == 0 or len(array) != counts[0]:
        raise ValueError(f"a filter has shape {array.shape}, but there are {counts[0]} boxes")
    return array[kept[0]]


def _renumbered(pairs: Any, kept: list[Any], counts: list[int]) -> Any:
    if _ignored_keys(pairs, tuple(counts)) is None:
        return None
    array = np.asarray(pairs)
    columns = []
    for column, rows, count in zip(array.T, (kept[0], kept[-1]), (counts[0], counts[-1]), strict=True):
        numbers = np.arange(count)
        if rows is not None:
            numbers[:] = -1
            numbers[rows] = np.arange(len(rows))
        columns.append(numbers[column])
    renumbered = np.stack(columns, axis=1)
    return renumbered[(renumbered >= 0).all(axis=1)]
