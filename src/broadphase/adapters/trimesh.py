"""``trimesh.collision.CollisionManager`` without python-fcl: same methods, same results, faster.

Arguments and results are those of trimesh; docstrings say what differs. Convex meshes are solids, others are the
surfaces of their triangles, as in trimesh. What is known of a mesh is kept with it, objects that have not moved are not
tested again, and distances are exact.
"""

from __future__ import annotations

import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np

import broadphase as bp
from broadphase import _native
from broadphase.extras import import_extra

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["CollisionManager", "scene_to_collision"]

theirs: Any = import_extra("trimesh.collision", purpose=__name__, install="trimesh")
_trimesh: Any = import_module("trimesh")
ContactData, DistanceData = theirs.ContactData, theirs.DistanceData

_EXTERNAL = "__external"  # the name of what is in no manager, in trimesh
_NO_FACE = -1  # of a convex mesh

# Two convex meshes that only touch do not collide in FCL, up to about this share of their size: one of the two is
# shrunk by it.
_SHRUNK = 1 - 2.0**-36
# Lengths in `Intersect` of FCL: of a corner in a plane, and of corners that are equally deep.
_IN_PLANE, _EQUALLY_DEEP = 1e-5, 1e-6
_MOST_MAPPED = 64  # scaled forms of one mesh that are kept


class CollisionManager:
    """Named meshes that collide with each other, and with others, as ``trimesh.collision.CollisionManager``.

    Notes
    -----
    Scaling and mirroring matrices are applied to the mesh, which FCL does not do. An object that is added by a name in
    use replaces the other. Matrices are not rounded to float32.
    """

    def __init__(self) -> None:
        self._objs: dict[Hashable, _Object] = {}
        self._placed = _Placed()
        self._free: list[int] = []  # slots
        self._asked = _Placed()  # a mesh that is in no manager, in the first slot
        # The names of those that collide, and the version of the hits that they belong to.
        self._hit_names: set[tuple[Any, Any]] = set()
        self._version = -1

    def __copy__(self) -> Self:
        # As in trimesh, it shares its objects with the original.
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __reduce__(self) -> NoReturn:
        # FCL's objects cannot either.
        raise TypeError("a CollisionManager cannot be pickled or copied deeply: make another, and add the meshes to it")

    # Objects

    def add_object(self, name: Hashable, mesh: Any, transform: Any = None) -> _Object:
        """Add an object, or replace the one of that name; return what stands for it, in trimesh an FCL object.

        Raises
        ------
        ValueError
            A mesh without faces; a matrix of another shape, or with numbers that are not finite.
        """
        old, count = self._objs.get(name), len(self._placed.names)
        slot = old.slot if old is not None else self._free[-1] if self._free else count
        one = _Object(name, slot, _geometry_of(mesh))
        self._placed.put(slot, one.geometry, transform, name)
        if old is None and slot < count:
            self._free.pop()
        self._objs[name] = one
        return one

    def remove_object(self, name: Hashable) -> None:
        """Remove an object; raises ValueError if there is none of that name."""
        slot = self._named(name).slot
        self._placed.scene.remove(slot)
        del self._objs[name]
        self._free.append(slot)

    def set_transform(self, name: Hashable, transform: Any) -> None:
        """Move an object; raises ValueError as `add_object`, or if there is none of that name."""
        one = self._objs.get(name) or self._named(name)
        geometry, placed = one.geometry, self._placed
        # Called for each of many: the plain case without another call.
        if placed.scene.put(one.slot, geometry.shape, transform):
            placed.geometries[one.slot] = geometry
        else:
            placed.put(one.slot, geometry, transform, name)

    # Collisions

    def in_collision_single(
        self, mesh: Any, transform: Any = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Return whether a mesh collides with any object, and with which."""
        mine, asked = self._placed, self._ask(mesh, transform)
        found = mine.scene.hits_with(asked.scene, return_names or return_data)
        names = {mine.names[slot] for slot, _ in found} if return_names else set()
        contacts = _contacts(mine, asked, found) if return_data else []
        return _answer(len(found) > 0, return_names, names, return_data, contacts)

    def in_collision_internal(self, return_names: bool = False, return_data: bool = False) -> Any:
        """Return whether any two objects collide, and which: each pair of names in alphabetical order."""
        mine = self._placed
        if not (return_names or return_data):
            return mine.scene.any_hit()
        found = mine.scene.all_hits()
        if return_names and self._version != mine.scene.version:
            ours = mine.names
            named = ((ours[first], ours[second]) for first, second in found.tolist())
            self._hit_names = {(b, a) if b < a else (a, b) for a, b in named}
            self._version = mine.scene.version
        contacts = _contacts(mine, mine, found) if return_data else []
        names = self._hit_names.copy() if return_names else None
        return _answer(len(found) > 0, return_names, names, return_data, contacts)

    def in_collision_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Return whether any object collides with one of another manager, which is one of ours, and which."""
        mine, other = self._placed, other_manager._placed
        found = mine.scene.hits_with(other.scene, return_names or return_data)
        names = {(mine.names[first], other.names[second]) for first, second in found} if return_names else set()
        contacts = _contacts(mine, other, found) if return_data else []
        return _answer(len(found) > 0, return_names, names, return_data, contacts)

    # Distances

    def min_distance_single(
        self, mesh: Any, transform: Any = None, return_name: bool = False, return_data: bool = False
    ) -> Any:
        """Measure the distance of a mesh to the nearest object.

        If it overlaps an object and one of the two is convex, minus the depth in one that it overlaps; 0 if two
        surfaces meet; the largest float without objects.
        """
        mine, asked = self._placed, self._ask(mesh, transform)
        nearest = _nearest_to(mine, asked, return_name or return_data)
        name = None if nearest.first < 0 else mine.names[nearest.first]
        data = _distance_data(mine, asked, nearest, (name, _EXTERNAL)) if return_data else None
        return _answer(nearest.distance, return_name, name, return_data, data)

    def min_distance_internal(
        self, name: Hashable | None = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Measure the distance of the two objects that are nearest to each other; see `min_distance_single`."""
        mine = self._placed
        slot = -1 if name is None else self._named(name).slot
        if slot < 0 and mine.are_surfaces and not (return_names or return_data) and mine.scene.any_hit():
            return 0.0  # which is known sooner than how far others are apart
        nearest = _Nearest(*mine.scene.nearest(slot))
        names: tuple[Any, Any] = (None, None)
        if nearest.first >= 0:
            names = mine.names[nearest.first], mine.names[nearest.second]
        data = _distance_data(mine, mine, nearest, names) if return_data else None
        return _answer(
            nearest.distance, return_names, names if names[0] is None else tuple(sorted(names)), return_data, data
        )

    def min_distance_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Measure the distance of the nearest two objects of two managers; see `min_distance_single`."""
        mine, other = self._placed, other_manager._placed
        nearest = _nearest_to(mine, other, return_names or return_data)
        names: tuple[Any, Any] = (None, None)
        if nearest.first >= 0:
            names = mine.names[nearest.first], other.names[nearest.second]
        data = _distance_data(mine, other, nearest, names) if return_data else None
        return _answer(nearest.distance, return_names, names, return_data, data)

    # Inside

    def _named(self, name: Hashable) -> _Object:
        one = self._objs.get(name)
        if one is None:
            raise ValueError(f"{name} not in collision manager!")
        return one

    def _ask(self, mesh: Any, transform: Any) -> _Placed:
        """Place a mesh that is in no manager."""
        self._asked.are_surfaces = True  # it is another than before
        self._asked.put(0, _geometry_of(mesh), transform, _EXTERNAL)
        return self._asked


def scene_to_collision(scene: Any) -> tuple[CollisionManager, dict[Any, Any]]:
    """Make a manager of the nodes with geometry of a ``trimesh.Scene``, by name, and what stands for each."""
    manager, objects = CollisionManager(), {}
    for node in scene.graph.nodes_geometry:
        transform, geometry = scene.graph[node]
        objects[node] = manager.add_object(name=node, mesh=scene.geometry[geometry], transform=transform)
    return manager, objects


# Geometry


class _Geometry:
    """What is known of a mesh: its shape, as scenes of the core take it."""

    __slots__ = ("_corners", "_mapped", "faces", "is_convex", "shape", "vertices")

    def __init__(self, vertices: Floats, faces: NDArray[Any], is_convex: bool) -> None:
        if not len(faces):
            raise ValueError("the mesh has no faces")
        self.vertices, self.faces = vertices, faces
        self._mapped: dict[bytes, _Geometry] = {}
        self._corners: Floats | None = None
        if is_convex:
            try:
                middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
                hulls = bp.ConvexHull(vertices), bp.ConvexHull(middle + (vertices - middle) * _SHRUNK)
                (solid, bounds), (smaller, bounds_of_smaller) = ((one.prepared, _bounds(one.points)) for one in hulls)
                self.shape = _native.SceneMesh(solid, bounds, smaller, bounds_of_smaller)
            except ValueError:  # they lie in one plane
                is_convex = False
        if not is_convex:
            self.shape = _native.SceneMesh(bp.Mesh(vertices, faces).prepared, _bounds(vertices))
        self.is_convex = is_convex

    @property
    def corners(self) -> Floats:
        """The corners of each face, to be multiplied by frames, which begin with an origin: (n, 3, 4)."""
        if self._corners is None:
            self._corners = np.ones((len(self.faces), 3, 4))
            self._corners[..., 1:] = self.vertices[self.faces]
        return self._corners

    def mapped(self, linear: Floats) -> _Geometry:
        """Return the same for a mesh that is scaled, sheared or mirrored."""
        key = linear.tobytes()
        known = self._mapped.get(key)
        if known is None:
            if len(self._mapped) >= _MOST_MAPPED:
                self._mapped.clear()
            faces = self.faces if np.linalg.det(linear) > 0 else self.faces[:, ::-1]
            known = self._mapped[key] = _Geometry(self.vertices @ linear.T, faces, self.is_convex)
        return known


def _bounds(vertices: Floats) -> Floats:
    return np.array([vertices.min(axis=0), vertices.max(axis=0)])


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


# What is placed


class _Object:
    """One object of a manager; `slot` is where it is in its scene."""

    __slots__ = ("geometry", "name", "slot")

    def __init__(self, name: Hashable, slot: int, geometry: _Geometry) -> None:
        self.name, self.slot, self.geometry = name, slot, geometry

    def __repr__(self) -> str:
        return f"<object {self.name!r} of a CollisionManager>"


class _Placed:
    """Meshes as they are placed: a scene of the core, and the names and geometries of its slots."""

    __slots__ = ("are_surfaces", "geometries", "names", "scene")

    def __init__(self) -> None:
        self.scene: Any = _native.MeshScene()
        self.names: list[Any] = []
        self.geometries: list[_Geometry] = []
        self.are_surfaces = True  # and have always been

    def put(self, slot: int, geometry: _Geometry, transform: Any, name: Any) -> None:
        """Put a mesh into a slot, the next one or one that there is, or move it; a ValueError leaves all as it was."""
        if not self.scene.put(slot, geometry.shape, transform):
            matrix, shift = np.asarray(transform, np.float64), np.eye(4)
            shift[:3, 3] = matrix[:3, 3]
            geometry = geometry.mapped(matrix[:3, :3])
            self.scene.put(slot, geometry.shape, shift)
        self.are_surfaces = self.are_surfaces and not geometry.is_convex
        if slot == len(self.names):
            self.names.append(name)
            self.geometries.append(geometry)
        else:
            self.names[slot], self.geometries[slot] = name, geometry


# Distances


class _Nearest(NamedTuple):
    """Two slots, -1 if there is none, and their distance; of surfaces, also the places of the faces in their trees."""

    distance: float
    first: int
    second: int
    face: int
    other_face: int


def _nearest_to(placed: _Placed, other: _Placed, is_named: bool) -> _Nearest:
    """Find the nearest objects of two managers; if all are surfaces, whether two meet is known sooner than which."""
    is_plain = placed.are_surfaces and other.are_surfaces and placed is not other and not is_named
    if is_plain and placed.scene.hits_with(other.scene, False):
        return _Nearest(0.0, 0, 0, _NO_FACE, _NO_FACE)
    return _Nearest(*placed.scene.nearest_to(other.scene))


class _DistanceResult(NamedTuple):
    """What `DistanceData` is made of, as python-fcl names it."""

    min_distance: float
    nearest_points: Any
    b1: int
    b2: int


def _distance_data(first: _Placed, second: _Placed, nearest: _Nearest, names: tuple[Any, Any]) -> Any:
    """Find where a pair is nearest, and on which faces."""
    points: Any = None, None
    faces: Any = _NO_FACE, _NO_FACE
    if nearest.first >= 0:
        found = first.scene.witness(second.scene, nearest)
        points, faces = tuple(found[0].copy()), found[1:]
    return DistanceData(names, _DistanceResult(nearest.distance, points, *faces))


# Contacts


class _Found(NamedTuple):
    """Contacts, one row each, and the names of their objects, pair by pair."""

    names: list[tuple[Any, Any]]
    pairs: Rows
    faces: Rows
    points: Floats
    normals: Floats
    depths: Floats

    def each(self) -> list[Any]:
        return [_ContactData(self, row) for row in range(len(self.pairs))]


class _ContactData(theirs.ContactData):  # type: ignore[misc]
    """A contact, as `ContactData` of trimesh, whose methods read these attributes."""

    def __init__(self, found: _Found, row: int) -> None:
        self._found, self._row = found, row

    @property
    def names(self) -> set[Any]:
        """The names of the two objects."""
        return set(self._found.names[self._found.pairs[self._row]])

    @property
    def _inds(self) -> dict[Any, int]:
        names = self._found.names[self._found.pairs[self._row]]
        return dict(zip(names, self._found.faces[self._row].tolist(), strict=True))

    @property
    def _point(self) -> Any:
        return self._found.points[self._row]

    @property
    def _normal(self) -> Any:
        return self._found.normals[self._row]

    @property
    def _depth(self) -> float:
        return float(self._found.depths[self._row])


def _contacts(first: _Placed, second: _Placed, hits: Any) -> list[Any]:
    """Find the contacts of pairs of slots that collide: those with convex meshes first.

    They are of the first object with the second, and of a surface with a convex mesh, as in FCL. In one manager, the
    order depends on the past of a tree of FCL; here the later object comes first, as of two that have just been added.
    """
    if not len(hits):
        return []
    own, others = first.geometries, second.geometries
    listed, names, is_swapped = [], [], []
    for one, other in sorted(hits) if isinstance(hits, list) else sorted(hits.tolist()):
        is_foreign = own[one].is_convex and not others[other].is_convex
        # In one manager, the later one comes first, but for a surface and a convex mesh.
        swap = first is second and (is_foreign or own[one].is_convex == own[other].is_convex)
        pair = (other, one) if swap else (one, other)
        listed.append(pair)
        names.append((first.names[pair[0]], second.names[pair[1]]))
        is_swapped.append(is_foreign and not swap)
    pairs = np.array(listed, np.int32)
    faces, solids, normals, depths, points = first.scene.contacts(second.scene, pairs, theirs.COLLISION_PER_PAIR_CAP)
    contacts: list[Any] = []
    if len(solids):
        of_pair, of_faces = solids[:, 0], solids[:, 1:]
        if any(is_swapped):
            names = [each[::-1] if swap else each for each, swap in zip(names, is_swapped, strict=True)]
            rows = np.array(is_swapped)[of_pair]
            of_faces[rows] = of_faces[rows, ::-1]
            normals[rows] *= -1.0
        contacts = _Found(names, of_pair, of_faces, points, normals, depths).each()
    return contacts + _contacts_of_faces(first, second, pairs, faces, names) if len(faces) else contacts


def _placed_corners(side: _Placed, slots: Rows, places: Rows, faces: Rows) -> Floats:
    """Place faces, each of the mesh in one of some slots: (n, 3, 3)."""
    geometries, frames = side.geometries, side.scene.frames(slots)
    if len(slots) == 1:
        found: Floats = geometries[slots[0]].corners[faces] @ frames[0]
        return found
    found = np.empty((len(faces), 3, 3))
    # Of each mesh at once, as often as it is there.
    of_place: dict[int, list[int]] = {}
    for place, slot in enumerate(slots.tolist()):
        of_place.setdefault(id(geometries[slot]), []).append(place)
    kind = np.empty(len(slots), np.intp)
    for number, some in enumerate(of_place.values()):
        kind[some] = number
    kinds = kind[places]
    for number, some in enumerate(of_place.values()):
        rows = np.flatnonzero(kinds == number)
        found[rows] = geometries[slots[some[0]]].corners[faces[rows]] @ frames[places[rows]]
    return found


def _sums(products: Floats) -> Floats:
    """Add the last three numbers one after the other."""
    sums: Floats = np.add.reduce(products, axis=-1)
    return sums


def _contacts_of_faces(
    first: _Placed, second: _Placed, pairs: Rows, found: Rows, names: list[tuple[Any, Any]]
) -> list[Any]:
    """Find the contacts of faces with faces, numbers of pairs and both: where, and how deep, is computed as in FCL.

    Of the two planes, that counts through which the other triangle reaches less far; points are the corners of that
    triangle that are the farthest behind it, up to two.
    """
    of_pair, faces = found[:, 0], found[:, 1:]
    count = len(found)
    corners = np.empty((2, count, 3, 3))
    corners[0] = _placed_corners(first, pairs[:, 0].copy(), of_pair, faces[:, 0])
    corners[1] = _placed_corners(second, pairs[:, 1].copy(), of_pair, faces[:, 1])
    edges = corners[:, :, 1:] - corners[:, :, :1]
    ahead, behind = edges[..., [1, 2, 0]], edges[..., [2, 0, 1]]
    normals = ahead[:, :, 0] * behind[:, :, 1] - behind[:, :, 0] * ahead[:, :, 1]
    lengths = np.sqrt(_sums(normals * normals))
    normals /= np.where(lengths > 0, lengths, 1.0)[..., np.newaxis]
    # Of the corners of the other triangle, behind each plane. FCL subtracts products too: of symmetric meshes, equal
    # depths are equal here where they are there.
    offsets = _sums(normals * corners[:, :, 0])[..., np.newaxis]
    depths = offsets - _sums(normals[:, :, np.newaxis] * corners[::-1])
    deepest = np.maximum.reduce(depths, axis=2)
    is_second_plane = deepest[1] <= deepest[0]
    a, b, c = np.where(is_second_plane, depths[1].T, depths[0].T)
    # The corners are taken one after the other: one that is deeper takes the place of those before.
    greatest = np.maximum(a, b)
    depth = np.maximum(greatest, c)
    is_b_deeper, is_c_deeper = b > a, c > greatest
    is_b_equal = (b + _EQUALLY_DEEP >= a) > is_b_deeper
    has_two = (is_b_equal | (c + _EQUALLY_DEEP >= greatest)) > is_c_deeper
    counts = (1 + has_two) * ((depth >= -_IN_PLANE) & (np.minimum(np.minimum(a, b), c) <= _IN_PLANE))
    rows = np.arange(count).repeat(counts)
    is_second = np.zeros(len(rows), np.bool_)
    np.equal(rows[1:], rows[:-1], out=is_second[1:])
    most = theirs.COLLISION_PER_PAIR_CAP
    if len(rows) > most:
        begins = np.flatnonzero(np.diff(of_pair[rows], prepend=-1))
        lengths = np.diff(np.append(begins, len(rows)))
        kept = np.arange(len(rows)) - np.repeat(begins, lengths) < most
        rows, is_second = rows[kept], is_second[kept]
    chosen = np.where(is_second, (2 - is_b_equal)[rows], np.where(is_c_deeper, 2, is_b_deeper)[rows])
    of_second = is_second_plane[rows]
    own = rows + np.where(of_second, count, 0)
    other = rows + np.where(of_second, 0, count)
    points = corners.reshape(-1, 3)[3 * other + chosen]
    normals = normals.reshape(-1, 3)[own]
    np.negative(normals, out=normals, where=of_second[:, np.newaxis])
    return _Found(names, of_pair[rows], faces[rows], points, normals, depth[rows]).each()


# Answers


def _answer(first: Any, return_names: bool, names: Any, return_data: bool, data: Any) -> Any:
    """Return what was asked for: one value, or a tuple."""
    more = [one for one, is_wanted in ((names, return_names), (data, return_data)) if is_wanted]
    return (first, *more) if more else first
