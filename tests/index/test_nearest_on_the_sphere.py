"""The recipe of docs/adapters/shapely.md: nearest places on the sphere, judged by the haversine formula."""

import numpy as np
import pytest

import broadphase as bp

RADIUS = 6_371_008.8  # metres


def unit_vectors(degrees):
    longitude, latitude = np.radians(degrees).T
    return np.column_stack(
        (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude))
    )


def great_circle(chords):
    return 2 * RADIUS * np.arcsin(np.minimum(chords / 2, 1))


def haversine(one, other):
    """Metres between places in degrees, in extended precision where there is one; near antipodes by the other half."""
    one, other = (np.asarray(places, np.longdouble) * (np.arccos(np.longdouble(-1)) / 180) for places in (one, other))
    apart, north = other[..., 0] - one[..., 0], other[..., 1] - one[..., 1]
    cosines = np.cos(one[..., 1]) * np.cos(other[..., 1])
    near = np.sin(north / 2) ** 2 + cosines * np.sin(apart / 2) ** 2
    far = np.sin((one[..., 1] + other[..., 1]) / 2) ** 2 + cosines * np.cos(apart / 2) ** 2
    return np.asarray(2 * RADIUS * np.arctan2(np.sqrt(near), np.sqrt(far)), float)


def places(random, count):
    """Places all over the globe, half of them near the antimeridian or a pole."""
    latitude = np.degrees(np.arcsin(random.uniform(-1, 1, count)))
    longitude = random.uniform(-180, 180, count)
    longitude[::4] = np.remainder(random.normal(180, 2, len(longitude[::4])) + 180, 360) - 180
    latitude[1::4] = random.choice((-1, 1), len(latitude[1::4])) * (90 - abs(random.normal(0, 2, len(latitude[1::4]))))
    return np.column_stack((longitude, latitude))


def test_nearest_unit_vectors_are_the_nearest_places_across_the_antimeridian_and_the_poles():
    random = np.random.default_rng(1)
    here, there = places(random, 400), places(random, 600)
    found = bp.Index(bp.boxes.from_points(unit_vectors(there))).nearest(unit_vectors(here), k=5)
    apart = haversine(here[:, None], there[None])
    assert np.array_equal(found.rows, np.argsort(apart, axis=1)[:, :5])
    expected = np.sort(apart, axis=1)[:, :5]
    assert abs(great_circle(found.distances) - expected).max() < 5e-9  # metres


def test_places_within_a_chord_are_those_within_the_distance():
    random = np.random.default_rng(2)
    there = places(random, 700)
    pairs = bp.neighbors(unit_vectors(there), 2 * np.sin(400_000 / RADIUS / 2)).pairs
    apart = haversine(there[:, None], there[None])
    assert {tuple(pair) for pair in pairs.tolist()} == set(zip(*np.nonzero(np.triu(apart <= 400_000, 1)), strict=True))


@pytest.mark.parametrize(("least", "most", "error"), [(0, 90, 5e-9), (90, 179, 5e-7), (179, 180, 0.3)])
def test_error_of_the_great_circle_grows_only_near_the_antipode(least, most, error):
    random = np.random.default_rng(3)
    here = places(random, 20_000)
    angle = np.where(random.random(len(here)) < 0.5, random.uniform(least, most, len(here)), most - 1e-9)
    there = here + np.column_stack((np.zeros(len(here)), angle))  # along the meridian, over the pole
    over = there[:, 1] > 90
    there[over] = np.column_stack((there[over, 0] + 180, 180 - there[over, 1]))
    chords = np.sqrt(((unit_vectors(here) - unit_vectors(there)) ** 2).sum(axis=1))
    errors = abs(great_circle(chords) - haversine(here, there))
    assert errors.max() < error
