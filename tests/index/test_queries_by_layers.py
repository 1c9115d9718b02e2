"""Queries that may find few of the rows, by layers, masks and rows to ignore: again and again, and after changes."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import broadphase as bp
from oracles import queries as oracle
from query_cases import arguments_of

TREES = ("Index", "BVH", "Octree", "LinearTree")
COUNT = 400
QUERIES = 60  # so many reject far more rows than there are
RARE, PLAIN, BOTH, EVERY = 2, 1, 3, 2**64 - 1


class Asked:
    """What every kind of query is given, in 1 to 4 dimensions."""

    def __init__(self, random: np.random.Generator, dimension: int) -> None:
        self.points = random.random((QUERIES, dimension))
        ways, sizes = random.normal(size=(QUERIES, dimension)), 0.2 * random.random((QUERIES, dimension))
        boxes = np.stack([self.points, self.points + sizes], axis=1)
        self.calls = arguments_of(boxes, ways, 0.3)
        limits = np.where(np.arange(QUERIES) % 2, np.inf, 0.4)
        for name, given in self.calls.items():
            if "max_distance" in given:
                more = {"k": 3} if name == "nearest" else {}
                rest = {one: value for one, value in given.items() if one != "max_distance"}
                self.calls[name] = {**rest, **more, "max_distance": limits}


def expected_of(name: str, boxes: Any, given: dict[str, Any], **options: Any) -> Any:
    """Answer a query by the oracle."""
    return getattr(oracle, "frustum_planes" if name == "frustum" else name)(boxes, *given.values(), **options)


def boxes_of(random: np.random.Generator, dimension: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Return small boxes all over the place."""
    lower = random.random((COUNT, 1, dimension))
    return np.concatenate([lower, lower + 0.04 * random.random(lower.shape)], axis=1).astype(dtype)


def share_of(kind: str, boxes: NDArray[Any], random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows match."""
    numbers = np.arange(len(boxes))
    return {
        "none": numbers < 0,
        "one": numbers == 5,
        "few": random.random(len(boxes)) < 0.02,
        "in a corner": boxes[:, 0, 0] < 0.03,
        "a third": numbers % 3 == 0,
        "most": numbers % 7 != 0,
        "all": numbers >= 0,
    }[kind]


def check(index: Any, asked: Asked, layer: Any, mask: Any, label: str, times: int = 2) -> None:
    """Ask all at once, a few at a time, and one by one, by these bits of the queries; the rows have those given."""
    rows, (own_layer, own_mask) = index.rows, index._store.bits
    every = np.uint64(EVERY)
    of_rows = [np.full(len(rows), every) if one is None else one[rows] for one in (own_layer, own_mask)]
    bits = {"layer": layer, "mask": mask}
    for name, given in asked.calls.items():
        layers = (*of_rows, layer, mask)
        expected = expected_of(name, index.boxes_of(), given, rows=rows, layers=layers)
        for _ in range(times):
            oracle.assert_same_answers(getattr(index, name)(**given, **bits), expected, f"{label}, {name}")
        if np.ndim(mask) or np.ndim(layer):
            continue
        for at in range(0, QUERIES, 20):
            few = {one: value[at : at + 3] if np.ndim(value) else value for one, value in given.items()}
            of_few = expected_of(name, index.boxes_of(), few, rows=rows, layers=layers)
            for _ in range(times):
                oracle.assert_same_answers(getattr(index, name)(**few, **bits), of_few, f"{label}, few, {name}")


@pytest.mark.parametrize("kind", ["none", "one", "few", "in a corner", "a third", "most", "all"])
@pytest.mark.parametrize("name", TREES)
def test_queries_by_layers_find_the_rows_that_match(name: str, kind: str) -> None:
    random = np.random.default_rng([len(name), len(kind)])
    for dimension in (1, 2, 3, 4):
        boxes = boxes_of(random, dimension, np.float32 if dimension % 2 else np.float64)
        matches = share_of(kind, boxes, random)
        index = getattr(bp, name)(boxes, layer=np.where(matches, RARE, PLAIN).astype(np.uint64))
        check(index, Asked(random, dimension), BOTH, RARE, f"{name}, {kind}, {dimension}")


def test_queries_by_masks_of_rows_need_both_sides_to_match() -> None:
    random = np.random.default_rng(5)
    boxes, asked = boxes_of(random, 2), Asked(random, 2)
    few = share_of("few", boxes, random)
    index = bp.BVH(boxes, layer=np.where(few, RARE, PLAIN).astype(np.uint64), mask=random.integers(1, 4, COUNT))
    for layer in (PLAIN, RARE, BOTH):
        for mask in (PLAIN, RARE):
            check(index, asked, layer, mask, f"layer {layer}, mask {mask}")
    only_masks = bp.BVH(boxes, mask=np.where(few, RARE, PLAIN).astype(np.uint64))
    check(only_masks, asked, RARE, EVERY, "only masks")


def test_queries_each_with_a_mask_of_its_own_find_what_each_may() -> None:
    random = np.random.default_rng(6)
    boxes, asked = boxes_of(random, 3), Asked(random, 3)
    index = bp.BVH(boxes, layer=np.uint64(1) << random.integers(0, 40, COUNT).astype(np.uint64))
    masks = np.uint64(1) << random.integers(0, 60, QUERIES).astype(np.uint64)
    check(index, asked, BOTH, masks, "sixty masks", times=3)
    check(index, asked, BOTH, np.where(np.arange(QUERIES) % 2, np.uint64(4), ~np.uint64(4)), "two masks", times=3)


@pytest.mark.parametrize("name", TREES)
def test_queries_by_layers_follow_every_change(name: str) -> None:
    random = np.random.default_rng(7)
    boxes, asked = boxes_of(random, 2), Asked(random, 2)
    few = share_of("few", boxes, random)
    index = getattr(bp, name)(boxes, layer=np.where(few, RARE, PLAIN).astype(np.uint64))
    rare = np.flatnonzero(few)
    check(index, asked, BOTH, RARE, "at first", times=1)
    index.move(rare[:3], boxes_of(random, 2)[:3])
    check(index, asked, BOTH, RARE, "after a move", times=1)
    index.set_filters(rare[:1], layer=PLAIN)
    index.set_filters([0, 1], layer=RARE)
    check(index, asked, BOTH, RARE, "after a change of layers", times=1)
    index.remove(rare[1:2])
    check(index, asked, BOTH, RARE, "after a removal", times=1)
    index.insert(boxes_of(random, 2)[:2], layer=RARE)
    check(index, asked, BOTH, RARE, "after an insertion", times=1)
    index.update(index.boxes_of() + 0.01)
    check(index, asked, BOTH, RARE, "after all have moved", times=1)


def test_queries_that_ignore_most_rows_find_the_others() -> None:
    random = np.random.default_rng(8)
    boxes, asked = boxes_of(random, 2), Asked(random, 2)
    left = np.sort(random.permutation(COUNT)[:20])
    ignored = np.setdiff1d(np.arange(COUNT), left)[None]
    for layers in (None, np.where(np.arange(COUNT) % 2, RARE, PLAIN).astype(np.uint64)):
        index = bp.BVH(boxes, layer=layers)
        of_rows = np.full(len(left), BOTH) if layers is None else layers[left]
        bits = {} if layers is None else {"layer": BOTH, "mask": RARE}
        mask = BOTH if layers is None else RARE
        for name, given in asked.calls.items():
            layers_left = (of_rows, BOTH, BOTH, mask)
            expected = expected_of(name, boxes[left], given, rows=left, layers=layers_left)
            for _ in range(3):
                found = getattr(index, name)(**given, ignore=ignored, **bits)
                oracle.assert_same_answers(found, expected, name)


def test_queries_by_layers_in_many_threads_are_those_of_one() -> None:
    random = np.random.default_rng(9)
    boxes, asked = boxes_of(random, 3), Asked(random, 3)
    index = bp.BVH(boxes, layer=np.where(share_of("few", boxes, random), RARE, PLAIN).astype(np.uint64))
    expected = oracle.nearest(boxes, asked.points, 3, layers=(index._store.bits[0], EVERY, BOTH, RARE))
    for workers in (2, 3, 8):
        found = copy(index).nearest(np.tile(asked.points, (6, 1)), 3, mask=RARE, workers=workers)
        for part, wanted in zip(found, expected, strict=True):
            assert np.array_equal(part, np.tile(wanted, (6, 1)))
    assert index.memory_bytes >= bp.BVH(boxes).memory_bytes
