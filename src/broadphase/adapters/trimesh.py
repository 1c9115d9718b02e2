"""``trimesh.collision.CollisionManager`` without python-fcl: same methods, same results, faster.

Convex meshes are solids, others are the surfaces of their triangles, as in trimesh. What is known of a mesh is kept
with it, objects that have not moved are not tested again, and distances are exact.
"""

from __future__ import annotations

import sys
import weakref
from math import isfinite, sqrt
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import broadphase as bp
from broadphase import _native
from broadphase.adapters.library import import_library
from broadphase.shapes.placed import put

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]
    Box = tuple[float, ...]

__all__ = ["CollisionManager", "scene_to_collision"]

theirs: Any = import_library("trimesh.collision", install="trimesh")
_triangles: Any = import_library("trimesh.triangles", install="trimesh")
_trimesh: Any = import_library("trimesh", install="trimesh")
ContactData, DistanceData = theirs.ContactData, theirs.DistanceData

_EXTERNAL = "__external"  # the name of what is in no manager, in trimesh
_FARTHEST = sys.float_info.max  # the distance of nothing, in trimesh
_NO_FACE = -1  # of a convex mesh

# Two convex meshes that only touch do not collide in FCL, up to about this share of their size: one of the two is
# shrunk by it.
_SHRUNK = 1 - 2.0**-36
# Matrices whose columns are so nearly a rotation are one; others also scale.
_RIGID = 1e-6
# Lengths in `Intersect` of FCL: of a corner in a plane, and of corners that are equally deep.
_IN_PLANE, _EQUALLY_DEEP = 1e-5, 1e-6
# Relative to the size of a mesh, how far from a face a point on it may be.
_ON_FACE = 1e-9

# Up to so many slots, boxes are compared one by one, as numbers of Python: that takes less than one array.
_FEW_SLOTS = 64
_FEW_MOVED = 16  # the same, for poses
# Farther away, `Shapes` checks positions.
_CHECKED_BEYOND = 1e30

# Tested at first, and by how much more each time, where one is enough.
_FEW, _GROWTH = 4, 8
_MOST_ASKED = 64  # meshes in no manager whose shapes are kept for the next query, and scaled forms of one mesh


class CollisionManager:
    """Named meshes that collide with each other, and with others, as ``trimesh.collision.CollisionManager``.

    Notes
    -----
    Scaling and mirroring matrices are applied to the mesh, which FCL does not do. An object that is added by a name in
    use replaces the other. Matrices are not rounded to float32.
    """

    def __init__(self) -> None:
        self._objs: dict[Hashable, _Object] = {}
        self._placed = _Placed(self._objs)
        self._known = _KnownPairs()
        self._known_of_few = _KnownPairsOfFew()
        self._asked: dict[_Geometry, _One] = {}

    # Objects

    def add_object(self, name: Hashable, mesh: Any, transform: Any = None) -> _Object:
        """Add an object, or replace the one of that name.

        Parameters
        ----------
        name : hashable
            Its name.
        mesh : trimesh.Trimesh
            Its geometry, as it is now.
        transform : array_like, shape (4, 4), optional
            Where it is. Default: None, where its vertices say.

        Returns
        -------
        object
            What stands for it; in trimesh, an object of python-fcl.

        Raises
        ------
        ValueError
            A mesh without faces; a matrix of another shape, or with numbers that are not finite.
        """
        one = _Object(name, _geometry_of(mesh), _matrix_of(transform))
        if (old := self._objs.get(name)) is not None:
            self._placed.remove(old)
        self._objs[name] = one
        self._placed.note(one)
        return one

    def remove_object(self, name: Hashable) -> None:
        """Remove an object.

        Parameters
        ----------
        name : hashable
            Its name.

        Raises
        ------
        ValueError
            There is none of that name.
        """
        self._placed.remove(self._named(name))
        del self._objs[name]

    def set_transform(self, name: Hashable, transform: Any) -> None:
        """Put an object elsewhere.

        Parameters
        ----------
        name : hashable
            Its name.
        transform : array_like, shape (4, 4)
            Where it is from now on.

        Raises
        ------
        ValueError
            As `add_object`; there is none of that name.
        """
        one = self._named(name)
        one.matrix = _matrix_of(transform)
        self._placed.note(one)

    # Collisions

    def in_collision_single(
        self, mesh: Any, transform: Any = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Find whether a mesh collides with any object, and with which.

        Parameters
        ----------
        mesh : trimesh.Trimesh
            Its geometry.
        transform : array_like, shape (4, 4), optional
            Where it is. Default: None, where its vertices say.
        return_names, return_data : bool
            What else to return.

        Returns
        -------
        bool
            Whether it collides.
        set of names
            With `return_names`: those of the objects that it collides with.
        list of ContactData
            With `return_data`: its contacts.

        Raises
        ------
        ValueError
            As `add_object`.
        """
        mine = self._placed.brought_up()
        side = self._one(mesh, transform)
        found: Any
        if mine.are_few and not return_data:
            found = _meeting_of_few(mine, side, all_pairs=return_names)
            return (len(found) > 0, {mine.names[slot] for slot, _ in found}) if return_names else len(found) > 0
        found = _meeting(mine, side, all_pairs=return_names or return_data)
        names = mine.names
        hits = {names[slot] for slot in found[:, 0].tolist()} if return_names else set()
        contacts = _contacts(mine, side, found) if return_data else []
        return _answer(len(found) > 0, return_names, hits, return_data, contacts)

    def in_collision_internal(self, return_names: bool = False, return_data: bool = False) -> Any:
        """Find whether any two objects collide, and which.

        Parameters
        ----------
        return_names, return_data : bool
            What else to return.

        Returns
        -------
        bool
            Whether two collide.
        set of tuple
            With `return_names`: the names of those that do, each pair in alphabetical order.
        list of ContactData
            With `return_data`: their contacts.
        """
        if len(self._objs) < 2:
            return _answer(False, return_names, set(), return_data, [])
        known, of_few = self._known, self._known_of_few
        if not (return_names or return_data) and (known.has_hit(self._placed) or of_few.has_hit(self._placed)):
            return True
        mine = self._placed.brought_up()
        if mine.are_few and not return_data:
            hits = of_few.of(mine, all_pairs=return_names)
            return (len(hits) > 0, of_few.names(mine)) if return_names else len(hits) > 0
        found = known.of(mine, all_pairs=return_names or return_data)
        contacts = _contacts(mine, mine, found) if return_data else []
        return _answer(
            len(found) > 0, return_names, known.names(mine) if return_names else set(), return_data, contacts
        )

    def in_collision_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Find whether any object collides with one of another manager, and which.

        Parameters
        ----------
        other_manager : CollisionManager
            The other, one of ours.
        return_names, return_data : bool
            What else to return.

        Returns
        -------
        bool
            Whether two collide.
        set of tuple
            With `return_names`: the names of those that do, in this manager and in the other.
        list of ContactData
            With `return_data`: their contacts.
        """
        mine, other = self._placed.brought_up(), other_manager._placed.brought_up()
        found = _meeting(mine, other, all_pairs=return_names or return_data)
        names = (
            {(mine.names[first], other.names[second]) for first, second in found.tolist()} if return_names else set()
        )
        contacts = _contacts(mine, other, found) if return_data else []
        return _answer(len(found) > 0, return_names, names, return_data, contacts)

    # Distances

    def min_distance_single(
        self, mesh: Any, transform: Any = None, return_name: bool = False, return_data: bool = False
    ) -> Any:
        """Measure the distance of a mesh to the nearest object.

        Parameters
        ----------
        mesh : trimesh.Trimesh
            Its geometry.
        transform : array_like, shape (4, 4), optional
            Where it is. Default: None, where its vertices say.
        return_name, return_data : bool
            What else to return.

        Returns
        -------
        float
            The distance. If it overlaps an object and one of the two is convex, minus the depth in one that it
            overlaps; 0 if two surfaces meet; the largest float without objects.
        name
            With `return_name`: that of the nearest object, or None.
        DistanceData
            With `return_data`: where they are nearest.
        """
        mine = self._placed.brought_up()
        side = self._one(mesh, transform)
        nearest = _nearest_of_few(mine, side) if mine.are_few else _nearest(mine, side)
        name = None if nearest.first < 0 else mine.names[nearest.first]
        data = _distance_data(mine, side, nearest, (name, _EXTERNAL)) if return_data else None
        return _distance_answer(nearest.distance, return_name, name, return_data, data)

    def min_distance_internal(
        self, name: Hashable | None = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Measure the distance of the two objects that are nearest to each other.

        Parameters
        ----------
        name : hashable, optional
            Of one that must be one of the two. Default: None, any.
        return_names, return_data : bool
            What else to return.

        Returns
        -------
        float
            As in `min_distance_single`; the largest float with fewer than two objects.
        tuple of names
            With `return_names`: theirs, in alphabetical order.
        DistanceData
            With `return_data`: where they are nearest.

        Raises
        ------
        ValueError
            There is no object of that name.
        """
        if name is not None:
            self._named(name)
        mine = self._placed.brought_up()
        if name is None:
            nearest = self._known.nearest(mine)
        else:
            slot = self._objs[name].slot
            nearest = _nearest(mine, mine, of=slot)
        names: tuple[Any, Any] = (None, None)
        if nearest.first >= 0:
            names = mine.names[nearest.first], mine.names[nearest.second]
        data = _distance_data(mine, mine, nearest, names) if return_data else None
        return _distance_answer(
            nearest.distance, return_names, names if names[0] is None else tuple(sorted(names)), return_data, data
        )

    def min_distance_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Measure the distance of the nearest two objects of two managers.

        Parameters
        ----------
        other_manager : CollisionManager
            The other, one of ours.
        return_names, return_data : bool
            What else to return.

        Returns
        -------
        float
            As in `min_distance_single`; the largest float if one is empty.
        tuple of names
            With `return_names`: that in this manager and that in the other.
        DistanceData
            With `return_data`: where they are nearest.
        """
        mine, other = self._placed.brought_up(), other_manager._placed.brought_up()
        nearest = _nearest(mine, other)
        names: tuple[Any, Any] = (None, None)
        if nearest.first >= 0:
            names = mine.names[nearest.first], other.names[nearest.second]
        data = _distance_data(mine, other, nearest, names) if return_data else None
        return _distance_answer(nearest.distance, return_names, names, return_data, data)

    # Inside

    def _named(self, name: Hashable) -> _Object:
        one = self._objs.get(name)
        if one is None:
            raise ValueError(f"{name} not in collision manager!")
        return one

    def _one(self, mesh: Any, transform: Any) -> _One:
        """Place a mesh that is in no manager."""
        matrix, geometry = _matrix_of(transform), _geometry_of(mesh)
        known = self._asked.get(geometry)
        if known is not None and _put(known.shapes, _FIRST_ROWS, matrix):
            return known
        poses = _poses_of([matrix])
        if poses.linear:
            geometry = geometry.mapped(poses.linear[0])
        known = self._asked.get(geometry)
        if known is None:
            if len(self._asked) >= _MOST_ASKED:
                self._asked.clear()
            known = self._asked[geometry] = _One(geometry, poses)
        else:
            known.shapes.move(poses.positions, poses.rotations)
        return known


def scene_to_collision(scene: Any) -> tuple[CollisionManager, dict[Any, Any]]:
    """Make a manager of the objects of a scene.

    Parameters
    ----------
    scene : trimesh.Scene
        Its nodes with geometry are added, by name.

    Returns
    -------
    manager : CollisionManager
        The manager.
    objects : dict
        What `CollisionManager.add_object` returned for each node.
    """
    manager, objects = CollisionManager(), {}
    for node in scene.graph.nodes_geometry:
        transform, geometry = scene.graph[node]
        objects[node] = manager.add_object(name=node, mesh=scene.geometry[geometry], transform=transform)
    return manager, objects


# Geometry


class _Geometry:
    """What is known of a mesh: its shape; of convex meshes, also without the boundary."""

    __slots__ = ("_mapped", "closed", "faces", "is_convex", "open", "vertices")

    def __init__(self, vertices: Floats, faces: NDArray[Any], is_convex: bool) -> None:
        if not len(faces):
            raise ValueError("the mesh has no faces")
        self.vertices, self.faces = vertices, faces
        self._mapped: dict[bytes, _Geometry] = {}
        if is_convex:
            try:
                self.closed: bp.ConvexHull | bp.Mesh = bp.ConvexHull(vertices)
                middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
                self.open: bp.ConvexHull | bp.Mesh = bp.ConvexHull(middle + (vertices - middle) * _SHRUNK)
            except ValueError:  # they lie in one plane
                is_convex = False
        if not is_convex:
            self.closed = self.open = bp.Mesh(vertices, faces)
        self.is_convex = is_convex

    def mapped(self, linear: Floats) -> _Geometry:
        """Give the same for a mesh that is scaled, sheared or mirrored."""
        key = linear.tobytes()
        known = self._mapped.get(key)
        if known is None:
            if len(self._mapped) >= _MOST_ASKED:
                self._mapped.clear()
            faces = self.faces if np.linalg.det(linear) > 0 else self.faces[:, ::-1]
            known = self._mapped[key] = _Geometry(self.vertices @ linear.T, faces, self.is_convex)
        return known


_GEOMETRIES: dict[int, tuple[weakref.ref[Any], int, _Geometry]] = {}


def _geometry_of(mesh: Any) -> _Geometry:
    """Look up what is known of a mesh, by what it contains now."""
    if not isinstance(mesh, _trimesh.Trimesh):
        return _new_geometry(mesh)
    key, content = id(mesh), hash(mesh)
    known = _GEOMETRIES.get(key)
    if known is not None and known[0]() is mesh and known[1] == content:
        return known[2]
    geometry = _new_geometry(mesh)
    _GEOMETRIES[key] = weakref.ref(mesh, lambda _: _GEOMETRIES.pop(key, None)), content, geometry
    return geometry


def _new_geometry(mesh: Any) -> _Geometry:
    vertices, faces = np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int64)
    return _Geometry(vertices, faces.reshape(-1, 3), bool(len(faces)) and bool(mesh.is_convex))


def _matrix_of(transform: Any) -> bytes:
    """Check a matrix, and give its numbers.

    Raises
    ------
    ValueError
        Another shape; numbers that are not finite.
    """
    if transform is None:
        return _AT_REST
    matrix = np.asarray(transform, np.float64)
    if matrix.shape != (4, 4):
        raise ValueError("transform must be (4,4)!")
    numbers = matrix.tobytes()
    if not isfinite(sum(_numbers_of(numbers))) and not np.isfinite(matrix).all():
        raise ValueError("transform must be finite")
    return numbers


_numbers_of = Struct("16d").unpack
_AT_REST = np.eye(4).tobytes()
_NOT_TURNED = (1.0, 0.0, 0.0, 0.0)


class _Poses(NamedTuple):
    """Matrices, taken apart: positions, quaternions of any length, and what remains.

    `linear` are maps of the vertices that are no rotations, by place; these are not rotated.
    """

    positions: Floats
    rotations: Floats
    linear: dict[int, Floats]


def _poses_of(matrices: list[bytes]) -> _Poses:
    numbers = np.frombuffer(b"".join(matrices)).reshape(-1, 4, 4)
    count = len(numbers)
    if count <= _FEW:
        rotations = [_quaternion_of(*number[:12]) for number in numbers.reshape(count, 16).tolist()]
        linear = {place: numbers[place, :3, :3] for place, one in enumerate(rotations) if one is None}
        return _Poses(numbers[:, :3, 3], np.array([one or _NOT_TURNED for one in rotations]), linear)
    (a, b, c), (d, e, f), (g, h, i) = np.moveaxis(numbers[:, :3, :3], 0, -1)
    error = np.abs([
        a * a + d * d + g * g - 1, b * b + e * e + h * h - 1, c * c + f * f + i * i - 1,
        a * b + d * e + g * h, a * c + d * f + g * i, b * c + e * f + h * i,
    ]).max(axis=0)  # fmt: skip
    volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    squares = np.array([1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i])
    wx, wy, wz, xy, xz, yz = h - f, c - g, d - b, b + d, c + g, f + h
    ww, xx, yy, zz = squares
    products = np.array([[ww, wx, wy, wz], [wx, xx, xy, xz], [wy, xy, yy, yz], [wz, xz, yz, zz]])
    turned = products[squares.argmax(axis=0), :, np.arange(count)]
    odd = np.flatnonzero(~((error <= _RIGID) & (volume > 0)))
    turned[odd] = _NOT_TURNED
    return _Poses(numbers[:, :3, 3], turned, {place: numbers[place, :3, :3] for place in odd.tolist()})


def _quaternion_of(
    a: float,
    b: float,
    c: float,
    _x: float,
    d: float,
    e: float,
    f: float,
    _y: float,
    g: float,
    h: float,
    i: float,
    _z: float,
) -> tuple[float, float, float, float] | None:
    """Give the quaternion of a matrix, row by row, as `_poses_of` does of many; None if it is no rotation."""
    error = max(
        abs(a * a + d * d + g * g - 1), abs(b * b + e * e + h * h - 1), abs(c * c + f * f + i * i - 1),
        abs(a * b + d * e + g * h), abs(a * c + d * f + g * i), abs(b * c + e * f + h * i),
    )  # fmt: skip
    volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if not (error <= _RIGID and volume > 0):
        return None
    # The largest of the four numbers first: the others are known best from that.
    ww, xx, yy, zz = 1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i
    largest = max(ww, xx, yy, zz)
    if largest == ww:
        return ww, h - f, c - g, d - b
    if largest == xx:
        return h - f, xx, b + d, c + g
    if largest == yy:
        return c - g, b + d, yy, f + h
    return d - b, c + g, f + h, zz


# What is placed


def _portions(count: int, *, at_once: bool = False) -> Iterator[slice]:
    """Divide what is tested until something is found: a few first, then more and more, or all at once."""
    begin, size = 0, count if at_once else _FEW
    while begin < count:
        yield slice(begin, begin + size)
        begin, size = begin + size, size * _GROWTH


class _Object:
    """One object of a manager; `slot` is its number among those that are placed, -1 before."""

    __slots__ = ("base", "matrix", "name", "slot")

    def __init__(self, name: Hashable, base: _Geometry, matrix: bytes) -> None:
        self.name, self.base, self.matrix, self.slot = name, base, matrix, -1

    def __repr__(self) -> str:
        return f"<object {self.name!r} of a CollisionManager>"


class _One:
    """A mesh that is in no manager, as it is placed; the same as `_Placed` for one slot."""

    def __init__(self, geometry: _Geometry, poses: _Poses) -> None:
        self.geometries, self.names, self.slots = [geometry], [_EXTERNAL], np.zeros(1, np.int32)
        self.is_convex, self.are_convex = np.array([geometry.is_convex]), [geometry.is_convex]
        self.shapes = bp.Shapes([geometry.closed, geometry.open], poses.positions[0], poses.rotations[0])

    @property
    def boxes(self) -> Floats:
        return self.shapes.boxes[::2]

    @property
    def boxes_of_few(self) -> list[Box | None]:
        """The boxes of its slot, as those of `_Placed`."""
        return [tuple(self.shapes.boxes.ravel().tolist())]


_FIRST_ROWS = np.array([0, 1], np.int32)


def _put(shapes: bp.Shapes, rows: Rows, matrix: bytes) -> bool:
    """Move the two rows of a slot; say whether that could be done: by a rotation, to a place that is not far."""
    numbers = _numbers_of(matrix)
    rotation, position = _quaternion_of(*numbers[:12]), numbers[3:12:4]
    if rotation is None or not max(map(abs, position)) < _CHECKED_BEYOND:
        return False
    put(shapes, rows, position, rotation)
    return True


class _Placed:
    """The objects of a manager as they are placed, brought up to date when a query needs it.

    Each has two rows of `shapes`: that of its slot doubled is the shape, the next one the shape without its boundary.
    """

    def __init__(self, objects: dict[Hashable, _Object]) -> None:
        self._objects = objects
        self._waiting: dict[_Object, None] = {}  # new or moved
        self._removed: list[int] = []  # slots
        self.changed: set[int] = set()  # slots, since `_KnownPairs` asked
        self.epoch = 0  # slots are numbered anew with each
        self.changed_of_few: set[int] = set()  # the same, since `_KnownPairsOfFew` asked
        self._forget()

    def _forget(self) -> None:
        self.epoch += 1
        self.changed.clear()
        self.changed_of_few.clear()
        # Of each slot of few: lower and upper corner, with and without the boundary; None of what was removed.
        self.boxes_of_few: list[Box | None] = []
        self._rows_of_few: list[Rows] = []
        self.are_convex: list[bool] = []
        self.are_few = True
        self.shapes = self._index = None  # type: Any
        self.names: list[Any] = []
        self.geometries: list[_Geometry] = []
        self.is_convex = self.is_alive = np.empty(0, np.bool_)
        # The row of the index of each slot, and the slot of each row.
        self._row_of = self._slot_of = np.empty(0, np.int32)

    @property
    def slots(self) -> Rows:
        """Those in use, ascending."""
        return np.flatnonzero(self.is_alive).astype(np.int32)

    @property
    def boxes(self) -> Floats:
        """The bounding box of each slot."""
        boxes: Floats = self.shapes.boxes[::2]
        return boxes

    def note(self, one: _Object) -> None:
        """Note that an object is new, or has moved."""
        self._waiting[one] = None
        if one.slot >= 0:
            self.changed.add(one.slot)
            if self.are_few:
                self.changed_of_few.add(one.slot)

    def remove(self, one: _Object) -> None:
        """Note that an object is no longer there."""
        self._waiting.pop(one, None)
        if one.slot >= 0:
            self.changed.add(one.slot)
            if self.are_few:
                self.changed_of_few.add(one.slot)
            self._removed.append(one.slot)

    def brought_up(self) -> _Placed:
        """Place what is new or has moved."""
        if self._waiting or self._removed:
            try:
                self._bring_up()
            except BaseException:
                self._forget()  # everything is placed again by the next query
                self._waiting.update(dict.fromkeys(self._objects.values()))
                raise
            self._waiting.clear()
            self._removed.clear()
        return self

    def _bring_up(self) -> None:
        count = len(self.names)
        # Slots are not used again, and arrays are copied to grow: now and then everything is placed anew.
        gone = count - len(self._objects) + 2 * sum(one.slot < 0 for one in self._waiting)
        if not count or gone > len(self._objects):
            self._forget()
            self._append(list(self._objects.values()))
            return
        waiting = list(self._waiting)
        if self.are_few and not self._removed and len(waiting) <= _FEW_MOVED and all(map(self._put_one, waiting)):
            self._index = None
            return
        poses = _poses_of([one.matrix for one in waiting])
        geometries = _geometries_of(waiting, poses)
        has_moved = np.array(
            [
                one.slot >= 0 and geometry is self.geometries[one.slot]
                for one, geometry in zip(waiting, geometries, strict=True)
            ],
            np.bool_,
        )
        new = [one for one, moved in zip(waiting, has_moved.tolist(), strict=True) if not moved]
        gone_slots = self._removed + [one.slot for one in new if one.slot >= 0]  # or of another shape
        if gone_slots:
            if self._index is not None:
                self._index.remove(self._row_of[gone_slots])
            self.is_alive[gone_slots] = False
        if has_moved.any():
            slots = np.array([one.slot for one in waiting], np.int32)[has_moved]
            rows = np.repeat(2 * slots, 2)
            rows[1::2] += 1
            positions, rotations = (np.repeat(given[has_moved], 2, axis=0) for given in poses[:2])
            self.shapes.move(positions, rotations, rows=rows)
            if self._index is not None:
                self._index.update(self.boxes[slots], self._row_of[slots])
        self._append(new)

    def _put_one(self, one: _Object) -> bool:
        """Move one object of few; say whether that could be done."""
        slot = one.slot
        if slot < 0 or self.geometries[slot] is not one.base:
            return False
        if not _put(self.shapes, self._rows_of_few[slot], one.matrix):
            return False
        self.boxes_of_few[slot] = tuple(self.shapes.boxes[2 * slot : 2 * slot + 2].ravel().tolist())
        return True

    def _append(self, objects: list[_Object]) -> None:
        """Place objects in slots of their own."""
        if objects:
            self._append_some(objects)
        count = len(self.names)
        self.are_few = count <= _FEW_SLOTS
        if self.are_few and count:
            self._index = None
            boxes = self.shapes.boxes.reshape(count, 12).tolist()
            alive = self.is_alive.tolist()
            self.boxes_of_few = [tuple(box) if is_alive else None for box, is_alive in zip(boxes, alive, strict=True)]
            self._rows_of_few = list(np.arange(2 * count, dtype=np.int32).reshape(count, 2))

    def _append_some(self, objects: list[_Object]) -> None:
        count, poses = len(self.names), _poses_of([one.matrix for one in objects])
        geometries = _geometries_of(objects, poses)
        shapes = [shape for one in geometries for shape in (one.closed, one.open)]
        placed = shapes, np.repeat(poses.positions, 2, axis=0), np.repeat(poses.rotations, 2, axis=0)
        if count:
            self.shapes.extend(*placed)
        else:
            self.shapes = bp.Shapes(*placed)
        if self._index is not None:
            rows = self._index.insert(self.boxes[count:])
            self._row_of = np.concatenate([self._row_of, rows])
            more = int(rows.max()) + 1 - len(self._slot_of)
            self._slot_of = np.concatenate([self._slot_of, np.zeros(max(0, more), np.int32)])
            self._slot_of[rows] = np.arange(count, count + len(objects))
        self.are_convex += [one.is_convex for one in geometries]
        self.is_convex = np.concatenate([self.is_convex, [one.is_convex for one in geometries]])
        self.is_alive = np.concatenate([self.is_alive, np.ones(len(objects), np.bool_)])
        self.geometries += geometries
        self.names += [one.name for one in objects]
        for slot, one in enumerate(objects, count):
            one.slot = slot

    def _indexed(self) -> Any:
        """Index the boxes, unless they are."""
        if self._index is None:
            slots = self.slots
            self._index = bp.Index(self.boxes[slots])
            self._row_of = np.zeros(len(self.names), np.int32)
            self._row_of[slots] = np.arange(len(slots))
            self._slot_of = slots
        return self._index

    def near(self, boxes: Floats) -> tuple[Rows, Rows]:
        """Find the slots whose boxes meet some boxes: numbers of these, and slots."""
        if self.shapes is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        found = self._indexed().query(boxes)
        rows = found.rows
        return np.zeros(len(rows), np.int32) if len(boxes) == 1 else found.query_rows, self._slot_of[rows]

    def all_near(self) -> Rows:
        """Find all pairs of slots whose boxes meet."""
        index = self._indexed()
        pairs: Rows = self._slot_of[index.pairs()]
        return pairs

    def beside(self, points: Floats, count: int) -> Rows:
        """Find the slots whose boxes are nearest to points, shape (n, count or less); -1: none."""
        found = self._indexed().nearest(points, count)
        return np.where(found.rows < 0, np.int32(-1), self._slot_of[found.rows])


def _geometries_of(objects: list[_Object], poses: _Poses) -> list[_Geometry]:
    geometries = [one.base for one in objects]
    for place, linear in poses.linear.items():
        geometries[place] = geometries[place].mapped(linear)
    return geometries


# Collisions


class _KnownPairs:
    """Which objects of a manager collide: kept for those that do not move."""

    def __init__(self) -> None:
        self._epoch = -1
        self._forget(0)

    def _forget(self, count: int) -> None:
        self._hits = np.empty((0, 2), np.int32)
        self._is_settled = np.zeros(count, np.bool_)  # slots of which all pairs among them are known
        self._names: set[tuple[Any, Any]] | None = None
        self._nearest: _Nearest | None = None
        self._is_nearest_known = False

    def has_hit(self, placed: _Placed) -> bool:
        """Say whether two of those that have not changed are known to collide, among the first few that do."""
        changed = placed.changed
        if placed.epoch != self._epoch:
            return False
        if not changed:
            return len(self._hits) > 0
        return any(first not in changed and second not in changed for first, second in self._hits[:64].tolist())

    def of(self, placed: _Placed, *, all_pairs: bool) -> Rows:
        """Find the pairs that collide, as slots: all, or at least one if there is any."""
        self._follow(placed)
        open_slots = np.flatnonzero(placed.is_alive & ~self._is_settled)
        for portion in _portions(len(open_slots), at_once=all_pairs):
            if len(self._hits) and not all_pairs:
                break
            self._settle(placed, open_slots[portion].astype(np.int32))
        return self._hits

    def names(self, placed: _Placed) -> set[tuple[Any, Any]]:
        """Give the names of the pairs that `of` has found."""
        if self._names is None:
            names = placed.names
            self._names = {
                (b, a) if (b := names[second]) < (a := names[first]) else (a, b)
                for first, second in self._hits.tolist()
            }
        return self._names.copy()

    def nearest(self, placed: _Placed) -> _Nearest:
        """Find the two objects that are nearest to each other."""
        self._follow(placed)
        if not self._is_nearest_known:
            last = self._nearest
            if last is not None and not (last.first >= 0 and placed.is_alive[[last.first, last.second]].all()):
                last = None
            self._nearest = _nearest(placed, placed, guess=last)
            self._is_nearest_known = True
        assert self._nearest is not None
        return self._nearest

    def _follow(self, placed: _Placed) -> None:
        if placed.epoch != self._epoch:
            self._forget(len(placed.names))
            self._epoch = placed.epoch
        elif placed.changed or len(self._is_settled) < len(placed.names):
            grown = np.zeros(len(placed.names), np.bool_)
            grown[: len(self._is_settled)] = self._is_settled
            grown[list(placed.changed)] = False
            if len(self._hits):
                unchanged = np.ones(len(grown), np.bool_)
                unchanged[list(placed.changed)] = False
                self._hits = self._hits[unchanged[self._hits].all(axis=1)]
            self._is_settled, self._names, self._is_nearest_known = grown, None, False
        placed.changed.clear()

    def _settle(self, placed: _Placed, slots: Rows) -> None:
        """Find the pairs of some slots with each other and with those that are settled."""
        if len(slots) == int(placed.is_alive.sum()):
            pairs = placed.all_near()
        else:
            numbers, others = placed.near(placed.boxes[slots])
            mine = slots[numbers]
            is_open = np.zeros(len(placed.names), np.bool_)
            is_open[slots] = True
            kept = self._is_settled[others] | (is_open[others] & (mine < others))
            pairs = np.stack([mine[kept], others[kept]], axis=1)
        pairs.sort(axis=1)
        found = _colliding(placed, placed, pairs)
        self._hits = np.concatenate([self._hits, found]) if len(self._hits) else found
        self._is_settled[slots] = True
        self._names = None


class _KnownPairsOfFew:
    """The same for few objects, by numbers and sets of Python."""

    def __init__(self) -> None:
        self._epoch, self._count = -1, 0
        self._hits: set[tuple[int, int]] = set()
        self._open: set[int] = set()  # slots of which not all pairs are known
        self._names: set[tuple[Any, Any]] | None = None

    def has_hit(self, placed: _Placed) -> bool:
        """Say whether two of those that have not changed are known to collide."""
        if placed.epoch != self._epoch:
            return False
        changed = placed.changed_of_few
        return any(first not in changed and second not in changed for first, second in self._hits)

    def of(self, placed: _Placed, *, all_pairs: bool) -> set[tuple[int, int]]:
        """Find the pairs that collide, as slots: all, or at least one if there is any."""
        changed = placed.changed_of_few
        if placed.epoch != self._epoch:
            self._epoch, self._count = placed.epoch, 0
            self._hits, self._open, self._names = set(), set(), None
        if changed or self._count < len(placed.names):
            self._open.update(changed, range(self._count, len(placed.names)))
            self._hits = {pair for pair in self._hits if pair[0] not in changed and pair[1] not in changed}
            self._names, self._count = None, len(placed.names)
            changed.clear()
        if self._open and (all_pairs or not self._hits):
            try:
                self._settle(placed, all_pairs)
            except BaseException:
                self._epoch = -1  # all pairs are tested again by the next query
                raise
        return self._hits

    def names(self, placed: _Placed) -> set[tuple[Any, Any]]:
        """Give the names of the pairs that `of` has found."""
        if self._names is None:
            names = placed.names
            self._names = {
                (b, a) if (b := names[second]) < (a := names[first]) else (a, b) for first, second in self._hits
            }
        return self._names.copy()

    def _settle(self, placed: _Placed, all_pairs: bool) -> None:
        self._names, slots = None, self._open
        boxes = placed.boxes_of_few
        pairs: list[tuple[int, int]] = []
        while slots:
            slot = slots.pop()
            box = boxes[slot]
            if box is None:
                continue
            pairs += [
                (other, slot) if other < slot else (slot, other)
                for other in _meeting_boxes(boxes, box) if other != slot and other not in slots
            ]  # fmt: skip
            if pairs and not all_pairs:
                self._hits.update(_colliding_of_few(placed, placed, boxes, pairs))
                pairs = []
                if self._hits:
                    return
        self._hits.update(_colliding_of_few(placed, placed, boxes, pairs))


def _meeting_boxes(boxes: list[Box | None], box: Box) -> list[int]:
    """Find the slots whose boxes meet a box."""
    x, y, z, to_x, to_y, to_z = box[:6]
    return [
        slot
        for slot, one in enumerate(boxes)
        if one is not None
        and one[0] <= to_x
        and x <= one[3]
        and one[1] <= to_y
        and y <= one[4]
        and one[2] <= to_z
        and z <= one[5]
    ]


def _meeting_of_few(placed: _Placed, side: _One, *, all_pairs: bool) -> list[tuple[int, int]]:
    """Find what collides with a mesh, as `_meeting` does."""
    boxes = side.boxes_of_few
    assert boxes[0] is not None
    pairs = [(slot, 0) for slot in _meeting_boxes(placed.boxes_of_few, boxes[0])]
    for portion in _portions(len(pairs), at_once=all_pairs):
        if found := _colliding_of_few(placed, side, boxes, pairs[portion]):
            return found
    return []


def _colliding_of_few(
    first: _Placed, second: _Placed | _One, boxes: list[Box | None], pairs: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Choose the pairs of slots that collide, of those whose boxes meet, as `_colliding` does."""
    rows, other_rows, asked = [], [], []
    for pair in pairs:
        slot, other = pair
        row = 2 * slot
        if first.are_convex[slot] and second.are_convex[other]:
            row += 1
            box = first.boxes_of_few[slot]
            if box is None or not _meeting_boxes(boxes[other : other + 1], box[6:]):
                continue
        rows.append(row)
        other_rows.append(2 * other)
        asked.append(pair)
    if not asked:
        return asked
    is_hit = _of_pairs(_native.geometry_overlaps, first.shapes, second.shapes, rows, other_rows, None).tolist()
    return [pair for pair, hit in zip(asked, is_hit, strict=True) if hit]


def _of_pairs(
    ask: Any, first: bp.Shapes, second: bp.Shapes, rows: list[int], other_rows: list[int], *options: Any
) -> Any:
    """Ask the core about pairs of hulls and meshes, without checks."""
    known = first.store, first.geometries.prepared, second.store, second.geometries.prepared
    return ask(*known, np.array(rows, np.int32), np.array(other_rows, np.int32), *options)


def _candidates(placed: _Placed, side: _Placed | _One) -> Rows:
    """Find pairs whose boxes meet: slots of both."""
    slots = side.slots
    if not len(slots):
        return np.empty((0, 2), np.int32)
    boxes = side.boxes
    numbers, first = placed.near(boxes if len(slots) == len(boxes) else boxes[slots])
    return np.stack([first, slots[numbers]], axis=1)


def _meeting(placed: _Placed, side: _Placed | _One, *, all_pairs: bool) -> Rows:
    """Find the pairs that collide: all, or at least one if there is any."""
    pairs = _candidates(placed, side)
    for portion in _portions(len(pairs), at_once=all_pairs):
        found = _colliding(placed, side, pairs[portion])
        if len(found):
            return found
    return pairs[:0]


def _colliding(first: _Placed | _One, second: _Placed | _One, pairs: Rows) -> Rows:
    """Choose the pairs of slots that collide."""
    if not len(pairs):
        return pairs
    rows = 2 * pairs
    rows[:, 0] += first.is_convex[pairs[:, 0]] & second.is_convex[pairs[:, 1]]
    found: Rows = bp.overlaps(first.shapes, second.shapes, rows) >> 1
    return found


# Distances


class _Nearest(NamedTuple):
    distance: float = _FARTHEST
    first: int = -1  # slots
    second: int = -1


def _nearest(
    first: _Placed, second: _Placed | _One, *, of: int | None = None, guess: _Nearest | None = None
) -> _Nearest:
    """Find the nearest pair of slots, with one of the second if it is given.

    Of those that overlap, it is one of the first that are looked at, as in FCL.
    """
    slots, best = second.slots if of is None else np.array([of], np.int32), _Nearest()
    if first.shapes is None or not len(slots):
        return best

    def look(some: Rows, reach: float) -> None:
        nonlocal best
        best = _nearest_of(first, second, *_within_reach(first, second, some, reach), best)

    if guess is not None:
        best = _nearest_of(first, second, np.array([guess[1:]], np.int32), np.zeros(1), best)
    else:
        look(slots[:_FEW], 0.0)
    if best.first < 0:
        some = slots[:1024]
        beside = first.beside(second.boxes[some].mean(axis=1), 2)
        pairs = np.stack([beside.ravel(), np.repeat(some, beside.shape[1])], axis=1)
        pairs = pairs[_are_two(first, second, pairs) & (pairs[:, 0] >= 0)]
        gaps = _gaps_of_boxes(first, second, pairs)
        nearest = np.argsort(gaps, kind="stable")[:1]
        best = _nearest_of(first, second, pairs[nearest], gaps[nearest], best)
    for portion in _portions(len(slots)):
        if not 0 < best.distance < _FARTHEST:
            break
        look(slots[portion], best.distance)
    return best


def _nearest_of_few(first: _Placed, second: _One) -> _Nearest:
    """Find the slot that is nearest to a mesh, as `_nearest` does."""
    (own,) = second.boxes_of_few
    assert own is not None
    x, y, z, to_x, to_y, to_z = own[:6]
    asked = []
    for slot, box in enumerate(first.boxes_of_few):
        if box is not None:
            from_x, from_y, from_z, up_to_x, up_to_y, up_to_z = box[:6]
            along = from_x - to_x if from_x > to_x else x - up_to_x if x > up_to_x else 0.0
            across = from_y - to_y if from_y > to_y else y - up_to_y if y > up_to_y else 0.0
            up = from_z - to_z if from_z > to_z else z - up_to_z if z > up_to_z else 0.0
            asked.append((sqrt(along * along + across * across + up * up) * (1 - 1e-12), slot))
    asked.sort()
    best = _Nearest()
    for gap, slot in asked:
        if best.distance <= 0 or gap >= best.distance:
            break
        distance = _distance_of_few(first, second, slot, gap, best.distance)
        if distance < best.distance:
            best = _Nearest(distance, slot, 0)
    return best


def _distance_of_few(first: _Placed, second: _One, slot: int, gap: float, within: float) -> float:
    """Measure one pair, as `_distances` does."""
    are_surfaces = not (first.are_convex[slot] or second.are_convex[0])
    pair = first.shapes, second.shapes, [2 * slot], [0]
    if are_surfaces and gap == 0 and _of_pairs(_native.geometry_overlaps, *pair, None)[0]:
        return 0.0
    distance = float(_of_pairs(_native.geometry_distances, *pair, None, within, 1)[0][0])
    return max(distance, 0.0) if are_surfaces else distance


def _are_two(first: Any, second: Any, pairs: Rows) -> NDArray[np.bool_]:
    """Say which pairs are not of one object with itself."""
    are: NDArray[np.bool_] = pairs[:, 0] != pairs[:, 1]
    return are if first is second else np.ones(len(pairs), np.bool_)


def _within_reach(first: _Placed, second: _Placed | _One, slots: Rows, reach: float) -> tuple[Rows, Floats]:
    """Find pairs whose boxes are not farther apart than the reach, the nearest first; and how far they are apart."""
    boxes = second.boxes[slots]
    if reach:
        more = reach * (1 + 1e-12)
        boxes = np.stack([np.nextafter(boxes[:, 0] - more, -np.inf), np.nextafter(boxes[:, 1] + more, np.inf)], axis=1)
    numbers, others = first.near(boxes)
    pairs = np.stack([others, slots[numbers]], axis=1)
    pairs = pairs[_are_two(first, second, pairs)]
    if len(pairs) < 2:
        return pairs, np.zeros(len(pairs))
    gaps = _gaps_of_boxes(first, second, pairs)
    order = np.argsort(gaps, kind="stable")
    return pairs[order], gaps[order]


def _gaps_of_boxes(first: _Placed, second: _Placed | _One, pairs: Rows) -> Floats:
    """Give at most the distance of the boxes of each pair."""
    one, other = first.boxes[pairs[:, 0]], second.boxes[pairs[:, 1]]
    apart = np.maximum(np.maximum(one[:, 0] - other[:, 1], other[:, 0] - one[:, 1]), 0.0)
    gaps: Floats = np.linalg.norm(apart, axis=1) * (1 - 1e-12)
    return gaps


def _nearest_of(first: _Placed, second: _Placed | _One, pairs: Rows, gaps: Floats, best: _Nearest) -> _Nearest:
    """Measure pairs in ascending order of the gaps of their boxes, as long as one may be nearer than the best."""
    for portion in _portions(len(pairs)):
        if not (best.distance > 0 and gaps[portion.start] < best.distance):
            break
        some = pairs[portion]
        distances = _distances(first, second, some, best.distance)
        nearest = int(np.argmin(distances))
        if distances[nearest] < best.distance:
            best = _Nearest(float(distances[nearest]), *some[nearest].tolist())
    return best


def _distances(first: _Placed | _One, second: _Placed | _One, pairs: Rows, within: float) -> Floats:
    """Measure pairs of slots; infinite beyond a limit."""
    rows, one, other = 2 * pairs, first.shapes, second.shapes
    are_convex = first.is_convex[pairs[:, 0]], second.is_convex[pairs[:, 1]]
    if are_convex[0].all() and are_convex[1].all():
        return bp.distance(one, other, pairs=rows, within=within)
    distances = np.zeros(len(pairs))  # of surfaces that meet
    are_surfaces = ~are_convex[0] & ~are_convex[1]
    meet = np.zeros(len(pairs), np.bool_)
    if are_surfaces.any():
        meet[are_surfaces] = _mask_of_overlaps(one, other, rows[are_surfaces])
    distances[~meet] = bp.distance(one, other, pairs=rows[~meet], within=within)
    np.maximum(distances, 0.0, out=distances, where=are_surfaces)
    return distances


def _mask_of_overlaps(one: bp.Shapes, other: bp.Shapes, rows: Rows) -> NDArray[np.bool_]:
    """Say which pairs of rows, each there once, overlap."""
    found = bp.overlaps(one, other, rows).astype(np.int64)
    keys = rows.astype(np.int64)
    mask: NDArray[np.bool_] = np.isin(keys[:, 0] << 32 | keys[:, 1], found[:, 0] << 32 | found[:, 1])
    return mask


class _DistanceResult(NamedTuple):
    """What `DistanceData` is made of, as python-fcl names it."""

    min_distance: float
    nearest_points: Any
    b1: int
    b2: int


def _distance_data(first: Any, second: Any, nearest: _Nearest, names: tuple[Any, Any]) -> Any:
    """Find where a pair is nearest, and on which faces."""
    distance, one, other = nearest
    if one < 0:
        return DistanceData(names, _DistanceResult(distance, (None, None), _NO_FACE, _NO_FACE))
    if distance < 0:
        found = bp.contacts(first.shapes, second.shapes, [[2 * one, 2 * other]])
        points = found.points[0, 0] - np.multiply.outer((-0.5, 0.5), found.normals[0] * distance)
    else:
        placed = _alone(first, one), _alone(second, other)
        points = bp.clearances(*placed, within=distance + _reach_of(placed), solid=False).points[0]
    faces = [_face_at(side, slot, at) for side, slot, at in zip((first, second), (one, other), points, strict=True)]
    return DistanceData(names, _DistanceResult(distance, tuple(points), *faces))


def _alone(side: Any, slot: int) -> bp.Shapes:
    """Place the shape of one slot alone."""
    shapes = side.shapes
    return bp.Shapes(side.geometries[slot].closed, shapes.positions[2 * slot], shapes.rotations[2 * slot])


def _reach_of(placed: tuple[bp.Shapes, bp.Shapes]) -> float:
    """Give more than the rounding of a distance."""
    return 1e-9 * sum(float(np.abs(shapes.boxes).max()) for shapes in placed)


def _face_at(side: Any, slot: int, point: Floats) -> int:
    """Find the face that a point lies on."""
    if side.geometries[slot].is_convex:
        return _NO_FACE
    reach = _ON_FACE * float(np.abs(side.boxes[slot]).max())
    faces = np.empty(0, np.int32)
    while not len(faces):
        ball = bp.Shapes(bp.Sphere(reach), point)
        faces = bp.overlapping_faces(side.shapes, ball, pairs=[[2 * slot, 0]])[:, 1]
        reach *= 16
    corners = _corners(side, np.full(len(faces), slot), faces)
    near = _triangles.closest_point(corners, np.broadcast_to(point, (len(faces), 3)))
    return int(faces[np.argmin(np.linalg.norm(near - point, axis=1))])


def _corners(side: Any, slots: NDArray[Any], faces: Rows) -> Floats:
    """Place faces, each of the mesh in a slot: (n, 3, 3)."""
    own = np.empty((len(faces), 3, 3))
    order = np.argsort(slots, kind="stable")
    begins = np.flatnonzero(np.diff(slots[order], prepend=-1))
    for places in np.split(order, begins[1:]) if len(order) else ():
        geometry = side.geometries[slots[places[0]]]
        own[places] = geometry.vertices[geometry.faces[faces[places]]]
    axes = _axes(side.shapes.rotations[2 * slots])
    corners: Floats = side.shapes.positions[2 * slots][:, np.newaxis] + own[..., :1] * axes[:, np.newaxis, :, 0]
    corners += own[..., 1:2] * axes[:, np.newaxis, :, 1]
    corners += own[..., 2:] * axes[:, np.newaxis, :, 2]
    return corners


def _axes(rotations: Floats) -> Floats:
    """Make matrices of quaternions, whose columns are the axes."""
    w, x, y, z = rotations.T
    two = 2 / (w * w + x * x + y * y + z * z)
    matrices: Floats = np.moveaxis(
        np.array([
            [1 - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)],
            [two * (x * y + w * z), 1 - two * (x * x + z * z), two * (y * z - w * x)],
            [two * (x * z - w * y), two * (y * z + w * x), 1 - two * (x * x + y * y)],
        ]), -1, 0,
    )  # fmt: skip
    return matrices


# Contacts


class _ContactData(theirs.ContactData):  # type: ignore[misc]
    """A contact, as `ContactData` of trimesh, which makes it of an object of python-fcl."""

    def __init__(
        self, names: tuple[Any, Any], faces: tuple[int, int], point: Floats, normal: Floats, depth: float
    ) -> None:
        self.names = set(names)
        self._inds = dict(zip(names, faces, strict=True))
        self._point, self._normal, self._depth = point, normal, depth


def _contacts(first: Any, second: Any, pairs: Rows) -> list[Any]:
    """Find the contacts of pairs of slots that collide."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    both = first.is_convex[pairs[:, 0]] & second.is_convex[pairs[:, 1]]
    contacts = _contacts_of_hulls(first, second, pairs[both])
    rest = pairs[~both]
    if not len(rest):
        return contacts
    found = bp.overlapping_faces(first.shapes, second.shapes, pairs=2 * rest, most=theirs.COLLISION_PER_PAIR_CAP)
    slots, faces = rest[found[:, 0]], found[:, 1:]
    have_faces = faces >= 0
    some = have_faces.all(axis=1)
    contacts += _contacts_of_faces(first, second, slots[some], faces[some])
    some = ~have_faces[:, 1]
    contacts += _contacts_with_hulls(first, 0, second, 1, slots[some], faces[some])
    some = ~have_faces[:, 0]
    contacts += _contacts_with_hulls(second, 1, first, 0, slots[some], faces[some])
    return contacts


def _names_of(first: Any, second: Any, slots: Rows) -> Iterator[tuple[Any, Any]]:
    return ((first.names[one], second.names[other]) for one, other in slots.tolist())


def _contacts_of_hulls(first: Any, second: Any, pairs: Rows) -> list[Any]:
    """Find the contacts of pairs of convex meshes, one of each."""
    if not len(pairs):
        return []
    found = bp.contacts(first.shapes, second.shapes, 2 * pairs)
    # Any corner of the area of contact would do; of unit cubes upon each other, FCL takes the last.
    points = found.points[np.arange(len(found.pairs)), found.counts - 1]
    return [
        _ContactData(names, (_NO_FACE, _NO_FACE), point, normal, depth)
        for names, point, normal, depth in zip(
            _names_of(first, second, found.pairs >> 1), points, found.normals, found.depths.tolist(), strict=True
        )
    ]


def _contacts_with_hulls(side: Any, column: int, hulls: Any, other: int, slots: Rows, faces: Rows) -> list[Any]:
    """Find the contacts of faces of one side with convex meshes of the other; `column`: of the side in the pairs."""
    if not len(slots):
        return []
    triangles = bp.Shapes(bp.Triangle(_corners(side, slots[:, column], faces[:, column])), np.zeros((len(slots), 3)))
    pairs = np.stack([np.arange(len(slots), dtype=np.int32), 2 * slots[:, other]], axis=1)
    found = bp.contacts(triangles, hulls.shapes, pairs)
    rows = found.pairs[:, 0]
    sides = (side, hulls) if column == 0 else (hulls, side)
    return [
        _ContactData(names, both, point, normal, depth)
        for names, both, point, normal, depth in zip(
            _names_of(*sides, slots[rows]), map(tuple, faces[rows].tolist()), found.points[:, 0],
            found.normals if column == 0 else -found.normals, found.depths.tolist(), strict=True,
        )
    ]  # fmt: skip


def _contacts_of_faces(first: Any, second: Any, slots: Rows, faces: Rows) -> list[Any]:
    """Find the contacts of faces with faces: where, and how deep, is computed as in FCL.

    Of the two planes, that counts through which the other triangle reaches less far; points are the corners of that
    triangle that are the farthest behind it, up to two.
    """
    if not len(slots):
        return []
    one, other = _corners(first, slots[:, 0], faces[:, 0]), _corners(second, slots[:, 1], faces[:, 1])
    normals, other_normals = _normals(one), _normals(other)
    depths, counts, points = _deepest(other, normals, one)
    other_depths, other_counts, other_points = _deepest(one, other_normals, other)
    is_first = other_depths > depths
    wide = is_first[:, np.newaxis]
    counts = np.minimum(np.where(is_first, counts, other_counts), 2)
    points = np.where(wide[:, np.newaxis], points, other_points)
    rows = np.repeat(np.arange(len(counts)), counts)
    which = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    most = theirs.COLLISION_PER_PAIR_CAP
    if len(rows) > most:
        begins = np.flatnonzero(np.diff(slots[rows], axis=0, prepend=-1).any(axis=1))
        lengths = np.diff(np.append(begins, len(rows)))
        kept = np.arange(len(rows)) - np.repeat(begins, lengths) < most
        rows, which = rows[kept], which[kept]
    return [
        _ContactData(names, both, point, normal, depth)
        for names, both, point, normal, depth in zip(
            _names_of(first, second, slots[rows]), map(tuple, faces[rows].tolist()), points[rows, which],
            np.where(wide, normals, -other_normals)[rows], np.where(is_first, depths, other_depths)[rows].tolist(),
            strict=True,
        )
    ]  # fmt: skip


def _normals(corners: Floats) -> Floats:
    """Give unit normals of triangles; zero for those without area."""
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(across, axis=1, keepdims=True)
    normals: Floats = across / np.where(lengths > 0, lengths, 1.0)
    return normals


def _deepest(corners: Floats, normals: Floats, planes: Floats) -> tuple[Floats, NDArray[Any], Floats]:
    """Find which corners are the deepest behind planes through others: depths, how many count, and points (n, 2, 3)."""
    depths = -np.einsum("kcx,kx->kc", corners - planes[:, :1], normals)
    deepest, counts = depths[:, 0].copy(), np.ones(len(depths), np.int64)
    chosen = np.zeros((len(depths), 4), np.int64)
    everyone = np.arange(len(depths))
    for corner in (1, 2):
        depth = depths[:, corner]
        is_deeper = depth > deepest
        is_equal = ~is_deeper & (depth + _EQUALLY_DEEP >= deepest)
        chosen[everyone, np.where(is_deeper, 0, np.where(is_equal, counts, 3))] = corner
        counts = np.where(is_deeper, 1, counts + is_equal)
        deepest = np.maximum(deepest, depth)
    in_front, behind = (depths < -_IN_PLANE).all(axis=1), (depths > _IN_PLANE).all(axis=1)
    counts[(deepest < -_IN_PLANE) | in_front | behind] = 0
    return deepest, counts, corners[everyone[:, np.newaxis], chosen[:, :2]]


# Answers


def _answer(is_collision: bool, return_names: bool, names: Any, return_data: bool, contacts: Any) -> Any:
    if return_names and return_data:
        return is_collision, names, contacts
    if return_names:
        return is_collision, names
    return (is_collision, contacts) if return_data else is_collision


def _distance_answer(distance: float, return_names: bool, names: Any, return_data: bool, data: Any) -> Any:
    if return_names and return_data:
        return distance, names, data
    if return_names:
        return distance, names
    return (distance, data) if return_data else distance
