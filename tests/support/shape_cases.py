"""Shapes to try things on: random ones of every kind, and where to put them."""

import numpy as np

import broadphase as bp


def quaternions(rng, *shape):
    return rng.normal(size=(*shape, 4)) * 10.0 ** rng.uniform(-3, 3)


def rotations(rng, dimension, *shape):
    return rng.uniform(-7, 7, shape) if dimension == 2 else quaternions(rng, *shape)


def convex_corners(rng, count=None):
    """Corners on an ellipse, in either direction."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, count or int(rng.integers(3, 9))))
    corners = np.stack([np.cos(angles), rng.uniform(0.2, 1) * np.sin(angles)], axis=1)
    return corners[:: rng.choice([-1, 1])] + rng.normal(size=2)


def turned_and_moved(rng, dimension):
    return {"offset": rng.normal(size=dimension), "rotation": rotations(rng, dimension)}


def flat_kinds():
    """Makers of single shapes in the plane, by name."""
    return {
        "point": lambda rng: bp.Point(offset=rng.normal(size=2)),
        "circle": lambda rng: bp.Circle(rng.random(), offset=rng.normal(size=2)),
        "aabb": lambda rng: bp.AABB(rng.random(2), offset=rng.normal(size=2)),
        "rectangle": lambda rng: bp.Rectangle(*rng.random(2), **turned_and_moved(rng, 2)),
        "triangle": lambda rng: bp.Triangle(rng.normal(size=(3, 2)), **turned_and_moved(rng, 2)),
        "polygon": lambda rng: bp.ConvexPolygon(convex_corners(rng), **turned_and_moved(rng, 2)),
        **straight_kinds(2),
        "compound": lambda rng: bp.Compound(
            [
                bp.Circle(rng.random(), offset=rng.normal(size=2)),
                bp.Compound([bp.AABB(rng.random(2), offset=rng.normal(size=2))], **turned_and_moved(rng, 2)),
                bp.Rectangle(*rng.random(2), **turned_and_moved(rng, 2)),
            ],
            **turned_and_moved(rng, 2),
        ),
    }


def solid_kinds():
    """Makers of single shapes in space, by name."""
    return {
        "point": lambda rng: bp.Point(offset=rng.normal(size=3)),
        "sphere": lambda rng: bp.Sphere(rng.random(), offset=rng.normal(size=3)),
        "aabb": lambda rng: bp.AABB(rng.random(3), offset=rng.normal(size=3)),
        "box": lambda rng: bp.Box(*rng.random(3), **turned_and_moved(rng, 3)),
        "triangle": lambda rng: bp.Triangle(rng.normal(size=(3, 3)), **turned_and_moved(rng, 3)),
        **straight_kinds(3),
        "compound": lambda rng: bp.Compound(
            [
                bp.Compound([bp.AABB(rng.random(3), offset=rng.normal(size=3))], **turned_and_moved(rng, 3)),
                bp.Capsule(rng.normal(size=3), rng.normal(size=3), rng.random()),
            ],
            **turned_and_moved(rng, 3),
        ),
    }


def straight_kinds(dimension):
    return {
        "segment": lambda rng: bp.Segment(*rng.normal(size=(2, dimension)), **turned_and_moved(rng, dimension)),
        "capsule": lambda rng: bp.Capsule(
            *rng.normal(size=(2, dimension)), rng.random(), **turned_and_moved(rng, dimension)
        ),
    }


KINDS = {2: flat_kinds(), 3: solid_kinds()}
EVERY_KIND = [(dimension, name) for dimension, kinds in KINDS.items() for name in kinds]


def hull(rng, **placing):
    return bp.ConvexHull(rng.normal(size=(8, 3)), **placing)


def mesh(rng, **placing):
    return bp.Mesh(rng.normal(size=(5, 3)), [[0, 1, 2], [2, 3, 4]], **placing)


def mixed(rng, dimension, count):
    """Single shapes of random kinds."""
    makers = list(KINDS[dimension].values())
    return [makers[rng.integers(len(makers))](rng) for _ in range(count)]
