"""Libraries that follow boxes which move: each gets the first frame, and then takes over one frame after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.bench.extras import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.bench.query_tasks import Setting

    Pairs = NDArray[Any]
    Round = Callable[
        [int], tuple[Pairs, Pairs]
    ]  # the pairs that began and ended; or first and second rows of all pairs

__all__ = ["anew", "changed", "fcl_all", "fcl_few", "rtree_few", "sorted_pair_keys"]


def sorted_pair_keys(first: Any, second: Any) -> NDArray[np.int64]:
    """Pack each pair of different rows, the smaller first, into one integer; each pair once, in order."""
    first, second = (np.asarray(rows, np.int64) for rows in (first, second))
    keys = (np.minimum(first, second) << 32) | np.maximum(first, second)
    return np.unique(keys[first != second])


def keys_of(pairs: Pairs) -> NDArray[np.int64]:
    """Pack pairs that are there once, the smaller row first, into one integer each, in order."""
    keys = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    keys.sort()
    return keys


def pairs_of(keys: NDArray[np.int64]) -> Pairs:
    """Take the integers apart again."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF], axis=1)


def changed(before: NDArray[np.int64], now: NDArray[np.int64]) -> tuple[Pairs, Pairs]:
    """Give the pairs that began and those that ended, of sorted distinct keys."""
    began, ended = np.setdiff1d(now, before, assume_unique=True), np.setdiff1d(before, now, assume_unique=True)
    return pairs_of(began), pairs_of(ended)


class FclScene:
    """Boxes in a manager of FCL, whose callback names objects only by where they are: centres must differ."""

    def __init__(self, boxes: NDArray[Any]) -> None:
        self.fcl = load("fcl", "python-fcl")
        lower, upper = boxes[:, 0].astype(np.float64), boxes[:, 1].astype(np.float64)
        self.centers, upright = (lower + upper) / 2, np.eye(3)
        self.objects = [
            self.fcl.CollisionObject(self.fcl.Box(*edge), self.fcl.Transform(upright, center))
            for edge, center in zip((upper - lower).tolist(), self.centers, strict=True)
        ]
        self.rows = {center.tobytes(): row for row, center in enumerate(self.centers)}
        self.manager = self.fcl.DynamicAABBTreeCollisionManager()
        self.manager.registerObjects(self.objects)
        self.manager.setup()
        self.found: list[int] = []

    def note(self, first: Any, second: Any, _: Any) -> bool:
        """Remember a pair; called by FCL."""
        self.found.append(self.rows[first.getTranslation().tobytes()])
        self.found.append(self.rows[second.getTranslation().tobytes()])
        return False

    def move(self, rows: Iterable[int], boxes: NDArray[Any]) -> None:
        """Put some boxes elsewhere; their sizes stay."""
        centers = (boxes[:, 0].astype(np.float64) + boxes[:, 1]) / 2
        moved = []
        for row, center in zip(rows, centers, strict=True):
            self.rows.pop(self.centers[row].tobytes(), None)
            self.objects[row].setTranslation(center)
            moved.append(self.objects[row])
        for row, center in zip(rows, centers, strict=True):
            self.rows[center.tobytes()] = row
            self.centers[row] = center
        self.manager.update(moved)

    def answer(self) -> tuple[Pairs, Pairs]:
        """Give what was noted since the last call, as first and second rows."""
        pairs = np.array(self.found, np.int64).reshape(-1, 2)
        self.found = []
        return pairs[:, 0], pairs[:, 1]

    def partners(self, rows: Iterable[int]) -> NDArray[np.int64]:
        """Give the pairs of some boxes."""
        for row in rows:
            self.manager.collide(self.objects[row], None, self.note)
        return sorted_pair_keys(*self.answer())


def fcl_few(setting: Setting) -> Round:
    """Ask for the partners of what moves, move it, and ask again."""
    scene = FclScene(setting.boxes)

    def step(number: int) -> tuple[Pairs, Pairs]:
        frame = setting.frames[number]
        rows = frame.rows.tolist()
        before = scene.partners(rows)
        scene.move(rows, frame.boxes)
        return changed(before, scene.partners(rows))

    return step


def fcl_all(setting: Setting) -> Round:
    """Move everything and ask for all pairs."""
    scene = FclScene(setting.boxes)

    def step(number: int) -> tuple[Pairs, Pairs]:
        frame = setting.frames[number]
        scene.move(frame.rows.tolist(), frame.boxes)
        scene.manager.collide(None, scene.note)
        first, second = scene.answer()
        return np.minimum(first, second), np.maximum(first, second)

    return step


def rtree_few(setting: Setting) -> Round:
    """Ask for the partners of what moves, delete and insert it, and ask again."""
    index, now = load("rtree.index", "rtree"), setting.boxes.astype(np.float64)
    properties = index.Property(dimension=now.shape[2])
    tree = index.Index((np.arange(len(now)), now[:, 0].copy(), now[:, 1].copy()), properties=properties)

    def partners(rows: NDArray[Any]) -> NDArray[np.int64]:
        found, counts = tree.intersection_v(now[rows, 0], now[rows, 1])
        return sorted_pair_keys(np.repeat(rows, counts.astype(np.int64)), found)

    def step(number: int) -> tuple[Pairs, Pairs]:
        frame = setting.frames[number]
        before = partners(frame.rows)
        old, new = now[frame.rows].reshape(len(frame.rows), -1), frame.boxes.astype(np.float64)
        for row, gone, come in zip(frame.rows.tolist(), old.tolist(), new.reshape(old.shape).tolist(), strict=True):
            tree.delete(row, gone)
            tree.insert(row, come)
        now[frame.rows] = new
        return changed(before, partners(frame.rows))

    return step


def anew(find: Callable[[NDArray[Any]], Pairs]) -> tuple[Callable[[Setting], Round], Callable[[Setting], Round]]:
    """Make rounds of what finds all pairs of a frame from scratch: one that gives what changed, one that gives them."""

    def few(setting: Setting) -> Round:
        last = keys_of(find(setting.boxes))

        def step(number: int) -> tuple[Pairs, Pairs]:
            nonlocal last
            before, last = last, keys_of(find(setting.frames[number].scene))
            return changed(before, last)

        return step

    def every(setting: Setting) -> Round:
        def step(number: int) -> tuple[Pairs, Pairs]:
            pairs = find(setting.frames[number].scene)
            return pairs[:, 0], pairs[:, 1]

        return step

    return few, every
