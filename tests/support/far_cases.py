"""Scenes of boxes that are far away, huge or minute, queries of the same magnitudes, and what whole numbers say."""

from fractions import Fraction
from functools import cache
from math import isqrt
from typing import Any

import numpy as np

import broadphase as bp
from index_cases import CAPABILITIES, generator
from oracles import exact
from oracles.exact import whole

INF = np.inf
LARGEST = {"float32": float(np.finfo(np.float32).max), "float64": float(np.finfo(np.float64).max)}
LEAST = {"float32": 2.0**-149, "float64": 2.0**-1074}
# Rounded results differ from the exact ones by less than this share; so do rows that are taken in another order.
SHARE = Fraction(1, 1 << 46)
KINDS = ("one_far", "some_far", "both_sides", "huge_boxes", "largest", "subnormal", "mixed", "beside_far", "opposite")


def sizes(rng: np.random.Generator, shape: Any, dtype: str) -> np.ndarray:
    """Numbers from 10^3 up to the largest."""
    return 10.0 ** rng.uniform(3, 38 if dtype == "float32" else 308, shape)


def lattice(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    return np.sort(rng.integers(-4, 5, (n, 2, dimension)), axis=1).astype(float)


def scene(kind: str, rng: np.random.Generator, n: int, dimension: int, dtype: str) -> np.ndarray:
    """Boxes (n, 2, d): near each other, and some of them not."""
    with np.errstate(all="ignore"):
        return any_scene(kind, rng, n, dimension, dtype)


def any_scene(kind: str, rng: np.random.Generator, n: int, dimension: int, dtype: str) -> np.ndarray:
    boxes = lattice(rng, n, dimension)
    most = LARGEST[dtype]
    if kind == "one_far":
        boxes[rng.integers(n)] += rng.choice([-1, 1], dimension) * sizes(rng, (), dtype)
    elif kind == "some_far":
        boxes += np.where(rng.random((n, 1, 1)) < 0.4, rng.choice([0, 1], (n, 1, dimension)), 0) * sizes(rng, (), dtype)
    elif kind == "both_sides":
        boxes += rng.choice([-1.0, 0.0, 1.0], (n, 1, dimension)) * sizes(rng, (n, 1, 1), dtype)
    elif kind == "huge_boxes":
        huge = np.stack([-sizes(rng, (n, dimension), dtype), sizes(rng, (n, dimension), dtype)], axis=1)
        boxes = np.where(rng.random((n, 1, 1)) < 0.5, huge, boxes)
    elif kind == "largest":
        edge = rng.choice([most, -most, most / 2, np.nextafter(most, 0, dtype=dtype), 0.0], boxes.shape)
        boxes = np.where(rng.random(boxes.shape) < 0.5, edge, boxes)
    elif kind == "subnormal":
        boxes *= LEAST[dtype]
        boxes = np.where(rng.random(boxes.shape) < 0.1, rng.choice([1.0, -1.0, most, -most], boxes.shape), boxes)
    elif kind == "mixed":
        powers = rng.integers(-149, 120, boxes.shape) if dtype == "float32" else rng.integers(-1074, 1015, boxes.shape)
        boxes = np.ldexp(np.where(rng.random(boxes.shape) < 0.8, boxes, 0.0), powers)
    elif kind == "opposite":
        boxes = most * (0.75 + boxes / 1024)
        boxes = np.where(rng.random((n, 1, 1)) < 0.1, -boxes, boxes)
    else:
        boxes *= np.ldexp(1.0, rng.integers(-60, 60))
        boxes[rng.integers(n)] = [[-most] * dimension, [-most / 2] * dimension]
        boxes += np.where(rng.random((n, 1, 1)) < 0.3, sizes(rng, (), dtype), 0)
    return np.sort(np.clip(boxes, -most, most).astype(dtype), axis=1)


class Drawer:
    """Draws queries of a scene's own coordinates, of what lies between them, and of what is a little beside them."""

    def __init__(self, rng: np.random.Generator, boxes: np.ndarray) -> None:
        self.rng, self.dimension = rng, boxes.shape[2]
        self.pools = [
            np.unique(np.append(axis, [0.0, 1.0])) for axis in boxes.astype(float).reshape(-1, self.dimension).T
        ]

    def places(self, count: int) -> np.ndarray:
        columns = []
        for pool in self.pools:
            one, other = self.rng.choice(pool, (2, count))
            beside = np.nextafter(one, self.rng.choice([-INF, INF], count))
            columns.append(
                np.choose(
                    self.rng.choice(5, count, p=[0.5, 0.15, 0.1, 0.15, 0.1]),
                    [one, one / 2 + other / 2, -one, beside, one + self.rng.choice([-3.0, 0.5, 2.0], count)],
                )
            )
        return np.nan_to_num(np.stack(columns, axis=1))

    def lengths(self, count: int) -> np.ndarray:
        gaps = np.abs(self.places(count) - self.places(count)).max(axis=1)
        return np.where(self.rng.random(count) < 0.2, 0.0, np.nan_to_num(gaps))

    def boxes(self, count: int) -> np.ndarray:
        return np.sort(np.stack([self.places(count), self.places(count)], axis=1), axis=1)

    def motions(self, start: np.ndarray) -> np.ndarray:
        """To some place, or along a diagonal; in parts, or with some axes left out."""
        rng, count = self.rng, len(start)
        motion = np.nan_to_num(self.places(count) - start)
        diagonal = rng.choice([-1.0, 1.0], start.shape) * self.lengths(count)[:, np.newaxis]
        motion = np.where(rng.random((count, 1)) < 0.3, diagonal, motion)
        motion = np.where(rng.random(start.shape) < 0.2, 0.0, motion)
        return np.where(rng.random(start.shape) < 0.05, np.ldexp(motion, rng.integers(-900, 0, start.shape)), motion)


def near(value: float, true: Fraction) -> bool:
    """Whether a float is a number in units, up to rounding; infinite if that is too large."""
    if value == INF:
        return true >= whole(LARGEST["float64"]) * (1 - SHARE)
    return abs(whole(value) - true) <= abs(true) * SHARE + 1


def as_box(box: np.ndarray) -> Any:
    return tuple(whole(box.astype(float)))


def check_rows(found: bp.index.QueryResult, regions: list[Any], boxes: Any, hit: Any, label: str) -> int:
    for k, region in enumerate(regions):
        expected = [row for row, box in enumerate(boxes) if hit(region, box)]
        assert found[k].tolist() == expected, f"{label} query {k}: {found[k].tolist()} where {expected} was expected"
    return len(regions) * len(boxes)


def check_nearest(found: bp.index.Nearest, points: Any, k: int, limits: Any, boxes: Any, label: str) -> int:
    for number, (point, limit) in enumerate(zip(points, limits, strict=True)):
        here = f"{label} query {number}: {found.rows[number].tolist()} at {found.distances[number].tolist()}"
        true = exact.nearest_rows(point, boxes)
        if limit != INF:
            true = [one for one in true if one[0] <= whole(limit) ** 2]
        true, squares = true[:k], {row: square for square, row in true}
        rows = found.rows[number][: len(true)].tolist()
        assert (found.rows[number][len(true) :] == -1).all(), f"{here}; exactly {len(true)} are near enough"
        assert -1 not in rows, f"{here}; {true} expected"
        for place, (row, value) in enumerate(zip(rows, found.distances[number], strict=False)):
            own = squares.get(row, exact.squared_distance(point, boxes[row]))
            least, most = (own * (1 - 2 * SHARE), own * (1 + 2 * SHARE))
            assert least <= true[place][0] <= most, f"{here}; {true} expected"
            if true[place][0] == own and place and true[place - 1][0] == own and len(point) < 3:
                assert rows[place - 1] < row, f"{here}; equally near rows are not ascending"
            reported = INF if value == INF else whole(float(value)) ** 2
            too_large = own > whole(LARGEST["float64"]) ** 2 * (1 - SHARE)
            root = isqrt(own)
            assert too_large if reported == INF else abs(isqrt(reported) - root) <= root * SHARE + 2, here
    return len(points) * len(boxes)


def check_rays(index: Any, arguments: Any, boxes: Any, label: str) -> int:
    origins, directions, limits = arguments
    every, first = index.raycast_all(*arguments), index.raycast(*arguments)
    some = index.raycast_any(*arguments)
    for k, (origin, direction) in enumerate(zip(whole(origins), whole(directions), strict=True)):
        rows, distances = every[k]
        here = f"{label} ray {k}: {rows.tolist()} at {distances.tolist()}"
        squared_length = sum(value * value for value in direction)
        true = {}
        for row, box in enumerate(boxes):
            time = exact.touch_time((origin, origin), direction, box)
            if time is not None:
                true[row] = time * time * squared_length  # the square of the distance
        limit = INF if limits[k] == INF else whole(float(limits[k])) ** 2
        sure = (
            {row for row, square in true.items() if square == 0 or square <= limit * (1 - SHARE)}
            if limit != INF
            else set(true)
        )
        maybe = {row for row, square in true.items() if limit == INF or square <= limit * (1 + SHARE)}
        assert sure <= set(rows.tolist()) <= maybe, f"{here}; {sorted(sure)} expected"
        for place, (row, value) in enumerate(zip(rows.tolist(), distances.tolist(), strict=True)):
            root = isqrt(int(true[row]))
            if value == INF:
                assert root >= whole(LARGEST["float64"]) * (1 - SHARE), here
            else:
                assert abs(whole(value) - root) <= root * SHARE + 2, (
                    f"{here}; {exact.as_float(Fraction(root))} expected"
                )
            if place:
                assert true[rows[place - 1]] <= true[row] * (1 + SHARE), f"{here}; not in order"
        assert first.rows[k] == (rows[0] if len(rows) else -1), f"{here}; first {first.rows[k]}"
        assert first.distances[k] == (distances[0] if len(rows) else INF), here
        assert some[k] == (len(rows) > 0), here
    return 3 * len(origins) * len(boxes)


def check_casts(found: bp.index.ShapecastHits, moving: Any, motions: Any, boxes: Any, label: str) -> int:
    for k, (box, motion) in enumerate(zip(moving, motions, strict=True)):
        times = {row: exact.touch_time(box, motion, other) for row, other in enumerate(boxes)}
        true = {row: time for row, time in times.items() if time is not None and time <= 1}
        here = f"{label} cast {k}: {found.rows[k]} at {found.times[k]}"
        if not true:
            assert found.rows[k] == -1, f"{here}; none expected"
            assert found.times[k] == INF
            continue
        least = min(true.values())
        assert found.rows[k] in true, f"{here}; one of {sorted(true)} expected"
        assert true[found.rows[k]] <= least * (1 + SHARE), f"{here}; {least.numerator / least.denominator} expected"
        # Fractions of a motion have no unit: they may be too small for a float.
        assert abs(Fraction(float(found.times[k])) - least) <= least * SHARE + Fraction(1, 1 << 1070), here
    return len(moving) * len(boxes)


def check_index(index: Any, queries: dict[str, Any], boxes: Any, label: str) -> int:
    """Compare all results of an index with whole numbers; give how many boxes were compared with a query."""
    able = CAPABILITIES[type(index).__name__]
    checks = 0
    if "query" in able:
        checks += check_rows(
            index.query(queries["boxes"]),
            [as_box(box) for box in queries["boxes"]],
            boxes,
            exact.overlap,
            f"{label} query",
        )
        points = queries["points"]
        regions = [(point, point) for point in whole(points)]
        checks += check_rows(index.query_points(points), regions, boxes, exact.overlap, f"{label} query_points")
    if "query_ball" in able:
        balls = list(zip(whole(queries["points"]), whole(queries["radii"]), strict=True))
        found = index.query_ball(queries["points"], queries["radii"])
        checks += check_rows(found, balls, boxes, lambda ball, box: exact.in_ball(*ball, box), f"{label} query_ball")
    if "nearest" in able:
        for k, limits in ((1, queries["limits"]), (3, np.full(len(queries["limits"]), INF))):
            found = index.nearest(queries["points"], k, limits)
            checks += check_nearest(found, whole(queries["points"]), k, limits, boxes, f"{label} nearest k={k}")
    if "raycast" in able:
        checks += check_rays(index, (queries["points"], queries["motions"], queries["limits"]), boxes, label)
    if "shapecast" in able:
        found = index.shapecast(queries["boxes"], queries["casts"])
        moving = [as_box(box) for box in queries["boxes"]]
        checks += check_casts(found, moving, whole(queries["casts"]), boxes, f"{label} shapecast")
    return checks


def check_pairs(name: str, kind: str, seed: int, n: int, dimension: int, dtype: str) -> int:
    """Compare the pairs of an index or a method, among its boxes and with others, with and without a margin."""
    boxes, in_whole, _ = queries_of_scene(kind, seed, n, dimension, dtype, 4)
    other, other_in_whole, _ = queries_of_scene(kind, seed + 1000, n, dimension, dtype, 4)
    rng = generator("far pairs", kind, seed, dimension, dtype)
    margin = float(rng.choice([0.0, 0.0, 0.5, 3.0, LEAST[dtype] * 2, 1e30, 1e300 if dtype == "float64" else 1e35]))
    touching, label = bool(rng.random() < 0.7), f"{name} {kind} seed={seed} n={n} d={dimension} {dtype}"
    two = [(i, j) for i in range(n) for j in range(n)]
    one = [(i, j) for i, j in two if i < j]
    if name in CAPABILITIES:
        index = getattr(bp, name)(boxes)
        found = [index.pairs(touching=touching), index.pairs(other, touching=touching), index.pairs(margin=margin)]
    else:
        options = {"method": name, "sort": True}
        found = [
            bp.pairs(boxes, touching=touching, **options),
            bp.pairs(boxes, other, touching=touching, **options),
            bp.pairs(boxes, margin=margin, **options),
        ]
    checked = (
        (found[0], one, in_whole, False),
        (found[1], two, other_in_whole, False),
        (found[2], one, in_whole, True),
    )
    for pairs, candidates, second, has_margin in checked:
        pairs = set(map(tuple, pairs.tolist()))
        for i, j in candidates:
            gap, size = exact.widest_gap(in_whole[i], second[j])
            here = f"{label} {margin if has_margin else ''} {touching}: {i}, {j} at {exact.as_float(Fraction(gap))}"
            if not has_margin:
                hit = gap <= 0 if touching else exact.have_common_inside(in_whole[i], second[j])
                assert ((i, j) in pairs) == hit, here
                continue
            # The corners are rounded once, in the dtype of the boxes.
            slack = (size + whole(margin) >> (22 if dtype == "float32" else 51)) + 4 * whole(LEAST[dtype])
            if gap > whole(margin) + slack:
                assert (i, j) not in pairs, here
            elif gap <= whole(margin) - slack:
                assert (i, j) in pairs, here
    return 3 * len(two)


@cache
def queries_of_scene(kind: str, seed: int, n: int, dimension: int, dtype: str, count: int) -> Any:
    """Make a scene, its boxes in whole numbers, and queries, the same for every class of index."""
    rng = generator("far", kind, seed, n, dimension, dtype)
    boxes = scene(kind, rng, n, dimension, dtype)
    drawer = Drawer(rng, boxes)
    with np.errstate(all="ignore"):
        points, regions = drawer.places(count), drawer.boxes(count)
        queries = {
            "boxes": regions,
            "points": points,
            "radii": drawer.lengths(count),
            "limits": np.where(rng.random(count) < 0.5, INF, drawer.lengths(count)),
            "motions": drawer.motions(points),
            "casts": drawer.motions(regions[:, 0]),
        }
    return boxes, [as_box(box) for box in boxes], queries


def check_far(name: str, kind: str, seed: int, n: int, dimension: int, dtype: str, count: int = 4) -> int:
    boxes, in_whole, queries = queries_of_scene(kind, seed, n, dimension, dtype, count)
    label = f"{name} {kind} seed={seed} n={n} d={dimension} {dtype}"
    return check_index(getattr(bp, name)(boxes), queries, in_whole, label)
