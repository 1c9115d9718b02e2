"""Which overlaps count as pairs: layers, groups, static boxes, and ignored pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from broadphase import _native
from broadphase.arguments import as_own_array
from broadphase.boxes.forms import describe_invalid
from broadphase.errors import InvalidBoxWarning

__all__ = [
    "ALL_BITS",
    "NO_FILTER",
    "ByRow",
    "PairFilter",
    "ReadyFilter",
    "as_attribute",
    "as_ignored_pairs",
    "without_invalid",
]

#: A value for each row, or one for all; names of layers in worlds; for two sets of rows, a tuple of two of these.
ByRow: TypeAlias = npt.ArrayLike | Set[str] | tuple[npt.ArrayLike | None, npt.ArrayLike | None] | None

#: Rows or handles that queries leave out; in worlds also actors.
Ignored: TypeAlias = Any

ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
# Values for a set that has None in a tuple: all layers, no group, not static.
_DEFAULTS = {"layer": ALL_BITS, "mask": ALL_BITS, "group": 0, "static": False}


@dataclass(frozen=True, slots=True, eq=False)
class PairFilter:
    """Which pairs of overlapping boxes count, by the options of `broadphase.pairs`; None, the default, filters nothing.

    Values are as the caller gave them: `native` checks them. For two sets of boxes, all but `ignore_pairs` are tuples
    (for the first set, for the second).

    >>> import numpy as np
    >>> teams = PairFilter(group=np.array([-1, -1, -2]))
    >>> teams.passing(np.array([[0, 1], [1, 2]], np.int32), 3)
    array([[1, 2]], dtype=int32)
    """

    layer: Any = None
    mask: Any = None
    group: Any = None
    static: Any = None
    ignore_pairs: Any = None
    ignore_shared: Any = None
    batch: Any = None

    @property
    def is_empty(self) -> bool:
        """Whether it filters nothing."""
        return self is NO_FILTER or not self.given()

    def given(self) -> dict[str, Any]:
        """Return the values that are not None, by name."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}

    def native(self, *counts: int) -> _native.PairFilter | None:
        """Make the core's filter for one or two sets of boxes, by their counts, or None where nothing is filtered."""
        if self.is_empty:
            return None
        layer, mask = self.layer, self.mask
        layers = masks = (None, None)
        if layer is not None or mask is not None:
            layers = _attribute("layer", ALL_BITS if layer is None else layer, counts, np.uint64)
            masks = _attribute("mask", ALL_BITS if mask is None else mask, counts, np.uint64)
        return _native.PairFilter(
            layers,
            masks,
            _attribute("group", self.group, counts, np.int64),
            _attribute("static", self.static, counts, np.uint8),
            _shared(self.ignore_shared, counts),
            as_ignored_pairs(self.ignore_pairs, counts),
            len(counts) == 2,
            _attribute("batch", self.batch, counts, np.int64),
        )

    def passing(self, pairs: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int32]:
        """Return those of some pairs (m, 2) among `count` boxes that pass."""
        native = self.native(count)
        if native is None:
            return pairs
        allowed: Any = native.allows(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))
        kept: npt.NDArray[np.int32] = pairs[allowed.view(np.bool_)]
        return kept

    def of_rows(self, kept: Sequence[npt.NDArray[Any] | None], counts: Sequence[int]) -> PairFilter:
        """Return the filter of the boxes that are kept of each set (None: all of `counts`), by their places there."""
        if self.is_empty or all(rows is None for rows in kept):
            return self
        of_rows = {
            name: _rows_of(value, kept, counts) for name, value in self.given().items() if name != "ignore_pairs"
        }
        return PairFilter(**of_rows, ignore_pairs=_renumbered(self.ignore_pairs, kept, counts))


class ReadyFilter(PairFilter):
    """One that the core has made itself, of the columns of a world: valid during the call that gives it."""

    __slots__ = ("_ready",)
    _ready: _native.PairFilter

    def __init__(self, ready: _native.PairFilter) -> None:
        super().__init__()
        object.__setattr__(self, "_ready", ready)

    @property
    def is_empty(self) -> bool:
        """Whether it filters nothing."""
        return False

    def native(self, *_: int) -> _native.PairFilter | None:
        """Give what the core has made."""
        return self._ready


#: The filter that every overlap passes.
NO_FILTER = PairFilter()


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
        as_attribute(f"{name}[{k}]", _DEFAULTS[name] if value[k] is None else value[k], counts[k], dtype)
        for k in range(2)
    )
    return first, second


def _shared(value: Any, counts: tuple[int, ...]) -> tuple[Any, Any]:
    """Values of ``ignore_shared``, in ascending order in each row where the core compares more than a few."""
    shared = _attribute("ignore_shared", value, counts, np.int64)
    if value is not None and any(one is not None and one.shape[1] > _native.PairFilter.few_shared for one in shared):
        for one in shared[: len(counts)]:
            one.sort(axis=1)
    return shared


def as_attribute(name: str, value: Any, count: int, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Copy one value per box, or for ``ignore_shared`` one row, of what the caller gave as `name`; contiguous."""
    if dtype is np.uint64 and type(value) is int and -(2**63) <= value < 2**64:
        same = np.empty(count, np.uint64)  # most calls: a mask or a layer for all
        same.fill(value & ALL_BITS)
        return same
    array = as_own_array(value, name)
    shared = name.startswith("ignore_shared")
    if array.ndim == 0 and not shared:
        array = np.broadcast_to(array, (count,))
    if shared and array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != (2 if shared else 1) or array.shape[0] != count:
        wanted = f"({count}, k) or ({count},)" if shared else f"({count},)"
        raise ValueError(f"{name} has shape {array.shape}; one per box is needed: {wanted}")
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


def as_ignored_pairs(pairs: Any, counts: tuple[int, ...], of: str = "boxes") -> npt.NDArray[np.int64] | None:
    """Return the pairs of rows to ignore, checked; None where there are none."""
    if pairs is None:
        return None
    array = as_own_array(pairs, "ignore_pairs")
    if array.size == 0:
        return None
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"ignore_pairs has shape {array.shape}; (k, 2) is needed")
    if array.dtype.kind not in "iu":
        raise TypeError(f"ignore_pairs must be integer, not {array.dtype}")
    limits = np.array([counts[0], counts[-1]])
    if array.min() < 0 or any(column.max() >= limit for column, limit in zip(array.T, limits, strict=True)):
        row = int(((array < 0) | (array >= limits)).any(axis=1).argmax())
        known = f"there are {counts[0]}" if len(counts) == 1 else f"the sets have {counts[0]} and {counts[1]}"
        raise ValueError(f"ignore_pairs row {row} names {of} {array[row].tolist()}, but {known}, from 0")
    return np.ascontiguousarray(array, np.int64)


def without_invalid(pair_filter: PairFilter, *sets: tuple[Any, Any]) -> tuple[PairFilter, *tuple[Any, ...]]:
    """Drop the boxes with NaN or lower > upper, and their values of the filter.

    Returns the filter, then for each set its lower and upper corners and the kept row numbers (None: all of them).
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
                    f"{name}: skipped {len(valid) - len(rows)} invalid boxes; {describe_invalid(lower, upper, bad)}",
                    InvalidBoxWarning,
                    stacklevel=4,
                )
                lower, upper = lower[rows], upper[rows]
        kept.append(rows)
        result.append((lower, upper, rows))
    return pair_filter.of_rows(kept[: len(counts)], counts), *result


def _rows_of(value: Any, kept: Sequence[Any], counts: Sequence[int]) -> Any:
    if value is None or np.isscalar(value):
        return value
    if len(counts) == 2:
        if not isinstance(value, tuple) or len(value) != 2:
            return value  # `native` says what is wrong
        return tuple(_rows_of(value[k], [kept[k]], [counts[k]]) for k in range(2))
    if kept[0] is None:
        return value
    array = as_own_array(value, "a filter")
    if array.ndim == 0 or len(array) != counts[0]:
        raise ValueError(f"a filter has shape {array.shape}, but there are {counts[0]} boxes")
    return array[kept[0]]


def _renumbered(pairs: Any, kept: Sequence[Any], counts: Sequence[int]) -> Any:
    array = None if pairs is None else as_own_array(pairs, "ignore_pairs")
    if array is None or as_ignored_pairs(array, tuple(counts)) is None:
        return None
    columns = []
    for column, rows, count in zip(array.T, (kept[0], kept[-1]), (counts[0], counts[-1]), strict=True):
        numbers = np.arange(count)
        if rows is not None:
            numbers[:] = -1
            numbers[rows] = np.arange(len(rows))
        columns.append(numbers[column])
    renumbered = np.stack(columns, axis=1)
    return renumbered[(renumbered >= 0).all(axis=1)]
