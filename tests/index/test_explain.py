"""What "auto" says of itself: the right numbers, and the method that it takes."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.methods import METHODS
from broadphase.testing import SCENES, make_scene
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, scene

NAMES = tuple(method.name for method in METHODS)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("n", [0, 1, 2, 100, 3000])
def test_every_scene_is_explained(name, n):
    found = bp.explain(scene(name, n))
    assert found.method in NAMES
    assert found.box_count == n
    assert found.dim == SCENES[name].dim
    assert found.dtype == "float32"
    assert found.reason
    assert set(found.costs) <= set(NAMES)
    assert all(cost >= 0 for cost in found.costs.values())
    assert found.method in str(found)
    assert found.reason in str(found)
    assert "nan" not in str(found).lower()


@pytest.mark.parametrize("name", ["uniform", "rects", "clusters", "line", "identical", "points"])
@pytest.mark.parametrize("n", [2, 50, 500, 5000, 20_000])
def test_auto_gives_the_very_pairs_of_the_method_it_names(name, n):
    n = min(n, 500) if SCENES[name].quadratic else n
    boxes = scene(name, n)
    method = bp.explain(boxes).method
    assert bp.pairs(boxes).tobytes() == bp.pairs(boxes, method=method).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_numbers_of_an_even_scene_are_near_the_truth(dimension, dtype):
    rng = np.random.default_rng(1)
    lower = rng.random((20_000, dimension)) * 10
    found = bp.explain((lower.astype(dtype), (lower + 0.25).astype(dtype)))
    assert found.dtype == dtype
    assert np.allclose(found.extents, 0.25, rtol=0.1)
    assert np.allclose(found.low, 0.0, atol=0.5)
    assert np.allclose(found.high, 10.25, atol=0.5)
    assert np.allclose(found.meeting, 0.05, rtol=0.5)
    assert len(found.cells) == dimension


def test_few_boxes_are_tested_by_brute_force_and_many_are_not():
    assert bp.explain(scene("uniform", 50)).method == "brute_force"
    assert bp.explain(scene("uniform", 50_000)).method != "brute_force"


def test_clusters_are_seen():
    even, clustered = bp.explain(scene("uniform", 20_000)), bp.explain(scene("clusters", 20_000))
    assert clustered.clustering > 2 * even.clustering


def test_boxes_that_meet_on_every_axis_but_in_no_place_go_to_a_tree():
    assert bp.explain(scene("frames", 20_000)).method == "bvh"
    assert bp.explain(scene("identical", 20_000)).method != "bvh"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_boxes_beside_most_of_those_in_their_runs_are_swept(dtype):
    assert bp.explain(make_scene("huge_tiny", 20_000, dtype=dtype)).method == "sweep_and_prune"


@pytest.mark.parametrize("name", ["worst_2", "worst_7"])
def test_many_boxes_in_clusters_that_cells_do_not_tell_apart_are_swept(name):
    assert bp.explain(make_scene(name, 100_000)).method == "sweep_and_prune"


def test_two_sets_are_explained():
    found = bp.explain(scene("rects", 1000, 1), scene("rects", 500, 2))
    assert found.box_count == 1500
    assert found.method in NAMES


def test_cheapest_method_is_the_one_taken():
    for name, kind in SCENES.items():
        found = bp.explain(scene(name, 400 if kind.quadratic else 5000))
        assert found.costs[found.method] <= 1.001 * min(found.costs.values()), (name, found.costs)


def test_bad_boxes_are_refused_as_by_pairs():
    bad = scene("uniform", 2000).copy()
    bad[1234, 0, 1] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match=r"row 1234: lower\[1\] is NaN"):
        bp.explain(bad)
    with pytest.raises(ValueError, match="shape"):
        bp.explain(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="dimension"):
        bp.explain(scene("uniform", 5), scene("rects", 5))


def test_explaining_modifies_nothing_and_is_the_same_every_time():
    boxes = scene("clusters", 5000)
    assert bp.explain(boxes) == bp.explain(boxes.copy())
    assert bp.explain(boxes) == bp.explain(boxes, workers=2)


def test_every_method_that_auto_weighs_has_a_cost():
    costs = bp.explain(scene("uniform", 2000)).costs
    assert set(costs) == {"brute_force", "sweep_and_prune", "grid", "bvh"}
    assert set(costs) < set(METHOD_NAMES)
