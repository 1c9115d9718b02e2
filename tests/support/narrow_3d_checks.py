"""What is checked of pairs of shapes in space: a little by the default suite, much by the soak."""

import numpy as np

from narrow_3d_cases import (
    contacts,
    distances,
    gaps_along,
    impacts,
    moved,
    oracle_distance,
    overlaps,
    random_pairs,
    rays,
    sizes_of,
    tolerances,
)
from narrow_3d_rays import CLOSED_FORMS


def label(seed, first, second, row):
    return f"seed={seed} row={row}: {first[0]} {first[1][row].tolist()}, {second[0]} {second[1][row].tolist()}"


def assert_all(holds, seed, first, second):
    bad = np.flatnonzero(~holds)
    assert not len(bad), f"{len(bad)} of {len(holds)}; " + label(seed, first, second, bad[0])


def check_distances(seed, kinds, form, n):
    """A gap along some direction is no more than the distance, and along the normal it is the distance.

    So no distance is given as too great. That none is too small is for the oracle and other libraries to say: here,
    directions around the normal are tried.
    """
    first, second = random_pairs(seed, kinds, form, n)
    tolerance = tolerances(first, second)
    found, normals = distances(first, second)
    assert_all(np.abs(np.linalg.norm(normals, axis=1) - 1) < 1e-12, seed, first, second)
    assert_all(np.abs(gaps_along(normals, first, second) - found) <= tolerance, seed, first, second)
    rng = np.random.default_rng(seed)
    for spread in (10.0, 1.0, 0.1, 1e-2, 1e-4):
        near = normals + spread * rng.normal(size=normals.shape)
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        assert_all(gaps_along(near, first, second) <= found + tolerance, seed, first, second)
    overlap = overlaps(first, second)
    assert_all((np.abs(found) <= tolerance) | (overlap == (found < 0)), seed, first, second)
    assert np.array_equal(overlaps(second, first), overlap)
    back, back_normals = distances(second, first)
    assert_all(back == found, seed, first, second)
    same_place = (first[1][:, :3] == second[1][:, :3]).all(axis=1)
    assert_all((back_normals == -normals).all(axis=1) | same_place, seed, first, second)


def check_touching(seed, kinds, n):
    """On a lattice, nothing is rounded before the last root: what touches overlaps, at a distance of 0 exactly."""
    first, second = random_pairs(seed, kinds, "lattice", n)
    found, _ = distances(first, second)
    touches = np.abs(found) < 1e-9
    assert touches.any()
    assert_all((found == 0) | ~touches, seed, first, second)
    assert_all(overlaps(first, second) == (found <= 0), seed, first, second)


def check_oracle(seed, kinds, form, n):
    first, second = random_pairs(seed, kinds, form, n)
    expected = np.array([oracle_distance(first, second, row) for row in range(n)])
    found, _ = distances(first, second)
    assert_all(np.abs(found - expected) <= tolerances(first, second, 1e-9), seed, first, second)


def check_library(library, seed, kinds, form, n):
    """Compare with a library, and where it differs, let the oracle judge. Gives how often the library was wrong.

    Both libraries stop at a tolerance, and both are at a loss now and then where cores only touch or are flat: coal
    then answers with the largest number there is, fcl is off by a tenth of the size. In none of the soak's cases
    did the oracle take their side.
    """
    first, second = random_pairs(seed, kinds, form, n)
    found, _ = distances(first, second)
    close = 1e-5 * tolerances(first, second, 1.0)
    wrong = 0
    for row in range(n):
        theirs = library.distance(first, second, row)
        if abs(theirs - found[row]) <= close[row] or (library.tells_apart_only and theirs < 0 and found[row] <= 0):
            continue
        ours = abs(oracle_distance(first, second, row) - found[row])
        assert ours <= 1e-4 * close[row], label(seed, first, second, row)
        wrong += 1
    return wrong


def check_contacts(seed, kinds, form, n):
    """Points lie in both shapes, within the depth, the first where they are the deepest in each other."""
    first, second = random_pairs(seed, kinds, form, n)
    rows = np.flatnonzero(overlaps(first, second))
    first, second = ((kind, records[rows]) for kind, records in (first, second))
    if not len(rows):
        return
    tolerance = tolerances(first, second)
    found, normals = distances(first, second)
    contact_normals, depths, counts, points = contacts(first, second)
    assert_all((contact_normals == normals).all(axis=1), seed, first, second)
    assert_all(np.abs(depths - np.maximum(-found, 0)) <= tolerance, seed, first, second)
    assert_all((counts >= 1) & (counts <= 4), seed, first, second)
    assert_all(((~np.isnan(points)).all(axis=2).sum(axis=1) == counts), seed, first, second)
    smaller, larger = np.minimum(sizes_of(*first), sizes_of(*second)), np.maximum(sizes_of(*first), sizes_of(*second))
    # Faces that meet at up to a thousandth are taken for parallel.
    slack = tolerance + 2e-3 * smaller
    for k in range(4):
        at = ("POINT", np.where(np.isnan(points[:, k]), points[:, 0], points[:, k]))
        for shape in (first, second):
            assert_all(distances(at, shape)[0] <= depths / 2 + slack, seed, first, second)
    # Half the depth away along the normal, the first point is on the surface of either, and farther it is beyond.
    for shape, side in ((first, 1), (second, -1)):
        on, out = (
            ("POINT", points[:, 0] + side * normals * (depths / 2 + way)[:, np.newaxis])
            for way in (np.zeros(len(rows)), 1e-5 * larger)
        )
        assert_all(distances(on, shape)[0] <= slack, seed, first, second)
        assert_all(distances(out, shape)[0] >= -tolerance, seed, first, second)
    turned = contacts(second, first)
    same_place = (first[1][:, :3] == second[1][:, :3]).all(axis=1)
    assert_all((turned[2] == counts) | same_place, seed, first, second)


def least_distances(first, motions, second, steps=60):
    """The least distance on the way, and when: distance is convex, so thirds of the way narrow it down."""
    begin, end = np.zeros(len(motions)), np.ones(len(motions))

    def at(times):
        return distances((first[0], moved(*first, motions * times[:, np.newaxis])), second)[0]

    for _ in range(steps):
        one, two = begin + (end - begin) / 3, end - (end - begin) / 3
        nearer = at(one) <= at(two)
        begin, end = np.where(nearer, begin, one), np.where(nearer, two, end)
    ends = np.stack([at(np.zeros(len(motions))), at(end), at(np.ones(len(motions)))])
    times = np.stack([np.zeros(len(motions)), end, np.ones(len(motions))])
    best = ends.argmin(axis=0)
    return np.take_along_axis(ends, best[np.newaxis], 0)[0], np.take_along_axis(times, best[np.newaxis], 0)[0], at


def check_impacts(seed, kinds, form, n):
    """The time is when the distance first comes down to 0; no time, if it never does."""
    first, second = random_pairs(seed, kinds, form, n)
    rng = np.random.default_rng(seed)
    size = sizes_of(*first) + sizes_of(*second)
    way = second[1][:, :3] - first[1][:, :3] + rng.normal(size=(n, 3)) * size[:, np.newaxis]
    fast = rng.choice([0.7, 2.0, 1e3, 1e6], (n, 1))
    motions = way * fast
    first = (first[0], moved(*first, -way * np.where(fast > 10, fast / 2, rng.choice([0.0, 1.0], (n, 1)))))
    tolerance = tolerances(first, second) + 1e-13 * np.abs(motions).max(axis=1)
    times, normals = impacts(first, second, motions)
    back, back_normals = impacts(second, first, -motions)
    assert_all(back == times, seed, first, second)
    same_place = (first[1][:, :3] == second[1][:, :3]).all(axis=1)
    assert_all((back_normals == -normals).all(axis=1) | same_place, seed, first, second)
    touches = overlaps(first, second)
    assert_all((times == 0)[touches], seed, *((kind, records[touches]) for kind, records in (first, second)))
    least, when, at = least_distances(first, motions, second)
    hits = np.isfinite(times)
    assert_all(hits | (least >= -tolerance), seed, first, second)
    assert_all(~hits | (least <= tolerance), seed, first, second)
    assert_all(~hits | ((times >= 0) & (times <= 1)), seed, first, second)
    times = np.where(hits, times, 0)
    # They touch then, and come nearer from then on: distance is convex. Where they graze, it tells little of the time.
    assert_all(~hits | touches | (np.abs(at(times)) <= tolerance), seed, first, second)
    assert_all(~hits | touches | (least > -2 * tolerance) | (times <= when), seed, first, second)
    assert_all(~hits | (np.abs(np.linalg.norm(normals, axis=1) - 1) < 1e-12), seed, first, second)


def check_rays(seed, kind, form, n):
    """Rays against closed forms. Where they differ, the ray must graze, or the points be the same within rounding."""
    (_, records), (_, near) = random_pairs(seed, (kind, "POINT"), form, n)
    shapes = kind, records
    rng = np.random.default_rng(seed)
    size = sizes_of(*shapes)[:, np.newaxis] + 1e-7
    origins = near + rng.normal(size=(n, 3)) * size * rng.choice([0.1, 3.0, 1e3], (n, 1))
    directions = (records[:, :3] - origins + rng.normal(size=(n, 3)) * size) * rng.choice([1.0, 1e-3, 1e6], (n, 1))
    if form == "lattice":
        origins = rng.integers(-6, 7, (n, 3)).astype(float)
        directions = rng.integers(-2, 3, (n, 3)).astype(float)
    times, normals = rays(shapes, origins, directions)
    expected, expected_normals = CLOSED_FORMS[kind](records, origins, directions)
    reach = np.abs(records[:, :3] - origins).max(axis=1)
    tolerance = 1e-10 * (sizes_of(*shapes) + reach) + 1e-15 * np.abs(records[:, :3]).max(axis=1)
    inside = overlaps(("POINT", origins), shapes)
    assert_all((times == 0)[inside], seed, (kind, records[inside]), ("POINT", origins[inside]))

    def surface(at):
        reached = origins + directions * np.where(np.isfinite(at), at, 0)[:, np.newaxis]
        return np.abs(distances(("POINT", reached), shapes)[0])

    hits, theirs = np.isfinite(times), np.isfinite(expected)
    speed = np.linalg.norm(directions, axis=1)
    same = hits == theirs
    both = hits & theirs
    same[both] &= np.abs(times[both] - expected[both]) * speed[both] <= tolerance[both]
    assert_all(~hits | inside | (surface(times) <= tolerance), seed, shapes, ("POINT", origins))
    # What the closed form hits is never missed; it misses some that graze, or run along an edge or in a plane. Where
    # both hit, at other times, the ray slides along the surface from one to the other.
    assert_all(hits | ~theirs, seed, shapes, ("POINT", origins))
    between = np.where(both, times, 0) / 2 + np.where(both, expected, 0) / 2
    sliding = both & (surface(expected) <= tolerance) & (surface(between) <= tolerance)
    assert_all(same | inside | (hits & ~theirs) | sliding, seed, shapes, ("POINT", origins))
    assert np.mean(same | inside) > 0.95
    outside = both & same & ~inside & (np.where(both, times, 0) * speed > tolerance)
    assert_all(((normals * directions).sum(axis=1) <= 1e-9 * speed)[outside], seed, shapes, ("POINT", origins))
    if form != "lattice" and kind not in ("POINT", "SEGMENT"):
        alike = (normals * expected_normals).sum(axis=1)[outside]
        assert np.mean(alike > 1 - 1e-6) > 0.95 or form == "needle"  # edges, and rounding where things are thin
    return hits.mean()
