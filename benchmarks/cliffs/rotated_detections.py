"""Suppression of rotated boxes beside that of the same boxes without their angle, and both kinds beside libraries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import broadphase as bp
from benchmarks.measuring import load, median_times
from benchmarks.rows import Row, ratio
from broadphase.errors import MissingExtraError

_MOST = 4.0  # of the time that the same boxes take without their angle
_MOST_KEPT = 8.0  # the same, where many more boxes are kept: crowds at any angle and sticks
_FASTER = 0.1  # of the time of a library


def rows(pace: float) -> Iterator[Row]:
    """Measure scattered boxes, crowds, sticks and one spot, in the plane and in space, then 2,000 beside libraries."""
    random = np.random.default_rng(1)
    scores = random.random(100_000)
    for name in ("scattered", "20 detections an object", "one spot"):
        upright, angles = _drawn(random, name, len(scores))
        turned = np.column_stack([upright, angles])
        calls = {
            "rotated": partial(bp.nms, turned, scores, 0.5, form="cxcywhr"),
            "upright": partial(bp.nms, upright, scores, 0.5, form="cxcywh"),
        }
        found = median_times(calls, budget=3 * pace)
        yield ratio(f"nms of 10⁵ rotated boxes, {name}, to upright", found["rotated"], found["upright"], _MOST)
    for name, threshold in (("a crowd", 0.9), ("a crowd", 0.5), ("sticks", 0.5), ("sticks", 0.3)):
        upright, angles = _drawn(random, name, 20_000)
        turned = np.column_stack([upright, angles])
        calls = {
            "rotated": partial(bp.nms, turned, scores[:20_000], threshold, form="cxcywhr"),
            "upright": partial(bp.nms, upright, scores[:20_000], threshold, form="cxcywh"),
        }
        found = median_times(calls, budget=2 * pace)
        what = f"nms of 20,000 rotated boxes, {name}, at {threshold}, to upright"
        yield ratio(what, found["rotated"], found["upright"], _MOST_KEPT)
    upright, angles = _cars(random, len(scores))
    turned = np.column_stack([upright, angles])
    calls = {
        "rotated": partial(bp.nms, turned, scores, 0.5, form="xyzlwhr"),
        "upright": partial(bp.nms, upright, scores, 0.5, form="cxcywh"),
    }
    found = median_times(calls, budget=3 * pace)
    yield ratio("nms of 10⁵ boxes with a yaw, 20 a car, to upright", found["rotated"], found["upright"], _MOST)
    yield from _beside_opencv(random, pace)
    yield from _beside_shapely(random, pace)


def _beside_opencv(random: np.random.Generator, pace: float) -> Iterator[Row]:
    try:
        dnn = load("cv2", "opencv-python-headless").dnn
    except MissingExtraError:
        return
    upright, angles = _drawn(random, "20 detections an object", 2000)
    degrees, scores = np.degrees(angles), random.random(2000).astype(np.float32)
    # What its functions take: tuples. A box inside another one is all of it to OpenCV, so its rows may be fewer.
    given = [((x, y), (w, h), a) for (x, y, w, h), a in zip(upright.tolist(), degrees.tolist(), strict=True)]
    corners = np.concatenate([upright[:, :2] - upright[:, 2:] / 2, upright[:, 2:]], axis=1).round().astype(int)
    whole = [tuple(box) for box in corners.tolist()]
    listed = scores.tolist()
    calls = {
        "nms": partial(bp.nms, np.column_stack([upright, degrees]), scores, 0.5, form="cxcywhr", degrees=True),
        "its nms": partial(dnn.NMSBoxesRotated, given, listed, 0.0, 0.5),
        "soft": partial(bp.soft_nms, corners, scores, form="xywh"),
        "its soft": partial(dnn.softNMSBoxes, whole, listed, 0.001, 0.3, 0, 0.5),
    }
    found = median_times(calls, budget=3 * pace)
    yield ratio("nms of 2,000 rotated boxes, of OpenCV's time", found["nms"], found["its nms"], _FASTER)
    yield ratio("soft_nms of 2,000 boxes, of OpenCV's time", found["soft"], found["its soft"], 0.5)


def _beside_shapely(random: np.random.Generator, pace: float) -> Iterator[Row]:
    try:
        shapely = load("shapely")
    except MissingExtraError:
        return
    upright, angles = _drawn(random, "20 detections an object", 2000)
    turned, scores = np.column_stack([upright, angles]), random.random(2000)
    ring = [
        upright[:, :2]
        + np.column_stack(
            [
                u * upright[:, 2] * np.cos(angles) - v * upright[:, 3] * np.sin(angles),
                u * upright[:, 2] * np.sin(angles) + v * upright[:, 3] * np.cos(angles),
            ]
        )
        for u, v in ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5))
    ]
    polygons = shapely.polygons(np.stack(ring, axis=1))

    def by_tree() -> np.ndarray:
        """Find the pairs that meet by a tree, their areas at once, and keep the best of them."""
        first, second = shapely.STRtree(polygons).query(polygons, predicate="intersects")
        common = shapely.area(shapely.intersection(polygons[first], polygons[second]))
        area = shapely.area(polygons)
        exceeds = common / (area[first] + area[second] - common) > 0.5
        rank = np.empty(len(scores), int)
        order = np.argsort(-scores, kind="stable")
        rank[order] = np.arange(len(scores))
        exceeds &= rank[first] < rank[second]
        first, second = first[exceeds], second[exceeds]
        by_first = np.argsort(first, kind="stable")
        first, second = first[by_first], second[by_first]
        ends = np.searchsorted(first, np.arange(len(scores) + 1))
        kept = np.ones(len(scores), bool)
        for row in order:
            if kept[row]:
                kept[second[ends[row] : ends[row + 1]]] = False
        return order[kept[order]]

    ours = partial(bp.nms, turned, scores, 0.5, form="cxcywhr")
    assert ours().tolist() == by_tree().tolist()
    found = median_times({"ours": ours, "tree": by_tree}, budget=3 * pace)
    yield ratio("nms of 2,000 rotated boxes, of the time by shapely's tree", found["ours"], found["tree"], _FASTER)


def _drawn(random: np.random.Generator, name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw centers and sizes of boxes in the plane, and their angles."""
    center, size = random.random((count, 2)) * 3000, random.uniform(5, 30, (count, 2))
    angles = random.uniform(-np.pi, np.pi, count)
    if name == "20 detections an object":
        objects = np.arange(count) // 20
        center = random.random((count, 2))[objects] * 25 * count**0.5 + random.normal(0, 5, (count, 2))
        size = random.uniform(20, 150, (count, 2))[objects] * random.uniform(0.85, 1.15, (count, 2))
        angles = angles[objects] + random.normal(0, 0.05, count)
    elif name == "one spot":
        center, size = random.random((count, 2)) * 9, np.full((count, 2), 50.0)
    elif name == "a crowd":
        center, size = random.random((count, 2)) * 200, random.uniform(20, 80, (count, 2))
    elif name == "sticks":
        size = np.column_stack([random.uniform(100, 400, count), random.uniform(2, 4, count)])
    return np.concatenate([center, size], axis=1), angles


def _cars(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw centers and sizes of cars on a plain, 20 detections of each, and their yaws."""
    cars = np.arange(count) // 20
    place = random.random((count, 3))[cars] * [2 * count**0.5, 2 * count**0.5, 1] + random.normal(0, 0.2, (count, 3))
    size = np.array([4.5, 1.9, 1.6]) * random.uniform(0.85, 1.15, (count, 3))
    return np.concatenate([place, size], axis=1), random.uniform(0, 7, count)[cars] + random.normal(0, 0.05, count)
