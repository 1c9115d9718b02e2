"""How far shapes reach along directions (k, d), from the parameters that they were made of."""

import numpy as np


def turned(shape, ways):
    """Directions as the shape sees them before its own rotation."""
    return ways @ matrix_of(shape.rotation, shape.dim)


def matrix_of(rotation, dim):
    if dim == 2:
        return np.array([[np.cos(rotation), -np.sin(rotation)], [np.sin(rotation), np.cos(rotation)]])
    w, x, y, z = np.asarray(rotation) / np.linalg.norm(rotation)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def radial(axis, radius, ways):
    """How far a disc about an axis reaches."""
    unit = axis / np.linalg.norm(axis)
    return radius * np.linalg.norm(np.cross(ways, unit), axis=1)


def sector_reach(shape, ways):
    half = shape.angle / 2
    ends = shape.radius * np.array([[np.cos(half), -np.sin(half)], [np.cos(half), np.sin(half)]])
    straight = np.maximum((ways @ ends.T).max(axis=1), 0)
    is_on_arc = np.abs(np.arctan2(ways[:, 1], ways[:, 0])) <= half
    return np.where(is_on_arc, shape.radius * np.linalg.norm(ways, axis=1), straight)


def corner_reach(corners, radius=0.0):
    return lambda ways: (ways @ np.asarray(corners).T).max(axis=1) + radius * np.linalg.norm(ways, axis=1)


def corners_of_ground(shape):
    top = shape.vertices
    (low, high) = top[:, :2].min(axis=0), top[:, :2].max(axis=0)
    bottom = [(x, y, shape.bottom) for x in (low[0], high[0]) for y in (low[1], high[1])]
    return np.concatenate([top, bottom])


REACHES = {
    "Cylinder": lambda s, w: np.maximum(w @ s.start, w @ s.end) + radial(s.end - s.start, s.radius, w),
    "Cone": lambda s, w: np.maximum(w @ s.base + radial(s.apex - s.base, s.radius, w), w @ s.apex),
    "Ellipsoid": lambda s, w: np.linalg.norm(w * s.radii, axis=1),
    "Sector": sector_reach,
    "Point": lambda s, w: np.zeros(len(w)),
    "Circle": lambda s, w: s.radius * np.linalg.norm(w, axis=1),
    "Sphere": lambda s, w: s.radius * np.linalg.norm(w, axis=1),
    "Segment": lambda s, w: corner_reach([s.start, s.end])(w),
    "Capsule": lambda s, w: corner_reach([s.start, s.end], s.radius)(w),
    "Box": lambda s, w: np.abs(w * [s.x, s.y, s.z]).sum(axis=1) / 2,
    "Rectangle": lambda s, w: np.abs(w * [s.width, s.height]).sum(axis=1) / 2,
    "Triangle": lambda s, w: corner_reach(s.corners)(w),
    "ConvexPolygon": lambda s, w: corner_reach(s.corners)(w),
    "ConvexHull": lambda s, w: corner_reach(s.points)(w),
    "Mesh": lambda s, w: corner_reach(s.vertices)(w),
    "HeightField": lambda s, w: corner_reach(corners_of_ground(s))(w),
    "PointCloud": lambda s, w: corner_reach(s.points, s.radius)(w),
}


def reach(shape, ways):
    return ways @ shape.offset + REACHES[type(shape).__name__](shape, turned(shape, ways))


def placed_reach(shape, position, turn, ways):
    """The same of a shape whose body is at a position, rotated by a matrix."""
    place = position + turn @ shape.offset
    if type(shape).__name__ == "AABB":
        return ways @ place + np.abs(ways * shape.size).sum(axis=1) / 2
    own = turn @ matrix_of(shape.rotation, shape.dim)
    if type(shape).__name__ == "Compound":
        return np.max([placed_reach(part, place, own, ways) for part in shape.parts], axis=0)
    return ways @ place + REACHES[type(shape).__name__](shape, ways @ own)
