"""Pairs of shapes in space in hard forms, as records of the core, and what other libraries say of them."""

from itertools import combinations_with_replacement

import numpy as np

from broadphase import _native
from broadphase.shapes.kinds import RECORDS, ShapeKind
from oracles.shapes import Part, shape_distance
from shape_cases import CORNERED

KINDS = [kind.name for kind in CORNERED[3]]
PAIRS_OF_KINDS = list(combinations_with_replacement(KINDS, 2))
FORMS = ["plain", "lattice", "needle", "sizes", "far", "aligned"]


def turns(rng, n):
    """Frames of three axes, (n, 3, 3)."""
    return np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]


def lattice_turns(rng, n):
    frames = np.eye(3)[np.argsort(rng.random((n, 3)), axis=1)]
    return frames * rng.choice([-1.0, 1.0], (n, 3, 1))


def extents(rng, form, shape):
    """Lengths of edges and radii."""
    if form == "lattice":
        return rng.integers(0, 3, shape).astype(float)
    sizes = rng.random(shape)
    if form == "needle":
        return np.where(rng.random(shape) < 0.6, sizes * rng.choice([0, 1e-12, 1e-6, 1e-3], shape), sizes)
    return sizes


def random_records(rng, kind, form, n):
    """Records, (n, size), of one kind.

    `plain`: sizes near 1. `lattice`: small whole numbers, so things touch, lie in one plane or in one place. `needle`:
    long and thin, and triangles whose corners are nearly on a line. `sizes`: from 1e-6 to 1e6, near each other. `far`:
    a million away from the origin.
    """
    at = rng.integers(-2, 3, (n, 3)).astype(float) if form == "lattice" else rng.uniform(-1, 1, (n, 3))

    def corner():
        if form == "lattice":
            return rng.integers(-2, 3, (n, 3)).astype(float)
        way = rng.normal(size=(n, 3))
        return at + way / np.linalg.norm(way, axis=1, keepdims=True) * extents(rng, form, (n, 1)) * 1.5

    layout, columns = RECORDS[ShapeKind[kind]], [at]
    if layout.points == 2:
        columns.append(corner())
    if layout.lengths:
        columns.append(extents(rng, form, (n, 1)))
    if kind == "BOX":
        columns.append(at + extents(rng, form, (n, 3)))
    if kind == "ORIENTED_BOX":
        frames = lattice_turns(rng, n) if form == "lattice" else turns(rng, n)
        columns += [extents(rng, form, (n, 3)), frames.reshape(n, 9)]
    if kind == "TRIANGLE":
        second, third = corner(), corner()
        if form == "needle":
            between = at + (second - at) * rng.random((n, 1)) + rng.normal(size=(n, 3)) * 1e-9
            third = np.where(rng.random((n, 1)) < 0.5, between, third)
        columns += [second, third]
    records = np.concatenate(columns, axis=1)
    lengths = slice(0, 6) if kind == "ORIENTED_BOX" else slice(None)  # axes have none
    if form == "sizes":
        records[:, lengths] *= 10 ** rng.uniform(-6, 6, (n, 1))
    if form == "far":
        shift = np.array([1e6, -3e6, 2e6])
        records = moved(kind, records, np.broadcast_to(shift, (n, 3)))
    return records


def moved(kind, records, by):
    """The same shapes elsewhere."""
    result = records.copy()
    places = 2 if kind == "BOX" else RECORDS[ShapeKind[kind]].points
    result[:, : 3 * places] += np.tile(by, places)
    return result


def store_of(kind, records):
    """Placed as they are: what the core compares are the very numbers given, but for a box's half."""
    n = len(records)
    store = _native.ShapeStore(3, None)
    if kind == "BOX":
        store.set_boxes(records.reshape(n, 2, 3))
        return store
    rows = np.arange(n, dtype=np.int32)
    sizes = np.full(n, records.shape[1], np.int32)
    store.set(rows, np.full(n, int(ShapeKind[kind]), np.uint8), sizes, np.ascontiguousarray(records).ravel())
    zeros = np.zeros((n, 3))
    store.place(rows, zeros, None, zeros.copy(), None, np.zeros((n, 2, 3)))
    return store


def corners(kind, records):
    """The corners of each shape, less its radius, (n, k, 3), and the radii, (n,)."""
    n = len(records)
    layout = RECORDS[ShapeKind[kind]]
    radii = records[:, -1] if layout.lengths else np.zeros(n)
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    if kind == "BOX":
        at = np.where(signs[np.newaxis] < 0, records[:, np.newaxis, :3], records[:, np.newaxis, 3:])
    elif kind == "ORIENTED_BOX":
        ways = records[:, 6:].reshape(n, 3, 3) * records[:, 3:6, np.newaxis]
        at = records[:, np.newaxis, :3] + np.einsum("sk,nkd->nsd", signs, ways)
    else:
        at = records[:, : 3 * layout.points].reshape(n, -1, 3)
    return at, radii


def sizes_of(kind, records):
    at, radii = corners(kind, records)
    return np.ptp(at, axis=1).max(axis=1) + radii


def tolerances(first, second, relative=1e-10):
    """What rounding may amount to: of the sizes and their distance, and of coordinates far from the origin."""
    apart = np.abs(first[1][:, :3] - second[1][:, :3]).max(axis=1)
    far = np.abs(first[1][:, :3]).max(axis=1) + np.abs(second[1][:, :3]).max(axis=1)
    return relative * (sizes_of(*first) + sizes_of(*second) + apart) + 1e-15 * far


def random_pairs(seed, kinds, form, n):
    """Pairs of records of two kinds, near each other: about half of them overlap.

    `aligned`: a lattice that is turned, so that what touches does so but for rounding, and then one of both a little
    more: faces and edges are nearly parallel.
    """
    rng = np.random.default_rng([*seed, *(KINDS.index(kind) for kind in kinds), FORMS.index(form)])
    if form != "aligned":
        return tuple((kind, random_records(rng, kind, form, n)) for kind in kinds)
    first, second = (random_records(rng, kind, "lattice", n) for kind in kinds)
    frames = np.broadcast_to(np.eye(3), (n, 3, 3)) if "BOX" in kinds else turns(rng, n)
    x, y, z = (rng.normal(size=(3, n)) * 10 ** rng.uniform(-16, -2, n)) * rng.choice([0, 1], n)
    zero = np.zeros(n)
    more = np.eye(3) + np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
    return (
        (kinds[0], turned(kinds[0], first, frames)),
        (kinds[1], turned(kinds[1], second, frames @ np.linalg.qr(more)[0])),
    )


def turned(kind, records, frames):
    """The same shapes turned about the origin; boxes are not."""
    if kind == "BOX":
        return records
    result = records.copy()
    layout = RECORDS[ShapeKind[kind]]
    places = [3 * k for k in (*range(layout.points), *range(2, 5 if layout.has_axes else 2))]
    for at in places:
        result[:, at : at + 3] = np.einsum("ni,nij->nj", records[:, at : at + 3], frames)
    return result


def gaps_along(normals, first, second):
    """The gap of two shapes along given directions: that along no direction is more than their distance."""
    (a, a_radii), (b, b_radii) = corners(*first), corners(*second)
    origin = a[:, :1]
    onwards = np.einsum("nkd,nd->nk", a - origin, normals).max(axis=1)
    back = np.einsum("nkd,nd->nk", b - origin, normals).min(axis=1)
    return back - onwards - a_radii - b_radii


def parts(kind, record, origin):
    at, radii = corners(kind, record[np.newaxis])
    return [Part(at[0] - origin, radii[0])]


def oracle_distance(first, second, row):
    origin = first[1][row, :3]
    return shape_distance(parts(first[0], first[1][row], origin), parts(second[0], second[1][row], origin))


def ask(question, first, second, *more):
    """Ask the core of the shapes of each row."""
    rows = np.arange(len(first[1]), dtype=np.int32)
    return question(store_of(*first), store_of(*second), rows, rows, *more)


def overlaps(first, second):
    return ask(_native.shape_overlaps, first, second, None).astype(bool)


def distances(first, second):
    return ask(_native.shape_distances, first, second, None)


def contacts(first, second):
    return ask(_native.shape_contacts, first, second, None)


def impacts(first, second, motions):
    return ask(_native.shape_impacts, first, second, motions, None)


def rays(shapes, origins, directions):
    return _native.shape_rays(store_of(*shapes), np.arange(len(shapes[1]), dtype=np.int32), origins, directions)


class Coal:
    """Distances by the coal library, a form of GJK and EPA, to its own tolerance."""

    tells_apart_only = False

    def __init__(self, coal):
        self.coal = coal
        self.request = coal.DistanceRequest()
        self.request.gjk_tolerance = self.request.epa_tolerance = 1e-9
        self.request.gjk_max_iterations = self.request.epa_max_iterations = 1000
        faces = coal.StdVec_Triangle()
        faces.append(coal.Triangle(0, 1, 2))
        faces.append(coal.Triangle(0, 2, 1))
        self.faces = faces

    def shape(self, kind, r, origin):
        coal, place = self.coal, self.coal.Transform3s
        if kind in ("POINT", "BALL"):
            return coal.Sphere(r[3] if kind == "BALL" else 0.0), place(np.eye(3), r[:3] - origin)
        if kind in ("SEGMENT", "CAPSULE"):
            way = r[3:6] - r[:3]
            turn = turn_to(way)
            radius = r[6] if kind == "CAPSULE" else 0.0
            return coal.Capsule(radius, np.linalg.norm(way)), place(turn, (r[:3] - origin + r[3:6] - origin) / 2)
        if kind == "BOX":
            return coal.Box(*(r[3:] - r[:3])), place(np.eye(3), (r[:3] - origin + r[3:] - origin) / 2)
        if kind == "ORIENTED_BOX":
            axes = r[6:].reshape(3, 3).T.copy()
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            return coal.Box(*(2 * r[3:6])), place(axes, r[:3] - origin)
        points = coal.StdVec_Vec3s()
        for corner in r.reshape(3, 3) - origin:
            points.append(corner)
        return coal.Convex(points, self.faces), place(np.eye(3), np.zeros(3))

    def distance(self, first, second, row):
        origin = first[1][row, :3]
        a, b = (self.shape(kind, records[row], origin) for kind, records in (first, second))
        return self.coal.distance(*a, *b, self.request, self.coal.DistanceResult())


class Fcl:
    """Distances of shapes apart by the python-fcl library, which says -1 of those that are not; not of triangles."""

    tells_apart_only = True

    def __init__(self, fcl):
        self.fcl = fcl

    def shape(self, kind, r, origin):
        fcl = self.fcl
        if kind in ("POINT", "BALL"):
            shape, turn, at = fcl.Sphere(r[3] if kind == "BALL" else 0.0), np.eye(3), r[:3] - origin
        elif kind in ("SEGMENT", "CAPSULE"):
            way = r[3:6] - r[:3]
            shape = fcl.Capsule(r[6] if kind == "CAPSULE" else 0.0, np.linalg.norm(way))
            turn, at = turn_to(way), (r[:3] - origin + r[3:6] - origin) / 2
        elif kind == "BOX":
            shape, turn, at = fcl.Box(*(r[3:] - r[:3])), np.eye(3), (r[:3] - origin + r[3:] - origin) / 2
        else:
            turn, at = r[6:].reshape(3, 3).T.copy(), r[:3] - origin
            turn[:, 2] *= np.sign(np.linalg.det(turn))
            shape = fcl.Box(*(2 * r[3:6]))
        return fcl.CollisionObject(shape, fcl.Transform(turn, at))

    def distance(self, first, second, row):
        origin = first[1][row, :3]
        a, b = (self.shape(kind, records[row], origin) for kind, records in (first, second))
        return self.fcl.distance(a, b, self.fcl.DistanceRequest(), self.fcl.DistanceResult())


def turn_to(way):
    """A turn that takes the z axis to a direction; of no direction, none."""
    length = np.linalg.norm(way)
    if length == 0:
        return np.eye(3)
    z = way / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
