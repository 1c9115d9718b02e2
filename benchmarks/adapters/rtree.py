"""Boxes with ids: `broadphase.adapters.rtree` beside rtree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row

COUNT = 100_000
QUERIES = 1000


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    theirs, ours = load("rtree.index", "rtree"), load("broadphase.adapters.rtree", "rtree")
    rng = np.random.default_rng(0)
    lower = rng.random((COUNT, 2)) * 1000
    upper = lower + rng.random((COUNT, 2)) * 3
    ids = np.arange(COUNT)
    corners = np.concatenate((lower, upper), axis=1).tolist()
    for what, items in (
        ("stream", [(number, tuple(box), None) for number, box in enumerate(corners)]),
        ("stream with objects", [(number, tuple(box), str(number)) for number, box in enumerate(corners)]),
    ):
        yield faster(
            f"{what} of 10⁵ boxes, and a query",
            lambda items=items: theirs.Index(iter(items)).count((5, 5, 6, 6)),  # type: ignore[misc]
            lambda items=items: ours.Index(iter(items)).count((5, 5, 6, 6)),  # type: ignore[misc]
            1.0,
            2 * pace,
        )
    yield faster(
        "arrays of 10⁵ boxes, and a query",
        lambda: theirs.Index((ids, lower, upper)).count((5, 5, 6, 6)),
        lambda: ours.Index((ids, lower, upper)).count((5, 5, 6, 6)),
        1.0,
        pace,
    )
    their_index, our_index = theirs.Index((ids, lower, upper)), ours.Index((ids, lower, upper))
    mins = rng.random((QUERIES, 2)) * 1000
    for name, options, least in (("intersection_v", {}, 20.0), ("nearest_v", {"num_results": 5}, 1.0)):
        yield faster(
            f"{name}, 1000 in 10⁵",
            lambda name=name, options=options: getattr(their_index, name)(mins, mins + 5, **options),  # type: ignore[misc]
            lambda name=name, options=options: getattr(our_index, name)(mins, mins + 5, **options),  # type: ignore[misc]
            least,
            pace,
        )
    boxes = np.concatenate((mins, mins + 5), axis=1).tolist()[:50]

    def each(index: Any, name: str, *arguments: Any, **options: Any) -> list[Any]:
        return [list(getattr(index, name)(box, *arguments, **options)) for box in boxes]

    for what, name, arguments in (
        ("intersection", "intersection", ()),
        ("intersection with objects", "intersection", (True,)),
        ("nearest", "nearest", (5,)),
    ):
        yield faster(
            f"{what}, one in 10⁵",
            lambda name=name, arguments=arguments: each(their_index, name, *arguments),  # type: ignore[misc]
            lambda name=name, arguments=arguments: each(our_index, name, *arguments),  # type: ignore[misc]
            1.0,
            pace,
        )

    def change(index: Any, queries: bool) -> None:
        for number, box in enumerate(boxes):
            index.insert(number, box)
            if queries:
                index.count(box)
        for number, box in enumerate(boxes):
            index.delete(number, box)

    yield faster("insert and delete", lambda: change(their_index, False), lambda: change(our_index, False), 1.0, pace)
    yield faster(
        "insert, query and delete", lambda: change(their_index, True), lambda: change(our_index, True), 1.0, pace
    )
