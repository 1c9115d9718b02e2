"""Points within a cutoff of one another, in open space or in a periodic cell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array, as_flag, as_real, as_reals
from broadphase.boxes.checking import as_points, first_bad_row, require_finite
from broadphase.errors import unknown_name
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CombineName", "NeighborList", "Neighbors", "neighbors"]

#: What ``combine=`` takes.
CombineName: TypeAlias = Literal["sum", "max"]

_COMBINATIONS = ("sum", "max")
_MOST_POINTS = 2**31 - 64
_LEAST_CUTOFF, _MOST_CUTOFF = 1e-150, 1e150  # their squares are normal numbers
_MOST_SKEWED = 1e6  # cells beyond it are not compared with one another
_MOST_JUMPS = 2**20
_FLAT_CELL = "cell: the periodic vectors do not span a volume"


class Neighbors(NamedTuple):
    """The result of `neighbors`: pairs, and what was wanted of each.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        Row of `points` and row of the other point. Each pair once, first < second; with ``full=True`` also the other
        way round; with `other`, row of `points` and row of `other`.
    offsets : ndarray, shape (n + 1,), int64, or None
        With ``full=True`` or ``sort=True``, pairs are in the order of their first rows: those of point i are entries
        ``offsets[i]`` to ``offsets[i + 1]`` of all arrays.
    rows : ndarray, shape (m,), int32, or None
        With `offsets`: the second rows, contiguous.
    distances : ndarray, shape (m,), float64, or None
        The length of each vector.
    vectors : ndarray, shape (m, d), float64, or None
        From the first point to this image of the second: ``points[j] - points[i] + shift @ cell``.
    shifts : ndarray, shape (m, d), int32, or None
        Which image of the second point: how many times each lattice vector is added.
    """

    pairs: NDArray[np.int32]
    offsets: NDArray[np.int64] | None
    rows: NDArray[np.int32] | None
    distances: NDArray[np.float64] | None
    vectors: NDArray[np.float64] | None
    shifts: NDArray[np.int32] | None


def neighbors(
    points: ArrayLike,
    cutoff: Any,
    other: ArrayLike | None = None,
    *,
    cell: ArrayLike | None = None,
    periodic: Any = True,
    combine: CombineName = "sum",
    full: bool = False,
    distances: bool = False,
    vectors: bool = False,
    shifts: bool = False,
    sort: bool = False,
    workers: int = 1,
) -> Neighbors:
    """Find all pairs of points whose distance is at most a cutoff, with all images in a periodic cell.

    A pair appears once for each image of the second point that is near enough. A point is also near its own images, if
    the cutoff is longer than the cell.

    Parameters
    ----------
    points, other : array_like, shape (n, d), d = 2 or 3
        Finite, any one length unit; inside the cell or outside of it. With `other`, pairs of a point of the first set
        and one of the second.
    cutoff : float, or array_like of float, shape (n,)
        The largest distance of a pair. One number for each point: see `combine`; with `other`, a tuple of two arrays.
    cell : array_like, shape (d,) or (d, d), optional
        Edge lengths, or lattice vectors as rows: of any handedness, as skewed as you like. Default: open space.
    periodic : bool, or array_like of bool, shape (d,)
        Along which lattice vectors the cell repeats. Others may be zero.
    combine : {"sum", "max"}
        The cutoff of a pair: the sum or the larger of the cutoffs of its points.
    full : bool
        Each pair in both directions, in the order of the first rows, with `Neighbors.offsets`.
    distances, vectors, shifts : bool
        What to return besides the rows.
    sort : bool
        Sort by first row, second row and, with `shifts`, shift.
    workers : int
        Threads to use; -1 for one per core. Does not change the result.

    Returns
    -------
    Neighbors
        New arrays. Without `sort`, in an order that is the same in every run.

    Raises
    ------
    ValueError
        Wrong shapes; a cutoff that is negative, or not 0 and not from 1e-150 to 1e150; a cell whose periodic vectors
        do not span a volume; a point that is more than 10⁹ cells away, with its row; InvalidBoxError for NaN or
        infinity, with the row.
    TypeError
        Numbers that are not real.
    MemoryError
        The pairs do not fit into memory.

    See Also
    --------
    NeighborList : For points that move little from one call to the next.
    pairs : Overlapping boxes.

    Notes
    -----
    The vector of a pair is ``(points[j] - points[i]) + ((s0 * cell[0] + s1 * cell[1]) + s2 * cell[2])`` in float64,
    every operation rounded, and its distance the root of ``(x * x + y * y) + z * z``. That distance decides: a pair
    counts if it is at most the cutoff. The same on every machine. Of a point's own images, a list that is not full has
    those with a lexicographically positive shift.

    Points are filed into rows as wide as the cutoff and sorted along them; each is compared with those of the rows
    around it that its ball can reach. O(n + m) time where points are spread evenly. Skewed cells are reduced to short
    lattice vectors first. Releases the GIL; Ctrl-C works.

    Examples
    --------
    >>> import broadphase as bp
    >>> nb = bp.neighbors([[0.1, 0.1], [0.9, 0.1], [0.5, 0.5]], 0.3, cell=[1, 1], distances=True, shifts=True)
    >>> nb.pairs
    array([[0, 1]], dtype=int32)
    >>> nb.shifts
    array([[-1,  0]], dtype=int32)
    >>> nb.distances.round(3)
    array([0.2])
    """
    own = _as_points(points, "points")
    dimension = own.shape[1]
    others = None
    if other is not None:
        others = _as_points(other, "other")
        if others.shape[1] != dimension:
            if len(own) and len(others):
                raise ValueError(f"points have {dimension} dimensions and other has {others.shape[1]}")
            dimension = max(dimension, others.shape[1])
            own, others = (one if len(one) else np.empty((0, dimension)) for one in (own, others))
    vectors_of_cell, repeats = _as_cell(cell, periodic, dimension)
    if not isinstance(combine, str) or combine not in _COMBINATIONS:
        raise ValueError(unknown_name("combine", combine, _COMBINATIONS))
    limit, reaches, other_reaches = _as_cutoff(cutoff, combine, own, others)
    full, sort = as_flag(full, "full"), as_flag(sort, "sort")
    try:
        found: Any = _native.neighbors(
            own,
            others,
            vectors_of_cell,
            repeats,
            limit,
            reaches,
            other_reaches,
            combine == "max",
            as_flag(distances, "distances"),
            as_flag(vectors, "vectors"),
            as_flag(shifts, "shifts"),
            full or sort,
            full and others is None,
            sort,
            workers if type(workers) is int and workers == 1 else worker_count(workers),
        )
    except _native.FlatCell:
        raise ValueError(_FLAT_CELL) from None
    except _native.ManyImages:
        raise ValueError(_many_images(limit)) from None
    pairs, offsets, (lengths, differences, images) = found
    return Neighbors(pairs, offsets, None if offsets is None else pairs[:, 1], lengths, differences, images)


class NeighborList:
    """The neighbors of points that move little from one step to the next.

    Pairs are searched with a longer cutoff, by a `skin`, and kept. As long as no point has moved by more than half of
    the skin, an update only looks at these pairs again. Its result is exact: the same pairs as those of `neighbors`.

    Parameters
    ----------
    cutoff : float
        The largest distance of a pair.
    skin : float
        By how much longer the cutoff of the search is: larger, and there are fewer searches, but more pairs to look at.
    periodic, full, distances, vectors, shifts, sort, workers
        As in `neighbors`.

    Attributes
    ----------
    updates : int
        How often `update` was called.
    rebuilds : int
        How many of these searched all pairs again.

    See Also
    --------
    neighbors : All pairs of one set of points.

    Notes
    -----
    The method is that of L. Verlet, Computer "Experiments" on Classical Fluids, Phys. Rev. 159, 1967,
    doi:10.1103/PhysRev.159.98. Points that have left the cell and are put back into it count as moved by the rest only.
    A cell that changes is taken into account by how much it shortens distances.

    Examples
    --------
    >>> import broadphase as bp
    >>> near = bp.NeighborList(0.3, skin=0.1, distances=True)
    >>> near.update([[0.1, 0.1], [0.9, 0.1]], [1, 1]).pairs
    array([[0, 1]], dtype=int32)
    >>> near.update([[0.12, 0.1], [0.88, 0.1]], [1, 1]).distances.round(3)
    array([0.24])
    >>> near.updates, near.rebuilds
    (2, 1)
    """

    def __init__(
        self,
        cutoff: float,
        *,
        skin: float,
        periodic: Any = True,
        full: bool = False,
        distances: bool = False,
        vectors: bool = False,
        shifts: bool = False,
        sort: bool = False,
        workers: int = 1,
    ) -> None:
        self._cutoff = _checked_cutoff(as_real(cutoff, "cutoff"))
        self._skin = as_real(skin, "skin")
        if not 0 <= self._skin <= _MOST_CUTOFF:
            raise ValueError(f"skin must be from 0 to 1e150, not {self._skin}")
        self._reach = _checked_cutoff(self._cutoff + self._skin)
        self._periodic = periodic
        full, sort = as_flag(full, "full"), as_flag(sort, "sort")
        wanted = as_flag(distances, "distances"), as_flag(vectors, "vectors"), as_flag(shifts, "shifts")
        self._wanted = (*wanted, full or sort, full, sort)
        self._workers = worker_count(workers)
        self._candidates: Any = None
        self._before = np.empty((0, 0))
        self._cell_before: list[float] = []
        self._repeats: list[bool] = []
        self.updates = 0
        self.rebuilds = 0

    def update(self, points: ArrayLike, cell: ArrayLike | None = None) -> Neighbors:
        """Return the neighbors of the points as they are now.

        Parameters
        ----------
        points : array_like, shape (n, d), d = 2 or 3
            Finite; the same points as before, or others.
        cell : array_like, shape (d,) or (d, d), optional
            As in `neighbors`.

        Returns
        -------
        Neighbors
            New arrays.

        Raises
        ------
        ValueError, TypeError
            As `neighbors`; the list is then as it was.
        """
        now = _as_points(points, "points")
        vectors, repeats = _as_cell(cell, self._periodic, now.shape[1])
        usable, jumps = self._jumps(now, vectors, repeats)
        if not usable:
            self._search(now, vectors, repeats)
        found: Any = self._candidates.near(now, jumps, vectors, repeats, self._cutoff, *self._wanted)
        self.updates += 1
        pairs, offsets, (lengths, differences, images) = found
        return Neighbors(pairs, offsets, None if offsets is None else pairs[:, 1], lengths, differences, images)

    def _search(self, now: NDArray[np.float64], vectors: list[float], repeats: list[bool]) -> None:
        try:
            candidates = _native.neighbor_candidates(now, vectors, repeats, self._reach, self._workers)
        except _native.FlatCell:
            raise ValueError(_FLAT_CELL) from None
        except _native.ManyImages:
            raise ValueError(_many_images(self._reach)) from None
        self._candidates, self._before = candidates, now.copy()
        self._cell_before, self._repeats = vectors, repeats
        self.rebuilds += 1

    def _jumps(
        self, now: NDArray[np.float64], vectors: list[float], repeats: list[bool]
    ) -> tuple[bool, NDArray[np.int32] | None]:
        """Whether the pairs that are kept hold all that are near now, and how many cells each point was put back by."""
        if self._candidates is None or now.shape != self._before.shape or repeats != self._repeats or not len(now):
            return False, None
        skin, points = self._skin, now
        size = float(np.abs(now).max()) + float(np.abs(vectors).max()) + self._reach
        before, dimension = np.reshape(self._cell_before, (3, 3)), now.shape[1]
        if vectors != self._cell_before:
            # As the points would lie if the cell had not changed, and how much distances can have been longer.
            cells = before[:dimension, :dimension], np.reshape(vectors, (3, 3))[:dimension, :dimension]
            if not all(repeats[:dimension]) or np.linalg.cond(cells[1]) > _MOST_SKEWED:
                return False, None
            back = np.linalg.solve(cells[1], cells[0])
            skin -= self._cutoff * max(float(np.linalg.norm(back, 2)) * (1 + 1e-9) - 1, 0.0)
            points = np.ascontiguousarray(now @ back)
        limit = skin / 2 - 1e-12 * size  # for what is rounded
        if not limit >= 0:
            return False, None
        if _native.most_motion(points, self._before) <= limit:
            return True, None
        if not any(repeats):
            return False, None
        # Points that were put back into the cell have moved by lattice vectors, and by the rest.
        ways = np.zeros((len(now), 3))
        ways[:, :dimension] = points - self._before
        steps = np.rint(ways @ np.linalg.pinv(before[repeats]))
        if not np.abs(steps).max() < _MOST_JUMPS:
            return False, None
        rest = np.ascontiguousarray(ways - steps @ before[repeats])
        if not _native.most_motion(rest, np.zeros_like(rest)) <= limit:
            return False, None
        jumps = np.zeros((len(now), 3), np.int32)
        jumps[:, repeats] = steps
        return True, jumps


def _many_images(cutoff: float) -> str:
    return f"cutoff {cutoff} spans more than 10⁶ periodic cells"


def _as_points(values: ArrayLike, name: str) -> NDArray[np.float64]:
    points = as_points(values, name)
    if not 2 <= points.shape[1] <= 3:
        raise ValueError(f"{name} must have shape (n, 2) or (n, 3), not {points.shape}")
    if len(points) > _MOST_POINTS:
        raise ValueError(f"at most {_MOST_POINTS} points a set: row numbers are int32")
    if not np.isfinite(points).all():
        require_finite(points, name)
    exact: NDArray[np.float64] = np.ascontiguousarray(points, np.float64)
    return exact


def _as_cell(cell: ArrayLike | None, periodic: Any, dimension: int) -> tuple[list[float], list[bool]]:
    """Return nine numbers, lattice vectors as rows, and three flags."""
    repeats = [False] * 3
    if periodic is not True and periodic is not False:
        flags = as_array(periodic, "periodic")
        if flags.shape not in {(), (dimension,)} or flags.dtype.kind not in "bi" or not np.isin(flags, (0, 1)).all():
            raise ValueError(f"periodic must be True, False or {dimension} of them")
        periodic = np.broadcast_to(flags, (dimension,)).astype(bool).tolist()
    if cell is None:
        return [0.0] * 9, repeats
    given = as_reals(cell, "cell")
    if given.shape not in {(dimension,), (dimension, dimension)}:
        raise ValueError(f"cell must have shape ({dimension},) or ({dimension}, {dimension}), not {given.shape}")
    repeats[:dimension] = [periodic] * dimension if isinstance(periodic, bool) else periodic
    vectors = [0.0] * 9
    for k, row in enumerate(given.tolist()):
        if given.ndim == 1:
            vectors[4 * k] = row
        else:
            vectors[3 * k : 3 * k + dimension] = row
    if not all(map(math.isfinite, vectors)):
        raise ValueError("cell must be finite")
    return vectors, repeats


def _as_cutoff(
    cutoff: Any, combine: str, own: NDArray[Any], others: NDArray[Any] | None
) -> tuple[float, NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the largest cutoff of a pair, and that of each point if they have their own."""
    if isinstance(cutoff, int | float) or (not isinstance(cutoff, tuple | list) and not np.ndim(cutoff)):
        return _checked_cutoff(as_real(cutoff, "cutoff")), None, None
    if others is None:
        both = [_as_reaches(cutoff, own, "cutoff")]
    elif isinstance(cutoff, tuple) and len(cutoff) == 2:
        both = [_as_reaches(cutoff[0], own, "cutoff[0]"), _as_reaches(cutoff[1], others, "cutoff[1]")]
    else:
        raise ValueError("cutoff must be one number, or with other a tuple of two arrays")
    most = [float(reaches.max(initial=0.0)) for reaches in both]
    limit = _checked_cutoff(most[0] + most[-1] if combine == "sum" else max(most))
    return limit, both[0], both[-1]


def _as_reaches(values: ArrayLike, points: NDArray[Any], name: str) -> NDArray[np.float64]:
    reaches = np.ascontiguousarray(as_reals(values, name))
    if reaches.shape != (len(points),):
        raise ValueError(f"{name} must be one number or have shape ({len(points)},), not {reaches.shape}")
    bad = first_bad_row(~((reaches == 0) | ((reaches >= _LEAST_CUTOFF) & (reaches <= _MOST_CUTOFF))))
    if bad is not None:
        raise ValueError(f"{name}: row {bad} is {reaches[bad]}, which is not 0 and not from 1e-150 to 1e150")
    return reaches


def _checked_cutoff(cutoff: float) -> float:
    if cutoff == 0 or _LEAST_CUTOFF <= cutoff <= 2 * _MOST_CUTOFF:
        return cutoff
    raise ValueError(f"cutoff must be 0, or from 1e-150 to 1e150, not {cutoff}")
