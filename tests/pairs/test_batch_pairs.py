"""Boxes in batches: those of each key as if they were alone, against a plain loop over the keys with the oracle."""

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, oracle, simd_level, simd_levels
from cases import DIMENSIONS, DTYPES, METHOD_NAMES, lattice, scene

HUGE = (-(2**63), -(2**40), -1, 0, 7, 2**33, 2**63 - 1)


def by_loop(boxes, keys, other=None, other_keys=None, *, touching=True, margin=0.0, **filters):
    """Find the pairs of each key by the oracle, and filter them by row."""
    found = [np.empty((0, 2), np.int32)]
    for key in np.unique(keys):
        rows = np.flatnonzero(keys == key)
        columns = rows if other is None else np.flatnonzero(other_keys == key)
        against = None if other is None else other[columns]
        pairs = oracle.pairs(boxes[rows], against, touching=touching, margin=margin)
        found.append(np.stack([rows[pairs[:, 0]], columns[pairs[:, 1]]], axis=1))
    pairs = np.concatenate(found).astype(np.int32)
    return pairs[oracle.allowed(*pairs.T.astype(np.int64), other is not None, **filters)]


def check(boxes, keys, other=None, other_keys=None, *, methods=METHOD_NAMES, workers=(1, 2), label="", **options):
    expected = by_loop(boxes, keys, other, other_keys, **options)
    batch = keys if other is None else (keys, other_keys)
    for method in methods:
        for count in workers:
            where = f"{label} method={method} workers={count} {sorted(options)}"
            given = {"method": method, "workers": count, "batch": batch, **options}
            assert_same_pairs(bp.pairs(boxes, other, **given), expected, where)
            assert bp.count_pairs(boxes, other, **given) == len(expected), where
    return expected


def uneven_keys(rng, sizes):
    """Give keys in no order, some huge and some negative, of batches of these sizes."""
    names = np.concatenate([HUGE, rng.integers(-(2**62), 2**62, len(sizes))])[: len(sizes)]
    return rng.permutation(np.repeat(names, sizes))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_batches_of_uneven_sizes_equal_a_loop_over_them(dimension, dtype):
    rng = np.random.default_rng(dimension)
    keys = uneven_keys(rng, [400, 230, 60, 1, 2, 3, 33, *rng.integers(0, 20, 12)])
    boxes = lattice(rng, len(keys), dimension, dtype, reach=30 if dimension > 1 else 300)
    for touching in (True, False):
        check(boxes, keys, label=f"{dtype} d={dimension}", touching=touching)


@pytest.mark.parametrize("order", [np.sort, np.random.default_rng(1).permutation], ids=["sorted", "shuffled"])
def test_batches_above_what_one_task_takes_equal_a_loop_over_them(order):
    keys = order(np.repeat([5, -3, 9, 12], [3000, 2, 1, 700]))
    check(scene("uniform_2d", len(keys), 5), keys, workers=(2,))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("level", simd_levels())
def test_batches_equal_a_loop_over_them_on_each_level(level, dtype):
    rng = np.random.default_rng(2)
    with simd_level(level):
        for dimension in DIMENSIONS:
            keys = uneven_keys(rng, rng.integers(0, 70, 12))
            boxes = lattice(rng, len(keys), dimension, dtype)
            for touching in (True, False):
                check(boxes, keys, methods=["auto"], workers=(1,), label=f"{level} d={dimension}", touching=touching)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_batches_of_two_sets_equal_a_loop_over_them(dimension, dtype):
    rng = np.random.default_rng(dimension)
    names = np.array([-(2**63), -5, 0, 1, 2, 3, 2**63 - 1])
    for sizes, others in (([9, 0, 70, 2, 900, 1, 40], [20, 5, 0, 90, 300, 1, 3]), ([2] * 7, [0, 800, 3, 0, 0, 17, 1])):
        keys, other_keys = rng.permutation(np.repeat(names, sizes)), rng.permutation(np.repeat(names, others))
        reach = 20 if dimension > 1 else 300
        boxes = lattice(rng, len(keys), dimension, dtype, reach=reach)
        other = lattice(rng, len(other_keys), dimension, dtype, reach=reach)
        for touching in (True, False):
            check(boxes, keys, other, other_keys, label=f"{dtype} d={dimension}", touching=touching)


def test_batches_of_all_equal_and_all_distinct_keys_are_one_search_and_none():
    boxes = scene("lattice", 700, 1)
    for key in HUGE:
        assert_same_pairs(bp.pairs(boxes, batch=np.full(700, key)), oracle.pairs(boxes), str(key))
        assert_same_pairs(bp.pairs(boxes, batch=key), oracle.pairs(boxes), str(key))
    for keys in (np.arange(700), np.arange(700)[::-1], np.random.default_rng(1).permutation(700) * 2**50):
        assert bp.pairs(boxes, batch=keys).shape == (0, 2)
        assert bp.count_pairs(boxes, batch=keys) == 0


def test_batches_without_boxes_have_no_pairs():
    none, one = np.empty((0, 2, 3)), np.zeros((1, 2, 3))
    assert bp.pairs(none, batch=[]).shape == bp.pairs(one, batch=[3]).shape == (0, 2)
    assert bp.pairs(none, one, batch=([], [3])).shape == bp.pairs(one, none, batch=([3], [])).shape == (0, 2)
    for shape in ((0, 5, 2, 3), (5, 0, 2, 3), (0, 0, 2, 3), (4, 1, 2, 3)):
        assert bp.pairs(np.zeros(shape)).shape == (0, 2)
        assert bp.count_pairs(np.zeros(shape), np.zeros(shape)) == (4 if shape == (4, 1, 2, 3) else 0)
    assert bp.pairs(one, one, batch=([3], [4])).shape == (0, 2)
    np.testing.assert_array_equal(bp.pairs(one, one, batch=([3], [3])), [[0, 0]])


def test_scenes_of_one_size_are_batches_whose_rows_count_through():
    rng = np.random.default_rng(4)
    for scenes, n in ((40, 7), (3, 400), (1, 50), (50, 1)):
        boxes, other = lattice(rng, scenes * n, 3, "float32"), lattice(rng, scenes * 9, 3, "float32")
        keys, other_keys = np.arange(scenes).repeat(n), np.arange(scenes).repeat(9)
        formed, other_formed = boxes.reshape(scenes, n, 2, 3), other.reshape(scenes, 9, 2, 3)
        expected = by_loop(boxes, keys)
        forms = (formed, formed.tolist(), (formed[:, :, 0], formed[:, :, 1]), formed[:, :, :, ::-1][:, :, :, ::-1])
        for form in forms:
            assert_same_pairs(bp.pairs(form), expected, f"{scenes} x {n}")
        across = by_loop(boxes, keys, other, other_keys)
        assert_same_pairs(bp.pairs(formed, other_formed), across, f"{scenes} x {n}")
        assert_same_pairs(bp.pairs(formed, other, batch=(None, other_keys)), across, f"{scenes} x {n}")


def test_scenes_of_one_size_are_taken_by_each_function_of_boxes():
    rng = np.random.default_rng(10)
    scenes, other = (
        lattice(rng, 60, 3, "float64").reshape(12, 5, 2, 3),
        lattice(rng, 36, 3, "float64").reshape(12, 3, 2, 3),
    )
    boxes, keys, other_keys = scenes.reshape(60, 2, 3), np.arange(12).repeat(5), np.arange(12).repeat(3)
    within, across = by_loop(boxes, keys), by_loop(boxes, keys, other.reshape(36, 2, 3), other_keys)
    for form in (scenes, (scenes[:, :, 0], scenes[:, :, 1])):
        assert bp.count_pairs(form) == len(within)
        assert bp.count_pairs(form, other) == len(across)
        assert_same_pairs(np.concatenate(list(bp.iter_pairs(form, chunk=7))), within, "in chunks")
        assert_same_pairs(np.concatenate(list(bp.iter_pairs(form, other, chunk=7))), across, "two sets in chunks")
        assert (bp.explain(form).batch_count, bp.explain(form, other).batch_count) == (12, 12)
        index = bp.BVH(form)
        assert_same_pairs(index.pairs(other), across, "an index and scenes")
        assert index.count_pairs(other) == len(across)
        index.remove(np.arange(20, 60))
        np.testing.assert_array_equal(index.insert(form), np.arange(20, 80))
        again = np.concatenate([keys[:20], keys])
        assert_same_pairs(index.pairs(), by_loop(index.boxes_of(), again), "inserted")
        assert set(again[index.query(boxes, batch=11).rows]) == {11}


@pytest.mark.parametrize("pattern", ["one", "each its own", "extremes", "uneven"])
def test_any_keys_give_each_function_the_pairs_of_a_loop(pattern):
    rng = np.random.default_rng(11)
    keys = {
        "one": np.full(400, HUGE[0]),
        "each its own": rng.permutation(400) * 2**54 - 2**62,
        "extremes": rng.choice([-(2**63), 2**63 - 1], 400),
        "uneven": np.where(np.arange(400) < 300, 2**63 - 1, np.arange(400) // 3),
    }[pattern]
    boxes = lattice(rng, 400, 2, "float64", reach=15)
    other, other_keys = boxes[::3] + 1, keys[::3]
    expected = check(boxes, keys, methods=["auto", "bvh"], workers=(2,), label=pattern)
    across = check(boxes, keys, other, other_keys, methods=["auto", "grid"], workers=(2,), label=pattern)
    both = keys, other_keys
    assert_same_pairs(np.concatenate([expected[:0], *bp.iter_pairs(boxes, batch=keys, chunk=50)]), expected, pattern)
    found = np.concatenate([across[:0], *bp.iter_pairs(boxes, other, batch=both, chunk=50)])
    assert_same_pairs(found, across, pattern)
    assert bp.explain(boxes, batch=keys).batch_count == len(np.unique(keys))
    index, second = bp.BVH(boxes, batch=keys), bp.LinearTree(other, batch=other_keys)
    assert_same_pairs(index.pairs(), expected, pattern)
    assert_same_pairs(index.pairs(second), across, pattern)
    assert_same_pairs(index.pairs(other, batch=other_keys), across, pattern)
    assert_same_pairs(index.changes().enter, expected, pattern)
    found = index.query(other, batch=other_keys)
    assert_same_pairs(np.stack([found.rows, found.query_rows], axis=1), across, pattern)
    shapes = bp.Shapes(bp.Rectangle(*(boxes[:, 1] - boxes[:, 0]).T), boxes.mean(axis=1))
    assert_same_pairs(bp.overlaps(shapes, batch=keys), expected, pattern)
    world = bp.World(2)
    world.add_many(bp.Rectangle(*(boxes[:, 1] - boxes[:, 0]).T), boxes.mean(axis=1), batch=keys)
    assert_same_pairs(world.step().enter, expected, pattern)


def test_batches_with_filters_and_margins_equal_a_loop_over_them():
    rng = np.random.default_rng(5)
    keys = uneven_keys(rng, [500, 40, 40, 3, 3, 20])
    n = len(keys)
    boxes = lattice(rng, n, 2, "float64", reach=9)
    filters = {
        "layer": rng.integers(1, 8, n).astype(np.uint64),
        "mask": rng.integers(1, 8, n).astype(np.uint64),
        "group": rng.integers(-2, 3, n),
        "static": rng.random(n) < 0.5,
        "ignore_pairs": rng.integers(0, n, (500, 2)),
        "ignore_shared": rng.integers(0, 40, (n, 2)),
    }
    check(boxes, keys, workers=(1,), margin=0.7)
    for name, value in filters.items():
        check(boxes, keys, methods=["auto", "octree"], workers=(1,), **{name: value})
    check(boxes, keys, margin=1.0, touching=False, methods=["auto", "grid"], **filters)


def test_batches_sorted_limited_and_in_chunks_give_the_same_pairs():
    rng = np.random.default_rng(6)
    keys = uneven_keys(rng, [3000, 600, *rng.integers(0, 50, 60)])
    boxes = scene("rects", len(keys), 6)
    expected = by_loop(boxes, keys)
    expected = expected[np.lexsort(expected.T[::-1])]
    for workers in (1, 2):
        np.testing.assert_array_equal(bp.pairs(boxes, batch=keys, sort=True, workers=workers), expected)
        plain = bp.pairs(boxes, batch=keys, workers=workers)
        np.testing.assert_array_equal(plain, bp.pairs(boxes, batch=keys))
        assert len(bp.pairs(boxes, batch=keys, workers=workers, max_pairs=len(expected))) == len(expected)
        with pytest.raises(bp.errors.TooManyPairsError):
            bp.pairs(boxes, batch=keys, workers=workers, max_pairs=len(expected) - 1)
    for chunk in (7, 1000, 10**9):
        chunks = list(bp.iter_pairs(boxes, batch=keys, chunk=chunk))
        assert all(len(part) == chunk for part in chunks[:-1])
        np.testing.assert_array_equal(np.concatenate(chunks), plain)


def test_batches_are_copied_when_pairs_are_read_in_chunks():
    keys = np.repeat([4, 2, 3], 30)
    boxes = lattice(np.random.default_rng(7), 90, 2, "float64", reach=2)
    expected = by_loop(boxes, keys)
    stream = bp.iter_pairs(boxes, batch=keys, chunk=50)
    keys[:] = 0
    assert_same_pairs(np.concatenate(list(stream)), expected, "keys changed")


def test_batches_without_invalid_boxes_keep_their_keys():
    rng = np.random.default_rng(8)
    boxes = lattice(rng, 120, 2, "float64", reach=3)
    bad = rng.random(120) < 0.2
    boxes[bad, 0, 1] = np.nan
    for keys in (np.arange(120) // 12, rng.integers(0, 5, 120)):
        kept = np.flatnonzero(~bad)
        expected = kept[by_loop(boxes[kept], keys[kept])]
        with pytest.warns(bp.errors.InvalidBoxWarning):
            assert_same_pairs(bp.pairs(boxes, batch=keys, invalid="skip"), expected, "skip")
    with pytest.warns(bp.errors.InvalidBoxWarning):
        found = bp.pairs(boxes.reshape(10, 12, 2, 2), invalid="skip")
    assert_same_pairs(found, kept[by_loop(boxes[kept], (np.arange(120) // 12)[kept])], "skip, by shape")
    with pytest.raises(bp.errors.InvalidBoxError, match=f"row {np.argmax(bad)}:"):
        bp.pairs(boxes, batch=keys)
    with pytest.raises(bp.errors.InvalidBoxError, match=f"row {np.argmax(bad)}:"):
        bp.iter_pairs(boxes, batch=keys)


@pytest.mark.parametrize(
    ("other", "batch", "message"),
    [
        (None, [1, 2, 3], r"batch has shape \(3,\); one per box is needed: \(4,\)"),
        (None, [1.0, 2, 3, 4], "batch must be integer, not float64"),
        (None, ["a"] * 4, "batch must be integer"),
        (None, np.full(4, 2**63, np.uint64), r"batch has values of 2\*\*63 and more"),
        (np.zeros((2, 2, 2)), [1, 1, 1, 1], "batch: for two sets, give a tuple"),
        (np.zeros((2, 2, 2)), ([1] * 4, None), r"batch\[1\] is None; one key per row is needed"),
        (np.zeros((2, 2, 2)), ([1] * 4, [1] * 3), r"batch\[1\] has shape \(3,\)"),
        (np.zeros((1, 2, 2, 2)), None, "and boxes is not; give the keys of boxes"),
        (np.zeros((1, 2, 2, 2)), ([1] * 4, [1, 1]), r"batch\[1\]: boxes of shape \(E, n, 2, d\) are E batches of n"),
    ],
)
def test_keys_that_do_not_fit_the_boxes_are_refused(other, batch, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bp.pairs(np.zeros((4, 2, 2)), other, batch=batch)


def test_scenes_of_two_sets_that_are_not_as_many_are_refused():
    with pytest.raises(ValueError, match="boxes has 3 batches, and other has 2"):
        bp.pairs(np.zeros((3, 5, 2, 2)), np.zeros((2, 5, 2, 2)))
    with pytest.raises(ValueError, match=r"batch: boxes of shape \(E, n, 2, d\) are E batches of n already"):
        bp.pairs(np.zeros((3, 5, 2, 2)), batch=np.zeros(15, int))


def test_explanation_of_batches_is_that_of_the_largest():
    boxes = scene("uniform", 20_000)
    keys = np.concatenate([np.arange(5000) // 10, np.full(15_000, -1)])
    found = bp.explain(boxes, batch=keys)
    alone = bp.explain(boxes[keys == -1])
    assert (found.batch_count, found.largest_batch, found.box_count) == (501, 15_000, 20_000)
    assert (found.method, found.costs, alone.batch_count) == (alone.method, alone.costs, 1)
    assert "501 batches: 1 by a method" in str(found)
    small = bp.explain(boxes.reshape(2000, 10, 2, 3))
    assert (small.method, small.batch_count, small.largest_batch) == ("brute_force", 2000, 10)
    assert bp.explain(boxes[:0], batch=[]).batch_count == 1


def test_shapes_in_batches_overlap_those_of_their_key():
    rng = np.random.default_rng(9)
    first = bp.Shapes(bp.Circle(rng.random(60)), rng.random((60, 2)) * 4)
    second = bp.Shapes(bp.Rectangle(1, 1), rng.random((40, 2)) * 4)
    keys, other_keys = rng.integers(0, 4, 60), rng.integers(0, 4, 40)
    every = bp.overlaps(first)
    within = every[keys[every[:, 0]] == keys[every[:, 1]]]
    np.testing.assert_array_equal(bp.overlaps(first, batch=keys), within)
    np.testing.assert_array_equal(bp.contacts(first, batch=keys).pairs, within)
    across = bp.overlaps(first, second)
    across = across[keys[across[:, 0]] == other_keys[across[:, 1]]]
    np.testing.assert_array_equal(bp.overlaps(first, second, batch=(keys, other_keys)), across)
    with pytest.raises(ValueError, match="batch: the pairs are given"):
        bp.overlaps(first, pairs=within, batch=keys)
    with pytest.raises(ValueError, match="batch: for two sets of shapes, give a tuple"):
        bp.overlaps(first, second, batch=keys)
