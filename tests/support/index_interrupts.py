"""Changes of an index that are interrupted anywhere, beside an account of what the index may then hold.

After an exception an index must answer as before the call or as after it. `Account` says both, by plain NumPy; it calls
nothing of the library.
"""

from __future__ import annotations

import copy
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

import broadphase as bp
from index_cases import CAPABILITIES, CLASSES, generator

ALL_BITS = 2**64 - 1
Pairs = np.ndarray


class Interruption(BaseException):
    """Raised where nobody expects it, as KeyboardInterrupt is."""


@dataclass(frozen=True)
class Account:
    """What an index holds. Arrays by slot; never written to.

    Attributes
    ----------
    boxes : ndarray, shape (slots, 2, d)
    alive : ndarray, shape (slots,), bool
    removals : ndarray, shape (slots,)
        How often the box of each slot has been removed.
    layer, mask : ndarray, shape (slots,), uint64
    radii : ndarray, shape (slots,)
        Of the spheres in the middle of the boxes of an octree; infinite for none.
    reported : set of pairs of handles
        What the last call of `changes` has left the caller with.
    dropped : list of int, or None
        Rows that the last insert or update has dropped.
    """

    boxes: np.ndarray
    alive: np.ndarray
    removals: np.ndarray
    layer: np.ndarray
    mask: np.ndarray
    radii: np.ndarray
    reported: frozenset[tuple[int, int]] = frozenset()
    dropped: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, boxes: np.ndarray) -> Account:
        """Begin with these boxes."""
        n = len(boxes)
        bits = np.full(n, ALL_BITS, np.uint64)
        return cls(boxes, np.ones(n, bool), np.zeros(n, np.int64), bits, bits, np.full(n, np.inf))

    @property
    def rows(self) -> np.ndarray:
        """The rows in use."""
        return np.flatnonzero(self.alive)

    @property
    def handles(self) -> np.ndarray:
        """By slot."""
        return (self.removals + 1) << 32 | np.arange(len(self.alive))

    def inserted(
        self, boxes: np.ndarray, layer: int = ALL_BITS, mask: int = ALL_BITS, radii: Any = np.inf
    ) -> tuple[Account, np.ndarray]:
        """Say what is after boxes came, and their rows: the lowest free ones first."""
        free = np.flatnonzero(~self.alive)[: len(boxes)]
        slots = len(self.alive)
        new = len(boxes) - len(free)
        rows = np.concatenate([free, np.arange(slots, slots + new)])
        kept = {
            "boxes": np.concatenate([self.boxes, np.zeros((new, *self.boxes.shape[1:]), self.boxes.dtype)]),
            "alive": np.concatenate([self.alive, np.zeros(new, bool)]),
            "removals": np.concatenate([self.removals, np.zeros(new, np.int64)]),
            "layer": np.concatenate([self.layer, np.zeros(new, np.uint64)]),
            "mask": np.concatenate([self.mask, np.zeros(new, np.uint64)]),
            "radii": np.concatenate([self.radii, np.zeros(new)]),
        }
        given = {"boxes": boxes, "alive": True, "layer": np.uint64(layer), "mask": np.uint64(mask), "radii": radii}
        for name, values in given.items():
            kept[name][rows] = values
        return replace(self, **kept, dropped=[]), rows

    def removed(self, rows: Any) -> Account:
        """Say what is after boxes went."""
        alive, removals = self.alive.copy(), self.removals.copy()
        alive[rows] = False
        removals[rows] += 1
        return replace(self, alive=alive, removals=removals)

    def moved(self, rows: Any, boxes: np.ndarray, radii: Any = np.inf) -> Account:
        """Say what is after boxes moved."""
        corners, spheres = self.boxes.copy(), self.radii.copy()
        corners[rows], spheres[rows] = boxes, radii
        return replace(self, boxes=corners, radii=spheres, dropped=[])

    def filtered(self, rows: Any, layer: Any, mask: Any) -> Account:
        """Say what is after boxes have other bits."""
        layers, masks = self.layer.copy(), self.mask.copy()
        if layer is not None:
            layers[rows] = layer
        if mask is not None:
            masks[rows] = mask
        return replace(self, layer=layers, mask=masks)

    def pairs(self, layer: np.ndarray | None = None) -> np.ndarray:
        """Give all pairs of boxes that overlap and pass the filter, in lexicographic order."""
        rows = self.rows
        found = [np.empty((0, 2), np.int64)]
        order = rows[np.argsort(self.boxes[rows, 0, 0], kind="stable")]
        begin, end = self.boxes[order, 0, 0], self.boxes[order, 1, 0]
        counts = np.searchsorted(begin, end, side="right") - np.arange(len(order)) - 1
        first = np.repeat(np.arange(len(order)), counts)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        one, other = order[first], order[second]
        meet = (self.boxes[one, 0] <= self.boxes[other, 1]).all(axis=1)
        meet &= (self.boxes[other, 0] <= self.boxes[one, 1]).all(axis=1)
        bits = self.layer if layer is None else layer
        meet &= ((bits[one] & self.mask[other]) != 0) & ((bits[other] & self.mask[one]) != 0)
        found.append(np.sort(np.stack([one[meet], other[meet]], axis=1), axis=1))
        pairs = np.concatenate(found)
        return pairs[np.lexsort(pairs.T[::-1])]

    def sphere_pairs(self) -> np.ndarray:
        """Give the pairs whose spheres touch as well; boxes stand for those that have none."""
        if np.isinf(self.radii).all():
            return self.pairs()
        kept = []
        for one, other in self.pairs().tolist():
            centers = self.boxes[[one, other]].mean(axis=1)
            radii = self.radii[[one, other]]
            touch = True
            if np.isfinite(radii).all():
                touch = ((centers[0] - centers[1]) ** 2).sum() <= radii.sum() ** 2
            elif np.isfinite(radii).any():
                ball = int(np.isinf(radii[0]))
                box = self.boxes[(one, other)[1 - ball]]
                gap = np.maximum(np.maximum(box[0] - centers[ball], centers[ball] - box[1]), 0)
                touch = (gap**2).sum() <= radii[ball] ** 2
            if touch:
                kept.append([one, other])
        return np.array(kept, np.int64).reshape(-1, 2)

    def standing(self, layer: np.ndarray | None = None) -> frozenset[tuple[int, int]]:
        """Give the pairs by handles, which tell boxes apart that had one row after each other."""
        return frozenset(map(tuple, self.handles[self.pairs(layer)].tolist()))

    def changes(self) -> tuple[list[list[int]], list[list[int]]]:
        """Say what `changes` is to return."""
        now, before = self.standing(), self.reported
        return tuple(  # type: ignore[return-value]
            sorted([one & 0xFFFF_FFFF, other & 0xFFFF_FFFF] for one, other in part)
            for part in (now - before, before - now)
        )

    def difference(self, index: Any) -> str:
        """Say in what an index differs from this account; an empty string: in nothing."""
        rows, corners = self.rows, self.boxes[self.rows]
        if len(index) != len(rows) or index.slots != len(self.alive) or index.rows.tolist() != rows.tolist():
            return f"rows {index.rows.tolist()} of {index.slots} for {rows.tolist()} of {len(self.alive)}"
        if not np.array_equal(index.boxes_of(), corners):
            return "boxes"
        if not np.array_equal(index.handles(), self.handles[rows]):
            return "handles"
        if not np.array_equal(index.rows_of(self.handles[rows]), rows):
            return "rows of handles"
        if not np.array_equal(index._store.generation[: index.slots], self.removals + 1):
            return "handles to come"  # those of free rows, which nobody can see yet
        expected = self.pairs()
        found = index.pairs(sort=True)
        if not np.array_equal(found, expected):
            return f"pairs {found.tolist()[:9]} for {expected.tolist()[:9]}"
        if index.count_pairs() != len(expected):
            return "number of pairs"
        if len(rows):
            # One box, and then all boxes by each bit: layers and masks are not to be seen otherwise.
            asked = np.repeat([[corners.min(axis=(0, 1)), corners.max(axis=(0, 1))]], 7, axis=0)
            asked[0] = corners[len(rows) // 2]
            layer, mask = np.full((2, 7), ALL_BITS, np.uint64)
            layer[1:4] = mask[4:7] = 1, 2, 4
            found = index.query(asked, layer=layer, mask=mask)
            for k, box in enumerate(asked):
                meet = ((corners[:, 0] <= box[1]) & (box[0] <= corners[:, 1])).all(axis=1)
                meet &= ((self.layer[rows] & mask[k]) != 0) & ((self.mask[rows] & layer[k]) != 0)
                if found[k].tolist() != rows[meet].tolist():
                    return f"query {k}"
        if isinstance(index, bp.Octree) and index.dropped.tolist() != self.dropped:
            return f"dropped {index.dropped.tolist()} for {self.dropped}"
        if not np.array_equal(index.pairs(by="sphere", sort=True), self.sphere_pairs()):
            return "pairs of spheres"
        return ""


@dataclass
class Change:
    """A call that is made, and what it leads to.

    Attributes
    ----------
    name : str
    call : callable
        Takes the index; returns the index that is to be used from there on, or None for the same.
    after : Account
        What the index holds afterwards.
    """

    name: str
    call: Callable[[Any], Any]
    after: Account


class Attack:
    """An index, its account, and changes of it that may end anywhere."""

    def __init__(self, name: str, seed: Any, *, count: int = 24, span: float = 12.0, **options: Any) -> None:
        self.rng = generator("interrupts", name, seed, sorted(options))
        self.class_, self.options, self.span, self.count = getattr(bp, name), options, span, count
        self.dropping = options.get("outside") == "drop"
        first = Account.of(self.boxes(count))
        self.index = self.class_(first.boxes, **options)
        self.account = self.dropped(first, first.rows)
        self.label = f"{name} {options} seed={seed}"
        self.points = self.unchanged = self.changed = 0

    def boxes(self, count: int) -> np.ndarray:
        """Make boxes on a lattice, in a scene that is long along the first axis."""
        rng = self.rng
        lower = np.stack([rng.integers(0, self.span * 2, count), *rng.integers(0, 6, (2, count))], axis=1) / 2
        return np.stack([lower, lower + rng.integers(0, 4, (count, 3)) / 2], axis=1)

    def some_rows(self, most: int | None = None) -> np.ndarray:
        """Choose rows in use, in any order."""
        rows = self.rng.permutation(self.account.rows)
        return rows[: self.rng.integers(1, min(len(rows), most or self.count // 3) + 1)] if len(rows) else rows

    # What may happen -------------------------------------------------------------------------------------------------

    def changes(self) -> list[Callable[[], Change]]:
        """Give what makes a change of each sort."""
        able = [
            self.insert, self.insert_many, self.insert_with_bits, self.remove, self.remove_all, self.update,
            self.update_all, self.insert_spheres, self.update_spheres, self.set_filters, self.query, self.pickle,
            self.copy,
        ]  # fmt: skip
        name = self.class_.__name__
        if "changes" in CAPABILITIES[name]:
            able += [self.report, self.report_and_filter]
        if name == "LinearTree":
            able.append(self.set_bounds)
        if name == "BVH":
            able.append(self.optimize)
        return able

    def insert(self) -> Change:
        boxes = self.boxes(int(self.rng.integers(0, 4)))
        return Change("insert", self.calling("insert", boxes), self.dropped(*self.account.inserted(boxes)))

    def insert_many(self) -> Change:
        boxes = self.boxes(self.count)
        return Change("insert many", self.calling("insert", boxes), self.dropped(*self.account.inserted(boxes)))

    def insert_with_bits(self) -> Change:
        boxes, layer, mask = self.boxes(3), int(self.rng.integers(1, 8)), int(self.rng.integers(0, 8))
        after = self.dropped(*self.account.inserted(boxes, layer, mask))
        return Change("insert with bits", self.calling("insert", boxes, layer=layer, mask=mask), after)

    def insert_spheres(self) -> Change:
        boxes, radii = self.boxes(3), self.rng.choice([0.5, 1.0, np.inf], 3)
        after = self.dropped(*self.account.inserted(boxes, radii=radii))
        call = self.calling("insert", boxes, spheres=(boxes.mean(axis=1), radii))
        return Change("insert spheres", call, after)

    def update_spheres(self) -> Change:
        rows = self.some_rows()
        boxes, radii = self.boxes(len(rows)), self.rng.choice([0.5, 1.0, np.inf], len(rows))
        after = self.dropped(self.account.moved(rows, boxes, radii), rows)
        call = self.calling("move", rows, boxes, spheres=(boxes.mean(axis=1), radii))
        return Change("update spheres", call, after)

    def remove(self) -> Change:
        rows = self.some_rows()
        return Change("remove", self.calling("remove", rows), self.account.removed(rows))

    def remove_all(self) -> Change:
        rows = self.account.rows
        return Change("remove all", self.calling("remove", rows), self.account.removed(rows))

    def update(self) -> Change:
        rows = self.some_rows()
        boxes = self.boxes(len(rows))
        after = self.dropped(self.account.moved(rows, boxes), rows)
        return Change("update", self.calling("move", rows, boxes, **self.without_spheres(boxes)), after)

    def update_all(self) -> Change:
        rows = self.account.rows
        boxes = self.boxes(len(rows))
        after = self.dropped(self.account.moved(rows, boxes), rows)
        return Change("update all", self.calling("update", boxes, **self.without_spheres(boxes)), after)

    def without_spheres(self, boxes: np.ndarray) -> dict[str, Any]:
        """Give what an update says of objects that may have had spheres, and have none from now on."""
        return {"spheres": (boxes.mean(axis=1), np.full(len(boxes), np.inf))}

    def set_filters(self) -> Change:
        rows = self.some_rows()
        layer, mask = self.rng.integers(1, 8, (2, len(rows))).astype(np.uint64)
        given = [(layer, None), (None, mask), (layer, mask)][self.rng.integers(3)]
        call = self.calling("set_filters", rows, layer=given[0], mask=given[1])
        return Change("set filters", call, self.account.filtered(rows, *given))

    def query(self) -> Change:
        box = self.boxes(1)

        def call(index: Any) -> None:
            index.pairs()
            index.query(box)

        return Change("query", call, self.account)

    def report(self) -> Change:
        expected = self.account.changes()

        def call(index: Any) -> None:
            found = index.changes()
            assert (found.enter.tolist(), found.exit.tolist()) == expected, f"{self.label}: changes"

        return Change("changes", call, replace(self.account, reported=self.account.standing()))

    def report_and_filter(self) -> Change:
        layer = self.rng.integers(1, 8, len(self.account.alive)).astype(np.uint64)
        reported = self.account.standing(layer)
        return Change(
            "changes of layers", self.calling("changes", layer=layer), replace(self.account, reported=reported)
        )

    def set_bounds(self) -> Change:
        corner = self.rng.integers(12 if self.dropping else 1, 20, 3)  # around the bounds that there were

        def call(index: Any) -> None:
            index.bounds = np.stack([-corner, corner])

        return Change("set bounds", call, self.account)

    def optimize(self) -> Change:
        return Change("optimize", self.calling("optimize", 2), self.account)

    def pickle(self) -> Change:
        return Change("pickle", lambda index: pickle.loads(pickle.dumps(index)), self.account)

    def copy(self) -> Change:
        return Change("copy", copy.deepcopy, self.account)

    def calling(self, name: str, *arguments: Any, **options: Any) -> Callable[[Any], None]:
        def call(index: Any) -> None:
            getattr(index, name)(*arguments, **options)

        return call

    def dropped(self, account: Account, rows: np.ndarray) -> Account:
        """Say what is after those of some rows that are outside the world were dropped."""
        if not self.dropping:
            return account
        lower, upper = np.asarray(self.options["bounds"])
        outside = ((account.boxes[rows, 0] < lower) | (account.boxes[rows, 1] > upper)).any(axis=1)
        return replace(account.removed(rows[outside]), dropped=rows[outside].tolist())

    # Attack and judgement --------------------------------------------------------------------------------------------

    def attack(self, change: Change, interrupting: Callable[[Callable[[], None]], bool]) -> bool:
        """Make a change that may be interrupted, and judge; return whether it was."""
        before, index = self.account, self.index

        def call() -> None:
            made = change.call(index)
            if made is not None:
                self.index = made

        was_interrupted = interrupting(call)
        self.points += was_interrupted
        self.judge(change, [change.after, before] if was_interrupted else [change.after])
        self.changed += was_interrupted and self.account is change.after
        self.unchanged += was_interrupted and self.account is before
        return was_interrupted

    def judge(self, change: Change, possible: list[Account]) -> None:
        """Find the account that the index follows."""
        index, where = self.index, f"{self.label}: {change.name}"
        index.validate()
        wrong = [account.difference(index) for account in possible]
        kept = [account for account, fault in zip(possible, wrong, strict=True) if not fault]
        assert kept, f"{where}: neither before nor after: {wrong}"
        self.account = kept[0]
        if len({account.reported for account in kept}) > 1:
            # Only the next report can say whether this one has been made.
            found = index.changes()
            expected = [account.changes() for account in kept]
            assert (found.enter.tolist(), found.exit.tolist()) in expected, f"{where}: changes after changes"
            self.account = replace(kept[0], reported=kept[0].standing())

    def settle(self) -> None:
        """Let the index be of some size, and now and then arranged, with no interruption."""
        if len(self.account.rows) > 2 * self.count:
            self.attack(self.remove_all(), uninterrupted)
        if len(self.account.rows) < self.count // 2:
            self.attack(self.insert_many(), uninterrupted)
        if self.rng.random() < 0.3:  # with nothing that looks at it afterwards
            change = self.update() if self.rng.random() < 0.5 else self.insert_with_bits()
            change.call(self.index)
            self.account = change.after
        if self.rng.random() < 0.2 and "changes" in CAPABILITIES[self.class_.__name__]:
            self.attack(self.report(), uninterrupted)


def uninterrupted(call: Callable[[], None]) -> bool:
    """Make a call in peace."""
    call()
    return False


def interrupted_at(place: int, events: str, error: type[BaseException]) -> Callable[[Callable[[], None]], bool]:
    """Make what lets a call end by an error at an instruction or a line ("opcode", "line") of the Python under it."""

    def interrupting(call: Callable[[], None]) -> bool:
        left, raised = place, False

        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal left, raised
            frame.f_trace_opcodes = events == "opcode"
            if event == events:
                left -= 1
                if left < 0:
                    raised = True
                    raise error
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        except error:
            pass
        finally:
            sys.settrace(before)
        return raised

    return interrupting


def interrupted_after(seconds: float) -> Callable[[Callable[[], None]], bool]:
    """Make what lets a signal end a call after a time, wherever it is by then: in Python or in the core."""

    def interrupting(call: Callable[[], None]) -> bool:
        armed, raised = True, False

        def handler(*_: Any) -> None:
            if armed:
                raise Interruption

        before = signal.signal(signal.SIGALRM, handler)
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                call()
            finally:
                armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Interruption:
            raised = True
        finally:
            signal.signal(signal.SIGALRM, before)
        return raised

    return interrupting


def attacked_at_random_times(attack: Attack, times: int) -> None:
    """Interrupt changes of any sort by signals, at times up to what each takes."""
    for _ in range(times):
        attack.settle()
        makers = attack.changes()
        make = makers[int(attack.rng.integers(len(makers)))]
        began = perf_counter()
        make().call(copy.deepcopy(attack.index))
        attack.attack(make(), interrupted_after(max(float(attack.rng.random()) * (perf_counter() - began), 1e-6)))


def attacked_everywhere(attack: Attack, make: Callable[[], Change], events: str, places: Iterator[int]) -> None:
    """Interrupt changes of a sort at each of some places in turn, until one has fewer places."""
    for place in places:
        attack.settle()
        error = (Interruption, MemoryError)[int(attack.rng.integers(2))]
        if not attack.attack(make(), interrupted_at(place, events, error)):
            return


# Every class in all ways that keep state of their own.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in CLASSES},
    "BVH sah": ("BVH", {"quality": "sah"}),
    "LinearTree origin": ("LinearTree", {"tuning": "origin", "storage": "flat", "traversal": "covered_leaves"}),
    "Octree drop": ("Octree", {"outside": "drop", "bounds": [[0, 0, 0], [11, 3.5, 3.5]], "leaf_capacity": 1}),
    "LinearTree drop": ("LinearTree", {"outside": "drop", "bounds": [[0, 0, 0], [11, 3.5, 3.5]]}),
}
