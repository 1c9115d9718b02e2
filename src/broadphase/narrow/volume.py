"""Volumes that pairs of solids have in common, by the library manifold3d."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.extras import import_extra
from broadphase.progress import searching
from broadphase.shapes import Box, ConvexHull, HeightField, Mesh
from broadphase.shapes.turning import as_matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.narrow.clearance import Clearances, Solids
    from broadphase.progress import Told

    Floats = NDArray[np.float64]

__all__ = ["common_volumes", "load_library"]


def load_library() -> Any:
    """Import manifold3d, or say how to install it."""
    return import_extra("manifold3d", purpose="volume=True", extra="volume")


def common_volumes(first: Solids, second: Solids, found: Clearances, told: Told) -> Floats:
    """Return the volume that each pair has in common: 0 of those apart, NaN where one has none that is known.

    The solids of a pair are placed relative to the first, so that those far from the origin lose no digits.
    """
    library = load_library()
    volumes = np.where(found.are_solid.all(axis=1), 0.0, np.nan)
    rows = np.flatnonzero((found.gaps == 0) & found.are_solid.all(axis=1))
    makers = [_Maker(library, one) for one in (first, second)]
    if not len(rows):
        return volumes
    with searching(told, "volumes", len(rows)):
        for row in rows.tolist():
            one, two = found.pairs[row].tolist()
            origin = first.shapes.positions[one]
            solids = [maker.solid(part, origin) for maker, part in zip(makers, (one, two), strict=True)]
            volumes[row] = np.nan if None in solids else max(float((solids[0] ^ solids[1]).volume()), 0.0)
    return volumes


class _Maker:
    """Makes solids of the library of one set of parts; those of a mesh or hull once, whatever the number of copies."""

    def __init__(self, library: Any, solids: Solids) -> None:
        self._library = library
        self._shapes = solids.shapes
        self._turns = None if solids.shapes.rotations is None else as_matrices(solids.shapes.rotations, 3)
        self._known: dict[int, Any] = {}  # by the identity of what the shapes keep

    def solid(self, row: int, origin: Floats) -> Any:
        """Return the solid of a part, placed relative to an origin; None if it is not bounded by flat faces."""
        shape = self._shapes[row]
        if isinstance(shape, Box):
            numbers = self._shapes.records([row]).numbers
            own = self._library.Manifold.cube(2 * numbers[3:6], True)
            offset, turn = numbers[:3], numbers[6:15].reshape(3, 3)
        elif isinstance(shape, Mesh | ConvexHull | HeightField):
            numbers = self._shapes.records([row]).numbers
            offset, turn = numbers[1:4], numbers[4:13].reshape(3, 3)
            key = id(shape.source)
            if key not in self._known:
                self._known[key] = self._of_geometry(shape)
            own = self._known[key]
        else:
            return None
        if own is None:
            return None
        place = self._shapes.positions[row] - origin
        if self._turns is not None:
            turn, offset = self._turns[row] @ turn, self._turns[row] @ offset
        return own.transform(np.ascontiguousarray(np.column_stack([turn, offset + place])))

    def _of_geometry(self, shape: Mesh | ConvexHull | HeightField) -> Any:
        if isinstance(shape, HeightField):
            return self._of_field(shape)
        if isinstance(shape, ConvexHull):
            return self._library.Manifold.hull_points(np.ascontiguousarray(shape.vertices))
        vertices, same = np.unique(shape.vertices, axis=0, return_inverse=True)
        faces = same.reshape(-1)[shape.faces]
        corners = np.sort(faces, axis=1)
        faces = faces[(corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2])]
        found = self._closed(vertices, faces)
        if found is not None and found.volume() < 0:  # all faces are oriented inwards
            found = self._closed(vertices, faces[:, ::-1])
        return found if found is None or self._has_holes_within(found) else None

    def _of_field(self, field: HeightField) -> Any:
        """Close the surface of a field by its walls and its bottom, which has the same triangles."""
        above, faces = field.vertices, field.faces
        below = above * [1.0, 1.0, 0.0] + [0.0, 0.0, field.bottom]
        count = len(above)
        grid = np.arange(count).reshape(field.heights.shape)
        border = np.concatenate([grid[0, :-1], grid[:-1, -1], grid[-1, :0:-1], grid[:0:-1, 0]])
        following = np.roll(border, -1)
        walls = np.stack([border + count, following + count, following, border + count, following, border], axis=1)
        return self._closed(
            np.concatenate([above, below]), np.concatenate([faces, faces[:, ::-1] + count, walls.reshape(-1, 3)])
        )

    def _has_holes_within(self, solid: Any) -> bool:
        """Return True if the shells of a solid that face outwards are apart, and the others are holes in them.

        Otherwise the library counts space as inside, or twice, that is outside for the other answers about meshes.
        """
        shells = solid.decompose()
        if len(shells) < 2:
            return True
        outer = [shell for shell in shells if shell.volume() >= 0]
        holes = [self._turned_over(shell) for shell in shells if shell.volume() < 0]
        whole, hollow = (self._library.Manifold.batch_boolean(one, self._library.OpType.Add) for one in (outer, holes))
        total, gone = (sum(shell.volume() for shell in one) for one in (outer, holes))
        expected = (whole.volume(), total), (hollow.volume(), gone), ((whole ^ hollow).volume(), gone)
        return all(abs(found - wanted) <= 1e-9 * total for found, wanted in expected)

    def _turned_over(self, shell: Any) -> Any:
        mesh = shell.to_mesh64()
        return self._closed(mesh.vert_properties[:, :3], mesh.tri_verts[:, ::-1])

    def _closed(self, vertices: Floats, faces: NDArray[np.int64]) -> Any:
        mesh = self._library.Mesh64(np.array(vertices, order="C"), np.array(faces, np.uint64, order="C"))
        made = self._library.Manifold(mesh)
        return made if made.status() == self._library.Error.NoError else None
