"""Queries with keys: each finds rows of its own batch, as the oracle does among these rows alone."""

import copy
import pickle

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import assert_same_pairs, simd_level, simd_levels
from cases import DIMENSIONS, DTYPES, EACH_INDEX, capabilities_of, each_index_with, lattice
from oracles import queries as plain
from test_batch_pairs import HUGE, by_loop, uneven_keys


def expected_rows(find, boxes, rows, keys, asked, *given):
    """Let an oracle of ragged answers find the rows of each query among those of its key."""
    answers = [np.empty(0, np.int32)] * len(asked)
    for query, key in enumerate(asked):
        own = rows[keys[rows] == key]
        answers[query] = find(boxes[own], *(part[query : query + 1] for part in given), rows=own)[0]
    return answers


def check_queries(index, keys, asked, rng, workers=1):
    """Compare all that the index can do with the oracles; `keys` by slot."""
    able, rows, count, dim = capabilities_of(type(index)), index.rows, len(asked), index.dim
    boxes = np.zeros((index.slots, 2, dim))
    boxes[rows] = index.boxes_of()
    around = lattice(rng, count, dim, "float64", reach=6)
    points, radii = around[:, 0] + 0.5, rng.integers(0, 4, count).astype(float)
    given = {"batch": asked, "workers": workers}
    for name, found, oracle, parts in (
        ("query", lambda: index.query(around, **given), plain.query, (around,)),
        ("query", lambda: index.query_points(points, **given), plain.query_points, (points,)),
        ("query_ball", lambda: index.query_ball(points, radii, **given), plain.query_ball, (points, radii)),
    ):
        if name not in able:
            with pytest.raises(bp.errors.UnsupportedQueryError):
                found()
            continue
        answer, expected = found(), expected_rows(oracle, boxes, rows, keys, asked, *parts)
        for query in range(count):
            np.testing.assert_array_equal(answer[query], expected[query], err_msg=f"{name} {query}")
    directions = rng.integers(-2, 3, (count, dim)).astype(float)
    if "raycast" in able:
        first = index.raycast(points, directions, **given)
        every = index.raycast_all(points, directions, **given)
        hit = index.raycast_any(points, directions, **given)
        for query, key in enumerate(asked):
            own = rows[keys[rows] == key]
            ray = points[query : query + 1], directions[query : query + 1]
            one = plain.raycast(boxes[own], *ray, rows=own)
            assert (first.rows[query], first.distances[query]) == (one[0][0], one[1][0])
            np.testing.assert_array_equal(every[query][0], plain.raycast_all(boxes[own], *ray, rows=own)[0])
            assert hit[query] == (one[0][0] >= 0)
    if "nearest" in able:
        for k in (1, 3):
            found = index.nearest(points, k, **given)
            for query, key in enumerate(asked):
                own = rows[keys[rows] == key]
                near, away = plain.nearest(boxes[own], points[query : query + 1], k, rows=own)
                wanted = found.rows[query]
                np.testing.assert_array_equal(wanted[wanted >= 0], near[near >= 0])
                np.testing.assert_array_equal(found.distances[query][wanted >= 0], away[near >= 0])
    if "shapecast" in able:
        cast = index.shapecast(around, directions, **given)
        for query, key in enumerate(asked):
            own = rows[keys[rows] == key]
            moving = around[query : query + 1], directions[query : query + 1]
            row, time = plain.shapecast(boxes[own], *moving, rows=own)
            assert (cast.rows[query], cast.times[query]) == (row[0], time[0])


def asked_of(rng, keys, count):
    """Choose keys of queries: of rows, and some that no row has."""
    asked = rng.choice(keys, count)
    asked[rng.random(count) < 0.1] = 123456789
    return asked


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_queries_with_keys_equal_the_oracle_among_rows_of_the_key(dimension):
    rng = np.random.default_rng(dimension)
    keys = uneven_keys(rng, [60, 30, 1, 2, 9, 40, 5])
    index = bp.BVH(lattice(rng, len(keys), dimension, DTYPES[dimension % 2], reach=6), batch=keys)
    check_queries(index, keys, asked_of(rng, keys, 10), rng)
    check_queries(index, keys, np.sort(asked_of(rng, keys, 6)), rng, workers=2)


@pytest.mark.parametrize("level", simd_levels())
def test_queries_with_keys_equal_the_oracle_on_each_level(level):
    rng = np.random.default_rng(3)
    with simd_level(level):
        keys = uneven_keys(rng, [300, 30, 9])
        index = bp.BVH(lattice(rng, len(keys), 3, "float64", reach=6), batch=keys)
        check_queries(index, keys, asked_of(rng, keys, 6), rng)


@EACH_INDEX
def test_rows_that_come_move_and_leave_keep_their_keys(kind):
    rng = np.random.default_rng(4)
    keys = rng.choice(HUGE, 50)
    index = kind(lattice(rng, 50, 3, "float64", reach=6), batch=keys)
    for _ in range(2):
        gone = rng.choice(index.rows, 8, replace=False)
        index.remove(gone)
        new = rng.choice(HUGE, 12)
        rows = index.insert(lattice(rng, 12, 3, "float64", reach=6), batch=new)
        keys = np.concatenate([keys, np.zeros(max(0, rows.max() + 1 - len(keys)), int)])
        keys[rows] = new
        moved = rng.choice(index.rows, 10, replace=False)
        index.move(moved, lattice(rng, 10, 3, "float64", reach=6))
        check_queries(index, keys, asked_of(rng, keys, 3), rng)
        living = index.rows
        expected = living[by_loop(index.boxes_of(), keys[living])]
        assert_same_pairs(index.pairs(), expected, kind.__name__)
        assert index.count_pairs() == len(expected)
        index.validate()
    for twin in (copy.copy(index), pickle.loads(pickle.dumps(index))):
        check_queries(twin, keys, asked_of(rng, keys, 2), rng)
        assert_same_pairs(twin.pairs(), expected, "copied")


@EACH_INDEX
def test_pairs_of_keyed_indexes_are_those_within_batches(kind):
    rng = np.random.default_rng(5)
    keys, other_keys = rng.choice(HUGE[:3], 80), rng.choice(HUGE[:3], 50)
    boxes, other = lattice(rng, 80, 3, "float64"), lattice(rng, 50, 3, "float64")
    index, second = kind(boxes, batch=keys), bp.BVH(other, batch=other_keys)
    assert_same_pairs(index.pairs(margin=1.0), by_loop(boxes, keys, margin=1.0), "margin")
    across = by_loop(boxes, keys, other, other_keys)
    assert_same_pairs(index.pairs(second), across, "two indexes")
    assert_same_pairs(index.pairs(other, batch=other_keys), across, "an index and boxes")
    assert index.count_pairs(second) == len(across)
    # Without keys, boxes have 0.
    assert_same_pairs(index.pairs(other), by_loop(boxes, keys, other, np.zeros(50, int)), "plain boxes")
    if "changes" in capabilities_of(kind):
        assert_same_pairs(index.changes().enter, by_loop(boxes, keys), "changes")


@EACH_INDEX
def test_keys_for_the_boxes_of_an_index_are_refused_by_its_pairs(kind):
    boxes = np.zeros((4, 2, 2))
    for keys in (None, [1, 1, 2, 2]):
        index, second = kind(boxes, batch=keys), bp.BVH(boxes)
        for batch in (0, [1, 1, 2, 2], ([1] * 4, [1] * 4)):
            for other, margin in ((None, 0.0), (None, 1.0), (second, 0.0), (index, 0.0)):
                for search in (index.pairs, index.count_pairs):
                    with pytest.raises(ValueError, match=r"batch: the boxes of (this index|other, an index,) have"):
                        search(other, margin=margin, batch=batch)
    np.testing.assert_array_equal(index.pairs(boxes[:1], batch=2), [[2, 0], [3, 0]])


@EACH_INDEX
def test_updates_by_scenes_keep_keys_and_refuse_others(kind):
    rng = np.random.default_rng(11)
    scenes, other = lattice(rng, 60, 2, "float64").reshape(2, 6, 5, 2, 2)
    index = kind(scenes)
    index.update(other)
    assert_same_pairs(index.pairs(), by_loop(other.reshape(30, 2, 2), np.arange(6).repeat(5)), kind.__name__)
    index.move(np.arange(10), scenes[:2, ::-1])
    for rows, row in ((np.arange(5, 15), 5), (np.arange(9, -1, -1), 9)):
        with pytest.raises(ValueError, match=f"boxes: row {row} has the key 1, and not 0"):
            index.move(rows, scenes[:2])
    with pytest.raises(ValueError, match="boxes: row 5 has the key 0, and not 1"):
        kind(scenes.reshape(30, 2, 2)).update(scenes)
    np.testing.assert_array_equal(index.boxes_of(np.arange(5)), scenes[0, ::-1])


def found_by_loop(boxes, rows, keys, around, asked):
    """Find the rows of each query by comparing all, as (query, row)."""
    own = boxes[rows].astype(np.float64)
    meet = (around[:, np.newaxis, 0] <= own[:, 1]).all(axis=2) & (own[:, 0] <= around[:, np.newaxis, 1]).all(axis=2)
    query, at = np.nonzero(meet & (keys[rows] == asked[:, np.newaxis]))
    return query, rows[at]


def moved_boxes(rng, boxes, how):
    """Move boxes: a little, anywhere, far away together, to one place, beyond what floats tell apart, or endlessly."""
    jitter = rng.integers(-1, 2, (len(boxes), 1, boxes.shape[2]))
    moved = {
        "little": boxes + jitter,
        "anywhere": rng.permutation(boxes),
        "far": boxes + 1e7,
        "together": np.full_like(boxes, 3),
        "fine": boxes / 3 + 1e-9 * jitter,
        "endless": np.where(rng.random((len(boxes), 1, 1)) < 0.1, [[-np.inf], [np.inf]], boxes),
    }[how]
    return moved.astype(boxes.dtype)


def check_trees_follow(rng, sizes, dim, dtype, steps):
    """Change an index with keys at random, and compare its queries with a loop."""
    keys = uneven_keys(rng, sizes)
    names, first = np.append(np.unique(keys), [99, -5]), keys.copy()
    index = bp.BVH(lattice(rng, len(keys), dim, dtype, reach=12), batch=keys)
    hows = ["little"] * 4 + ["anywhere", "far", "together", "fine", "endless"]
    for step in range(steps):
        for _ in range(rng.integers(1, 3)):
            rows = index.rows
            count = int(rng.choice([1, len(rows) // 50 + 1, len(rows) // 3, len(rows)]))
            some = rng.choice(rows, min(count, len(rows)), replace=False)
            what = rng.integers(0, 5)
            if what == 0 and len(rows) > 60:
                index.remove(some[: len(some) // 2 + 1])
            elif what == 1:
                new = rng.choice(names, len(some) // 4 + 1)
                came = index.insert(lattice(rng, len(new), dim, dtype, reach=12), batch=new)
                keys = np.concatenate([keys, np.zeros(max(0, came.max() + 1 - len(keys)), int)])
                keys[came] = new
            elif what == 2:  # one batch alone
                own = rows[keys[rows] == rng.choice(first)]
                if len(own):
                    index.move(own, moved_boxes(rng, index.boxes_of(own), str(rng.choice(hows))))
            else:
                index.move(some, moved_boxes(rng, index.boxes_of(some), str(rng.choice(hows))))
        boxes = np.zeros((index.slots, 2, dim))
        rows = index.rows
        boxes[rows] = index.boxes_of()
        own = boxes[rng.choice(rows, 30)]
        around = np.concatenate([np.where(np.isfinite(own), own, 0.0), lattice(rng, 10, dim, "float64", reach=12)])
        asked = rng.choice(names, len(around))
        found = index.query(around, batch=asked, workers=1 + step % 2)
        query, row = found_by_loop(boxes, rows, keys, around, asked)
        np.testing.assert_array_equal(found.query_rows, query)
        np.testing.assert_array_equal(found.rows, row)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("sizes", "dim"), [([1500, 30, 9, 1], 2), ([600, 550, 40], 3), ([20] * 40, 2), ([1] * 300, 1)])
def test_trees_of_batches_follow_all_changes(sizes, dim, dtype):
    check_trees_follow(np.random.default_rng(len(sizes)), sizes, dim, dtype, 24)


def test_changes_pack_only_trees_of_the_keys_that_need_it():
    rng = np.random.default_rng(12)
    scenes = lattice(rng, 5000, 2, "float64").reshape(100, 50, 2, 2)
    index = bp.BVH(scenes)
    packed = []

    def follow():
        index.query([[0.0, 0, 1, 1]], batch=3)
        packed.append(index._trees(1).packed_count)

    follow()
    for row in range(100, 130):  # of one scene: its tree is refitted
        index.move(row, index.boxes_of(row) + 0.25)
        follow()
    index.update(index.boxes_of() + 0.25)
    follow()
    assert packed[-1] == packed[0] == 100
    index.insert([[0.0, 0, 1, 1]] * 3, batch=[7, 8, 7])
    follow()
    assert packed[-1] == 102
    index.remove([0, 1, 70])
    follow()
    assert packed[-1] == 104
    index.insert([[0.0, 0, 1, 1]] * 2, batch=[1234, 1234])  # into slots of scene 0; a few rows need no tree
    follow()
    assert packed[-1] == 104
    index.insert([[0.0, 0, 1, 1]] * 10, batch=1234)
    follow()
    assert packed[-1] == 105
    index.remove(index.query([[0.0, 0, 1, 1]], batch=1234).rows[:10])
    index.update(rng.permutation(index.boxes_of() * 7))
    follow()
    assert packed[-1] == 205


def test_a_row_that_moves_in_a_large_batch_packs_nothing():
    boxes = lattice(np.random.default_rng(13), 3000, 2, "float64", reach=50)
    index = bp.Grid(boxes, batch=np.arange(3000) // 2000)
    index.query(boxes[:1], batch=0)
    for step in range(40):
        index.move([step], [[step, step, step + 1, step + 1]])
        if step % 4 == 0:
            index.remove([100 + step])
            index.insert([[0, 0, 0, 0]], batch=0)
        assert step in index.query([[step, step, step, step]], batch=0).rows
    assert index._trees(1).packed_count == 2


def test_keys_that_come_and_go_leave_nothing_behind():
    index = bp.BVH([[0.0, 0, 1, 1]] * 4, batch=5)
    most = 0
    for step in range(600):
        rows = index.insert([[0.0, 0, 1, 1]] * 2, batch=[step * 2**40, -step - 1])
        assert index.query([[0.0, 0, 1, 1]], batch=step * 2**40).rows.tolist() == [rows[0]]
        index.remove(rows)
        assert len(index.query([[0.0, 0, 1, 1]], batch=-step - 1).rows) == 0
        most = max(most, index.memory_bytes) if step < 200 else most
    assert index.memory_bytes <= most
    assert len(index.query([[0.0, 0, 1, 1]], batch=5).rows) == 4


class FailingTrees:
    def follow(self, *_):
        raise MemoryError


def test_trees_that_failed_to_follow_a_change_are_built_again():
    index = bp.BVH([[0.0, 0, 1, 1]] * 4, batch=[1, 1, 2, 2])
    index.query([[0.0, 0, 1, 1]], batch=1)
    index.move([0], [[5, 5, 6, 6]])
    index._forest = FailingTrees()
    with pytest.raises(MemoryError):
        index.query([[5.0, 5, 6, 6]], batch=1)
    assert index.query([[5.0, 5, 6, 6]], batch=1).rows.tolist() == [0]
    assert index.query([[0.0, 0, 1, 1]], batch=2).rows.tolist() == [2, 3]


def test_trees_follow_rows_of_which_the_caller_reuses_the_array():
    index, rows = bp.BVH([[0.0, 0, 1, 1]] * 4, batch=[1, 1, 2, 2]), np.array([0], np.int32)
    index.query([[0.0, 0, 1, 1]], batch=1)
    index.move(rows, [[5, 5, 6, 6]])
    rows[0] = 3
    assert index.query([[5.0, 5, 6, 6]], batch=1).rows.tolist() == [0]


@each_index_with("changes")
@pytest.mark.parametrize("begins_with_keys", [True, False])
def test_changes_of_batches_are_the_differences_of_their_pairs(kind, begins_with_keys):
    rng = np.random.default_rng(16)
    keys = rng.choice(HUGE[:3], 90) if begins_with_keys else np.zeros(90, int)
    index = kind(lattice(rng, 90, 2, "float64", reach=8), batch=keys if begins_with_keys else None)
    last, renewed = set(), set()
    for step in range(14):
        if step > 1:
            gone = rng.choice(index.rows, 6, replace=False)
            index.remove(gone)
            new = rng.choice(HUGE[:3], 7) if begins_with_keys or step > 4 else np.zeros(7, int)
            given = new if begins_with_keys or step > 4 else None
            rows = index.insert(lattice(rng, 7, 2, "float64", reach=8), batch=given)
            keys = np.concatenate([keys, np.zeros(max(0, rows.max() + 1 - len(keys)), int)])
            keys[rows] = new
            moved = rng.choice(index.rows, 20, replace=False)
            index.move(moved, lattice(rng, 20, 2, "float64", reach=8))
            renewed |= set(gone.tolist())
        if step in (3, 8):
            continue
        touching, layer = step != 10, 1 + (np.arange(index.slots) % 3 > 0) if step == 11 else None
        if step == 6:
            index = pickle.loads(pickle.dumps(index))
        with pytest.raises(ValueError, match="layer"):
            index.changes(layer=[1, 2])
        changes = index.changes(touching=touching, layer=layer, mask=layer)
        pairs = index.rows[by_loop(index.boxes_of(), keys[index.rows], touching=touching)]
        if layer is not None:
            pairs = pairs[(layer[pairs[:, 0]] & layer[pairs[:, 1]]) != 0]
        now = {tuple(pair) for pair in pairs.tolist()}
        stay = {pair for pair in now & last if not renewed & set(pair)}
        assert changes.enter.tolist() == sorted(map(list, now - stay)), step
        assert changes.exit.tolist() == sorted(map(list, last - stay)), step
        last, renewed = now, set()


def test_queries_without_a_key_find_rows_of_all_batches():
    boxes = lattice(np.random.default_rng(6), 60, 2, "float64")
    with_keys, without = bp.BVH(boxes, batch=np.arange(60) % 3), bp.BVH(boxes)
    np.testing.assert_array_equal(with_keys.query(boxes).rows, without.query(boxes).rows)
    np.testing.assert_array_equal(without.query(boxes, batch=0).rows, without.query(boxes).rows)
    assert len(without.query(boxes, batch=1).rows) == 0


def test_scenes_of_one_size_have_the_keys_of_their_places():
    boxes = lattice(np.random.default_rng(7), 60, 2, "float64")
    index = bp.Octree(boxes.reshape(6, 10, 2, 2))
    assert_same_pairs(index.pairs(), by_loop(boxes, np.arange(6).repeat(10)), "by shape")
    check_queries(index, np.arange(6).repeat(10), np.arange(6), np.random.default_rng(7))


def test_layers_hold_for_queries_with_keys():
    boxes = np.zeros((4, 2, 2))
    index = bp.BVH(boxes, layer=[1, 2, 1, 2], batch=[0, 0, 5, 5])
    np.testing.assert_array_equal(index.query(boxes[:2], batch=[0, 5], mask=2).rows, [1, 3])
    np.testing.assert_array_equal(index.nearest([[3.0, 4.0]], batch=5, mask=1).rows, [[2]])


def test_many_boxes_in_one_place_are_told_apart_by_their_row():
    boxes = np.concatenate([np.zeros((500, 2, 3)), np.ones((500, 2, 3))])
    index = bp.BVH(boxes, batch=np.arange(1000) % 2)
    found = index.nearest([[0.0, 0, 0], [0, 0, 0], [1, 1, 1]], 3, batch=[0, 1, 1])
    np.testing.assert_array_equal(found.rows, [[0, 2, 4], [1, 3, 5], [501, 503, 505]])


def test_a_row_that_is_nearest_in_its_batch_is_found_after_queries_with_other_keys():
    boxes = np.repeat([[0.0, 0], [1, 1], [50, 50], [80, 80]], [40, 40, 1, 2], axis=0)[:, np.newaxis] + np.zeros((2, 2))
    index = bp.BVH(boxes, batch=np.repeat([3, 3, 4, 9], [40, 40, 1, 2]))
    asked = [3, 4, 3, 9, 4]
    found = index.nearest(np.zeros((5, 2)), batch=asked)
    np.testing.assert_array_equal(found.rows[:, 0], [0, 80, 0, 81, 80])
    np.testing.assert_array_equal(index.nearest(np.zeros((2, 2)), 2, batch=[3, 9]).rows, [[0, 1], [81, 82]])


@pytest.mark.parametrize("largest", [1, 2, 8])
def test_many_queries_of_batches_of_a_few_boxes_find_no_rows_of_others(largest):
    rng = np.random.default_rng(11)
    keys = rng.permutation(np.repeat(np.arange(100), rng.integers(1, largest + 1, 100)))
    lower = rng.random((len(keys), 2))
    index = bp.BVH(np.stack([lower, lower + 0.1], axis=1), batch=keys)
    check_queries(index, keys, asked_of(rng, keys, 1200), rng)
    points, ways, asked = rng.random((1200, 2)), rng.normal(size=(1200, 2)), rng.integers(0, 100, 1200)
    nearest, hit = index.nearest(points, batch=asked), index.raycast_any(points, ways, batch=asked)
    for query, key in enumerate(asked):
        own, one = np.flatnonzero(keys == key), slice(query, query + 1)
        assert nearest.rows[query, 0] == plain.nearest(index.boxes_of(own), points[one], 1, rows=own)[0][0, 0]
        assert hit[query] == plain.raycast_any(index.boxes_of(own), points[one], ways[one], rows=own)[0]


@pytest.mark.parametrize(
    ("batch", "message"),
    [([1, 2, 3], r"batch has shape \(3,\); one per box is needed: \(2,\)"), ([1.5, 2.0], "batch must be integer")],
)
def test_keys_that_do_not_fit_the_queries_are_refused(batch, message):
    index = bp.BVH(np.zeros((4, 2, 2)), batch=[0, 0, 1, 1])
    with pytest.raises((ValueError, TypeError), match=message):
        index.query(np.zeros((2, 2, 2)), batch=batch)
    with pytest.raises((ValueError, TypeError), match=message):
        index.raycast(np.zeros((2, 2)), np.ones((2, 2)), batch=batch)
    with pytest.raises((ValueError, TypeError), match=message):
        index.insert(np.zeros((2, 2, 2)), batch=batch)
    assert len(index) == 4
