"""A tree of cubes that halve: boxes are inserted, moved and removed in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array, as_real, as_reals, as_whole
from broadphase.errors import quoted
from broadphase.index.box_index import BoxIndex, IndexKeywords, shows_index_options
from broadphase.index.cells import TreeCells, interleaved, tree_cells
from broadphase.index.options import checked_options
from broadphase.index.outside import as_bounds, as_policy, require_fit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes
    from broadphase.index.box_index import Need
    from broadphase.index.protocol import Arrangement
    from broadphase.options import Bound

__all__ = ["Octree"]

_Handler = Callable[[np.void], object]


class PairRecord(np.void):  # type: ignore[misc]  # which NumPy allows
    """A record of two boxes that intersect. Equality and hash do not depend on which box is `first`."""

    def __eq__(self, other: object) -> bool:
        return self._named() == other._named() if isinstance(other, PairRecord) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._named())

    def _named(self) -> tuple[Any, ...]:
        """Return all fields, with the lower row first."""
        first, second, position, normal, depth, cell = (self[name] for name in self.dtype.names or ())
        is_swapped = first > second
        rows = (second, first) if is_swapped else (first, second)
        return (*rows, *position.tolist(), *((0 - normal) if is_swapped else normal).tolist(), depth, cell)


class Octree(BoxIndex):
    """Boxes, each in the smallest cube that contains it; only boxes that move are filed again. In 2D a quadtree.

    A change only marks rows; the next query builds or updates the tree. So a thousand inserts cost one build.

    Parameters
    ----------
    boxes, **options
        As in `BoxIndex`, which documents all queries.
    minimum : "auto" or float
        Edge of the smallest cells, in the unit of the boxes. The root's edge is this times a power of two.
    leaf_capacity : int
        A cell with more boxes is split, if smaller cells would contain some of them. 1: whenever possible.
    looseness : float, 1 or more
        A cell holds boxes that are inside its cube enlarged by this factor about its center. With 1, a box across the
        border between two cells stays in the smallest cell that contains both.
    bounds : array_like, shape (2, d) or (2*d,), or tuple of two (d,), optional
        Opposite corners, in any order, of a region that the root contains from the beginning. Finite.
    outside : {"grow", "drop", "raise"}
        What to do with a box that is not wholly in `bounds`, or by default in the cube of the root. "grow": the root
        grows. "drop": the box is removed; see `dropped`. "raise": a ValueError names it, and nothing changes. In a
        world of bodies, see `World`.

    Raises
    ------
    ValueError, TypeError
        As `BoxIndex`; an option out of its range.

    Notes
    -----
    O(n log n) time to build, O(moved · depth) to update. A leaf that stays empty for 8 updates is freed; each time that
    it is used again meanwhile, that number doubles, up to 64. Boxes with infinite corners are kept outside the root.

    References
    ----------
    .. [1] D. Meagher, "Geometric Modeling Using Octree Encoding", Computer Graphics and Image Processing 19, 1982.
       https://doi.org/10.1016/0146-664X(82)90104-6
    .. [2] T. Ulrich, "Loose Octrees", Game Programming Gems, Charles River Media, 2000.

    Examples
    --------
    >>> import broadphase as bp
    >>> tree = bp.Octree([[0, 0, 2, 2], [1, 1, 3, 3], [8, 8, 9, 9]], minimum=1)
    >>> tree.pairs()
    array([[0, 1]], dtype=int32)
    >>> tree.move(1, [[8, 9, 10, 10]])
    >>> tree.pending, tree.pairs().tolist(), tree.pending
    (1, [[1, 2]], 0)
    """

    __slots__ = ("_settings",)
    method = "octree"
    options = classmethod(checked_options)

    @shows_index_options
    def __init__(
        self,
        boxes: Boxes | None,
        *,
        minimum: float | Literal["auto"] = "auto",
        leaf_capacity: int = 32,
        looseness: float = 2.0,
        bounds: ArrayLike | None = None,
        outside: Literal["grow", "drop", "raise"] = "grow",
        **options: Unpack[IndexKeywords],
    ) -> None:
        self._settings = self._checked(minimum, leaf_capacity, looseness, bounds, outside)
        super().__init__(boxes, **options)
        self._require_fit(self._settings, self.dim)
        if bounds is not None:  # otherwise the root is put around these boxes
            self._remove_outside()

    @staticmethod
    def _checked(
        minimum: Any = "auto", leaf_capacity: Any = 32, looseness: Any = 2.0, bounds: Any = None, outside: Any = "grow"
    ) -> dict[str, Any]:
        if not (isinstance(minimum, str) and minimum == "auto"):
            minimum = as_real(minimum, "minimum")
            if not 0 < minimum < np.inf:
                raise ValueError(f"minimum must be more than 0, and finite, not {minimum}")
        factor = as_real(looseness, "looseness")
        if not 1 <= factor < np.inf:
            raise ValueError(f"looseness must be 1 or more, and finite, not {looseness}")
        corners = as_bounds(bounds)
        if corners is not None and not np.isfinite(corners).all():
            raise ValueError(f"bounds must be finite, not {quoted(bounds)}")
        return {
            "minimum": minimum,
            "leaf_capacity": as_whole(leaf_capacity, "leaf_capacity", 1, 2**31 - 1),
            "looseness": factor,
            "bounds": corners,
            "outside": as_policy(outside),
        }

    @staticmethod
    def _require_fit(settings: Mapping[str, Any], dim: int) -> None:
        require_fit(settings["bounds"], dim)

    def records(self, pairs: ArrayLike | None = None, *, by: Bound = None, **options: Any) -> NDArray[np.void]:
        """Return the intersections of pairs: position, normal, depth and cell.

        Parameters
        ----------
        pairs : array_like of int, shape (m, 2), optional
            Rows in use, of boxes that overlap, in either order. Default: ``self.pairs(sort=True)``.
        by : {"box", "sphere"}, optional
            "sphere": pairs, positions, normals and depths are those of the spheres; the box of an object without a
            sphere stands for it.
        **options
            As in `pairs`; without the parameter `pairs` only.

        Returns
        -------
        ndarray, shape (m,), structured
            ``first``, ``second``: the rows. ``position``, shape (d,): the center of the intersection of both boxes; of
            spheres, the middle of their overlap on the line between their centers. ``normal``, shape (d,): a unit
            vector from first to second along the axis of least penetration, of spheres along that line. ``depth``: how
            far to move one of them along it until they only touch. ``cell``: the smaller of the cells of the two rows,
            as a row of `outline`; -1 outside the root. The same pair in the other order has the opposite normal; both
            records are equal, with the same hash.

        Examples
        --------
        >>> import broadphase as bp
        >>> record = bp.Octree([[0, 0, 4, 4], [3, 1, 5, 3]]).records()[0]
        >>> record["position"], record["normal"], record["depth"]
        (array([3.5, 2. ]), array([1., 0.]), np.float64(1.0))
        """
        spheres = self._store.balls if self._are_spheres(by) else None
        found = self.pairs(sort=True, by=by, **options) if pairs is None else self._named(pairs)
        ordered = np.sort(found, axis=1)
        is_swapped = found[:, 0] > found[:, 1]
        first, second = (self.boxes_of(ordered[:, k]).astype(np.float64) for k in range(2))
        records = np.zeros(
            len(found), _dtype(self.dim, PairRecord, "first", "second", "position", "normal", "depth", "cell")
        )
        records["first"], records["second"] = found.T
        records["position"] = _middle(np.maximum(first[:, 0], second[:, 0]), np.minimum(first[:, 1], second[:, 1]))
        axis, sign, records["depth"] = _least_penetration(first, second)
        normal = np.zeros_like(records["normal"])
        normal[np.arange(len(found)), axis] = sign
        if spheres is not None:
            of = spheres.having(ordered).any(axis=1)
            boxes = np.stack([first[of], second[of]], axis=1)
            records["position"][of], normal[of], records["depth"][of] = spheres.intersect(ordered[of], boxes)
        records["normal"] = np.where(is_swapped[:, np.newaxis], 0 - normal, normal)
        cells, levels = self.cells_of_rows(ordered)
        deeper = (levels[:, 1] > levels[:, 0]).astype(np.intp)
        records["cell"] = cells[np.arange(len(found)), deeper]
        return records

    def ray_records(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        nearest: bool = False,
        by: Bound = None,
        **options: Any,
    ) -> NDArray[np.void]:
        """Return the hits of rays: position, normal, distance and cell. Errors are those of `raycast`.

        Parameters
        ----------
        origins, directions : array_like, shape (q, d), or (d,) for all
            As in `raycast`; one ray has the number 0.
        nearest : bool
            Whether to return only the first box on each ray.
        by : {"box", "sphere"}, optional
            As in `raycast`.
        **options
            As in `raycast`, or `raycast_all`.

        Returns
        -------
        ndarray, shape (m,), structured
            ``ray``: the number of the ray, ascending. ``row``: the row of the box, for each ray by distance.
            ``origin``, ``direction``, shape (d,): of the ray, as given. ``position``, shape (d,): of the hit.
            ``normal``, shape (d,): of the face or sphere that is hit; zero if the ray begins inside. ``distance``: from
            the origin. ``cell``: of the row, as in `records`.

        Examples
        --------
        >>> import broadphase as bp
        >>> hits = bp.Octree([[4, 0, 5, 1], [7, 0, 8, 1]]).ray_records([[0, 0.5]], [[2, 0]])
        >>> hits["row"], hits["distance"], hits["normal"][0]
        (array([0, 1], dtype=int32), array([4., 7.]), array([-1.,  0.]))
        """
        origin = np.atleast_2d(as_reals(origins, "origins"))
        direction = np.atleast_2d(as_reals(directions, "directions"))
        if nearest:
            first = self.raycast(origin, direction, by=by, **options)
            ray: NDArray[Any] = np.flatnonzero(first.rows >= 0)
            row, distance = first.rows[ray], first.distances[ray]
        else:
            every = self.raycast_all(origin, direction, by=by, **options)
            row, distance, ray = every.rows, every.distances, every.query_rows
        origin, direction = np.broadcast_arrays(origin, direction)
        begin, along = origin[ray], direction[ray]
        length = np.sqrt((along * along).sum(axis=1, keepdims=True))
        fields = ("ray", "row", "origin", "direction", "position", "normal", "distance", "cell")
        records = np.zeros(len(row), _dtype(self.dim, np.void, *fields))
        records["ray"], records["row"], records["distance"] = ray, row, distance
        records["origin"], records["direction"] = begin, along
        records["position"] = begin + along / np.where(length > 0, length, 1) * distance[:, np.newaxis]
        records["normal"] = _normal_of_face(begin, along, self.boxes_of(row).astype(np.float64))
        spheres = self._store.balls if self._are_spheres(by) else None
        if spheres is not None:
            of = spheres.having(row)
            records["normal"][of] = spheres.normals(row[of], records["position"][of], along[of], distance[of])
        records["cell"] = self.cells_of_rows(row)[0]
        return records

    def each_record(self, handlers: _Handler | Mapping[int, _Handler], records: NDArray[np.void] | None = None) -> int:
        """Call the handlers of both rows of every intersection.

        Parameters
        ----------
        handlers : callable, or mapping of rows to callables
            Called with one record, in which the row of the handler is ``first``. Rows without a handler are skipped.
        records : ndarray, optional
            The result of `records`. Default: all.

        Returns
        -------
        int
            Number of calls.

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
            swapped["first"], swapped["second"] = record["second"], record["first"]
            swapped["normal"] = 0 - record["normal"]
            for own in (record, swapped):
                handler = handlers if callable(handlers) else handlers.get(int(own["first"]))
                if handler is not None:
                    handler(own)
                    calls += 1
        return calls

    def _named(self, pairs: ArrayLike) -> NDArray[np.int32]:
        named = as_array(pairs, "pairs")
        if named.size == 0:
            return np.empty((0, 2), np.int32)
        if named.ndim != 2 or named.shape[1] != 2 or named.dtype.kind not in "iu":
            raise ValueError(f"pairs must be integers of shape (m, 2), not {named.dtype} of shape {named.shape}")
        return named.astype(np.int32)

    def cells(self) -> TreeCells:
        """Return the cells, also empty ones that are not freed yet: see `TreeCells`.

        Raises UnsupportedQueryError if numbers of cells have more than 63 bits: from level 22 on in 3D.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree([[1, 1, 2, 2], [3, 3, 5, 5], [6, 1, 7, 2]], minimum=1, leaf_capacity=1, looseness=1)
        >>> cells = tree.cells()
        >>> cells.level, cells.number, cells.children, cells.rows[cells.offsets[0] : cells.offsets[1]]
        (array([0, 1, 1], dtype=int32), array([0, 0, 1], dtype=uint64), array([3, 0, 0], dtype=uint16), \
        array([1], dtype=int32))
        """
        with self._guard.reading:
            rows, (root, _) = self._store.numbers, self._root()
            lower, upper, level = self._arranged().outline()
            of_rows = self._arranged().cells_of(rows)
        edges = (upper - lower)[:, :1] if len(lower) else np.ones((0, 1))
        number = interleaved(np.rint((lower - root) / edges).astype(np.uint64))
        there = of_rows >= 0
        own_level, own_number = np.where(there, level[of_rows], -1), np.where(there, number[of_rows], 0)
        return tree_cells(self.dim, (level, number), rows, (own_level, own_number))

    def cells_of_rows(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the cell of each row in use, as a row of `outline`, and its level; both -1 outside the root.

        Rows, cells and levels have any one shape, int32.
        """
        with self._guard.reading:
            core = self._arranged()
            cells = core.cells_of(np.ascontiguousarray(rows, dtype=np.int32).ravel()).reshape(rows.shape)
            levels = np.append(core.outline()[2], np.int32(-1))
        return cells, levels[cells]

    @property
    def pending(self) -> int:
        """Number of rows inserted, moved or removed since the last update of the tree."""
        if self._arrangement is None or self._is_stale:
            return len(self)
        pending: int = self._arrangement.pending
        return pending

    @property
    def dropped(self) -> NDArray[np.int32]:
        """Rows that were outside the world and so removed by the last `insert`, `move` or `update`."""
        return self._dropped

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Lower and upper corner of the root's cube, shape (2, d)."""
        with self._guard.reading:
            return self._root()

    def _root(self) -> NDArray[np.float64]:
        return np.stack(self._arranged().world())

    def _make_core(self) -> Arrangement:
        wanted = self._settings
        bounds = self._bounds_of(wanted)
        lower, upper = ([], []) if bounds is None else bounds.tolist()
        minimum = 0.0 if wanted["minimum"] == "auto" else wanted["minimum"]
        return _native.Octree(self.dim, minimum, wanted["looseness"], wanted["leaf_capacity"], lower, upper)

    def _build_first(self) -> None:
        """Wait for the first query."""

    def _arranged(self, need: Need = "all") -> Any:
        core = self._settled()
        if core.is_crowded if need == "pairs" else core.needs_packing:
            with self._guard.building:  # several threads may come here at once
                if need == "pairs":
                    core.pack_for_pairs(*self._store.views)
                elif core.needs_packing:
                    core.pack(*self._store.views)
        return core

    def _settled(self) -> Any:
        core = super()._arranged()
        if not core.is_settled:
            with self._guard.building:
                if not core.is_settled:
                    work, began = "build" if core.needs_build else "update", perf_counter()
                    core.settle(*self._store.views, self._threads)
                    self._seconds[work] = perf_counter() - began
        return core

    def _limits(self) -> NDArray[np.float64] | None:
        bounds = super()._limits()
        return self._root() if bounds is None and len(self) else bounds


def _dtype(dimension: int, kind: type[np.void], *names: str) -> np.dtype[np.void]:
    """Return the type of records with these fields."""
    types = {"first": "i4", "second": "i4", "ray": "i4", "row": "i4", "cell": "i4", "depth": "f8", "distance": "f8"}
    fields = [(name, types[name]) if name in types else (name, "f8", (dimension,)) for name in names]
    return np.dtype((kind, fields))


def _middle(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the middle of both; the finite end where the other is infinite; 0 if both are."""
    low, high = np.where(np.isinf(lower), upper, lower), np.where(np.isinf(upper), lower, upper)
    is_unbounded = np.isinf(low) | np.isinf(high)
    return np.where(is_unbounded, 0, np.where(is_unbounded, 0, low) / 2 + np.where(is_unbounded, 0, high) / 2)


def _least_penetration(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the axis, the direction along it in which to move the second box, and how far."""
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
    """Return the normal against the direction, along the axis on which the ray enters last."""
    near = np.where(direction > 0, boxes[:, 0], boxes[:, 1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        enter = np.where(direction != 0, (near - origin) / direction, -np.inf)
    normal = np.zeros_like(origin)
    rows = np.arange(len(origin))
    axis = enter.argmax(axis=1)
    is_hit = enter[rows, axis] >= 0
    normal[rows, axis] = np.where(is_hit, -np.sign(direction[rows, axis]), 0)
    return normal + 0.0
