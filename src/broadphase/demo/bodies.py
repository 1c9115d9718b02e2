"""The things of the demo on the page: instances of a few meshes, or points where there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo import meshes
from broadphase.demo.colours import linear
from broadphase.demo.stage import BALL, BOX, CAPSULE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from broadphase.demo.stage import Stage

    Rows = NDArray[np.int32]

__all__ = ["Things"]

MOST_INSTANCES = 20_000
"""So many are drawn as solids; more as points. The browser needs about 10 ms for each 10 000 solids."""
_DEPTH = 0.02  # of flat things, in lengths of the picture
_FLAT_LIFTS = 64  # heights that flat things lie in, so that those that overlap do not flicker


class Things:
    """What is drawn of the rows of a stage.

    Parameters
    ----------
    scene : viser.SceneApi
        Where to draw.
    stage : Stage
        What to draw.

    Attributes
    ----------
    as_points : bool
        Whether there are too many for solids.
    """

    def __init__(self, scene: Any, stage: Stage) -> None:
        self._scene, self._stage = scene, stage
        self._handles: dict[str, Any] = {}
        self._rows = np.empty(0, np.int32)
        self._groups: dict[str, Any] = {}  # which of the rows each handle draws
        self._heights: NDArray[np.float32] | None = None
        self._turns = False
        self._renewals = -1
        self.as_points = len(stage.world) > MOST_INSTANCES and stage.mesh is None

    def draw(self, rows: Rows, colours: NDArray[np.uint8], levels: NDArray[np.int32] | None = None) -> None:
        """Draw rows, and nothing else.

        Parameters
        ----------
        rows : ndarray, shape (k,), int32
        colours : ndarray, shape (k, 3), uint8
        levels : ndarray, shape (k,), int32, optional
            In how little detail; unset, in full.
        """
        places = self._stage.places(rows)
        if self.as_points:
            self._draw_points(rows, places, colours)
            return
        light = linear(colours)
        is_known = self._renewals == self._stage.renewals and np.array_equal(rows, self._rows)
        if levels is not None or not is_known:
            self._draw_anew(rows, places, light, levels)
            return
        if self._heights is not None:
            places[:, 2] = self._heights
        turns = self._stage.turns(rows) if self._turns else None
        for name, chosen in self._groups.items():
            handle = self._handles[name]
            handle.batched_positions = places[chosen]
            handle.batched_colors = light[chosen]
            if turns is not None:
                handle.batched_wxyzs = turns[chosen]

    def remove(self) -> None:
        """Take everything off the page."""
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()
        self._groups.clear()
        self._rows = np.empty(0, np.int32)

    def _draw_points(self, rows: Rows, places: NDArray[np.float32], colours: NDArray[np.uint8]) -> None:
        handle = self._handles.get("points")
        if handle is None or len(handle.points) != len(rows):
            size = float(np.median(self._stage.sizes(rows).max(axis=1)))
            self._handles["points"] = self._scene.add_point_cloud(
                "/things/points", places, colours, point_size=0.7 * size, precision="float32", point_shading="flat"
            )
            return
        handle.points, handle.colors = places, colours

    def _draw_anew(
        self, rows: Rows, places: NDArray[np.float32], colours: NDArray[np.uint8], levels: NDArray[np.int32] | None
    ) -> None:
        """Draw rows that are not those that were drawn last, or not in the same detail."""
        stage = self._stage
        sizes, forms, turns = stage.sizes(rows), stage.forms(rows), stage.turns(rows)
        if stage.dimension == 2:
            sizes[:, 2] = _DEPTH
            is_still = stage.world.kinds[rows] == 1
            self._heights = np.float32(_DEPTH) * ((rows % _FLAT_LIFTS) / _FLAT_LIFTS - 2 * is_still).astype(np.float32)
            places[:, 2] = self._heights
        self._turns = bool(stage.world.spins.any())
        self._rows, self._groups, self._renewals = rows.copy(), {}, stage.renewals
        for name, look, chosen in _sorted_by_look(stage.dimension, forms, levels):
            handle = self._handles.get(name)
            if not chosen.any():
                if handle is not None:
                    handle.visible = False
                continue
            group: Any = slice(None) if chosen.all() else np.flatnonzero(chosen)
            self._groups[name] = group
            if handle is None:
                self._handles[name] = self._scene.add_batched_meshes_simple(
                    f"/things/{name}",
                    *look(),
                    turns[group],
                    places[group],
                    batched_scales=sizes[group],
                    batched_colors=colours[group],
                    lod="off",
                    cast_shadow=False,
                    receive_shadow=False,
                )
                continue
            handle.visible = True
            handle.batched_positions = places[group]
            handle.batched_wxyzs = turns[group]
            handle.batched_scales = sizes[group]
            handle.batched_colors = colours[group]


def _sorted_by_look(
    dimension: int, forms: NDArray[np.uint8], levels: NDArray[np.int32] | None
) -> Iterator[tuple[str, Any, NDArray[np.bool_]]]:
    """Give for each mesh its name, what makes it, and which things look like it."""
    for form, looks in _looks(dimension).items():
        is_form = forms == form
        for level, look in enumerate(looks):
            if levels is None:
                chosen = is_form if level == 0 else np.zeros(len(forms), np.bool_)
            else:
                chosen = is_form & (np.minimum(levels, len(looks) - 1) == level)
            yield f"{form}_{level}", look, chosen


def _looks(dimension: int) -> dict[int, tuple[Any, ...]]:
    """Give the meshes of each form, the finest first."""
    if dimension == 2:
        return {BOX: (meshes.tile,), BALL: (meshes.disc,), CAPSULE: (meshes.tile,)}
    return {
        BOX: (meshes.box,),
        BALL: (lambda: meshes.ball(2), lambda: meshes.ball(1), lambda: meshes.ball(0)),
        CAPSULE: (meshes.capsule, lambda: meshes.capsule(0.3, 6), meshes.box),
    }
