"""What tests give to each query of the registry, `broadphase.index.queries.QUERIES`: a row for each, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from index_cases import Asker


def arguments_of(boxes: np.ndarray, motions: np.ndarray, distance: float = 1.0) -> dict[str, dict[str, Any]]:
    """Right arguments by name, for each query: arrays with an entry for each of some boxes, (q, 2, d)."""
    count, _, dimension = boxes.shape
    points, distances = np.ascontiguousarray(boxes[:, 0]), np.full(count, distance)
    turns = np.linspace(0, 6, count) if dimension == 2 else np.resize([[1.0, 0, 0, 0], [1, 2, 3, 4]], (count, 4))
    rays = {"origins": points, "directions": motions, "max_distance": distances}
    given = {
        "query": {"boxes": boxes},
        "query_points": {"points": points},
        "query_ball": {"centers": points, "radii": distances},
        "nearest": {"points": points, "max_distance": distances},
        "raycast": rays,
        "raycast_all": rays,
        "raycast_any": rays,
        "shapecast": {"boxes": boxes, "motions": motions},
    }
    if dimension in (2, 3):
        given |= {
            "query_obb": {"centers": points, "half_sizes": np.full_like(points, distance), "rotations": turns},
            "frustum": {"planes": np.column_stack([motions, distances])[:, np.newaxis]},
        }
    return given


def some_of(arguments: dict[str, Any], at: Any) -> dict[str, Any]:
    """The arguments of some of these queries."""
    return {name: values[at] for name, values in arguments.items()}


def _rays(asker: Asker, count: int) -> tuple[Any, ...]:
    origins = asker.places(count)
    directions = asker.motions(origins)
    lengths = np.where(asker.rng.random(count) < 0.5, np.inf, asker.lengths(count))
    with np.errstate(over="ignore"):
        stretched = np.ldexp(directions, asker.rng.choice([-300, -20, 0, 0, 20, 300], (count, 1)))
    return origins, np.where(np.isfinite(stretched), stretched, directions), lengths


def _moving(asker: Asker, count: int) -> tuple[Any, ...]:
    boxes = np.nan_to_num(asker.boxes(count, endless=0), posinf=0.0, neginf=0.0)
    return np.sort(boxes, axis=1), asker.motions(boxes[:, 0].astype(np.float64))


#: Awkward arguments about the boxes of a scene, in the order of the query; the oracle has a function of the same name.
AWKWARD: dict[str, Callable[[Asker, int], tuple[Any, ...]]] = {
    "query": lambda a, q: (a.boxes(q),),
    "query_points": lambda a, q: (a.places(q),),
    "query_ball": lambda a, q: (a.places(q), a.lengths(q)),
    "nearest": lambda a, q: (
        a.places(q),
        int(a.rng.choice([1, 2, 7, 60])),
        a.rng.choice([np.inf, a.lengths(1)[0]]),
    ),
    "raycast": _rays,
    "raycast_all": _rays,
    "raycast_any": _rays,
    "shapecast": _moving,
    "query_obb": lambda a, q: (a.places(q), np.abs(a.motions(a.places(q))) / 2, a.turns(q)),
    "frustum": lambda a, _: (a.matrix()[np.newaxis],),
    "frustum_planes": lambda a, _: (a.planes()[np.newaxis],),
}
