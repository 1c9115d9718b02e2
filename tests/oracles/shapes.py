"""The narrow phase in plain NumPy, one pair at a time: slow, short, and independent of the core.

A shape is a list of parts, each the convex hull of a few points and everything within a radius of it. The signed
distance of two parts is the largest gap between them along any direction. That direction joins two points, is normal to
an edge or a face, or is normal to an edge of each, so these are tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from broadphase.shapes import Shape

    Floats = NDArray[np.float64]

__all__ = ["Part", "parts_of", "shape_distance", "shapes_touch"]

ROUNDING = 1e-12  # of a signed distance computed here, relative to the coordinates


class Part(NamedTuple):
    """All within a radius of the convex hull of points.

    Attributes
    ----------
    points : ndarray, shape (k, d), float64
        In the world.
    radius : float
        At least 0.
    """

    points: Floats
    radius: float


def parts_of(shape: Shape, position: ArrayLike, rotation: Any = None) -> list[Part]:
    """Split one placed shape into convex parts.

    Parameters
    ----------
    shape : Shape
        One shape, not a row of them, and no mesh.
    position : array_like, shape (d,)
        Position of its body.
    rotation : float or array_like of shape (4,), optional
        Rotation of its body.

    Returns
    -------
    list of Part
        One part, or those of a compound or a cloud.

    Examples
    --------
    >>> import broadphase as bp
    >>> parts_of(bp.Capsule((0, 0), (1, 0), 0.5), (10, 0))
    [Part(points=array([[10.,  0.], [11.,  0.]]), radius=0.5)]
    """
    return _placed_parts(shape, [(rotation, np.asarray(position, dtype=np.float64))])


def shape_distance(first: list[Part], second: list[Part]) -> float:
    """Compute the signed distance of two placed shapes; negative is minus the penetration depth.

    Parameters
    ----------
    first, second : list of Part
        What `parts_of` gives.

    Returns
    -------
    float

    Examples
    --------
    >>> import broadphase as bp
    >>> disc, box = parts_of(bp.Circle(1), (0, 0)), parts_of(bp.Rectangle(2, 2), (3, 0))
    >>> shape_distance(disc, box), shape_distance(disc, disc)
    (1.0, -2.0)
    """
    return min(_gap(a.points, b.points) - a.radius - b.radius for a in first for b in second)


def shapes_touch(first: list[Part], second: list[Part]) -> bool:
    """Tell whether two placed shapes overlap or touch; a gap as small as the rounding of this oracle counts as none.

    Examples
    --------
    >>> import broadphase as bp
    >>> disc, dot, far = (parts_of(shape, (x, 0)) for shape, x in ((bp.Circle(1), 0), (bp.Point(), 1), (bp.Point(), 2)))
    >>> shapes_touch(disc, dot), shapes_touch(disc, far)
    (True, False)
    """
    return any(_parts_touch(one, other) for one in first for other in second)


def _parts_touch(first: Part, second: Part) -> bool:
    slack = first.radius + second.radius + ROUNDING * max(1.0, np.abs(first.points).max(), np.abs(second.points).max())
    gaps = np.maximum(
        first.points.min(axis=0) - second.points.max(axis=0), second.points.min(axis=0) - first.points.max(axis=0)
    )
    return bool((gaps <= slack).all()) and _gap(first.points, second.points) <= slack


def _gap(first: Floats, second: Floats) -> float:
    """Compute the signed distance of the convex hulls of two sets of points."""
    dimension = first.shape[1]
    points = np.unique((second[np.newaxis] - first[:, np.newaxis]).reshape(-1, dimension), axis=0)
    edges = _distinct(np.concatenate([_between(first), _between(second)]))
    directions = [np.eye(dimension), points]
    if dimension == 2:
        directions.append(edges[:, ::-1] * [1, -1])
    else:
        along = _between(points)
        begin = np.repeat(points, np.arange(len(points))[::-1], axis=0)
        length = (along**2).sum(axis=1, keepdims=True)
        directions.append(
            begin - along * ((begin * along).sum(axis=1, keepdims=True) / np.where(length > 0, length, 1))
        )
        axes = np.concatenate([edges, np.eye(3)])
        one, two = np.triu_indices(len(axes), 1)
        directions.append(np.cross(axes[one], axes[two]))
    tried = np.concatenate(directions)
    length = np.linalg.norm(tried, axis=1)
    kept = length > 1e-9 * max(1e-300, np.abs(points).max(), np.abs(first).max())
    units = tried[kept] / length[kept, np.newaxis]
    return float(max((sign * units @ points.T).min(axis=1).max() for sign in (1, -1)))


def _between(points: Floats) -> Floats:
    """Compute the vector from each point to each that follows it."""
    one, two = np.triu_indices(len(points), 1)
    result: Floats = points[two] - points[one]
    return result


def _distinct(vectors: Floats) -> Floats:
    """Drop vectors that are parallel to another."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors[length[:, 0] > 0] / length[length[:, 0] > 0]
    leading = np.take_along_axis(units, np.abs(units).argmax(axis=1)[:, np.newaxis], axis=1)
    _, rows = np.unique((units * np.sign(leading)).round(12), axis=0, return_index=True)
    result: Floats = units[rows]
    return result


def _placed_parts(shape: Any, frames: list[tuple[Any, Floats]]) -> list[Part]:
    """Place a shape in frames within each other, the innermost first."""
    if shape.offset.size:
        frames = [(shape.rotation, shape.offset), *frames]
    if hasattr(shape, "parts"):
        return [placed for part in shape.parts for placed in _placed_parts(part, frames)]
    name = type(shape).__name__
    own = OWN_POINTS[name](shape, len(frames[0][1]))
    stays = name == "AABB"  # parallel to the axes, whatever turns its center
    points = np.zeros((1, own.shape[1])) if stays else own
    for rotation, shift in frames:
        points = _turned(points, rotation) + shift
    if name == "PointCloud":
        return [Part(points[k : k + 1], shape.radius) for k in range(len(points))]
    return [Part(points + own if stays else points, getattr(shape, "radius", 0.0))]


def _box(*sizes: Any) -> Floats:
    half = np.hstack(sizes) / 2
    return np.stack(np.meshgrid(*np.stack([-half, half], axis=1)), axis=-1).reshape(-1, len(half))


# The points of a shape of each class in its own frame; a radius around them is its attribute `radius`.
OWN_POINTS: dict[str, Callable[[Any, int], Floats]] = {
    "Point": lambda shape, d: np.zeros((1, d)),
    "Circle": lambda shape, d: np.zeros((1, d)),
    "Sphere": lambda shape, d: np.zeros((1, d)),
    "Segment": lambda shape, d: np.stack([shape.start, shape.end]),
    "Capsule": lambda shape, d: np.stack([shape.start, shape.end]),
    "AABB": lambda shape, d: _box(shape.size),
    "Rectangle": lambda shape, d: _box(shape.width, shape.height),
    "Box": lambda shape, d: _box(shape.x, shape.y, shape.z),
    "Triangle": lambda shape, d: np.asarray(shape.corners),
    "ConvexPolygon": lambda shape, d: np.asarray(shape.corners),
    "ConvexHull": lambda shape, d: np.asarray(shape.points),
    "PointCloud": lambda shape, d: np.asarray(shape.points),
}


def _turned(points: Floats, rotation: Any) -> Floats:
    """Rotate points by an angle (2-D) or a quaternion (3-D)."""
    if rotation is None:
        return points
    if points.shape[1] == 2:
        turned = (points @ [1, 1j]) * np.exp(1j * rotation)
        return np.stack([turned.real, turned.imag], axis=1)
    w, x, y, z = np.asarray(rotation) / np.linalg.norm(rotation)
    product = np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])  # points @ product: the cross products (x, y, z) x points
    across = 2 * points @ product
    result: Floats = points + w * across + across @ product
    return result
