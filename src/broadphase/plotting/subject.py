"""One view of everything that can be plotted: boxes, an index, shapes or a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.arguments import as_array, as_reals
from broadphase.plotting.pieces import STATIC, Pieces, pieces_of, pieces_of_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Pairs = NDArray[np.int32]

__all__ = ["Axis", "Rays", "Subject"]

_LARGEST = 1e100  # coordinates beyond are endless in a picture: volumes of boxes would overflow


class Rays:
    """Rays: where each starts and ends, and whether it hits something."""

    def __init__(self, origins: Floats, directions: Floats, distances: Floats, reach: Floats) -> None:
        length = np.linalg.norm(directions, axis=1, keepdims=True)
        ahead = directions / np.where(length > 0, length, 1.0)
        self.origins = origins
        self.hits = np.isfinite(distances)
        self.ends = origins + ahead * np.where(self.hits, distances, reach)[:, np.newaxis]


class Axis:
    """The line along which a sweep in the plane has sorted boxes, below the picture or at its left.

    `begins` and `closes`, (n, 2), are where boxes begin and end along it; `voids`, (k, 2, 2), the gaps that no box
    covers; `ends`, (2, 2), its own; and `across`, (2,), points from it to the picture, as long as a mark.
    """

    def __init__(self, sweep: bp.SweepAndPrune, extent: Floats) -> None:
        along = sweep.direction * np.where(sweep.direction.sum() < 0, -1.0, 1.0)
        sign = 1.0 if (along == sweep.direction).all() else -1.0
        normal = np.array([-along[1], along[0]]) if along[0] >= along[1] else np.array([along[1], -along[0]])
        corners = np.array([[x, y] for x in extent[:, 0] for y in extent[:, 1]])
        mark = 0.018 * float((extent[1] - extent[0]).max()) or 0.02
        level = float((corners @ normal).min()) - 3 * mark
        found = sweep.delimiters()
        is_drawn = np.abs(found.values) <= _LARGEST
        voids = np.asarray(sweep.void_borders, np.float64).reshape(-1, 2)

        def places(values: Floats) -> Floats:
            return sign * values[..., np.newaxis] * along + level * normal

        self.across = mark * normal
        self.begins = places(found.values[is_drawn & found.is_begin])
        self.closes = places(found.values[is_drawn & ~found.is_begin])
        self.voids = places(voids[(np.abs(voids) <= _LARGEST).all(axis=1)])
        self.ends = places(sign * np.array([(corners @ along).min(), (corners @ along).max()]))


class Subject:
    """What is plotted.

    `rows` are those that are plotted. `boxes`, (slots, 2, d), `shown` and `is_static` are by row; the last marks static
    bodies of a world. `shown` are the boxes as they are drawn: infinite and very large ones end beyond the picture.
    """

    def __init__(self, what: Any) -> None:
        self.what = what
        self._shapes: bp.Shapes | None = None
        if isinstance(what, bp.World | bp.Shapes):
            self._shapes = what.shapes if isinstance(what, bp.World) else what
            self.rows = self._shapes.living_rows()
            self.boxes = np.asarray(self._shapes.boxes, np.float64)
        elif isinstance(what, bp.index.BoxIndex):
            self.rows = what.rows
            self.boxes = np.full((int(self.rows.max(initial=-1)) + 1, 2, what.dim), np.nan)
            self.boxes[self.rows] = what.boxes_of(self.rows)
        else:
            corners = bp.boxes.as_corners(what)
            bad, reasons = bp.boxes.find_invalid(corners, limit=1)
            if len(bad):
                raise bp.errors.InvalidBoxError(reasons[0], int(bad[0]))
            self.boxes = np.stack([np.asarray(corner, np.float64) for corner in corners], axis=1)
            self.rows = np.arange(len(self.boxes), dtype=np.int32)
        self.dim = int(self.boxes.shape[2])
        if self.dim not in (2, 3):
            raise ValueError(f"cannot plot {self.dim}-dimensional boxes: plots have 2 or 3 axes")
        lower, upper = self.extent()
        room = float((upper - lower).max()) or 1.0  # more than the margin of the picture
        self.shown: Floats = np.clip(self.boxes, lower - room, upper + room)
        self.is_static = np.zeros(len(self.boxes), np.bool_)
        if isinstance(what, bp.World):
            self.is_static = what.body_types == STATIC

    def pieces(self) -> Pieces:
        """Return the pieces of all rows, in world coordinates."""
        if self._shapes is None:
            return pieces_of_boxes(self.shown[self.rows])._replace(rows=self.rows)
        return pieces_of(self._shapes).placed(self._shapes.positions, self._shapes.rotations).spread(self.extent())

    def centers(self) -> Floats:
        """Return the centers of the boxes, by row; of infinite ones, of the part in the picture."""
        centers: Floats = np.clip(self.boxes, *self.extent()).mean(axis=1)
        return centers

    def extent(self) -> Floats:
        """Return lower and upper corner of all boxes and the bounds of a world, shape (2, d).

        Coordinates that are infinite or very large do not count; on an axis without others, the picture is from 0 to 1.
        """
        boxes = self.boxes[self.rows]
        bounds = self.what.bounds if isinstance(self.what, bp.World) else None
        if bounds is not None:
            boxes = np.concatenate([boxes, np.asarray(bounds)[np.newaxis]])
        places = boxes.reshape(-1, self.dim)
        is_near = np.abs(places) <= _LARGEST
        lower = np.where(is_near, places, np.inf).min(axis=0, initial=np.inf)
        upper = np.where(is_near, places, -np.inf).max(axis=0, initial=-np.inf)
        is_known = lower <= upper
        return np.stack([np.where(is_known, lower, 0.0), np.where(is_known, upper, 1.0)])

    def pairs(self, wanted: Any) -> Pairs:
        """Return the pairs to show: the given ones, or all that overlap or touch."""
        if isinstance(wanted, bool) or wanted is None:
            return np.empty((0, 2), np.int32) if wanted is False else self._own_pairs()
        given = as_array(wanted, "pairs")
        if given.shape == (0,):
            return np.empty((0, 2), np.int32)
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
            wrong = f"{given.dtype} of shape {given.shape}"
            raise ValueError(f"pairs must be True, False or integers of shape (m, 2), not {wrong}")
        missing = np.setdiff1d(given, self.rows)
        if len(missing):
            raise ValueError(f"pairs: row {missing[0]} does not exist")
        return given.astype(np.int32)

    def _own_pairs(self) -> Pairs:
        if isinstance(self.what, bp.World):
            return self.what.pairs
        if isinstance(self.what, bp.index.BoxIndex):
            return self.what.pairs()
        return bp.pairs(self.boxes) if self._shapes is None else bp.overlaps(self._shapes)

    def contacts(self, wanted: Any) -> bp.narrow.Contacts:
        """Return the contacts to show."""
        if not isinstance(wanted, bool):
            if not isinstance(wanted, bp.narrow.Contacts):
                raise TypeError(f"contacts must be True, False or Contacts, not a {type(wanted).__name__}")
            return wanted
        if isinstance(self.what, bp.World):
            if self.what.frame is not None:
                try:
                    return self.what.frame.contacts
                except RuntimeError:  # they have expired
                    pass
            pairs = self.what.pairs
            pairs = pairs[~self.what.sensors[pairs].any(axis=1)]
            return bp.contacts(self.what.shapes, pairs=pairs)
        if self._shapes is None:
            raise TypeError("boxes have no contacts: plot a World or Shapes, or pass Contacts")
        return bp.contacts(self._shapes)

    def outline(self) -> bp.index.Outline:
        """Return the cells or nodes of the index."""
        if isinstance(self.what, bp.World | bp.index.BoxIndex):
            return self.what.outline()
        raise TypeError("boxes have no cells: plot an index or a world, such as bp.BVH(boxes)")

    def index(self) -> bp.index.BoxIndex | None:
        """Return the index that is plotted; None for a world, for shapes and boxes."""
        return self.what if isinstance(self.what, bp.index.BoxIndex) else None

    def cast(self, given: Any) -> Rays:
        """Cast rays, and find where they end."""
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise TypeError("rays must be (origins, directions), or (origins, directions, max_distance)")
        shape = (-1, self.dim)
        origins, directions = (as_reals(part, "rays").reshape(shape) for part in given[:2])
        limit = np.broadcast_to(as_reals(given[2] if len(given) == 3 else np.inf, "rays"), (len(origins),))
        distances = self._distances(origins, directions, limit)
        lower, upper = self.extent()
        across = float(np.linalg.norm(upper - lower)) or 1.0
        return Rays(origins, directions, distances, np.minimum(limit, across))

    def _distances(self, origins: Floats, directions: Floats, limit: Floats) -> Floats:
        hits: bp.index.RayHits
        if isinstance(self.what, bp.World):
            hits = self.what.raycast(origins, directions, limit)
            return hits.distances
        index = bp.Index(self.boxes[self.rows])
        if self._shapes is None:
            hits = index.raycast(origins, directions, limit)
            return hits.distances
        candidates = index.raycast_all(origins, directions, limit)
        rows, rays = candidates.rows, candidates.query_rows
        along = origins[rays], directions[rays]
        found = bp.raycast(self._shapes, *along, rows=self.rows[rows], max_distance=limit[rays])
        nearest = np.full(len(origins), np.inf)
        np.minimum.at(nearest, rays, found.distances)
        return nearest
