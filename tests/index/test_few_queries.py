"""A few queries in their plainest form, which one call of the core answers: they give what many at once give."""

import threading
import tracemalloc
from functools import partial
from unittest import mock

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


class General:
    """An index whose queries are all answered in the general way."""

    def __init__(self, index):
        self.index = index

    def __getattr__(self, name):
        def ask(*given, **options):
            with mock.patch.object(bp.index.box_index.BoxIndex, "_few", None):
                return getattr(self.index, name)(*given, **options)

        return ask


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
            general = asked(General(index), boxes, np.random.default_rng(seed), dim)
            for name in quick:
                for one, other in zip(quick[name], general[name], strict=True):
                    assert one.dtype == other.dtype, name
                    assert one.shape == other.shape, name
                    assert np.array_equal(one, other), (name, dim, seed)
                    assert one.flags.writeable
                    assert one.flags.owndata or one.base is not None


@pytest.mark.parametrize("dim", [2, 3])
def test_few_oriented_boxes_and_regions_give_what_the_general_way_gives(dim):
    rng = np.random.default_rng([dim, 11])
    index = bp.BVH(lattice(rng, 500, dim, "float64", 9), layer=rng.integers(1, 4, 500))
    index.query(index.boxes_of([0]))
    general = General(index)
    turns_of = {
        2: lambda shape: (rng.uniform(-9, 9, shape), rng.integers(-9, 9, shape) * np.pi / 2),
        3: lambda shape: (rng.normal(size=(*shape, 4)), np.tile([1e30, 0, 0, 0], (*shape, 1))),
    }
    for shape in ((), (1,), (3,), (40,)):
        centers, half = rng.uniform(-9, 9, (*shape, dim)), rng.uniform(0, 5, (*shape, dim))
        matrix = np.linalg.qr(rng.normal(size=(*shape, dim, dim)))[0]
        half_turn = np.broadcast_to(np.eye(dim)[::-1], (*shape, dim, dim))
        for turn in (*turns_of[dim](shape), matrix, half_turn, np.eye(dim)):
            given = float(turn) if turn.ndim == 0 else turn
            for some in (half, half.reshape(-1, dim)[0], 2):
                for options in ({}, {"mask": 2, "ignore": 7}):
                    found = index.query_obb(centers, some, given, **options)
                    expected = general.query_obb(centers, some, given, **options)
                    for one, other in zip(parts_of(found), parts_of(expected), strict=True):
                        assert one.dtype == other.dtype
                        assert one.tolist() == other.tolist()
                quick = index._few.query_obb(centers, some, given, {})
                assert (quick is NotImplemented) == (len(shape) == 1 and np.size(given) > 8 * 64)
        planes = rng.normal(size=(*shape, 6, dim + 1))
        planes[..., dim] += 9
        views = np.tile(np.eye(dim + 1), (*shape, 1, 1))
        views[..., :dim, :dim] *= rng.uniform(0.1, 0.5, (*shape, 1, 1))
        for given in ({"planes": planes}, {"matrix": views}, {"matrix": views, "depth": "zero_to_one"}):
            found, expected = index.frustum(**given), general.frustum(**given)
            for one, other in zip(parts_of(found), parts_of(expected), strict=True):
                assert one.tolist() == other.tolist()
            assert (
                index._few.frustum(given.get("matrix"), given.get("planes"), given.get("depth", "minus_one_to_one"), {})
                is not NotImplemented
            )


def test_what_is_no_oriented_box_or_region_raises_what_the_general_way_does():
    index = bp.BVH([[0, 0, 1, 1], [2, 2, 3, 3]])
    index.query((0, 0, 1, 1))
    cases = [
        ("query_obb", ((0, 0), 1, [[1, 0], [0, 2]]), {}),
        ("query_obb", ((0, 0), -1, 0), {}),
        ("query_obb", ((0, 0), [1, 2, 3], 0), {}),
        ("query_obb", ((0, 0), 1, np.inf), {}),
        ("query_obb", ([(0, 0)] * 2, 1, [1, 2, 3]), {}),
        ("query_obb", ((0, 0, 0), 1, 1), {}),
        ("frustum", (), {}),
        ("frustum", (np.eye(3),), {"planes": np.eye(3)}),
        ("frustum", (np.zeros((3, 3)),), {}),
        ("frustum", (np.eye(4),), {}),
        ("frustum", (np.eye(3),), {"depth": "deep"}),
        ("frustum", (), {"planes": [[1, 0, np.nan]]}),
    ]
    for name, given, options in cases:
        with pytest.raises((ValueError, TypeError)) as expected:
            getattr(General(index), name)(*given, **options)
        with pytest.raises(type(expected.value)) as raised:
            getattr(index, name)(*given, **options)
        assert str(raised.value) == str(expected.value)
    line = bp.BVH([[0.0, 1.0], [2.0, 3.0]])
    line.query([0.0, 1.0])
    with pytest.raises(ValueError, match="oriented boxes have 2 or 3 dimensions"):
        line.query_obb([0.0], 1, 0)


def forms_of(rows):
    """Some numbers, (q, k), in the forms that a caller may choose."""
    lists = rows.tolist()
    yield from (lists, tuple(map(tuple, lists)), [tuple(row) for row in lists], list(rows), tuple(rows))
    yield from (rows.astype(kind) for kind in ("float32", "int8", "int32", "int64", "uint64", ">f8", object, bool))
    for kind in (np.float64, np.float32, np.float16, np.int32, np.int64, np.uint8, np.bool_, np.longdouble, int, bool):
        yield [[kind(number) for number in row] for row in lists]
    yield [[np.array(number) for number in row] for row in lists]
    yield [[number if k % 2 else np.float32(number) for k, number in enumerate(row)] for row in lists]
    yield np.asfortranarray(rows)
    yield np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    yield np.ma.array(rows)
    # None of these is right.
    yield from ([lists], [[lists]], [row[:-1] for row in lists], [*lists, lists[0][:-1]], [[], *lists], [lists, 1.0])
    yield from ([*lists, 0.0], [1.0, *lists], [*lists, [lists[0]]], np.array(lists)[:, :, np.newaxis])
    for odd in (2**53 + 1, -(2**53) - 1, 2**70, "1", None, 1j, [1.0], np.int64(2**60), np.datetime64(1, "s"), 10**400):
        yield [[odd, *row[1:]] for row in lists]
        yield [*lists[:-1], [odd, *lists[-1][1:]]]
    yield np.full(rows.shape, 2**60)


def parts_of(result):
    if isinstance(result, bp.index.QueryResult | bp.index.RayHitsAll):
        return [getattr(result, name) for name in result.__slots__]
    return result if isinstance(result, tuple) else (result,)


def outcome(call, *given):
    try:
        found = call(*given)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)
    parts = (found.rows, found.offsets if isinstance(found, bp.index.QueryResult) else found.distances)
    return [(part.dtype, part.tolist()) for part in parts]


def test_few_queries_in_every_form_give_or_raise_what_the_general_way_does():
    rng = np.random.default_rng(8)
    for dim in (1, 2, 3):
        index = bp.BVH(lattice(rng, 60, dim, "float64", 5))
        index.query(index.boxes_of([0]))
        general = General(index)
        for count in (1, 2, 3):
            corners = np.abs(lattice(rng, count, dim, "float64", 4))
            corners.sort(axis=1)
            for form in forms_of(corners[:, 0]):
                for name, more in (("query_points", ()), ("query_ball", (1.5,)), ("nearest", (2,))):
                    slow, quick = (
                        outcome(getattr(general, name), form, *more),
                        outcome(getattr(index, name), form, *more),
                    )
                    assert quick == slow, (name, form)
                along = np.ones((count, dim))
                for rays in ((form, along), (along, form)):
                    assert outcome(general.raycast, *rays) == outcome(index.raycast, *rays), form
            for form in (*forms_of(corners.reshape(count, -1)), corners.tolist(), [list(box) for box in corners]):
                assert outcome(general.query, form) == outcome(index.query, form), form
            for pair in (tuple(corners.swapaxes(0, 1)), tuple(corners.swapaxes(0, 1).tolist()), tuple(corners)):
                assert outcome(general.query, pair) == outcome(index.query, pair), pair


@pytest.mark.parametrize("count", [8, 63, 64, 65])
def test_as_many_queries_as_the_core_takes_at_once_and_one_more_give_the_same(count):
    rng = np.random.default_rng(count)
    index = bp.BVH(lattice(rng, 300, 3, "float64", 6), layer=rng.integers(1, 4, 300))
    index.query(index.boxes_of([0]))
    given = arguments_of(lattice(rng, count, 3, "float64", 5), rng.integers(-2, 3, (count, 3)).astype(float), 2.0)
    for options in ({}, {"mask": 1, "ignore": 7}, {"layer": 2**64 - 1, "mask": -1, "ignore": -1}, {"layer": 0}):
        for name in given:
            slow = getattr(General(index), name)(**given[name], **options)
            quick = getattr(index, name)(**given[name], **options)
            for one, other in zip(parts_of(quick), parts_of(slow), strict=True):
                assert np.array_equal(one, other), (name, options)


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
    before = index._few
    index.insert(box)
    assert before.query(box, {}) is NotImplemented
    assert index._few is not before
    assert len(index.query_points((0, 0))) == len(index.query_points([[0, 0]])[0])


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
    for radius in (2.0, np.float64(2.0), np.float32(2.0), np.int64(2), 2, [2.0]):
        assert index._few.query_ball(center, radius, {}) is not NotImplemented
        assert index.query_ball(center, radius).rows.tolist() == expected.rows.tolist()
        assert np.array_equal(index.nearest(center, 9, radius).rows, index.nearest(center, 9, 2.0).rows)
    for radius in (True, "2", 2**60, -2):
        assert index._few.query_ball(center, radius, {}) is NotImplemented
    with pytest.raises(InvalidBoxError, match="radii: row 0 has -2"):
        index.query_ball(center, -2)
    assert len(index.query_ball(center, 0).rows) == len(index.query_points(center).rows)
