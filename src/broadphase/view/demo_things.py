"""The things of the demo on the page: instances of a few meshes, or points where there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.view import demo_meshes
from broadphase.view.demo_colours import linear
from broadphase.view.stage import BALL, BOX, CAPSULE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.view.stage import Stage

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
    """

    def __init__(self, scene: Any, stage: Stage) -> None:
        self._scene, self._stage = scene, stage
        self._handles: dict[str, Any] = {}
        self.sent = 0

    @property
    def as_points(self) -> bool:
        """Whether there are too many for solids."""
        return len(self._stage.world) > MOST_INSTANCES and self._stage.mesh is None

    def draw(self, rows: Rows, colours: NDArray[np.uint8], levels: NDArray[np.int32] | None = None) -> None:
        """Draw rows, and nothing else.

        Parameters
        ----------
        rows : ndarray, shape (k,), int32
        colours : ndarray, shape (k, 3), uint8
        levels : ndarray, shape (k,), int32, optional
            In how little detail; unset, in full.
        """
        stage = self._stage
        places = stage.places(rows)
        if self.as_points:
            self._draw_points(rows, places, colours)
            return
        colours = linear(colours)
        sizes, forms = stage.sizes(rows), stage.forms(rows)
        if stage.dimension == 2:
            sizes[:, 2] = _DEPTH
            places[:, 2] = (rows % _FLAT_LIFTS) * (_DEPTH / _FLAT_LIFTS) - (stage.world.kinds[rows] == 1) * 2 * _DEPTH
        turns = stage.turns(rows)
        detail = np.zeros(len(rows), np.int32) if levels is None else np.minimum(levels, 2)
        for form, looks in _looks(stage.dimension).items():
            is_form = forms == form
            for level, look in enumerate(looks):
                chosen = is_form if len(looks) == 1 else is_form & (detail == level)
                name = f"/things/{form}_{level}"
                if len(looks) == 1 and level:
                    break
                self._draw_solids(name, look, places[chosen], turns[chosen], sizes[chosen], colours[chosen])

    def remove(self) -> None:
        """Take everything off the page."""
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()

    def _draw_points(self, rows: Rows, places: NDArray[np.float32], colours: NDArray[np.uint8]) -> None:
        handle = self._handles.get("points")
        if handle is None or len(handle.points) != len(rows):
            size = float(np.median(self._stage.sizes(rows).max(axis=1)))
            self._handles["points"] = self._scene.add_point_cloud(
                "/things/points", places, colours, point_size=0.7 * size, precision="float32", point_shading="flat"
            )
            return
        handle.points, handle.colors = places, colours

    def _draw_solids(self, name: str, look: Any, places: Any, turns: Any, sizes: Any, colours: Any) -> None:
        handle = self._handles.get(name)
        if handle is None:
            if len(places):
                self._handles[name] = self._scene.add_batched_meshes_simple(
                    name,
                    *look(),
                    turns,
                    places,
                    batched_scales=sizes,
                    batched_colors=colours,
                    lod="off",
                    cast_shadow=False,
                    receive_shadow=False,
                )
            return
        if not len(places):
            handle.visible = False
            return
        handle.visible = True
        handle.batched_positions = places
        handle.batched_wxyzs = turns
        handle.batched_scales = sizes
        handle.batched_colors = colours


def _looks(dimension: int) -> dict[int, tuple[Any, ...]]:
    """Give the meshes of each form, the finest first."""
    if dimension == 2:
        return {BOX: (demo_meshes.tile,), BALL: (demo_meshes.disc,), CAPSULE: (demo_meshes.tile,)}
    return {
        BOX: (demo_meshes.box,),
        BALL: (lambda: demo_meshes.ball(2), lambda: demo_meshes.ball(1), lambda: demo_meshes.ball(0)),
        CAPSULE: (demo_meshes.capsule, lambda: demo_meshes.capsule(0.3, 6), demo_meshes.box),
    }
