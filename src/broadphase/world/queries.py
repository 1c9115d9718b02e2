"""Queries of a world: candidates among the boxes of its index, then the narrow phase on the shapes."""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from broadphase import _native, thresholds
from broadphase.arguments import as_reals
from broadphase.boxes import as_numbers
from broadphase.errors import UnsupportedQueryError, quoted
from broadphase.filters import ALL_BITS, as_attribute
from broadphase.index.bvh import BVH
from broadphase.index.joining import KeptCells
from broadphase.index.linear_tree import LinearTree
from broadphase.index.octree import Octree
from broadphase.index.queries import finite_points, of_one, together
from broadphase.index.regions import shape_rotations
from broadphase.index.results import RESULTS, Nearest, QueryResult, RayHits, RayHitsAll, ShapecastHits
from broadphase.index.walks import of_boxes, of_motions, of_regions
from broadphase.narrow.custom import overlap_mask, refuse
from broadphase.options import QueryOptions
from broadphase.representations import html_of_result, short_repr
from broadphase.shapes import Box, Circle, Point, Rectangle, Shapes, Sphere
from broadphase.shapes.kinds import RECORDS, layout_of
from broadphase.shapes.parameters import LARGEST, Parameter, as_sizes, as_vectors
from broadphase.shapes.placed import shapes_of_boxes
from broadphase.workers import worker_count
from broadphase.world.actor import Actor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from broadphase.index.box_index import BoxIndex
    from broadphase.index.regions import Regions
    from broadphase.index.walks import Found, Walk
    from broadphase.shapes import Shape
    from broadphase.world.actor import Actors
    from broadphase.world.broad_phase import BroadPhase
    from broadphase.world.columns import Columns

    Bits: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64]] | None
    Floats: TypeAlias = NDArray[np.float64]
    Rows: TypeAlias = NDArray[np.int32]

__all__ = [
    "ANSWERS", "Hit", "Scene", "Visible", "cell_of", "find_shapes", "hits_of_one_ray", "shapecast", "visible",
]  # fmt: skip

# More than all roundings of a few lengths.
_ROOM = 1 + 1e-9

# What casts need that custom shapes do not offer.
_IMPACT = "time of impact"

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def _open_locks() -> None:
    """Open, in a child process, the locks that threads of its parent hold, which it does not have."""
    for lock in list(_locks):
        if not lock._is_owned():
            lock._at_fork_reinit()  # as the locks of `logging`


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_locks)


class Scene:
    """What queries are about: the bodies of a world where it sees them, and an index of their boxes.

    Any number of threads may query at once.
    """

    __slots__ = ("_arranging", "_few", "_guard", "_kept", "broad", "columns")

    def __init__(self, columns: Columns, broad: BroadPhase, guard: _native.Guard) -> None:
        self.columns, self.broad, self._guard = columns, broad, guard
        # Changes of the world, how many boxes were searched for since, and the boxes of bodies in cells for that.
        self._kept = guard.changes, 0, KeptCells(columns.rows, guard)
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
        few, columns = self._few, self.columns
        if few is not None and few.is_current:
            return few
        if not self.broad.has_tree:
            return None
        with self._guard.reading:
            index = self.index()
            if index._is_stale:
                return None
            tree, rows, slots = index._arranged("queries"), columns.rows, columns.slots
            self._few = _native.FewBodies(
                self._guard, self._as_queried(tree, columns.view, None), columns.seen.positions[:slots],
                columns.period_bounds is not None, *rows.bits, rows.alive[:slots], rows.generation,
                columns.layers._numbers, Actor, actors._world, RESULTS, partial(_hit_of, weakref.ref(actors)),
            )  # fmt: skip
            return self._few

    def bodies(self, capability: str, asked: _Asked, part: _Part | None = None) -> _native.BodiesInTree:
        """Give all bodies, or a part, as the core queries them; UnsupportedQueryError without a tree for that."""
        index = self.index() if part is None or part.index is None else part.index
        tree = index._trees_of(capability, asked.batch, asked.workers)
        return self._in_tree(part or _Part(index, self.columns.view), tree, asked)

    def bodies_near(self, part: _Part, walk: Walk, asked: _Asked) -> tuple[_native.BodiesInTree, Found | None, bool]:
        """Give the bodies of a part to the core, and what was found for a walk without a tree.

        The last says whether that is what the boxes around the bodies say, and not those of an index.
        """
        found = self._joined(walk, asked.workers) if part.rows is None and asked.batch is None else None
        if found is not None:
            return self._in_tree(part, None, asked), found, True
        tree, found = (part.index or self.index())._near(walk, asked.batch, asked.workers)
        return self._in_tree(part, tree, asked), found, False

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
        return cells.find(lower, upper, workers, searches=1, several=thresholds.SEVERAL, method="auto")

    def bodies_without_tree(self, asked: _Asked) -> _native.BodiesInTree:
        """Give the bodies for a query that looks at all of them."""
        return self._as_queried(None, self.columns.view, _native_filter(self.columns.rows.bits, asked))

    def _in_tree(self, part: _Part, tree: _native.BlockIndex | None, asked: _Asked) -> _native.BodiesInTree:
        layer, mask = self.columns.rows.bits
        ignored = asked.ignored if asked.ignored is None else part.places_of(asked.ignored)
        allowed = _native_filter((part.of_rows(layer), part.of_rows(mask)), asked._replace(ignored=ignored))
        return self._as_queried(tree, part.shapes, allowed)

    def _as_queried(
        self, tree: _native.BlockIndex | None, shapes: Shapes, allowed: _native.QueryFilter | None
    ) -> _native.BodiesInTree:
        limits = None if self.broad.world is None or self.broad.outside != "drop" else self.broad.world.ravel()
        return _native.BodiesInTree(tree, shapes.store, shapes.boxes, shapes.geometries.in_core, allowed, limits)

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

    def all_bodies(self) -> _Part:
        """Give all bodies where they are."""
        self.place()
        return _Part(None, self.columns.view)

    def parts(self) -> list[_Part]:
        """Give the bodies; of a periodic world, those near it, and the others moved to it by whole periods.

        So a query needs the images that its own size asks for, however far one body is away.
        """
        columns = self.columns
        if (bounds := columns.period_bounds) is None:
            return [self.all_bodies()]
        index, slots = self.index(), columns.slots
        boxes = columns.seen.boxes[:slots]
        # Most are within the world.
        out = cast("Rows", _native.sticking_out(boxes, bounds, columns.rows.alive[:slots].view(np.uint8)))
        corners, period = boxes[out], bounds[1] - bounds[0]
        is_far = ((corners[:, 0] < bounds[0] - period) | (corners[:, 1] > bounds[1] + period)).any(axis=1)
        near = corners[~is_far]
        around = np.stack([near[:, 0].min(axis=0, initial=np.inf), near[:, 1].max(axis=0, initial=-np.inf)])
        around = np.stack([np.minimum(around[0], bounds[0]), np.maximum(around[1], bounds[1])])
        parts = [_Part(index, columns.view, None, around)]
        if is_far.any():
            parts.append(_moved_here(columns, out[is_far], bounds))
        return parts


@dataclass(frozen=True, slots=True)
class _Part:
    """Some bodies of a world: rows of `shapes` are those of the world, or places in `rows`."""

    index: BoxIndex | None  # None: that of the world, where it is needed
    shapes: Shapes
    rows: Rows | None = None
    around: Any = None  # a box around them, (2, d), in a periodic world

    def rows_of(self, places: Rows) -> Rows:
        """Give the rows of some bodies; -1 for -1."""
        if self.rows is None:
            return places
        return np.where(places < 0, np.int32(-1), self.rows[places])

    def of_rows(self, column: NDArray[Any] | None) -> NDArray[Any] | None:
        """Give what a column has for these bodies."""
        return column if column is None or self.rows is None else column[self.rows]

    def places_of(self, rows: Rows) -> Rows:
        """Give the places of some bodies, each list ascending; -1 for those of other parts."""
        if self.rows is None:
            return rows
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.sort(np.where(self.rows[at] == rows, at, -1).astype(np.int32), axis=1)


def _moved_here(columns: Columns, rows: Rows, bounds: Floats) -> _Part:
    """Put bodies where they are in a periodic world itself."""
    seen, count = columns.seen, len(rows)
    boxes, everybody = np.empty((count, 2, columns.dim)), np.arange(count, dtype=np.int32)
    positions = seen.positions[rows]
    _native.wrap(positions, bounds, np.ones(count, np.uint8))
    rotations = None if seen.rotations is None else seen.rotations[rows]
    store: Any = _native.ShapeStore(columns.dim, columns.geometries.vertices)
    store.set(everybody, *cast("Any", seen.store.records(rows)))
    turned = None if rotations is None else rotations.copy()
    store.place(everybody, positions, rotations, positions.copy(), turned, boxes)
    alive = np.ones(count, np.bool_)
    shapes = Shapes._around(store, columns.geometries, columns.dim, boxes, positions, rotations, alive)
    around = np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])
    batch = None if columns.batches is None else columns.batches[rows]
    return _Part(BVH(boxes, batch=batch), shapes, rows, around)


class Visible(NamedTuple):
    """The bodies in view.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        Rows in view, ascending.
    levels : ndarray, shape (m,), int32
        Level of detail: 0 for bodies nearer than the first distance given, 1 up to the second, and so on.
    distances : ndarray, shape (m,), float64
        From the eye to the box of each, 0 within; infinite where there is no eye.
    culled : int
        How many bodies are out of view.
    """

    rows: NDArray[np.int32]
    levels: NDArray[np.int32]
    distances: Floats
    culled: int

    def __repr__(self) -> str:
        return short_repr(self)

    def _repr_html_(self) -> str:
        return html_of_result(self)

    def of_level(self, level: int) -> NDArray[np.int32]:
        """Rows of one level of detail."""
        rows: NDArray[np.int32] = self.rows[self.levels == level]
        return rows


class Hit:
    """Where a ray hits a body.

    Attributes
    ----------
    actor : Actor
        The body that is hit.
    distance : float
        From the origin; 0 where the ray begins inside.
    position : ndarray, shape (d,)
        The point that is hit.
    normal : ndarray, shape (d,)
        Unit vector out of the surface there; zero where the ray begins in the shape.
    origin, direction : ndarray, shape (d,)
        The ray.
    cell : (int, int) or None
        As `Event.cell`.
    """

    # Arrays are made when they are looked at: most are not, and each takes a tenth of the time of a ray.
    __slots__ = ("_direction", "_normal", "_origin", "_position", "actor", "cell", "distance")

    def __init__(
        self, actor: Actor, distance: float, origin: Any, direction: Any, normal: Any, cell: tuple[int, int] | None
    ) -> None:
        self.actor, self.distance, self.cell = actor, distance, cell
        self._origin, self._direction, self._normal = origin, direction, normal
        self._position: Floats | None = None

    @property
    def origin(self) -> Floats:
        """Where the ray begins."""
        if type(self._origin) is tuple:
            self._origin = np.array(self._origin)
        origin: Floats = self._origin
        return origin

    @property
    def direction(self) -> Floats:
        """Where it leads, of any length."""
        if type(self._direction) is tuple:
            self._direction = np.array(self._direction)
        direction: Floats = self._direction
        return direction

    @property
    def normal(self) -> Floats:
        """Unit vector out of the surface."""
        if type(self._normal) is tuple:
            self._normal = np.array(self._normal)
        normal: Floats = self._normal
        return normal

    @property
    def position(self) -> Floats:
        """The point that is hit."""
        if self._position is None:
            way = self.direction
            length = float(np.sqrt((way * way).sum()))
            self._position = self.origin + way / (length if length > 0 else 1.0) * self.distance
        return self._position

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hit):
            return NotImplemented
        return self.actor == other.actor and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash((self.actor, *self._numbers()))

    def __repr__(self) -> str:
        return f"Hit(actor={self.actor!r}, distance={self.distance}, position={self.position.tolist()})"

    def _numbers(self) -> tuple[tuple[float, ...], ...]:
        vectors = (self.position, self.normal, self.origin, self.direction)
        return tuple(tuple(vector.tolist()) for vector in vectors)


@dataclass(frozen=True, slots=True)
class _Sought:
    """What each query looks for, as the core takes it, and as the tests of custom shapes do."""

    core: _native.Sought
    shapes: Callable[[], Shapes]


def find_boxes(scene: Scene, lower: NDArray[Any], upper: NDArray[Any], options: QueryOptions) -> QueryResult:
    """Find the rows whose shapes overlap each box."""
    corners = np.stack([lower, upper], axis=1).astype(np.float64, copy=False)
    if (bounds := scene.columns.period_bounds) is None:
        corners = _cut(scene, corners)
    else:
        corners = _box_within_a_period(corners, bounds)
    sought = _Sought(_native.Sought.of_boxes(corners), partial(shapes_of_boxes, corners))
    return _overlapping(scene, sought, options)


def find_points(scene: Scene, points: NDArray[Any], options: QueryOptions) -> QueryResult:
    """Find the rows whose shapes contain each point."""
    places = as_vectors(_in_a_period(scene, points), "positions").rows
    sought = _Sought(_native.Sought.of_points(places), partial(Shapes, Point(), places))
    return _overlapping(scene, sought, options)


def find_balls(scene: Scene, centers: Floats, radii: Floats, options: QueryOptions) -> QueryResult:
    """Find the rows whose shapes overlap each closed ball."""
    is_everywhere = _fills_a_period(scene, radii)
    if is_everywhere is not None:
        radii = np.where(is_everywhere, 0.0, radii)
    reach = as_sizes(radii, "radius").rows
    places = as_vectors(_in_a_period(scene, centers), "positions").rows
    balls = partial(_balls, scene, places, reach)
    return _overlapping(scene, _Sought(_native.Sought.of_balls(places, reach), balls), options, is_everywhere)


def find_obbs(
    scene: Scene, centers: Floats, half_sizes: Floats, rotations: ArrayLike, options: QueryOptions
) -> QueryResult:
    """Find the rows whose shapes overlap each oriented box."""
    box: Any = Rectangle if scene.columns.dim == 2 else Box
    turns = shape_rotations(rotations, scene.columns.dim, is_mirrored_alike=True)
    is_everywhere = _fills_a_period(scene, half_sizes.min(axis=1))
    sizes = 2 * half_sizes
    if is_everywhere is not None:
        sizes = np.where(is_everywhere[:, np.newaxis], 0.0, sizes)
    return _overlapping_shapes(
        scene, Shapes(box(*sizes.T), _in_a_period(scene, centers), turns), options, is_everywhere
    )


def find_shapes(
    scene: Scene, shape: Shape, positions: ArrayLike, rotations: ArrayLike | None, options: QueryOptions
) -> Any:
    """Find the rows whose shapes overlap a shape at each of some poses."""
    placed = _placed(scene, shape, _in_a_period(scene, as_numbers(positions, name="positions")), rotations)
    is_everywhere = None
    if scene.columns.period_bounds is not None:
        radii = np.broadcast_to(_inner_radius(shape, scene.columns.dim), len(placed))
        is_everywhere = _fills_a_period(scene, radii)
    found = _overlapping_shapes(scene, placed, options, is_everywhere)
    return of_one(found) if placed._is_one else found


def find_regions(scene: Scene, regions: Regions, options: QueryOptions) -> QueryResult:
    """Find the rows whose boxes overlap each convex region."""
    asked = _asked(scene, len(regions.around_lower), options)
    every = scene.all_bodies()
    bodies, found, _ = scene.bodies_near(every, of_regions(regions), asked)
    rows_of_regions: Any = _native.body_regions(bodies, *regions.slabs, found, asked.workers)
    return QueryResult(*rows_of_regions)


def find_nearest(scene: Scene, points: Floats, k: int, limits: Floats, options: QueryOptions) -> Nearest:
    """Find the rows whose shapes are nearest to each point."""
    k = max(1, min(k, scene.columns.rows.living))
    at, asked = _in_a_period(scene, points), _asked(scene, len(points), options)
    parts = [(scene.bodies("nearest", asked, part), part.rows, part.around) for part in scene.parts()]
    found: Any = _native.body_nearest(parts, scene.columns.period_bounds, at, k, limits, asked.workers)
    rows, near, refused = found
    scene.refuse_custom(refused, "distance")
    return Nearest(rows, near)


def find_first_hits(scene: Scene, begin: Floats, along: Floats, limit: Floats, options: QueryOptions) -> RayHits:
    """Find the first row that each ray hits."""
    return RayHits(*_cast(scene, _native.body_first_hits, begin, along, limit, options))


def find_any_hits(
    scene: Scene, begin: Floats, along: Floats, limit: Floats, options: QueryOptions
) -> NDArray[np.bool_]:
    """Find out whether each ray hits a shape."""
    (hit,) = _cast(scene, _native.body_any_hits, begin, along, limit, options)
    flags: NDArray[np.bool_] = hit.view(np.bool_)
    return flags


def find_all_hits(scene: Scene, begin: Floats, along: Floats, limit: Floats, options: QueryOptions) -> RayHitsAll:
    """Find all rows that each ray hits, in the order in which it enters them."""
    rows, offsets, away, _ = _cast(scene, _native.body_all_hits, begin, along, limit, options)
    return RayHitsAll(rows, offsets, away)


def _cast(
    scene: Scene, search: Callable[..., Any], begin: Floats, along: Floats, limit: Floats, options: QueryOptions
) -> Any:
    """Have the core cast rays; raise if a custom shape decides what one of them hits."""
    asked = _asked(scene, len(begin), options)
    *found, refused = search(scene.bodies("raycast", asked), begin, along, limit, asked.workers)
    scene.refuse_custom(refused, "raycast")
    return found


def ray_of(given: ArrayLike) -> tuple[Floats, Floats]:
    """Give the origin and the direction of a ray of shape (2, d)."""
    ray = as_reals(given, "origins")
    if ray.ndim != 2 or len(ray) != 2:
        raise ValueError(f"a ray is an origin and a direction, or one array of shape (2, d), not {ray.shape}")
    return ray[0], ray[1]


def hits_of_one_ray(
    scene: Scene, actors: Actors, ray: tuple[Floats, Floats, Floats], options: QueryOptions, *, is_first: bool
) -> list[Hit]:
    """Give the first hit of one ray, or all; `ray` is its origin and direction, (1, d), and its length."""
    begin, along, limit = ray
    # All of them, also for the first alone: the core gives their normals.
    rows, _, away, normals = _cast(scene, _native.body_all_hits, begin, along, limit, options)
    most = 1 if is_first else len(rows)
    return [
        _hit(scene, actors, row, distance, begin[0], along[0], normal + 0.0)
        for row, distance, normal in zip(rows[:most].tolist(), away[:most].tolist(), normals[:most], strict=True)
    ]


def _hit_of(actors: weakref.ref[Actors], *found: Any) -> Hit:
    """Make a hit for what is kept by the world, and must not keep it."""
    kept = cast("Actors", actors())
    return _hit(kept._world._scene, kept, *found)


def _hit(scene: Scene, actors: Actors, row: int, distance: float, origin: Any, direction: Any, normal: Any) -> Hit:
    cell = cell_of(scene, [row]) if scene.broad.has_cells else None
    return Hit(actors.get(row), distance, origin, direction, normal, cell)


def shapecast(
    scene: Scene,
    shape: Shape,
    positions: ArrayLike,
    motions: ArrayLike,
    rotations: ArrayLike | None,
    options: QueryOptions,
) -> Any:
    """Answer `World.shapecast`."""
    along, places = finite_points(motions, "motions", scene.columns.dim), as_numbers(positions, name="positions")
    if not along.single and places.ndim in (1, 2) and (places.ndim == 1 or len(places) == 1):  # motions from one place
        places = np.broadcast_to(places, (len(along.rows), places.shape[-1]))
    moving = _placed(scene, shape, places, rotations)
    (moved, _), is_one = together(motions=along, positions=Parameter(moving.positions, moving._is_one))
    asked, every = _asked(scene, len(moving), options), scene.all_bodies()
    bodies, near, _ = scene.bodies_near(every, of_motions(moving.boxes[:, 0], moving.boxes[:, 1], moved), asked)
    touched: Any = _native.body_impacts(bodies, _as_sought(moving).core, moved, near, asked.workers)
    rows, times, refused = touched
    if refused is not None:
        query, row = refused
        refuse(moving, np.array([query], np.int32), _IMPACT)
        scene.refuse_custom(row, _IMPACT)
    found = ShapecastHits(rows, times)
    return of_one(found) if is_one else found


def visible(scene: Scene, rows: Rows, matrix: ArrayLike | None, eye: ArrayLike | None, lod: Any) -> Visible:
    """Say how far away the rows in view of one camera are, and in which level of detail."""
    dim = scene.columns.dim
    place: Floats | None = None
    if eye is not None:
        place = as_reals(eye, "eye")
        if place.shape != (dim,) or not np.isfinite(place).all():
            raise ValueError(f"eye must be finite and have shape ({dim},), not {place.tolist()}")
    elif matrix is not None:
        place = _eye_of(as_reals(matrix, "matrix"))
    levels, away = _levels_of(scene.columns.view.boxes[rows], place, lod)
    return Visible(rows, levels, away, scene.columns.rows.living - len(rows))


def cell_of(scene: Scene, rows: list[int]) -> tuple[int, int] | None:
    """Find the cell of the index that a row is in, or that a pair of rows is found in: the deeper of their two.

    As level and number, an octree's number being the row of `outline`; None where the index has no such cells.
    """
    index = scene.index()
    if isinstance(index, Octree):
        numbers, levels = index.cells_of_rows(np.array(rows, np.int32))
        cells = numbers.astype(np.uint64)
    elif isinstance(index, LinearTree):
        levels, cells = index.cells_of(index.boxes_of(rows))
    else:
        return None
    deepest = int(np.argmax(levels))
    return int(levels[deepest]), int(cells[deepest])


ANSWERS: Mapping[str, Callable[..., Any]] = {
    "query": find_boxes,
    "query_points": find_points,
    "query_ball": find_balls,
    "query_obb": find_obbs,
    "frustum": find_regions,
    "nearest": find_nearest,
    "raycast": find_first_hits,
    "raycast_all": find_all_hits,
    "raycast_any": find_any_hits,
}
"""What answers each query of `broadphase.index.queries`, with its arguments and options, as a reader of the world."""


def _balls(scene: Scene, centers: Floats, radii: Floats) -> Shapes:
    return Shapes((Circle if scene.columns.dim == 2 else Sphere)(radii), centers)


def _placed(scene: Scene, shape: Shape, positions: ArrayLike, rotations: ArrayLike | None) -> Shapes:
    turns = None if rotations is None else shape_rotations(rotations, scene.columns.dim)
    placed = Shapes(shape, positions, turns)
    if placed.dim != scene.columns.dim:
        raise ValueError(f"the shape of the query has {placed.dim} dimensions, and the world {scene.columns.dim}")
    return placed


def _cut(scene: Scene, corners: Floats) -> Floats:
    """Cut boxes off beyond all bodies if they are larger than shapes may be."""
    if not len(corners) or (corners[:, 0].min() >= -LARGEST and corners[:, 1].max() <= LARGEST):
        return corners
    scene.place()
    boxes = scene.columns.seen.boxes[scene.columns.rows.numbers]
    if not len(boxes):
        return np.zeros_like(corners)
    least, most = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    beyond = np.maximum(most - least, 1.0)
    return np.clip(corners, least - beyond, most + beyond)


def _in_a_period(scene: Scene, positions: NDArray[Any]) -> NDArray[Any]:
    """Move positions that are far outside a periodic world by whole periods, to within one of it."""
    bounds = scene.columns.period_bounds
    if bounds is None or positions.ndim == 0 or positions.shape[-1] != scene.columns.dim:
        return positions
    period = bounds[1] - bounds[0]
    is_far = ((positions < bounds[0] - period) | (positions > bounds[1] + period)) & np.isfinite(positions)
    if not is_far.any():
        return positions
    moved: Floats = np.fmod(np.where(is_far, positions, 0.0), period) - np.fmod(bounds[0], period)
    return np.where(is_far, bounds[0] + np.where(moved < 0, moved + period, moved), positions)


def _box_within_a_period(corners: Floats, bounds: Floats) -> Floats:
    """Move boxes by whole periods to within one of a periodic world, and cut those that are wider than one to one.

    A box that is infinitely far away stays there.
    """
    period = bounds[1] - bounds[0]
    with np.errstate(over="ignore", invalid="ignore"):
        widths = corners[:, 1] - corners[:, 0]
        is_far = (corners[:, 0] < bounds[0] - period) | (corners[:, 1] > bounds[1] + period)
        moved = np.fmod(corners[:, 0], period) - np.fmod(bounds[0], period)
        lower = bounds[0] + np.where(moved < 0, moved + period, moved)
    is_wide, is_near = widths >= period, ~is_far | np.isnan(widths)
    upper = np.where(is_wide, bounds[1], np.where(is_near, corners[:, 1], lower + widths))
    lower = np.where(is_wide, bounds[0], np.where(is_near, corners[:, 0], lower))
    return np.stack([lower, upper], axis=1)


def _fills_a_period(scene: Scene, radii: Floats) -> NDArray[np.bool_] | None:
    """Say which balls, with their images, leave out no place in a periodic world; None for no periodic world."""
    if (bounds := scene.columns.period_bounds) is None:
        return None
    period = bounds[1] - bounds[0]
    largest = period.max()
    fills: NDArray[np.bool_] = radii >= largest * (np.sqrt(((period / largest) ** 2).sum()) / 2 * _ROOM)
    return fills


def _inner_radius(shape: Shape, dim: int) -> Floats:
    """Give the radius of a ball that fits into a shape: its least length, or 0 where that says nothing."""
    row = RECORDS[shape.kind]
    if row.has_parts or row.is_kept_elsewhere or row.is_curved:
        return np.zeros(1)
    records = shape.records(dim)
    lengths = records[:, layout_of(shape.kind, dim, records.shape[1]).lengths]
    least: Floats = lengths.min(axis=1) if lengths.shape[1] else np.zeros(1)
    return least


def _as_sought(placed: Shapes) -> _Sought:
    core = _native.Sought.of_shapes(placed.store, placed.boxes, placed.geometries.in_core)
    return _Sought(core, lambda: placed)


def _overlapping_shapes(
    scene: Scene, placed: Shapes, options: QueryOptions, is_everywhere: NDArray[np.bool_] | None
) -> QueryResult:
    return _overlapping(scene, _as_sought(placed), options, is_everywhere)


def _overlapping(
    scene: Scene, sought: _Sought, options: QueryOptions, is_everywhere: NDArray[np.bool_] | None = None
) -> QueryResult:
    """Find the rows whose shapes overlap what each query looks for, and all rows for those that are everywhere."""
    asked, bounds = _asked(scene, sought.core.count, options), scene.columns.period_bounds
    answers, more = [], []
    for part in scene.parts():
        images = None if bounds is None else _images(sought, part, bounds, is_everywhere)
        corners: Any = sought.core.boxes if images is None else images.boxes
        bodies, found, is_exact = scene.bodies_near(part, of_boxes(corners[:, 0], corners[:, 1]), asked)
        overlapping: Any = _native.body_overlaps(bodies, sought.core, images, found, is_exact, asked.workers)
        places, offsets, unknown = overlapping
        answers.append(QueryResult(part.rows_of(places), offsets))
        places, queries, shifts = unknown
        if len(places):
            hit = overlap_mask(part.shapes, sought.shapes(), places, queries, shifts)
            more.append((part.rows_of(places[hit]), queries[hit]))
    if len(answers) == 1 and not more:
        return answers[0]
    # Parts, and images, may have the same rows.
    pairs = [*((found.rows, found.query_rows) for found in answers), *more]
    rows, queries = (np.concatenate(column) for column in zip(*pairs, strict=True))
    keys = np.unique(queries.astype(np.int64) << 32 | rows)
    offsets = np.searchsorted(keys, np.arange(sought.core.count + 1, dtype=np.int64) << 32)
    return QueryResult((keys & 0xFFFF_FFFF).astype(np.int32), offsets)


def _images(
    sought: _Sought, part: _Part, bounds: Floats, is_everywhere: NDArray[np.bool_] | None
) -> _native.QueryImages:
    """Find the images of queries in a periodic world that may meet the bodies of a part."""
    few, worth_halving = thresholds.FEW_IMAGES, thresholds.WORTH_HALVING
    found: Any = sought.core.images(part.around, bounds, len(part.shapes), is_everywhere, few, worth_halving)
    if isinstance(found, tuple):
        row, number = found
        raise ValueError(
            f"row {row} of the queries reaches across {number:.3g} periods of the world;"
            " at most 1,000,000 can be tested"
        )
    images: _native.QueryImages = found
    return images


class _Asked(NamedTuple):
    """What queries may find, checked: bits of layers and masks, keys, and rows that they ignore; and their threads."""

    query_count: int
    bits: Bits
    batch: NDArray[np.int64] | None
    ignored: Rows | None  # (q, k), or (1, k) for all
    workers: int


def _asked(scene: Scene, count: int, options: QueryOptions) -> _Asked:
    layer, mask, keys, workers = options.layer, options.mask, options.batch, options.workers
    if options.by is not None:
        raise UnsupportedQueryError(f"by={quoted(options.by)} is for an index: a world compares shapes")
    names, bits = scene.columns.layers, None
    if not (layer is None and mask is None):
        bits = names.bits_of_queries(layer, count, "layer"), names.bits_of_queries(mask, count, "mask")
    batch = None if keys is None else as_attribute("batch", keys, count, np.int64)
    ignored = scene.columns.rows.ignored(_handles(scene, options.ignore), count, options.own)
    return _Asked(count, bits, batch, ignored, scene.broad.threads if workers is None else worker_count(workers))


def _native_filter(own: tuple[Any, Any], asked: _Asked) -> _native.QueryFilter | None:
    """Give what the queries may find to the core; `own` are layers and masks by row, or None."""
    if asked.bits is None and own[0] is None and own[1] is None and asked.ignored is None:
        return None
    allowed = _native.QueryFilter()
    if asked.bits is not None or own[0] is not None or own[1] is not None:
        blanks = np.ones(1, np.uint64), np.full(1, ALL_BITS)  # of all rows
        of_layer, of_mask = (blank if bits is None else bits for bits, blank in zip(own, blanks, strict=True))
        layers, masks = (np.full(asked.query_count, ALL_BITS),) * 2 if asked.bits is None else asked.bits
        allowed.set_layers(of_layer, of_mask, layers, masks)
    if asked.ignored is not None:
        allowed.set_ignored(asked.ignored)
    return allowed


def _handles(scene: Scene, ignore: Any) -> Any:
    """Give the handles of actors in place of them."""
    if isinstance(ignore, Actor):
        return _handle(scene, ignore)
    if isinstance(ignore, list | tuple) and any(isinstance(entry, Actor) for entry in ignore):
        return [_handle(scene, entry) if isinstance(entry, Actor) else entry for entry in ignore]
    return ignore


def _handle(scene: Scene, actor: Actor) -> int:
    if actor._world is None or actor._world._columns is not scene.columns:
        raise ValueError(f"ignore: {actor!r} is of another world")
    return actor.handle


def _eye_of(matrix: Floats) -> Floats | None:
    """Find where a camera is by its matrix; None for an orthographic one, which has no position.

    The eye is the point that is projected to nothing: across the picture, and in what everything is divided by.
    """
    dimension = len(matrix) - 1
    across = np.delete(matrix, dimension - 1, axis=0) if dimension == 3 else matrix[[0, 2]]
    if len(across) != dimension or not across[-1, :-1].any():
        return None
    lengths = np.linalg.norm(across[:, :-1], axis=1, keepdims=True)
    if not lengths.all():
        return None
    across = across / lengths
    try:
        eye: Floats = np.linalg.solve(across[:, :-1], -across[:, -1])
    except np.linalg.LinAlgError:
        return None
    return eye


def _levels_of(boxes: Floats, eye: Floats | None, lod: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
    """Give the level of detail and the distance of each box (m, 2, d) from an eye."""
    limits = as_reals(lod, "lod").ravel()
    if not (limits >= 0).all() or (np.diff(limits) < 0).any():
        raise ValueError(f"lod must be ascending distances of at least 0, not {limits.tolist()}")
    if eye is None:
        return np.zeros(len(boxes), np.int32), np.full(len(boxes), np.inf)
    gaps = np.maximum(np.maximum(boxes[:, 0] - eye, eye - boxes[:, 1]), 0.0)
    squares = (gaps * gaps).sum(axis=1)
    return np.searchsorted(limits * limits, squares, side="right").astype(np.int32), np.sqrt(squares)
