"""Shapes of which the core knows the pose only: convex hulls and meshes in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array, as_own_array
from broadphase.boxes import as_numbers
from broadphase.errors import quoted
from broadphase.shapes.kinds import ShapeKind
from broadphase.shapes.parameters import as_rows
from broadphase.shapes.shape import Shape
from broadphase.workers import worker_count

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["ConvexHull", "Geometry", "Mesh"]


class Geometry(Shape):
    """A shape that is described by more than its record: an array, kept here, and placed by the record.

    Attributes
    ----------
    vertices : ndarray, shape (k, 3), float64
        In the frame of the geometry: without `rotation` and `offset`. Read-only.
    """

    __slots__ = ("_core_vertices", "_in_own_frame", "_prepared", "_source")

    _source: Floats
    _in_own_frame: Floats  # its record without offset and rotation
    _core_vertices: _native.Vertices | None
    # What has been needed so far, shared by all placed copies.
    _prepared: list[_native.MeshTree | _native.MeshSolid | _native.Polytope | _native.HeightField | _native.CloudTree]
    # What else it is made of, which placed copies share, too.
    _also: ClassVar[tuple[str, ...]] = ()

    def _keep_source(
        self, source: Floats, record: Floats, core_vertices: _native.Vertices | None, prepared: list[Any]
    ) -> None:
        source.flags.writeable = record.flags.writeable = False
        object.__setattr__(self, "_source", source)
        object.__setattr__(self, "_in_own_frame", record)
        object.__setattr__(self, "_core_vertices", core_vertices)
        object.__setattr__(self, "_prepared", prepared)

    def _place_source(self, offset: Any, rotation: Any) -> None:
        if offset is None and rotation is None:
            self._set(3, self._in_own_frame, {}, True)
        else:
            self._place(3, self._in_own_frame, {}, offset, rotation)

    @property
    def vertices(self) -> Floats:
        """Its vertices in its own frame, shape (k, 3). Read-only."""
        return self._source

    @property
    def source(self) -> Floats:
        """The array that it is made of, which all placed copies share. Read-only."""
        return self._source

    @property
    def bounds(self) -> Floats:
        """The box around it in its own frame: lower and upper corner, shape (2, 3)."""
        return self._in_own_frame[0, -6:].reshape(2, 3).copy()

    @property
    def core_vertices(self) -> _native.Vertices | None:
        """Its vertices as the core computes boxes from them, shared by all placed copies; None: from its box."""
        return self._core_vertices

    @property
    def prepared(self) -> Any:
        """What the core computes of it: on first use, and kept as long as one of its placed copies lives."""
        if not self._prepared:
            self._prepared.append(self._prepare())
        return self._prepared[0]

    def _prepare(self) -> _native.MeshTree | _native.Polytope | _native.HeightField | _native.CloudTree:
        raise NotImplementedError

    @property
    def content(self) -> tuple[object, ...]:
        """What distinguishes it from other geometries, except offset and rotation; hashable."""
        return type(self), self._source.tobytes()

    def placed(self, offset: Any, rotation: Any) -> Self:
        """Return the same geometry with another offset and rotation."""
        other = object.__new__(type(self))
        self._share_with(other)
        other._place_source(offset, rotation)
        return other

    def _share_with(self, other: Geometry) -> None:
        for name in self._also:
            object.__setattr__(other, name, getattr(self, name))
        other._keep_source(self._source, self._in_own_frame, self._core_vertices, self._prepared)

    def _rows(self, rows: Any, single: bool) -> Self:
        some = super()._rows(rows, single)
        self._share_with(some)
        return some

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Geometry):
            return NotImplemented
        return super().__eq__(other) is True and self.content == other.content

    def __hash__(self) -> int:
        return super().__hash__()

    def _texts(self) -> list[str]:
        return [f"<{len(self._source)} vertices>", *super()._texts()]

    def __getstate__(self) -> tuple[Any, ...]:
        return self._source, super().__getstate__()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        vertices, others = state
        made: Any = _native.geometry(vertices, None)
        source, _, record, core_vertices = made
        self._keep_source(source, record, core_vertices, [])
        super().__setstate__(others)


class ConvexHull(Geometry):
    """The convex hull of points in space, with its inside.

    Parameters
    ----------
    points : array_like, shape (k, 3)
        Relative to the actor, in any order; inner points are allowed. Points in one plane raise ValueError.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    ConvexHull(<4 vertices>)
    """

    __slots__ = ()
    kind = ShapeKind.HULL

    def __init__(
        self, points: ArrayLike, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        given = as_numbers(points, name="points")
        made: Any = _native.geometry(given, None) or _native.geometry(_vertices(given, "points"), None)
        vertices, _, record, core_vertices = made
        if not _native.surely_have_inside(vertices):
            _require_inside(vertices)
        self._keep_source(vertices, record, core_vertices, [])
        self._place_source(offset, rotation)

    def _prepare(self) -> _native.Polytope:
        return _native.Polytope(np.ascontiguousarray(self._source))

    @property
    def points(self) -> Floats:
        """The points as given, shape (k, 3). Read-only."""
        return self._source


class Mesh(Geometry):
    """A surface of triangles in space, without the inside that it may enclose.

    It behaves as a compound of its triangles; but to `clearances` and `clashes`, it is solid if it is closed.

    Parameters
    ----------
    vertices : array_like, shape (k, 3)
        Relative to the actor.
    faces : array_like of int, shape (m, 3)
        Three rows of `vertices` for each triangle; at least one triangle. A vertex that does not exist is an error.
    offset, rotation : array_like, optional
        As in `Shape`, and so are errors.

    Examples
    --------
    >>> import broadphase as bp
    >>> bp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    Mesh(<3 vertices>, <1 faces>)
    """

    __slots__ = ("_faces",)
    kind = ShapeKind.MESH
    _also = ("_faces",)

    _faces: NDArray[np.int32]

    def __init__(
        self,
        vertices: ArrayLike,
        faces: ArrayLike,
        *,
        offset: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> None:
        corners, numbers = as_numbers(vertices, name="vertices"), as_array(faces, "faces")
        made: Any = _native.geometry(corners, numbers)
        if made is None:  # something is wrong, or of a rare dtype
            corners = _vertices(corners, "vertices")
            made = _native.geometry(corners, _faces(numbers, len(corners)))
        source, kept, record, core_vertices = made
        kept.flags.writeable = False
        object.__setattr__(self, "_faces", kept)
        self._keep_source(source, record, core_vertices, [])
        self._place_source(offset, rotation)

    def _prepare(self) -> _native.MeshTree:
        tree: _native.MeshTree = _native.mesh_trees([self._numbers()], 1)[0]
        return tree

    def _numbers(self) -> tuple[Floats, NDArray[np.int32]]:
        return np.ascontiguousarray(self._source), np.ascontiguousarray(self._faces)

    @classmethod
    def from_trimesh(cls, mesh: Any, *, offset: ArrayLike | None = None, rotation: ArrayLike | None = None) -> Self:
        """Make a mesh of any object with ``vertices`` and ``faces``, such as those of trimesh or Open3D.

        Parameters
        ----------
        mesh : object
            ``mesh.vertices``, shape (k, 3), and ``mesh.faces``, shape (m, 3). Without them, TypeError is raised.
        offset, rotation
            As in the class, and so are errors.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> import broadphase as bp
        >>> bp.Mesh.from_trimesh(SimpleNamespace(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]]))
        Mesh(<3 vertices>, <1 faces>)
        """
        if not (hasattr(mesh, "vertices") and hasattr(mesh, "faces")):
            raise TypeError(f"mesh must have vertices and faces, which {quoted(mesh)} has not")
        return cls(np.asarray(mesh.vertices), np.asarray(mesh.faces), offset=offset, rotation=rotation)

    @staticmethod
    def prepare(meshes: Iterable[Mesh], *, solid: bool = True, workers: int = 1) -> None:
        """Build the trees of meshes now, on threads, instead of one by one when they are first needed.

        Parameters
        ----------
        meshes : iterable of Mesh
            Those that have their trees already take no time.
        solid : bool
            Whether to compute what each encloses, too, as `clearances` and `clashes` need it.
        workers : int
            Threads; -1 for one per core.

        Notes
        -----
        Trees are kept with the geometry, which moved copies share. About 0.2 ms for 1,000 triangles.

        Examples
        --------
        >>> import broadphase as bp
        >>> bp.Mesh.prepare([bp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])], workers=-1)
        """
        threads, given = worker_count(workers), list(meshes)
        for place, mesh in enumerate(given):
            if not isinstance(mesh, Mesh):
                raise TypeError(f"meshes: number {place} is {quoted(mesh)}, not a Mesh")
        known = [mesh for mesh in given if len(mesh._prepared) < 1 + solid]
        new = [mesh for mesh in known if not mesh._prepared]
        for mesh, tree in zip(new, _native.mesh_trees([mesh._numbers() for mesh in new], threads), strict=True):
            mesh._prepared.append(tree)
        new = [mesh for mesh in known if solid and mesh._known_solid() is None]
        for mesh, one in zip(new, _native.mesh_solids([mesh.prepared for mesh in new], threads), strict=True):
            mesh._prepared.append(one)

    @property
    def is_watertight(self) -> bool:
        """Whether the surface is closed, so that it has an inside: computed once, on first use.

        Vertices in the same place are one vertex, and each edge must belong to an even number of faces. Which way round
        faces are does not matter. Of equal faces one counts; or all, if the surface is closed with all of them.
        """
        return self.solid.is_closed

    @property
    def solid(self) -> _native.MeshSolid:
        """What the core knows of its inside: on first use, and kept as `prepared` is."""
        if (known := self._known_solid()) is not None:
            return known
        solid: _native.MeshSolid = _native.mesh_solids([self.prepared], 1)[0]
        self._prepared.append(solid)
        return solid

    def _known_solid(self) -> _native.MeshSolid | None:
        for kept in self._prepared:  # called for each of thousands of parts
            if isinstance(kept, _native.MeshSolid):
                return kept
        return None

    @property
    def faces(self) -> NDArray[np.int32]:
        """Rows of the vertices of each triangle, shape (m, 3). Read-only."""
        return self._faces

    @property
    def content(self) -> tuple[object, ...]:
        """What distinguishes it from other geometries, except offset and rotation; hashable."""
        return *super().content, self._faces.tobytes()

    def _texts(self) -> list[str]:
        vertices, *others = super()._texts()
        return [vertices, f"<{len(self._faces)} faces>", *others]

    def __getstate__(self) -> tuple[Any, ...]:
        return self._faces, super().__getstate__()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        faces, others = state
        faces.flags.writeable = False
        object.__setattr__(self, "_faces", faces)
        super().__setstate__(others)


def _vertices(array: NDArray[Any], name: str) -> Floats:
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise ValueError(f"{name} must have shape (k, 3), k at least 1, not {array.shape}")
    return as_rows(array, name, (3,), "(k, 3)").rows


def _faces(given: NDArray[Any], vertices: int) -> NDArray[np.int64]:
    numbers = as_own_array(given, "faces")
    if numbers.ndim != 2 or numbers.shape[1] != 3 or not len(numbers):
        raise ValueError(f"faces must have shape (m, 3), m at least 1, not {numbers.shape}")
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"faces must be integers, not {numbers.dtype}")
    wrong = (numbers < 0) | (numbers >= vertices)
    if wrong.any():
        row = int(wrong.any(axis=1).argmax())
        raise ValueError(
            f"faces: row {row} uses vertex {numbers[row][wrong[row]][0]}, but there are {vertices} vertices"
        )
    return numbers.astype(np.int64)


def _require_inside(points: Floats) -> None:
    scaled = np.ldexp(points, -int(np.frexp(np.abs(points).max())[1]))
    sizes = np.linalg.svd(scaled - scaled.mean(axis=0), compute_uv=False)
    if len(sizes) < 3 or sizes[2] <= 1e-12 * max(sizes[0], 1e-3):
        raise ValueError("points lie in one plane: their hull has no inside")
