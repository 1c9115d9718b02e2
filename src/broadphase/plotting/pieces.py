"""Shapes taken apart into pieces for drawing: each is a form (ball, box, line ...), scaled, rotated and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp
from broadphase.extras import import_extra
from broadphase.shapes.kinds import RECORDS, ShapeKind
from broadphase.shapes.registry import Drawn, type_of
from broadphase.shapes.turning import as_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Faces = NDArray[np.int32]

__all__ = [
    "QUADS", "STATIC", "Form", "PieceCollection", "Pieces", "ball", "contact_points", "corners_of", "edges_of",
    "hull_faces", "pieces_of", "pieces_of_boxes", "unit_form",
]  # fmt: skip

STATIC = 1  # in World.body_types
CORNERS_OF_DISC = 48
_CORNERS = {2: np.array([[0, 0], [1, 0], [1, 1], [0, 1]]), 3: np.array(list(np.ndindex(2, 2, 2)))[:, ::-1]}
_EDGES = {
    2: np.array([[0, 1], [1, 2], [2, 3], [3, 0]]),
    3: np.array([[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]]),
}
# Sides of a box: four of its corners each.
QUADS = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])
CORNERS_OF_CYLINDER = 20


class Form(NamedTuple):
    """The geometry of a piece before it is scaled, rotated and moved.

    `name` is "dot", "line", "disc", "box", "ball", "cylinder", "cone", "plate", "boundary", or "" for the geometry of
    a single shape. `vertices` has shape (v, d), in the plane in order around the outline; `faces` the shape (f, 3):
    triangles, counter-clockwise seen from outside, none in the plane and for dots and lines.
    """

    name: str
    vertices: Floats
    faces: Faces


class Pieces(NamedTuple):
    """The pieces that shapes consist of.

    A vertex v of a piece's form is drawn at ``position + R @ (anchor + matrix @ v)``, where R is the rotation of its
    row; for an `aligned` piece at ``position + R @ anchor + matrix @ v``. `form` is the place of each piece's form in
    `forms`, `rows` the row of its shape; `anchors` have shape (p, d), `matrices` (p, d, d).
    """

    forms: list[Form]
    form: NDArray[np.int32]
    rows: NDArray[np.int32]
    anchors: Floats
    matrices: Floats
    aligned: NDArray[np.bool_]

    def placed(self, positions: Floats, rotations: Floats | None) -> Pieces:
        """Transform the pieces to world coordinates; positions and rotations are those of `broadphase.Shapes`."""
        anchors, matrices = self.anchors, self.matrices
        if rotations is not None:
            turns = as_matrices(rotations[self.rows], self.anchors.shape[1])
            anchors = (turns @ anchors[:, :, np.newaxis])[:, :, 0]
            matrices = np.where(self.aligned[:, np.newaxis, np.newaxis], matrices, turns @ matrices)
        return self._replace(anchors=positions[self.rows] + anchors, matrices=matrices)

    def spread(self, extent: Floats) -> Pieces:
        """Make the boundaries of half spaces, which have no end, as large as a picture (2, d), and put them there."""
        endless = np.array([form.name == "boundary" for form in self.forms], np.bool_)[self.form]
        if not endless.any():
            return self
        anchors, matrices = self.anchors.copy(), self.matrices.copy()
        normals = matrices[endless, :, -1]
        aside = extent.mean(axis=0) - anchors[endless]
        anchors[endless] += aside - normals * (normals * aside).sum(axis=1, keepdims=True)
        matrices[endless] *= 0.5 * float(np.linalg.norm(extent[1] - extent[0])) or 1.0
        return self._replace(anchors=anchors, matrices=matrices)

    def by_form(self) -> Iterator[tuple[Form, NDArray[np.int64]]]:
        """Yield each form with the indices of the pieces that have it."""
        for number, form in enumerate(self.forms):
            which = np.flatnonzero(self.form == number)
            if len(which):
                yield form, which

    def vertices(self, form: Form, which: NDArray[np.int64]) -> Floats:
        """Return the vertices of pieces of one form, shape (k, v, d)."""
        corners: Floats = form.vertices @ np.swapaxes(self.matrices[which], 1, 2)
        return corners + self.anchors[which, np.newaxis]


def corners_of(boxes: NDArray[Any]) -> Floats:
    """Return the corners of boxes (n, 2, d), shape (n, 2**d, d); in the plane in order, counter-clockwise."""
    d = boxes.shape[2]
    corners: Floats = boxes[:, _CORNERS[d], np.arange(d)]
    return corners


def edges_of(boxes: NDArray[Any]) -> Floats:
    """Return the edges of boxes (n, 2, d) as lines, shape (n * 4 or 12, 2, d).

    >>> edges_of(np.array([[[0, 0], [2, 1]]])).tolist()
    [[[0, 0], [2, 0]], [[2, 0], [2, 1]], [[2, 1], [0, 1]], [[0, 1], [0, 0]]]
    """
    d = boxes.shape[2]
    return corners_of(boxes)[:, _EDGES[d]].reshape(-1, 2, d)


def pieces_of(shapes: bp.Shapes) -> Pieces:
    """Take the shapes of all living rows apart, in the frames of their rows: see `Pieces.placed`.

    >>> shapes = bp.Shapes([bp.Circle(2), bp.Rectangle(4, 2)], [[0, 0], [5, 0]])
    >>> pieces = pieces_of(shapes)
    >>> [(form.name, pieces.rows[which].tolist()) for form, which in pieces.by_form()]
    [('disc', [0]), ('box', [1])]
    """
    collection = PieceCollection(shapes.dim)
    rows = shapes.living_rows()
    collection.add(shapes, rows, rows)
    return collection.pieces()


def pieces_of_boxes(boxes: Floats) -> Pieces:
    """Make one piece of each box (n, 2, d), in world coordinates."""
    boxes = np.asarray(boxes, np.float64)
    count, dim = len(boxes), boxes.shape[2]
    half = (boxes[:, 1] - boxes[:, 0]) / 2
    return Pieces(
        [unit_form("box", dim)],
        np.zeros(count, np.int32),
        np.arange(count, dtype=np.int32),
        boxes[:, 0] + half,
        half[:, :, np.newaxis] * np.eye(dim),
        np.ones(count, np.bool_),
    )


class PieceCollection:
    """Collects the pieces of shapes that are added one batch after the other."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._geometries: Any = ()
        self._forms: list[Form] = []
        self._numbers: dict[Any, int] = {}
        self._parts: list[tuple[Any, ...]] = []

    def add(self, shapes: bp.Shapes, rows: NDArray[np.int32], names: NDArray[np.int32]) -> None:
        """Take the shapes of some rows apart; `names` are the row numbers that their pieces get."""
        kinds, sizes, numbers = shapes.records(rows)
        self._geometries = shapes.geometries
        starts = np.cumsum(sizes, dtype=np.int64) - sizes
        for kind, size in sorted(set(zip(kinds.tolist(), sizes.tolist(), strict=True))):
            which = np.flatnonzero((kinds == kind) & (sizes == size))
            self._take(ShapeKind(kind), names[which], numbers[starts[which, np.newaxis] + np.arange(size)])

    def pieces(self) -> Pieces:
        """Return all pieces added so far."""
        if not self._parts:
            return pieces_of_boxes(np.empty((0, 2, self._dim)))
        form, row, anchors, matrices, aligned = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return Pieces(self._forms, form, row, anchors, matrices, aligned)

    def _take(self, kind: ShapeKind, rows: NDArray[np.int32], numbers: Floats) -> None:
        d = self._dim
        if RECORDS[kind].has_parts:
            self._take_compounds(rows, numbers)
        elif kind == ShapeKind.CUSTOM:  # its bounding box
            axes = numbers[:, 1 + d : 1 + d + d * d].reshape(-1, d, d)
            lower, upper = numbers[:, 1 + d + d * d :][:, :d], numbers[:, 1 + d + d * d :][:, d : 2 * d]
            centers = numbers[:, 1 : 1 + d] + np.einsum("mij,mi->mj", axes, (lower + upper) / 2)
            self._add("box", rows, centers, np.swapaxes(axes, 1, 2) * ((upper - lower) / 2)[:, np.newaxis])
        elif RECORDS[kind].is_kept_elsewhere:
            self._take_geometries(rows, numbers)
        else:
            picture: Any = type_of(kind, d).picture
            for drawn in picture(numbers, d):
                if isinstance(drawn, Drawn):
                    self._add(drawn.form, rows, drawn.anchors, drawn.matrices, drawn.aligned)
                    continue
                for row, corners, anchor in zip(rows, drawn.corners, drawn.anchors, strict=True):
                    form = Form("", corners, fan(len(corners)) if d == 3 else _NO_FACES)
                    self._add_own((row,), form, anchor[np.newaxis])

    def _take_compounds(self, rows: NDArray[np.int32], numbers: Floats) -> None:
        for row, record in zip(rows, numbers, strict=True):
            at = 0
            while at < len(record):
                length = int(record[at + 1])
                part = record[np.newaxis, at + 2 : at + 2 + length]
                self._take(ShapeKind(int(record[at])), np.array([row], np.int32), part)
                at += 2 + length

    def _take_geometries(self, rows: NDArray[np.int32], numbers: Floats) -> None:
        for number in np.unique(numbers[:, 0]).astype(int).tolist():
            which = numbers[:, 0] == number
            geometry = self._geometries[number]
            if isinstance(geometry, bp.PointCloud):
                self._take_cloud(geometry, rows[which], numbers[which])
                continue
            has_faces = isinstance(geometry, bp.Mesh | bp.HeightField)  # of a field, those of its surface
            faces = geometry.faces if has_faces else hull_faces(geometry.vertices)
            turns = np.swapaxes(numbers[which, 4:13].reshape(-1, 3, 3), 1, 2)
            self._add_own(rows[which], Form("", geometry.vertices, faces), numbers[which, 1:4], turns)

    def _take_cloud(self, cloud: bp.PointCloud, rows: NDArray[np.int32], numbers: Floats) -> None:
        count = len(cloud.points)
        is_round = cloud.radius > 0 and count <= _MOST_BALLS
        matrices = np.broadcast_to(cloud.radius * np.eye(3) if is_round else np.zeros((3, 3)), (count, 3, 3))
        for row, record in zip(rows.tolist(), numbers, strict=True):
            places = cloud.points @ record[4:13].reshape(3, 3) + record[1:4]
            self._add("ball" if is_round else "dot", np.full(count, row, np.int32), places, matrices)

    def _add(self, name: str, rows: Any, anchors: Floats, matrices: Floats, aligned: bool = False) -> None:
        if name not in self._numbers:
            self._numbers[name] = len(self._forms)
            self._forms.append(unit_form(name, self._dim))
        self._keep(self._numbers[name], rows, anchors, matrices, aligned)

    def _add_own(self, rows: Any, form: Form, anchors: Floats, matrices: Floats | None = None) -> None:
        key = form.vertices.tobytes(), form.faces.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._forms)
            self._forms.append(form)
        d = self._dim
        matrices = np.broadcast_to(np.eye(d), (len(rows), d, d)) if matrices is None else matrices
        self._keep(self._numbers[key], rows, anchors, matrices, False)

    def _keep(self, form: int, rows: Any, anchors: Floats, matrices: Floats, aligned: bool) -> None:
        count = len(rows)
        numbers = np.full(count, form, np.int32), np.asarray(rows, np.int32)
        self._parts.append((*numbers, anchors, matrices, np.full(count, aligned)))


_NO_FACES = np.empty((0, 3), np.int32)
_MOST_BALLS = 1000  # of a cloud, drawn as such: each has some hundred faces; the points of larger ones are dots


def unit_form(name: str, dim: int) -> Form:
    """Make a form of radius, half size or length 1: boxes and balls around the origin, all others from it on.

    Lines go along the first axis, cylinders and cones along the third, without the plates at their ends; boundaries
    are across the last axis, in the plane with what is below them.

    >>> unit_form("box", 2).vertices.tolist()
    [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
    """
    if name == "dot":
        return Form(name, np.zeros((1, dim)), _NO_FACES)
    if name == "line":
        return Form(name, np.eye(2, dim)[::-1] * [[0.0], [1.0]], _NO_FACES)
    if dim == 2:
        corners = _ring(CORNERS_OF_DISC) if name == "disc" else 2.0 * _CORNERS[2] - 1.0
        if name == "boundary":
            corners = corners - [0.0, 1.0]
        return Form(name, corners, _NO_FACES)
    if name == "box":
        return Form(name, 2.0 * _CORNERS[3] - 1.0, np.array(QUADS[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3), np.int32))
    if name == "ball":
        return ball()
    if name == "boundary":
        return Form(name, np.pad(2.0 * _CORNERS[2] - 1.0, ((0, 0), (0, 1))), fan(4))
    here = np.arange(CORNERS_OF_CYLINDER)
    there = np.roll(here, -1)
    ring = np.concatenate([_ring(CORNERS_OF_CYLINDER), np.zeros((CORNERS_OF_CYLINDER, 1))], axis=1)
    if name == "plate":
        return Form(name, ring, fan(CORNERS_OF_CYLINDER))
    if name == "cone":
        sides = np.stack([here, there, np.full_like(here, CORNERS_OF_CYLINDER)], axis=1)
        return Form(name, np.append(ring, [[0.0, 0.0, 1.0]], axis=0), sides.astype(np.int32))
    top = ring + np.array([0.0, 0.0, 1.0])
    below = np.stack([here, there, there + CORNERS_OF_CYLINDER], axis=1)
    above = np.stack([here, there + CORNERS_OF_CYLINDER, here + CORNERS_OF_CYLINDER], axis=1)
    return Form(name, np.concatenate([ring, top]), np.concatenate([below, above]).astype(np.int32))


def fan(corners: int) -> Faces:
    """Triangulate a convex polygon in space, of so many corners in order.

    >>> fan(4).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    last = np.arange(2, corners, dtype=np.int32)
    return np.stack([np.zeros_like(last), last - 1, last], axis=1)


def contact_points(contacts: bp.narrow.Contacts) -> tuple[Floats, Floats]:
    """Return all contact points, and the normal at each."""
    which, place = np.nonzero(np.arange(contacts.points.shape[1]) < contacts.counts[:, np.newaxis])
    return contacts.points[which, place], contacts.normals[which]


def hull_faces(points: Floats) -> Faces:
    """Triangulate the convex hull of points (k, 3) that are not all in one plane, counter-clockwise seen from outside.

    >>> len(hull_faces(np.concatenate([unit_form("box", 3).vertices, [[0.1, 0.2, 0.3]]])))
    12
    """
    spatial = import_extra("scipy.spatial", purpose="drawing convex hulls", extra="plot")
    centered = np.asarray(points, np.float64) - np.mean(points, axis=0)  # its precision is absolute
    hull = spatial.ConvexHull(centered)
    faces: Faces = hull.simplices.astype(np.int32)
    a, b, c = (centered[faces[:, place]] for place in range(3))
    inwards = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0
    faces[inwards] = faces[inwards, ::-1]
    return faces


def _ring(corners: int) -> Floats:
    angles = np.linspace(0.0, 2 * np.pi, corners, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def ball(refinements: int = 2) -> Form:
    """Make a unit ball from an octahedron, each of whose triangles is cut in four `refinements` times."""
    vertices = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    for _ in range(refinements):
        edges, which = np.unique(
            np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        ab, bc, ca = (which.reshape(-1, 3) + len(vertices)).T
        a, b, c = faces.T
        parts = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        faces = np.concatenate([np.stack(part, axis=1) for part in parts])
        vertices = np.concatenate([vertices, vertices[edges].mean(axis=1)])
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return Form("ball", vertices, faces.astype(np.int32))
