"""A few queries in their plainest form, which one call of the core answers: they give what many at once give."""

import threading
import tracemalloc
from functools import partial

import numpy as np
import pytest

import broadphase as bp
from broadphase import _native
from broadphase.errors import InvalidBoxError
from cases import lattice
from query_cases import arguments_of

INDEXES = [bp.BVH, bp.Index, bp.Octree, bp.LinearTree]


def asked(index, boxes, rng, dim):
    """Ask a few queries of each kind, as float32 or float64, in memory of any order; give all results by name."""
    points = lattice(rng, 3, dim, "float64", 4)[:, 0]
    directions = rng.integers(-2, 3, (3, dim)).astype(float)
    strange = np.asfortranarray(np.repeat(boxes, 2, axis=0))[::2]
    found = {
        "query": index.query(boxes),
        "query, flat": index.query(boxes.reshape(len(boxes), 2 * dim)),
        "query, strides": index.query(strange),
        "points": index.query_points(points),
        "ball": index.query_ball(points, 1.5),
        "nearest": index.nearest(points),
        "nearest 5": index.nearest(points.astype(np.float32), 5, 2.0),
        "ray": index.raycast(points, directions),
        "ray with end": index.raycast(points, directions, 1.5),
    }
    return {
        name: (result.rows, result.offsets) if isinstance(result, bp.index.QueryResult) else tuple(result)
        for name, result in found.items()
    }


def asked_by_lists(index, boxes, rng, dim):
    """The same, by arguments that only the general way takes."""
    plain = type(
        "Plain",
        (),
        {
            "__getattr__": lambda _, name: (
                lambda *given, **options: getattr(index, name)(
                    *(one.tolist() if isinstance(one, np.ndarray) else one for one in given), **options
                )
            )
        },
    )()
    return asked(plain, boxes, rng, dim)


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_queries_of_any_index_give_what_the_general_way_gives(kind, dtype):
    for dim in (1, 2, 3, 4):
        for seed, count in enumerate((0, 1, 40, 700)):
            rng = np.random.default_rng([dim, seed])
            index = kind(lattice(rng, count, dim, dtype, 5))
            boxes = lattice(rng, 3, dim, dtype, 4)
            index.query(boxes)
            assert isinstance(index._few, _native.FewQueries)
            quick = asked(index, boxes, np.random.default_rng(seed), dim)
            general = asked_by_lists(index, boxes.astype(np.float64), np.random.default_rng(seed), dim)
            for name in quick:
                for one, other in zip(quick[name], general[name], strict=True):
                    assert one.dtype == other.dtype, name
                    assert one.shape == other.shape, name
                    assert np.array_equal(one, other), (name, dim, seed)
                    assert one.flags.writeable
                    assert one.flags.owndata or one.base is not None


@pytest.mark.parametrize("kind", INDEXES)
def test_few_queries_after_each_change_are_about_the_boxes_as_they_are(kind):
    rng = np.random.default_rng(3)
    index = kind(lattice(rng, 60, 2, "float64", 6))
    for step in range(60):
        if step % 3 == 0:
            index.insert(lattice(rng, 1 + step % 2, 2, "float64", 6))
        elif step % 3 == 1:
            index.move([int(rng.choice(index.rows))], lattice(rng, 1, 2, "float64", 6))
        else:
            index.remove(int(rng.choice(index.rows)))
        if step == 30:
            index.set_filters(index.rows[:1], layer=2)
        if step == 40:
            index.set_filters(index.rows, layer=1)
        asked_box = lattice(rng, 1, 2, "float64", 5)
        for _ in range(3):  # the first by the general way, the others by the quick one
            boxes = index.boxes_of()
            meets = (boxes[:, 0] <= asked_box[0, 1]).all(axis=1) & (asked_box[0, 0] <= boxes[:, 1]).all(axis=1)
            assert np.array_equal(index.query(asked_box)[0], index.rows[meets]), step
            gaps = np.maximum(np.maximum(boxes[:, 0] - asked_box[0, 0], asked_box[0, 0] - boxes[:, 1]), 0)
            distances = np.sqrt((gaps**2).sum(axis=1))
            best = np.lexsort((index.rows, distances))[0]
            assert index.nearest(asked_box[:, 0]).rows[0, 0] == index.rows[best], step


def test_few_queries_with_bad_arguments_raise_as_many_do():
    index = bp.BVH(lattice(np.random.default_rng(4), 30, 2, "float64", 5))
    good, point = np.array([[0.0, 0, 1, 1]]), np.array([[1.0, 2.0]])
    for _ in range(2):
        index.query(good)
    with pytest.raises(InvalidBoxError, match=r"boxes: row 0: lower\[0\] > upper\[0\]"):
        index.query(np.array([[2.0, 0, 1, 1]]))
    with pytest.raises(InvalidBoxError, match="NaN"):
        index.query(np.array([[np.nan, 0, 1, 1]]))
    with pytest.raises(ValueError, match="3 dimensions"):
        index.query(np.zeros((1, 2, 3)))
    with pytest.raises(InvalidBoxError, match="infinite"):
        index.nearest(np.array([[np.inf, 0.0]]))
    with pytest.raises(ValueError, match="k must be from 1 to"):
        index.nearest(point, 0)
    with pytest.raises(ValueError, match="max_distance"):
        index.nearest(point, 1, -1.0)
    with pytest.raises(ValueError, match="radii"):
        index.query_ball(point, -1.0)
    with pytest.raises(ValueError, match="workers"):
        index.query(good, workers=0)
    for odd in (good.astype(">f8"), good.astype(int), np.ma.array(good), good.tolist(), good.view(np.recarray)):
        assert np.array_equal(index.query(odd)[0], index.query(good)[0])
    assert len(index.query(good, mask=0)[0]) == 0
    assert index.nearest(point, 40).rows.tolist() == [[*index.nearest(point, 30).rows[0], *[-1] * 10]]
    for many in (2**31, 10**30):
        with pytest.raises(ValueError, match="k must be from 1 to 2147483647"):
            index.nearest(point, many)
    assert np.array_equal(index.query_points(np.array([[np.inf, 0.0]]))[0], [])


def test_few_queries_while_another_thread_changes_the_index_are_answered_or_refused():
    index = bp.BVH(np.zeros((50, 2, 2)))
    everything, stop, wrong, refused = np.array([[-1.0, -1, 99, 99]]), threading.Event(), [], [0]

    def change():
        while not stop.is_set():
            try:
                index.insert(np.ones((40, 2, 2)))
                index.remove(index.rows[50:])
            except RuntimeError:
                refused[0] += 1

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(3000):
            try:
                found = len(index.query(everything)[0])
            except RuntimeError:
                refused[0] += 1
                continue
            if found % 40 != 10:
                wrong.append(found)
    finally:
        stop.set()
        changing.join()
    assert not wrong
    index.query(everything)
    with index._guard.changing, pytest.raises(RuntimeError, match="cannot query the index while it is being modified"):
        index.query(everything)


def test_few_queries_tell_their_time_and_keep_no_boxes_of_the_past():
    index = bp.BVH(lattice(np.random.default_rng(6), 100, 2, "float64", 5))
    box = np.array([[0.0, 0, 1, 1]])
    index.query(box)
    index._seconds["query"] = None
    index.query(box)
    assert 0 < index.stats()["seconds_of_query"] < 10
    index.insert(box)
    assert index._few is None


@pytest.mark.parametrize("kind", INDEXES)
def test_small_queries_take_no_memory_in_proportion_to_the_index(kind):
    count = 100_000
    lower = np.random.default_rng(7).random((count, 2))
    index = kind(np.stack([lower, lower + 1e-4], axis=1))
    box, point = index.boxes_of([0]), lower[:1].copy()
    given = arguments_of(box, np.full((1, 2), 1e-4), 1e-3)
    asked = [
        lambda: index.query(box),
        lambda: index.query(box, mask=1),
        lambda: index.query(box, layer=[3], workers=2),
        lambda: index.nearest(point, 3, mask=2),
        *(partial(getattr(index, name), **given[name]) for name in given),
    ]
    for query in asked:
        query()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for query in asked:
            query()
        assert tracemalloc.get_traced_memory()[1] - before < count
    finally:
        tracemalloc.stop()


def test_lengths_may_be_any_plain_number():
    index = bp.BVH(lattice(np.random.default_rng(5), 60, 2, "float64", 6))
    center = np.zeros((1, 2))
    expected = index.query_ball(center, [2.0])
    for radius in (2.0, np.float64(2.0), 2):
        assert index._few.balls(center, radius, 1, None, None) is not None
        assert index.query_ball(center, radius).rows.tolist() == expected.rows.tolist()
        assert np.array_equal(index.nearest(center, 9, radius).rows, index.nearest(center, 9, 2.0).rows)
    for radius in (True, "2", 2**60, -2, np.float32(2.0)):
        assert index._few.balls(center, radius, 1, None, None) is None
    with pytest.raises(InvalidBoxError, match="radii: row 0 has -2"):
        index.query_ball(center, -2)
    assert len(index.query_ball(center, 0).rows) == len(index.query_points(center).rows)
