"""Worlds of all shapes, and questions to them that are checked by trying every row with the narrow phase."""

import numpy as np

import broadphase as bp
import shape_cases
from broadphase.narrow.row_pairs import impacts, overlap_mask, ray_hits, separations
from broadphase.shapes.placed import shapes_of_boxes

LAYERS = ("ball", "wall", "mud")
EXTENT = {2: 9.0, 3: 5.0}
CASES = [(d, seed) for d in (2, 3) for seed in range(4)]


class Draws:
    """Random numbers; on a lattice halves, so that touching, equal distances and zero size are common."""

    def __init__(self, seed, d, lattice=False):
        self.rng, self.d, self.lattice = np.random.default_rng([d, seed]), d, lattice

    def numbers(self, low, high, *shape):
        values = self.rng.uniform(low, high, shape)
        return np.round(values * 2) / 2 if self.lattice else values

    def places(self, count, beyond=0.0):
        return self.numbers(-beyond, EXTENT[self.d] + beyond, count, self.d)

    def turns(self, count):
        if self.d == 2:
            return self.rng.integers(0, 4, count) * np.pi / 2 if self.lattice else self.rng.uniform(0, 6, count)
        if not self.lattice:
            return self.rng.normal(0, 1, (count, 4))
        quarters = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, -1.0]])
        return quarters[self.rng.integers(0, len(quarters), count)]


class DrawnRows(shape_cases.Rows):
    """What rows of shapes are made of, as drawn."""

    def __init__(self, draws, n):
        super().__init__(draws.rng, draws.d, n)
        self.draws = draws

    def sizes(self, count):
        return self.draws.numbers(0, 1, count, self.n)

    def size(self):
        return self.draws.numbers(0, 2, self.n, self.d)

    def place(self):
        return self.draws.numbers(-1, 1, self.n, self.d)

    def places(self, count):
        return self.draws.numbers(-1, 1, self.n, count, self.d)

    def turned(self):
        return {"rotation": self.draws.turns(self.n)}


def make_world(d, seed, lattice=False, **options):
    """Give a random world with holes in its rows, and what to draw questions from."""
    draws = Draws(seed, d, lattice)
    world = bp.World(dim=d, **options)
    for shapes in shape_cases.one_of_each(d, DrawnRows(draws, 12), shape_cases.EXACT[d]):
        layer = [LAYERS[number] for number in draws.rng.integers(0, 3, 12)]
        world.add_many(shapes, draws.places(12), rotations=draws.turns(12), layer=layer)
    world.remove(draws.rng.choice(world.rows, 11, replace=False))
    return world, draws


def ball(d, radius):
    return (bp.Circle if d == 2 else bp.Sphere)(radius)


def every_pair(world, count):
    """Give each question with each living row: questions, rows."""
    rows = world.rows
    return np.repeat(np.arange(count, dtype=np.int32), len(rows)), np.tile(rows, count)


def check_overlaps(world, answers, placed):
    questions, rows = every_pair(world, len(placed))
    hit = overlap_mask(world.shapes, placed, rows, questions)
    assert answers.query_rows.tolist() == questions[hit].tolist()
    assert answers.rows.tolist() == rows[hit].tolist()
    return hit.sum()


def check_regions(world, draws, count):
    """Ask what overlaps points, balls, boxes, turned boxes and shapes; give how many answers there were."""
    d, points, turns = draws.d, draws.places(count), draws.turns(count)
    radii, half = draws.numbers(0, 2, count), draws.numbers(0, 1, count, d)
    box = bp.Rectangle if d == 2 else bp.Box
    stick = bp.Capsule([0] * d, [2] * d, 0.25)
    return [
        check_overlaps(world, world.query_points(points), bp.Shapes(bp.Point(), points)),
        check_overlaps(world, world.query_ball(points, radii), bp.Shapes(ball(d, radii), points)),
        check_overlaps(world, world.query_obb(points, half, turns), bp.Shapes(box(*2 * half.T), points, turns)),
        check_overlaps(world, world.query_shape(stick, points, turns), bp.Shapes(stick, points, turns)),
        check_boxes(world, points, 2 * half),
    ]


def check_boxes(world, corner, size):
    corners = np.stack([corner, corner + size], axis=1)
    return check_overlaps(world, world.query(corners), shapes_of_boxes(corners))


def check_nearest(world, points, k, limit, bits, rows):
    """Ask for the nearest, who must be among `rows`."""
    count = len(points)
    dots = bp.Shapes(ball(world.dim, 0.0), points)
    questions = np.repeat(np.arange(count, dtype=np.int32), len(rows))
    gaps = np.maximum(separations(world.shapes, dots, np.tile(rows, count), questions)[0], 0).reshape(count, len(rows))
    found = world.nearest(points, k, limit, **bits)
    for j in range(count):
        order = np.lexsort((rows, gaps[j]))
        order = order[gaps[j][order] <= limit[j]][:k]
        missing = k - len(order)
        assert found.rows[j].tolist() == rows[order].tolist() + [-1] * missing
        assert found.distances[j].tolist() == gaps[j][order].tolist() + [np.inf] * missing


def check_rays(world, origins, directions, limit):
    """Cast rays; give how many hits there were."""
    count = len(origins)
    questions, rows = every_pair(world, count)
    times = ray_hits(world.shapes, rows, origins[questions], directions[questions])[0].reshape(count, -1)
    lengths = np.sqrt((directions * directions).sum(axis=1))[:, np.newaxis]
    away = np.where(times < np.inf, np.where(times < np.inf, times, 0) * lengths, np.inf)
    away[away > limit[:, np.newaxis]] = np.inf
    rows = world.rows
    first, every = world.raycast(origins, directions, limit), world.raycast_all(origins, directions, limit)
    for j in range(count):
        order = np.lexsort((rows, away[j]))
        order = order[np.isfinite(away[j][order])]
        assert every[j][0].tolist() == rows[order].tolist()
        assert every[j][1].tolist() == away[j][order].tolist()
        assert first.rows[j] == (rows[order[0]] if len(order) else -1)
        assert first.distances[j] == (away[j][order[0]] if len(order) else np.inf)
    assert world.raycast_any(origins, directions, limit).tolist() == (first.rows >= 0).tolist()
    return len(every.rows)


def check_casts(world, shape, begin, motion):
    """Cast shapes; give how many met something."""
    count = len(begin)
    questions, rows = every_pair(world, count)
    times = impacts(bp.Shapes(shape, begin), world.shapes, questions, rows, motion[questions])[0].reshape(count, -1)
    found = world.shapecast(shape, begin, motion)
    for j in range(count):
        best = np.lexsort((world.rows, times[j]))[0]
        met = times[j][best] < np.inf
        assert found.rows[j] == (world.rows[best] if met else -1)
        assert found.times[j] == times[j][best]
    return (found.rows >= 0).sum()


def check_everything(world, draws, count):
    """Ask `count` questions of each kind; give how many answers those of each kind had."""
    answered = check_regions(world, draws, count)
    limit = np.where(draws.rng.random(count) < 0.3, draws.numbers(0, 2, count), np.inf)
    check_nearest(world, draws.places(count, 3), int(draws.rng.integers(1, 9)), limit, {}, world.rows)
    begin = draws.places(count, 2)
    ahead = draws.places(count) - begin
    ahead[: count // 10] = 0
    answered.append(check_rays(world, begin, ahead * draws.numbers(0.3, 9, count, 1), 3 * limit))
    answered.append(check_casts(world, ball(draws.d, draws.numbers(0, 0.5, count)), begin, ahead))
    return answered
