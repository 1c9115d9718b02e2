"""Lidars of bodies: for each a fan of beams from its position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_array
from broadphase.boxes import as_numbers
from broadphase.errors import UnsupportedQueryError, unknown_name
from broadphase.index.queries import nonnegative, together
from broadphase.representations import html_of_result, short_repr
from broadphase.returned import as_given, is_single
from broadphase.shapes.parameters import Parameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from broadphase.options import QueryOptions
    from broadphase.world.scene import Scene

__all__ = ["LidarScan", "lidar"]


class LidarScan(NamedTuple):
    """What the beams of lidars hit first.

    Attributes
    ----------
    distances : ndarray, shape (n, beams), float64 or float32
        From the position of each body; 0 where it is inside another, infinite for a miss.
    rows : ndarray, shape (n, beams), int32
        The bodies that are hit; -1 for none.
    """

    distances: NDArray[Any]
    rows: NDArray[np.int32]

    def __repr__(self) -> str:
        return short_repr(self)

    def _repr_html_(self) -> str:
        return html_of_result(self)


def lidar(
    scene: Scene, rows: ArrayLike, directions: ArrayLike, max_distance: ArrayLike, frame: str, dtype: DTypeLike,
    options: QueryOptions,
) -> LidarScan:  # fmt: skip
    """Answer `World.lidar`."""
    columns = scene.columns
    numbers = as_array(rows, "rows")
    known: Any = columns.rows.known(numbers)
    looking = Parameter(known, numbers.ndim == 0)
    if not isinstance(frame, str) or frame not in ("body", "world"):
        raise ValueError(unknown_name("frame", frame, ("body", "world")))
    are_single = is_single(dtype)
    fans = _fans(directions, columns.dim)
    # Of the fans only their number: one fan is not repeated.
    of_fans = Parameter(np.empty((len(fans.rows), 0)), fans.single)
    distance = nonnegative(max_distance, "max_distance")
    (own, _, limits), is_one = together(rows=looking, directions=of_fans, max_distance=distance)
    ways = fans.rows[0] if len(fans.rows) == 1 else fans.rows
    options.own = own
    asked = scene.asked(len(own), options)
    scene.place()
    seen, rotations = columns.seen, columns.seen.rotations if frame == "body" else None

    def search(bodies: _native.BodiesInTree, *, is_last: bool) -> Any:
        return _native.lidar(
            bodies, own, seen.positions, rotations, ways, limits, columns.rows.numbers, columns.batches,
            is_last, are_single, asked.workers,
        )  # fmt: skip

    found = search(scene.bodies_without_tree(asked), is_last=False)
    if found is None:
        if columns.batches is not None:
            asked = asked._replace(batch=columns.batches[own])
        try:
            found = search(scene.bodies("raycast", asked), is_last=True)
        except UnsupportedQueryError:  # an index without a tree
            found = search(scene.bodies_without_tree(asked), is_last=True)
    distances, hits, refused = found
    scene.refuse_custom(refused, "lidar")
    return as_given(rows, LidarScan(distances[0], hits[0]) if is_one else LidarScan(distances, hits))


def _fans(directions: ArrayLike, dim: int) -> Parameter:
    """Check directions, angles or vectors: those of one fan, or of many."""
    fans = np.array(as_numbers(directions, name="directions"), np.float64, order="C")
    is_one = fans.ndim == dim - 1
    if fans.ndim not in (dim - 1, dim) or (dim == 3 and fans.shape[-1] != 3):
        wanted = "angles of shape (b,) or (n, b)" if dim == 2 else "vectors of shape (b, 3) or (n, b, 3)"
        raise ValueError(f"directions must be {wanted}, not an array of shape {fans.shape}")
    if not np.isfinite(fans).all():
        bad = int(np.argmin(np.isfinite(fans).reshape(len(fans), -1).all(axis=1)))
        raise ValueError(f"directions: row {bad} is not finite")
    return Parameter(fans[np.newaxis] if is_one else fans, is_one)
