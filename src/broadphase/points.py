"""Points within a cutoff of one another, in open space or in a periodic cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from broadphase import _native
from broadphase.arguments import as_flag, as_own_array, as_real, as_reals, as_whole
from broadphase.batches import KeyedSet, keyed_sets
from broadphase.boxes.checking import as_points, first_bad_row, require_finite
from broadphase.boxes.numbers import as_numbers
from broadphase.errors import unknown_name
from broadphase.filters import as_ignored_pairs
from broadphase.representations import shown
from broadphase.returned import as_given, in_dtype
from broadphase.sight import as_sight
from broadphase.skins import SkinChoice
from broadphase.species import NO_PAIR, cutoffs_by_species
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from broadphase.filters import ByRow

__all__ = ["NeighborList", "NeighborTable", "Neighbors", "neighbors"]

#: What ``combine=`` takes.
CombineName: TypeAlias = Literal["sum", "max"]

_COMBINATIONS = ("sum", "max")
_MOST_POINTS = 2**31 - 64
_LEAST_CUTOFF, _MOST_CUTOFF = 1e-150, 1e150  # their squares are normal numbers
_MOST_WANTED = 2**62  # neighbors of a point; far more than fit into memory
_MOST_SKEWED = 1e6  # cells beyond it are not compared with one another
_SOME_POINTS = 2000  # that stand for all where a guess is enough


@shown
class Neighbors(NamedTuple):
    """The result of `neighbors`: pairs, and what was wanted of each.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        Row of `points` and row of the other point. Each pair once, first < second; with ``full=True`` also the other
        way round; with `other`, row of `points` and row of `other`.
    offsets : ndarray, shape (n + 1,), int64, or None
        With ``full=True``, ``sort=True`` or `k`, pairs are in the order of their first rows: those of point i are
        entries ``offsets[i]`` to ``offsets[i + 1]`` of all arrays.
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

    def padded(self, width: int) -> NeighborTable:
        """Return the nearest neighbors of each point in one shape, however many there are.

        O(n width + m) time.

        Parameters
        ----------
        width : int
            Room for so many neighbors of each point, 0 or more; the nearest ones if there are more.

        Returns
        -------
        NeighborTable
            New arrays.

        Raises
        ------
        ValueError
            A list without `offsets` or `distances`.

        Examples
        --------
        >>> import broadphase as bp
        >>> found = bp.neighbors([[0, 0], [2, 0], [3, 0]], 2.5, full=True, distances=True)
        >>> found.padded(2).rows
        array([[ 1, -1],
               [ 2,  0],
               [ 1, -1]], dtype=int32)
        """
        columns = as_whole(width, "width", 0, 2**31 - 1)
        if self.offsets is None or self.rows is None or self.distances is None:
            missing = "full=True" if self.offsets is None else "distances=True"
            raise ValueError(f"padded() has the nearest of each point first: call neighbors with {missing}")
        offsets, lengths = np.asarray(self.offsets), np.asarray(self.distances)
        found: Any = _native.nearest_table(
            np.ascontiguousarray(offsets),
            np.ascontiguousarray(self.rows),
            np.ascontiguousarray(lengths, np.float64),
            None if self.vectors is None else np.ascontiguousarray(self.vectors, np.float64),
            None if self.shifts is None else np.ascontiguousarray(self.shifts),
            columns,
        )
        rows, away, vectors, shifts = found
        table = NeighborTable(rows, away, vectors, shifts, np.diff(offsets))
        return as_given(self.rows, in_dtype(table, lengths.dtype))


@shown
class NeighborTable(NamedTuple):
    """The nearest neighbors of each of n points in tables of a fixed shape; see `Neighbors.padded`.

    Attributes
    ----------
    rows : ndarray, shape (n, width), int32
        Rows of the neighbors, nearest first, equal ones by row and shift; -1 behind the last.
    distances : ndarray, shape (n, width), float64
        Infinity behind the last.
    vectors : ndarray, shape (n, width, d), float64, or None
        0 behind the last.
    shifts : ndarray, shape (n, width, d), int32, or None
        0 behind the last.
    counts : ndarray, shape (n,), int64
        Number of neighbors of each point; more than `width` if some are missing.
    """

    rows: NDArray[np.int32]
    distances: NDArray[np.float64]
    vectors: NDArray[np.float64] | None
    shifts: NDArray[np.int32] | None
    counts: NDArray[np.int64]


def neighbors(
    points: ArrayLike,
    cutoff: Any = None,
    other: ArrayLike | None = None,
    *,
    k: int | None = None,
    cell: ArrayLike | None = None,
    periodic: Any = True,
    combine: CombineName = "sum",
    species: Any = None,
    headings: ArrayLike | None = None,
    angle: Any = None,
    full: bool = False,
    distances: bool = False,
    vectors: bool = False,
    shifts: bool = False,
    workers: int = 1,
    sort: bool = False,
    ignore_pairs: ArrayLike | None = None,
    batch: ByRow = None,
    dtype: DTypeLike = np.float64,
) -> Neighbors:
    """Find all pairs of points whose distance is at most a cutoff, or the k nearest of each, with all periodic images.

    A pair appears once for each image of the second point that is near enough. A point is also near its own images, if
    the cutoff is longer than the cell.

    Parameters
    ----------
    points, other : array_like, shape (n, d) or (E, n, d), d = 2 or 3
        Finite, any one length unit; inside the cell or outside of it. With `other`, pairs of a point of the first set
        and one of the second. (E, n, d) are E batches of n points, as if by `batch`; their rows count through: point i
        of batch e is row ``e * n + i``.
    cutoff : float, array_like of float, shape (n,) or (S, S), or dict
        The largest distance of a pair. One number for each point: see `combine`; with `other`, a tuple of two arrays.
        By `species`: a symmetric table, or ``{("O", "H"): 1.2, ...}``, where pairs of species that are not named are
        none.
        May be left out with `k`.
    k : int, optional
        How many neighbors of each point: the nearest ones, nearest first; with `cutoff`, at most so many within it. Of
        equal distances, the lower second row comes first, then the lexicographically lower shift. Images are neighbors
        of their own: also several of one point, and those of the point itself. In the order of the first rows, with
        `Neighbors.offsets`, each pair from the side of each point whose neighbor it is, whatever `full` says. Fewer
        than k where there are fewer, in open space or within the cutoff.
    cell : array_like, shape (d,), (d, d) or (E, d, d), optional
        Edge lengths, or lattice vectors as rows: of any handedness, as skewed as you like. (E, d, d): one for each
        batch; keys are then 0 to E - 1. Default: open space.
    periodic : bool, or array_like of bool, shape (d,) or (E, d)
        Along which lattice vectors the cell repeats. Others may be zero. (E, d): of each of E cells.
    combine : {"sum", "max"}
        The cutoff of a pair: the sum or the larger of the cutoffs of its points.
    species : array_like of int or str, shape (n,), optional
        What each point is, with a cutoff for each two species: numbers from 0 to S - 1 for a table, or the keys of the
        dict. With `other`, a tuple of two.
    headings : array_like of float, shape (n, d), optional
        Where each point looks, of any length. It then has those neighbors that it sees, at most `angle` to either side,
        as with ``full=True``. At the same place, or with a heading of zero, it sees all.
    angle : float or array_like of float, shape (n,)
        Of `headings`, in radians, from 0 to π: half of the field of view.
    full : bool
        Each pair in both directions, in the order of the first rows, with `Neighbors.offsets`.
    distances, vectors, shifts : bool
        What to return besides the rows.
    workers : int
        Threads to use; -1 for one per core. Does not change the result.
    sort : bool
        Sort by first row, second row and, with `shifts`, shift.
    ignore_pairs : array_like of int, shape (p, 2), optional
        Pairs of rows that are left out with all their images, such as atoms that are bonded: of one set, either way
        round; with `other`, row of `points` and row of `other`.
    batch : int or array_like of int, shape (n,), optional
        A key for each point: points of different keys are no pairs, and are never compared. With `other`, a tuple of
        two. Many small systems in one call.
    dtype : {float64, float32}
        Of distances and vectors. They are computed, and pairs decided, in float64; the result is rounded once.

    Returns
    -------
    Neighbors
        New arrays. Without `sort`, in an order that is the same in every run.

    Raises
    ------
    ValueError, TypeError
        Neither `cutoff` nor `k`; k that is no whole number from 1 on, or given with `sort` or a cutoff for each point;
        wrong shapes or dtypes; a cutoff that is negative, or not 0 and not from 1e-150 to 1e150; a cell whose periodic
        vectors do not span a volume; a point that is more than 10⁹ cells away, with its row; a key without a cell;
        InvalidBoxError for NaN or infinity, with the row.
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
    around it that its ball can reach. Of points whose cutoffs differ much, boxes as wide as the cutoffs are searched
    for overlaps instead. With `k`, the points of each leaf of a balanced tree walk it together.
    O(n + m) time where points are spread evenly. Skewed cells are first reduced to short lattice
    vectors. Batches are searched one after another, so that their number and their places do not matter. Releases the
    GIL; Ctrl-C works.

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
    own, size = _as_points(points, "points")
    dimension = own.shape[1]
    others, other_size = None, None
    if other is not None:
        others, other_size = _as_points(other, "other")
        if others.shape[1] != dimension:
            if len(own) and len(others):
                raise ValueError(f"points have {dimension} dimensions and other has {others.shape[1]}")
            dimension = max(dimension, others.shape[1])
            own, others = (one if len(one) else np.empty((0, dimension)) for one in (own, others))
    cells, repeats = _as_cells(cell, periodic, dimension)
    looking, angles = as_sight(headings, angle, *own.shape) or (None, None)
    if others is None:
        [keys], other_keys = _as_keys(batch, (own,), (size,), cells, cell), None
    else:
        [keys, other_keys] = _as_keys(batch, (own, others), (size, other_size), cells, cell)
    if not isinstance(combine, str) or combine not in _COMBINATIONS:
        raise ValueError(unknown_name("combine", combine, _COMBINATIONS))
    counts = (len(own),) if others is None else (len(own), len(others))
    sort, wanted = (
        as_flag(sort, "sort"),
        (as_flag(distances, "distances"), as_flag(vectors, "vectors"), as_flag(shifts, "shifts")),
    )
    ignored = as_ignored_pairs(ignore_pairs, counts, "points")
    cap = None
    if k is not None:
        if sort:
            raise ValueError("sort=True: with k, the neighbors of each point are sorted by distance")
        cap = min(as_whole(k, "k", 1), _MOST_WANTED)
        if species is None and ignored is None and looking is None:
            sets = own, others, keys, other_keys, cells, repeats
            return as_given(
                points, in_dtype(_nearest(sets, _as_cap(cutoff), cap, wanted, worker_count(workers)), dtype)
            )
    if cutoff is None:
        if cap is None:
            raise ValueError("give cutoff, k or both")
        raise ValueError("k with species=, ignore_pairs= or headings= needs a cutoff as well")
    table, kinds, other_kinds = cutoffs_by_species(cutoff, species, counts)
    if table is None:
        limit, reaches, other_reaches = _as_cutoff(cutoff, combine, own, others)
    else:
        limit, reaches, other_reaches = _checked_table(table), None, None
    full = as_flag(full, "full") or looking is not None or cap is not None
    try:
        found: Any = _native.neighbors(
            own,
            others,
            keys,
            other_keys,
            cells,
            repeats,
            limit,
            reaches,
            other_reaches,
            combine == "max",
            _rules(counts, table, kinds, other_kinds, ignored),
            wanted[0] or cap is not None,
            wanted[1] or looking is not None,
            wanted[2] or (cap is not None and cell is not None),
            full or sort,
            full and others is None,
            sort,
            workers if type(workers) is int and workers == 1 else worker_count(workers),
            looking,
            angles,
            cap,
        )
    except _native.ManyImages:
        raise ValueError(_many_images(limit)) from None
    pairs, offsets, details = found
    if cap is not None or looking is not None:  # some were needed to choose
        details = [one if is_wanted else None for one, is_wanted in zip(details, wanted, strict=True)]
    return as_given(points, in_dtype(_result((pairs, offsets, details)), dtype))


def _nearest(sets: tuple[Any, ...], cap: float, count: int, wanted: tuple[bool, bool, bool], workers: int) -> Neighbors:
    """Return the nearest of each point within the cap, of points, others, their keys, cells and flags."""
    try:
        arguments: tuple[Any, ...] = (*sets, cap, count, *wanted, workers)
        found: Any = _native.nearest_neighbors(*arguments)
    except _native.ManyImages:
        raise ValueError(f"the {count} nearest of a point are spread over more than 10⁶ periodic cells") from None
    return _result(found)


class NeighborList:
    """The neighbors of points that move little from one step to the next.

    Pairs are searched with a longer cutoff, by a `skin`, and kept. As long as no point has moved by more than half of
    the skin, an update only looks at these pairs again. Its result is exact: the same pairs as those of `neighbors`.

    Parameters
    ----------
    cutoff : float, or by species
        The largest distance of a pair.
    skin : float or "auto"
        By how much longer the cutoff of the search is: larger, and there are fewer searches, but more pairs to look at.
        "auto" follows how far points move in a step and how many pairs there are; where they move too far, it searches
        without a skin, as `neighbors` does, and keeps nothing.
    periodic, species, full, distances, vectors, shifts, workers, sort, ignore_pairs
        As in `neighbors`. With `species` or `ignore_pairs`, each update takes as many points.

    Attributes
    ----------
    skin : float
        That of the pairs that are kept; 0 where none are.
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
    A cell that changes is taken into account by how much it shortens distances. "auto" counts, and reads no clock: the
    same updates give the same arrays in every run.

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
        cutoff: Any,
        *,
        skin: float | Literal["auto"] = "auto",
        periodic: Any = True,
        species: Any = None,
        full: bool = False,
        distances: bool = False,
        vectors: bool = False,
        shifts: bool = False,
        workers: int = 1,
        sort: bool = False,
        ignore_pairs: ArrayLike | None = None,
    ) -> None:
        count = None if species is None else len(as_own_array(species, "species"))
        self._by_species = cutoffs_by_species(cutoff, species, () if count is None else (count,))
        table = self._by_species[0]
        self._cutoff = _checked_cutoff(as_real(cutoff, "cutoff")) if table is None else _checked_table(table)
        self._ignored = None if ignore_pairs is None else as_own_array(ignore_pairs, "ignore_pairs")
        self._count, self._rules = count, None
        self._periodic = periodic
        full, sort = as_flag(full, "full"), as_flag(sort, "sort")
        wanted = as_flag(distances, "distances"), as_flag(vectors, "vectors"), as_flag(shifts, "shifts")
        self._wanted, self._lists = (*wanted, full or sort), (full, sort)
        self._workers = worker_count(workers)
        self._choice = SkinChoice(self._cutoff, full=full, sort=sort) if isinstance(skin, str) else None
        if isinstance(skin, str) and skin != "auto":
            raise ValueError(unknown_name("skin", skin, ("auto",)))
        self.skin = 0.0 if isinstance(skin, str) else as_real(skin, "skin")
        if not 0 <= self.skin <= _MOST_CUTOFF:
            raise ValueError(f"skin must be from 0 to 1e150, not {self.skin}")
        _checked_cutoff(self._cutoff + self.skin)
        self._candidates: Any = None
        self._before: _Scene | None = None
        self.updates = 0
        self.rebuilds = 0

    def __repr__(self) -> str:
        skin = f"{self.skin:g}" if self._choice is None else f"{self.skin:g} (auto)"
        return (
            f"<NeighborList of cutoff {self._cutoff:g} and skin {skin}:"
            f" {self.rebuilds} searches in {self.updates} updates>"
        )

    def update(self, points: ArrayLike, cell: ArrayLike | None = None, *, batch: ByRow = None) -> Neighbors:
        """Return the neighbors of the points as they are now.

        Parameters
        ----------
        points, cell, batch
            As in `neighbors`: the same points as before, or others. Other keys than before need a search.

        Returns
        -------
        Neighbors
            New arrays.

        Raises
        ------
        ValueError, TypeError
            As `neighbors`; the list is then as it was.
        """
        now, size = _as_points(points, "points")
        self._follow(len(now))
        cells, repeats = _as_cells(cell, self._periodic, now.shape[1])
        [keys] = _as_keys(batch, (now,), (size,), cells, cell)
        scene = _Scene(now, keys, cells, repeats)
        if self._candidates is not None:
            is_little, farthest, jumps = self._moved(scene, self.skin)
            if is_little:
                found = self._look(scene, jumps)
                if self._choice is not None:
                    self._choice.looked(farthest)
                self.updates += 1
                return as_given(points, found)
        found = self._search(scene, self.skin) if self._choice is None else self._search_by_choice(scene)
        self.rebuilds += 1
        self.updates += 1
        return as_given(points, found)

    def _follow(self, count: int) -> None:
        """Make the rules of so many points."""
        if self._by_species[0] is None and self._ignored is None:
            return
        if self._rules is not None:
            if count != self._count:
                raise ValueError(f"points has {count} rows, and before it had {self._count}, of which the rules are")
            return
        if self._count is not None and count != self._count:
            raise ValueError(f"points has {count} rows, and species has {self._count}")
        self._rules = _rules((count,), *self._by_species, as_ignored_pairs(self._ignored, (count,), "points"))
        self._count = count

    def _search_by_choice(self, now: _Scene) -> Neighbors:
        """Search with the skin that pays, or without one where none does."""
        choice: Any = self._choice
        some = now.some() if choice.watches() else None
        if some is not None and self._candidates is None and self._before is not None:
            choice.moved(self._moved(some, self._cutoff)[1])
        skin = choice.skin(len(now.points), now.points.shape[1])
        if skin > 0:
            try:
                found = self._search(now, skin)
            except ValueError:  # so many images that there is no list
                skin = 0.0
            else:
                choice.kept(skin, len(self._candidates), len(found.pairs))
                return found
        try:
            found = _result(
                _native.neighbors(
                    now.points, None, now.keys, None, now.cells, now.repeats, self._cutoff, None, None, False,
                    self._rules, *self._wanted, *self._lists, self._workers, None, None, None,
                )
            )  # fmt: skip
        except _native.ManyImages:
            raise ValueError(_many_images(self._cutoff)) from None
        if some is not None and self._before is not None:
            some.share_inverses(self._before)
        self._candidates, self._before, self.skin = None, some, 0.0
        choice.searched(len(found.pairs))
        return found

    def _search(self, now: _Scene, skin: float) -> Neighbors:
        reach = self._cutoff + skin
        try:
            rules = None if self._rules is None else self._rules.longer_by(skin)
            candidates = _native.neighbor_candidates(
                now.points, now.keys, now.cells, now.repeats, reach, rules, *self._lists, self._workers
            )
        except _native.ManyImages:
            raise ValueError(_many_images(reach)) from None
        before = self._candidates, self._before, self.skin
        self._candidates, self._before, self.skin = candidates, now, skin
        try:
            return self._look(now, None)
        except BaseException:
            self._candidates, self._before, self.skin = before
            raise

    def _look(self, now: _Scene, jumps: Any) -> Neighbors:
        wanted, cutoff = self._wanted, self._cutoff
        found: Any = self._candidates.near(
            now.points, jumps, now.keys, now.cells, now.repeats, cutoff, self._rules, *wanted, self._workers
        )
        return _result(found)

    def _moved(self, now: _Scene, skin: float) -> tuple[bool, float, NDArray[np.int32] | None]:
        """Return whether all that are near now were within the skin before, and how far points have moved at most.

        And of those that were put back into their cells, the rows and by how many cells; None where there are none.
        """
        before: Any = self._before
        unknown = False, np.inf, None
        if now.points.shape != before.points.shape or not len(now.points):
            return unknown
        if not _are_same(now.repeats, before.repeats) or not _same_keys(now.keys, before.keys):
            return unknown
        reach, dimension, back = self._cutoff + skin, now.points.shape[1], None
        if not _are_same(now.cells, before.cells):
            # As the points would lie if the cells had not changed, and how much distances can have been longer.
            after, then = (these[:, :dimension, :dimension] for these in (now.cells, before.cells))
            if not now.repeats[:, :dimension].all() or (np.linalg.cond(after) > _MOST_SKEWED).any():
                return unknown
            back = np.zeros_like(now.cells)
            back[:, :dimension, :dimension] = np.linalg.solve(after, then)
            longer = float(np.linalg.norm(back, 2, axis=(1, 2)).max()) * (1 + 1e-9) - 1
            skin -= self._cutoff * max(longer, 0.0)
        rounding = 1e-12
        limit = skin / 2 - rounding * ((before if back is None else now).largest() + reach)
        moved: Any = _native.motion(
            now.points, before.points, now.keys, before.cells, back, before.inverses(), limit, rounding, self._workers
        )
        is_little, farthest, jumps = moved
        if back is not None:
            farthest += (self.skin - skin) / 2
        return is_little, farthest, jumps


class _Scene:
    """Points, and what they are in."""

    def __init__(
        self, points: NDArray[np.float64], keys: KeyedSet | None, cells: NDArray[np.float64], repeats: NDArray[np.bool_]
    ) -> None:
        self.points, self.keys, self.cells, self.repeats = points, keys, cells, repeats
        self._inverses: NDArray[np.float64] | None = None
        self._largest = -1.0

    def largest(self) -> float:
        """Return the largest number of the cells."""
        if self._largest < 0:
            self._largest = float(np.abs(self.cells).max())
        return self._largest

    def inverses(self) -> NDArray[np.float64] | None:
        """Return what makes numbers of lattice vectors of ways; 0 along vectors that do not repeat."""
        if self._inverses is None and self.repeats.any():
            repeating = self.cells * self.repeats[:, :, np.newaxis]
            # A fifth of the time; of several cells, one that no point is in may be flat.
            invert = np.linalg.inv if len(self.cells) == 1 and self.repeats.all() else np.linalg.pinv
            self._inverses = np.ascontiguousarray(invert(repeating))
        return self._inverses

    def some(self) -> _Scene:
        """Return this with some of many points, for a guess how far all move; with all, if they are in batches."""
        if self.keys is not None or len(self.points) <= _SOME_POINTS:
            return self
        step = -(-len(self.points) // _SOME_POINTS)
        return _Scene(self.points[::step].copy(), None, self.cells, self.repeats)

    def share_inverses(self, other: _Scene) -> None:
        if _are_same(self.cells, other.cells) and _are_same(self.repeats, other.repeats):
            self._inverses = other._inverses


def _are_same(one: NDArray[Any], two: NDArray[Any]) -> bool:
    """Compare small arrays: NumPy takes ten times as long as the bytes."""
    return one is two or (one.shape == two.shape and one.tobytes() == two.tobytes())


def _result(found: Any) -> Neighbors:
    pairs, offsets, (lengths, differences, images) = found
    return Neighbors(pairs, offsets, None if offsets is None else pairs[:, 1], lengths, differences, images)


def _many_images(cutoff: float) -> str:
    return f"cutoff {cutoff} spans more than 10⁶ periodic cells"


def _as_points(values: ArrayLike, name: str) -> tuple[NDArray[np.float64], int | None]:
    """Return (n, d) points, and how many of them are a batch where they came as batches of one size."""
    size = None
    if hasattr(values, "positions"):
        raise TypeError(
            f"{name}: {type(values).__name__} is no array; give its .positions, with cell=atoms.cell and"
            " periodic=atoms.pbc of ASE, or use broadphase.adapters.ase.neighbor_list, which takes atoms as they are"
        )
    numbers = as_numbers(values, name=name)
    if numbers.ndim == 3:
        size = numbers.shape[1]
        numbers = numbers.reshape(-1 if size else 0, numbers.shape[2])
    points = as_points(numbers, name)
    if not 2 <= points.shape[1] <= 3:
        raise ValueError(f"{name} must have shape (n, d) or (E, n, d), d = 2 or 3, not {np.shape(values)}")
    if len(points) > _MOST_POINTS:
        raise ValueError(f"at most {_MOST_POINTS} points a set: row numbers are int32")
    exact: NDArray[np.float64] = np.array(points, np.float64, order="C")  # of one's own, as they are checked
    if not np.isfinite(exact).all():
        require_finite(exact, name)
    return exact, size


def _as_cells(cell: ArrayLike | None, periodic: Any, dimension: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return lattice vectors as rows, (E, 3, 3), and (E, 3) flags; E is 1 where all points have the same cell."""
    given = None if cell is None else as_reals(cell, "cell")
    if given is not None and (given.ndim > 3 or given.shape[-2:] != (dimension, dimension)[-given.ndim :]):
        shapes = f"({dimension},), ({dimension}, {dimension}) or (E, {dimension}, {dimension})"
        raise ValueError(f"cell must have shape {shapes}, not {given.shape}")
    count = len(given) if given is not None and given.ndim == 3 else 1
    repeats = np.zeros((count, 3), bool)
    if periodic is not True and periodic is not False:
        flags = as_own_array(periodic, "periodic")
        shapes_of_flags = {(), (dimension,)} | (
            {(count, dimension)} if given is not None and given.ndim == 3 else set()
        )
        if flags.shape not in shapes_of_flags or flags.dtype.kind not in "bi" or not np.isin(flags, (0, 1)).all():
            raise ValueError(f"periodic must be True, False or {dimension} of them, or that for each of E cells")
        periodic = flags.astype(bool)
    vectors = np.zeros((count, 3, 3))
    if given is None:
        return vectors, repeats
    repeats[:, :dimension] = periodic
    if given.ndim == 1:
        vectors[0].flat[: 4 * dimension : 4] = given
    else:
        vectors[:, :dimension, :dimension] = given
    if not np.isfinite(vectors).all():
        raise ValueError("cell must be finite")
    return vectors, repeats


def _as_keys(
    batch: Any,
    points: tuple[NDArray[np.float64], ...],
    sizes: tuple[int | None, ...],
    cells: NDArray[np.float64],
    cell: ArrayLike | None,
) -> Sequence[KeyedSet | None]:
    """Return the keys of each set, or None where there are none; each key has its cell."""
    each_its_own = len(cells) != 1 or (cell is not None and np.ndim(cell) == 3)
    if batch is None and all(size is None for size in sizes):
        if each_its_own:
            raise ValueError("cell of shape (E, d, d): give batch=, or points of shape (E, n, d)")
        return [None] * len(points)
    counts = [len(one) for one in points]
    sets = keyed_sets(batch, counts, sizes, [None] * len(points), "points", "(E, n, d)")
    if not each_its_own:
        return sets
    checked: list[KeyedSet] = []
    for k, (count, keys, each) in enumerate(sets):
        if keys is None:
            if count not in {0, each * len(cells)}:
                raise ValueError(f"{('points', 'other')[k]} has {count // each} batches, and cell has {len(cells)}")
            checked.append((count, None, each))
            continue
        bad = first_bad_row((keys < 0) | (keys >= len(cells)))
        if bad is not None:
            most = len(cells) - 1
            raise ValueError(f"batch: row {bad} is {keys[bad]}; with {len(cells)} cells, keys are 0 to {most}")
        checked.append((count, keys, each))
    return checked


def _same_keys(one: KeyedSet | None, two: KeyedSet | None) -> bool:
    if one is None or two is None:
        return one is two
    if one[1] is None or two[1] is None:
        return one[1] is two[1] and one[2] == two[2]
    return np.array_equal(one[1], two[1])


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


def _as_cap(cutoff: Any) -> float:
    """Return the cutoff of a search for k neighbors, infinity if there is none."""
    if cutoff is None:
        return float("inf")
    if isinstance(cutoff, tuple | list) or np.ndim(cutoff):
        raise ValueError("with k, cutoff must be one number for all points")
    return _checked_cutoff(as_real(cutoff, "cutoff"))


def _as_reaches(values: ArrayLike, points: NDArray[Any], name: str) -> NDArray[np.float64]:
    reaches = np.array(as_reals(values, name), order="C")
    if reaches.shape != (len(points),):
        raise ValueError(f"{name} must be one number or have shape ({len(points)},), not {reaches.shape}")
    bad = first_bad_row(~((reaches == 0) | ((reaches >= _LEAST_CUTOFF) & (reaches <= _MOST_CUTOFF))))
    if bad is not None:
        raise ValueError(f"{name}: row {bad} is {reaches[bad]}, which is not 0 and not from 1e-150 to 1e150")
    return reaches


def _checked_table(table: NDArray[np.float64]) -> float:
    """Return the longest cutoff of a table; each must be allowed."""
    for cutoff in np.unique(table).tolist():
        if cutoff != NO_PAIR:
            _checked_cutoff(cutoff)
    return max(float(table.max()), 0.0)


def _rules(
    counts: tuple[int, ...],
    table: NDArray[np.float64] | None,
    kinds: NDArray[np.int32] | None,
    other_kinds: NDArray[np.int32] | None,
    ignored: NDArray[np.int64] | None,
) -> Any:
    if table is None and ignored is None:
        return None
    return _native.neighbor_rules(counts[0], len(counts) == 2, table, kinds, other_kinds, ignored)


def _checked_cutoff(cutoff: float) -> float:
    if cutoff == 0 or _LEAST_CUTOFF <= cutoff <= 2 * _MOST_CUTOFF:
        return cutoff
    raise ValueError(f"cutoff must be 0, or from 1e-150 to 1e150, not {cutoff}")
