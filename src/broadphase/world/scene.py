"""What queries of a world are about: its bodies where it sees them, and an index of their boxes."""

from __future__ import annotations

import os
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from broadphase import _native, thresholds
from broadphase.errors import UnsupportedQueryError, quoted
from broadphase.filters import ALL_BITS, as_attribute
from broadphase.index.joining import KeptCells
from broadphase.index.results import RESULTS
from broadphase.narrow.custom import refuse
from broadphase.shapes import Shape, Shapes
from broadphase.workers import worker_count
from broadphase.world.actor import Actor
from broadphase.world.hits import hit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from broadphase.index.box_index import BoxIndex
    from broadphase.index.walks import Found, Walk
    from broadphase.options import QueryOptions
    from broadphase.world.actor import Actors
    from broadphase.world.broad_phase import BroadPhase
    from broadphase.world.columns import Columns

    Bits: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = ["Asked", "Part", "Scene"]

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def _open_locks() -> None:
    """Open, in a child process, the locks that threads of its parent hold, which it does not have."""
    for lock in list(_locks):
        if not lock._is_owned():
            lock._at_fork_reinit()  # as the locks of `logging`


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_locks)


class Asked(NamedTuple):
    """What queries may find, checked: bits of layers and masks, keys, and rows that they ignore; and their threads."""

    query_count: int
    bits: Bits
    batch: NDArray[np.int64] | None
    ignored: Rows | None  # (q, k), or (1, k) for all
    workers: int
    sight: Any = None  # as in `QueryOptions`


class Part(NamedTuple):
    """Some bodies of a world, by row."""

    shapes: Shapes
    body_count: int
    around: Any = None  # a box around them, (2, d), in a periodic world
    tree: _native.BlockIndex | None = None  # of these alone; None: that of the index of the world
    rows: Any = None  # which they are; None: all


class Scene:
    """What queries are about: the bodies of a world where it sees them, and an index of their boxes.

    Any number of threads may query at once.
    """

    __slots__ = ("_arranging", "_few", "_guard", "_kept", "_parts", "broad", "columns")

    def __init__(self, columns: Columns, broad: BroadPhase, guard: _native.Guard) -> None:
        self.columns, self.broad, self._guard = columns, broad, guard
        # Changes of the world, how many boxes were searched for since, and the boxes of bodies in cells for that.
        self._kept = guard.changes, 0, KeptCells(columns.rows, guard)
        self._parts: tuple[int, tuple[Part, ...]] | None = None  # of a periodic world, by changes
        self._few: _native.FewBodies | None = None
        self._arranging = threading.RLock()
        _locks.add(self._arranging)

    def place(self) -> None:
        """Place the shapes of rows that `World.move` put elsewhere."""
        columns = self.columns
        if columns.has_displaced:
            with self._arranging:  # several threads may query first
                rows = np.flatnonzero(columns.displaced).astype(np.int32)
                if len(rows):
                    self.broad.mark(rows)
                    columns.place_displaced(rows)

    def index(self) -> BoxIndex:
        """Give the index, whose boxes hold those of the shapes."""
        with self._arranging:
            self.place()
            return self.broad.up_to_date()

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept for queries, besides the index."""
        return self._kept[2].nbytes

    def few(self, actors: Actors) -> _native.FewBodies | None:
        """Give what answers a few queries as the world is now; None if the index has to be built for that."""
        few, columns, broad = self._few, self.columns, self.broad
        if few is not None:
            if few.is_current:
                return few
            with self._arranging:
                if few.follow(broad):
                    return few
        if not broad.has_tree:
            return None
        with self._guard.reading:
            index = self.index()
            if index._is_stale:
                return None
            bounds, far = columns.period_bounds, None
            for part in self.parts()[1:]:
                far = part.tree, part.shapes.store, part.shapes.boxes, part.around
            self._few = _native.FewBodies(
                self._guard, columns, broad, index._arranged("queries"), None if bounds is None else bounds.ravel(),
                far, self._limits, Actor, actors._world, RESULTS, partial(hit_of, weakref.ref(actors)), Shape,
            )  # fmt: skip
            return self._few

    # What queries may find -------------------------------------------------------------------------------------------

    def asked(self, count: int, options: QueryOptions) -> Asked:
        """Check the options of so many queries."""
        layer, mask, keys, workers = options.layer, options.mask, options.batch, options.workers
        if options.by is not None:
            raise UnsupportedQueryError(f"by={quoted(options.by)} is for an index: a world compares shapes")
        names, bits = self.columns.layers, None
        if not (layer is None and mask is None):
            bits = names.bits_of_queries(layer, count, "layer"), names.bits_of_queries(mask, count, "mask")
        batch = None if keys is None else as_attribute("batch", keys, count, np.int64)
        ignored = self.columns.rows.ignored(self._handles(options.ignore), count, options.own)
        threads = self.broad.threads if workers is None else worker_count(workers)
        return Asked(count, bits, batch, ignored, threads, options.sight)

    def _handles(self, ignore: Any) -> Any:
        """Give the handles of actors in place of them."""
        if isinstance(ignore, Actor):
            return self._handle(ignore)
        if isinstance(ignore, list | tuple) and any(isinstance(entry, Actor) for entry in ignore):
            return [self._handle(entry) if isinstance(entry, Actor) else entry for entry in ignore]
        return ignore

    def _handle(self, actor: Actor) -> int:
        if actor._world is None or actor._world._columns is not self.columns:
            raise ValueError(f"ignore: {actor!r} is of another world")
        return actor.handle

    # Bodies for the core ---------------------------------------------------------------------------------------------

    def all_bodies(self) -> Part:
        """Give all bodies where they are."""
        self.place()
        return Part(self.columns.view, self.columns.slots)

    def parts(self) -> tuple[Part, ...]:
        """Give the bodies; of a periodic world, those near it, and the others at their images in it.

        So a query needs the images that its own size asks for, however far one body is away.
        """
        every, columns = self.all_bodies(), self.columns
        if (bounds := columns.period_bounds) is None:
            return (every,)
        kept, changes = self._parts, self._guard.changes
        if kept is not None and kept[0] == changes:
            return kept[1]
        seen, slots, geometries = columns.seen, columns.slots, columns.geometries
        turned = None if seen.rotations is None else seen.rotations[:slots]
        store = _native.ShapeStore(columns.dim, geometries.vertices)
        found: Any = _native.near_and_far(
            seen.store, store, seen.boxes[:slots], seen.positions[:slots], turned, bounds,
            columns.rows.alive[:slots].view(np.uint8),
        )  # fmt: skip
        around, far = found
        parts = [every._replace(around=around)]
        if far is not None:
            rows, boxes, positions, around = far
            turned = None if turned is None else turned[: len(boxes)]
            shapes = Shapes._around(store, geometries, columns.dim, boxes, positions, turned)
            tree = _native.Bvh(columns.dim)
            tree.build(boxes[:, 0], boxes[:, 1], rows)
            parts.append(Part(shapes, len(rows), around, tree, rows))
        self._parts = changes, tuple(parts)
        return self._parts[1]

    def bodies(self, capability: str, asked: Asked, part: Part | None = None) -> _native.BodiesInTree:
        """Give all bodies, or a part, as the core queries them; UnsupportedQueryError without a tree for that."""
        if part is not None and part.tree is not None:
            return self._as_queried(self._tree_of(part, asked), part.shapes, asked)
        tree = self.index()._trees_of(capability, asked.batch, asked.workers)
        return self._as_queried(tree, self.columns.view, asked)

    def bodies_near(self, part: Part, walk: Walk, asked: Asked) -> tuple[_native.BodiesInTree, Found | None, bool]:
        """Give the bodies of a part to the core, and what was found for a walk without a tree.

        The last says whether that is what the boxes around the bodies say, and not those of an index.
        """
        if part.tree is not None:
            return self._as_queried(self._tree_of(part, asked), part.shapes, asked), None, False
        found = self._joined(walk, asked.workers) if asked.batch is None else None
        if found is not None:
            return self._as_queried(None, part.shapes, asked), found, True
        tree, found = self.index()._near(walk, asked.batch, asked.workers)
        return self._as_queried(tree, part.shapes, asked), found, False

    def bodies_without_tree(self, asked: Asked) -> _native.BodiesInTree:
        """Give the bodies for a query that looks at all of them."""
        return self._as_queried(None, self.columns.view, asked)

    def _tree_of(self, part: Part, asked: Asked) -> _native.BlockIndex | None:
        """Give the tree of a part of its own, or those of its batches."""
        if asked.batch is None:
            return part.tree
        forest, boxes, batches = _native.Forest(self.columns.dim), part.shapes.boxes, self.columns.batches
        keys = np.zeros(len(boxes), np.int64) if batches is None else batches[: len(boxes)]
        forest.build(boxes[:, 0], boxes[:, 1], part.rows, keys, asked.workers)
        return _native.KeyedQueries(forest, asked.batch)

    def _joined(self, walk: Walk, workers: int) -> Found | None:
        """Find the bodies whose boxes overlap many boxes, without the index; None for few."""
        if walk.kind != "boxes" or walk.query_count < thresholds.FEWEST_JOINED or self.broad.method != "auto":
            return None
        self.place()
        changes, searched, cells = self._kept
        if changes != self._guard.changes:
            changes, searched, cells = self._guard.changes, 0, KeptCells(self.columns.rows, self._guard)
        searched += walk.query_count
        self._kept = changes, searched, cells
        if searched < thresholds.JOINED_SHARE * self.columns.rows.living and not cells.nbytes:
            return None
        lower, upper = walk.given
        several, too_many = thresholds.SEVERAL, thresholds.TOO_MANY_JOINED
        return cells.find(lower, upper, workers, searches=1, several=several, too_many=too_many, method="auto")

    @property
    def _limits(self) -> Floats | None:
        """What bodies must be wholly in, or queries leave them out."""
        return None if self.broad.world is None or self.broad.outside != "drop" else self.broad.world.ravel()

    def _as_queried(self, tree: _native.BlockIndex | None, shapes: Shapes, asked: Asked) -> _native.BodiesInTree:
        changes = self._guard.changes
        allowed = _native_filter(self.columns, asked, changes)
        return _native.BodiesInTree(
            tree, shapes.store, shapes.boxes, shapes.geometries.in_core, allowed, self._limits, changes
        )

    def refuse_custom(self, row: int, what: str) -> None:
        """Raise UnsupportedQueryError for the custom shape of a row; -1 is none."""
        if row >= 0:
            refuse(self.columns.view, np.array([row], np.int32), what)

    def outside_rows(self) -> Rows:
        """Give the rows whose boxes are not wholly in the world of the method; none where it has none."""
        self.place()
        columns, limits = self.columns, self.broad.world
        if limits is None:
            return np.empty(0, np.int32)
        alive = columns.rows.alive[: columns.slots].view(np.uint8)
        return cast("Rows", _native.sticking_out(columns.seen.boxes[: columns.slots], limits, alive))


def _native_filter(columns: Columns, asked: Asked, changes: int) -> _native.QueryFilter | None:
    """Give what the queries may find to the core; `changes` is how many changes of the world have begun."""
    own = columns.rows.bits
    has_layers = asked.bits is not None or own[0] is not None or own[1] is not None
    if not has_layers and asked.ignored is None and asked.sight is None:
        return None
    allowed = _native.QueryFilter()
    if has_layers:
        blanks = np.ones(1, np.uint64), np.full(1, ALL_BITS)  # of all rows
        of_layer, of_mask = (blank if bits is None else bits for bits, blank in zip(own, blanks, strict=True))
        layers, masks = (np.full(asked.query_count, ALL_BITS),) * 2 if asked.bits is None else asked.bits
        allowed.set_layers(of_layer, of_mask, layers, masks, changes)
    if asked.ignored is not None:
        allowed.set_ignored(asked.ignored)
    if asked.sight is not None:
        bounds = columns.period_bounds
        edges = None if bounds is None else bounds[1] - bounds[0]
        points, headings, angles = asked.sight
        allowed.set_sight(points, headings, angles, columns.seen.positions[: columns.slots], edges)
    return allowed
