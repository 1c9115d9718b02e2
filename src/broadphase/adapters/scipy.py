"""``scipy.spatial.cKDTree`` and ``KDTree`` for points in the plane and in space: same methods, same results, faster.

Distances other than Euclidean, periodic boxes, other dimensions, ``eps`` and counting are answered by SciPy itself; its
tree is built when the first such question is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase import _native
from broadphase.adapters.library import import_library

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KDTree", "cKDTree"]

theirs: Any = import_library("scipy.spatial", install="scipy")
_sparse: Any = import_library("scipy.sparse", install="scipy")

# Squares of these are normal numbers; bp.neighbors takes no others.
_LEAST_RADIUS, _MOST_RADIUS = 1e-150, 1e150
_ROUNDING = 1e-15  # of a distance, and more
# Places of queries by radius; for fewer, a call of SciPy costs less, once there is its tree: after so many such calls.
_FEW, _FEW_CALLS = 64, 4
_SMALL = 200  # points of a tree, and places; for fewer, its calls cost less
_LOOK = 8  # places, and points, that are compared first to see whether all are near one another
_SAMPLE, _CROWDED = 16, 100  # balls that are looked at, and points in each from which SciPy counts faster


class cKDTree:  # noqa: N801 (its name in SciPy)
    """Points that are queried for neighbors, as ``scipy.spatial.cKDTree``.

    Parameters
    ----------
    data : array_like, shape (n, m)
        The points. Those in 2 and 3 dimensions are searched by broadphase, others by SciPy.
    *arguments, **options
        As in SciPy: leafsize, compact_nodes, copy_data, balanced_tree, boxsize. For the tree of SciPy.

    Raises
    ------
    ValueError
        As in SciPy: NaN or infinity.

    Notes
    -----
    Indices of equally near points, and the order of pairs and of unsorted lists, are not specified in SciPy; here they
    ascend. Whatever is not described here is that of the tree of SciPy: `count_neighbors`, `mins`, `tree`, ...
    """

    data: NDArray[np.float64]
    n: int
    m: int
    _kind: Any = theirs.cKDTree
    _number: Any = int  # the type of a single index

    def __init__(self, data: Any, *arguments: Any, **options: Any) -> None:
        self._index: Any = None
        self._settings = arguments, options
        self._few: Any = None  # the tree of SciPy, if that answers
        self._few_calls = 0  # of queries by few radii, before there was a tree of SciPy
        if type(data) in (np.ndarray, list, tuple) and np.ndim(data) and len(data) < _SMALL:
            self._tree = self._few = tree = self._kind(data, *arguments, **options)
            self.data, self.n, self.m = tree.data, tree.n, tree.m
            self._is_ours = tree.boxsize is None and tree.m in (2, 3)
            return
        self._tree = None
        periodic = options.get("boxsize") is not None or (len(arguments) > 4 and arguments[4] is not None)
        points = None if periodic else _as_points(data)
        self._is_ours = points is not None
        if points is None:
            self._tree = self._kind(data, *arguments, **options)  # its errors are SciPy's too
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
        if "_is_ours" not in self.__dict__:  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.scipy, name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: float = 0,
        p: float = 2,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> Any:
        """Find the nearest points.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Where to look.
        k : int or sequence of int
            How many, or which: ``[1, 3]`` are the nearest and the third.
        eps, p : float
            As in SciPy. Other values than these are answered by SciPy.
        distance_upper_bound : float
            Only points that are nearer than this.
        workers : int
            Threads to use; -1 for one per core.

        Returns
        -------
        distances, indices : float and int, or arrays of shape (...,) or (..., k)
            As in SciPy: infinity and n where there are not so many.
        """
        if self._few is not None and not (_is_one(x) or _are_many(x, self.m)):
            return self._few.query(x, k, eps, p, distance_upper_bound, workers)
        points, ranks = self._asked(x, p, eps), _ranks(k)
        bound = distance_upper_bound
        if points is None or ranks is None or not self.n or not (bound == np.inf or _radii(bound, ()) is not None):
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
            missing = ((0, 0), (0, most - self.n))
            distances = np.pad(distances, missing, constant_values=np.inf)
            rows = np.pad(rows, missing, constant_values=self.n)
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
        """Find all points within a distance.

        Parameters
        ----------
        x : array_like, shape (..., m)
            Where to look.
        r : float or array_like
            The largest distance, of all or of each.
        p, eps : float
            Other values than these are answered by SciPy.
        workers : int
            Threads to use; -1 for one per core.
        return_sorted : bool, optional
            Lists of many places ascend in any case.
        return_length : bool
            Count the points only.

        Returns
        -------
        list of int, or array of lists
            With `return_length`: int, or array of int.
        """
        if self._few is not None and not _are_many(x, self.m):
            return self._few.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        if _is_one(x):
            return (self._tree or self.scipy).query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        places = x.size // self.m if type(x) is np.ndarray else len(x)
        if places < _FEW and self._leaves():
            return self.scipy.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        points, radii = self._asked(x, p, eps), None
        if points is not None:
            radii = _radii(r, np.shape(x)[:-1])
        if points is None or radii is None or (return_length and self._are_crowded(points, radii)):
            return self.scipy.query_ball_point(x, r, p, eps, workers, return_sorted, return_length)
        rows, counts = self._balls(points, radii, workers)
        shape = np.shape(x)[:-1]
        if return_length:
            return counts.astype(np.intp).reshape(shape)
        lists = np.empty(len(points), object)
        lists[:] = _native.lists_of(rows, counts, self.n)
        return lists.reshape(shape)

    def query_ball_tree(self, other: Any, r: float, p: float = 2.0, eps: float = 0) -> Any:
        """Find for each point all points of another tree within a distance.

        Parameters
        ----------
        other : cKDTree
            Ours or SciPy's.
        r : float
            The largest distance.
        p, eps : float
            Other values than these are answered by SciPy.

        Returns
        -------
        list of lists of int
        """
        if self._few is not None:
            return self._few.query_ball_tree(_scipy_of(other), r, p, eps)
        if not (isinstance(other, cKDTree) and other._is_ours and self._takes(r, p, eps) and other.m == self.m):
            return self.scipy.query_ball_tree(_scipy_of(other), r, p, eps)
        rows, counts = other._balls(self.data, np.full(self.n, float(r)), 1)
        return _native.lists_of(rows, counts, other.n)

    def query_pairs(self, r: float, p: float = 2.0, eps: float = 0, output_type: str = "set") -> Any:
        """Find all pairs of points within a distance.

        Parameters
        ----------
        r : float
            The largest distance.
        p, eps : float
            Other values than these are answered by SciPy.
        output_type : {"set", "ndarray"}
            A set of tuples, or an array, which takes a small part of the time.

        Returns
        -------
        set of tuple, or ndarray of int64, shape (m, 2)
            Pairs (i, j), i < j.
        """
        if self._few is not None:
            return self._few.query_pairs(r, p, eps, output_type)
        if not self._takes(r, p, eps) or output_type not in ("set", "ndarray"):
            return self.scipy.query_pairs(r, p, eps, output_type)
        found = bp.neighbors(self.data, _more_than(float(r)), distances=True)
        pairs = found.pairs[_within(self.data, self.data, found, float(r))]
        if output_type == "ndarray":
            return pairs.astype(np.intp)
        return _native.set_of_pairs(pairs, self.n)

    def sparse_distance_matrix(
        self, other: Any, max_distance: float, p: float = 2.0, output_type: str = "dok_matrix"
    ) -> Any:
        """Make a sparse matrix of the distances to the points of another tree, up to a largest one.

        Parameters
        ----------
        other : cKDTree
            Ours or SciPy's.
        max_distance : float
            Larger ones are left out.
        p : float
            Other values than 2 are answered by SciPy.
        output_type : {"dok_matrix", "coo_matrix", "dict", "ndarray"}
            As in SciPy.

        Returns
        -------
        dok_matrix, coo_matrix, dict, or ndarray of records i, j, v
        """
        if self._few is not None:
            return self._few.sparse_distance_matrix(_scipy_of(other), max_distance, p, output_type)
        known = output_type in ("dok_matrix", "coo_matrix", "dict", "ndarray")
        ours = isinstance(other, cKDTree) and other._is_ours and other.m == self.m
        if not (ours and known and self._takes(max_distance, p, 0)):
            return self.scipy.sparse_distance_matrix(_scipy_of(other), max_distance, p, output_type)
        bound = float(max_distance)
        found = bp.neighbors(self.data, _more_than(bound), other.data, distances=True)
        kept = _within(self.data, other.data, found, bound)
        distances: Any = found.distances
        pairs, distances = found.pairs[kept], distances[kept]
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

    def count_neighbors(self, other: Any, *arguments: Any, **options: Any) -> Any:
        """Count pairs; SciPy does it."""
        return self.scipy.count_neighbors(_scipy_of(other), *arguments, **options)

    # Inside

    def _indexed(self) -> Any:
        if self._index is None:
            self._index = bp.Index((self.data, self.data))
        return self._index

    def _leaves(self) -> bool:
        """Whether few places are left to SciPy's tree."""
        self._few_calls += 1
        return self._tree is not None or self._index is None or self._few_calls > _FEW_CALLS

    def _takes(self, r: Any, p: float, eps: float) -> bool:
        """Whether a search by one radius is ours; others are SciPy's."""
        return self._is_ours and p == 2 and eps == 0 and _radii(r, ()) is not None

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

    def _are_crowded(self, points: NDArray[np.float64], radii: NDArray[np.float64]) -> bool:
        """Whether so many points are within radii that counting them by whole cells, as SciPy does, pays."""
        # Where most points are within, a look at a few of them tells, before there is an index.
        asking, some = (slice(None, None, max(1, len(these) // _LOOK)) for these in (points, self.data))
        apart = points[asking, np.newaxis] - self.data[some]
        near = np.einsum("ijk,ijk->ij", apart, apart) <= (radii[asking] * radii[asking])[:, np.newaxis]
        if 2 * np.count_nonzero(near) > near.size and self.n > _CROWDED:
            return True
        some = slice(None, None, max(1, len(points) // _SAMPLE))
        return len(self._balls(points[some], radii[some], 1)[0]) > _CROWDED * len(points[some])

    def _balls(
        self, points: NDArray[np.float64], radii: NDArray[np.float64], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Rows within each radius, ascending, and how many there are."""
        found = self._indexed().query_ball(points, radii * (1 + _ROUNDING), workers=workers)
        rows, counts = _native.within(points, self.data, found.rows, found.offsets, radii)
        return rows, counts


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


def _are_many(x: Any, dimension: int) -> bool:
    """Whether an array holds so many places that they are not left to SciPy's tree of a few points."""
    return type(x) is np.ndarray and x.ndim > 1 and x.size >= _SMALL * dimension


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
    """Give one radius for each place; None if SciPy has to look at them."""
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
    """Give a radius with which nothing is missed that SciPy finds by comparing rounded squares."""
    return radius * (1 + _ROUNDING)


def _within(
    points: NDArray[Any], others: NDArray[Any], found: bp.Neighbors, radius: float
) -> NDArray[np.bool_] | slice:
    """Choose the pairs that SciPy finds: it compares squares, which may round to another side than their root."""
    distances: Any = found.distances
    doubtful = np.flatnonzero(distances > radius * (1 - 2 * _ROUNDING))
    if not len(doubtful):
        return slice(None)
    kept = np.ones(len(distances), bool)
    first, second = found.pairs[doubtful].T
    kept[doubtful] = _squares(points, others, first, second) <= radius * radius
    return kept


def _squares(points: NDArray[Any], others: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Squares of distances, rounded as in SciPy."""
    total = np.zeros(len(first))
    for axis in range(points.shape[1]):
        along = points[first, axis] - others[second, axis]
        total += along * along
    return total
