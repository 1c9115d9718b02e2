"""Boxes kept sorted along an axis: sweep and prune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from broadphase import _native
from broadphase.arguments import as_reals
from broadphase.errors import quoted
from broadphase.index.box_index import BoxIndex, IndexKeywords, shows_index_options
from broadphase.index.joining import boxes_around, boxes_as_seen_by
from broadphase.index.options import checked_options
from broadphase.index.results import QueryResult
from broadphase.index.walks import keep
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes
    from broadphase.index.box_index import Need
    from broadphase.index.protocol import Arrangement
    from broadphase.index.walks import Found, Walk
    from broadphase.options import Bound

__all__ = ["Delimiters", "SweepAndPrune"]

_MOST_DIMENSIONS = 4


class Delimiters(NamedTuple):
    """Where boxes begin and end along a direction, ascending.

    Attributes
    ----------
    values : ndarray, shape (2n,)
        Places along the direction, in the unit of the boxes; of equal ones, begins come before ends.
    rows : ndarray, shape (2n,), int32
        Row of the box of each.
    is_begin : ndarray, shape (2n,), bool
        Whether the box begins there; if not, it ends.
    """

    values: NDArray[Any]
    rows: NDArray[np.int32]
    is_begin: NDArray[np.bool_]


class SweepAndPrune(BoxIndex):
    """Boxes sorted along an axis or a direction, starting from their last order.

    A change only marks rows; the next query sorts them. Boxes that keep their order cost next to nothing.

    Parameters
    ----------
    boxes, **options
        As in `BoxIndex`. It supports pairs, and of the queries `query`, `query_points`, `query_ball`, `query_obb` and
        `frustum`.
    axis : {"auto", "principal"}, int or array_like of float, shape (d,)
        What to sort along: "auto", the axis or principal direction that leaves the fewest boxes to compare;
        "principal", the direction along which the centers vary most; the number of an axis; or a direction of any
        length. "auto" and "principal" are chosen again when boxes cluster, and after every 64 changes.

    Raises
    ------
    ValueError, TypeError
        As `pairs`; an axis that the boxes do not have; a direction that is not finite, or zero.

    Notes
    -----
    O(n log n) time to build, about 60 bytes a box. All pairs take O(n + tests), a query O(log n + tests). While the
    number of boxes does not grow, changes and queries allocate only their results.

    References
    ----------
    .. [1] D. Baraff, "Dynamic Simulation of Non-Penetrating Rigid Bodies", PhD thesis, Cornell University, 1992.
       https://hdl.handle.net/1813/7115

    Examples
    --------
    >>> import broadphase as bp
    >>> sweep = bp.SweepAndPrune([[0, 0, 2, 2], [1, 1, 3, 3], [8, 0, 9, 1]], axis=0)
    >>> sweep.query_rows([0, 2])
    QueryResult(rows=array([1], dtype=int32), offsets=array([0, 1, 1], dtype=int64))
    >>> sweep.void_borders
    array([[3., 8.]])
    """

    __slots__ = ("_settings",)
    method = "sweep_and_prune"
    options = classmethod(checked_options)

    @shows_index_options
    def __init__(
        self,
        boxes: Boxes | None,
        *,
        axis: str | int | ArrayLike = "auto",
        **options: Unpack[IndexKeywords],
    ) -> None:
        self._settings = self._checked(axis)
        super().__init__(boxes, **options)

    @staticmethod
    def _checked(axis: Any = "auto") -> dict[str, Any]:
        if isinstance(axis, str | int | np.integer):
            _direction(axis, _MOST_DIMENSIONS)
            return {"axis": str(axis) if isinstance(axis, str) else int(axis)}
        weight = as_reals(axis, "axis")
        _direction(weight, weight.size)
        return {"axis": tuple(weight.astype(np.float64).tolist())}

    @staticmethod
    def _require_fit(settings: Mapping[str, Any], dim: int) -> None:
        _direction(settings["axis"], dim)

    # `broadphase.pairs` takes no axis. With "auto", near pairs serve boxes that are nearly in order.
    @property
    def _finds_pairs_at_once(self) -> bool:
        return bool(self._settings["axis"] == "auto")

    def _make_core(self) -> Arrangement:
        return _native.SweepIndex(self.dim, *_direction(self._settings["axis"], self.dim), self._threads)

    def _arranged(self, need: Need = "all") -> Any:
        core = super()._arranged()
        core.arrange(*self._store.views)
        return core

    @property
    def axis(self) -> int | None:
        """The axis in use; None for a direction."""
        with self._guard.reading:
            axis: int = self._arranged().direction()[0]
        return axis if axis >= 0 else None

    @property
    def direction(self) -> NDArray[np.float64]:
        """The direction in use, shape (d,), of length 1; a unit vector for an axis."""
        with self._guard.reading:
            weight: NDArray[np.float64] = np.array(self._arranged().direction()[1])
        length: float = np.linalg.norm(weight).item()
        return weight / length

    @property
    def void_borders(self) -> NDArray[Any]:
        """Gaps between boxes along `direction`, which stop a search: shape (k, 2), ascending, unit of the boxes."""
        with self._guard.reading:
            core = self._arranged()
            borders: NDArray[Any] = core.void_borders(*self._store.views).reshape(-1, 2)
            weight = core.direction()[1]
        return borders / np.linalg.norm(weight).item()

    def delimiters(self) -> Delimiters:
        """Return where the boxes begin and end along `direction`, in the order of a sweep.

        Two boxes interfere if one begins between the begin and the end of the other. Where one begins at the end of
        another, the begin comes first, because boxes are closed. O(n log n); along a direction that is not an axis,
        values are rounded.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.SweepAndPrune([[0, 0, 2, 2], [1, 1, 3, 3]], axis=0).delimiters()
        Delimiters(values=array([0., 1., 2., 3.]), rows=array([0, 1, 0, 1], dtype=int32), \
        is_begin=array([ True,  True, False, False]))
        """
        with self._guard.reading:
            axis, weight = self._arranged().direction()
            rows, (lower, upper) = self._store.numbers, self._store.views
            lower, upper = lower[rows], upper[rows]
        if axis >= 0:
            begin, end = lower[:, axis], upper[:, axis]
        else:
            unit = np.array(weight) / np.linalg.norm(weight)
            used = np.flatnonzero(unit)  # an infinite corner along the others does not matter
            unit, lower, upper = unit[used], lower[:, used], upper[:, used]
            begin, end = np.where(unit > 0, lower, upper) @ unit, np.where(unit > 0, upper, lower) @ unit
        values, is_end = np.concatenate([begin, end]), np.repeat([False, True], len(rows))
        owners = np.tile(rows, 2)
        order = np.lexsort((owners, is_end, values))
        return Delimiters(values[order], owners[order], ~is_end[order])

    def query_rows(self, rows: ArrayLike, *, by: Bound = None, workers: int | None = None) -> QueryResult:
        """Find the rows that overlap each of these rows, (k,) or one, without itself; ascending.

        `by` and `workers` are as in `pairs`. Raises UnknownRowError for a row that is not in use. O(log n + tests)
        each. Releases the GIL.
        """
        by_spheres, threads = self._are_spheres(by), self._threads if workers is None else worker_count(workers)
        with self._guard.reading:
            numbers = self._store.known(rows)
            core = self._arranged()
            found = QueryResult(*core.query_rows(*self._store.views, numbers, threads))
            balls = self._store.balls
            if not by_spheres or balls is None:
                return found
            pairs = np.stack([numbers[found.query_rows], found.rows], axis=1)
            return QueryResult(*keep(found.rows, found.offsets, balls.touch(pairs, self._store.corners)))

    def _candidates(self, walk: Walk, workers: int) -> Found:
        corners = boxes_as_seen_by(self.dtype, *boxes_around(walk))
        found: Found = self._arranged().query(*self._store.views, *corners, workers)
        return found


def _direction(axis: str | int | ArrayLike, dimension: int) -> tuple[str, int, list[float]]:
    if isinstance(axis, str):
        if axis not in ("auto", "principal"):
            raise ValueError(f'axis must be "auto", "principal", a number or a direction, not {quoted(axis)}')
        return ("automatic" if axis == "auto" else axis), 0, []
    if isinstance(axis, int | np.integer):
        if not 0 <= axis < dimension:
            raise ValueError(f"axis must be 0 to {dimension - 1}, not {quoted(axis)}")
        return "given", int(axis), []
    weight = as_reals(axis, "axis")
    if weight.shape != (dimension,) or not np.isfinite(weight).all() or not weight.any():
        raise ValueError(f"axis: a direction must be {dimension} finite numbers, not all zero, not {quoted(axis)}")
    return "given", 0, (weight / np.abs(weight).max()).tolist()
