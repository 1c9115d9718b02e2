"""Indexes whose objects may be bounded by spheres besides boxes: by both, or by a sphere alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from broadphase import _native
from broadphase.arguments import as_reals, as_whole
from broadphase.boxes.checking import require_finite
from broadphase.boxes.forms import as_corners
from broadphase.boxes.making import from_spheres
from broadphase.change import Change
from broadphase.errors import unknown_name
from broadphase.filters import QueryFilter
from broadphase.index.box_index import BoxIndex
from broadphase.index.queries import (
    MOST_NEAREST,
    finite_points,
    motions_of,
    nonnegative,
    places_of,
    points_without_nan,
    rays,
)
from broadphase.index.regions import halves_of, planes_of_views, rotation_matrices
from broadphase.index.results import Nearest, QueryResult, RayHits, RayHitsAll, SweepHits, with_columns
from broadphase.index.spheres import Spheres, lengths_of
from broadphase.index.store import checked_corners
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from broadphase.boxes.forms import Boxes
    from broadphase.filters import ByRow, Ignored
    from broadphase.index.queries import Answers

__all__ = ["SphereIndex", "kept"]


class SphereIndex(BoxIndex):
    """What `Octree` and `SweepAndPrune` share: objects with spheres.

    Methods add ``bounds="sphere"`` to those of `BoxIndex`. Other parameters, results and errors are the same.

    Parameters
    ----------
    boxes, layer, mask, batch, spheres
        As in `Octree`.
    """

    __slots__ = ("_spheres",)

    def __init__(
        self,
        boxes: Boxes | None,
        *,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        spheres: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        self._spheres: Spheres | None = None
        boxes, bounds = _boxes_with_spheres(boxes, spheres)
        super().__init__(boxes, layer=layer, mask=mask, batch=batch)
        if bounds is not None:
            change = Change()
            self._keep_spheres(change, np.arange(self._store.slots, dtype=np.int32), bounds)
            change.commit()

    @classmethod
    def from_spheres(cls, centers: ArrayLike, radii: ArrayLike, **options: Any) -> Self:
        """Make an index of spheres and the boxes around them, with options of the class.

        Centers, (n, d), and radii, (n,) or one number, must be finite, radii 0 or more: ValueError names the first row.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[0, 0, 0], [1.5, 1.5, 0]], 1)
        >>> len(tree.pairs()), len(tree.pairs(bounds="sphere"))
        (1, 0)
        """
        return cls(None, spheres=(centers, radii), **options)

    def insert(
        self,
        boxes: Boxes | None,
        *,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        spheres: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> NDArray[np.int32]:
        """Add boxes, as `BoxIndex.insert`.

        Parameters
        ----------
        boxes, layer, mask, batch
            As in `BoxIndex.insert`.
        spheres : optional
            As in the class.

        Returns
        -------
        ndarray, shape (k,), int32
            Their rows; in an octree, also of the boxes that it drops.

        Raises
        ------
        ValueError, TypeError, RuntimeError
            As `BoxIndex.insert`; in an octree with `outside` "raise", a box that is not in the world.
        """
        boxes, bounds = _boxes_with_spheres(boxes, spheres)
        with self._guard.changing:
            return self._insert(boxes, layer, mask, batch, bounds)

    def update(
        self, boxes: Boxes | None, rows: ArrayLike | None = None, *, spheres: tuple[ArrayLike, ArrayLike] | None = None
    ) -> None:
        """Move boxes, as `BoxIndex.update`.

        Parameters
        ----------
        boxes, rows
            As in `BoxIndex.update`.
        spheres : optional
            As in the class. Objects that have spheres need new ones.

        Raises
        ------
        ValueError, TypeError, RuntimeError
            As `BoxIndex.update` and `insert`; an object that has a sphere, and is given none.
        """
        boxes, bounds = _boxes_with_spheres(boxes, spheres)
        with self._guard.changing:
            numbers = self.rows if rows is None else self._store.distinct(rows)
            if bounds is None and self._spheres is not None and (had := self._spheres.having(numbers)).any():
                row = int(numbers[had.argmax()])
                raise ValueError(f"row {row} has a sphere: give the new ones by spheres=, an infinite radius for none")
            self._update(boxes, None if rows is None else numbers, bounds)

    def pairs(
        self, other: BoxIndex | Boxes | None = None, *, bounds: Literal["box", "sphere"] = "box", **options: Any
    ) -> NDArray[np.int32]:
        """Find every pair of overlapping boxes, as `BoxIndex.pairs`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the spheres must touch too; the box of an object without a sphere stands for it. Not with `other`.
        """
        spheres = self._deciding(bounds, other)
        with self._guard.reading:
            found = super().pairs(other, **options)
            return found if spheres is None else found[spheres.touch(found, self._store.corners)]

    def count_pairs(
        self, other: BoxIndex | Boxes | None = None, *, bounds: Literal["box", "sphere"] = "box", **options: Any
    ) -> int:
        """Count the pairs that `pairs` finds, with its parameters."""
        spheres = self._deciding(bounds, other)
        with self._guard.reading:
            if spheres is None:
                return super().count_pairs(other, **options)
            return sum(map(len, self.iter_pairs(bounds=bounds, **options)))

    def iter_pairs(
        self, other: BoxIndex | Boxes | None = None, *, bounds: Literal["box", "sphere"] = "box", **options: Any
    ) -> Iterator[NDArray[np.int32]]:
        """Find the pairs that `pairs` finds a chunk at a time, as `BoxIndex.iter_pairs`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            As in `pairs`. With "sphere", chunks may have fewer pairs, or none.
        """
        spheres = self._deciding(bounds, other)
        with self._guard.reading:
            chunks = super().iter_pairs(other, **options)
            if spheres is None:
                return chunks
            own, corners = Spheres(*(array.copy() for array in spheres)), self._store.corners.copy()
        return (some[own.touch(some, corners)] for some in chunks)

    def query(
        self,
        boxes: Boxes,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> QueryResult:
        """Find the rows that overlap each of these boxes, as `BoxIndex.query`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the spheres of the rows must overlap the box too. Decided exactly.
        """
        spheres = self._deciding(bounds)
        with self._guard.reading:
            if spheres is not None:
                boxes = checked_corners(boxes, "boxes", self.dim, own=True)
            found = super().query(boxes, workers=workers, layer=layer, mask=mask, batch=batch, ignore=ignore)
            if spheres is None:
                return found
            lower, upper = (corner.astype(np.float64)[found.query_rows] for corner in as_corners(boxes))
            return kept(found, spheres.meet(found.rows, lower, upper))

    def query_points(
        self,
        points: ArrayLike,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> QueryResult:
        """Find the rows that contain each point, as `BoxIndex.query_points`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the spheres of the rows must contain the point too. Decided exactly.
        """
        spheres = self._deciding(bounds)
        with self._guard.reading:
            found = super().query_points(points, workers=workers, layer=layer, mask=mask, batch=batch, ignore=ignore)
            if spheres is None:
                return found
            at = points_without_nan(points, "points", self.dim).astype(np.float64)[found.query_rows]
            return kept(found, spheres.meet(found.rows, at, at))

    def nearest(
        self,
        points: ArrayLike | None = None,
        k: int = 1,
        max_distance: ArrayLike = np.inf,
        *,
        bounds: Literal["box", "sphere"] = "box",
        rows: ArrayLike | None = None,
        exclude_self: bool = True,
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> Nearest:
        """Find the rows nearest to each point, as `BoxIndex.nearest`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the distance is that to the box or to the sphere of a row, whichever is larger. Distances to
            spheres are rounded, so that rows at nearly the same distance may change places.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[0, 0], [4, 4.5]], [1, 1])
        >>> tree.nearest([[2, 3]], bounds="sphere").distances.round(3)
        array([[1.5]])
        """
        spheres = self._deciding(bounds)
        with self._guard.reading:
            if spheres is None:
                given: dict[str, Any] = {"workers": workers, "layer": layer, "mask": mask, "batch": batch}
                given |= {"rows": rows, "exclude_self": exclude_self, "ignore": ignore}
                return super().nearest(points, k, max_distance, **given)
            points, own = places_of(self, points, rows, exclude_self)
            allowed, threads = QueryFilter(layer, mask, ignore, own), worker_count(workers)
            searched: Answers = self if batch is None else self._in_batches(batch)
            at = finite_points(points, "points", self.dim)
            limits = nonnegative(max_distance, "max_distance", len(at))
            k = as_whole(k, "k", 1, MOST_NEAREST)
            wanted = max(1, min(k, len(self)))
            boxes = searched._find_nearest(at, wanted, limits, threads, allowed)
            queries, places = np.nonzero(boxes.rows >= 0)
            found = boxes.rows[queries, places]
            away = np.maximum(boxes.distances[queries, places], spheres.away(found, at[queries]))
            # Other boxes may be nearer than the last of these spheres, and so may be their spheres.
            last = np.zeros(len(at))
            np.maximum.at(last, queries, away)
            reach = np.where(boxes.rows[:, -1] >= 0, np.minimum(last, limits), 0.0)
            reach = np.minimum(np.nextafter(reach * (1 + 2.0**-40), np.inf), np.finfo(np.float64).max)
            within = searched._find_balls(at, reach, threads, allowed)
            more, asking = within.rows, within.query_rows
            corners = self._store.corners[more].astype(np.float64)
            gaps = np.maximum(np.maximum(corners[:, 0] - at[asking], at[asking] - corners[:, 1]), 0.0)
            both = np.concatenate([away, np.maximum(lengths_of(gaps), spheres.away(more, at[asking]))])
            least: Any = _native.least_of_each(
                np.concatenate([found, more]), np.concatenate([queries, asking]).astype(np.int32), both, limits, wanted
            )
            return with_columns(Nearest(*least), k)

    def query_ball(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> QueryResult:
        """Find the rows within a distance of each point, as `BoxIndex.query_ball`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the spheres of the rows must be within the distance too. Decided exactly.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[0, 0]], 1)
        >>> len(tree.query_ball([[1, 1]], 0.1).rows), len(tree.query_ball([[1, 1]], 0.1, bounds="sphere").rows)
        (1, 0)
        """
        spheres = self._deciding(bounds)
        with self._guard.reading:
            found = super().query_ball(
                centers, radii, workers=workers, layer=layer, mask=mask, batch=batch, ignore=ignore
            )
            if spheres is None:
                return found
            of, middles = found.query_rows, finite_points(centers, "centers", self.dim)
            reach = nonnegative(radii, "radii", len(middles))[of]
            return kept(found, spheres.meet(found.rows, middles[of], middles[of], reach))

    def query_obb(
        self,
        centers: ArrayLike,
        half_sizes: ArrayLike,
        rotations: ArrayLike,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> QueryResult:
        """Find the rows that overlap each of these oriented boxes, as `BoxIndex.query_obb`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the spheres of the rows must overlap the oriented box too. Those that touch it are never missed;
            one that misses it by less than rounding, or by the relative error of a rotation matrix, may be found.
            After quarter turns, exact.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[0, 0]], 1)
        >>> asked = [[1.5, 1.5]], [1, 0.5], 0.7854
        >>> len(tree.query_obb(*asked).rows), len(tree.query_obb(*asked, bounds="sphere").rows)
        (1, 0)
        """
        spheres = self._deciding(bounds)
        with self._guard.reading:
            given: dict[str, Any] = {"workers": workers, "layer": layer, "mask": mask, "batch": batch, "ignore": ignore}
            found = super().query_obb(centers, half_sizes, rotations, **given)
            if spheres is None:
                return found
            of, middles = found.query_rows, finite_points(centers, "centers", self.dim)
            half, axes = halves_of(half_sizes, middles)[of], rotation_matrices(rotations, *middles.shape)[of]
            return kept(found, spheres.meet_turned(found.rows, middles[of], half, axes))

    def frustum(
        self,
        matrix: ArrayLike | None = None,
        *,
        planes: ArrayLike | None = None,
        depth: Literal["minus_one_to_one", "zero_to_one"] = "minus_one_to_one",
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> QueryResult:
        """Find the rows that a camera sees, or that meet the region between planes, as `BoxIndex.frustum`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the spheres of the rows must meet the region too. Those that touch it are never missed; one that
            misses it by less than rounding may be found.
        """
        spheres = self._deciding(bounds)
        with self._guard.reading:
            found = super().frustum(
                matrix, planes=planes, depth=depth, workers=workers, layer=layer, mask=mask, batch=batch, ignore=ignore
            )
            if spheres is None:
                return found
            sides = as_reals(planes, "planes") if matrix is None else planes_of_views(matrix, depth)
            regions = sides if sides.ndim == 3 else sides[np.newaxis]
            meets = [spheres.inside(found[number], region) for number, region in enumerate(regions)]
            return kept(found, np.concatenate([np.empty(0, np.bool_), *meets]))

    def raycast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> RayHits:
        """Find the first row on each ray, as `BoxIndex.raycast`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": rays must hit the sphere of a row too, which decides the distance. Whether they hit is decided
            exactly. Takes as long as `raycast_all`.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[5, 0], [9, 1]], 1)
        >>> tree.raycast([[0, 0.75]], [[1, 0]], bounds="sphere").distances.round(3)
        array([4.339])
        >>> tree.raycast([[0, 1.5]], [[1, 0]], bounds="sphere").rows
        array([1], dtype=int32)
        """
        given: dict[str, Any] = {"workers": workers, "layer": layer, "mask": mask, "batch": batch, "ignore": ignore}
        if self._deciding(bounds) is None:
            return super().raycast(origins, directions, max_distance, **given)
        found = self.raycast_all(origins, directions, max_distance, bounds=bounds, **given)
        is_hit, first = np.diff(found.offsets) > 0, found.offsets[:-1]
        rows, distances = np.full(len(is_hit), -1, np.int32), np.full(len(is_hit), np.inf)
        rows[is_hit], distances[is_hit] = found.rows[first[is_hit]], found.distances[first[is_hit]]
        return RayHits(rows, distances)

    def raycast_all(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> RayHitsAll:
        """Find every row on each ray, as `BoxIndex.raycast_all`, with the parameters of `raycast`."""
        spheres = self._deciding(bounds)
        with self._guard.reading:
            given: dict[str, Any] = {"workers": workers, "layer": layer, "mask": mask, "batch": batch, "ignore": ignore}
            if spheres is None:
                return super().raycast_all(origins, directions, max_distance, **given)
            checked = rays(self.dim, origins, directions, max_distance)
            # Distances to boxes are rounded. Search a little farther, so that no sphere at the end of a ray is missed.
            with np.errstate(over="ignore"):
                reach = np.nextafter(checked[2] * (1 + 2.0**-40), np.inf)
            found = super().raycast_all(checked[0], checked[1], reach, **given)
            of = found.query_rows
            begin, along, limits = (part[of] for part in checked)
            to_boxes = np.where(found.distances <= limits, found.distances, np.inf)
            entries = spheres.enter(found.rows, begin, along, limits, to_boxes)
        order = np.lexsort((found.rows, entries, of))
        order = order[np.isfinite(entries[order])]
        counts = np.bincount(of[order], minlength=len(found.offsets) - 1)
        return RayHitsAll(found.rows[order], np.concatenate([[0], np.cumsum(counts)]), entries[order])

    def raycast_any(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance: ArrayLike = np.inf,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> NDArray[np.bool_]:
        """Find out whether each ray hits anything, as `BoxIndex.raycast_any`, with the parameters of `raycast`."""
        given: dict[str, Any] = {"workers": workers, "layer": layer, "mask": mask, "batch": batch, "ignore": ignore}
        if self._deciding(bounds) is None:
            return super().raycast_any(origins, directions, max_distance, **given)
        return self.raycast(origins, directions, max_distance, bounds=bounds, **given).rows >= 0

    def shapecast(
        self,
        boxes: Boxes,
        motions: ArrayLike,
        *,
        bounds: Literal["box", "sphere"] = "box",
        workers: int = 1,
        layer: ByRow = None,
        mask: ByRow = None,
        batch: ByRow = None,
        ignore: Ignored = None,
    ) -> SweepHits:
        """Find the first row that each moving box touches, as `BoxIndex.shapecast`.

        Parameters
        ----------
        bounds : {"box", "sphere"}
            "sphere": the boxes must touch the sphere of a row too, which decides the time. Whether they touch is
            decided exactly. Looks at every row on the way, not only at the first.

        Examples
        --------
        >>> import broadphase as bp
        >>> tree = bp.Octree.from_spheres([[5, 2], [9, 0]], 1)
        >>> tree.shapecast([[0, 0, 1, 1]], [[10, 0]], bounds="sphere")
        SweepHits(rows=array([0], dtype=int32), times=array([0.4]))
        >>> tree.shapecast([[0, 0, 1, 0.5]], [[10, 0]], bounds="sphere").times.round(3)
        array([0.7])
        """
        spheres = self._deciding(bounds)
        if spheres is None:
            return super().shapecast(
                boxes, motions, workers=workers, layer=layer, mask=mask, batch=batch, ignore=ignore
            )
        allowed, searched = QueryFilter(layer, mask, ignore), self if batch is None else self._in_batches(batch)
        lower, upper, moved = motions_of(boxes, motions, self.dim)
        # Times of boxes are rounded. Search a little later, so that no sphere at the end of a way is missed.
        later = np.full(len(lower), 1 + 2.0**-40)
        with self._guard.reading:
            moving = (lower, upper, moved, later)
            found: Any = searched._sweep(_native.sweep_all, moving, False, worker_count(workers), allowed)
            hits = RayHitsAll(*found)
            of, times = hits.query_rows, np.where(hits.distances <= 1, hits.distances, np.inf)
            times = spheres.touched(hits.rows, lower[of], upper[of], moved[of], times)
        least: Any = _native.least_of_each(hits.rows, of.astype(np.int32), times, np.ones(len(lower)), 1)
        return SweepHits(least[0][:, 0], least[1][:, 0])

    def _deciding(self, bounds: str, other: Any = None) -> Spheres | None:
        """Return the spheres if they decide; None where the boxes do."""
        if bounds not in ("box", "sphere"):
            raise ValueError(unknown_name("bounds", bounds, ("box", "sphere")))
        if bounds == "sphere" and other is not None:
            raise ValueError('bounds="sphere" is for pairs within one index')
        return self._spheres if bounds == "sphere" else None

    def _keep_spheres(self, change: Change, rows: NDArray[np.int32], spheres: Any) -> None:
        if spheres is not None or self._spheres is not None:
            known = Spheres(np.zeros((0, self.dim)), np.zeros(0)) if self._spheres is None else self._spheres
            change.set_slot(self, "_spheres", known.with_rows(change, len(self._store.corners), rows, spheres))


def kept(found: QueryResult, is_kept: NDArray[np.bool_]) -> QueryResult:
    """Keep some of the rows that queries found."""
    counts = np.bincount(found.query_rows[is_kept], minlength=len(found))
    return QueryResult(found.rows[is_kept], np.concatenate([[0], np.cumsum(counts)]))


def _boxes_with_spheres(
    boxes: Any, spheres: tuple[ArrayLike, ArrayLike] | None
) -> tuple[Any, tuple[NDArray[Any], NDArray[Any]] | None]:
    """Return the box of every object, from its sphere where it has only that, and the checked spheres."""
    if spheres is None:
        if boxes is None:
            raise ValueError("either boxes or spheres are needed")
        return boxes, None
    if not isinstance(spheres, tuple) or len(spheres) != 2:
        raise ValueError("spheres must be a tuple (centers, radii)")
    centers, radii = as_reals(spheres[0], "spheres: centers"), as_reals(spheres[1], "spheres: radii")
    centers, radii = centers.copy(), radii.copy()  # as they are checked
    if centers.ndim != 2 or radii.ndim > 1 or (radii.ndim == 1 and len(radii) != len(centers)):
        raise ValueError(f"spheres have shapes {centers.shape} and {radii.shape}; (n, d) and (n,) are needed")
    require_finite(centers, "spheres: centers")
    radii = np.broadcast_to(radii, (len(centers),))
    if not (radii >= 0).all():
        raise ValueError(f"spheres: the radius of row {int((~(radii >= 0)).argmax())} is not 0 or more")
    has_sphere = np.isfinite(radii)
    around = from_spheres(centers, np.where(has_sphere, radii, 0))
    if boxes is None:
        if not has_sphere.all():
            raise ValueError(f"spheres: row {int((~has_sphere).argmax())} has neither a box nor a finite radius")
        return around, (centers, radii)
    lower, upper = as_corners(boxes)
    if lower.shape != centers.shape:
        raise ValueError(f"boxes are {lower.shape[0]} of {lower.shape[1]} dimensions, spheres {centers.shape}")
    only = has_sphere & (lower == -np.inf).all(axis=1) & (upper == np.inf).all(axis=1)
    boxes = np.stack([lower, upper], axis=1)
    if only.any():
        # In the wider dtype: a box rounded to a narrower one might not contain its sphere.
        boxes = boxes.astype(np.result_type(boxes, around))
        boxes[only] = around[only]
    return boxes, (centers, radii)
