"""Many threads may query an index at once; a change during queries, or a query during a change, is refused."""

import threading

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import make_scene
from cases import EACH_INDEX

BOX = np.array([[0.0, 0, 1, 1]])


class Slow:
    """An array that holds up whoever converts it, until it is released: a query or a change is then in the middle."""

    def __init__(self, values):
        self.values, self.reached, self.released = np.asarray(values), threading.Event(), threading.Event()

    def __array__(self, dtype=None, copy=None):
        self.reached.set()
        assert self.released.wait(10)
        return self.values.astype(dtype or self.values.dtype)


def in_the_middle_of(call, values):
    """Run `call` in a thread with a slow array of values; returns the thread and the array."""
    slow = Slow(values)
    thread = threading.Thread(target=call, args=[slow])
    thread.start()
    assert slow.reached.wait(10)
    return thread, slow


CHANGES = [
    lambda index: index.insert([[0, 0, 1, 1]]),
    lambda index: index.remove([0]),
    lambda index: index.move([0], [[0, 0, 1, 1]]),
    lambda index: index.set_filters([0], layer=1),
    lambda index: index.changes(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_change_while_another_thread_queries_raises_and_changes_nothing(change):
    index = bp.BVH(make_scene("rects", 50, dtype=np.float64))
    before = index.boxes_of().tobytes(), index.handles().tolist()
    results = []
    thread, slow = in_the_middle_of(lambda layer: results.append(index.query([[0, 0, 9, 9]], layer=layer)), [3])
    with pytest.raises(RuntimeError, match=r"^cannot modify the index: 1 query is running in another thread$"):
        change(index)
    assert index.nearest([[0, 0]]).rows.shape == (1, 1)  # but queries may run
    slow.released.set()
    thread.join()
    assert len(results) == 1
    assert (index.boxes_of().tobytes(), index.handles().tolist()) == before
    change(index)
    index.validate()


def test_query_while_another_thread_changes_the_index_raises():
    index = bp.BVH(make_scene("rects", 50, dtype=np.float64))
    thread, slow = in_the_middle_of(lambda boxes: index.move([0], boxes), BOX)
    for query in (index.pairs, index.stats, index.boxes_of, index.validate, lambda: index.query([[0, 0, 1, 1]])):
        with pytest.raises(RuntimeError, match=r"^cannot query the index while it is being modified$"):
            query()
    with pytest.raises(RuntimeError, match=r"^cannot modify the index while it is being modified$"):
        index.remove(0)
    with pytest.raises(RuntimeError, match=r"^cannot query the index"):
        bp.BVH(make_scene("rects", 5)).pairs(index)
    slow.released.set()
    thread.join()
    assert index.boxes_of([0]).tolist() == [[[0, 0], [1, 1]]]
    index.validate()


def test_octree_update_that_drops_boxes_is_one_change():
    tree = bp.Octree([[0, 0, 1, 1], [2, 2, 3, 3]], bounds=[0, 0, 8, 8], outside="drop")
    tree.pairs()
    seen = []

    class Spying:
        """Boxes that query the tree whenever they are converted."""

        def __array__(self, dtype=None, copy=None):
            try:
                seen.append(len(tree.query([[0, 0, 20, 20]]).rows))
            except RuntimeError as error:
                seen.append(str(error))
            return np.array([[9.0, 9, 10, 10]])

    tree.move([0], Spying())
    assert tree.dropped.tolist() == [0]
    # Outside of the change both boxes are there, inside of it nobody may look: one is never seen moved and not dropped.
    assert set(seen) <= {2, "cannot query the index while it is being modified"}
    assert tree.rows.tolist() == [1]
    tree.validate()


@EACH_INDEX
def test_index_that_was_never_built_may_be_queried_by_many_threads_at_once(kind):
    boxes = make_scene("uniform", 3000)
    index = kind(boxes)
    expected = index.pairs(sort=True)
    for _ in range(5):
        index.update(boxes)
        results, barrier = [], threading.Barrier(6)

        def query(index=index, results=results, barrier=barrier):
            barrier.wait()
            results.append((index.pairs(sort=True), index.stats()["rows"]))

        threads = [threading.Thread(target=query) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 6
        assert all(np.array_equal(found, expected) and rows == 3000 for found, rows in results)


class Failing:
    """An arrangement that passes everything on, and raises during or after the next change."""

    def __init__(self, core):
        self.core, self.error, self.after = core, None, False

    def __getattr__(self, name):
        real = getattr(self.core, name)
        if name not in ("insert", "update", "remove", "build") or self.error is None:
            return real

        def fail(*arguments, **options):
            error, self.error = self.error, None
            if self.after:
                real(*arguments, **options)
            raise error

        return fail


class FailingBVH(bp.BVH):
    """A BVH whose arrangement fails when `failing` says so."""

    def _make_core(self):
        self.failing = Failing(super()._make_core())
        return self.failing


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.move([3], [[0, 0, 1, 1]]),
        lambda index: index.remove([5, 7]),
        lambda index: index.insert([[0, 0, 9, 9], [1, 1, 2, 2]]),
    ],
)
def test_arrangement_that_fails_to_change_is_built_again(change, error, after):
    boxes = make_scene("rects", 100, dtype=np.float64)
    index, plain = FailingBVH(boxes), bp.BVH(boxes)
    index.failing.error, index.failing.after = error(), after
    if error is MemoryError:
        change(index)  # the boxes are right, and the next query builds
    else:
        with pytest.raises(error):
            change(index)
    change(plain)
    assert index.rows.tolist() == plain.rows.tolist()
    assert index.pairs(sort=True).tolist() == plain.pairs(sort=True).tolist()
    index.validate()


def test_build_that_fails_is_repeated_by_the_next_query():
    index = FailingBVH(make_scene("rects", 100, dtype=np.float64))
    expected = index.pairs(sort=True).tolist()
    index.failing.error = MemoryError()
    index.update(index.boxes_of())  # fails, so that the next query builds
    index.failing.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        index.pairs()
    assert index.pairs(sort=True).tolist() == expected
    index.validate()
