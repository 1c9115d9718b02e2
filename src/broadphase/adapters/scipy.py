"""``scipy.spatial.cKDTree`` and ``KDTree`` for points in the plane and in space: same methods, same results, faster.

Arguments and results are SciPy's; docstrings say what differs. SciPy itself answers other distances than Euclidean,
other dimensions, ``eps``, and the nearest points in a periodic box; its tree is built for the first such query.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase import _native
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KDTree", "cKDTree"]

theirs: Any = import_extra("scipy.spatial", purpose=__name__, install="scipy")
_sparse: Any = import_module("scipy.sparse")

# Squares of these are normal numbers; bp.neighbors takes no others.
_LEAST_RADIUS, _MOST_RADIUS = 1e-150, 1e150
_ROUNDING = 1e-15  # of a distance, and more
# SciPy's tree answers at fewer places, at so many about fewer points, and about fewer points of two trees: the arrays
# that are made here take longer.
_FEW = 512
_POINTS_PER_PLACE = 8  # in a periodic box, where each search reads all points; with more of them, it does not pay
_SAMPLE, _CROWDED = 16, 50  # balls that are looked at, and points in each from which SciPy counts faster


class cKDTree:  # noqa: N801 (its name in SciPy)
    """Points that are queried for neighbors, as ``scipy.spatial.cKDTree``.

    Parameters
    ----------
    data : array_like, shape (n, m)
        The points. Those in 2 and 3 dimensions are searched by broadphase, others by SciPy.
    *arguments, **options
        As in SciPy: leafsize, compact_nodes, copy_data, balanced_tree, boxsize.

    Notes
    -----
    SciPy does not specify the order of equally near points, of pairs and of unsorted lists; here row numbers ascend.
    Whatever is not described here is that of the tree of SciPy: `mins`, `tree`, ...
    """

    data: NDArray[np.float64]
    n: int
    m: int
    _kind: Any = theirs.cKDTree
    _number: Any = int  # the type of a single index

    # Of all trees until something else is set: less to do for a small one.
    _index: Any = None
    _tree: Any = None  # of SciPy, from the beginning if there are few points or it has to search them
    _box: NDArray[np.float64] | None = None  # the lengths of a periodic one; 0 along an axis that is not

    def __init__(self, data: Any, *arguments: Any, **options: Any) -> None:
        points = None
        if not ((data.shape if type(data) is np.ndarray else type(data) in (list, tuple)) and len(data) < _FEW):
            points = _as_points(data)
            boxsize = options.get("boxsize", arguments[4] if len(arguments) > 4 else None)
            if points is not None and boxsize is not None:
                self._box = _box_around(points, boxsize)
                points = points if self._box is not None else None
            self._is_ours = points is not None
        if points is None:
            self._tree = self._kind(data, *arguments, **options)  # its errors are SciPy's too
            self.n, self.m = self._tree.n, self._tree.m
            return
        self._settings = arguments, options
        self.data = points
        self.n, self.m = points.shape

    @property
    def scipy(self) -> Any:
        """The tree of SciPy with the same points."""
        if self._tree is None:
            arguments, options = self._settings
            self._tree = self._kind(self.data, *arguments, **options)
        return self._tree

    def __getattr__(self, name: str) -> Any:
        if "n" not in self.__dict__:  # while it is made or unpickled
            raise AttributeError(name)
        return getattr(self.scipy, name)

    @cached_property
    def _is_ours(self) -> bool:
        """Whether this can be searched here."""
        tree = self.scipy
        return tree.boxsize is None and tree.m in (2, 3) and not _is_one_spot(tree.data)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def query(
        self, x: Any, k: Any = 1, eps: float = 0, p: float = 2, distance_upper_bound: float = np.inf, workers: int = 1
    ) -> Any:
        """Find the nearest points."""
        x, bound = np.asarray(x), distance_upper_bound
        points = ranks = None
        # SciPy takes twice the time for one place among many points, too.
        if self._box is None and (self._pays_at(x.size // self.m) or (x.ndim == 1 and self.n >= _FEW)):
            points, ranks = self._asked(x, p, eps), _ranks(k)
        if points is None or ranks is None or not (bound == np.inf or _radii(bound, ()) is not None):
            return self.scipy.query(x, k, eps, p, bound, workers)
        most = max(ranks)
        found = self._indexed().nearest(points, most, max_distance=_more_than(bound), workers=workers)
        distances, rows = found.distances, found.rows.astype(np.intp)
        if bound < np.inf:
            asking, rank = np.nonzero((distances >= bound * (1 - 2 * _ROUNDING)) & (rows >= 0))
            too_far = _squares(points, self.data, asking, rows[asking, rank]) >= bound * bound
            distances[asking[too_far], rank[too_far]] = np.inf
            rows[distances == np.inf] = self.n
        if most > self.n:
            rows[:, self.n :] = self.n
        shape = x.shape[:-1]
        if type(k) is not int:
            columns = [rank - 1 for rank in ranks]
            distances, rows = distances[:, columns], rows[:, columns]
            return distances.reshape(*shape, len(ranks)), rows.reshape(*shape, len(ranks))
        if k > 1:
            return distances.reshape(*shape, k), rows.reshape(*shape, k)
        if not shape:
            return float(distances[0, 0]), self._number(rows[0, 0])
        return distances.reshape(shape), rows.reshape(shape)

    def query_ball_point(
        self,
        x: Any,
        r: Any,
        p: float = 2.0,
        eps: float = 0,
        workers: int = 1,
        return_sorted: bool | None = None,
        return_length: bool = False,
    ) -> Any:
        """Find all points within a distance. Lists of many places ascend, whatever `return_sorted` says."""
        x = np.asarray(x)
        points = self._asked(x, p, eps) if x.ndim > 1 and self._pays_at(x.size // self.m) else None
        radii = None if points is None else _radii(r, x.shape[:-1])
        if (
            points is None
            or radii is None
            or not self._reaches_once(radii)
            or (return_length and self._are_crowded(points, radii))
        ):
            return self.scipy.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        rows, counts = self._find(points, radii, workers)
        shape = x.shape[:-1]
        if return_length:
            return counts.astype(np.intp).reshape(shape)
        lists = np.empty(len(points), object)
        lists[:] = _native.lists_of(rows, counts, self.n)
        return lists.reshape(shape)

    def query_ball_tree(self, other: Any, r: float, p: float = 2.0, eps: float = 0) -> Any:
        """Find for each point all points of another tree, ours or SciPy's, within a distance."""
        if not self._takes(other, r, p, eps):
            return self.scipy.query_ball_tree(_scipy_of(other), r, p, eps)
        rows, counts = other._find(self.data, np.full(self.n, float(r)), 1)
        return _native.lists_of(rows, counts, other.n)

    def query_pairs(self, r: float, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
        """Find all pairs of points within a distance. An ``output_type="ndarray"`` takes a small part of the time."""
        if output_type not in ("set", "ndarray") or not self._takes(self, r, p, eps):
            return self.scipy.query_pairs(r, p, eps, output_type)
        pairs, _ = self._neighbors(float(r))
        if output_type == "ndarray":
            return pairs.astype(np.intp)
        return _native.set_of_pairs(pairs, self.n)

    def sparse_distance_matrix(
        self, other: Any, max_distance: float, p: float = 2.0, output_type: str = "dok_matrix"
    ) -> Any:
        """Make a sparse matrix of the distances to the points of another tree, ours or SciPy's."""
        known = output_type in ("dok_matrix", "coo_matrix", "dict", "ndarray")
        if not (known and self._takes(other, max_distance, p, 0)):
            return self.scipy.sparse_distance_matrix(_scipy_of(other), max_distance, p, output_type)
        pairs, distances = self._neighbors(float(max_distance), other)
        if output_type == "dict":
            return _native.dict_of_pairs(pairs, distances.tolist(), max(self.n, other.n))
        if output_type == "dok_matrix":
            matrix = _sparse.dok_matrix((self.n, other.n))
            if hasattr(matrix, "_dict"):  # what `todok` fills, one NumPy integer after the other
                matrix._dict = _native.dict_of_pairs(pairs, list(distances), max(self.n, other.n))
                return matrix
        pairs = pairs.astype(np.intp)
        if output_type == "ndarray":
            records = np.empty(len(pairs), [("i", np.intp), ("j", np.intp), ("v", np.float64)])
            records["i"], records["j"], records["v"] = pairs[:, 0], pairs[:, 1], distances
            return records
        matrix = _sparse.coo_matrix((distances, (pairs[:, 0], pairs[:, 1])), shape=(self.n, other.n))
        return matrix if output_type == "coo_matrix" else matrix.todok()

    def count_neighbors(self, other: Any, r: Any, p: float = 2.0, weights: Any = None, cumulative: bool = True) -> Any:
        """Count the pairs of a point and a point of another tree within a distance, or within each of many."""
        most = None
        if weights is None and type(cumulative) is bool and self._pays_with(other):
            radii = np.asarray(r)
            most = _radii(radii, radii.shape) if radii.ndim < 2 and radii.size else None
        if (
            most is None
            or not self._takes(other, most.max(), p, 0)
            or not (cumulative or (np.diff(most) >= 0).all())
            or other._are_crowded(self.data, np.full(self.n, most.max()))
        ):
            return self.scipy.count_neighbors(_scipy_of(other), r, p, weights, cumulative)
        bounds = np.sort(most)
        is_same = other is self
        pairs, distances = self._neighbors(bounds[-1], None if is_same else other)
        first = np.searchsorted(bounds, distances * (1 - 2 * _ROUNDING))
        doubtful = np.flatnonzero(bounds[np.minimum(first, len(bounds) - 1)] <= distances * (1 + 2 * _ROUNDING))
        # Of those whose distance may round to another side of a radius than its square.
        one, two = pairs[doubtful].T
        squares = _squares(self.data, other.data, one, two, self._box)
        first[doubtful] = np.searchsorted(bounds * bounds, squares)
        within = np.cumsum(np.bincount(first, minlength=len(bounds)))
        if is_same:  # both ways, and each and itself
            within = 2 * within + self.n
        counts = within[np.searchsorted(bounds, most)].astype(np.intp)
        if not cumulative:
            counts[1:] = np.diff(counts)
        return counts if radii.ndim else int(counts[0])

    # Inside

    def _indexed(self) -> Any:
        if self._index is None:
            self._index = bp.Index((self.data, self.data))
        return self._index

    def _pays_at(self, places: int) -> bool:
        """Whether a search at so many places is worth a look at whether it can be made here."""
        if self._box is not None and places * _POINTS_PER_PLACE < self.n:
            return False
        return places >= _FEW and places * self.n >= _FEW * _FEW

    def _pays_with(self, other: Any) -> bool:
        """Whether a search for points of another tree near those of this one is worth such a look."""
        if self.n < _FEW or not isinstance(other, cKDTree) or other.n < _FEW or not other._pays_at(self.n):
            return False
        return self._is_ours and other._is_ours

    def _takes(self, other: Any, r: Any, p: float, eps: float) -> bool:
        """Whether the points of another tree within one radius of those of this one are found here."""
        if not (self._pays_with(other) and p == 2 and eps == 0 and other.m == self.m):
            return False
        if _radii(r, ()) is None or not self._reaches_once(r):
            return False
        box, others = (np.empty(0) if one._box is None else one._box for one in (self, other))
        return other is self or np.array_equal(box, others)

    def _reaches_once(self, radii: Any) -> bool:
        """Whether no point is within these radii of two images of another."""
        if self._box is None:
            return True
        period = self._box[self._box > 0].min(initial=np.inf)
        return bool(np.max(radii, initial=0) < 0.49 * period)

    def _neighbors(self, radius: float, other: cKDTree | None = None) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Pairs that SciPy finds, and their distances."""
        second = self if other is None else other
        found = bp.neighbors(
            self.data, _more_than(radius), None if other is None else other.data, distances=True, **self._space()
        )
        kept = _within(self.data, second.data, found, radius, self._box)
        distances: Any = found.distances
        return found.pairs[kept], distances[kept]

    def _space(self) -> dict[str, Any]:
        return {} if self._box is None else {"cell": self._box, "periodic": self._box > 0}

    def _asked(self, x: NDArray[Any], p: float, eps: float) -> NDArray[np.float64] | None:
        """Places in rows; None if SciPy has to look there."""
        if p != 2 or eps != 0 or x.dtype.kind not in "fiub" or x.shape[-1:] != (self.m,) or not self._is_ours:
            return None
        points = np.ascontiguousarray(x, np.float64).reshape(-1, self.m)
        return points if np.isfinite(points).all() else None

    def _are_crowded(self, points: NDArray[np.float64], radii: NDArray[np.float64]) -> bool:
        """Whether, by a sample, balls hold so many points that counting them by whole cells, as SciPy does, pays."""
        some = slice(None, None, 1 + len(points) // _SAMPLE)
        rows, counts = self._find(points[some], radii[some], 1)
        return len(rows) > _CROWDED * len(counts)

    def _find(
        self, points: NDArray[np.float64], radii: NDArray[np.float64], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the rows within each radius, ascending, and how many there are."""
        if self._box is not None:
            return self._find_in_box(self._box, points, radii, workers)
        found = self._indexed().query_ball(points, radii * (1 + _ROUNDING), workers=workers)
        rows, counts = _native.within(points, self.data, found.rows, found.offsets, radii)
        return rows, counts

    def _find_in_box(
        self, box: NDArray[np.float64], points: NDArray[np.float64], radii: NDArray[np.float64], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        points = _wrapped(points, box)
        is_one = len(radii) > 0 and (radii == radii[0]).all()
        cutoff = _more_than(radii[0]) if is_one else (radii * (1 + _ROUNDING), np.zeros(self.n))
        found = bp.neighbors(points, cutoff, self.data, sort=True, distances=True, workers=workers, **self._space())
        pairs = found.pairs[_within(points, self.data, found, radii, box)]
        return pairs[:, 1].astype(np.int32), np.bincount(pairs[:, 0], minlength=len(points))


class KDTree(cKDTree):
    """Points that are queried for neighbors, as ``scipy.spatial.KDTree``: see `cKDTree`."""

    _kind: Any = theirs.KDTree
    _number: Any = np.intp
    node, innernode, leafnode = theirs.KDTree.node, theirs.KDTree.innernode, theirs.KDTree.leafnode


def _as_points(data: Any) -> NDArray[np.float64] | None:
    """Points that can be searched here; None if SciPy has to do it, or to refuse them."""
    points = np.asarray(data)
    if points.dtype.kind not in "fiub" or points.ndim != 2 or points.shape[1] not in (2, 3) or _is_one_spot(points):
        return None
    points = np.array(points, np.float64, order="C")
    return points if np.isfinite(points).all() else None


def _scipy_of(tree: Any) -> Any:
    return tree.scipy if isinstance(tree, cKDTree) else tree


def _ranks(k: Any) -> list[int] | None:
    """Which of the nearest are wanted, from 1 on; None if SciPy has to look at it."""
    if type(k) is int:
        return [k] if k > 0 else None
    if not isinstance(k, list | tuple | range | np.ndarray):
        return None
    ranks = np.asarray(k)
    if ranks.ndim != 1 or ranks.dtype.kind not in "iu" or not ranks.size or ranks.min() < 1:
        return None
    numbers: list[int] = ranks.tolist()
    return numbers


def _radii(r: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return one radius for each place; None if SciPy has to check them."""
    radii = np.asarray(r)
    if radii.dtype.kind not in "fiu":
        return None
    radii = radii.astype(np.float64)
    if not ((radii == 0) | ((radii >= _LEAST_RADIUS) & (radii <= _MOST_RADIUS))).all():
        return None
    try:
        return np.broadcast_to(radii, shape).ravel()
    except ValueError:
        return None


def _more_than(radius: float) -> float:
    """Return a slightly larger radius: SciPy compares rounded squares, and may find points beyond the radius."""
    return radius * (1 + _ROUNDING)


def _is_one_spot(points: NDArray[Any]) -> bool:
    """Whether every 16th point is the same: a tree of one leaf answers soonest."""
    return len(points) > 1 and points[0, 0] == points[-1, 0] and bool((points[::16] == points[0]).all())


def _box_around(points: NDArray[np.float64], boxsize: Any) -> NDArray[np.float64] | None:
    """Lengths of a periodic box, 0 along an axis that is not; None if SciPy has to look at it."""
    lengths = np.asarray(boxsize)
    if lengths.dtype.kind not in "fiu" or lengths.shape not in ((), (points.shape[1],)):
        return None
    box = np.broadcast_to(lengths.astype(np.float64), points.shape[1:])
    periodic = box > 0
    if not ((box >= 0) & (box <= _MOST_RADIUS)).all() or (box[periodic] < _LEAST_RADIUS).any():
        return None
    along = points.T[periodic]
    return box if ((along >= 0) & (along < box[periodic, None])).all() else None


def _wrapped(points: NDArray[np.float64], box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put points into a periodic box, rounded as in SciPy."""
    wrapped = points.copy()
    for axis in np.flatnonzero(box > 0):
        along, length = wrapped[:, axis], box[axis]
        along -= np.floor(along / length) * length
        along[along >= length] -= length
        along[along < 0] += length
    return wrapped


def _within(
    points: NDArray[Any],
    others: NDArray[Any],
    found: bp.points.Neighbors,
    radius: float | NDArray[np.float64],
    box: NDArray[np.float64] | None,
) -> NDArray[np.bool_] | slice:
    """Choose the pairs that SciPy finds: it compares squares, which may round to another side than their root."""
    distances: Any = found.distances
    radii = radius if isinstance(radius, float) else radius[found.pairs[:, 0]]
    doubtful = np.flatnonzero(distances > radii * (1 - 2 * _ROUNDING))
    if not len(doubtful):
        return slice(None)
    kept = np.ones(len(distances), bool)
    first, second = found.pairs[doubtful].T
    radii = radii if isinstance(radii, float) else radii[doubtful]
    kept[doubtful] = _squares(points, others, first, second, box) <= radii * radii
    return kept


def _squares(
    points: NDArray[Any],
    others: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    box: NDArray[np.float64] | None = None,
) -> NDArray[Any]:
    """Squares of distances, rounded as in SciPy."""
    total = np.zeros(len(first))
    for axis in range(points.shape[1]):
        along = points[first, axis] - others[second, axis]
        if box is not None and box[axis] > 0:
            along[along < -box[axis] / 2] += box[axis]
            along[along > box[axis] / 2] -= box[axis]
        total += along * along
    return total
