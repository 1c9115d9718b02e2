"""Whether what a snapshot says can be: it may have been written by anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import LARGEST

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from broadphase.shapes.records import Geometries

    Floats = NDArray[np.float64]

__all__ = ["Stored", "checked_pairs", "checked_records", "require"]

# Where the lengths are in a record that must not be negative, from the end of the points on: begin and end in multiples
# of the dimension.
_LENGTHS = {
    ShapeKind.BALL: (1, None),
    ShapeKind.CAPSULE: (2, None),
    ShapeKind.BOX: (1, 2),
    ShapeKind.ORIENTED_BOX: (1, 2),
}


def require(holds: bool, fault: str) -> None:
    """Raise ValueError unless something holds."""
    if not holds:
        raise ValueError(f"the snapshot contradicts itself: {fault}")


class Stored:
    """The arrays of a snapshot, each to be taken once."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def maybe(self, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any] | None:
        """Take an array of a dtype and a shape, None in it for any length; None if there is no such array."""
        array = self._arrays.pop(name, None)
        if array is None:
            return None
        fits = array.ndim == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            require(False, f"{name} is {array.dtype} of shape {array.shape}")
        return array

    def take(self, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Take an array that must be there."""
        array = self.maybe(name, dtype, shape)
        if array is None:
            raise ValueError(f"the snapshot has no array {name!r}")
        return array

    def names(self) -> list[str]:
        """Names of the arrays that have not been taken, in their order."""
        return list(self._arrays)

    def finish(self) -> None:
        """Refuse arrays that nobody has taken."""
        require(not self._arrays, f"there are arrays {', '.join(map(repr, self._arrays))}")


def checked_pairs(
    pairs: NDArray[np.int32], name: str, there: NDArray[np.bool_], *, in_order: bool
) -> NDArray[np.int32]:
    """Check pairs of rows, first < second, each once, of rows that are there; give them as two columns."""
    if len(pairs):
        require(pairs.min() >= 0 and pairs.max() < len(there), f"{name} has a row that does not exist")
        require(bool((pairs[:, 0] < pairs[:, 1]).all()), f"{name} has a pair whose first row is not the lesser")
        require(bool(there[pairs].all()), f"{name} has a row that is not in use")
        keys = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
        steps = np.diff(keys if in_order else np.sort(keys))
        require(bool((steps > 0).all()), f"{name} is not in order, or has a pair twice")
    columns: NDArray[np.int32] = np.ascontiguousarray(pairs.T).T
    return columns


def checked_records(
    kinds: NDArray[np.uint8], sizes: NDArray[np.int32], numbers: Floats, dimension: int, geometries: Geometries
) -> None:
    """Check the numbers of shapes; that there are as many as there should be is checked where they are kept."""
    # False for NaN, too. What is turned and moved by an offset may be somewhat larger than what users may give.
    require(bool((np.abs(numbers) <= 10 * LARGEST).all()), "a shape has a number that is not finite, or too large")
    require(bool((sizes >= 0).all()) and int(sizes.sum(dtype=np.int64)) == len(numbers), "shape_sizes do not add up")
    begins = np.cumsum(sizes, dtype=np.int64) - sizes
    require(bool((kinds < len(ShapeKind)).all()), "a kind of shape is unknown")
    for kind in (*_LENGTHS, ShapeKind.COMPOUND, ShapeKind.HULL, ShapeKind.MESH):
        some = kinds == kind
        for size in np.unique(sizes[some]).tolist():
            records = numbers[begins[some & (sizes == size)][:, np.newaxis] + np.arange(size)]
            if kind in _LENGTHS:
                _check_lengths(kind, records, dimension)
            elif kind == ShapeKind.COMPOUND:
                _check_compounds(records, dimension)
            else:
                _check_geometries(kind, records, geometries)


def _check_lengths(kind: ShapeKind, records: Floats, dimension: int) -> None:
    begin, end = _LENGTHS[kind]
    lengths = records[:, begin * dimension : None if end is None else end * dimension]
    require(not (lengths < 0).any(), f"a {kind.name.lower()} has a negative length")


def _check_compounds(records: Floats, dimension: int) -> None:
    """Check compounds of one length, those that have the same parts together."""
    while len(records):
        first, heads, parts = records[0], [], []
        at = 0
        while at + 2 <= len(first):
            kind, size = first[at], first[at + 1]
            require(kind in tuple(ShapeKind), "a compound has a part of no known kind")
            require(0 <= size <= len(first) - at - 2 and size == int(size), "a compound has a part of no known size")
            heads += [at, at + 1]
            parts.append((ShapeKind(int(kind)), slice(at + 2, at + 2 + int(size))))
            at += 2 + int(size)
        alike = (records[:, heads] == first[heads]).all(axis=1)
        for part, where in parts:
            if part in _LENGTHS:
                _check_lengths(part, records[alike, where], dimension)
        records = records[~alike]


def _check_geometries(kind: ShapeKind, records: Floats, geometries: Geometries) -> None:
    """Check hulls, or meshes: which they are, and the boxes around them."""
    require(records.shape[1] >= 7, f"a {kind.name.lower()} has too few numbers")
    for number in np.unique(records[:, 0]).tolist():
        require(0 <= number < len(geometries) and number == int(number), f"there is no geometry {number:g}")
        geometry = geometries[int(number)]
        require(geometry.kind == kind, f"geometry {number:g} is no {kind.name.lower()}")
        corners = np.concatenate([geometry.vertices.min(axis=0), geometry.vertices.max(axis=0)])
        boxes = records[records[:, 0] == number, -6:]
        require(bool((boxes == corners).all()), f"geometry {number:g} is not as large as its shape says")
