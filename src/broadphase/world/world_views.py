"""Questions for those who have a few things: what is under the mouse, what is in view; and drawing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.index.regions import regions_of_planes, regions_of_views
from broadphase.index.results import QueryResult
from broadphase.workers import worker_count
from broadphase.world.actor import RENDER
from broadphase.world.records import Hit, cell_of
from broadphase.world.viewing import Visible, eye_of, levels_of
from broadphase.world.world_rays import WorldRays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from broadphase.world.actor import Actor

__all__ = ["WorldViews"]


class WorldViews(WorldRays):
    """Picking, looking and drawing; see `broadphase.World` for the whole."""

    def at(self, point: ArrayLike, *, layer: Any = None, mask: Any = None) -> list[Actor]:
        """Get the actors whose shapes hold a point, on their border too.

        Parameters
        ----------
        point : array_like, shape (d,)
            Finite.
        layer, mask
            As in `query`.

        Returns
        -------
        list of Actor
            In the order of rows.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> coin = world.add(bp.Circle(1), position=(3, 3))
        >>> world.at((3.5, 3.5)) == [coin], world.at((3.9, 3.9))
        (True, [])
        """
        rows = self.query_points(np.asarray(point, np.float64)[np.newaxis], layer=layer, mask=mask).rows
        return [self._actors.get(row) for row in rows.tolist()]

    def pick(
        self,
        origin: ArrayLike,
        direction: ArrayLike | None = None,
        *,
        max_distance: float = np.inf,
        layer: Any = None,
        mask: Any = None,
    ) -> Actor | None:
        """Get the first actor on a ray: what is under the mouse.

        Parameters
        ----------
        origin : array_like, shape (d,)
            Where the ray begins; or the whole ray, shape (2, d): origin and direction.
        direction : array_like, shape (d,)
            Where it goes, of any length.
        max_distance : float
            How far, in the unit of the world.
        layer, mask
            As in `query`.

        Returns
        -------
        Actor or None
            None where the ray hits nothing.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=3)
        >>> near = world.add(bp.Sphere(1), position=(0, 0, -5))
        >>> far = world.add(bp.Sphere(1), position=(0, 0, -9))
        >>> world.pick((0, 0, 0), (0, 0, -1)) == near, world.pick((0, 0, 0), (0, 1, 0))
        (True, None)
        """
        begin, along = _one_ray(origin, direction)
        row = int(self.raycast([begin], [along], max_distance, layer=layer, mask=mask).rows[0])
        return None if row < 0 else self._actors.get(row)

    def hits(
        self,
        origin: ArrayLike,
        direction: ArrayLike | None = None,
        *,
        max_distance: float = np.inf,
        layer: Any = None,
        mask: Any = None,
    ) -> list[Hit]:
        """Describe everything that a ray hits, in the order in which the ray enters it.

        Parameters
        ----------
        origin, direction, max_distance, layer, mask
            As in `pick`.

        Returns
        -------
        list of Hit
            Actor, distance, position, normal, ray, and the cell of the index, of each.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=2)
        >>> wall = world.add(bp.Rectangle(2, 9), position=(5, 0), kind="static")
        >>> hit = world.hits((0, 1), (3, 0))[0]
        >>> hit.actor == wall, hit.distance, hit.position, hit.normal
        (True, 4.0, array([4., 1.]), array([-1.,  0.]))
        """
        begin, along = _one_ray(origin, direction)
        bits = self._bits_of_questions(1, layer, mask)
        rays = self._rays([begin], [along], max_distance)
        with self._guard.reading:
            rows, _, distances, normals = self._sorted_hits(*rays, 1, bits)
        length = float(np.sqrt((rays[1][0] * rays[1][0]).sum()))
        ahead = rays[1][0] / (length if length > 0 else 1.0)
        return [
            Hit(self._actors.get(row), away, begin + ahead * away, normal + 0.0, (begin, along), cell_of(self, [row]))
            for row, away, normal in zip(rows.tolist(), distances.tolist(), normals, strict=True)
        ]

    def frustum(
        self,
        matrix: ArrayLike | None = None,
        *,
        planes: ArrayLike | None = None,
        depth: str = "minus_one_to_one",
        workers: int = 1,
        layer: Any = None,
        mask: Any = None,
    ) -> QueryResult:
        """Find the rows whose boxes a camera sees, or that meet what some planes enclose.

        It is the boxes around the shapes that are looked at, as by `BoxIndex.frustum`: no shape that is seen is missed,
        and one of which only a corner of its box is in view is among the answers.

        Parameters
        ----------
        matrix, planes, depth
            As in `BoxIndex.frustum`.
        workers, layer, mask
            As in `query`.

        Returns
        -------
        QueryResult
            As `query`, one question for each matrix.

        Raises
        ------
        ValueError, TypeError
            As `query`; both `matrix` and `planes`, or neither; a singular matrix.
        """
        if matrix is not None and planes is None:
            regions = regions_of_views(matrix, depth=depth)
        elif matrix is None and planes is not None:
            regions = regions_of_planes(planes)
        else:
            raise ValueError("frustum takes either a matrix or planes")
        count = len(regions.around_lower)
        bits = self._bits_of_questions(count, layer, mask)
        with self._guard.reading:
            found = self.index._find_regions(regions, worker_count(workers), None, None)
            lower, upper = self.shapes.boxes[:, 0], self.shapes.boxes[:, 1]
            # Those of the index may be larger.
            kept: Any = _native.keep_convex(found.rows, found.offsets, lower, upper, *regions, None, workers)
            found = QueryResult(*kept)
            return self._answers(found.rows, found.query_rows, bits, count)

    def visible(
        self,
        matrix: ArrayLike | None = None,
        *,
        planes: ArrayLike | None = None,
        depth: str = "minus_one_to_one",
        eye: ArrayLike | None = None,
        lod: Sequence[float] = (50.0, 200.0),
        layer: Any = None,
        mask: Any = None,
    ) -> Visible:
        """Find what a camera sees, and in how much detail each of it is to be drawn.

        Parameters
        ----------
        matrix : array_like, shape (4, 4); in 2D (3, 3)
            Projection times view; see `perspective`, `orthographic` and `look_at`.
        planes : array_like, shape (p, d + 1)
            Instead of `matrix`: rows ``n, c``, where inside is ``n . x + c >= 0``.
        depth : {"minus_one_to_one", "zero_to_one"}
            What the matrix makes of near and far.
        eye : array_like, shape (d,), optional
            Where distances are taken from. Unset: where the matrix of a perspective has it; other cameras have none.
        lod : sequence of float
            Distances at which the level of detail goes down; ascending.
        layer, mask
            As in `query`.

        Returns
        -------
        Visible
            ``rows``, ``levels``, ``distances``; and how many were ``drawn`` and ``culled``.

        Raises
        ------
        ValueError, TypeError
            As `frustum`; more than one matrix; distances that do not ascend.

        Examples
        --------
        >>> import broadphase as bp
        >>> world = bp.World(dim=3)
        >>> world.add_many(bp.Sphere(1), [[0, 0, -10], [0, 0, -100], [0, 0, -500], [0, 0, 9]])
        array([0, 1, 2, 3], dtype=int32)
        >>> camera = bp.perspective(1.0, 4 / 3, 0.1, 1000) @ bp.look_at([0, 0, 0], [0, 0, -1])
        >>> seen = world.visible(camera)
        >>> seen.rows, seen.levels, seen.culled
        (array([0, 1, 2], dtype=int32), array([0, 1, 2], dtype=int32), 1)
        """
        if np.ndim(matrix if matrix is not None else planes if planes is not None else ()) == 3:
            raise ValueError("visible takes one camera; frustum takes many")
        found = self.frustum(matrix, planes=planes, depth=depth, layer=layer, mask=mask)
        place: NDArray[np.float64] | None = None
        if eye is not None:
            place = np.asarray(eye, np.float64)
            if place.shape != (self.dim,) or not np.isfinite(place).all():
                raise ValueError(f"eye must be finite and have shape ({self.dim},), not {place.tolist()}")
        elif matrix is not None:
            place = eye_of(np.asarray(matrix, np.float64))
        levels, distances = levels_of(self.shapes.boxes[found.rows], place, lod)
        return Visible(found.rows, levels, distances, len(self) - len(found.rows))

    def render(self, context: Any = None, rows: ArrayLike | Visible | None = None) -> int:
        """Have actors draw themselves: call ``actor.render(context)`` of those whose class overrides it.

        Parameters
        ----------
        context : object
            What they draw on.
        rows : array_like of int, or Visible, optional
            Which are to be drawn. Unset: all.

        Returns
        -------
        int
            How many were called, in the order of rows. If one raises, the others are not called.

        Examples
        --------
        >>> import broadphase as bp
        >>> class Letter(bp.Actor):
        ...     def render(self, page):
        ...         page.append(self.data)
        >>> world = bp.World(dim=2)
        >>> for place, letter in enumerate("abc"):
        ...     actor = world.add(bp.Point(), position=(place, 0), data=letter, actor=Letter)
        >>> page = []
        >>> world.render(page, rows=world.query([[0.5, 0, 9, 0]]).rows), page
        (2, ['b', 'c'])
        """
        drawing = self._actors.with_hook(RENDER)
        if rows is not None:
            wanted = set(np.asarray(rows.rows if isinstance(rows, Visible) else rows).ravel().tolist())
            drawing = [actor for actor in drawing if actor.row in wanted]
        drawn = 0
        for actor in drawing:
            if actor.alive:  # one that was drawn before may have removed it
                actor.render(context)
                drawn += 1
        return drawn


def _one_ray(origin: ArrayLike, direction: ArrayLike | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ray = np.asarray(origin, np.float64)
    if direction is not None:
        return ray, np.asarray(direction, np.float64)
    if ray.ndim != 2 or len(ray) != 2:
        raise ValueError(f"a ray is an origin and a direction, or one array of shape (2, d), not {ray.shape}")
    return ray[0], ray[1]
