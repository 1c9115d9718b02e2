"""The tools of the tests: the oracle against loops in plain Python, scenes that come out the same for ever."""

import itertools

import numpy as np
import pytest

from broadphase import testing
from broadphase.testing import SCENES, assert_same_pairs, checksum, make_scene, moving, oracle
from cases import DTYPES, lattice


def boxes_overlap(a, b, touching):
    if touching:
        return all(a[0][k] <= b[1][k] and b[0][k] <= a[1][k] for k in range(len(a[0])))
    return all(max(a[0][k], b[0][k]) < min(a[1][k], b[1][k]) for k in range(len(a[0])))


@pytest.mark.parametrize("touching", [True, False])
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_oracle_equals_loops_over_every_pair(dimension, touching):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        boxes, other = (lattice(rng, int(rng.integers(0, 30)), dimension, "float64", 2) for _ in range(2))
        a, b = boxes.tolist(), other.tolist()
        rows = itertools.combinations(range(len(a)), 2)
        expected = [[i, j] for i, j in rows if boxes_overlap(a[i], a[j], touching)]
        assert oracle.pairs(boxes, touching=touching).tolist() == expected
        assert oracle.count_pairs(boxes, touching=touching) == len(expected)
        rows = itertools.product(range(len(a)), range(len(b)))
        expected = [[i, j] for i, j in rows if boxes_overlap(a[i], b[j], touching)]
        assert oracle.pairs(boxes, other, touching=touching).tolist() == expected
        assert oracle.count_pairs(boxes, other, touching=touching) == len(expected)


def test_oracle_filters_equal_loops_over_every_pair():
    n = 40
    boxes = np.zeros((n, 2, 2))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        layer, mask, group = rng.integers(0, 4, n), rng.integers(0, 4, n), rng.integers(-2, 3, n)
        static, shared, ignored = rng.random(n) < 0.5, rng.integers(0, 30, (n, 3)), rng.integers(0, n, (50, 2))
        expected = []
        for i, j in itertools.combinations(range(n), 2):
            passes = bool(layer[i] & mask[j] and layer[j] & mask[i])
            if group[i] == group[j] != 0:
                passes = bool(group[i] > 0)
            passes = passes and not (static[i] and static[j])
            passes = passes and not set(shared[i]) & set(shared[j])
            if passes and [i, j] not in ignored.tolist() and [j, i] not in ignored.tolist():
                expected.append([i, j])
        filters = {"layer": layer, "mask": mask, "group": group, "static": static, "ignore_shared": shared}
        assert oracle.pairs(boxes, ignore_pairs=ignored, **filters).tolist() == expected


def test_oracle_margin_moves_every_side_by_half():
    boxes = np.array([[[0.0], [1.0]], [[2.0], [3.0]]])
    assert oracle.count_pairs(boxes, margin=1.0) == 1
    assert oracle.count_pairs(boxes, margin=1.0, touching=False) == 0
    assert oracle.count_pairs(boxes, margin=0.99) == 0


def test_oracle_over_several_blocks_equals_one(monkeypatch):
    boxes = make_scene("rects", 300)
    expected = oracle.pairs(boxes)
    for block in (1, 300, 1000, 12_345):
        monkeypatch.setattr(oracle, "BLOCK", block)
        assert np.array_equal(oracle.pairs(boxes), expected)


@pytest.mark.parametrize("name", SCENES)
def test_scenes_are_boxes_of_their_dimension_and_dtype(name):
    scene = SCENES[name]
    assert scene.name == name
    assert scene.summary.endswith(".")
    for dtype in DTYPES:
        for n in (0, 1, 2, 3, 10, 1000):
            boxes = scene.factory(n, 5, dtype)
            assert boxes.shape == (n, 2, scene.dim)
            assert boxes.dtype == dtype
            assert (boxes[:, 0] <= boxes[:, 1]).all()


@pytest.mark.parametrize("name", SCENES)
def test_scenes_are_the_same_for_one_seed_only(name):
    first, same, third = (make_scene(name, 500, seed=seed, dtype="float64") for seed in (1, 1, 2))
    assert first.tobytes() == same.tobytes()
    assert first.tobytes() != third.tobytes()
    assert not np.shares_memory(first, same)


@pytest.mark.parametrize("name", [name for name, scene in SCENES.items() if not scene.quadratic])
def test_scenes_have_a_fair_number_of_pairs_at_any_size(name):
    for n in (1000, 4000):
        assert 0.03 * n < oracle.count_pairs(make_scene(name, n, dtype="float64")) < 80 * n


def test_make_scene_with_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'uniform'"):
        make_scene("unifrom", 10)


@pytest.mark.parametrize("name", SCENES)
def test_moving_scenes_stay_boxes_in_their_world(name):
    scene = moving(name, 300, dtype="float64")
    first = scene.boxes.copy()
    finite = np.isfinite(first).all(axis=(1, 2))
    lowest, highest = first[finite, 0].min(axis=0), first[finite, 1].max(axis=0)
    slack = 1e-9 * (highest - lowest)
    for _ in range(40):
        boxes = scene.step()
        assert boxes is scene.boxes
        assert (boxes[:, 0] <= boxes[:, 1]).all()
        assert (boxes[finite, 0] >= lowest - slack).all()
        assert (boxes[finite, 1] <= highest + slack).all()
    assert not np.array_equal(boxes, first) or name == "identical"


def test_moving_scenes_are_the_same_for_one_seed():
    one, two, third = moving("uniform", 100, seed=1), moving("uniform", 100, seed=1), moving("uniform", 100, seed=2)
    for _ in range(5):
        assert np.array_equal(one.step(), two.step())
        assert not np.array_equal(one.boxes, third.step())


def test_moving_scenes_leave_their_first_frame_alone():
    boxes = make_scene("uniform", 100)
    before = boxes.copy()
    testing.MovingScene(boxes).step()
    assert np.array_equal(boxes, before)


def test_same_pairs_in_any_order_pass():
    assert_same_pairs([[3, 4], [0, 1]], np.array([[0, 1], [3, 4]], np.int32))
    assert_same_pairs(np.empty((0, 2), np.int32), np.empty((0, 2), np.int64))


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        ([[0, 1]], r"scene: 1 pairs where 2 were expected; 1 missing: \(2, 3\)$"),
        ([[0, 1], [2, 3], [5, 6]], r"1 extra: \(5, 6\)$"),
        ([[1, 0], [2, 3]], r"1 missing: \(0, 1\); 1 extra: \(1, 0\)$"),
        ([[0, 1], [2, 3], [0, 1]], r"1 more than once: \(0, 1\)$"),
        ([[k, k + 1] for k in range(0, 20)], r"18 extra: \(1, 2\), \(3, 4\), \(4, 5\), \(5, 6\), \(6, 7\), \.\.\.$"),
        ([0, 1, 2, 3], r"must be \(m, 2\) integers"),
        ([[0.0, 1.0], [2.0, 3.0]], r"must be \(m, 2\) integers"),
        ([[-1, 1], [2, 3]], "row numbers from -1 to 3"),
    ],
)
def test_other_pairs_are_named(actual, message):
    with pytest.raises(AssertionError, match=message):
        assert_same_pairs(actual, [[0, 1], [2, 3]], "scene")


def test_checksum_is_that_of_the_formula():
    def scrambled(key):
        key ^= key >> 30
        key = key * 0xBF58476D1CE4E5B9 % 2**64
        key ^= key >> 27
        key = key * 0x94D049BB133111EB % 2**64
        return key ^ key >> 31

    pairs = np.random.default_rng(1).integers(0, 2**31, (100, 2))
    expected = sum(scrambled(int(i) << 32 | int(j)) for i, j in pairs) % 2**64
    assert checksum(pairs) == f"{expected:016x}"
    assert checksum(pairs[::-1]) == checksum(pairs.astype(np.int32)) == checksum(pairs)
    assert checksum(pairs[1:]) != checksum(pairs)
    assert checksum(np.empty((0, 2), int)) == "0" * 16


def test_public_names_are_sorted_and_there():
    assert testing.__all__ == sorted(
        testing.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert all(hasattr(testing, name) for name in testing.__all__)
