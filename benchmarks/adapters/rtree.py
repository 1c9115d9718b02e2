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


def every(found: Any) -> Any:
    """Take all results of an iterator; a number is one already."""
    return found if isinstance(found, int) else list(found)


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    theirs, ours = load("rtree.index", "rtree"), load("broadphase.adapters.rtree", "rtree")
    rng = np.random.default_rng(0)
    lower = rng.random((COUNT, 2)) * 1000
    upper = lower + rng.random((COUNT, 2)) * 3
    ids = np.arange(COUNT)
    corners = np.concatenate((lower, upper), axis=1).tolist()
    items = [(number, tuple(box), None) for number, box in enumerate(corners)]
    for what, objects in (
        ("stream", [None] * COUNT),
        ("stream with strings", [str(number) for number in range(COUNT)]),
        ("stream with dicts", [{"name": str(number), "rank": number} for number in range(COUNT)]),
    ):
        stream = [(number, box, obj) for (number, box, _), obj in zip(items, objects, strict=True)]
        for kind, made in (("list", list), ("generator", lambda stream: ((id, box, obj) for id, box, obj in stream))):
            yield faster(
                f"{what} of 10⁵ boxes from a {kind}, and a query",
                lambda stream=stream, made=made: theirs.Index(made(stream)).count((5, 5, 6, 6)),  # type: ignore[misc]
                lambda stream=stream, made=made: ours.Index(made(stream)).count((5, 5, 6, 6)),  # type: ignore[misc]
                20.0,
                pace,
            )
    places = (rng.random((100, 2)) * 1000).tolist()
    yield faster(
        "stream of 10⁵ boxes, and 100 queries",  # the tree of ours is built after the first few
        lambda: every(map(theirs.Index(items).count, places)),
        lambda: every(map(ours.Index(items).count, places)),
        1.0,
        pace,
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

    for what, place, box in (
        ("10⁴ boxes on one spot", np.full((10_000, 2), 5.0), (5, 5, 9, 9)),
        ("10⁴ boxes, one far away", np.concatenate((lower[:9999], [[1e12, 1e12]])), (5, 5, 50, 50)),
        ("10⁴ boxes in 20 clusters", lower[:20].repeat(500, axis=0) + rng.random((10_000, 2)), (*lower[0], *upper[0])),
        ("100 boxes", lower[:100], (5, 5, 500, 500)),
    ):
        arrays = (ids[: len(place)], place, place + 1)
        one, two = theirs.Index(arrays), ours.Index(arrays)
        yield faster(
            f"arrays of {what}, and a query",
            lambda arrays=arrays, box=box: theirs.Index(arrays).count(box),  # type: ignore[misc]
            lambda arrays=arrays, box=box: ours.Index(arrays).count(box),  # type: ignore[misc]
            1.0,
            pace / 2,
        )
        for name in ("count", "intersection", "nearest"):
            yield faster(
                f"{name} in {what}",
                lambda one=one, name=name, box=box: every(getattr(one, name)(box)),  # type: ignore[misc]
                lambda two=two, name=name, box=box: every(getattr(two, name)(box)),  # type: ignore[misc]
                1.0,
                pace / 4,
            )
    yield faster("bounds", lambda: their_index.bounds, lambda: our_index.bounds, 1.0, pace / 4)
    yield faster("insert and delete", lambda: change(their_index, False), lambda: change(our_index, False), 1.0, pace)
    yield faster(
        "insert, query and delete", lambda: change(their_index, True), lambda: change(our_index, True), 1.0, pace
    )
