"""``scipy.spatial.cKDTree`` and ``KDTree`` for points in the plane and in space: same methods, same results, faster.

Arguments and results are SciPy's; docstrings say what differs. SciPy itself answers other distances than Euclidean,
other dimensions, ``eps``, and the nearest points in a periodic box; its tree is built for the first such query.
"""

from __future__ import annotations

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
# SciPy's are trees of fewer than _SMALL points, and queries of fewer places than these, by the number of points, but
# not of one, for which it takes twice the time.
_SMALL = 400
_COUNTED = 700  # points whose pairs are counted here
_PLACES = ((64, 1000), (1000, 300), (np.inf, 150))
_SMALL_BOX, _PLACES_IN_BOX = 1000, 1000  # the same of a periodic box
_LOOK = 8  # places, and points, that are compared first to see whether all are near one another
_SAMPLE, _CROWDED = 16, 100  # balls that are looked at, and points in each from which SciPy counts faster


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
    _few: Any = None  # the tree of SciPy, if that answers
    _box: NDArray[np.float64] | None = None  # the lengths of a periodic one; 0 along an axis that is not

    def __init__(self, data: Any, *arguments: Any, **options: Any) -> None:
        if (data.shape if type(data) is np.ndarray else type(data) in (list, tuple)) and len(data) < _SMALL:
            self._tree = self._few = self._kind(data, *arguments, **options)
            return
        self._settings = arguments, options
        self._tree = None
        boxsize = options.get("boxsize", arguments[4] if len(arguments) > 4 else None)
        points = _as_points(data)
        if points is not None and boxsize is not None:
            self._box = _box_around(points, boxsize) if len(points) >= _SMALL_BOX else None
            points = points if self._box is not None else None
        if points is not None and _is_one_spot(points):
            points = None
        self._is_ours = points is not None
        if points is None:
            self._tree = self._few = self._kind(data, *arguments, **options)  # its errors are SciPy's too
            points = self._tree.data
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
        if "_tree" not in self.__dict__:  # while it is unpickled
            raise AttributeError(name)
        if name == "_is_ours":
            tree = self._tree  # of few points, which are not ours in a box
            self._is_ours = tree.boxsize is None and tree.m in (2, 3) and not _is_one_spot(tree.data)
            return self._is_ours
        return getattr(self.scipy, name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def query(
        self, x: Any, k: Any = 1, eps: float = 0, p: float = 2, distance_upper_bound: float = np.inf, workers: int = 1
    ) -> Any:
        """Find the nearest points."""
        tree = self._tree
        if tree is not None and type(x) is np.ndarray and x.ndim > 1 and len(x) < _PLACES[-1][1]:  # soonest
            return tree.query(x, k, eps, p, distance_upper_bound, workers)
        if self._few is not None if _is_one(x) else self._leaves(x):
            return self.scipy.query(x, k, eps, p, distance_upper_bound, workers)
        points, ranks = self._asked(x, p, eps), _ranks(k)
        bound = distance_upper_bound
        if (
            self._box is not None
            or points is None
            or ranks is None
            or not self.n
            or not (bound == np.inf or _radii(bound, ()) is not None)
        ):
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
        shape = np.shape(x)[:-1]
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
        tree = self._tree
        if tree is not None and type(x) is np.ndarray and x.shape and len(x) < _PLACES[-1][1]:  # soonest
            return tree.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        if _is_one(x) or self._leaves(x):
            return self.scipy.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        points, radii = self._asked(x, p, eps), None
        if points is not None:
            radii = _radii(r, np.shape(x)[:-1])
            radii = radii if radii is not None and self._reaches_once(radii) else None
        if points is None or radii is None or (return_length and self._are_crowded(points, radii)):
            return self.scipy.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        if self._box is None:
            rows, counts = self._balls(points, radii, workers)
        else:
            rows, counts = self._balls_in_box(points, radii, workers)
        shape = np.shape(x)[:-1]
        if return_length:
            return counts.astype(np.intp).reshape(shape)
        lists = np.empty(len(points), object)
        lists[:] = _native.lists_of(rows, counts, self.n)
        return lists.reshape(shape)

    def query_ball_tree(self, other: Any, r: float, p: float = 2.0, eps: float = 0) -> Any:
        """Find for each point all points of another tree, ours or SciPy's, within a distance."""
        if self._few is not None or not (self._takes(r, p, eps) and self._is_alike(other)):
            return self.scipy.query_ball_tree(_scipy_of(other), r, p, eps)
        balls = other._balls if self._box is None else other._balls_in_box
        rows, counts = balls(self.data, np.full(self.n, float(r)), 1)
        return _native.lists_of(rows, counts, other.n)

    def query_pairs(self, r: float, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
        """Find all pairs of points within a distance. An ``output_type="ndarray"`` takes a small part of the time."""
        if self._few is not None or not self._takes(r, p, eps) or output_type not in ("set", "ndarray"):
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
        if self._few is not None or not (known and self._takes(max_distance, p, 0) and self._is_alike(other)):
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
        radii = np.asarray(r)
        known = (
            self._few is None
            and self.n >= _COUNTED
            and weights is None
            and radii.ndim < 2
            and radii.size
            and type(cumulative) is bool
        )
        most = _radii(radii, radii.shape) if known else None
        if most is None or not self._may_count(most, other, p) or not (cumulative or (np.diff(most) >= 0).all()):
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

    def _leaves(self, x: Any) -> bool:
        """Whether SciPy's tree answers a query of these places."""
        places = x.size // max(x.shape[-1], 1) if type(x) is np.ndarray else len(x)
        few = next(most for points, most in _PLACES if self.n < points) if self._box is None else _PLACES_IN_BOX
        return bool(places < few)

    def _takes(self, r: Any, p: float, eps: float) -> bool:
        """Whether a search by one radius is ours; others are SciPy's."""
        return self._is_ours and p == 2 and eps == 0 and _radii(r, ()) is not None and self._reaches_once(r)

    def _reaches_once(self, radii: Any) -> bool:
        """Whether no point is within these radii of two images of another."""
        if self._box is None:
            return True
        period = self._box[self._box > 0].min(initial=np.inf)
        return bool(np.max(radii, initial=0) < 0.49 * period)

    def _is_alike(self, other: Any) -> bool:
        """Whether this is a tree of ours in the same space."""
        if not (isinstance(other, cKDTree) and other._is_ours and other.m == self.m):
            return False
        return np.array_equal(() if self._box is None else self._box, () if other._box is None else other._box)

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

    def _asked(self, x: Any, p: float, eps: float) -> NDArray[np.float64] | None:
        """Places in rows; None if SciPy has to look there."""
        if not self._is_ours or p != 2 or eps != 0:
            return None
        if type(x) is not np.ndarray:
            x = np.asarray(x)
        if x.dtype.kind not in "fiub" or x.ndim < 1 or x.shape[-1] != self.m:
            return None
        points = np.ascontiguousarray(x, np.float64).reshape(-1, self.m)
        return points if np.isfinite(points).all() else None

    def _may_count(self, radii: NDArray[np.float64], other: Any, p: float) -> bool:
        """Whether pairs of this tree and another are counted here."""
        most = radii.max()
        if not (self._takes(most, p, 0) and self._is_alike(other) and self.n and other.n):
            return False
        return not self._are_crowded(self.data, np.full(self.n, most), other)

    def _are_crowded(
        self, points: NDArray[np.float64], radii: NDArray[np.float64], other: cKDTree | None = None
    ) -> bool:
        """Whether so many points are within radii that counting them by whole cells, as SciPy does, pays."""
        data = self.data if other is None else other.data
        # Where most points are within, a look at a few of them tells, before there is an index.
        asking, some = (slice(None, None, max(1, len(these) // _LOOK)) for these in (points, data))
        apart = points[asking, np.newaxis] - data[some]
        near = np.einsum("ijk,ijk->ij", apart, apart) <= (radii[asking] * radii[asking])[:, np.newaxis]
        if 2 * np.count_nonzero(near) > near.size and len(data) > _CROWDED:
            return True
        some = slice(None, None, max(1, len(points) // _SAMPLE))
        if other is None and self._box is None:
            found = len(self._balls(points[some], radii[some], 1)[0])
        else:
            found = len(bp.neighbors(points[some], radii.max(), data, **self._space()).pairs)
        return found > _CROWDED * len(points[some])

    def _balls(
        self, points: NDArray[np.float64], radii: NDArray[np.float64], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Rows within each radius, ascending, and how many there are."""
        found = self._indexed().query_ball(points, radii * (1 + _ROUNDING), workers=workers)
        rows, counts = _native.within(points, self.data, found.rows, found.offsets, radii)
        return rows, counts

    def _balls_in_box(
        self, points: NDArray[np.float64], radii: NDArray[np.float64], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the same in a periodic box."""
        assert self._box is not None
        points = _wrapped(points, self._box)
        is_one = len(radii) > 0 and (radii == radii[0]).all()
        cutoff = _more_than(radii[0]) if is_one else (radii * (1 + _ROUNDING), np.zeros(self.n))
        found = bp.neighbors(points, cutoff, self.data, sort=True, distances=True, workers=workers, **self._space())
        pairs = found.pairs[_within(points, self.data, found, radii, self._box)]
        return pairs[:, 1].astype(np.int32), np.bincount(pairs[:, 0], minlength=len(points))


class KDTree(cKDTree):
    """Points that are queried for neighbors, as ``scipy.spatial.KDTree``: see `cKDTree`."""

    _kind: Any = theirs.KDTree
    _number: Any = np.intp
    node, innernode, leafnode = theirs.KDTree.node, theirs.KDTree.innernode, theirs.KDTree.leafnode


def _as_points(data: Any) -> NDArray[np.float64] | None:
    """Points that can be searched here; None if SciPy has to do it, or to refuse them."""
    points = np.asarray(data)
    if points.dtype.kind not in "fiub" or points.ndim != 2 or points.shape[1] not in (2, 3):
        return None
    points = np.array(points, np.float64, order="C")
    return points if np.isfinite(points).all() else None


def _scipy_of(tree: Any) -> Any:
    return tree.scipy if isinstance(tree, cKDTree) else tree


def _is_one(x: Any) -> bool:
    """Whether this is one place."""
    if type(x) in (list, tuple) and len(x) > 0 and type(x[0]) in (float, int):
        return True
    return (x.ndim if type(x) is np.ndarray else np.ndim(x)) < 2


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


def _is_one_spot(points: NDArray[np.float64]) -> bool:
    """Whether all points are equal, or all but a few: a tree of one leaf answers soonest."""
    if len(points) < 2 or not points[0, 0] == points[len(points) // 2, 0] == points[-1, 0]:
        return False
    some = points[:: max(1, len(points) // _LOOK)]
    return bool((some == some[0]).all())


def _box_around(points: NDArray[np.float64], boxsize: Any) -> NDArray[np.float64] | None:
    """Lengths of a periodic box, 0 along an axis that is not; None if SciPy has to look at it."""
    lengths = np.asarray(boxsize)
    if lengths.dtype.kind not in "fiu" or lengths.shape not in ((), (points.shape[1],)):
        return None
    box = np.broadcast_to(lengths.astype(np.float64), points.shape[1:])
    periodic = box > 0
    if not ((box >= 0) & (box <= _MOST_RADIUS)).all() or (box[periodic] < _LEAST_RADIUS).any():
        return None
    inside: NDArray[np.bool_] = (points[:, periodic] >= 0) & (points[:, periodic] < box[periodic])
    return box if inside.all() else None


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
    found: bp.Neighbors,
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
