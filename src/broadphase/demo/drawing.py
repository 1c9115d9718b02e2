"""What the demo draws into the scene of the page: the bodies, and overlays such as cells, contacts and the probe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo import meshes
from broadphase.demo.colours import APART, BACKGROUND, CONTACT, LEVELS, QUERIED, SELECTED, STATIC, TRACER, faded, linear
from broadphase.demo.stage import BALL, BOX, CAPSULE, FLAT_DEPTH
from broadphase.plotting.pieces import edges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    import broadphase as bp
    from broadphase.demo.examination import Sweep
    from broadphase.demo.stage import Stage

    Rows = NDArray[np.int32]

__all__ = ["Bodies", "Overlays", "cells_to_draw", "sweep_lines"]

MOST_INSTANCES = 20_000
"""Up to so many bodies are drawn as solids, more as points. Browsers need about 10 ms for each 10 000 solids."""
MOST_CELLS = 800
"""More cells are a fog: first those that bodies are in are drawn, then the coarsest."""
MOST_MARKS = 4000
"""Of where boxes begin on the line of a sweep."""
MOST_CONTACTS = 4000
_STRIDE = 379  # a prime: the bodies of a fan that follow each other are far apart
_LIFT = 0.06  # of overlays above flat bodies, in units of the picture
_NORMAL = 0.2  # length of the line that shows a normal, in units of the picture


class Drawn:
    """What is drawn of a stage, by name, below the node `root` of the scene of the page."""

    def __init__(self, scene: Any, stage: Stage, root: str) -> None:
        self._scene, self._stage, self._root = scene, stage, root
        self._handles: dict[str, Any] = {}

    def hide(self, *names: str) -> None:
        """Remove what has these names, if it is there."""
        for name in names:
            handle = self._handles.pop(name, None)
            if handle is not None:
                handle.remove()

    def remove(self) -> None:
        """Remove everything from the page."""
        self.hide(*self._handles)


class Bodies(Drawn):
    """The bodies of a stage on the page: instances of a few meshes, or a point cloud if there are too many.

    `on_drag` is called in a thread of viser when a body is dragged: with its row and the place that it is dragged to,
    or with None when it is let go.
    """

    def __init__(self, scene: Any, stage: Stage, root: str = "", on_drag: Callable[..., None] | None = None) -> None:
        super().__init__(scene, stage, root)
        self._on_drag = on_drag
        self._rows = np.empty(0, np.int32)
        self._groups: dict[str, Any] = {}  # by name of a handle: what makes its mesh, and which of the rows it draws
        self._heights: NDArray[np.float32] | None = None
        self._rotates = False
        self._renewals = -1
        self.as_points = len(stage.world) > MOST_INSTANCES and stage.mesh is None

    def draw(
        self,
        rows: Rows,
        colours: NDArray[np.uint8],
        levels: NDArray[np.int32] | None = None,
        raised: Rows | None = None,
    ) -> None:
        """Draw these rows and no others, in `colours`, (k, 3), and at levels of detail, of which 0 is the finest.

        `raised` are rows of a 2D world that cover all others, so that they are seen wherever they are clicked.
        """
        positions = self._stage.positions(rows)
        if self.as_points:
            self._draw_points(rows, positions, colours)
            return
        light = linear(colours)
        is_known = levels is None and self._renewals == self._stage.renewals and np.array_equal(rows, self._rows)
        if not is_known:
            self._group(rows, levels)
        self._lift(positions, raised)
        changes: dict[str, NDArray[Any]] = {"batched_positions": positions, "batched_colors": light}
        if self._rotates or not is_known:
            changes["batched_wxyzs"] = self._stage.rotations(rows)
        if not is_known:
            changes["batched_scales"] = sizes = self._stage.sizes(rows)
            if self._stage.dim == 2:
                sizes[:, 2] = FLAT_DEPTH
        for name, (make, chosen) in self._groups.items():
            handle, values = self._handles.get(name), {key: value[chosen] for key, value in changes.items()}
            if handle is None:
                handle = self._handles[name] = self._scene.add_batched_meshes_simple(
                    f"{self._root}/bodies/{name}", *make(), **values, lod="off"
                )
                if self._on_drag is not None:
                    handle.on_drag("left")(self._dragged_of(name, self._on_drag))
                continue
            handle.visible = True
            for key, value in values.items():
                setattr(handle, key, value)

    def _group(self, rows: Rows, levels: NDArray[np.int32] | None) -> None:
        """Choose the meshes of rows whose forms or levels of detail may differ from the last drawing."""
        stage = self._stage
        forms = stage.forms(rows)
        self._heights = stage.heights(rows) if stage.dim == 2 else None
        self._rotates = bool(stage.world.angular_velocities.any())
        self._rows, self._groups, self._renewals = rows.copy(), {}, stage.renewals
        for name, make, chosen in _grouped_by_mesh(stage.dim, forms, levels):
            if chosen.any():
                self._groups[name] = make, slice(None) if chosen.all() else np.flatnonzero(chosen)
            elif name in self._handles:
                self._handles[name].visible = False

    def _lift(self, positions: NDArray[np.float32], raised: Rows | None) -> None:
        if self._heights is None:
            return
        positions[:, 2] = self._heights
        if raised is not None:
            positions[np.isin(self._rows, raised), 2] = FLAT_DEPTH

    def remove(self) -> None:
        """Remove all bodies; drags of them that are on their way change nothing."""
        super().remove()
        self._groups.clear()

    def _dragged_of(self, name: str, do: Callable[..., None]) -> Any:
        async def dragged(event: Any) -> None:  # viser calls functions that are not async in any order
            number = event.instance_index
            rows = self._rows[self._groups[name][1]] if name in self._groups else self._rows[:0]
            if event.phase == "end" or number is None or number >= len(rows):
                do(None, None)
            else:
                do(int(rows[number]), event.end_position)

        return dragged

    def _draw_points(self, rows: Rows, positions: NDArray[np.float32], colours: NDArray[np.uint8]) -> None:
        handle = self._handles.get("points")
        if handle is None or len(handle.points) != len(rows):
            size = float(np.median(self._stage.sizes(rows).max(axis=1)))
            self._handles["points"] = self._scene.add_point_cloud(
                f"{self._root}/bodies/points",
                positions,
                colours,
                point_size=0.7 * size,
                precision="float32",
                point_shading="flat",
            )
            return
        handle.points, handle.colors = positions, colours


def _grouped_by_mesh(
    dim: int, forms: NDArray[np.uint8], levels: NDArray[np.int32] | None
) -> Iterator[tuple[str, Any, NDArray[np.bool_]]]:
    """Yield for each mesh its name, the function that makes it, and which bodies are drawn with it."""
    for form, makers in _meshes_of(dim).items():
        is_form = forms == form
        for level, make in enumerate(makers):
            if levels is None:
                chosen = is_form if level == 0 else np.zeros(len(forms), np.bool_)
            else:
                chosen = is_form & (np.minimum(levels, len(makers) - 1) == level)
            yield f"{form}_{level}", make, chosen


def _meshes_of(dim: int) -> dict[int, tuple[Any, ...]]:
    """Return the functions that make the meshes of each form, the finest first."""
    if dim == 2:
        return {BOX: (meshes.tile,), BALL: (meshes.disc,), CAPSULE: (meshes.tile,)}
    return {
        BOX: (meshes.box,),
        BALL: (lambda: meshes.ball(2), lambda: meshes.ball(1), lambda: meshes.ball(0)),
        CAPSULE: (meshes.capsule, lambda: meshes.capsule(0.3, 6), meshes.box),
    }


def sweep_lines(stage: Stage, sweep: Sweep) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the lines that show a sweep beside the scene, shape (m, 2, d), and their colours, shape (m, 3).

    A blue line where boxes are, a yellow mark at both ends of each void, and a grey one where each box begins.
    """
    direction, d = sweep.direction, stage.dim
    half = np.abs(stage.bounds[1] - stage.bounds[0]) / 2
    down = -np.eye(d)[1 if abs(direction[1]) < 0.9 else 0]
    down -= (down @ direction) * direction
    down /= np.linalg.norm(down)
    unit = 1 / stage.scale
    middle = stage.middle[:d] + (half @ np.abs(down) + 0.15 * unit) * down
    middle -= (middle @ direction) * direction  # numbers along the line count from the origin
    limits = [sweep.ends.min(), sweep.ends.max()] if len(sweep.ends) else []
    stops = np.sort(np.concatenate([limits, sweep.voids.ravel()]))
    begins = sweep.ends[:MOST_MARKS, 0]

    def marks(numbers: NDArray[np.float64], length: float) -> NDArray[np.float64]:
        places = middle + numbers[:, None] * direction
        return np.stack([places, places + length * unit * down], axis=1)

    covered = (middle + stops[:, None] * direction).reshape(-1, 2, d)
    parts = (marks(begins, 0.2), APART), (covered, QUERIED), (marks(sweep.voids.ravel(), 0.4), SELECTED)
    lines = np.concatenate([part for part, _ in parts])
    colours = np.concatenate([np.full((len(part), 3), colour, np.uint8) for part, colour in parts])
    return lines, colours


def cells_to_draw(
    boxes: NDArray[Any], levels: NDArray[np.int32], cells: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose the cells to draw, those that bodies are in first, and how strongly: more for deeper ones.

    Of `boxes`, (n, 2, d), empty ones, of cells outside the world, are not drawn; `cells`, (k,), is the cell of each
    body, -1 for none. Gives at most `MOST_CELLS` cells, the strongest last, so that they cover the others; and their
    strengths, from 0 to 1.
    """
    occupied = np.zeros(len(boxes), np.bool_)
    occupied[cells[cells >= 0]] = True
    kept = np.lexsort((levels, ~occupied))
    kept = kept[(boxes[kept, 1] > boxes[kept, 0]).all(axis=1)][:MOST_CELLS][::-1]
    depth = (1 + levels[kept]) / (1 + max(int(levels.max(initial=0)), 1))
    return kept, np.where(occupied[kept], 0.15 + 0.4 * depth, 0.1) * min(1.0, 18 / max(1, len(kept)) ** 0.5)


class Overlays(Drawn):
    """What is drawn over the bodies of a stage."""

    def __init__(self, scene: Any, stage: Stage, root: str = "") -> None:
        super().__init__(scene, stage, f"{root}/over")
        self._probe_size = 0.0
        self._lit: dict[str, NDArray[np.int32]] = {}
        self._lines("bounds", stage.to_view(edges_of(stage.bounds[None])), STATIC, 1.5)
        if stage.mesh is not None:
            vertices = stage.to_view(stage.mesh.vertices)
            self._add_mesh("mesh", vertices, stage.mesh.faces, color=STATIC, opacity=0.55, flat_shading=True)

    def draw_cells(self, outline: bp.index.Outline, cells: NDArray[np.int64]) -> None:
        """Draw cells where they are in the world, coloured by level: the deeper, the brighter, and empty ones faint.

        `cells`, (k,), is the cell of each body; -1 for none.
        """
        stage = self._stage
        boxes = np.clip(np.stack([outline.lower, outline.upper], axis=1), *stage.bounds)
        kept, strength = cells_to_draw(boxes, outline.level, cells)
        lines = stage.to_view(edges_of(boxes[kept]))
        if stage.dim == 2:
            lines[..., 2] = _LIFT
        colours = faded(np.array(LEVELS, np.uint8)[outline.level[kept] % len(LEVELS)], strength)
        self._lines("cells", lines, np.repeat(colours, len(lines) // max(1, len(kept)), axis=0)[:, None], 1.5)

    def draw_sweep(self, sweep: Sweep) -> None:
        """Draw the line along which boxes are sorted, below the scene: where each begins, and the voids."""
        lines, colours = sweep_lines(self._stage, sweep)
        self._lines("sweep", self._stage.to_view(lines), colours[:, None], 1.5)

    def draw_fan(self, rows: Rows, turn: int) -> None:
        """Draw lines from one body, another one each turn, to those that brute force compares it with."""
        places = self._stage.positions(rows)
        ends = places[:: max(1, len(rows) // MOST_CELLS)]
        lines = np.stack([np.broadcast_to(places[turn * _STRIDE % len(rows)], ends.shape), ends], axis=1)
        colours = faded(np.full((2 * len(ends), 3), QUERIED, np.uint8), np.tile([0.5, 0.15], len(ends)))
        self._lines("fan", lines, colours.reshape(-1, 2, 3), 1.0)

    def draw_tracers(self) -> None:
        """Draw how far the bodies with continuous collision detection, such as bullets, came in the last step."""
        stage, world = self._stage, self._stage.world
        rows = world.rows[world.ccd[world.rows]]
        if not len(rows):
            return self.hide("tracers")
        ends = stage.positions(rows)
        ways = np.zeros_like(ends)
        ways[:, : stage.dim] = world.velocities[rows] * (stage.dt * stage.scale)
        self._lines("tracers", np.stack([ends, ends - ways], axis=1), (TRACER, BACKGROUND), 2.5)

    def draw_contacts(self, contacts: bp.narrow.Contacts) -> None:
        """Draw contact points, and the normal at the first point of each pair."""
        count, stage = min(len(contacts.depths), MOST_CONTACTS), self._stage
        if not count:
            return self.hide("contact points", "normals")
        points = contacts.points[:count]
        present = ~np.isnan(points[:, :, 0])
        places = stage.to_view(points[present])
        first = stage.to_view(points[:, 0])
        ends = first.copy()
        ends[:, : stage.dim] += (_NORMAL * contacts.normals[:count]).astype(np.float32)
        lift = _LIFT if stage.dim == 2 else 0.0
        places[:, 2] += lift
        lines = np.stack([first, ends], axis=1)
        lines[..., 2] += lift
        self._lines("normals", lines, SELECTED, 2.0)
        self.hide("contact points")
        self._handles["contact points"] = self._scene.add_point_cloud(
            f"{self._root}/contacts", places, CONTACT, point_size=0.035, point_shape="circle", precision="float32"
        )

    def draw_probe(self, place: Any, size: float, is_ball: bool) -> None:
        """Draw the ball or box of the dragged query."""
        name = "query ball" if is_ball else "query box"
        self.hide("query box" if is_ball else "query ball")
        if name not in self._handles or self._probe_size != size:
            vertices, faces = meshes.ball(3) if is_ball else meshes.box()
            self._probe_size = size
            flat = np.array([1, 1, 0.05 if self._stage.dim == 2 else 1], np.float32)
            self._add_mesh(name, vertices * size * flat, faces, color=QUERIED, opacity=0.3)
        self._handles[name].position = tuple(float(one) for one in place)

    def draw_label(self, text: str, place: Any, name: str = "label") -> None:
        """Write a text above a point; see `Stage.label_place`."""
        handle = self._handles.get(name)
        where = tuple(float(one) for one in place)
        if handle is None:
            path = f"{self._root}/{name}"
            self._handles[name] = self._scene.add_label(
                path, text, position=where, anchor="bottom-center", font_screen_scale=0.8
            )
        else:
            handle.text, handle.position = text, where

    def draw_camera(self, camera: Any) -> None:
        """Draw the frustum of a camera of the page."""
        self.hide("camera")
        self._handles["camera"] = self._scene.add_camera_frustum(
            f"{self._root}/camera",
            fov=camera.fov,
            aspect=camera.aspect,
            scale=0.6,
            color=SELECTED,
            wxyz=camera.wxyz,
            position=camera.position,
        )

    def draw_triangles(self, name: str, rows: NDArray[np.int32], colour: tuple[int, int, int]) -> None:
        """Draw those of the rows that are triangles of the mesh in another colour."""
        mesh = self._stage.mesh
        if mesh is None:
            return
        faces = rows[rows < len(mesh.faces)]
        if np.array_equal(faces, self._lit.get(name, ())):
            return
        self._lit[name] = faces
        self.hide(name)
        if len(faces):
            corners = self._stage.to_view(mesh.vertices[mesh.faces[faces]].reshape(-1, 3))
            numbers = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
            self._add_mesh(name, corners, numbers, color=colour, flat_shading=True)

    def _add_mesh(self, name: str, vertices: NDArray[np.float32], faces: NDArray[np.uint32], **look: Any) -> None:
        self.hide(name)
        path = f"{self._root}/{name.replace(' ', '_')}"
        self._handles[name] = self._scene.add_mesh_simple(path, vertices, faces, side="double", **look)

    def _lines(self, name: str, lines: NDArray[np.float32], colours: Any, thickness: float) -> None:
        """Draw lines (n, 2, 3); colours are those of both ends, or of each line (n, 1, 3), or one."""
        colours = np.broadcast_to(linear(np.array(colours, np.uint8)), lines.shape).copy()
        handle = self._handles.get(name)
        if handle is None:
            self._handles[name] = self._scene.add_line_segments(
                f"{self._root}/{name}", lines, colours, thickness=thickness, thickness_units="screen"
            )
        else:
            handle.points, handle.colors = lines, colours
