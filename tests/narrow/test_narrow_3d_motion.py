"""Times of impact and rays against shapes in space: against bisection of distances, and closed forms."""

import numpy as np
import pytest

from narrow_3d_cases import FORMS, KINDS, PAIRS_OF_KINDS, corners, impacts, moved, overlaps, random_records, rays
from narrow_3d_checks import check_impacts, check_rays

every_pair = pytest.mark.parametrize("kinds", PAIRS_OF_KINDS, ids="-".join)
every_form = pytest.mark.parametrize("form", FORMS)


@every_pair
def test_impacts_are_when_the_distance_comes_down_to_0(kinds):
    for form in FORMS:
        check_impacts([5], kinds, form, 60)


@every_form
@pytest.mark.parametrize("kind", KINDS)
def test_rays_equal_closed_forms(kind, form):
    check_rays([6], kind, form, 1000)


@every_pair
def test_what_is_fast_is_not_missed(kinds):
    """A million times its size on the way through a place where it overlaps the other, it meets it there or before."""
    rng = np.random.default_rng([7, *(KINDS.index(kind) for kind in kinds)])
    (kind, records), second = ((kind, random_records(rng, kind, "plain", 300)) for kind in kinds)
    middles = [corners(*shapes)[0].mean(axis=1) for shapes in ((kind, records), second)]
    # Nothing is rounded on the way back and forth: all are multiples of a power of two, and not too many.
    places = slice(0, 3) if kind == "ORIENTED_BOX" else slice(None)
    records = moved(kind, records, middles[1] - middles[0])
    records[:, places] = np.round(records[:, places] * 2**20) / 2**20
    ways = rng.integers(-8, 9, (300, 3)) + np.array([0.0, 0, 20])
    times, _ = impacts((kind, moved(kind, records, -ways * 2.0**20)), second, ways * 2.0**22)
    overlap = overlaps((kind, records), second)
    if {"BALL", "CAPSULE", "BOX", "ORIENTED_BOX"} & set(kinds) or kinds == ("TRIANGLE", "TRIANGLE"):
        assert overlap.mean() > 0.9
    assert ((times[overlap] <= 0.25) & (times[overlap] > 0.249)).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rays_do_not_pass_between_triangles_that_share_an_edge(scale):
    rng = np.random.default_rng(8)
    begin, end, left, right = rng.normal(size=(4, 5000, 3)) * scale
    at = rng.choice([0.0, 0.25, 1 / 3, 0.5, 0.9, 1.0], (5000, 1))
    target = begin + (end - begin) * at
    origins = rng.normal(size=(5000, 3)) * scale * rng.choice([2.0, 100.0], (5000, 1))
    directions = (target - origins) * rng.choice([1.0, 1e-3, 1e3], (5000, 1))
    one, _ = rays(("TRIANGLE", np.concatenate([begin, end, left], axis=1)), origins, directions)
    two, _ = rays(("TRIANGLE", np.concatenate([end, begin, right], axis=1)), origins, directions)
    assert np.isfinite(np.minimum(one, two)).all()


def test_spheres_of_a_millionth_meet_boxes_of_a_million_where_they_should():
    rng = np.random.default_rng(9)
    heights = 10 ** rng.uniform(-5, 6, 1000)
    places = rng.uniform(-4e5, 4e5, (1000, 2))
    balls = "BALL", np.column_stack([places, heights, np.full(1000, 1e-6)])
    ground = "BOX", np.broadcast_to([-5e5, -5e5, -1e6, 5e5, 5e5, 0.0], (1000, 6)).copy()
    times, normals = impacts(balls, ground, np.broadcast_to([0.0, 0, -2e6], (1000, 3)).copy())
    assert times * 2e6 == pytest.approx(heights - 1e-6, rel=1e-9)
    assert normals == pytest.approx(np.broadcast_to([0.0, 0, -1], (1000, 3)))
