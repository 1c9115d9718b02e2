"""What must hold of the narrow phase of the plane, for any two kinds of shapes."""

import zlib

import numpy as np
import shapely

from broadphase import _native
from narrow_2d_cases import ANGULAR, Cases, PartPairs, Style, make, part_distances, part_pairs, signed_distance


def generator(*words: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(words).encode()))


def rows_of(cases: Cases) -> np.ndarray:
    return np.arange(cases.owner[-1] + 1, dtype=np.int32)


def check(holds: np.ndarray, what: str, label: str, a: Cases, b: Cases) -> None:
    """Fail with the records of the first pair for which something does not hold."""
    if not np.all(holds):
        row = int(np.argmin(holds))
        raise AssertionError(
            f"{what}: {label}, pair {row} of {len(holds)}: {a.store.placed(row).tolist()} and "
            f"{b.store.placed(row).tolist()}"
        )


def check_pairs(rng: np.random.Generator, first: str, second: str, count: int, style: Style) -> None:
    """Overlaps, distances, contacts."""
    a, b = make(rng, first, count, style), make(rng, second, count, style, style.other)
    rows, label, tolerance = rows_of(a), f"{first} and {second}, {style.name}", style.tolerance

    def require(holds: np.ndarray, what: str) -> None:
        check(holds, what, label, a, b)

    parts = part_pairs(a, b)
    expected = signed_distance(parts, np.zeros((count, 2)))
    distances, normals = _native.shape_distances(a.store, b.store, rows, rows, None)
    backward, opposite = _native.shape_distances(b.store, a.store, rows, rows, None)
    require(np.abs(distances - expected) <= tolerance, "distance")
    require(distances == backward, "distance from both sides")
    require(np.abs(np.hypot(*normals.T) - 1) <= 1e-12, "length of the normal")
    if "compound" not in (first, second):
        tied = no_direction(a, b)
        require((normals == -opposite).all(axis=1) | tied, "normal from both sides")
        # Along the normal, and against it, lies what separates them and what joins them.
        moved = signed_distance(parts, normals * distances[:, None])
        require(np.abs(moved) <= tolerance, "place of touching")
    overlap = _native.shape_overlaps(a.store, b.store, rows, rows, None) == 1
    require(overlap == (_native.shape_overlaps(b.store, a.store, rows, rows, None) == 1), "overlap from both sides")
    require((overlap == (expected <= 0)) | (np.abs(expected) <= tolerance), "overlap")
    if style.lattice and first not in ANGULAR and second not in ANGULAR:
        require(overlap == (expected <= tolerance), "overlap of shapes that touch")
        straight = parts.reach == 0
        meet = shapely.intersects(a.parts.cores, b.parts.cores)
        require(~straight | (overlap == meet), "overlap as judged by exact predicates")
    check_contacts(a, b, np.flatnonzero(overlap).astype(np.int32), distances, normals, label, tolerance)


def no_direction(a: Cases, b: Cases) -> np.ndarray:
    """Equal shapes, be they of two kinds, and discs of one centre: no direction is better than another."""
    same = [
        len(p) == len(q) and np.allclose(sorted(p.tolist()), sorted(q.tolist()), rtol=0, atol=1e-12)
        for p, q in zip(a.parts.corners, b.parts.corners, strict=True)
    ]
    discs = np.array([len(p) == 1 for p in a.parts.corners])
    return np.array(same) & (discs | (a.parts.radii == b.parts.radii))


def check_contacts(
    a: Cases, b: Cases, rows: np.ndarray, distances: np.ndarray, normals: np.ndarray, label: str, tolerance: float
) -> None:
    """Depths and normals are those of the distances; points lie in both shapes, but for half the depth."""
    found, depths, counts, points = _native.shape_contacts(a.store, b.store, rows, rows, None)

    def require(holds: np.ndarray, what: str) -> None:
        full = np.ones(len(distances), dtype=bool)
        full[rows] = holds
        check(full, what, label, a, b)

    require(np.abs(depths - np.maximum(-distances[rows], 0)) <= tolerance, "depth")
    require(depths >= 0, "sign of the depth")
    require(np.abs(np.hypot(*found.T) - 1) <= 1e-12, "length of the normal of contact")
    require((counts == 1) | (counts == 2), "number of points")
    require(np.isnan(points[:, 1, 0]) == (counts == 1), "points that there are")
    for k in range(2):
        there = counts > k
        for shapes in (a, b):
            gaps = np.zeros(len(rows))
            gaps[there] = distance_to_points(shapes, rows[there], points[there, k])
            require(gaps <= depths / 2 + tolerance, f"point {k} of contact")
    # Half the depth away along the normal, the first point is still on either.
    for shapes, side in ((a, 0.5), (b, -0.5)):
        on = points[:, 0] + side * found * depths[:, None]
        require(distance_to_points(shapes, rows, on) <= tolerance, "first point of contact")


def distance_to_points(shapes: Cases, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Give the distance of each shape named from a point; negative within the radius of one."""
    starts = np.searchsorted(shapes.owner, np.arange(shapes.owner[-1] + 2))
    lengths = np.diff(starts)[rows]
    which = np.repeat(np.arange(len(rows)), lengths)
    part = starts[rows][which] + np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    gaps = shapely.distance(shapely.points(points[which]), shapes.parts.cores[part]) - shapes.parts.radii[part]
    return np.minimum.reduceat(gaps, np.cumsum(lengths) - lengths) if len(rows) else gaps


def motions_of(rng: np.random.Generator, count: int, style: Style) -> np.ndarray:
    """Give motions over the place where the shapes are, some of them a million times as far, and some of none."""
    motions = rng.integers(-8, 9, (count, 2)) if style.lattice else rng.uniform(-8, 8, (count, 2))
    return motions * style.size * rng.choice([1, 1, 1e6], (count, 1))


def check_impacts(rng: np.random.Generator, first: str, second: str, count: int, style: Style) -> None:
    """Times of impact."""
    a, b = make(rng, first, count, style), make(rng, second, count, style, style.other)
    rows, motions = rows_of(a), motions_of(rng, count, style)
    times, normals = _native.shape_impacts(a.store, b.store, rows, rows, motions, None)
    overlap = _native.shape_overlaps(a.store, b.store, rows, rows, None) == 1
    label = f"{first} and {second} that move, {style.name}"
    check((times <= 1) | np.isinf(times), "time", label, a, b)
    check_times(times, normals, motions, overlap, part_pairs(a, b), 1.0, style, label, a, b)
    # The other way round, it is the other that moves.
    backward, opposite = _native.shape_impacts(b.store, a.store, rows, rows, -motions, None)
    check(times == backward, "time from both sides", label, a, b)
    if "compound" not in (first, second):
        check((normals == -opposite).all(axis=1) | no_direction(a, b), "normal from both sides", label, a, b)


def check_rays(rng: np.random.Generator, kind: str, count: int, style: Style) -> None:
    """Where rays enter."""
    origins, shapes = make(rng, "point", count, style), make(rng, kind, count, style, style.other)
    rows, directions = rows_of(shapes), motions_of(rng, count, style)
    starts = np.concatenate(origins.parts.corners)
    times, normals = _native.shape_rays(shapes.store, rows, starts, directions)
    inside = _native.shape_overlaps(origins.store, shapes.store, rows, rows, None) == 1
    check_times(
        times,
        -normals,
        directions,
        inside,
        part_pairs(origins, shapes),
        1e3,
        style,
        f"rays and {kind}",
        origins,
        shapes,
    )
    lengths = np.hypot(*directions.T)
    against = np.divide(-directions, lengths[:, None], out=np.zeros_like(directions), where=lengths[:, None] > 0)
    check(~inside | (np.abs(normals - against) <= 1e-12).all(axis=1), "normal inside", kind, origins, shapes)


def check_times(
    times: np.ndarray,
    normals: np.ndarray,
    motions: np.ndarray,
    overlap: np.ndarray,
    parts: PartPairs,
    last: float,
    style: Style,
    label: str,
    a: Cases,
    b: Cases,
) -> None:
    """The distance is 0 at each time, and was not before; where there is none, it never is."""

    def require(holds: np.ndarray, what: str) -> None:
        check(holds, what, label, a, b)

    def distance(at: np.ndarray) -> np.ndarray:
        return signed_distance(parts, motions * at[:, None])

    lengths = np.hypot(*motions.T)
    tolerance = style.tolerance + 1e-14 * lengths * last
    require(~overlap | (times == 0), "time of those that overlap")
    met = np.isfinite(times)
    later = met & ~overlap
    now = np.where(met, times, 0)
    require(~later | (np.abs(distance(now)) <= tolerance), "distance at the time")
    for share in (0.3, 0.9, 0.999):
        require(~later | (distance(now * share) >= -tolerance), "distance before the time")
    require(~later | (np.abs(np.hypot(*normals.T) - 1) <= 1e-12), "length of the normal of impact")
    # At time 0, what touches but for rounding has the normal of its distance, wherever it moves.
    ahead = (normals * motions).sum(axis=1) >= -1e-7 * lengths
    require(~later | (now == 0) | ahead, "direction of the normal of impact")
    # The distance of two parts is a convex function of time: its least is found by cutting the interval.
    low, high = np.zeros(len(parts.pair)), np.full(len(parts.pair), last)
    golden = (5**0.5 - 1) / 2

    def of_parts(at: np.ndarray) -> np.ndarray:
        return part_distances(parts, motions[parts.pair] * at[:, None])

    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        falls = of_parts(left) > of_parts(right)
        low, high = np.where(falls, left, low), np.where(falls, high, right)
    require(met | (parts.least(of_parts(low)) >= -tolerance), "missed")
