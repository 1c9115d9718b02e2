"""Terrain in space: heights over a regular grid."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase import _native
from broadphase.boxes import as_numbers
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import LARGEST
from broadphase.shapes.solids import Geometry

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["HeightField"]


class HeightField(Geometry):
    """Terrain: heights over a regular grid in the x and y of its own frame, solid down to a flat bottom.

    Parameters
    ----------
    heights : array_like, shape (rows, columns)
        The z of each point of the grid, two rows and two columns at least. Columns follow each other along x and rows
        along y, as in MuJoCo; the middle of the grid is the origin. They are copied, as float64.
    cell : float or (float, float)
        The sides of a cell along x and y.
    bottom : float, optional
        The z of its lower side, at most the lowest height. Default: as far below that as the shorter side of the grid
        is long.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Raises
    ------
    ValueError
        Less than 2 x 2 heights; a height that is not finite: names its row and column; a cell that is not positive; a
        bottom above the lowest height.

    Notes
    -----
    Each cell is two triangles, whose common edge joins the points ``[row, column]`` and ``[row + 1, column + 1]``. No
    triangle is kept: beside the heights, a field takes about half a byte for each, for the lowest and highest of blocks
    of cells. It is made in a single pass over the heights.

    What is below the surface and above the bottom is inside. The depth of a shape is the length of a straight motion
    that takes it out of the whole field: the shortest near those that are tried, which begin upwards, across the
    nearest and the steepest triangles that it touches, and out of the sides. Edges between triangles in one plane have
    no normal of their own. Compounds, meshes and other fields are as deep as the deepest of their parts: convex
    shapes, triangles, or the triangles of the surface.

    Rays step through the grid [1]_, over blocks of cells that are all below the ray [2]_.

    References
    ----------
    .. [1] J. Amanatides, A. Woo, "A Fast Voxel Traversal Algorithm for Ray Tracing", Eurographics, 1987.
    .. [2] A. Tevs, I. Ihrke, H.-P. Seidel, "Maximum Mipmaps for Fast, Accurate, and Scalable Dynamic Height Field
       Rendering", I3D, 2008. DOI 10.1145/1342250.1342279.

    Examples
    --------
    >>> import broadphase as bp
    >>> hills = bp.HeightField([[0, 0, 0], [0, 1, 0], [0, 0, 0]], cell=2.0)
    >>> hills
    HeightField(<3 x 3 heights>, cell=(2.0, 2.0), bottom=-4.0)
    >>> bp.distance(hills, bp.Sphere(0.5, offset=[0, 0, 3]))
    1.5
    """

    __slots__ = ("_bottom", "_cell")
    kind = ShapeKind.HEIGHT_FIELD
    _also = ("_cell", "_bottom")

    _cell: tuple[float, float]
    _bottom: float

    def __init__(
        self,
        heights: ArrayLike,
        cell: float | tuple[float, float] = 1.0,
        bottom: float | None = None,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        kept = as_numbers(heights, name="heights").astype(np.float64, order="C")  # always a copy
        if kept.ndim != 2 or min(kept.shape) < 2:
            raise ValueError(f"heights must have shape (rows, columns), both at least 2, not {kept.shape}")
        lowest, highest = float(kept.min()), float(kept.max())  # NaN if any is
        if not (lowest >= -LARGEST and highest <= LARGEST):
            row, column = np.argwhere(~(np.abs(kept) <= LARGEST))[0].tolist()
            value = float(kept[row, column])
            fault = f"beyond {LARGEST}" if np.isfinite(value) else "not finite"
            raise ValueError(f"heights: row {row}, column {column} is {value}, which is {fault}")
        sides = as_numbers(cell, name="cell").astype(np.float64)
        if sides.shape not in ((), (2,)):
            raise ValueError(f"cell must be one number or (2,), not an array of shape {sides.shape}")
        dx, dy = np.broadcast_to(sides, 2).tolist()
        extents = dx * (kept.shape[1] - 1), dy * (kept.shape[0] - 1)
        if not (min(dx, dy) > 0 and max(extents) <= LARGEST):
            raise ValueError(f"cell must be positive, and the grid at most {LARGEST} long, not {cell}")
        if bottom is None:
            bottom = lowest - min(extents)
        else:
            number = as_numbers(bottom, name="bottom")
            if number.ndim or not -LARGEST <= number <= lowest:
                raise ValueError(f"bottom must be finite and at most {lowest}, the lowest height, not {bottom}")
            bottom = float(number)
        self._keep_grid(kept, (dx, dy), bottom)
        self._place_source(offset, rotation)

    def _keep_grid(self, heights: Floats, cell: tuple[float, float], bottom: float) -> None:
        object.__setattr__(self, "_cell", cell)
        object.__setattr__(self, "_bottom", bottom)
        rows, columns = heights.shape
        x, y = (columns - 1) / 2 * cell[0], (rows - 1) / 2 * cell[1]
        record = np.concatenate([np.zeros(4), np.eye(3).ravel(), [-x, -y, bottom], [x, y, heights.max()]]) + 0.0
        self._keep_source(heights, record[np.newaxis], None, [])

    def _prepare(self) -> _native.HeightField:
        return _native.HeightField(self._source, *self._cell, self._bottom)

    @property
    def heights(self) -> Floats:
        """The z of each point of the grid, shape (rows, columns). Read-only."""
        return self._source

    @property
    def cell(self) -> tuple[float, float]:
        """The sides of a cell along x and y."""
        return self._cell

    @property
    def bottom(self) -> float:
        """The z of its lower side."""
        return self._bottom

    @property
    def vertices(self) -> Floats:
        """The points of its surface in its own frame, row after row, shape (rows * columns, 3). A new array."""
        rows, columns = self._source.shape
        x = (np.arange(columns) - (columns - 1) / 2) * self._cell[0]
        y = (np.arange(rows) - (rows - 1) / 2) * self._cell[1]
        return np.stack([*np.broadcast_arrays(x, y[:, np.newaxis]), self._source], axis=2).reshape(-1, 3)

    @property
    def faces(self) -> NDArray[np.int32]:
        """Rows of `vertices` of each triangle of its surface, two for each cell, shape (m, 3). A new array."""
        rows, columns = self._source.shape
        a = (np.arange(rows - 1)[:, np.newaxis] * columns + np.arange(columns - 1)).ravel()
        b, c, d = a + 1, a + columns, a + columns + 1
        return np.stack([a, b, d, a, d, c], axis=1).reshape(-1, 3).astype(np.int32)

    @property
    def content(self) -> tuple[object, ...]:
        """What distinguishes it from other geometries, except offset and rotation; hashable."""
        return type(self), self._source.shape, self._cell, self._bottom, hashlib.sha256(self._source.data).digest()

    def _texts(self) -> list[str]:
        rows, columns = self._source.shape
        _, *others = super()._texts()
        return [f"<{rows} x {columns} heights>", f"cell={self._cell}", f"bottom={self._bottom}", *others]

    def __getstate__(self) -> tuple[Any, ...]:
        return self._cell, self._bottom, super().__getstate__()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        cell, bottom, (heights, others) = state
        self._keep_grid(heights, cell, bottom)
        self._set(*others)
