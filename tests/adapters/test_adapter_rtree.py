"""``broadphase.adapters.rtree`` against rtree, whose wheel has no tests: histories through both, and an oracle."""

import ctypes
import json
import pickle
from array import array
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pytest

library = pytest.importorskip("rtree.index", reason="rtree is not installed")

from rtree.exceptions import RTreeError  # noqa: E402 (the library is there)

from broadphase.adapters.rtree import Index, Rtree  # noqa: E402

OBJECTS = [None, {"a": 1}, 7, "text", b"bytes", [1, [2]], (3, 4.5)]


def new(kind, dimension=2, interleaved=True):
    return kind(properties=library.Property(dimension=dimension), interleaved=interleaved)


def described(items):
    return sorted((one.id, one.bounds, one.bbox, repr(one.object)) for one in items)


def assert_same_answers(theirs, ours, query, most):
    assert len(ours) == len(theirs)
    assert sorted(ours.intersection(query)) == sorted(theirs.intersection(query))
    assert sorted(ours.contains(query)) == sorted(theirs.contains(query))
    assert ours.count(query) == theirs.count(query)
    assert sorted(ours.nearest(query, most)) == sorted(theirs.nearest(query, most))
    assert described(ours.intersection(query, objects=True)) == described(theirs.intersection(query, objects=True))
    assert described(ours.nearest(query, most, objects=True)) == described(theirs.nearest(query, most, objects=True))
    raw = [sorted(map(repr, one.intersection(query, objects="raw"))) for one in (ours, theirs)]
    assert raw[0] == raw[1]
    if len(theirs):
        assert ours.bounds == theirs.bounds


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_histories_of_changes_give_the_answers_of_rtree(dimension, interleaved):
    rng = np.random.default_rng(dimension)

    def box(longest):
        lower = rng.integers(0, 20, dimension).astype(float)
        corners = [*lower.tolist(), *(lower + rng.integers(0, longest, dimension)).tolist()]
        return corners if interleaved else Index.deinterleave(corners)

    for _ in range(6):
        theirs, ours = new(library.Index, dimension, interleaved), new(Index, dimension, interleaved)
        present = []
        for _ in range(50):
            what = rng.random()
            if what < 0.5:
                id, corners, obj = int(rng.integers(-3, 12)), box(6), OBJECTS[int(rng.integers(len(OBJECTS)))]
                theirs.insert(id, corners, obj)
                ours.insert(id, corners, obj)
                present.append((id, corners))
            elif what < 0.65 and present:
                gone = present.pop(int(rng.integers(len(present))))
                theirs.delete(*gone)
                ours.delete(*gone)
            elif what < 0.7:
                theirs.delete(5, [99.5] * dimension)  # is not there
                ours.delete(5, [99.5] * dimension)
            else:
                assert_same_answers(theirs, ours, box(12), int(rng.integers(0, 7)))


@pytest.mark.parametrize("tail", [0, 3, 256])
@pytest.mark.parametrize("interleaved", [True, False])
def test_queries_between_insertions_find_what_has_just_come(tail, interleaved, monkeypatch):
    monkeypatch.setattr("broadphase.adapters.rtree._FEW", tail)
    rng = np.random.default_rng(tail)
    theirs, ours = new(library.Index, 2, interleaved), new(Index, 2, interleaved)
    for id in range(300):
        lower = rng.integers(0, 60, 2).astype(float)
        box = [*lower.tolist(), *(lower + rng.integers(0, 5, 2)).tolist()]
        around = [*(lower - 4).tolist(), *(lower + 6).tolist()]
        box, around = (one if interleaved else Index.deinterleave(one) for one in (box, around))
        assert sorted(ours.intersection(around)) == sorted(theirs.intersection(around))
        assert sorted(ours.contains(around)) == sorted(theirs.contains(around))
        assert ours.count(around) == theirs.count(around)
        for one in (ours, theirs):
            one.insert(id, box, OBJECTS[id % len(OBJECTS)])
        found = [described(one.intersection(around, objects=True)) for one in (ours, theirs)]
        assert found[0] == found[1]
        assert found[0]
        raw = [sorted(map(repr, one.contains(around, objects="raw"))) for one in (ours, theirs)]
        assert raw[0] == raw[1]
        if id % 40 == 39:
            for one in (ours, theirs):
                one.delete(id, box)
    assert len(ours) == len(theirs)
    assert ours.valid()
    with pytest.warns(DeprecationWarning, match="use len"):
        assert ours.get_size() == len(theirs)


def oracle_of_nearest(boxes, lower, upper, most, limit=0.0, strict=False):
    """Distances and rows in order, ties at the end included."""
    with np.errstate(over="ignore"):
        gaps = np.maximum(np.maximum(boxes[:, 0] - upper, lower - boxes[:, 1]), 0)
        distances = np.sqrt((gaps**2).sum(axis=1))
    order = np.lexsort((np.arange(len(boxes)), distances))
    farthest = distances[order[min(most, len(boxes)) - 1]]
    order = [row for row in order if distances[row] <= farthest and (not limit or distances[row] <= limit)]
    order = order[:most] if strict else order
    return order, distances[order[-1]] if order else 0.0


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("strict", [False, True])
def test_nearest_v_equals_the_oracle(dimension, strict):
    rng = np.random.default_rng(7)
    lower = rng.integers(0, 30, (80, dimension)).astype(float)
    boxes = np.stack((lower, lower + rng.integers(0, 4, lower.shape)), axis=1)
    index = Index((np.arange(80), boxes[:, 0], boxes[:, 1]), properties=properties_of(dimension))
    mins = rng.integers(-10, 40, (25, dimension)).astype(float)
    maxs = mins + rng.integers(0, 9, mins.shape)
    for most in (1, 3, 17, 80, 200):
        for limits in (np.zeros(25), rng.integers(0, 5, 25).astype(float), np.full(25, -1.0)):
            ids, counts, farthest = index.nearest_v(
                mins, maxs, num_results=most, max_dists=limits, strict=strict, return_max_dists=True
            )
            split = np.split(ids, np.cumsum(counts).astype(int))
            for query in range(25):
                limit = limits[query]
                expected = oracle_of_nearest(boxes, mins[query], maxs[query], most, limit, strict)
                assert (split[query].tolist(), farthest[query]) == (expected if limit >= 0 else ([], 0.0))


def properties_of(dimension):
    if dimension > 1:
        return library.Property(dimension=dimension)

    class Line:
        type, dimension = library.RT_RTree, 1

    return Line()


@pytest.mark.parametrize("far", [0.0, 1e12, -1e300])
def test_nearest_of_far_and_infinite_boxes_equals_the_oracle(far):
    rng = np.random.default_rng(3)
    lower = far + rng.random((40, 2)) * 50
    boxes = np.stack((lower, lower + rng.random(lower.shape)), axis=1)
    boxes[3, 1] = np.inf
    boxes[5, 0, 0] = -np.inf
    index = Index((np.arange(40), boxes[:, 0], boxes[:, 1]))
    for lower, upper in (([far, far], [far + 3, far]), ([far + 25, -1e9], [far + 25, 3]), ([-np.inf, 0], [np.inf, 2])):
        expected, _ = oracle_of_nearest(boxes, np.array(lower), np.array(upper), 6)
        assert list(index.nearest([*lower, *upper], 6)) == expected


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_nearest_to_one_box_among_crowds_equals_the_oracle(dimension):
    rng = np.random.default_rng(5)
    lower = rng.integers(0, 3, (300, dimension)).astype(float)  # most of them are equal to some others
    boxes = np.stack((lower, lower + rng.integers(0, 2, lower.shape)), axis=1)
    index = Index((np.arange(300), boxes[:, 0], boxes[:, 1]), properties=properties_of(dimension))
    for most in (1, 2, 16, 17, 150, 299, 300, 400):
        query = rng.integers(-2, 6, dimension) + rng.random(dimension)
        for least, greatest in ((query, query), (query, query + 1.5)):
            expected, _ = oracle_of_nearest(boxes, least, greatest, most)
            assert list(index.nearest([*least, *greatest], most)) == expected


def test_boxes_deleted_one_after_another_are_not_deleted_again():
    index = Index([(7, (0, 0, 1, 1), "a"), (7, (2, 2, 3, 3), "b"), (7, (0, 0, 1, 1), "c"), (8, (0, 0, 1, 1), "d")])
    for left in (3, 2, 2):
        index.delete(7, (0, 0, 1, 1))
        assert len(index) == left
    index.insert(7, (0, 0, 1, 1), "e")
    assert sorted(index.intersection((0, 0, 9, 9), objects="raw")) == ["b", "d", "e"]
    index.delete(7, (0, 0, 1, 1))
    index.delete(9, (0, 0, 1, 1))
    index.delete(7, (2, 2, 3, 3))
    assert (list(index.intersection((0, 0, 9, 9), objects="raw")), index.bounds) == (["d"], [0.0, 0.0, 1.0, 1.0])


def test_intersection_v_equals_rtree_and_counts_in_its_types():
    rng = np.random.default_rng(11)
    lower = rng.integers(0, 60, (200, 2)).astype(float)
    ids, upper = rng.integers(-9, 900, 200), lower + rng.integers(0, 4, lower.shape)
    theirs, ours = (kind((ids, lower, upper)) for kind in (library.Index, Index))
    mins = rng.integers(0, 60, (70, 2)).astype(float)
    found, counts = ours.intersection_v(mins, mins + 5)
    their_ids, their_counts = theirs.intersection_v(mins, mins + 5)
    assert counts.tolist() == their_counts.tolist()
    assert (found.dtype, counts.dtype) == (their_ids.dtype, their_counts.dtype)
    starts = np.cumsum(counts).astype(int)
    assert [sorted(one) for one in np.split(found, starts)] == [sorted(one) for one in np.split(their_ids, starts)]


@pytest.mark.parametrize("interleaved", [True, False])
def test_streams_give_the_answers_of_single_insertions(interleaved):
    rng = np.random.default_rng(2)
    items = []
    for number in range(60):
        x, y = rng.integers(0, 30, 2).tolist()
        corners = (x, y, x + 3, y + 2) if interleaved else (x, x + 3, y, y + 2)
        items.append((number // 2, corners, OBJECTS[number % len(OBJECTS)]))
    theirs = library.Index(iter(items), interleaved=interleaved)
    ours = Index(iter(items), interleaved=interleaved)
    for query in ([0, 0, 9, 9], [10, 10, 10, 10], [0, 0, 99, 99]):
        assert_same_answers(theirs, ours, query, 4)
    mixed = Index([*items, (7, (1, 1), None), (2**63 + 1, (50, 50, 50, 50), None)], interleaved=interleaved)
    assert len(mixed) == 62
    assert list(mixed.intersection([50, 50])) == [-(2**63) + 1]


def test_nearest_gives_ties_and_the_nearest_first():
    index = Index()
    for number, corners in enumerate([(-50, -50, 50, 50), (-10, -10, 10, 10), (50, 50), (60, 60, 61, 61)]):
        index.insert(number, corners)
    assert list(index.nearest((0, 0), 1)) == [0, 1]
    assert list(index.nearest((51, 51), 1)) == [0, 2]
    assert list(index.nearest((59, 60), 2)) == [3, 0, 2]
    assert list(index.nearest((59, 60), 0)) == []
    assert list(index.nearest((0, 0), 0)) == [0, 1]
    assert list(Index().nearest((0, 0), 3)) == []


def test_objects_are_copies_and_classes_choose_how_they_are_made():
    index, kept = Index(), {"list": [1]}
    index.insert(0, (0, 0, 1, 1), kept)
    kept["list"].append(2)
    [first] = index.intersection((0, 0), objects="raw")
    assert first == {"list": [1]}
    assert first is not next(index.intersection((0, 0), objects="raw"))

    class AsJson(Index):
        def dumps(self, obj):
            return json.dumps(obj).encode()

        def loads(self, string):
            return json.loads(string)

    written = AsJson([(1, (0, 0, 1, 1), (1, 2))])
    written.insert(2, (5, 5), "text")
    assert list(written.nearest((0, 0), 2, objects="raw")) == [[1, 2], "text"]
    index.dumps = lambda obj: json.dumps(obj).encode()
    index.loads = lambda string: json.loads(string)
    index.insert(3, (9, 9), (1, 2))
    assert list(index.intersection((9, 9), objects="raw")) == [[1, 2]]


def test_items_compare_by_id_and_results_are_iterators():
    index = Index([(5, (0, 0, 1, 1), "five"), (2, (0, 0, 3, 3), "two")])
    items = sorted(index.intersection((0, 0), objects=True))
    assert [one.id for one in items] == [2, 5]
    assert items[0] < items[1]
    assert items[1] > items[0]
    assert next(index.intersection((0, 0))) == 5
    assert Rtree is Index


def test_nan_and_reversed_corners_raise_instead_of_being_kept():
    index = Index()
    bad = [(0, 5, 1, 1), (5, 0, 1, 1), (np.nan, 0, 1, 1), (0, 0, 1, np.nan), (np.nan, 0), np.array([0, 0, np.nan, 1])]
    for corners in bad:
        for call in (index.intersection, index.count, index.nearest, index.contains):
            with pytest.raises(RTreeError, match="minimums more than maximums, or NaN"):
                call(corners)
        for change in (index.insert, index.delete):
            with pytest.raises(RTreeError, match="minimums more than maximums, or NaN"):
                change(1, corners)
        with pytest.raises(RTreeError):
            Index([(1, (0, 0, 1, 1), None), (2, corners, None)])
    with pytest.raises(RTreeError, match="row 1 is"):
        Index((np.arange(2), np.array([[0, 0], [0, np.nan]]), np.ones((2, 2))))
    with pytest.raises(RTreeError, match="row 0 is"):
        index.intersection_v([[2, 2]], [[1, 3]])
    assert len(index) == 0


def test_wrong_numbers_and_ids_raise():
    index = Index()
    with pytest.raises(ValueError, match="must be 2 or 4 numbers, got 3"):
        index.insert(1, (1, 2, 3))
    with pytest.raises(TypeError):
        index.insert(1, ("1", "2"))
    for id in (None, 2.5, "1"):
        with pytest.raises(ctypes.ArgumentError):
            index.insert(id, (1, 1))
    with pytest.raises(RTreeError, match="Empty data stream"):
        Index(iter(()))
    assert len(Index([])) == 0
    with pytest.raises(ValueError, match="must have 2 dimensions"):
        index.intersection_v(np.ones((2, 3, 4)), 4)
    with pytest.raises(ValueError, match="shapes not equal"):
        index.nearest_v([0], [10, 12])
    with pytest.raises(ValueError, match="columns"):
        index.intersection_v([[1, 2, 3]], [[1, 2, 3]])
    with pytest.raises(ValueError, match="different"):
        Index((np.arange(3), np.zeros((2, 2)), np.zeros((2, 2))))
    with pytest.raises(ValueError, match="max_dists must have 1 dimension"):
        index.nearest_v([[0, 0]], [[1, 1]], max_dists=[[1]])
    with pytest.raises(ValueError, match="max_dists must have length 1"):
        index.nearest_v([[0, 0]], [[1, 1]], max_dists=[1, 2])


def test_error_inside_a_stream_passes():
    def stream():
        yield 1, (0, 0, 1, 1), None
        raise KeyError("in the stream")

    with pytest.raises(KeyError, match="in the stream"):
        Index(stream())


def test_what_is_left_to_rtree_raises_and_says_so(tmp_path):
    for arguments, options in (
        ((str(tmp_path / "file"),), {}),
        ((str(tmp_path / "file"), iter(())), {}),
        ((library.CustomStorage(),), {}),
        ((), {"properties": library.Property(type=library.RT_TPRTree)}),
        ((), {"properties": library.Property(dimension=5)}),
    ):
        with pytest.raises(NotImplementedError, match=r"broadphase\.adapters\.rtree"):
            Index(*arguments, **options)


def test_bounds_of_an_empty_index_are_those_of_rtree():
    for interleaved in (True, False):
        assert new(Index, 3, interleaved).bounds == new(library.Index, 3, interleaved).bounds
    index = Index([(1, (1, 2, 3, 4), None)])
    assert index.get_bounds(False) == [1, 3, 2, 4]
    assert repr(index) == "broadphase.adapters.rtree.Index(bounds=[1.0, 2.0, 3.0, 4.0], size=1)"
    index.close()
    assert index.bounds == Index().bounds


def test_index_that_was_pickled_answers_as_before():
    index = Index([(1, (1, 2, 3, 4), {"a": 1}), (2, (9, 9, 9, 9), None)])
    index.insert(3, (2, 2))
    index.delete(2, (9, 9))
    again = pickle.loads(pickle.dumps(index))
    assert described(again.intersection(again.bounds, objects=True)) == described(
        index.intersection(index.bounds, objects=True)
    )
    again.insert(4, (0, 0))
    assert (len(again), len(index)) == (3, 2)


@pytest.mark.parametrize("interleaved", [True, False])
def test_and_and_or_give_the_boxes_of_rtree(interleaved):
    rng = np.random.default_rng(5)
    results = {}
    for kind in (library.Index, Index):
        rng = np.random.default_rng(5)
        both = [new(kind, 2, interleaved), new(kind, 2, interleaved)]
        for number in range(30):
            x, y = rng.integers(0, 20, 2).tolist()
            corners = [x, y, x + 4, y + 3] if interleaved else [x, x + 4, y, y + 3]
            both[number % 2].insert(number, corners, str(number))
        results[kind] = [
            sorted((one.bounds, repr(one.object)) for one in made.intersection(made.bounds, objects=True))
            for made in (both[0] & both[1], both[0] | both[1])
        ]
    assert results[Index] == results[library.Index]
    assert len(results[Index][0]) > 10
    with pytest.raises(AssertionError):
        new(Index) & new(Index, 3)
    with pytest.raises(AssertionError):
        new(Index) | new(Index, 2, False)


@pytest.mark.parametrize("as_items", [list, iter], ids=["list", "generator"])
def test_streams_of_every_kind_of_item_are_read_alike(as_items):
    numbers = np.random.default_rng(8).integers(0, 50, (40, 2))
    corners = np.concatenate((numbers, numbers + 3), axis=1)
    expected = [[id, *corners[id].astype(float).tolist()] for id in range(40)]
    Named = namedtuple("Named", "id box data")
    for kind in (
        lambda id, box: (id, tuple(box.tolist()), None),
        lambda id, box: [id, box.tolist(), None],
        lambda id, box: Named(id, box, None),
        lambda id, box: (np.int64(id), box.astype(float), None),
        lambda id, box: (np.uint8(id), box.astype(np.float32)[::1], None),
        lambda id, box: (id, box.astype(np.int32), None),
        lambda id, box: (id, box.astype(np.int16), None),
        lambda id, box: (id, [np.float32(one) for one in box], None),
        lambda id, box: (id, array("d", box), None),
        lambda id, box: (id, np.repeat(box, 2)[::2], None),
        lambda id, box: (id, box.tolist()),
        lambda id, box: (id, tuple(Fraction(int(one)) for one in box), None),
    ):
        index = Index(as_items([kind(id, box) for id, box in enumerate(corners)]))
        found = index.intersection(index.bounds, objects=True)
        assert sorted([one.id, *one.bbox] for one in found) == expected


def test_stream_with_a_wrong_item_names_it():
    good = (1, (0, 0, 1, 1), None)
    for wrong, error in (((2, (5, 0, 1, 1), None), RTreeError), ((2, (5, 0, 1), None), ValueError)):
        with pytest.raises(error, match="item 3 of the stream"):
            Index(iter([good, good, good, wrong, good]))
    for wrong, error in (
        ((1.5, (0, 0), None), ctypes.ArgumentError),
        ((1, ("0", "1"), None), TypeError),
        (7, TypeError),
    ):
        with pytest.raises(error):
            Index([good, wrong])


def test_objects_of_streams_are_copies_however_they_are_kept():
    shared = [1]
    objects = [{"a": 1}, [1, "b"], (1, None), {"a": [1]}, [shared, shared], b"bytes", {}, [], {(1, 2): 3}]
    index = Index((number, (number, 0), obj) for number, obj in enumerate(objects))
    expected = [pickle.loads(pickle.dumps(obj)) for obj in objects]
    for obj in objects:
        obj.clear() if isinstance(obj, dict | list) else None
    for _ in range(2):
        found = [next(index.intersection((number, 0), objects="raw")) for number in range(len(objects))]
        assert found == expected
        assert found[4][0] is found[4][1]
        for one in found:
            one.clear() if isinstance(one, dict | list) else None


def test_first_queries_of_many_boxes_are_those_that_follow():
    lower = np.random.default_rng(4).integers(0, 40, (700, 3)).astype(float)
    kept = Index((np.arange(700), lower, lower + 2), properties=library.Property(dimension=3))
    for query in ([0, 0, 0, 9, 9, 9], [5, 5, 5], [41, 41, 41, 60, 60, 60], [20, 20, 20, np.inf, np.inf, np.inf]):
        low, high = np.array(query[:3]), np.array(query[-3:])
        hits = np.flatnonzero((lower <= high).all(axis=1) & (lower + 2 >= low).all(axis=1)).tolist()
        assert [list(kept.intersection(query)) for _ in range(3)] == [hits] * 3
        kept.delete(699, [*lower[699], *(lower[699] + 2)])
        kept.insert(699, [*lower[699], *(lower[699] + 2)])


def test_bounds_follow_insertions_and_deletions():
    theirs, ours = library.Index(), Index()
    rng = np.random.default_rng(6)
    present = []
    for number in range(60):
        if present and rng.random() < 0.4:
            gone = present.pop(int(rng.integers(len(present))))
            theirs.delete(*gone)
            ours.delete(*gone)
        else:
            corners = rng.integers(0, 9, 2).tolist()
            corners += [one + 1 for one in corners]
            present.append((number, corners))
            theirs.insert(*present[-1])
            ours.insert(*present[-1])
        if present:
            assert (ours.bounds, ours.get_bounds(False)) == (theirs.bounds, theirs.get_bounds(False))


@pytest.mark.parametrize("begin", ["nothing", "stream", "arrays"])
@pytest.mark.parametrize(("count", "dimension", "interleaved"), [(7, 2, True), (150, 3, False), (900, 2, False)])
def test_leaves_equal_those_of_rtree_also_after_changes(begin, count, dimension, interleaved):
    rng = np.random.default_rng(count)
    lower = rng.integers(0, 90, (2 * count, dimension)).astype(float)
    upper = lower + rng.integers(0, 5, lower.shape)
    both = []
    for kind in (library.Index, Index):
        properties = library.Property(dimension=dimension)
        properties.leaf_capacity = 40 if dimension == 3 else 100
        order = (lambda box: box) if interleaved else kind().deinterleave
        boxes = [order([*low, *high]) for low, high in zip(lower.tolist(), upper.tolist(), strict=True)]
        begun = {
            "nothing": (),
            "stream": (((id // 2, box, "x" * id) for id, box in enumerate(boxes[: count // 2])),),
            "arrays": ((np.arange(count // 2) // 2, lower[: count // 2], upper[: count // 2]),),
        }[begin]
        index = kind(*begun, properties=properties, interleaved=interleaved)
        for id in range(count // 2 if begun else 0, count):
            index.insert(id // 2, boxes[id], id)
        index.delete(-7, boxes[0])  # is not there
        both.append((index, boxes))
    theirs, ours = both[0][0], both[1][0]
    assert ours.leaves() == theirs.leaves()
    for index, boxes in both:
        for id in range(count, 2 * count):
            index.insert(id // 2, boxes[id])
            index.delete((id - count) // 2, boxes[id - count])
    assert ours.leaves() == theirs.leaves()
    assert sorted(ours.intersection(ours.bounds)) == sorted(theirs.intersection(theirs.bounds))


def test_leaves_after_deletions_hold_the_boxes_that_are_left():
    assert Index().leaves() == library.Index().leaves()
    index = Index([(id, (id, 0, id + 1, 1), None) for id in range(500)])
    for id in range(0, 500, 3):
        index.delete(id, (id, 0, id + 1, 1))
    for again in (index, pickle.loads(pickle.dumps(index))):
        assert sorted(id for _, ids, _ in again.leaves() for id in ids) == [id for id in range(500) if id % 3]
        for _, ids, bounds in again.leaves():
            assert bounds == [min(ids), 0, max(ids) + 1, 1]
    index.close()
    assert index.leaves() == library.Index().leaves()


@pytest.mark.parametrize(
    ("limit", "offset"), [(0, 0), (3, 0), (0, 3), (2, 3), (20, 3), (7, 20), (10, 2), (9, 1), (2**64 + 1, 4), (-3, 0)]
)
def test_result_limit_and_offset_are_exchanged_as_in_rtree(limit, offset):
    results = []
    for kind in (library.Index, Index):
        index = kind([(id, (id, 0, id + 0.5, 1), str(id)) for id in range(7)])
        assert list(index.intersection((0, 0, 99, 1))) == list(range(7))
        for id in range(7, 10):  # which our queries compare one by one
            index.insert(id, (id, 0, id + 0.5, 1), str(id))
        assert (index.result_limit, index.result_offset) == (0, 0)
        index.result_limit = limit
        index.set_result_offset(offset)
        box = (0, 0, 99, 1)
        results.append(
            [
                (index.result_limit, index.get_result_offset()),
                list(index.intersection(box)),
                [one.id for one in index.intersection(box, objects=True)],
                list(index.intersection(box, objects="raw")),
                list(index.contains(box)),
                list(index.contains(box, objects="raw")),
                list(index.nearest((0, 0), 4)),
                len(list(index.nearest((0, 0, 3, 1), 2, objects="raw"))),  # of four at a distance of 0
                (index.count(box), len(index), index.bounds),
                index.intersection_v([[0, 0]], [[99, 1]])[0].tolist(),
                index.nearest_v([[0, 0]], [[0, 0]], num_results=3)[0].tolist(),
            ]
        )
    assert results[1] == results[0]
    with pytest.raises(ctypes.ArgumentError, match=r"result_limit: must be an integer, got 2\.5"):
        index.result_limit = 2.5
    with pytest.raises(ctypes.ArgumentError):
        index.result_offset = None


def test_item_gives_its_object_as_in_rtree():
    for kind in (library.Index, Index):
        item = next(kind([(1, (0, 0, 1, 1), "text")]).intersection((0, 0), objects=True))
        assert item.get_object(None) == item.object == "text"


@pytest.mark.parametrize("loaded", [0, 1, 63, 64, 200])
@pytest.mark.parametrize("tail", [0, 5, 256])
@pytest.mark.parametrize("dimension", [2, 3])
def test_nearest_between_changes_finds_boxes_old_and_new(loaded, tail, dimension, monkeypatch):
    monkeypatch.setattr("broadphase.adapters.rtree._FEW", tail)
    rng = np.random.default_rng(loaded)
    lower = rng.random((loaded + 40, dimension)) * 30
    corners = np.concatenate((lower, lower + rng.random(lower.shape)), axis=1).tolist()
    theirs, ours = (
        kind(
            [(id, corners[id], OBJECTS[id % len(OBJECTS)]) for id in range(loaded)],
            properties=library.Property(dimension=dimension),
        )
        for kind in (library.Index, Index)
    )
    for id in range(loaded, loaded + 40):
        query = (rng.random(dimension) * 30).tolist()
        for most in (1, 4, 1000):
            answers = [
                [list(one.nearest(query, most)), described(one.nearest(query, most, True))] for one in (theirs, ours)
            ]
            assert answers[0] == answers[1]
        pages = []
        for one in (theirs, ours):
            one.insert(id, corners[id], OBJECTS[id % len(OBJECTS)])
            one.result_limit, one.result_offset = 1, 3
            pages.append(list(one.nearest(query, 5, "raw")))
            one.result_limit = one.result_offset = 0
        assert pages[0] == pages[1]
        if id % 7 == 6:
            gone = int(rng.integers(id - 6, id + 1))
            for one in (theirs, ours):
                one.delete(gone, corners[gone])
    assert len(ours) == len(theirs)
