"""What a world must say, the plain way: every pair of things tried with NumPy, and an account of the events.

Nothing here is clever, so that it can be checked by reading, and nothing asks the core. A shape is a **rounded box**: a
box, and everything within a radius of it. A ball is a point with a radius, a rectangle is a box without one. For other
shapes, hand over a predicate of your own. O(n**2) time for n things. Input is not checked.

`touching` says what touches; `EventBook` what enters, stays and exits when that changes; `PlainWorld` does what
`broadphase.World` does between them: it moves things, and knows where they were last seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase.testing.oracle import allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    Pairs = NDArray[np.int32]

ALL_BITS = 2**64 - 1
EVERY_KIND = ("dynamic", "static", "kinematic")


def touching(boxes: ArrayLike, radii: ArrayLike = 0.0, *, period: ArrayLike | None = None, **filters: Any) -> Pairs:
    """Find the rounded boxes that touch or overlap, by trying every pair.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d)
        Lower and upper corners.
    radii : array_like, shape (n,), or float
        How far each shape reaches beyond its box.
    period : array_like, shape (d,), optional
        Of a periodic world: things also touch if one of them does so moved by this, back or forth, along any axes.
    **filters
        `layer`, `mask`, `group`, `static`, `ignore_pairs`, as in `broadphase.pairs`.

    Returns
    -------
    pairs : ndarray, shape (m, 2), int32
        In lexicographic order. A new array.

    Examples
    --------
    Two balls that touch, and a rectangle that touches the second of them.

    >>> from broadphase.testing import world_oracle
    >>> world_oracle.touching([[[0, 0], [0, 0]], [[2, 0], [2, 0]], [[3, 0], [5, 9]]], radii=[1, 1, 0])
    array([[0, 1],
           [1, 2]], dtype=int32)
    """
    cores = np.asarray(boxes, np.float64)
    i, j = np.triu_indices(len(cores), 1)
    meet = np.zeros(len(i), bool)
    shifts = np.zeros((1, cores.shape[2] if cores.ndim == 3 else 0))
    if period is not None:
        steps = np.meshgrid(*[(-1, 0, 1)] * shifts.shape[1], indexing="ij")
        shifts = np.stack(steps, axis=-1).reshape(-1, shifts.shape[1]) * np.asarray(period)
    for shift in shifts:
        meet |= rounded_boxes_meet(cores[i], cores[j] + shift, *(np.broadcast_to(radii, len(cores))[k] for k in (i, j)))
    keep = meet & allowed(i, j, False, **filters)
    return np.stack([i[keep], j[keep]], axis=1).astype(np.int32)


def rounded_boxes_meet(first: Any, second: Any, first_radii: Any, second_radii: Any) -> NDArray[np.bool_]:
    """Tell for each k whether rounded box k of one set, cores (m, 2, d), touches that of another."""
    gaps = np.maximum(np.maximum(first[:, 0] - second[:, 1], second[:, 0] - first[:, 1]), 0.0)
    squared = np.zeros(len(gaps))
    for axis in range(gaps.shape[1]):
        squared = squared + gaps[:, axis] * gaps[:, axis]
    reach = first_radii + second_radii
    # Squares of small gaps may vanish; where nothing is round, there must be no gap at all.
    meet: NDArray[np.bool_] = (squared <= reach * reach) & ((reach > 0) | (gaps == 0).all(axis=1))
    return meet


class Events(NamedTuple):
    """What a step must tell: pairs of rows in lexicographic order, and the handles that those of `exit` had."""

    enter: Pairs
    stay: Pairs
    exit: Pairs
    exit_handles: NDArray[np.int64]


class EventBook:
    """An account of the events: from what touches, step by step, to what enters, stays and exits.

    Things are told apart by their handles, ``generation << 32 | row``, so a row that is used again is another thing.

    Examples
    --------
    >>> from broadphase.testing.world_oracle import EventBook
    >>> book = EventBook()
    >>> book.step([[0, 1]], {0: 1 << 32 | 0, 1: 1 << 32 | 1}).enter.tolist()
    [[0, 1]]

    Row 1 is another thing now: one pair of the two rows has ended, and another has begun.

    >>> events = book.step([[0, 1]], {0: 1 << 32 | 0, 1: 2 << 32 | 1})
    >>> events.exit.tolist(), events.enter.tolist(), events.stay.tolist()
    ([[0, 1]], [[0, 1]], [])
    """

    def __init__(self) -> None:
        self.standing: set[tuple[int, int]] = set()

    def step(self, pairs: Any, handles: Mapping[int, int]) -> Events:
        """Take the pairs of rows that touch now, and who the rows are."""
        now = {(handles[int(one)], handles[int(other)]) for one, other in pairs}
        began, lasting, ended = now - self.standing, now & self.standing, self.standing - now
        self.standing = now
        named = sorted(ended, key=rows_of)
        return Events(as_rows(began), as_rows(lasting), as_rows(ended), np.array(named, np.int64).reshape(-1, 2))


def rows_of(handles: Iterable[int]) -> list[int]:
    """Give the rows that handles name, or named."""
    return [handle & 0xFFFF_FFFF for handle in handles]


def as_rows(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """Give the rows of pairs of handles, in lexicographic order."""
    return np.array(sorted(map(rows_of, pairs)), np.int32).reshape(-1, 2)


@dataclass
class Thing:
    """One thing in a plain world. `shape` is for a predicate of your own."""

    handle: int
    position: NDArray[np.float64]
    half: Any = 0.0  # half the size of its box
    radius: float = 0.0
    velocity: Any = 0.0
    rotation: Any = 0.0
    shape: Any = None
    kind: str = "dynamic"
    layer: int = 1
    mask: int = ALL_BITS
    group: int = 0
    every: int = 1
    asleep: bool = False
    is_put: bool = False  # by hand, and not seen there yet
    seen: Any = field(init=False)  # position and rotation
    core: Any = field(init=False)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """See where it is."""
        self.seen, self.is_put = (np.array(self.position, np.float64), np.array(self.rotation)), False
        self.core = np.stack([self.seen[0] - self.half, self.seen[0] + self.half])

    @property
    def moves(self) -> bool:
        """Whether steps move it and look at it."""
        return self.kind != "static" and not self.asleep


class PlainWorld:
    """Things by row, and what steps make of them.

    Parameters
    ----------
    overlap : callable, optional
        ``overlap(first, second)``: tell for each k whether thing ``first[k]`` touches thing ``second[k]``, two lists of
        `Thing`, where `seen` says. Unset: as rounded boxes.

    Examples
    --------
    >>> from broadphase.testing.world_oracle import PlainWorld, Thing
    >>> world = PlainWorld()
    >>> for row, x in enumerate([0.0, 3.0]):
    ...     world.things[row] = Thing(handle=1 << 32 | row, position=[x, 0.0], radius=1.0, velocity=[-x, 0.0])
    >>> world.step(0.25).enter.tolist(), world.step(0.25).enter.tolist()
    ([], [[0, 1]])
    """

    def __init__(self, overlap: Callable[[list[Thing], list[Thing]], NDArray[np.bool_]] | None = None) -> None:
        self.things: dict[int, Thing] = {}
        self.ignored: set[tuple[int, int]] = set()
        self.book = EventBook()
        self.number = 0
        self._overlap = overlap

    def remove(self, row: int) -> None:
        """Take a thing out, and forget which pairs of it are ignored."""
        del self.things[row]
        self.ignored = {pair for pair in self.ignored if row not in pair}

    def step(self, dt: float) -> Events:
        """Move what moves, look at what is to be looked at in this step, and say what that changes."""
        self.number += 1
        for row, thing in self.things.items():
            if thing.is_put:
                thing.look()
            if thing.moves:
                thing.position = thing.position + np.multiply(thing.velocity, dt)
                if (self.number + row) % thing.every == 0:
                    thing.look()
        return self.book.step(self.touching(), {row: thing.handle for row, thing in self.things.items()})

    def refresh(self) -> None:
        """Look at everything that moves, without a step."""
        for thing in self.things.values():
            if thing.moves or thing.is_put:
                thing.look()

    def touching(self) -> Pairs:
        """Find the pairs of rows that touch where things were last seen."""
        rows = np.array(sorted(self.things), np.int32)
        things = [self.things[row] for row in rows.tolist()]
        if len(things) < 2:
            return np.empty((0, 2), np.int32)
        filters = {
            "layer": np.array([thing.layer for thing in things], np.uint64),
            "mask": np.array([thing.mask for thing in things], np.uint64),
            "group": np.array([thing.group for thing in things]),
            "static": np.array([thing.kind == "static" for thing in things]),
            "ignore_pairs": np.searchsorted(rows, np.array(sorted(self.ignored), np.int64).reshape(-1, 2)),
        }
        if self._overlap is None:
            return rows[touching([thing.core for thing in things], [thing.radius for thing in things], **filters)]
        i, j = np.triu_indices(len(things), 1)
        keep = allowed(i, j, False, **filters)
        keep[keep] = self._overlap([things[k] for k in i[keep]], [things[k] for k in j[keep]])
        return rows[np.stack([i[keep], j[keep]], axis=1)]
