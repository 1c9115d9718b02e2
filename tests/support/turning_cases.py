"""Random pairs of bodies that move and turn: for the library, and for the oracle."""

import numpy as np

import broadphase as bp
from oracles.turning import Body, Part, gaps, least_gap, solid_part

PLANE = ["point", "circle", "segment", "capsule", "rectangle", "triangle", "polygon", "aabb", "compound"]
SPACE = ["sphere", "segment", "capsule", "box", "triangle", "hull", "mesh", "aabb", "compound"]
BOX_CORNERS = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])


def at(part, place):
    return part._replace(corners=part.corners + place)


def never_turning(rng, size, dimension, place):
    """Make a box parallel to the axes however its body turns, of which only the middle does."""
    half = size * rng.uniform(0.1, 1, dimension)
    if dimension == 2:
        part = Part(place[None], still=np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half)
    else:
        part = solid_part(BOX_CORNERS * half + place, still=True)
    return bp.AABB(2 * half, offset=place), [part]


def compound(rng, some_shape, kinds, size, dimension):
    shapes, parts = [], []
    for kind in rng.choice(kinds, 2):
        place = rng.normal(0, size, dimension)
        shape, own = some_shape(rng, str(kind), size, place)
        shapes.append(shape)
        parts += own
    return bp.Compound(shapes), parts


def plane_shape(rng, kind, size, place):
    def number(low=0.1):
        return size * rng.uniform(low, 1)

    if kind == "point":
        return bp.Point(offset=place), [Part(place[None])]
    if kind == "circle":
        radius = number()
        return bp.Circle(radius, offset=place), [Part(place[None], radius)]
    if kind in ("segment", "capsule"):
        ends, radius = place + rng.normal(0, size, (2, 2)), number() * 0.3
        if kind == "segment":
            return bp.Segment(*ends), [Part(ends)]
        return bp.Capsule(*ends, radius), [Part(ends, radius)]
    if kind == "rectangle":
        half = np.array([number(0.02), number()])
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
        return bp.Rectangle(*(2 * half), offset=place), [Part(corners + place)]
    if kind == "triangle":
        corners = place + rng.normal(0, size, (3, 2))
        (x, y), (u, v) = corners[1] - corners[0], corners[2] - corners[0]
        if x * v < y * u:
            corners = corners[::-1]
        return bp.Triangle(corners), [Part(corners)]
    if kind == "polygon":
        angles = np.sort(rng.choice(64, rng.integers(3, 9), replace=False)) * (2 * np.pi / 64)
        corners = np.stack([np.cos(angles), np.sin(angles)], 1) * [number(), number()] + place
        return bp.ConvexPolygon(corners), [Part(corners)]
    if kind == "aabb":
        return never_turning(rng, size, 2, place)
    assert kind == "compound"
    return compound(rng, plane_shape, ["circle", "rectangle", "segment", "aabb"], size, 2)


def space_shape(rng, kind, size, place):
    def number(low=0.1):
        return size * rng.uniform(low, 1)

    if kind == "sphere":
        radius = number()
        return bp.Sphere(radius, offset=place), [Part(place[None], radius)]
    if kind in ("segment", "capsule"):
        ends, radius = place + rng.normal(0, size, (2, 3)), number() * 0.3
        part = solid_part(ends, 0.0 if kind == "segment" else radius)
        return (bp.Segment(*ends) if kind == "segment" else bp.Capsule(*ends, radius)), [part]
    if kind == "box":
        half = np.array([number(0.02), number(), number()])
        return bp.Box(*(2 * half), offset=place), [solid_part(BOX_CORNERS * half + place)]
    if kind in ("triangle", "hull", "mesh"):
        corners = place + rng.normal(0, size, (3 if kind == "triangle" else 4, 3))
        if kind == "triangle":
            return bp.Triangle(corners), [solid_part(corners)]
        if kind == "hull":
            return bp.ConvexHull(corners), [solid_part(corners)]
        faces = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
        return bp.Mesh(corners, faces), [solid_part(corners[face]) for face in faces]
    if kind == "aabb":
        return never_turning(rng, size, 3, place)
    assert kind == "compound"
    return compound(rng, space_shape, ["sphere", "box", "capsule", "aabb"], size, 3)


def random_body(rng, dimension, kinds, size, turn):
    """Make a body: its shape for the library, and how it is for the oracle."""
    kind, place = str(rng.choice(kinds)), rng.normal(0, size * rng.choice([0.0, 0.0, 1.0]), dimension)
    shape, parts = (plane_shape if dimension == 2 else space_shape)(rng, kind, size, place)
    rotation = rng.uniform(-7, 7, 1) if dimension == 2 else rng.normal(size=4)
    numbers = 1 if dimension == 2 else 3
    by = rng.normal(0, turn, numbers) if rng.random() < 0.8 else np.zeros(numbers)
    return shape, Body(parts, rng.normal(0, 1.0, dimension), rng.normal(0, 1, dimension), rotation, by)


def random_pairs(rng, dimension, count, *, kinds=None, turn=None, grazing=0.5):
    """Make pairs of bodies, of which some share just touches or just does not: up to a few billionths of their size."""
    kinds = kinds or (PLANE if dimension == 2 else SPACE)
    made = []
    for _ in range(count):
        spin = turn or rng.choice([0.1, 1.0, 3.0, 9.0])
        size = 10.0 ** rng.uniform(-0.6, 0.3)
        shape, a = random_body(rng, dimension, kinds, size, spin)
        other, b = random_body(rng, dimension, kinds, size * 10.0 ** rng.uniform(-0.5, 0.3), spin)
        if rng.random() < 0.2:
            a, b = a._replace(motion=np.zeros(dimension)), b._replace(motion=np.zeros(dimension))
        if rng.random() < grazing:
            a = to_graze(rng, a, b)
        made.append((shape, a, other, b))
    return made


def to_graze(rng, a, b):
    """Move a body so that its least gap to another on their motions is next to nothing."""
    for want in (0.0, 0.0, 1.0):
        least, at = least_gap(a, b, samples=96)
        size = a.reach + b.reach
        if not abs(least) < size:
            return a
        step = 1e-6 * size
        moved = np.array([a.place + step * e for e in np.eye(len(a.place))])
        slopes = [gaps(a._replace(place=place), b, np.array([at]), exact=True)[0] for place in moved]
        way = np.array(slopes) - gaps(a, b, np.array([at]), exact=True)[0]
        length = np.linalg.norm(way)
        if not length > 0.3 * step:
            return a
        depth = want * rng.choice([-1e-7, -2e-9, 2e-9, 1e-7, 1e-5, 1e-3]) * size
        a = a._replace(place=a.place - way / length * (least - depth))
    return a


def check_pairs(made, found, label):
    """Compare answers with samples: nothing is missed that is deeper than 1e-9 of the size, and nothing is invented.

    Gives how many touch, of these how many later than at once, and the worst gap and depth, in billionths.
    """
    hits = later = 0
    worst = 0.0
    for k, (_, a, _, b) in enumerate(made):
        time, normal = float(found.times[k]), found.normals[k]
        size, name = a.reach + b.reach, f"{label} {k}: time {time}"
        until = 1.0
        if np.isfinite(time):
            hits += 1
            later += time > 0
            gap = gaps(a, b, np.array([time]), exact=True)[0] / size
            assert gap <= 1e-9, f"{name}: {gap} apart"
            worst = max(worst, gap * 1e9)
            assert abs(np.linalg.norm(normal) - 1) < 1e-9, name
            until = time
        if until > 0:
            least, at = least_gap(a, b, until)
            assert least >= -1e-9 * size, f"{name}: {least / size} deep at {at}"
    return hits, later, worst


def narrow_impacts(made):
    """Let `time_of_impact` answer."""
    shapes, bodies, others, other_bodies = zip(*made, strict=True)
    sides = [
        bp.Shapes(list(each), [body.place for body in of_each], stacked([body.rotation for body in of_each]))
        for each, of_each in ((shapes, bodies), (others, other_bodies))
    ]
    rows = np.arange(len(made))
    return bp.time_of_impact(
        *sides,
        pairs=np.stack([rows, rows], 1),
        motions=[body.motion for body in bodies],
        other_motions=[body.motion for body in other_bodies],
        angular_motions=stacked([body.turn for body in bodies]),
        other_angular_motions=stacked([body.turn for body in other_bodies]),
    )


def world_impacts(rng, made, dimension):
    """Let a step of a world answer, in which each pair is alone in its batch."""
    count = len(made)
    world = bp.World(dim=dimension)
    shapes, bodies, others, other_bodies = zip(*made, strict=True)
    all_bodies = [*bodies, *other_bodies]
    ccd = rng.random(2 * count) < 0.5
    ccd[count:] |= ~ccd[:count]
    rows = world.add_many(
        [*shapes, *others],
        np.array([body.place for body in all_bodies]),
        velocities=np.array([body.motion for body in all_bodies]),
        rotations=stacked([body.rotation for body in all_bodies]),
        angular_velocities=stacked([body.turn for body in all_bodies]),
        ccd=ccd,
        batch=np.tile(np.arange(count), 2),
    )
    assert rows.tolist() == list(range(2 * count))
    frame = world.step(1.0)
    times, normals = np.full(count, np.inf), np.full((count, dimension), np.nan)
    found = frame.impacts
    assert (found.pairs[:, 1] == found.pairs[:, 0] + count).all()
    times[found.pairs[:, 0]], normals[found.pairs[:, 0]] = found.times, found.normals
    assert {tuple(pair) for pair in found.pairs.tolist()} <= {tuple(pair) for pair in frame.enter.tolist()}
    return bp.narrow.results.Impacts(found.pairs, times, normals)


def stacked(rows):
    values = np.array(rows)
    return values[:, 0] if values.shape[1] == 1 else values
