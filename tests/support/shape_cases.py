"""Shapes to try things on: random ones of every kind, and where to put them."""

import numpy as np

import broadphase as bp
from broadphase.shapes.kinds import RECORDS
from broadphase.shapes.registry import TYPES


def quaternions(rng, *shape):
    return rng.normal(size=(*shape, 4)) * 10.0 ** rng.uniform(-3, 3)


def rotations(rng, dimension, *shape):
    return rng.uniform(-7, 7, shape) if dimension == 2 else quaternions(rng, *shape)


def convex_corners(rng, count=None):
    """Corners on an ellipse, in either direction."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, count or int(rng.integers(3, 9))))
    corners = np.stack([np.cos(angles), rng.uniform(0.2, 1) * np.sin(angles)], axis=1)
    return corners[:: rng.choice([-1, 1])] + rng.normal(size=2)


class Numbers:
    """What shapes are made of, drawn at random: derive from it to draw others."""

    def __init__(self, rng, d):
        self.rng, self.d = rng, d

    def sizes(self, count):
        return self.rng.random(count)

    def places(self, count):
        return self.rng.normal(size=(count, self.d))

    def size(self):
        """Full sizes along all axes."""
        return self.sizes(self.d)

    def place(self):
        return self.places(1)[0]

    def angle(self):
        """An angle of half a turn at most."""
        return self.rng.uniform(0, np.pi)

    def moved(self):
        """Where a shape with a centre is."""
        return {"offset": self.place()}

    def turned(self):
        """How a shape is rotated."""
        return {"rotation": rotations(self.rng, self.d)}

    def placed(self):
        """How a shape without a centre is rotated and moved."""
        return {**self.moved(), **self.turned()}

    def convex(self):
        """Corners of a convex polygon."""
        return convex_corners(self.rng)

    def parts(self):
        """Parts of a compound: of three random types, one of them in a compound of its own."""
        names = self.rng.choice(PARTS[self.d], 3)
        first, second, third = (shape_of(name, self) for name in names)
        return [first, bp.Compound([second], **self.turned()), third]


class Rows(Numbers):
    """Numbers of n shapes at a time."""

    def __init__(self, rng, d, n):
        super().__init__(rng, d)
        self.n = n

    def sizes(self, count):
        return self.rng.random((count, self.n))

    def size(self):
        return self.rng.random((self.n, self.d))

    def place(self):
        return self.rng.normal(size=(self.n, self.d))

    def places(self, count):
        return self.rng.normal(size=(self.n, count, self.d))

    def angle(self):
        return self.rng.uniform(0, np.pi, self.n)

    def turned(self):
        return {"rotation": rotations(self.rng, self.d, self.n)}

    def convex(self):
        return np.stack([convex_corners(self.rng, 5) for _ in range(self.n)])


# The arguments of each class of shapes, made of numbers.
ARGUMENTS = {
    "Point": lambda n: n.moved(),
    "Circle": lambda n: {"radius": n.sizes(1)[0], **n.moved()},
    "Sphere": lambda n: {"radius": n.sizes(1)[0], **n.moved()},
    "AABB": lambda n: {"size": n.size(), **n.moved()},
    "Rectangle": lambda n: {**dict(zip(("width", "height"), n.sizes(2), strict=True)), **n.moved(), **n.turned()},
    "Box": lambda n: {**dict(zip("xyz", n.sizes(3), strict=True)), **n.moved(), **n.turned()},
    "Triangle": lambda n: {"corners": n.places(3), **n.placed()},
    "ConvexPolygon": lambda n: {"corners": n.convex(), **n.placed()},
    "Segment": lambda n: {"start": n.place(), "end": n.place(), **n.placed()},
    "Capsule": lambda n: {"start": n.place(), "end": n.place(), "radius": n.sizes(1)[0], **n.placed()},
    "Cylinder": lambda n: {"start": n.place(), "end": n.place(), "radius": n.sizes(1)[0], **n.placed()},
    "Cone": lambda n: {"base": n.place(), "apex": n.place(), "radius": n.sizes(1)[0], **n.placed()},
    "Ellipsoid": lambda n: {"radii": n.size(), **n.placed()},
    "Sector": lambda n: {"radius": n.sizes(1)[0], "angle": n.angle(), **n.placed()},
    "HalfSpace": lambda n: {"normal": n.place(), "height": n.sizes(1)[0], **n.placed()},
    "Compound": lambda n: {"parts": n.parts(), **n.placed()},
    "ConvexHull": lambda n: {"points": n.places(8), **n.placed()},
    "Mesh": lambda n: {"vertices": n.places(5), "faces": [[0, 1, 2], [2, 3, 4]], **n.placed()},
    "HeightField": lambda n: {"heights": n.places(4), "cell": 0.5, **n.placed()},
    "PointCloud": lambda n: {"points": n.places(6), "radius": n.sizes(1)[0], **n.placed()},
}  # fmt: skip

# The kinds of records of hulls of a few points with a radius, which are no compounds and not kept elsewhere.
CORNERED = {
    d: [kind for kind, row in RECORDS.items()
        if d in row.dimensions and not (row.has_parts or row.is_kept_elsewhere or row.is_curved or row.has_normal)]
    for d in (2, 3)
}  # fmt: skip

# Names of the classes by dimension: of all; of those that have an end; of those that the oracle knows, or knows the
# parts of (height fields have their own); of those whose records say everything; of those that are hulls of a few
# points with a radius; and of these and compounds of them, whose distances are true up to rounding.
CLASSES = {d: [row.name for row in TYPES if d in row.dimensions] for d in (2, 3)}
BOUNDED = {d: [row.name for row in TYPES if d in row.dimensions and not RECORDS[row.shape_class.kind].has_normal]
           for d in (2, 3)}  # fmt: skip
WITH_ORACLE = {
    d: [
        row.name
        for row in TYPES
        if row.name in BOUNDED[d] and not RECORDS[row.shape_class.kind].is_curved and row.name != "HeightField"
    ]
    for d in (2, 3)
}
RECORDED = {
    d: [row.name for row in TYPES if d in row.dimensions and not RECORDS[row.shape_class.kind].is_kept_elsewhere]
    for d in (2, 3)
}
PARTS = {d: [row.name for row in TYPES if d in row.dimensions and row.shape_class.kind in CORNERED[d]] for d in (2, 3)}
EXACT = {d: [*PARTS[d], "Compound"] for d in (2, 3)}

# Names of the classes that are described by more than their records: one shape at a time.
KEPT = [row.name for row in TYPES if RECORDS[row.shape_class.kind].is_kept_elsewhere]


def shape_of(name, numbers):
    """One shape of a class, of certain numbers."""
    return getattr(bp, name)(**ARGUMENTS[name](numbers))


def one_of_each(d, numbers, names=None):
    """One shape of each class in a dimension."""
    return [shape_of(name, numbers) for name in names or CLASSES[d]]


KINDS = {
    d: {name: lambda rng, name=name, d=d: shape_of(name, Numbers(rng, d)) for name in names}
    for d, names in RECORDED.items()
}
EVERY_KIND = [(dimension, name) for dimension, kinds in KINDS.items() for name in kinds]


def hull(rng, **placing):
    return bp.ConvexHull(rng.normal(size=(8, 3)), **placing)


def mesh(rng, **placing):
    return bp.Mesh(rng.normal(size=(5, 3)), [[0, 1, 2], [2, 3, 4]], **placing)


def mixed(rng, dimension, count):
    """Single shapes of random kinds that the oracle knows."""
    makers = [make for name, make in KINDS[dimension].items() if name in WITH_ORACLE[dimension]]
    return [makers[rng.integers(len(makers))](rng) for _ in range(count)]
