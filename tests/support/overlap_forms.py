"""Pairs of shapes moved together until they just touch, and every form of the query whether they overlap."""

import numpy as np

import broadphase as bp
from broadphase.shapes.kinds import RECORDS
from shape_cases import CLASSES, PARTS, Numbers, convex_corners, rotations, shape_of as shape_of_numbers

WITHIN = [1e-30, 1e-6, 1.0, 1e6, 1e27]
BEYOND = [1e-300, 1e-200, 1e-160, 1e-100]  # smaller than what can be decided right
STEPS = range(-3, 4)  # last places


class Scaled(Numbers):
    """Of about some size: may be a thousand times as long or thin, or far from its body."""

    def __init__(self, rng, d, size):
        super().__init__(rng, d)
        self.scale = size
        self.offset = rng.normal(size=d) * size * rng.choice([0.0, 0.0, 1.0, 1e3])
        self.rotation = {} if rng.random() < 0.3 else {"rotation": rotations(rng, d)}

    def sizes(self, count):
        return self.scale * self.rng.choice([1.0, 0.5, self.rng.random(), 1e-3, 1e3], count)

    def places(self, count):
        return self.offset + self.rng.normal(size=(count, self.d)) * self.scale * self.rng.choice([1.0, 1.0, 1e3])

    def moved(self):
        return {"offset": self.offset}

    def turned(self):
        return self.rotation

    def placed(self):
        return self.turned()

    def convex(self):
        return convex_corners(self.rng) * self.scale + self.offset

    def parts(self):
        return [shape_of(self.rng, self.d, name, self.scale) for name in self.rng.choice(PARTS[self.d], 3)]


def shape_of(rng, d, name, size):
    """Make a shape of about some size."""
    if name == "AABB":
        sides = Scaled(rng, d, size).sizes(d)
        if rng.random() < 0.5:
            return bp.AABB(sides, offset=sides / 2)  # faces at its body
    if name == "ConvexHull":
        return bp.ConvexHull(rng.normal(size=(8, 3)) * size)
    return shape_of_numbers(name, Scaled(rng, d, size))


class JustTouching:
    """Pairs of shapes of all types; the second of each is moved away from the first until they no longer touch.

    Attributes
    ----------
    a, b : Shapes
        The first and the second of each pair, by row.
    least : ndarray, shape (n, d)
        Positions of the second at which they touch for the last time, by `overlaps` with `pairs`.
    away : ndarray, shape (n, d)
        In which direction the second moves.
    """

    def __init__(self, d, seed, scales=WITHIN, without=()):
        rng = np.random.default_rng([d, seed])
        names = [name for name in CLASSES[d] if name not in (*without, "HalfSpace")]  # which is never passed
        pairs, places, away = [], [], []
        for names_of_pair in ((first, second) for first in names for second in names):
            scale = rng.choice(scales)
            sizes = rng.permutation([scale, scale * rng.choice([1.0, 1e-3, 1e-9])])
            pairs.append([shape_of(rng, d, name, size) for name, size in zip(names_of_pair, sizes, strict=True)])
            places.append(rng.normal(size=d) * scale * rng.choice([0.0, 0.0, 1.0, 1e5, 1e9]))
            axis = np.eye(d)[rng.integers(d)] * rng.choice([-1.0, 1.0])
            away.append(axis if rng.random() < 0.5 else rng.normal(size=d))
        self.pairs, self.places, self.away = pairs, np.array(places), np.array(away)
        self.rows = np.arange(len(pairs), dtype=np.int32)
        self.same = np.stack([self.rows, self.rows], axis=1)
        self.a, self.b = (bp.Shapes(list(column), self.places) for column in zip(*pairs, strict=True))
        self._bisect()

    def _bisect(self):
        centres = self.places + self.a.boxes.mean(axis=1) - self.b.boxes.mean(axis=1)
        near = np.zeros(len(self.rows))
        far = 4 * (np.ptp(self.a.boxes, axis=1) + np.ptp(self.b.boxes, axis=1)).sum(axis=1)
        far += 1e-12 * np.abs(centres).max(axis=1)
        for _ in range(90):
            middle = 0.5 * near + 0.5 * far
            self.b.move(centres + self.away * middle[:, None])
            touch = self.mask(bp.overlaps(self.a, self.b, pairs=self.same))
            near, far = np.where(touch, middle, near), np.where(touch, far, middle)
        self.least = centres + self.away * near[:, None]

    def mask(self, found):
        """Say which rows are among the pairs of a row and itself."""
        mask = np.zeros(len(self.rows), bool)
        mask[found[found[:, 0] == found[:, 1], 0]] = True
        return mask

    def step_to(self, step):
        """Move the second of each by some last places beyond where they touch for the last time."""
        places = self.least
        for _ in range(abs(step)):
            places = np.nextafter(places, np.copysign(np.inf, np.sign(step) * self.away))
        self.b.move(np.where(self.away == 0, self.least, places))
        return self.b.positions


def check_forms(d, seed, **options):
    """Check that all forms agree for one draw. Returns how often the pairs touch, and how often not."""
    case = JustTouching(d, seed, **options)
    a, b, same, count = case.a, case.b, case.same, len(case.rows)
    both = bp.Shapes([pair[0] for pair in case.pairs] + [pair[1] for pair in case.pairs], np.zeros((2 * count, d)))
    worlds = [bp.World(dim=d, margin=margin) for margin in (0.0, None)]
    for world in worlds:
        for pair, place in zip(zip(*case.pairs, strict=True), (case.places, case.least), strict=True):
            for shape, position in zip(pair, place, strict=True):
                world.add(shape, position=position)
        world.step()
    every = np.stack(np.meshgrid(case.rows, case.rows, indexing="ij"), axis=2).reshape(-1, 2)
    if d == 3:  # hulls take long
        every = np.concatenate([every[:: count + 1], every[np.random.default_rng(seed).integers(len(every), size=300)]])
    totals = np.zeros(2, int)
    for step in STEPS:
        places = case.step_to(step)
        touch = case.mask(bp.overlaps(a, b, pairs=same))
        totals += touch.sum(), (~touch).sum()

        def check(holds, step=step):
            wrong = np.flatnonzero(~np.asarray(holds))
            assert not len(wrong), (d, seed, step, [str(case.pairs[row]) for row in wrong[:2]])

        found = bp.overlaps(a, b)
        check(case.mask(found) == touch)
        check(case.mask(bp.overlaps(b, a)) == touch)
        check(case.mask(bp.overlaps(b, a, pairs=same)) == touch)
        check(case.mask(bp.contacts(a, b).pairs) == touch)
        check(case.mask(bp.contacts(a, b, pairs=same).pairs) == touch)
        given = bp.overlaps(a, b, pairs=every)
        assert np.isin(given, found).all()
        keys, found_keys = (pairs[:, 0] * count + pairs[:, 1] for pairs in (given, found))
        asked = every[:, 0] * count + every[:, 1]
        assert np.array_equal(np.unique(keys), np.intersect1d(found_keys, asked)), (d, seed, step)
        both.move(np.concatenate([case.places, places]))
        between = same + np.array([0, count])
        check(_is_among(bp.overlaps(both), between) == touch)
        check(_is_among(bp.overlaps(both, pairs=between), between) == touch)
        for world in worlds:
            world.positions[count:] = places
            check(_is_among(world.step().pairs, between) == touch)
        for row in case.rows[:: 1 if step == 0 else 7]:
            there = worlds[1].query_shape(case.pairs[row][1], places[row])
            assert (row in there) == touch[row], (d, seed, step, str(case.pairs[row]))
        _check_distances(case, touch, check)
    return totals


def _check_distances(case, touch, check):
    """Check that distances are not far on the wrong side of 0."""
    a, b = case.a, case.b
    gaps = bp.distance(a, b, pairs=case.same)
    check(np.isfinite(gaps))
    size = np.maximum(np.abs(a.boxes).max(axis=(1, 2)), np.abs(b.boxes).max(axis=(1, 2)))
    curved = [any(RECORDS[shape.kind].is_curved for shape in pair) for pair in case.pairs]
    close = np.where(size > 1e-40, np.where(curved, 1e-12, 1e-14) * size, np.inf)  # below, nothing is promised
    check(~touch | (gaps <= close))
    check(touch | (gaps >= -close))


def _is_among(found, wanted):
    most = 1 << 20
    return np.isin(wanted[:, 0] * most + wanted[:, 1], found[:, 0].astype(np.int64) * most + found[:, 1])
