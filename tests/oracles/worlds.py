"""The events of a world in plain NumPy: every pair of bodies tested, and an account of what enters, stays and exits.

A shape is a **rounded box** here: a box, and everything within a radius of it. A ball is a point with a radius, an
unrotated rectangle is a box with radius 0. For other shapes, pass a predicate. O(n**2) time for n bodies. Input is not
checked.

`touching` finds the pairs that touch, `EventBook` turns them into events, and `PlainWorld` does what `broadphase.World`
does between them: it moves bodies, and knows where each was last seen.
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
BODY_TYPES = ("dynamic", "static", "kinematic")


def touching(boxes: ArrayLike, radii: ArrayLike = 0.0, *, period: ArrayLike | None = None, **filters: Any) -> Pairs:
    """Find the rounded boxes that touch or overlap, by testing every pair.

    Parameters
    ----------
    boxes : array_like, shape (n, 2, d)
        Lower and upper corners.
    radii : array_like, shape (n,), or float
        Distance by which each shape extends beyond its box.
    period : array_like, shape (d,), optional
        Size of a periodic world: bodies also touch if they do after one is shifted by this along any axes.
    **filters
        `layer`, `mask`, `group`, `static`, `ignore_pairs`, as in `broadphase.pairs`.

    Returns
    -------
    pairs : ndarray, shape (m, 2), int32
        In lexicographic order. A new array.

    Examples
    --------
    Two balls that touch, and a rectangle that touches the second of them.

    >>> touching([[[0, 0], [0, 0]], [[2, 0], [2, 0]], [[3, 0], [5, 9]]], radii=[1, 1, 0])
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
    """Tell for each k whether rounded box k of one set, given by boxes (m, 2, d) and radii, touches that of another."""
    gaps = np.maximum(np.maximum(first[:, 0] - second[:, 1], second[:, 0] - first[:, 1]), 0.0)
    squared = np.zeros(len(gaps))
    for axis in range(gaps.shape[1]):
        squared = squared + gaps[:, axis] * gaps[:, axis]
    reach = first_radii + second_radii
    # Squares of small gaps may vanish; where nothing is round, there must be no gap at all.
    meet: NDArray[np.bool_] = (squared <= reach * reach) & ((reach > 0) | (gaps == 0).all(axis=1))
    return meet


class Events(NamedTuple):
    """What a step must report: pairs of rows in lexicographic order, and the handles of the pairs in `exit`."""

    enter: Pairs
    stay: Pairs
    exit: Pairs
    exit_handles: NDArray[np.int64]


class EventBook:
    """Turns the pairs that touch, step by step, into the pairs that enter, stay and exit.

    Bodies are told apart by their handles, ``generation << 32 | row``: a row that is used again is another body.

    Examples
    --------
    >>> book = EventBook()
    >>> book.step([[0, 1]], {0: 1 << 32 | 0, 1: 1 << 32 | 1}).enter.tolist()
    [[0, 1]]

    Row 1 is another body now, so one pair of the two rows exits and another enters.

    >>> events = book.step([[0, 1]], {0: 1 << 32 | 0, 1: 2 << 32 | 1})
    >>> events.exit.tolist(), events.enter.tolist(), events.stay.tolist()
    ([[0, 1]], [[0, 1]], [])
    """

    def __init__(self) -> None:
        self.standing: set[tuple[int, int]] = set()

    def step(self, pairs: Any, handles: Mapping[int, int]) -> Events:
        """Take the pairs of rows that touch now, and the handle of each row."""
        now = {(handles[int(one)], handles[int(other)]) for one, other in pairs}
        enter, stay, exit_ = now - self.standing, now & self.standing, self.standing - now
        self.standing = now
        named = sorted(exit_, key=rows_of)
        return Events(as_rows(enter), as_rows(stay), as_rows(exit_), np.array(named, np.int64).reshape(-1, 2))


def rows_of(handles: Iterable[int]) -> list[int]:
    """Give the rows of handles."""
    return [handle & 0xFFFF_FFFF for handle in handles]


def as_rows(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """Give the rows of pairs of handles, in lexicographic order."""
    return np.array(sorted(map(rows_of, pairs)), np.int32).reshape(-1, 2)


@dataclass
class Body:
    """One body of a plain world. `shape` is for a predicate."""

    handle: int
    position: NDArray[np.float64]
    half: Any = 0.0  # of the size of its box
    radius: float = 0.0
    velocity: Any = 0.0
    rotation: Any = 0.0
    shape: Any = None
    body_type: str = "dynamic"
    layer: int = 1
    mask: int = ALL_BITS
    group: int = 0
    update_interval: int = 1
    asleep: bool = False
    is_put: bool = False  # moved by the user, and not seen there yet
    seen: Any = field(init=False)  # position and rotation
    core: Any = field(init=False)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Take its pose as the one seen."""
        self.seen, self.is_put = (np.array(self.position, np.float64), np.array(self.rotation)), False
        self.core = np.stack([self.seen[0] - self.half, self.seen[0] + self.half])

    @property
    def moves(self) -> bool:
        """Whether a step moves it."""
        return self.body_type != "static" and not self.asleep


class PlainWorld:
    """Bodies by row, and the events of each step.

    Parameters
    ----------
    overlap : callable, optional
        ``overlap(first, second)``: tell for each k whether body ``first[k]`` touches body ``second[k]``, two lists of
        `Body`, each at its pose in `seen`. Default: as rounded boxes.

    Examples
    --------
    >>> world = PlainWorld()
    >>> for row, x in enumerate([0.0, 3.0]):
    ...     world.bodies[row] = Body(handle=1 << 32 | row, position=[x, 0.0], radius=1.0, velocity=[-x, 0.0])
    >>> world.step(0.25).enter.tolist(), world.step(0.25).enter.tolist()
    ([], [[0, 1]])
    """

    def __init__(self, overlap: Callable[[list[Body], list[Body]], NDArray[np.bool_]] | None = None) -> None:
        self.bodies: dict[int, Body] = {}
        self.ignored: set[tuple[int, int]] = set()
        self.book = EventBook()
        self.number = 0
        self._overlap = overlap

    def remove(self, row: int) -> None:
        """Remove a body, and the ignored pairs it is in."""
        del self.bodies[row]
        self.ignored = {pair for pair in self.ignored if row not in pair}

    def step(self, dt: float) -> Events:
        """Move the bodies that move, see those whose turn it is, and give the events."""
        self.number += 1
        for row, body in self.bodies.items():
            if body.moves:
                body.position = body.position + np.multiply(body.velocity, dt)
            if body.is_put or (self.number + row) % body.update_interval == 0:
                body.look()
        return self.book.step(self.touching(), {row: body.handle for row, body in self.bodies.items()})

    def refresh(self) -> None:
        """See every body, without a step."""
        for body in self.bodies.values():
            body.look()

    def touching(self) -> Pairs:
        """Find the pairs of rows that touch where the bodies were last seen."""
        rows = np.array(sorted(self.bodies), np.int32)
        bodies = [self.bodies[row] for row in rows.tolist()]
        if len(bodies) < 2:
            return np.empty((0, 2), np.int32)
        filters = {
            "layer": np.array([body.layer for body in bodies], np.uint64),
            "mask": np.array([body.mask for body in bodies], np.uint64),
            "group": np.array([body.group for body in bodies]),
            "static": np.array([body.body_type == "static" for body in bodies]),
            "ignore_pairs": np.searchsorted(rows, np.array(sorted(self.ignored), np.int64).reshape(-1, 2)),
        }
        if self._overlap is None:
            return rows[touching([body.core for body in bodies], [body.radius for body in bodies], **filters)]
        i, j = np.triu_indices(len(bodies), 1)
        keep = allowed(i, j, False, **filters)
        keep[keep] = self._overlap([bodies[k] for k in i[keep]], [bodies[k] for k in j[keep]])
        return rows[np.stack([i[keep], j[keep]], axis=1)]
