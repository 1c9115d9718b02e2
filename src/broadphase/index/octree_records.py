"""What is known of each intersection: where, along which normal, how deep, and in which cell it was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.index.box_index import BoxIndex

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["OctreeRecords"]

_Handler = Callable[[np.void], object]


class OctreeRecords(BoxIndex):
    """The part of `Octree` that describes intersections."""

    def records(self, pairs: ArrayLike | None = None, **options: Any) -> NDArray[np.void]:
        """Describe the intersections of pairs.

        Parameters
        ----------
        pairs : array_like of int, shape (m, 2), optional
            Rows of boxes that overlap, in either order. Unset: all, in the order of ``self.pairs(sort=True)``.
        **options
            As in `pairs`, if `pairs` is unset.

        Returns
        -------
        ndarray, shape (m,), structured
            ``first``, ``second``: the rows. ``position``, shape (d,): the centre of what both boxes have in common.
            ``normal``, shape (d,): a unit vector along the axis of least penetration, from first to second. ``depth``:
            how far to move one of them along it until they only touch. ``cell``: the smaller of the two cells that the
            rows are in, as a row of `outline`; -1 outside the root. Rows named the other way round give the same with
            the opposite normal.

        Raises
        ------
        UnknownRowError
            A row that is not in use.

        Examples
        --------
        >>> import broadphase as bp
        >>> record = bp.Octree([[0, 0, 4, 4], [3, 1, 5, 3]]).records()[0]
        >>> record["position"], record["normal"], record["depth"]
        (array([3.5, 2. ]), array([1., 0.]), np.float64(1.0))
        """
        found = self.pairs(sort=True, **options) if pairs is None else self._named(pairs)
        ordered = np.sort(found, axis=1)
        is_swapped = found[:, 0] > found[:, 1]
        first, second = (self.boxes_of(ordered[:, k]).astype(np.float64) for k in range(2))
        records = np.zeros(len(found), _dtype(self.dimension, ["first", "second"], "depth"))
        records["first"], records["second"] = found.T
        records["position"] = _middle(np.maximum(first[:, 0], second[:, 0]), np.minimum(first[:, 1], second[:, 1]))
        axis, sign, records["depth"] = _least_penetration(first, second)
        records["normal"][np.arange(len(found)), axis] = np.where(is_swapped, -sign, sign)
        cells, levels = self.cells_of_rows(ordered)
        deeper = (levels[:, 1] > levels[:, 0]).astype(np.intp)
        records["cell"] = cells[np.arange(len(found)), deeper]
        return records

    def ray_records(
        self, origins: ArrayLike, directions: ArrayLike, *, nearest: bool = False, **options: Any
    ) -> NDArray[np.void]:
        """Describe the hits of rays.

        Parameters
        ----------
        origins, directions : array_like, shape (q, d)
            As in `raycast`.
        nearest : bool
            True: only the first box that a ray hits; otherwise all of them.
        **options
            As in `raycast`, or `raycast_all`.

        Returns
        -------
        ndarray, shape (m,), structured
            ``ray``: its number, ascending. ``row``: of the box, for each ray in the order of the distance.
            ``position``, shape (d,), of the hit. ``normal``, shape (d,): of the face that is hit; zero where the ray
            begins within the box. ``distance`` from the origin. ``cell``: that of the row, as in `records`.

        Raises
        ------
        ValueError
            As `raycast`.

        Examples
        --------
        >>> import broadphase as bp
        >>> hits = bp.Octree([[4, 0, 5, 1], [7, 0, 8, 1]]).ray_records([[0, 0.5]], [[2, 0]])
        >>> hits["row"], hits["distance"], hits["normal"][0]
        (array([0, 1], dtype=int32), array([4., 7.]), array([-1.,  0.]))
        """
        origin = np.atleast_2d(np.asarray(origins, dtype=np.float64))
        direction = np.atleast_2d(np.asarray(directions, dtype=np.float64))
        if nearest:
            row, distance = self.raycast(origins, directions, **options)
            ray = np.flatnonzero(row >= 0)
            row, distance = row[ray], distance[ray]
        else:
            row, offsets, distance = self.raycast_all(origins, directions, **options)
            ray = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        origin, direction = np.broadcast_arrays(origin, direction)
        begin, along = origin[ray], direction[ray]
        length = np.sqrt((along * along).sum(axis=1, keepdims=True))
        records = np.zeros(len(row), _dtype(self.dimension, ["ray", "row"], "distance"))
        records["ray"], records["row"], records["distance"] = ray, row, distance
        records["position"] = begin + along / np.where(length > 0, length, 1) * distance[:, np.newaxis]
        records["normal"] = _normal_of_face(begin, along, self.boxes_of(row).astype(np.float64))
        records["cell"] = self.cells_of_rows(row)[0]
        return records

    def each_record(self, handlers: _Handler | Mapping[int, _Handler], records: NDArray[np.void] | None = None) -> int:
        """Call the handlers of both boxes of every intersection.

        Parameters
        ----------
        handlers : callable, or mapping of rows to callables
            Called with one record, in which the handler's own box is ``first``. Rows without one are passed over.
        records : ndarray, optional
            What `records` gave. Unset: all.

        Returns
        -------
        int
            How many calls there were.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree([[0, 0, 4, 4], [3, 1, 5, 3]])
        >>> tree.each_record(lambda record: print(record["first"], record["normal"]))
        0 [1. 0.]
        1 [-1.  0.]
        2
        """
        calls = 0
        for record in self.records() if records is None else records:
            swapped = record.copy()
            swapped["first"], swapped["second"], swapped["normal"] = (
                record["second"],
                record["first"],
                0 - record["normal"],
            )
            for own in (record, swapped):
                handler = handlers if callable(handlers) else handlers.get(int(own["first"]))
                if handler is not None:
                    handler(own)
                    calls += 1
        return calls

    def _named(self, pairs: ArrayLike) -> NDArray[np.int32]:
        named = np.asarray(pairs)
        if named.size == 0:
            return np.empty((0, 2), np.int32)
        if named.ndim != 2 or named.shape[1] != 2 or named.dtype.kind not in "iu":
            raise ValueError(f"pairs must be integers of shape (m, 2), not {named.dtype} of shape {named.shape}")
        return named.astype(np.int32)

    def cells_of_rows(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Give the cells that rows are in.

        Parameters
        ----------
        rows : ndarray of int32, any shape
            Rows in use.

        Returns
        -------
        cells, levels : ndarray, int32, of the same shape
            The cell of each, as a row of `outline`, and its level; both -1 outside the root.
        """
        with self._guard.reading:
            core = self._arranged()
            cells = core.cells_of(np.ascontiguousarray(rows, dtype=np.int32).ravel()).reshape(rows.shape)
            levels = np.append(core.outline()[2], np.int32(-1))
        return cells, levels[cells]


def _dtype(dimension: int, numbers: list[str], measure: str) -> np.dtype[np.void]:
    first, second = ((name, np.int32) for name in numbers)
    return np.dtype(
        [
            first,
            second,
            ("position", np.float64, (dimension,)),
            ("normal", np.float64, (dimension,)),
            (measure, np.float64),
            ("cell", np.int32),
        ]
    )


def _middle(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Halfway; of a side that is infinite, the other end; 0 between both infinities."""
    low, high = np.where(np.isinf(lower), upper, lower), np.where(np.isinf(upper), lower, upper)
    is_unbounded = np.isinf(low) | np.isinf(high)
    return np.where(is_unbounded, 0, np.where(is_unbounded, 0, low) / 2 + np.where(is_unbounded, 0, high) / 2)


def _least_penetration(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Find the axis, the direction along it in which to move the second box, and how far."""
    with np.errstate(over="ignore", invalid="ignore"):
        forth, back = first[:, 1] - second[:, 0], second[:, 1] - first[:, 0]
    forth, back = (np.where(np.isnan(way), np.inf, way) for way in (forth, back))
    depth = np.minimum(forth, back)
    axis = depth.argmin(axis=1)
    rows = np.arange(len(axis))
    sign = np.where(forth[rows, axis] <= back[rows, axis], 1.0, -1.0)
    return axis, sign, depth[rows, axis]


def _normal_of_face(
    origin: NDArray[np.float64], direction: NDArray[np.float64], boxes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Against the direction, along the axis that the ray enters last."""
    near = np.where(direction > 0, boxes[:, 0], boxes[:, 1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        enter = np.where(direction != 0, (near - origin) / direction, -np.inf)
    normal = np.zeros_like(origin)
    rows = np.arange(len(origin))
    axis = enter.argmax(axis=1)
    is_hit = enter[rows, axis] >= 0
    normal[rows, axis] = np.where(is_hit, -np.sign(direction[rows, axis]), 0)
    return normal + 0.0
