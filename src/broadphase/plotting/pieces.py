"""Shapes taken apart into pieces that are easy to draw: each a form, scaled, turned and moved with its thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp
from broadphase.plotting.solids import Form, capsule_outline, hull_faces, unit_form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["PieceCollection", "Pieces", "pieces_of", "pieces_of_boxes", "quaternions_of", "turns_of"]


class Pieces(NamedTuple):
    """What things are made of, for drawing.

    A vertex v of a piece's form is drawn at ``position + R @ (anchor + matrix @ v)``, where R turns its thing; or, for
    what stays along the axes, at ``position + R @ anchor + matrix @ v``.

    Attributes
    ----------
    forms : list of Form
        What there is to be drawn.
    form : ndarray, shape (p,), int32
        The form of each piece.
    rows : ndarray, shape (p,), int32
        The thing that each belongs to.
    anchors : ndarray, shape (p, d), float64
    matrices : ndarray, shape (p, d, d), float64
    stays : ndarray, shape (p,), bool
        Whether it keeps along the axes while its thing turns.
    """

    forms: list[Form]
    form: NDArray[np.int32]
    rows: NDArray[np.int32]
    anchors: Floats
    matrices: Floats
    stays: NDArray[np.bool_]

    def placed(self, positions: Floats, rotations: Floats | None) -> Pieces:
        """Give the pieces with their things where they are: anchors and matrices are those of the world then.

        Parameters
        ----------
        positions : ndarray, shape (n, d)
            Of all rows.
        rotations : ndarray, shape (n,) or (n, 4), or None
            As in `broadphase.Shapes`.
        """
        anchors, matrices = self.anchors, self.matrices
        if rotations is not None:
            turns = turns_of(rotations[self.rows])
            anchors = (turns @ anchors[:, :, np.newaxis])[:, :, 0]
            matrices = np.where(self.stays[:, np.newaxis, np.newaxis], matrices, turns @ matrices)
        return self._replace(anchors=positions[self.rows] + anchors, matrices=matrices)

    def by_form(self) -> Iterator[tuple[Form, NDArray[np.int64]]]:
        """Give each form with the pieces that have it."""
        for number, form in enumerate(self.forms):
            which = np.flatnonzero(self.form == number)
            if len(which):
                yield form, which

    def vertices(self, form: Form, which: NDArray[np.int64]) -> Floats:
        """Give the vertices of pieces of one form, shape (k, v, d)."""
        corners: Floats = form.vertices @ np.swapaxes(self.matrices[which], 1, 2)
        return corners + self.anchors[which, np.newaxis]


def turns_of(rotations: Floats) -> Floats:
    """Make matrices (n, d, d) of angles (n,) or quaternions (n, 4)."""
    if rotations.ndim == 1:
        cosine, sine = np.cos(rotations), np.sin(rotations)
        return np.stack([cosine, -sine, sine, cosine], axis=-1).reshape(-1, 2, 2)
    w, x, y, z = (rotations / np.linalg.norm(rotations, axis=1, keepdims=True)).T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternions_of(turns: Floats) -> Floats:
    """Make quaternions (x, y, z, w) of rotation matrices (n, 3, 3), as most libraries that draw want them.

    Examples
    --------
    >>> quaternions_of(turns_of(np.array([[0.0, 0.0, 0.0, 1.0]])))
    array([[0., 0., 1., 0.]])
    """
    # Four times the products of each number with itself and the others; the row of the largest is the safest.
    xx, yy, zz = turns[:, 0, 0], turns[:, 1, 1], turns[:, 2, 2]
    wx, wy, wz = (turns[:, j, i] - turns[:, i, j] for i, j in ((1, 2), (2, 0), (0, 1)))
    xy, xz, yz = (turns[:, j, i] + turns[:, i, j] for i, j in ((0, 1), (0, 2), (1, 2)))
    squares = 1 + np.stack([xx - yy - zz, yy - xx - zz, zz - xx - yy, xx + yy + zz])
    products = np.array([[squares[0], xy, xz, wx], [xy, squares[1], yz, wy], [xz, yz, squares[2], wz],
                         [wx, wy, wz, squares[3]]])  # fmt: skip
    chosen: Floats = products[squares.argmax(axis=0), :, np.arange(len(turns))]
    chosen = chosen / np.linalg.norm(chosen, axis=1, keepdims=True) + 0.0
    return chosen


def pieces_of(shapes: bp.Shapes) -> Pieces:
    """Take the shapes of all living rows apart.

    Parameters
    ----------
    shapes : Shapes
        In the plane or in space.

    Returns
    -------
    Pieces
        In the frames of their things: see `Pieces.placed`.

    Examples
    --------
    >>> things = bp.Shapes([bp.Circle(2), bp.Rectangle(4, 2)], [[0, 0], [5, 0]])
    >>> pieces = pieces_of(things)
    >>> [(form.name, pieces.rows[which].tolist()) for form, which in pieces.by_form()]
    [('disc', [0]), ('box', [1])]
    """
    collection = PieceCollection(shapes.dimension)
    rows = shapes.living_rows()
    collection.add(shapes, rows, rows)
    return collection.pieces()


def pieces_of_boxes(boxes: Floats) -> Pieces:
    """Make pieces of boxes (n, 2, d), in their places."""
    boxes = np.asarray(boxes, np.float64)
    count, dimension = len(boxes), boxes.shape[2]
    half = (boxes[:, 1] - boxes[:, 0]) / 2
    return Pieces(
        [unit_form("box", dimension)],
        np.zeros(count, np.int32),
        np.arange(count, dtype=np.int32),
        boxes[:, 0] + half,
        half[:, :, np.newaxis] * np.eye(dimension),
        np.ones(count, np.bool_),
    )


class PieceCollection:
    """Pieces that are being gathered.

    Parameters
    ----------
    dimension : int
        2 or 3.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._geometries: Any = ()
        self._forms: list[Form] = []
        self._numbers: dict[Any, int] = {}
        self._parts: list[tuple[Any, ...]] = []

    def add(self, shapes: bp.Shapes, rows: NDArray[np.int32], names: NDArray[np.int32]) -> None:
        """Take the shapes of some rows apart; their pieces say that they belong to things of these numbers."""
        kinds, sizes, numbers = shapes.records(rows)
        self._geometries = shapes.geometries
        starts = np.cumsum(sizes, dtype=np.int64) - sizes
        for kind, size in sorted(set(zip(kinds.tolist(), sizes.tolist(), strict=True))):
            which = np.flatnonzero((kinds == kind) & (sizes == size))
            self._take(kind, names[which], numbers[starts[which, np.newaxis] + np.arange(size)])

    def pieces(self) -> Pieces:
        """Give all that was added."""
        if not self._parts:
            return pieces_of_boxes(np.empty((0, 2, self._dimension)))
        form, row, anchors, matrices, stays = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return Pieces(self._forms, form, row, anchors, matrices, stays)

    def _take(self, kind: int, rows: NDArray[np.int32], numbers: Floats) -> None:
        d = self._dimension
        unit = np.eye(d)
        if kind == bp.Point.kind:
            self._add("dot", rows, numbers, np.zeros((len(rows), d, d)))
        elif kind == bp.Circle.kind:
            self._add("disc" if d == 2 else "ball", rows, numbers[:, :d], numbers[:, d, None, None] * unit)
        elif kind == bp.Segment.kind:
            along = numbers[:, d:] - numbers[:, :d]
            self._add("line", rows, numbers[:, :d], along[:, :, np.newaxis] * unit[:1])
        elif kind == bp.Capsule.kind:
            self._take_capsules(rows, numbers[:, :d], numbers[:, d : 2 * d], numbers[:, 2 * d])
        elif kind == bp.Rectangle.kind:
            self._add("box", rows, numbers[:, :d], numbers[:, d:, np.newaxis] * unit, stays=True)
        elif kind == bp.OrientedBox.kind:
            axes = np.swapaxes(numbers[:, 2 * d :].reshape(-1, d, d), 1, 2)
            self._add("box", rows, numbers[:, :d], axes * numbers[:, np.newaxis, d : 2 * d])
        elif kind == bp.Compound.kind:
            self._take_compounds(rows, numbers)
        elif kind in (bp.Triangle.kind, bp.ConvexPolygon.kind):
            faces = np.array([[0, 1, 2]] if d == 3 else np.empty((0, 3)), np.int32)
            for row, corners in zip(rows, numbers.reshape(len(rows), -1, d), strict=True):
                self._add_own((row,), Form("", corners, faces))
        else:
            self._take_geometries(rows, numbers)

    def _take_capsules(self, rows: NDArray[np.int32], start: Floats, end: Floats, radii: Floats) -> None:
        if self._dimension == 2:
            for row, begin, along, radius in zip(rows, start, end - start, radii, strict=True):
                self._add_own((row,), capsule_outline(along, float(radius)), begin[np.newaxis])
            return
        round_ends = radii[:, None, None] * np.eye(3)
        self._add("ball", rows, start, round_ends)
        self._add("ball", rows, end, round_ends)
        along = end - start
        length = np.linalg.norm(along, axis=1, keepdims=True)
        ahead = along / np.where(length > 0, length, 1.0)
        across = np.cross(ahead, np.eye(3)[np.abs(ahead).argmin(axis=1)])
        width = np.linalg.norm(across, axis=1, keepdims=True)
        across *= radii[:, np.newaxis] / np.where(width > 0, width, 1.0)
        self._add("cylinder", rows, start, np.stack([across, np.cross(ahead, across), along], axis=2))

    def _take_compounds(self, rows: NDArray[np.int32], numbers: Floats) -> None:
        for row, record in zip(rows, numbers, strict=True):
            at = 0
            while at < len(record):
                length = int(record[at + 1])
                part = record[np.newaxis, at + 2 : at + 2 + length]
                self._take(int(record[at]), np.array([row], np.int32), part)
                at += 2 + length

    def _take_geometries(self, rows: NDArray[np.int32], numbers: Floats) -> None:
        for number in np.unique(numbers[:, 0]).astype(int).tolist():
            which = numbers[:, 0] == number
            geometry = self._geometries[number]
            is_mesh = isinstance(geometry, bp.Mesh)
            faces = geometry.faces if is_mesh else hull_faces(geometry.vertices)
            turns = np.swapaxes(numbers[which, 4:13].reshape(-1, 3, 3), 1, 2)
            self._add_own(rows[which], Form("", geometry.vertices, faces), numbers[which, 1:4], turns)

    def _add(self, name: str, rows: Any, anchors: Floats, matrices: Floats, stays: bool = False) -> None:
        if name not in self._numbers:
            self._numbers[name] = len(self._forms)
            self._forms.append(unit_form(name, self._dimension))
        self._keep(self._numbers[name], rows, anchors, matrices, stays)

    def _add_own(self, rows: Any, form: Form, anchors: Floats | None = None, matrices: Floats | None = None) -> None:
        key = form.vertices.tobytes(), form.faces.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._forms)
            self._forms.append(form)
        d = self._dimension
        anchors = np.zeros((len(rows), d)) if anchors is None else anchors
        matrices = np.broadcast_to(np.eye(d), (len(rows), d, d)) if matrices is None else matrices
        self._keep(self._numbers[key], rows, anchors, matrices, False)

    def _keep(self, form: int, rows: Any, anchors: Floats, matrices: Floats, stays: bool) -> None:
        count = len(rows)
        numbers = np.full(count, form, np.int32), np.asarray(rows, np.int32)
        self._parts.append((*numbers, anchors, matrices, np.full(count, stays)))
