"""An index of boxes in a periodic cell, against plain loops over exact fractions and over images."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest

import broadphase as bp
from broadphase.errors import InvalidBoxError, UnsupportedQueryError
from cases import DTYPES
from oracles import periodic_boxes as oracle
from query_cases import arguments_of

INF = np.inf


def draw(rng, n, period, dtype="float64"):
    """Most boxes near the cell, some far away, some wide, some infinite; corners at eighths of the period."""
    lower = rng.integers(-12, 20, (n, len(period))) * np.where(np.isinf(period), 8.0, period) / 8
    upper = lower + rng.integers(0, 6, lower.shape) * np.where(np.isinf(period), 8.0, period) / 8
    lower[: n // 8] *= 2.0**30
    upper[: n // 8] = lower[: n // 8] + 1.0
    wide = rng.random(lower.shape) < 0.05
    upper[wide] += 9.0
    upper[rng.random(lower.shape) < 0.02] = INF
    return np.stack([lower, upper], axis=1).astype(dtype)


def lists(result):
    return [rows.tolist() for rows in result]


def by_query(pairs, count):
    found = [[] for _ in range(count)]
    for query, row in pairs:
        found[query].append(row)
    return found


def least_distances(points, boxes, period):
    """Of each point from each box, over images: whole numbers of a small cell, so that nothing is rounded."""
    squares = np.zeros((len(points), len(boxes)))
    for axis, length in enumerate(period):
        gaps = np.full(squares.shape, INF)
        for k in [0] if np.isinf(length) else range(-12, 13):
            shift = 0.0 if k == 0 else k * length
            low, high = boxes[:, 0, axis] + shift, boxes[:, 1, axis] + shift
            x = points[:, axis, np.newaxis]
            gaps = np.minimum(gaps, np.maximum(np.maximum(low - x, x - high), 0.0))
        squares += gaps**2
    return np.sqrt(squares)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("period", [[8.0], [8.0, INF], [8.0, 4.0, 16.0], [INF, 8.0, INF, 4.0]])
def test_periodic_index_of_random_boxes_equals_exact_fractions(period, dtype):
    period = np.array(period)
    for seed in range(2):
        rng = np.random.default_rng([seed, len(period)])
        boxes, asked = draw(rng, 60, period, dtype), draw(rng, 30, period, DTYPES[seed % 2])
        index = bp.Index(boxes, period=period)
        assert lists(index.query(asked)) == by_query(oracle.pairs(asked, boxes, period=period), 30)
        assert lists(index.query(asked[3:4])) == by_query(oracle.pairs(asked[3:4], boxes, period=period), 1)
        points = asked[:, 0]
        both = np.stack([points, points], axis=1)
        assert lists(index.query_points(points)) == by_query(oracle.pairs(both, boxes, period=period), 30)
        assert index.pairs(sort=True).tolist() == [list(pair) for pair in oracle.pairs(boxes, period=period)]
        expected = oracle.pairs(boxes, asked, period=period, touching=False)
        assert index.pairs(asked, touching=False, sort=True).tolist() == [list(pair) for pair in expected]
        assert index.count_pairs(margin=0.5) == len(oracle.pairs(boxes, period=period, margin=0.5))


@pytest.mark.parametrize("period", [[8.0], [8.0, INF], [8.0, 4.0], [16.0, 8.0, INF], [8.0, 8.0, 8.0]])
def test_periodic_index_distances_equal_loops_over_images(period):
    period = np.array(period)
    for seed in range(6):
        rng = np.random.default_rng([seed, len(period), 1])
        lower = rng.integers(-16, 24, (40, len(period))).astype(float)
        boxes = np.stack([lower, lower + rng.integers(0, 4, lower.shape)], axis=1)
        boxes[:3, 1, 0] += 7.0  # nearly as wide as the cell, and wider
        points = rng.integers(-16, 24, (30, len(period))).astype(float)
        index, distances = bp.Index(boxes, period=period), least_distances(points, boxes, period)
        radii = rng.integers(0, 4, 30).astype(float)
        expected = [np.flatnonzero(row <= radius).tolist() for row, radius in zip(distances, radii, strict=True)]
        assert lists(index.query_ball(points, radii)) == expected
        for k, limit in ((1, INF), (5, INF), (40, INF), (60, 2.0)):
            found = index.nearest(points, k, limit)
            for query, row in enumerate(distances):
                order = [j for j in np.lexsort((np.arange(40), row)) if row[j] <= limit][:k]
                count = len(order)
                assert found.rows[query, :count].tolist() == order, (seed, k)
                assert found.distances[query, :count].tolist() == row[order].tolist()
                assert (found.rows[query, count:] == -1).all()
                assert np.isinf(found.distances[query, count:]).all()


def test_periodic_index_filters_and_batches_hold_for_images():
    rng = np.random.default_rng(5)
    period = np.array([8.0, 4.0])
    boxes, asked = draw(rng, 80, period), draw(rng, 90, period)
    layer, mask = rng.integers(1, 8, 80).astype(np.uint64), rng.integers(1, 8, 80).astype(np.uint64)
    keys, asked_keys = rng.integers(0, 3, 80), rng.integers(0, 3, 90)
    asked_layer, asked_mask = rng.integers(1, 8, 90).astype(np.uint64), np.uint64(5)
    index = bp.Index(boxes, layer=layer, mask=mask, batch=keys, period=period)
    pairs = oracle.pairs(asked, boxes, period=period)
    for count in (40, 90):  # few are looked up, many joined
        some = [(q, r) for q, r in pairs if q < count]
        wanted = [(q, r) for q, r in some if asked_layer[q] & mask[r] and layer[r] & asked_mask]
        found = index.query(asked[:count], layer=asked_layer[:count], mask=asked_mask)
        assert lists(found) == by_query(wanted, count)
        wanted = [(q, r) for q, r in some if asked_keys[q] == keys[r]]
        assert lists(index.query(asked[:count], batch=asked_keys[:count])) == by_query(wanted, count)
        wanted = [(q, r) for q, r in some if 2 & mask[r]]
        assert lists(index.query(asked[:count], layer=2)) == by_query(wanted, count)
    own = index.nearest(asked[20:40, 0], 3, batch=asked_keys[20:40])
    for query, row in zip(range(20, 40), own.rows, strict=True):
        alone = bp.Index(boxes[keys == asked_keys[query]], period=period).nearest(asked[query : query + 1, 0], 3)
        assert np.flatnonzero(keys == asked_keys[query])[alone.rows[0]].tolist() == row.tolist()
    assert index.pairs(sort=True).tolist() == [
        [i, j] for i, j in oracle.pairs(boxes, period=period, batch=keys) if layer[i] & mask[j] and layer[j] & mask[i]
    ]
    index.set_filters(np.arange(80), layer=1, mask=1)
    assert lists(index.query(asked)) == by_query(pairs, 90)


def test_periodic_index_follows_changes_and_is_copied():
    rng = np.random.default_rng(6)
    period = np.array([8.0, 4.0])
    index, kept = bp.Index(draw(rng, 50, period), period=period), {}
    asked = draw(rng, 20, period)
    kept = dict(enumerate(index.boxes_of()))
    for turn in range(6):
        if turn % 3 == 0:
            rows = rng.choice(list(kept), 8, replace=False)
            index.remove(rows)
            for row in rows.tolist():
                del kept[row]
        elif turn % 3 == 1:
            more = draw(rng, 5, period)
            kept.update(zip(index.insert(more).tolist(), more, strict=True))
        else:
            rows, moved = rng.choice(list(kept), 7, replace=False), draw(rng, 7, period)
            index.move(rows, moved)
            kept.update(zip(rows.tolist(), moved, strict=True))
        rows = sorted(kept)
        places = oracle.pairs(asked, np.array([kept[row] for row in rows]), period=period)
        expected = by_query([(query, rows[place]) for query, place in places], 20)
        for one in (index, copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
            assert lists(one.query(asked)) == expected, turn
            assert (one.period == period).all()
        found = index.nearest(asked[10:, 0], 2).rows
        assert np.isin(found, rows).all()


def test_periodic_index_empty_and_of_one_box_answers():
    empty = bp.Index(np.empty((0, 2, 2)), period=3)
    assert lists(empty.query([[0, 0, 1, 1]])) == [[]]
    assert empty.nearest([[0, 0]]).rows.tolist() == [[-1]]
    assert lists(empty.query_ball([[0, 0]], 1)) == [[]]
    one = bp.Index([[2.5, 0, 3.5, 1]], period=3)
    assert lists(one.query_points([[0.25, 0.5], [1, 0.5], [300.5, -299], [0.2, 4.5]])) == [[0], [], [0], []]
    assert len(one.query(np.empty((0, 2, 2)))) == 0
    assert bp.Index([[0, 0, 1, 1]], period=[None, None]).period is None


def test_periodic_index_other_queries_are_refused():
    index = bp.Index([[0, 0, 1, 1]], period=3)
    given = arguments_of(np.ones((1, 2, 2)), np.eye(2)[:1])
    for name in given.keys() - {"query", "query_points", "query_ball", "nearest"}:
        for more in ({}, {"batch": 0}):
            with pytest.raises(UnsupportedQueryError, match="periodic"):
                getattr(index, name)(**given[name], **more)
    with pytest.raises(UnsupportedQueryError, match="periodic"):
        index.changes()


def test_periodic_index_wrong_arguments_are_told():
    with pytest.raises(ValueError, match="period has 3 lengths"):
        bp.Index([[0, 0, 1, 1]], period=[1, 2, 3])
    index = bp.Index([[0, 0, 1, 1], [INF, 0, INF, 1]], period=3)
    with pytest.raises(InvalidBoxError, match="row 1 is at inf"):
        index.query([[0, 0, 1, 1]])
    index.remove(1)
    with pytest.raises(InvalidBoxError, match="row 0 is at -inf"):
        index.query([[-INF, 0, -INF, 1]])
    for other in (bp.BVH([[0, 0, 1, 1]]), bp.Index([[0, 0, 1, 1]], period=4)):
        for one, two in ((index, other), (other, index)):
            with pytest.raises(ValueError, match="different periods"):
                one.pairs(two)
    assert index.pairs(bp.Index([[3, 3, 4, 4]], period=3)).tolist() == [[0, 0]]


def test_periodic_index_in_four_dimensions_finds_images_across_corners():
    corners = np.array(list(product([0.05, 0.95], repeat=4)))
    boxes = np.stack([corners - 0.04, corners + 0.04], axis=1)
    index = bp.Index(boxes, period=1.0)
    assert lists(index.query_ball([[0, 0, 0, 0]], 0.05)) == [list(range(16))]
    assert lists(index.query([[-0.06] * 4 + [0.06] * 4])) == [list(range(16))]
    assert len(index.pairs()) == 0
    assert index.count_pairs(margin=0.021) == 120
