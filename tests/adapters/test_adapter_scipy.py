"""``broadphase.adapters.scipy`` against SciPy: its own tests, and the same calls of both."""

import gc
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

library = pytest.importorskip("scipy.spatial", reason="SciPy is not installed")

from broadphase.adapters import scipy as ours  # noqa: E402 (the library is there)

# All that can be is searched here: that reaches each line of ours that is reached where few are left to SciPy.
PLUGIN = """
import scipy.spatial
from broadphase.adapters import scipy as ours
scipy.spatial.KDTree, scipy.spatial.cKDTree = ours.KDTree, ours.cKDTree
ours._FEW, ours._POINTS_PER_PLACE = 1, float("inf")
"""
# They take longest, and are answered by SciPy itself.
LEFT_OUT = "not largep"


@pytest.fixture(autouse=True)
def small_trees_are_searched_here(monkeypatch):
    monkeypatch.setattr(ours, "_FEW", 1)
    monkeypatch.setattr(ours, "_POINTS_PER_PLACE", np.inf)


def test_tests_of_scipy_pass_with_ours_in_place_of_its_trees(tmp_path):
    found = importlib.util.find_spec("scipy.spatial.tests")
    if found is None:
        pytest.skip("SciPy comes without its tests")
    (tmp_path / "test_kdtree.py").write_text((Path(found.submodule_search_locations[0]) / "test_kdtree.py").read_text())
    (tmp_path / "replacing.py").write_text(PLUGIN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "replacing", "-p", "no:cacheprovider", "test_kdtree.py"]
    paths = [str(tmp_path), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    result = subprocess.run(
        [*command, "-k", LEFT_OUT], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-4000:]
    assert int(result.stdout.split(" passed")[0].split()[-1]) > 150


def lattice(rng, dimension):
    """Many distances are equal, and exactly the radius."""
    return rng.integers(0, 7, (150, dimension)).astype(float)


def uniform(rng, dimension):
    return rng.random((200, dimension))


def crowded(rng, dimension):
    return np.concatenate((np.zeros((40, dimension)), rng.random((60, dimension)) * 1e-9, rng.random((9, dimension))))


def far(rng, dimension):
    return rng.random((120, dimension)) * 1e-3 + 1e6


def decimal(rng, dimension):
    """Multiples of a number that is rounded: squares and roots fall on different sides of a radius."""
    return rng.integers(0, 9, (200, dimension)) * 0.1


SCENES = {lattice: (0.0, 1.0, 2.0), uniform: (0.0, 0.1, 0.7), crowded: (0.0, 5e-10, 1.0)}
SCENES |= {far: (1e-5, 2e-4, 1.0), decimal: (0.1, 0.30000000000000004, 0.3)}


def both(scene, dimension, seed=0):
    rng = np.random.default_rng(seed)
    points = scene(rng, dimension)
    places = np.concatenate((scene(rng, dimension)[:40], points[:5], points[:5] + 100))
    return ours.cKDTree(points), library.cKDTree(points), places


CASES = [(scene, radius) for scene, radii in SCENES.items() for radius in radii]


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(("scene", "radius"), CASES)
def test_query_pairs_finds_the_pairs_of_scipy(scene, radius, dimension):
    tree, other, _ = both(scene, dimension)
    pairs = tree.query_pairs(radius, output_type="ndarray")
    expected = other.query_pairs(radius, output_type="ndarray")
    assert (pairs.dtype, pairs.shape) == (expected.dtype, expected.shape)
    assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, expected.tolist()))
    assert tree.query_pairs(radius) == other.query_pairs(radius)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(("scene", "radius"), CASES)
def test_query_ball_point_finds_the_points_of_scipy(scene, radius, dimension):
    tree, other, places = both(scene, dimension)
    found, expected = tree.query_ball_point(places, radius), other.query_ball_point(places, radius)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tolist() == expected.tolist()
    counts, expected = (one.query_ball_point(places, radius, return_length=True) for one in (tree, other))
    assert counts.dtype == expected.dtype
    np.testing.assert_array_equal(counts, expected)
    radii = np.linspace(0, radius, 50)
    assert tree.query_ball_point(places, radii).tolist() == other.query_ball_point(places, radii).tolist()
    block = places[:48].reshape(6, 8, dimension)
    assert tree.query_ball_point(block, radius).tolist() == other.query_ball_point(block, radius).tolist()
    assert sorted(tree.query_ball_point(places[0], radius)) == sorted(other.query_ball_point(places[0], radius))
    lists = tree.query_ball_tree(ours.cKDTree(places), radius)
    assert lists == [sorted(one) for one in other.query_ball_tree(library.cKDTree(places), radius)]


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(("scene", "radius"), CASES)
def test_sparse_distance_matrix_is_that_of_scipy(scene, radius, dimension):
    tree, other, places = both(scene, dimension)
    tree_of_places, theirs = ours.cKDTree(places), library.cKDTree(places)
    for one, two in ((tree_of_places, theirs), (tree, other)):
        records = tree.sparse_distance_matrix(one, radius, output_type="ndarray")
        expected = other.sparse_distance_matrix(two, radius, output_type="ndarray")
        assert records.dtype == expected.dtype
        assert sorted(records.tolist()) == sorted(expected.tolist())
        found = tree.sparse_distance_matrix(one, radius, output_type="dict")
        assert found == other.sparse_distance_matrix(two, radius, output_type="dict")
        for form in ("coo_matrix", "dok_matrix"):
            matrix, wanted = (
                maker.sparse_distance_matrix(asked, radius, output_type=form)
                for maker, asked in ((tree, one), (other, two))
            )
            assert (type(matrix), matrix.shape, matrix.nnz) == (type(wanted), wanted.shape, wanted.nnz)
            np.testing.assert_array_equal(matrix.toarray(), wanted.toarray())


@pytest.mark.parametrize("kind", ["cKDTree", "KDTree"])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("scene", SCENES)
def test_query_finds_the_distances_of_scipy(scene, dimension, kind):
    points = scene(np.random.default_rng(0), dimension)
    _, _, places = both(scene, dimension)
    tree, other = getattr(ours, kind)(points), getattr(library, kind)(points)
    for k in (1, 2, 7, len(points), len(points) + 3):
        for asked in (places, places[0], places[:48].reshape(6, 8, dimension), places[0].tolist()):
            (distances, rows), (expected, their_rows) = tree.query(asked, k), other.query(asked, k)
            assert np.shape(distances) == np.shape(rows) == np.shape(expected)
            assert type(rows) is type(their_rows)
            np.testing.assert_array_equal(distances, expected)
            found = np.asarray(rows)[np.isfinite(distances)]
            assert (np.asarray(rows)[~np.isfinite(distances)] == len(points)).all()
            broad = np.broadcast_to(np.asarray(asked)[..., None, :], (*np.shape(asked)[:-1], k, dimension))
            near = broad.reshape(*np.shape(distances), dimension)[np.isfinite(distances)]
            np.testing.assert_allclose(
                np.linalg.norm(near - points[found], axis=-1), np.asarray(distances)[np.isfinite(distances)]
            )
            each = np.asarray(rows).reshape(-1, k)[:, : len(points)]
            assert all(len(set(one)) == len(one) for one in each.tolist())


OTHER_CALLS = {
    "p": lambda tree, other: sorted(tree.query_pairs(1.5, p=1)),
    "infinite p": lambda tree, other: tree.query_ball_point([[1, 1]] * 9, 1, p=np.inf).tolist(),
    "eps": lambda tree, other: tree.query([1, 1], eps=0.5)[0],
    "bound": lambda tree, other: tree.query([[1, 1], [99, 99]], 2, distance_upper_bound=1.0)[0].tolist(),
    "some of k": lambda tree, other: tree.query([1, 1], [1, 3])[0].tolist(),
    "infinite radius": lambda tree, other: len(tree.query_pairs(np.inf)),
    "tiny radius": lambda tree, other: sorted(tree.query_pairs(1e-200)),
    "negative radius": lambda tree, other: sorted(tree.query_pairs(-1.0)),
    "not a radius": lambda tree, other: tree.query_ball_point([[1, 1]] * 9, [np.nan] * 9).tolist(),
    "count": lambda tree, other: tree.count_neighbors(other, 2.0),
    "tree": lambda tree, other: [sorted(one) for one in tree.query_ball_tree(other, 1.0, p=1)],
    "matrix": lambda tree, other: tree.sparse_distance_matrix(other, 1.0, p=1).nnz,
    "attributes": lambda tree, other: (tree.n, tree.m, tree.maxes.tolist(), tree.leafsize, tree.size > 0),
    "wrong output": lambda tree, other: tree.query_pairs(1.0, output_type="list"),
    "wrong matrix": lambda tree, other: tree.sparse_distance_matrix(other, 1.0, output_type="list"),
    "wrong places": lambda tree, other: tree.query([1, 2, 3]),
    "nan": lambda tree, other: tree.query([[np.nan, 1]] * 9),
    "no k": lambda tree, other: tree.query([1, 1], k=0),
    "wrong radii": lambda tree, other: tree.query_ball_point([[1, 1]] * 9, [1, 2]),
    "no name": lambda tree, other: tree.no_such_name,
}


@pytest.mark.parametrize("call", OTHER_CALLS)
def test_what_scipy_answers_is_what_it_answers(call):
    points, places = lattice(np.random.default_rng(0), 2), lattice(np.random.default_rng(1), 2)
    outcomes = []
    for module in (ours, library):
        try:
            outcomes.append(OTHER_CALLS[call](module.cKDTree(points), module.cKDTree(places)))
        except (ValueError, TypeError, AttributeError) as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dimension", [1, 4])
def test_other_dimensions_and_periodic_boxes_are_answered_by_scipy(dimension):
    points = np.random.default_rng(0).random((90, dimension))
    assert ours.cKDTree(points).query_pairs(0.2) == library.cKDTree(points).query_pairs(0.2)
    plane = points[:, :1] * [1, 0.5]
    trees = [module.cKDTree(plane, boxsize=[1, 1]) for module in (ours, library)]
    assert trees[0].query_pairs(0.1) == trees[1].query_pairs(0.1)
    assert trees[0].query_ball_point(plane, 0.1).tolist() == trees[1].query_ball_point(plane, 0.1).tolist()


@pytest.mark.parametrize("data", [[[0, np.nan]], [[np.inf, 0]], [1, 2, 3], "text", [["a", "b"]]])
def test_points_that_scipy_refuses_raise_its_error(data):
    with pytest.raises((ValueError, TypeError)) as expected:
        library.cKDTree(data)
    with pytest.raises(expected.type):
        ours.cKDTree(data)


def test_no_points_and_integers_are_taken_as_by_scipy():
    for points in (np.empty((0, 2)), [[1, 2], [3, 4]], np.array([[True, False]]), np.float32([[0.1, 0.2]])):
        tree, other = ours.cKDTree(points), library.cKDTree(points)
        assert tree.query([[0, 0]] * 9, 2)[0].tolist() == other.query([[0, 0]] * 9, 2)[0].tolist()
        assert tree.query_pairs(3) == other.query_pairs(3)
        assert tree.query_ball_point([[0, 0]] * 9, 3).tolist() == other.query_ball_point([[0, 0]] * 9, 3).tolist()
        np.testing.assert_array_equal(tree.data, other.data)


def test_tree_that_was_pickled_answers_as_before():
    tree = ours.KDTree(uniform(np.random.default_rng(0), 3))
    tree.query([0.5, 0.5, 0.5])
    again = pickle.loads(pickle.dumps(tree))
    assert again.query([0.5, 0.5, 0.5]) == tree.query([0.5, 0.5, 0.5])
    assert again.query_pairs(0.1) == tree.query_pairs(0.1)


def test_points_are_copied():
    points = lattice(np.random.default_rng(0), 2)
    tree, pairs = ours.cKDTree(points), library.cKDTree(points.copy()).query_pairs(1.0)
    points[:] = 0
    assert tree.query_pairs(1.0) == pairs


def test_threads_do_not_change_results():
    points = uniform(np.random.default_rng(0), 2)
    tree = ours.cKDTree(points)
    assert tree.query(points, 3, workers=2)[1].tolist() == tree.query(points, 3)[1].tolist()
    assert tree.query_ball_point(points, 0.1, workers=2).tolist() == tree.query_ball_point(points, 0.1).tolist()


@pytest.mark.parametrize("k", [[1], [1, 3], (4, 2, 2), np.array([2, 300]), range(1, 4), 5, 300])
@pytest.mark.parametrize("scene", SCENES)
def test_query_for_some_ranks_or_up_to_a_bound_gives_the_distances_of_scipy(scene, k):
    tree, other, places = both(scene, 3)
    for bound in (np.inf, 0.0, *SCENES[scene], 1e-3):
        for asked in (places, places[7]):
            distances, rows = tree.query(asked, k, distance_upper_bound=bound)
            expected, their_rows = other.query(asked, k, distance_upper_bound=bound)
            np.testing.assert_array_equal(distances, expected)
            assert rows.dtype == their_rows.dtype
            np.testing.assert_array_equal(rows == other.n, their_rows == other.n)
            near = np.linalg.norm(np.asarray(asked)[..., None, :] - tree.data[np.minimum(rows, tree.n - 1)], axis=-1)
            found = np.isfinite(distances)
            np.testing.assert_allclose(near[found], distances[found])


@pytest.mark.parametrize("count", [3, 150, 230])
def test_trees_of_any_size_and_crowds_give_the_answers_of_scipy(count, monkeypatch):
    monkeypatch.undo()
    for points in (np.full((count, 2), 0.5), np.random.default_rng(0).random((count, 2))):
        tree, other = ours.cKDTree(points), library.cKDTree(points)
        for radius in (0.0, 0.1, 2.0):
            assert tree.query_pairs(radius) == other.query_pairs(radius)
            counts = tree.query_ball_point(points, radius, return_length=True)
            assert counts.tolist() == other.query_ball_point(points, radius, return_length=True).tolist()
        for place in (points[:1], points, np.zeros((500, 2))):
            assert tree.query(place, 2)[0].tolist() == other.query(place, 2)[0].tolist()
            found = [one.query_ball_point(place, 0.1, return_sorted=True).tolist() for one in (tree, other)]
            assert found[0] == found[1]
        for form in ([0.5, 0.5], (0.5, 0.5), points[0]):
            assert sorted(tree.query_ball_point(form, 0.2)) == sorted(other.query_ball_point(form, 0.2))
        matrix, wanted = tree.sparse_distance_matrix(tree, 0.1), other.sparse_distance_matrix(other, 0.1)
        assert {type(one) for one in matrix.values()} == {type(one) for one in wanted.values()}
        assert dict(matrix.items()) == dict(wanted.items())


@pytest.mark.parametrize("boxsize", [1.0, [1.0, 0.5, 0], (0, 0, 0.3)])
@pytest.mark.parametrize("kind", ["cKDTree", "KDTree"])
@pytest.mark.parametrize("steps", [0, 8, 10])
def test_points_in_a_periodic_box_equal_those_of_scipy(boxsize, kind, steps):
    # On a lattice, many are exactly the radius apart, across the borders too.
    random = np.random.default_rng(steps)
    lengths = np.broadcast_to(boxsize, 3)
    share = random.integers(0, steps, (200, 3)) / steps if steps else random.random((200, 3))
    points = share * np.where(lengths > 0, lengths, 1)
    others, places = points[::3].copy(), (share[::2] * 7 - 3) * np.where(lengths > 0, lengths, 1)
    tree, expected = (getattr(library_of, kind)(points, boxsize=boxsize) for library_of in (ours, library))
    second, wanted = (getattr(library_of, kind)(others, boxsize=boxsize) for library_of in (ours, library))
    smallest = lengths[lengths > 0].min()
    for r in (0, 0.1 * smallest, 0.25 * smallest, 0.48 * smallest, 0.5 * smallest, smallest):
        assert tree.query_pairs(r) == expected.query_pairs(r)
        assert tree.query_ball_tree(second, r) == [sorted(row) for row in expected.query_ball_tree(wanted, r)]
        radii = random.choice([0, r], len(places))
        for radius in (r, radii):
            found, theirs = (one.query_ball_point(places, radius, return_sorted=True) for one in (tree, expected))
            assert found.tolist() == theirs.tolist()
            found, theirs = (one.query_ball_point(places, radius, return_length=True) for one in (tree, expected))
            assert found.tolist() == theirs.tolist()
        found, theirs = (
            one.sparse_distance_matrix(two, r).toarray() for one, two in ((tree, second), (expected, wanted))
        )
        assert found.tolist() == theirs.tolist()
        assert tree.count_neighbors(tree, r) == expected.count_neighbors(expected, r)
        assert tree.count_neighbors(second, r) == expected.count_neighbors(wanted, r)
    assert tree.query(places, 3)[1].tolist() == expected.query(places, 3)[1].tolist()
    assert tree.query_pairs(0.4 * smallest) == pickle.loads(pickle.dumps(tree)).query_pairs(0.4 * smallest)


@pytest.mark.parametrize("boxsize", [0.9, -1, [1, 1], np.nan, "long"])
def test_wrong_boxes_raise_as_in_scipy(boxsize):
    points = np.random.default_rng(0).random((500, 3)) + 0.01
    raised = []
    for kind in (library.cKDTree, ours.cKDTree):
        try:
            raised.append(kind(points, boxsize=boxsize).query_pairs(0.01))
        except (TypeError, ValueError) as error:
            raised.append((type(error), str(error)))
    assert raised[0] == raised[1]


@pytest.mark.parametrize("make", [lattice, uniform, crowded])
def test_counts_of_neighbors_equal_those_of_scipy(make):
    random = np.random.default_rng(5)
    for dimension in (2, 3):
        points, others = make(random, dimension), make(random, dimension)
        tree, second, expected, wanted = (
            kind(these) for kind in (ours.cKDTree, library.cKDTree) for these in (points, others)
        )
        for radii in (0, 1.0, 2.0**0.5, [0, 0.1, 1, 1, 2], [1, 0.1], [], -1.0, np.inf, [0.2, np.nan]):
            for one, two in (((tree, tree), (expected, expected)), ((tree, second), (expected, wanted))):
                for cumulative in (True, False):
                    if radii == [1, 0.1] and not cumulative:
                        with pytest.raises(ValueError, match="non-decreasing"):
                            one[0].count_neighbors(one[1], radii, cumulative=False)
                        continue
                    found, theirs = (a.count_neighbors(b, radii, cumulative=cumulative) for a, b in (one, two))
                    assert type(found) is type(theirs)
                    np.testing.assert_array_equal(found, theirs)
        weights = random.random(len(points))
        assert tree.count_neighbors(tree, 1.0, weights=weights) == expected.count_neighbors(
            expected, 1.0, weights=weights
        )


def test_few_points_are_kept_as_scipy_does_pickled_and_compared_with_many(monkeypatch):
    monkeypatch.undo()
    random = np.random.default_rng(1)
    points, others = random.random((50, 3)), random.random((1200, 3))
    for kind in ("cKDTree", "KDTree"):
        expected, tree = getattr(library, kind)(points.copy()), getattr(ours, kind)(points)
        many, more = getattr(ours, kind)(others), getattr(library, kind)(others)
        assert tree.data is points
        assert getattr(ours, kind)(points, copy_data=True).data is not points
        again = pickle.loads(pickle.dumps(tree))
        for one in (tree, again):
            assert one.query_pairs(0.3) == expected.query_pairs(0.3)
            assert one.query([0.5, 0.5, 0.5]) == expected.query([0.5, 0.5, 0.5])
            assert one.query_ball_tree(many, 0.2) == expected.query_ball_tree(more, 0.2)
            assert many.query_ball_tree(one, 0.2) == [sorted(row) for row in more.query_ball_tree(expected, 0.2)]
            found = [a.sparse_distance_matrix(b, 0.2).toarray().tolist() for a, b in ((one, many), (expected, more))]
            assert found[0] == found[1]
            assert many.count_neighbors(one, 0.2) == more.count_neighbors(expected, 0.2)


def test_few_places_are_answered_by_the_tree_of_scipy(monkeypatch):
    monkeypatch.undo()
    random = np.random.default_rng(4)
    points, places = random.random((3000, 2)), random.random((600, 2))
    tree, expected = ours.cKDTree(points), library.cKDTree(points)
    assert tree.query(places)[1].tolist() == expected.query(places)[1].tolist()
    for number, count in enumerate((600, 512, 511, 1, 64)):
        found, theirs = (one.query_ball_point(places[:count], 0.05) for one in (tree, expected))
        assert [sorted(row) for row in found] == [sorted(row) for row in theirs]
        assert (tree._tree is None) == (number < 2)


def test_matrix_by_keys_of_scipy_keeps_them_in_the_attribute_that_is_filled_here():
    assert library.cKDTree([[0.0, 0.0]]).sparse_distance_matrix(library.cKDTree([[1.0, 0.0]]), 2.0)._dict == {
        (0, 0): 1.0
    }


def test_sets_and_lists_are_made_with_the_collector_as_it_was():
    tree = ours.cKDTree(uniform(np.random.default_rng(0), 2))
    for wanted in (True, False):
        (gc.enable if wanted else gc.disable)()
        try:
            lists = tree.query_ball_point(tree.data, 0.1)
            assert gc.isenabled() is wanted
        finally:
            gc.enable()
    assert all(map(gc.is_tracked, lists))
