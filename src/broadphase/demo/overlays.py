"""What is drawn over the things: cells, contacts, the question that is dragged around, what was clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.demo.colours import ASKED, CONTACT, LEVELS, SELECTED, STILL
from broadphase.demo.meshes import ball, box

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import broadphase as bp
    from broadphase.demo.stage import Stage

__all__ = ["Overlays", "edges_of"]

MOST_CELLS = 4000
"""More of them than this hide each other, and the browser takes long for the lines: the deepest are left out."""
MOST_CONTACTS = 4000
_LIFT = 0.06  # over flat things, in lengths of the picture
_NORMAL = 0.2  # length of the line of a normal, in lengths of the picture

_CORNERS = {2: np.array([[0, 0], [1, 0], [1, 1], [0, 1]]), 3: np.array(list(np.ndindex(2, 2, 2)))}
_EDGES = {
    2: np.array([[0, 1], [1, 2], [2, 3], [3, 0]]),
    3: np.array([[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]]),
}


def edges_of(boxes: NDArray[Any]) -> NDArray[np.float64]:
    """Give the edges of boxes (n, 2, d) as lines, shape (n * 4 or 12, 2, d)."""
    d = boxes.shape[2]
    corners = boxes[:, _CORNERS[d], np.arange(d)]
    lines: NDArray[np.float64] = corners[:, _EDGES[d]].reshape(-1, 2, d)
    return lines


class Overlays:
    """What is drawn over the things of a stage.

    Parameters
    ----------
    scene : viser.SceneApi
    stage : Stage
    """

    def __init__(self, scene: Any, stage: Stage) -> None:
        self._scene, self._stage = scene, stage
        self._handles: dict[str, Any] = {}
        self._asked_size = 0.0
        self._lit: dict[str, NDArray[np.int32]] = {}
        self._draw_bounds()
        self._draw_mesh()

    def remove(self) -> None:
        """Take everything off the page."""
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()

    def hide(self, name: str) -> None:
        """Take one thing off the page, if it is there."""
        handle = self._handles.pop(name, None)
        if handle is not None:
            handle.remove()

    def draw_cells(self, outline: bp.Outline) -> int:
        """Draw cells, coloured by level; returns how many were left out."""
        kept = np.argsort(outline.level, kind="stable")[:MOST_CELLS]
        lines = self._stage.to_view(edges_of(np.stack([outline.lower[kept], outline.upper[kept]], axis=1)))
        if self._stage.dimension == 2:
            lines[..., 2] = _LIFT
        palette = np.array(LEVELS, np.uint8)
        per_cell = 4 if self._stage.dimension == 2 else 12
        colours = np.repeat(palette[outline.level[kept] % len(palette)], per_cell, axis=0)
        self._lines("cells", lines, np.repeat(colours[:, None], 2, axis=1), 1.5)
        return len(outline.level) - len(kept)

    def draw_contacts(self, contacts: bp.Contacts) -> None:
        """Draw points of contact, and the normals at them."""
        count, stage = min(len(contacts.depths), MOST_CONTACTS), self._stage
        if not count:
            self.hide("points of contact")
            self.hide("normals")
            return
        points = contacts.points[:count]
        present = ~np.isnan(points[:, :, 0])
        places = stage.to_view(points[present])
        first = stage.to_view(points[:, 0])
        ends = first.copy()
        ends[:, : stage.dimension] += (_NORMAL * contacts.normals[:count]).astype(np.float32)
        lift = _LIFT if stage.dimension == 2 else 0.0
        places[:, 2] += lift
        lines = np.stack([first, ends], axis=1)
        lines[..., 2] += lift
        self._lines("normals", lines, np.broadcast_to(np.array(SELECTED, np.uint8), (len(lines), 2, 3)).copy(), 2.0)
        self.hide("points of contact")
        self._handles["points of contact"] = self._scene.add_point_cloud(
            "/over/contacts", places, CONTACT, point_size=0.035, point_shape="circle", precision="float32"
        )

    def draw_question(self, place: Any, size: float, is_ball: bool) -> None:
        """Draw the ball or box that asks."""
        name = "ball asks" if is_ball else "box asks"
        self.hide("box asks" if is_ball else "ball asks")
        handle = self._handles.get(name)
        if handle is None or self._asked_size != size:
            vertices, faces = ball(3) if is_ball else box()
            self._asked_size = size
            flat = [1, 1, 0.05] if self._stage.dimension == 2 else [1, 1, 1]
            self.hide(name)
            handle = self._handles[name] = self._scene.add_mesh_simple(
                f"/over/{name.replace(' ', '_')}",
                vertices * size * np.array(flat, np.float32),
                faces,
                color=ASKED,
                opacity=0.3,
                side="double",
                cast_shadow=False,
                receive_shadow=False,
            )
        handle.position = tuple(float(one) for one in place)

    def draw_label(self, text: str, place: Any) -> None:
        """Write beside a thing what it is."""
        handle = self._handles.get("label")
        where = tuple(float(one) for one in place)
        if handle is None:
            self._handles["label"] = self._scene.add_label("/over/label", text, position=where)
        else:
            handle.text, handle.position = text, where

    def draw_camera(self, camera: Any) -> None:
        """Draw the frustum of a camera of the page."""
        self.hide("camera")
        self._handles["camera"] = self._scene.add_camera_frustum(
            "/over/camera",
            fov=camera.fov,
            aspect=camera.aspect,
            scale=0.6,
            color=SELECTED,
            wxyz=camera.wxyz,
            position=camera.position,
            cast_shadow=False,
            receive_shadow=False,
        )

    def _draw_bounds(self) -> None:
        stage = self._stage
        d = stage.dimension
        half = stage.extent[:d] / 2
        room = np.stack([stage.middle[:d] - half, stage.middle[:d] + half])[None]
        lines = stage.to_view(edges_of(room))
        self._lines("bounds", lines, np.broadcast_to(np.array(STILL, np.uint8), (len(lines), 2, 3)).copy(), 1.5)

    def _draw_mesh(self) -> None:
        mesh = self._stage.mesh
        if mesh is not None:
            self._handles["mesh"] = self._scene.add_mesh_simple(
                "/over/mesh",
                self._stage.to_view(mesh.vertices),
                mesh.faces,
                color=STILL,
                opacity=0.55,
                side="double",
                flat_shading=True,
                cast_shadow=False,
                receive_shadow=False,
            )

    def draw_triangles(self, name: str, rows: NDArray[np.int32], colour: tuple[int, int, int]) -> None:
        """Draw the triangles of the mesh that are among rows in another colour."""
        mesh = self._stage.mesh
        if mesh is None:
            return
        faces = rows[rows < len(mesh.faces)]
        if np.array_equal(faces, self._lit.get(name, ())):
            return
        self._lit[name] = faces
        self.hide(name)
        if not len(faces):
            return
        corners = self._stage.to_view(mesh.vertices[mesh.faces[faces]].reshape(-1, 3))
        self._handles[name] = self._scene.add_mesh_simple(
            f"/over/{name}",
            corners,
            np.arange(len(corners), dtype=np.uint32).reshape(-1, 3),
            color=colour,
            side="double",
            flat_shading=True,
            cast_shadow=False,
            receive_shadow=False,
        )

    def _lines(self, name: str, lines: NDArray[np.float32], colours: NDArray[np.uint8], thickness: float) -> None:
        handle = self._handles.get(name)
        if handle is None:
            self._handles[name] = self._scene.add_line_segments(
                f"/over/{name}", lines, colours, thickness=thickness, thickness_units="screen"
            )
        else:
            handle.points, handle.colors = lines, colours
