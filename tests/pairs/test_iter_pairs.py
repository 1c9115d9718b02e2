"""Pairs in chunks: the same pairs, never more at a time than asked for."""

import itertools

import numpy as np
import pytest

import broadphase as bp
from broadphase.testing import SCENES, assert_same_pairs, oracle
from cases import METHOD_NAMES, run_script, scene
from index_cases import CLASSES

NONE = np.empty((0, 2), np.int32)


def joined(chunks):
    return np.concatenate([NONE, *chunks])


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000, 10**9])
@pytest.mark.parametrize("name", ["uniform", "rects", "identical", "giant", "uniform_1d", "lattice_4d"])
def test_chunks_hold_every_pair_once(name, chunk):
    n = 60 if SCENES[name].quadratic else 700
    boxes = scene(name, n, 1)
    for method in METHOD_NAMES:
        chunks = list(bp.iter_pairs(boxes, method=method, chunk=chunk))
        assert all(0 < len(piece) <= chunk and piece.dtype == np.int32 for piece in chunks)
        assert_same_pairs(joined(chunks), oracle.pairs(boxes), f"{name} {method} chunk={chunk}")


@pytest.mark.parametrize("chunk", [1, 10, 1000])
def test_chunks_of_two_sets_hold_every_pair_once(chunk):
    boxes, other = scene("uniform", 400, 1), scene("uniform", 300, 2)
    for method in METHOD_NAMES:
        found = joined(bp.iter_pairs(boxes, other, method=method, chunk=chunk))
        assert_same_pairs(found, oracle.pairs(boxes, other))


def test_chunks_but_the_last_are_full():
    boxes = scene("clusters", 5000)
    total = bp.count_pairs(boxes)
    for method in METHOD_NAMES:
        sizes = [len(piece) for piece in bp.iter_pairs(boxes, method=method, chunk=100)]
        assert sizes == [100] * (total // 100) + ([total % 100] if total % 100 else [])


def test_chunks_take_every_option():
    boxes = scene("lattice", 400, 3)
    rng = np.random.default_rng(1)
    options = {
        "touching": False,
        "margin": 0.5,
        "layer": rng.integers(1, 8, 400).astype(np.uint64),
        "mask": rng.integers(1, 8, 400).astype(np.uint64),
        "group": rng.integers(-2, 3, 400),
        "static": rng.random(400) < 0.5,
        "ignore_pairs": oracle.pairs(boxes)[::3],
        "ignore_shared": rng.integers(0, 200, (400, 2)),
    }
    for workers in (1, 2):
        for method in METHOD_NAMES:
            found = joined(bp.iter_pairs(boxes, method=method, workers=workers, chunk=50, **options))
            assert_same_pairs(found, oracle.pairs(boxes, **options))


@pytest.mark.parametrize("name", ["uniform", "rects", "power", "giant", "tiles", "half_identical"])
def test_chunks_of_large_scenes_hold_every_pair_once(name):
    boxes = scene(name, 1200 if SCENES[name].quadratic else 30_000)
    expected = bp.pairs(boxes)
    for method in METHOD_NAMES:
        assert_same_pairs(joined(bp.iter_pairs(boxes, method=method, chunk=9999)), expected, f"{name} {method}")


def test_no_pairs_give_no_chunks():
    for method in METHOD_NAMES:
        assert list(bp.iter_pairs(np.empty((0, 2, 3)), method=method)) == []
        assert list(bp.iter_pairs(scene("uniform", 1), method=method)) == []
        assert list(bp.iter_pairs(scene("uniform", 100) * 0 + np.arange(100)[:, None, None], method=method)) == []


def test_result_is_an_iterator_that_ends_for_ever():
    chunks = bp.iter_pairs(scene("rects", 200), chunk=50)
    assert iter(chunks) is chunks
    list(chunks)
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(chunks)


def test_iterators_may_be_left_halfway_and_interleaved():
    boxes = scene("uniform", 3000)
    expected = bp.pairs(boxes)
    left = [bp.iter_pairs(boxes, chunk=10) for _ in range(20)]
    for chunks in left:
        next(chunks)
    del left
    one, two = bp.iter_pairs(boxes, chunk=500), bp.iter_pairs(boxes, chunk=700)
    both = list(itertools.zip_longest(one, two, fillvalue=NONE))
    assert_same_pairs(joined(piece for piece, _ in both), expected)
    assert_same_pairs(joined(piece for _, piece in both), expected)


def test_input_may_be_edited_while_the_pairs_are_read():
    boxes = scene("uniform", 3000).copy()
    layer = np.ones(3000, np.uint64)
    expected = bp.pairs(boxes)
    chunks = bp.iter_pairs(boxes, chunk=100, layer=layer)
    pieces = [next(chunks)]
    boxes[:], layer[:] = np.nan, 0
    assert_same_pairs(joined([*pieces, *chunks]), expected)


def test_chunks_stay_as_they_were_when_the_next_is_read():
    pieces, copies = [], []
    for piece in bp.iter_pairs(scene("uniform", 3000), chunk=100):
        pieces.append(piece)
        copies.append(piece.copy())
    for piece, copy in zip(pieces, copies, strict=True):
        assert np.array_equal(piece, copy)


def test_errors_are_raised_at_the_call():
    bad = scene("rects", 10).copy()
    bad[3, 0, 0] = np.nan
    with pytest.raises(bp.errors.InvalidBoxError, match="row 3"):
        bp.iter_pairs(bad)


def test_first_chunks_of_far_more_pairs_than_memory_holds_take_little_memory():
    script = """
import resource, numpy as np, broadphase as bp
boxes = np.broadcast_to(np.array([[0.0, 0.0], [1.0, 1.0]]), (60_000, 2, 2))
list(bp.iter_pairs(boxes[:2000], chunk=1000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for method in METHODS:
    chunks = bp.iter_pairs(boxes, method=method, chunk=100_000)
    assert all(len(next(chunks)) == 100_000 for _ in range(30))
    del chunks
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    # A task finds at most 4 million pairs, 32 MB, and blocks of 128 MB in sum wait for the next call.
    for growth in run_script(script.replace("METHODS", repr(METHOD_NAMES))).split():
        assert int(growth) < 250_000, f"{growth} KiB for 3 million of 2e9 pairs, which take 14 million KiB"


@pytest.mark.parametrize("kind", [getattr(bp, name) for name in CLASSES])
def test_chunks_of_an_index_are_its_pairs_whatever_becomes_of_it(kind):
    random = np.random.default_rng(1)
    lower = random.random((300, 2)) * 10
    layer, group = random.integers(1, 4, 300), random.integers(-1, 2, 300)
    index = kind(np.concatenate([lower, lower + 1], axis=1), layer=layer)
    index.remove([0, 9, 299])
    other = np.concatenate([lower + 0.3, lower + 1], axis=1)
    for options in ({}, {"group": group[: index.slots]}, {"margin": 0.2, "touching": False}, {"other": other}):
        wanted = index.pairs(sort=True, **options).tolist()
        for chunk in (1, 7, 10**6):
            stream = index.iter_pairs(chunk=chunk, **options)
            found = [next(stream)]
            if chunk == 7:
                copy = index.boxes_of(index.rows)
                index.update(copy + 100.0)
            found.extend(stream)
            if chunk == 7:
                index.update(copy)
            assert all(len(some) == chunk for some in found[:-1])
            assert sorted(np.concatenate(found).tolist()) == wanted
    with pytest.raises(ValueError, match="chunk"):
        index.iter_pairs(chunk=0)


def test_chunks_of_an_index_with_keys_and_in_a_cell():
    random = np.random.default_rng(2)
    lower, batch = random.random((200, 2)) * 5, random.integers(0, 5, 200)
    boxes = np.concatenate([lower, lower + 0.7], axis=1)
    for index in (bp.BVH(boxes, batch=batch), bp.Index(boxes, period=5)):
        found = np.concatenate(list(index.iter_pairs(chunk=11)))
        assert sorted(found.tolist()) == index.pairs(sort=True).tolist()
    assert list(bp.BVH(np.empty((0, 2, 2))).iter_pairs()) == []
