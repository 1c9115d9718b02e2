"""Queries of a world: candidates among the boxes of its index, then the narrow phase on the shapes."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from broadphase import _native, thresholds
from broadphase.boxes import as_numbers
from broadphase.index.queries import finite_points, of_one, together
from broadphase.index.regions import shape_rotations
from broadphase.index.results import Nearest, QueryResult, RayHits, RayHitsAll, ShapecastHits
from broadphase.index.walks import of_boxes, of_motions, of_regions
from broadphase.narrow.custom import overlap_mask, refuse
from broadphase.shapes import Box, Circle, Point, Rectangle, Shapes, Sphere
from broadphase.shapes.parameters import Parameter, as_sizes, as_vectors
from broadphase.shapes.placed import shapes_of_boxes
from broadphase.world.hits import Hit, hit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from broadphase.index.regions import Regions
    from broadphase.options import QueryOptions
    from broadphase.shapes import Shape
    from broadphase.world.actor import Actors
    from broadphase.world.scene import Part, Scene

    Floats: TypeAlias = NDArray[np.float64]
    Flags: TypeAlias = NDArray[np.bool_]

__all__ = ["ANSWERS", "find_shapes", "hits_of_one_ray", "shapecast"]

# What casts need that custom shapes do not offer.
_IMPACT = "time of impact"


# Overlaps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sought:
    """What each query looks for, as the core takes it, and as the tests of custom shapes do."""

    core: _native.Sought
    shapes: Callable[[], Shapes]


def find_boxes(scene: Scene, lower: NDArray[Any], upper: NDArray[Any], options: QueryOptions) -> QueryResult:
    """Find the rows whose shapes overlap each box."""
    corners: Any = np.stack([lower, upper], axis=1).astype(np.float64, copy=False)
    columns, slots = scene.columns, scene.columns.slots
    scene.place()
    alive = columns.rows.alive[:slots].view(np.uint8)
    corners = _native.boxes_as_shapes(corners, columns.period_bounds, columns.seen.boxes[:slots], alive)
    sought = _Sought(_native.Sought.of_boxes(corners), partial(shapes_of_boxes, corners))
    return _overlapping(scene, sought, options)


def find_points(scene: Scene, points: NDArray[Any], options: QueryOptions) -> QueryResult:
    """Find the rows whose shapes contain each point."""
    places = as_vectors(_near(scene, points), "positions").rows
    sought = _Sought(_native.Sought.of_points(places), partial(Shapes, Point(), places))
    return _overlapping(scene, sought, options)


def find_balls(scene: Scene, centers: Floats, radii: Floats, options: QueryOptions) -> QueryResult:
    """Find the rows whose shapes overlap each closed ball."""
    is_everywhere = _fills(scene, radii)
    if is_everywhere is not None:
        radii = np.where(is_everywhere, 0.0, radii)
    reach = as_sizes(radii, "radius").rows
    places = as_vectors(_near(scene, centers), "positions").rows
    kind = Circle if scene.columns.dim == 2 else Sphere
    balls = _Sought(_native.Sought.of_balls(places, reach), lambda: Shapes(kind(reach), places))
    return _overlapping(scene, balls, options, is_everywhere)


def find_obbs(
    scene: Scene, centers: Floats, half_sizes: Floats, rotations: ArrayLike, options: QueryOptions
) -> QueryResult:
    """Find the rows whose shapes overlap each oriented box."""
    box: Any = Rectangle if scene.columns.dim == 2 else Box
    turns = shape_rotations(rotations, scene.columns.dim, is_mirrored_alike=True)
    is_everywhere = _fills(scene, half_sizes.min(axis=1))
    sizes = 2 * half_sizes
    if is_everywhere is not None:
        sizes = np.where(is_everywhere[:, np.newaxis], 0.0, sizes)
    return _overlapping(scene, _sought(Shapes(box(*sizes.T), _near(scene, centers), turns)), options, is_everywhere)


def find_shapes(
    scene: Scene, shape: Shape, positions: ArrayLike, rotations: ArrayLike | None, options: QueryOptions
) -> Any:
    """Find the rows whose shapes overlap a shape at each of some poses."""
    placed = _placed(scene, shape, _near(scene, as_numbers(positions, name="positions")), rotations)
    found = _overlapping(scene, _sought(placed), options)
    return of_one(found) if placed._is_one else found


def find_regions(scene: Scene, regions: Regions, options: QueryOptions) -> QueryResult:
    """Find the rows whose boxes overlap each convex region."""
    asked, every = scene.asked(len(regions.around_lower), options), scene.all_bodies()
    bodies, found, _ = scene.bodies_near(every, of_regions(regions), asked)
    rows_of_regions: Any = _native.body_regions(bodies, *regions.slabs, found, asked.workers)
    return QueryResult(*rows_of_regions)


def _overlapping(
    scene: Scene, sought: _Sought, options: QueryOptions, is_everywhere: Flags | None = None
) -> QueryResult:
    """Find the rows whose shapes overlap what each query looks for, and all rows for those that are everywhere."""
    asked, bounds = scene.asked(sought.core.count, options), scene.columns.period_bounds
    answers, pairs = [], []
    for part in scene.parts():
        images = None if bounds is None else _images(sought, part, bounds, is_everywhere)
        corners: Any = sought.core.boxes if images is None else images.boxes
        bodies, found, is_exact = scene.bodies_near(part, of_boxes(corners[:, 0], corners[:, 1]), asked)
        overlapping: Any = _native.body_overlaps(bodies, sought.core, images, found, is_exact, asked.workers)
        rows, offsets, (unknown, queries, shifts) = overlapping
        answers.append(QueryResult(rows, offsets))
        if len(unknown):
            hit = overlap_mask(part.shapes, sought.shapes(), unknown, queries, shifts)
            pairs.append((unknown[hit], queries[hit]))
    if len(answers) == 1 and not pairs:
        return answers[0]
    # Several images may meet one row.
    pairs += [(found.rows, found.query_rows) for found in answers]
    rows, queries = (np.concatenate(column) for column in zip(*pairs, strict=True))
    keys = np.unique(queries.astype(np.int64) << 32 | rows)
    offsets = np.searchsorted(keys, np.arange(sought.core.count + 1, dtype=np.int64) << 32)
    return QueryResult((keys & 0xFFFF_FFFF).astype(np.int32), offsets)


def _images(sought: _Sought, part: Part, bounds: Floats, is_everywhere: Flags | None) -> Any:
    """Find the images of queries in a periodic world that may meet the bodies of a part."""
    few, worth_halving = thresholds.FEW_IMAGES, thresholds.WORTH_HALVING
    return sought.core.images(part.around, bounds, part.body_count, is_everywhere, few, worth_halving)


def _sought(placed: Shapes) -> _Sought:
    core = _native.Sought.of_shapes(placed.store, placed.boxes, placed.geometries.in_core)
    return _Sought(core, lambda: placed)


def _near(scene: Scene, positions: NDArray[Any]) -> NDArray[Any]:
    """Move positions that are far outside a periodic world by whole periods, to within one of it."""
    bounds = scene.columns.period_bounds
    if bounds is None or positions.ndim == 0 or positions.shape[-1] != scene.columns.dim:
        return positions
    rows = np.ascontiguousarray(positions, np.float64).reshape(-1, scene.columns.dim)
    moved: Any = _native.points_near(rows, bounds)
    return np.asarray(moved).reshape(positions.shape)


def _fills(scene: Scene, radii: Floats) -> Flags | None:
    """Say which balls, with their images, leave out no place in a periodic world; None for no periodic world."""
    if (bounds := scene.columns.period_bounds) is None:
        return None
    fills: Flags = radii >= _native.radius_of_everything(bounds)
    return fills


# The nearest, and rays -----------------------------------------------------------------------------------------------


def find_nearest(scene: Scene, points: Floats, k: int, limits: Floats, options: QueryOptions) -> Nearest:
    """Find the rows whose shapes are nearest to each point."""
    k = max(1, min(k, scene.columns.rows.living))
    at, asked = _near(scene, points), scene.asked(len(points), options)
    parts = [(scene.bodies("nearest", asked, part), part.around) for part in scene.parts()]
    found: Any = _native.body_nearest(parts, scene.columns.period_bounds, at, k, limits, asked.workers)
    rows, near, refused = found
    scene.refuse_custom(refused, "distance")
    return Nearest(rows, near)


def _cast(
    search: Callable[..., Any], scene: Scene, begin: Floats, along: Floats, limit: Floats, options: QueryOptions
) -> Any:
    """Have the core cast rays; raise if a custom shape decides what one of them hits."""
    asked = scene.asked(len(begin), options)
    *found, refused = search(scene.bodies("raycast", asked), begin, along, limit, asked.workers)
    scene.refuse_custom(refused, "raycast")
    return found


def hits_of_one_ray(
    scene: Scene, actors: Actors, ray: tuple[Floats, Floats, Floats], options: QueryOptions, *, is_first: bool
) -> list[Hit]:
    """Give the first hit of one ray, or all; `ray` is its origin and direction, (1, d), and its length."""
    begin, along, _ = ray
    # All of them, also for the first alone: the core gives their normals.
    rows, _, away, normals = _cast(_native.body_all_hits, scene, *ray, options)
    most, known = 1 if is_first else len(rows), weakref.ref(actors)
    return [
        hit_of(known, row, distance, begin[0], along[0], normal + 0.0)
        for row, distance, normal in zip(rows[:most].tolist(), away[:most].tolist(), normals[:most], strict=True)
    ]


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
    asked, every = scene.asked(len(moving), options), scene.all_bodies()
    bodies, near, _ = scene.bodies_near(every, of_motions(moving.boxes[:, 0], moving.boxes[:, 1], moved), asked)
    touched: Any = _native.body_impacts(bodies, _sought(moving).core, moved, near, asked.workers)
    rows, times, refused = touched
    if refused is not None:
        query, row = refused
        refuse(moving, np.array([query], np.int32), _IMPACT)
        scene.refuse_custom(row, _IMPACT)
    found = ShapecastHits(rows, times)
    return of_one(found) if is_one else found


def _placed(scene: Scene, shape: Shape, positions: ArrayLike, rotations: ArrayLike | None) -> Shapes:
    turns = None if rotations is None else shape_rotations(rotations, scene.columns.dim)
    placed = Shapes(shape, positions, turns)
    if placed.dim != scene.columns.dim:
        raise ValueError(f"the shape of the query has {placed.dim} dimensions, and the world {scene.columns.dim}")
    return placed


ANSWERS: Mapping[str, Callable[..., Any]] = {
    "query": find_boxes,
    "query_points": find_points,
    "query_ball": find_balls,
    "query_obb": find_obbs,
    "frustum": find_regions,
    "nearest": find_nearest,
    "raycast": lambda *given: RayHits(*_cast(_native.body_first_hits, *given)),
    "raycast_all": lambda *given: RayHitsAll(*_cast(_native.body_all_hits, *given)[:3]),
    "raycast_any": lambda *given: _cast(_native.body_any_hits, *given)[0].view(np.bool_),
}
"""What answers each query of `broadphase.index.queries`, with its arguments and options, as a reader of the world."""
