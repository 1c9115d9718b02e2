"""Spheres decide in every kind of index, with keys, filters and changes, as by NumPy on a lattice, which is exact."""

import copy
import pickle
from itertools import combinations

import numpy as np
import pytest

import broadphase as bp
from cases import EACH_INDEX, capabilities_of, each_index_with

N, Q = 70, 20


class Objects:
    """The boxes and spheres of an index by row, and the answers to its queries by spheres."""

    def __init__(self, dimension, seed):
        self.rng = np.random.default_rng([dimension, seed])
        self.dimension = dimension
        self.boxes, self.centers, self.radii = self.some(N)
        self.alive = np.ones(N, bool)
        self.keys = self.rng.integers(0, 3, N)

    def some(self, count):
        """Objects with a sphere alone, with a box alone, and with both, in and beside each other."""
        centers = self.rng.integers(-8, 9, (count, self.dimension)) * 1.0
        radii = self.rng.integers(0, 5, count) / 2.0
        radii[::5] = np.inf
        reach = np.where(np.isfinite(radii), radii, 1.0)[:, np.newaxis]
        boxes = np.stack([centers - reach, centers + reach], axis=1)
        boxes[1::5] += self.rng.integers(-1, 2, boxes[1::5].shape) / 2
        return np.sort(boxes, axis=1), centers, radii

    @property
    def rows(self):
        return np.flatnonzero(self.alive)

    def away(self, low, high):
        """Squares of the distances of boxes (q, d) to the boxes of rows, and distances to their spheres."""
        low, high = low[:, np.newaxis], high[:, np.newaxis]
        gaps = np.maximum(np.maximum(self.boxes[:, 0] - high, low - self.boxes[:, 1]), 0)
        ways = np.maximum(np.maximum(self.centers - high, low - self.centers), 0)
        return (gaps**2).sum(axis=2), (ways**2).sum(axis=2)

    def within(self, low, high, reach=0.0, allowed=True):
        """Rows whose box and sphere are within a reach of each box."""
        to_boxes, to_centers = self.away(low, high)
        reach = np.broadcast_to(reach, len(low))[:, np.newaxis]
        near = to_boxes <= reach**2
        near &= np.isinf(self.radii) | (to_centers <= (reach + np.where(np.isinf(self.radii), 0, self.radii)) ** 2)
        near &= self.alive & allowed
        return [np.flatnonzero(some).tolist() for some in near]

    def pairs(self):
        found = []
        for i, j in combinations(self.rows.tolist(), 2):
            one, other = self.boxes[i], self.boxes[j]
            if not ((one[0] <= other[1]) & (other[0] <= one[1])).all() or self.keys[i] != self.keys[j]:
                continue
            if np.isfinite(self.radii[[i, j]]).all():
                meet = ((self.centers[i] - self.centers[j]) ** 2).sum() <= (self.radii[i] + self.radii[j]) ** 2
            elif np.isfinite(self.radii[[i, j]]).any():
                ball, box = (i, other) if np.isfinite(self.radii[i]) else (j, one)
                gaps = np.maximum(np.maximum(box[0] - self.centers[ball], self.centers[ball] - box[1]), 0)
                meet = (gaps**2).sum() <= self.radii[ball] ** 2
            else:
                meet = True
            found += [[i, j]] if meet else []
        return found

    def entries(self, low, high, axis, sign, limit):
        """Distances that boxes move along an axis until they touch spheres, or boxes of rows that have none.

        Infinite unless they also touch the box of the row by the limit.
        """
        speed = np.zeros(self.dimension)
        speed[axis] = sign
        others = np.arange(self.dimension) != axis
        front, back = (high, low) if sign > 0 else (low, high)
        own = np.where(sign > 0, self.boxes[:, 0, axis], self.boxes[:, 1, axis])
        far = np.where(sign > 0, self.boxes[:, 1, axis], self.boxes[:, 0, axis])
        gaps = np.maximum(np.maximum(self.boxes[:, 0] - high[:, None], low[:, None] - self.boxes[:, 1]), 0)[..., others]
        to_box = np.maximum(sign * (own - front[:, None, axis]), 0)
        to_box[(gaps > 0).any(axis=2) | (sign * (far - back[:, None, axis]) < 0)] = np.inf
        ways = np.maximum(np.maximum(self.centers - high[:, None], low[:, None] - self.centers), 0)[..., others]
        aside, radii = (ways**2).sum(axis=2), np.where(np.isinf(self.radii), 0, self.radii)
        chord = np.sqrt(np.maximum(radii**2 - aside, 0))
        ahead = sign * (self.centers[:, axis] - front[:, None, axis])
        behind = sign * (self.centers[:, axis] - back[:, None, axis])
        to_sphere = np.where(ahead >= 0, np.maximum(ahead - chord, 0), 0.0)
        to_sphere[(aside > radii**2) | ((behind < 0) & (behind < -chord))] = np.inf
        found = np.where(np.isinf(self.radii), to_box, np.where(np.isinf(to_box), np.inf, to_sphere))
        found[(to_box > limit) | (found > limit) | ~self.alive] = np.inf
        return found, speed


def firsts(entries):
    """The first row of each query, the lowest of several, and how far it is."""
    rows = entries.argmin(axis=1)
    away = entries[np.arange(len(entries)), rows]
    return np.where(np.isinf(away), -1, rows).tolist(), away


def check(index, objects):
    """Compare all queries that an index can answer."""
    rng, d, able = objects.rng, objects.dimension, capabilities_of(type(index))
    low = rng.integers(-9, 9, (Q, d)) * 1.0
    high = low + rng.integers(0, 4, (Q, d))
    reach, keys = rng.integers(0, 5, Q) / 2.0, rng.integers(0, 3, Q)
    assert index.pairs(by="sphere", sort=True).tolist() == objects.pairs()
    assert index.count_pairs(by="sphere") == len(objects.pairs())
    chunks = index.iter_pairs(by="sphere", chunk=9)
    assert sorted(pair for chunk in chunks for pair in chunk.tolist()) == objects.pairs()
    for options, allowed in (({}, True), ({"batch": keys}, keys[:, np.newaxis] == objects.keys)):
        own = {"by": "sphere", **options}

        def rows_of(found):
            return [rows.tolist() for rows in found]

        assert rows_of(index.query((low, high), **own)) == objects.within(low, high, 0, allowed)
        assert rows_of(index.query((low.astype(np.float32), high), **own)) == objects.within(low, high, 0, allowed)
        assert rows_of(index.query_points(low, **own)) == objects.within(low, low, 0, allowed)
        assert rows_of(index.query_ball(low, reach, **own)) == objects.within(low, low, reach, allowed)
        if d in (2, 3):
            middle, half, still = (low + high) / 2, (high - low) / 2, np.eye(d)
            assert rows_of(index.query_obb(middle, half, still, **own)) == objects.within(low, high, 0, allowed)
            planes = np.concatenate(
                [
                    np.concatenate([np.broadcast_to(still, (Q, d, d)), -low[:, :, np.newaxis]], axis=2),
                    np.concatenate([np.broadcast_to(-still, (Q, d, d)), high[:, :, np.newaxis]], axis=2),
                ],
                axis=1,
            )
            assert rows_of(index.frustum(planes=planes, **own)) == objects.within(low, high, 0, allowed)
        if "nearest" not in able:
            continue
        to_boxes, to_centers = objects.away(low, low)
        away = np.maximum(np.sqrt(to_boxes), np.maximum(np.sqrt(to_centers) - objects.radii, 0))
        away[~np.broadcast_to(allowed & objects.alive, away.shape)] = np.inf
        found = index.nearest(low, 5, 6.0, **own)
        wanted = np.sort(away, axis=1)[:, :5]
        wanted[wanted > 6] = np.inf
        np.testing.assert_allclose(found.distances, wanted, rtol=1e-12)
        held = found.rows >= 0
        np.testing.assert_allclose(away[np.nonzero(held)[0], found.rows[held]], found.distances[held], rtol=1e-12)
        for axis in range(d):
            for sign in (-1.0, 1.0):
                entries, speed = objects.entries(low, low, axis, sign, 7.0)
                entries = np.where(allowed, entries, np.inf)
                rows, distances = firsts(entries)
                hits = index.raycast(low, speed * 3, 7.0, **own)
                np.testing.assert_allclose(hits.distances, distances, rtol=1e-12)
                sure = [a == b for a, b in zip(hits.rows.tolist(), rows, strict=True)]
                sure |= np.isclose(entries[np.arange(Q), hits.rows], distances, rtol=1e-12)
                assert np.all(sure)
                every = index.raycast_all(low, speed, 7.0, **own)
                assert [sorted(part[0].tolist()) for part in every] == [
                    np.flatnonzero(np.isfinite(some)).tolist() for some in entries
                ]
                assert index.raycast_any(low, speed, 7.0, **own).tolist() == [row >= 0 for row in rows]
                entries, speed = objects.entries(low, high, axis, sign, 6.0)
                rows, distances = firsts(np.where(allowed, entries, np.inf))
                touches = index.shapecast((low, high), speed * 6, **own)
                np.testing.assert_allclose(touches.times * 6, distances, rtol=1e-12)


def change(index, objects):
    """Insert, move and remove objects, with spheres and without."""
    gone = objects.rng.choice(objects.rows, 15, replace=False)
    index.remove(gone)
    objects.alive[gone] = False
    boxes, centers, radii = objects.some(30)
    rows = index.insert(boxes, spheres=(centers, radii), batch=1)
    more = index.insert(boxes[:4], batch=2)
    room = int(max(rows.max(), more.max())) + 1 - len(objects.alive)
    for name in ("boxes", "centers", "radii", "alive", "keys"):
        kept = getattr(objects, name)
        setattr(objects, name, np.concatenate([kept, np.zeros((max(room, 0), *kept.shape[1:]), kept.dtype)]))
    for own, count, spheres, key in ((rows, 30, radii, 1), (more, 4, np.inf, 2)):
        objects.boxes[own], objects.centers[own], objects.radii[own] = boxes[:count], centers[:count], spheres
        objects.alive[own], objects.keys[own] = True, key
    moved = objects.rng.permutation(objects.rows)[:25]
    boxes, centers, radii = objects.some(25)
    index.move(moved, boxes, spheres=(centers, radii))
    objects.boxes[moved], objects.centers[moved], objects.radii[moved] = boxes, centers, radii


@EACH_INDEX
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_queries_by_spheres_equal_the_oracle_after_changes(kind, dimension):
    objects = Objects(dimension, 1)
    index = kind(objects.boxes, spheres=(objects.centers, objects.radii), batch=objects.keys)
    check(index, objects)
    for _ in range(2):
        change(index, objects)
        check(index, objects)
        index.validate()


@EACH_INDEX
def test_copies_and_pickles_keep_spheres(kind):
    objects = Objects(2, 2)
    index = kind(objects.boxes, spheres=(objects.centers, objects.radii), batch=objects.keys)
    change(index, objects)
    wanted = objects.pairs()
    for twin in (copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        assert twin.pairs(by="sphere", sort=True).tolist() == wanted
        twin.update(None, spheres=(np.zeros((len(twin), 2)), 1.0))
        assert len(twin.pairs(by="sphere")) > len(wanted)
    assert index.pairs(by="sphere", sort=True).tolist() == wanted


@EACH_INDEX
def test_an_index_that_got_no_spheres_answers_by_boxes_and_may_get_some(kind):
    index = kind([[0, 0, 2, 2], [1, 1, 3, 3]])
    assert index.pairs(by="sphere").tolist() == index.pairs(by="box").tolist() == [[0, 1]]
    assert index.query([[2, 2, 4, 4]], by="sphere").rows.tolist() == [0, 1]
    row = index.insert(None, spheres=([[4, 4]], 1.25))
    assert index.pairs(by="sphere").tolist() == [[0, 1]], "the corner of the box of 1 is outside the sphere"
    assert index.pairs(sort=True).tolist() == [[0, 1], [1, 2]]
    index.remove(row)
    index.insert([[2.5, 2.5, 4, 4]])
    assert index.pairs(by="sphere", sort=True).tolist() == [[0, 1], [1, 2]], "a row keeps no sphere of one before it"


@EACH_INDEX
def test_infinite_boxes_are_replaced_by_those_of_spheres(kind):
    endless = np.array([[[-np.inf] * 2, [np.inf] * 2], [[0, 0], [1, 1]]], np.float32)
    index = kind(endless, spheres=(np.float32([[4, 4], [0, 0]]), np.float32([1, np.inf])))
    assert index.boxes_of().tolist() == [[[3, 3], [5, 5]], [[0, 0], [1, 1]]]
    assert kind.from_spheres([[4, 4]], 1).boxes_of().tolist() == [[[3, 3], [5, 5]]]


@EACH_INDEX
def test_spheres_of_batches_of_one_size(kind):
    boxes = np.broadcast_to([[0.0, 0.0], [2.0, 2.0]], (2, 3, 2, 2))
    centers = np.array([[1, 1], [0, 0], [2, 2]] * 2)
    index = kind(boxes, spheres=(centers, 0.5))
    assert len(index.pairs()) == 6
    assert index.pairs(by="sphere").tolist() == []
    assert index.query_points([[1, 1]], by="sphere", batch=1)[0].tolist() == [3]


@EACH_INDEX
@pytest.mark.parametrize(
    ("spheres", "message"),
    [
        (None, "either boxes or spheres are needed"),
        (([[0, 0]], -1), "spheres: the radius of row 0 is not 0 or more"),
        (([[0, 0]], np.inf), "spheres: row 0 has neither a box nor a finite radius"),
        (([[0, np.nan]], 1), "spheres: centers"),
        ([[[0, 0]], 1], "spheres must be a tuple"),
        (([0, 0], 1), "spheres have shapes"),
    ],
)
def test_wrong_spheres_are_refused_and_change_nothing(kind, spheres, message):
    with pytest.raises(ValueError, match=message):
        kind(None, spheres=spheres)
    index = kind.from_spheres([[0, 0], [1, 0]], 1)
    for call in (
        lambda: index.insert(None, spheres=spheres),
        lambda: index.move([1], None, spheres=spheres),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert (len(index), index.pairs(by="sphere").tolist()) == (2, [[0, 1]])
    with pytest.raises(ValueError, match="row 1 has a sphere: give the new ones by spheres="):
        index.move([1], [[5, 5, 6, 6]])
    with pytest.raises(ValueError, match="unknown by"):
        index.query([[0, 0, 1, 1]], by="shape")
    with pytest.raises(ValueError, match='by="sphere" is for pairs within one index'):
        index.pairs([[0, 0, 1, 1]], by="sphere")


@each_index_with("changes")
@pytest.mark.parametrize("has_keys", [False, True])
def test_changes_by_spheres_are_the_differences_of_their_pairs(kind, has_keys):
    objects = Objects(2, 3)
    if not has_keys:
        objects.keys[:] = 0
    given = {"batch": objects.keys} if has_keys else {}
    index = kind(objects.boxes, spheres=(objects.centers, objects.radii), **given)
    index.changes()  # by boxes, before all others
    before = set(map(tuple, index.pairs().tolist()))
    for step, by in enumerate(["sphere", "sphere", "box", "sphere", "sphere"]):
        moved = objects.rng.permutation(objects.rows)[:25]
        boxes, centers, radii = objects.some(25)
        index.move(moved, boxes, spheres=(centers, radii))
        objects.boxes[moved], objects.centers[moved], objects.radii[moved] = boxes, centers, radii
        if step == 3:
            index = pickle.loads(pickle.dumps(index))
        now = set(map(tuple, objects.pairs() if by == "sphere" else index.pairs().tolist()))
        changes = index.changes(by=by)
        assert changes.enter.tolist() == sorted(map(list, now - before))
        assert changes.exit.tolist() == sorted(map(list, before - now))
        before = now


def test_spheres_do_not_decide_in_a_periodic_cell_or_in_a_world():
    index = bp.Index.from_spheres([[1, 1]], 1, period=10)
    for ask in (
        lambda: index.query([[0, 0, 1, 1]], by="sphere"),
        lambda: index.nearest([[0, 0]], by="sphere"),
        lambda: index.pairs(by="sphere"),
    ):
        with pytest.raises(bp.errors.UnsupportedQueryError, match=r'by="sphere" is not supported in a periodic cell'):
            ask()
    assert index.query([[0, 0, 1, 1]]).rows.tolist() == [0]
    with pytest.raises(bp.errors.UnsupportedQueryError, match="a world compares shapes"):
        bp.World(dim=2).query([[0, 0, 1, 1]], by="sphere")
