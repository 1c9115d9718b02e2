"""Pairs of shapes of any two types in hard positions, and what must hold of their distances, contacts and overlaps."""

import numpy as np

import broadphase as bp
from broadphase.narrow import row_pairs
from oracles.shapes import parts_of, shape_distance
from shape_cases import WITH_ORACLE, Numbers, convex_corners, shape_of

TYPES = WITH_ORACLE
ORDERED = [(d, first, second) for d, types in TYPES.items() for first in types for second in types]
FORMS = ["plain", "lattice", "thin", "corners"]


class Draws(Numbers):
    """Random shapes of one form.

    `plain`: any numbers. `lattice`: whole numbers, sizes of 0 among them, so that shapes touch, are nested or
    identical, lie in one plane or are parallel. `thin`: some axes are a thousandth to a billionth of the others.
    `corners`: the second shape is made of corners of the first.
    """

    def __init__(self, seed, d, form):
        super().__init__(np.random.default_rng([d, FORMS.index(form), seed]), d)
        self.form = form
        self.scale = np.ones(d)
        if form == "thin":
            self.scale = 10.0 ** -(self.rng.uniform(3, 9, d) * (self.rng.random(d) < 0.5))
        self.known = None  # corners of the first shape

    def places(self, count):
        if self.form == "lattice":
            return self.rng.integers(-2, 3, (count, self.d)).astype(float)
        if self.form == "corners" and self.known is not None:
            chosen = self.known[self.rng.integers(len(self.known), size=(count, 2))]
            share = self.rng.choice([0.0, 0.0, 0.5, 1.0, -1.0, 2.0], (count, 1))
            return chosen[:, 0] + share * (chosen[:, 1] - chosen[:, 0])
        return self.rng.normal(size=(count, self.d)) * self.scale

    def sizes(self, count):
        if self.form == "lattice":
            return self.rng.integers(0, 3, count).astype(float)
        return self.rng.random(count) * 10.0 ** -(self.rng.integers(0, 8, count) * (self.form != "plain"))

    def turned(self):
        if self.form != "plain":
            return {}
        return {"rotation": self.rng.uniform(-7, 7) if self.d == 2 else self.rng.normal(size=4)}

    def placed(self):
        return self.turned()

    def convex(self):
        if self.form != "lattice":
            return convex_corners(self.rng) * self.scale
        square = np.array([[0, 0], [2, 0], [2, 1], [2, 2], [0, 2]]) - 1.0
        return square[: self.rng.integers(3, 6)] + self.places(1)

    def parts(self):
        return [shape_of("Circle" if self.d == 2 else "Sphere", self), bp.Segment(*self.places(2))]

    def shape(self, name):
        """One shape of a type."""
        while True:
            try:
                return shape_of(name, self)
            except ValueError:  # a hull whose points are in one plane
                if self.form == "corners":
                    return bp.ConvexHull(self.rng.normal(size=(8, 3)))

    def pair(self, first, second):
        """Two placed shapes, and the parts of each that the oracle knows."""
        self.known = None
        one = self.shape(first)
        mine = parts(one)
        self.known = np.concatenate([part.points for part in mine])
        if first == second and self.rng.random() < 0.2:
            return one, one, mine, mine
        other = self.shape(second)
        return one, other, mine, parts(other)


def parts(shape):
    """The convex parts of a shape at the origin."""
    if isinstance(shape, bp.Mesh):
        placing = {"offset": shape.offset, "rotation": shape.rotation}
        triangles = [bp.Triangle(shape.vertices[face], **placing) for face in shape.faces]
        return [part for triangle in triangles for part in parts_of(triangle, np.zeros(3))]
    return parts_of(shape, np.zeros(shape.dim or len(shape.offset)))


def reach(parts):
    return max(np.abs(part.points).max() + part.radius for part in parts)


def check_pairs(d, first, second, form, seed, count, judged):
    """Check pairs of two types in both orders; the oracle judges the first `judged`. Returns how many overlap."""
    draws = Draws(seed, d, form)
    pairs = [draws.pair(first, second) for _ in range(count)]
    ones, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    a, b = (bp.Shapes(column, np.zeros((count, d))) for column in (ones, others))
    size = np.array([max(reach(mine), reach(theirs), 1e-3) for *_, mine, theirs in pairs])
    rows = np.arange(count, dtype=np.int32)
    same = np.stack([rows, rows], axis=1)
    where = (d, first, second, form, seed)

    def check(holds):
        assert np.all(holds), (*where, [str(pairs[row]) for row in np.flatnonzero(~np.asarray(holds))[:2]])

    (gaps, normals), (back, back_normals) = (row_pairs.separations(*two, rows, rows) for two in ((a, b), (b, a)))
    check(np.isfinite(gaps) & np.isfinite(back))
    for ways in (normals, back_normals):
        check(np.abs(np.linalg.norm(ways, axis=1) - 1) < 1e-9)
    check(np.abs(gaps - back) <= 1e-10 * size)
    overlapping = np.zeros(count, bool)
    overlapping[bp.overlaps(a, b, same)[:, 0]] = True
    turned = bp.overlaps(b, a, same)[:, 0]
    check(overlapping == np.isin(rows, turned))
    check(overlapping | (gaps > -1e-10 * size))
    check(~overlapping | (gaps < 1e-10 * size))
    found = bp.contacts(a, b, same)
    check(np.isin(rows, found.pairs[:, 0]) == overlapping)
    hit = found.pairs[:, 0]
    assert np.isfinite(found.depths).all(), where
    assert (np.abs(found.depths - np.maximum(-gaps[hit], 0)) <= 1e-9 * size[hit]).all(), where
    assert (np.abs(np.linalg.norm(found.normals, axis=1) - 1) < 1e-9).all(), where
    assert (found.counts >= 1).all(), where
    # Of convex shapes the gap along the normal is the distance, whichever normal it is where there are several.
    for row, (one, other, mine, theirs) in enumerate(pairs):
        if len(mine) == len(theirs) == 1:
            along = [
                (theirs[0].points @ way).min() - (mine[0].points @ way).max() - mine[0].radius - theirs[0].radius
                for way in (normals[row], -back_normals[row])
            ]
            assert np.abs(np.array(along) - gaps[row]).max() <= 1e-8 * size[row], (*where, one, other)
        if row < judged and (form != "thin"):
            assert abs(shape_distance(mine, theirs) - gaps[row]) <= 1e-8 * size[row], (*where, one, other)
    return int(overlapping.sum())
