"""A world with what is needed to step it and to draw its bodies: their forms, sizes and positions in the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import broadphase as bp
from broadphase.shapes.registry import TYPES
from broadphase.shapes.turning import as_matrices

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from broadphase.demo.meshes import Triangles
    from broadphase.scenes import Run

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["BALL", "BOX", "CAPSULE", "FLAT_DEPTH", "HIDDEN", "Stage"]

BOX, BALL, CAPSULE, HIDDEN = range(4)
_SOLIDS = {"box": BOX, "ball": BALL, "capsule": CAPSULE}
_FORMS = {row.shape_class: _SOLIDS[row.solid] for row in TYPES}
VIEW_SIZE = 10.0
"""Length of the longest side of a world, in units of the picture."""
FLAT_DEPTH = 0.02
"""Thickness of the bodies of 2D worlds, in units of the picture."""
_FLAT_LIFTS = 64  # flat bodies lie at so many different heights: overlapping ones would flicker at the same height


class Stage:
    """A world, with what is needed to step it and to draw it.

    `bounds`, (2, d), is the region to show, `dt` the simulated seconds of one step at speed 1. A `run` steps the world
    and applies the rules of its scene file; without one, only the world is stepped. The triangles of `mesh` are the
    first rows of the world, and are drawn as a whole. `steer` is called before each step with its simulated seconds,
    and may set velocities.
    """

    def __init__(
        self,
        world: bp.World,
        bounds: Any,
        dt: float,
        *,
        run: Run | None = None,
        mesh: Triangles | None = None,
        steer: Callable[[float], None] | None = None,
    ) -> None:
        self.world, self.dt, self.mesh = world, dt, mesh
        self._run, self._steer = run, steer
        corners = np.zeros((2, 3))
        corners[:, : world.dim] = bounds
        self.middle: Floats = corners.mean(axis=0)  # of the picture
        self.extent: Floats = corners[1] - corners[0]
        self.bounds: Floats = corners[:, : world.dim]
        self.scale = VIEW_SIZE / float(self.extent.max())  # units of the picture per unit of the world
        self.renewals = 0  # how often rows were reused by other bodies
        self._known = np.empty(0, np.int64)
        self._forms = np.empty(0, np.uint8)
        self._sizes = np.empty((0, 3), np.float32)
        self._offsets = np.empty((0, 3), np.float32)
        self._aligned = np.empty(0, np.bool_)

    @property
    def dim(self) -> int:
        """2 or 3."""
        return self.world.dim

    def step(self, speed: float) -> bp.world.Frame:
        """Step the world by `speed` times the usual time."""
        if self._steer is not None:
            self._steer(self.dt * speed)
        if self._run is None:
            return self.world.step(self.dt * speed)
        if self._run.scene.dt != self.dt * speed:
            self._run.scene = self._run.scene.changed(dt=self.dt * speed)
        return self._run.step()

    def forms(self, rows: Rows) -> NDArray[np.uint8]:
        """Return the form of each row, shape (k,): `BOX`, `BALL`, `CAPSULE` or `HIDDEN`."""
        self._learn(rows)
        return self._forms[rows]

    def sizes(self, rows: Rows) -> NDArray[np.float32]:
        """Return the sizes of rows along their own axes in units of the picture, shape (k, 3); the third is 0 in 2D."""
        self._learn(rows)
        return self._sizes[rows] * np.float32(self.scale)

    def positions(self, rows: Rows) -> NDArray[np.float32]:
        """Return the centers of rows in the picture, shape (k, 3)."""
        self._learn(rows)
        d = self.dim
        positions = self.world.positions
        everything = len(rows) == len(positions)  # saves a copy
        places = self._offsets.copy() if everything else self._offsets[rows]
        if self._offsets.any():
            turns = as_matrices(self.world.rotations if everything else self.world.rotations[rows], d)
            places[:, :d] = (turns @ places[:, :d, np.newaxis])[:, :, 0]
        places[:, :d] += (positions if everything else positions[rows]) - self.middle[:d]
        places *= np.float32(self.scale)
        return places

    def heights(self, rows: Rows) -> NDArray[np.float32]:
        """Return the heights at which rows of a 2D world are drawn, shape (k,): higher ones cover lower ones."""
        is_static = self.world.body_types[rows] == 1
        heights: NDArray[np.float32] = (
            np.float32(FLAT_DEPTH) * ((rows % _FLAT_LIFTS) / _FLAT_LIFTS - 2 * is_static)
        ).astype(np.float32)
        return heights

    def label_place(self, row: int) -> NDArray[np.float32]:
        """Return the point in the picture just above a row, shape (3,), where its name does not cover it."""
        rows = np.array([row], np.int32)
        size = self.sizes(rows)[0]
        reach = size[1] if self._aligned[row] else float(np.linalg.norm(size))  # of any rotation
        place: NDArray[np.float32] = self.positions(rows)[0] + np.array([0, 0.5 * reach, 0], np.float32)
        return place

    def rotations(self, rows: Rows) -> NDArray[np.float32]:
        """Return the rotations of rows as quaternions (w, x, y, z), shape (k, 4)."""
        self._learn(rows)
        quaternions = np.zeros((len(rows), 4), np.float32)
        rotations = self.world.rotations[rows]
        if self.dim == 3:
            quaternions[:] = rotations
        else:
            quaternions[:, 0], quaternions[:, 3] = np.cos(rotations / 2), np.sin(rotations / 2)
        quaternions[self._aligned[rows]] = [1, 0, 0, 0]
        return quaternions

    def to_view(self, points: Any) -> NDArray[np.float32]:
        """Transform points of the world (..., d) to the picture (..., 3)."""
        given = np.asarray(points, np.float64)
        placed = np.zeros((*given.shape[:-1], 3), np.float32)
        d = self.dim
        placed[..., :d] = (given - self.middle[:d]) * self.scale
        return placed

    def to_world(self, points: Any) -> Floats:
        """Transform points of the picture (..., 3) to the world; those of a 2D world keep their third coordinate."""
        return np.asarray(points, np.float64) / self.scale + self.middle

    def view_matrix(self) -> Floats:
        """Return the matrix (4, 4) from the world to the picture."""
        matrix = np.diag([self.scale, self.scale, self.scale, 1.0])
        matrix[:3, 3] = -self.middle * self.scale
        return matrix

    def name(self, row: int) -> str:
        """Return a name of a row: its layer and its number."""
        layer = self.world.actor(row).layer
        return f"{layer if isinstance(layer, str) and layer != 'default' else 'body'} {row}"

    def _learn(self, rows: Rows) -> None:
        """Learn the forms of rows that were added since the last call."""
        if self._run is None and len(self._known) == self.world.slots:
            return  # only the rules of a scene remove and reuse rows
        missing = self.world.slots - len(self._known)
        if missing > 0:
            self._known = np.concatenate([self._known, np.full(missing, -1, np.int64)])
            self._forms = np.concatenate([self._forms, np.full(missing, HIDDEN, np.uint8)])
            self._sizes = np.concatenate([self._sizes, np.zeros((missing, 3), np.float32)])
            self._offsets = np.concatenate([self._offsets, np.zeros((missing, 3), np.float32)])
            self._aligned = np.concatenate([self._aligned, np.zeros(missing, np.bool_)])
        handles = self.world.handles(rows)
        fresh = self._known[rows] != handles
        if not fresh.any():
            return
        self._known[rows] = handles
        self.renewals += 1
        fresh_rows = rows[fresh]
        if self.mesh is not None:  # drawn as a whole
            fresh_rows = fresh_rows[fresh_rows >= len(self.mesh.faces)]
        for layer in np.unique(self.world.layers[fresh_rows]):
            self._learn_alike(fresh_rows[self.world.layers[fresh_rows] == layer])

    def _learn_alike(self, rows: Rows) -> None:
        """Learn the forms of rows of one layer, which are assumed to have the same type of shape."""
        shapes, d = self.world.shapes, self.dim
        first = shapes[int(rows[0])]
        self._forms[rows] = _FORMS.get(type(first), BOX)
        self._aligned[rows] = isinstance(first, bp.AABB)
        rotations = self.world.rotations[rows]
        is_rotated = (rotations != ([1, 0, 0, 0] if d == 3 else 0)).reshape(len(rows), -1).any(axis=1)
        around = self.world.boxes[rows]
        for at in np.flatnonzero(is_rotated).tolist():
            around[at] = bp.Shapes(shapes[int(rows[at])], np.zeros((1, d))).boxes[0]
        self._end(rows, around, is_rotated)
        self._sizes[rows, :d] = around[:, 1] - around[:, 0]
        middles = around.mean(axis=1)
        middles[~is_rotated] -= self.world.positions[rows[~is_rotated]]
        self._offsets[rows, :d] = np.where(np.abs(middles) > 1e-6 * self._sizes[rows, :d], middles, 0.0)

    def _end(self, rows: Rows, around: Floats, is_rotated: NDArray[np.bool_]) -> None:
        """Let the boxes of half spaces, which have no end, end a little outside of the picture."""
        is_endless = np.isinf(around).any(axis=(1, 2))
        if not is_endless.any():
            return
        self._forms[rows[np.isinf(around).all(axis=(1, 2))]] = HIDDEN  # no box has its slope
        spare = 0.01 * float(self.extent.max())
        lower, upper = self.bounds[0] - spare, self.bounds[1] + spare
        half = np.full(self.dim, np.linalg.norm(upper - lower) / 2)
        around[is_endless & ~is_rotated] = np.clip(around[is_endless & ~is_rotated], lower, upper)
        around[is_endless & is_rotated] = np.clip(around[is_endless & is_rotated], -half, half)
