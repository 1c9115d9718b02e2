"""When bodies that move and turn touch, in plain NumPy: by many samples of their gap, and more where it is least.

A body is a list of convex parts, each the corners of a core in the frame of the body and a radius around it. Corners of
the plane are in counterclockwise order; in space, a core has the directions of its edges and the normals of its faces.
Nothing of the library is called.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NONE = np.empty((0, 3))


class Part(NamedTuple):
    corners: Floats  # (k, d)
    radius: float = 0.0
    edges: Floats = NONE  # directions, in space
    normals: Floats = NONE
    still: Floats | None = None  # around the only corner, what does not turn
    lines: NDArray[np.intp] = np.empty((0, 2), np.intp)  # in space: corners with an edge between them
    faces: NDArray[np.intp] = np.empty((0, 3), np.intp)  # triangles of corners on the outside


def solid_part(corners: Floats, radius: float = 0.0, *, still: bool = False) -> Part:
    """Make a part of the corners of a convex core in space; `still`: it is parallel to the axes in any rotation."""
    lines, faces, normals = [], [], []
    rows = range(len(corners))
    for i, j in itertools.combinations(rows, 2):
        for k in (row for row in rows if row not in (i, j)):
            normal = np.cross(corners[j] - corners[i], corners[k] - corners[i])
            heights, slack = (corners - corners[i]) @ normal, 1e-9 * np.abs(normal).max()
            if k > j and (heights.max() <= slack or heights.min() >= -slack):
                faces.append((i, j, k))
                normals.append(normal)
        lines.append((i, j))
    edges = np.array([corners[j] - corners[i] for i, j in lines]).reshape(-1, 3)
    if len(corners) == 8:  # of a box, those along its three axes
        edges, normals = np.eye(3), list(np.eye(3))
        lines = [(i, j) for i, j in lines if np.count_nonzero(np.abs(corners[j] - corners[i]) > 1e-12) == 1]
    middle = corners.mean(0, keepdims=True)
    return Part(middle if still else corners, radius, edges, np.array(normals).reshape(-1, 3),
                corners - middle if still else None, np.array(lines, np.intp).reshape(-1, 2),
                np.array(faces, np.intp).reshape(-1, 3))  # fmt: skip


def cross(a: Floats, b: Floats) -> Floats:
    """Multiply vectors; faster than NumPy's."""
    x, y, z = (a[..., k] for k in range(3))
    u, v, w = (b[..., k] for k in range(3))
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], -1)


class Body(NamedTuple):
    """Where a body begins, and how it goes on: rotations are angles; in space a quaternion and a rotation vector."""

    parts: Sequence[Part]
    place: Floats
    motion: Floats
    rotation: Floats
    turn: Floats

    @property
    def reach(self) -> float:
        def reach(part: Part) -> float:
            around = 0.0 if part.still is None else np.linalg.norm(part.still, axis=1).max()
            return float(np.linalg.norm(part.corners, axis=1).max() + part.radius + around)

        return max(map(reach, self.parts))

    def matrices(self, times: Floats) -> Floats:
        """Rotation matrices at some times, (n, d, d)."""
        if len(self.place) == 2:
            angles = self.rotation[0] + self.turn[0] * times
            c, s = np.cos(angles), np.sin(angles)
            return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
        angle = np.linalg.norm(self.turn)
        axis = self.turn / angle if angle > 0 else np.array([1.0, 0, 0])
        cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        sines, cosines = (f(angle * times)[:, None, None] for f in (np.sin, np.cos))
        turned = np.eye(3) + sines * cross + (1 - cosines) * (cross @ cross)  # Rodrigues
        w, x, y, z = self.rotation / np.linalg.norm(self.rotation)
        begin = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        return turned @ begin


def gaps(a: Body, b: Body, times: Floats, *, exact: bool = False) -> Floats:
    """Compute the signed distances at some times; of cores without a radius apart in space only `exact` ones.

    Below 0 minus the depth: the distance to the nearest plane that separates the cores.
    """
    least = np.full(len(times), np.inf)
    turned_a, turned_b = a.matrices(times), b.matrices(times)
    apart = (b.place - a.place) + (b.motion - a.motion) * times[:, None]
    for one in a.parts:
        for other in b.parts:
            p, *axes_p = placed(one, turned_a)
            q, *axes_q = placed(other, turned_b)
            q = q + apart[:, None]
            if len(a.place) == 2:
                found = plane_gaps(p, q)
            else:
                found = space_gaps(p, q, *axes_p, *axes_q)
                if exact or one.radius + other.radius > 0:
                    found = np.where(found > 0, space_distances(p, q, one, other, found), found)
            least = np.minimum(least, found - one.radius - other.radius)
    return least


def placed(part: Part, turned: Floats) -> tuple[Floats, Floats, Floats]:
    """Corners, edges and normals in some rotations, (n, k, d)."""
    corners, edges, normals = (np.einsum("nij,kj->nki", turned, rows) for rows in (
        part.corners, part.edges[:, : turned.shape[1]], part.normals[:, : turned.shape[1]]))  # fmt: skip
    if part.still is None:
        return corners, edges, normals
    edges, normals = (np.broadcast_to(rows, (len(turned), *rows.shape)) for rows in (part.edges, part.normals))
    return corners + part.still, edges, normals


def gap_along(p: Floats, q: Floats, axes: Floats) -> Floats:
    """Widest gap along any of some axes (n, k, d), either way; those without a length count for nothing."""
    lengths = np.linalg.norm(axes, axis=2, keepdims=True)
    units = np.where(lengths > 1e-9, axes / np.where(lengths > 0, lengths, 1.0), 0.0)
    along_p, along_q = np.einsum("nki,nji->nkj", units, p), np.einsum("nki,nji->nkj", units, q)
    onwards, back = along_q.min(2) - along_p.max(2), along_p.min(2) - along_q.max(2)
    return np.where(lengths[..., 0] > 1e-9, np.maximum(onwards, back), -np.inf).max(1, initial=-np.inf)


def plane_gaps(p: Floats, q: Floats) -> Floats:
    """Gaps of two polygons, segments or points: (n, k, 2)."""
    widest = np.full(len(p), -np.inf)
    for one in (p, q):
        if one.shape[1] > 1:
            edges = np.roll(one, -1, axis=1) - one
            widest = np.maximum(widest, gap_along(p, q, np.stack([edges[..., 1], -edges[..., 0]], -1)))
    distance = np.linalg.norm(p[:, :, None] - q[:, None], axis=3).min((1, 2))
    for one, other in ((p, q), (q, p)):
        if one.shape[1] > 1:
            distance = np.minimum(distance, to_edges(one, np.roll(one, -1, axis=1), other))
    # Points on a segment are on both sides of it.
    return np.where((widest > 0) | (p.shape[1] + q.shape[1] == 2), distance, np.maximum(widest, -distance))


def to_edges(begin: Floats, end: Floats, points: Floats) -> Floats:
    """Compute the least distance of some points from some edges."""
    along, to = (end - begin)[:, :, None], points[:, None] - begin[:, :, None]
    share = np.clip((to * along).sum(3) / np.maximum((along * along).sum(3), 1e-300), 0, 1)
    return np.linalg.norm(to - along * share[..., None], axis=3).min((1, 2))


def space_gaps(p: Floats, q: Floats, *axes: Floats) -> Floats:
    """Widest gaps along the normals of faces, the cross products of edges, and of edges with normals of flat cores."""
    edges_p, normals_p, edges_q, normals_q = axes
    crossed = cross(edges_p[:, :, None], edges_q[:, None]).reshape(len(p), -1, 3)
    sides = [cross(edges[:, :, None], normals[:, None]).reshape(len(p), -1, 3)
             for edges, normals in ((edges_p, normals_p), (edges_q, normals_q)) if normals.shape[1] == 1]  # fmt: skip
    widest = gap_along(p, q, np.concatenate([normals_p, normals_q, crossed, *sides], axis=1))
    if p.shape[1] + q.shape[1] <= 3:  # points, and a point and a segment: apart, wherever they are
        return np.maximum(widest, 1e-300)
    return widest


def space_distances(p: Floats, q: Floats, one: Part, other: Part, apart: Floats) -> Floats:
    """Distances of cores that are apart: of corners from edges, of edges, and of corners from faces."""
    least = np.linalg.norm(p[:, :, None] - q[:, None], axis=3).min((1, 2))
    lines_p, lines_q = one.lines, other.lines
    begin_p, end_p, begin_q, end_q = p[:, lines_p[:, 0]], p[:, lines_p[:, 1]], q[:, lines_q[:, 0]], q[:, lines_q[:, 1]]
    for begin, end, points in ((begin_p, end_p, q), (begin_q, end_q, p)):
        if begin.shape[1]:
            least = np.minimum(least, to_edges(begin, end, points))
    if begin_p.shape[1] and begin_q.shape[1]:
        least = np.minimum(least, of_edges(begin_p, end_p, begin_q, end_q))
    # In front of a face, the widest gap along its normal is the distance, if the nearest corner is above the face.
    return np.where(least > apart, np.minimum(least, np.maximum(apart, above_faces(p, q, one, other))), least)


def of_edges(begin: Floats, end: Floats, other_begin: Floats, other_end: Floats) -> Floats:
    """Compute the least distance of lines that cross each other, seen along both."""
    u, v = (end - begin)[:, :, None], (other_end - other_begin)[:, None]
    w = begin[:, :, None] - other_begin[:, None]
    uu, uv, vv, uw, vw = ((x * y).sum(3) for x, y in ((u, u), (u, v), (v, v), (u, w), (v, w)))
    det = uu * vv - uv * uv
    safe = np.where(det > 1e-12 * uu * vv, det, 1.0)
    s, t = (uv * vw - vv * uw) / safe, (uu * vw - uv * uw) / safe
    inside = (det > 1e-12 * uu * vv) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    distance = np.linalg.norm(w + u * s[..., None] - v * t[..., None], axis=3)
    return np.where(inside, distance, np.inf).min((1, 2))


def above_faces(p: Floats, q: Floats, one: Part, other: Part) -> Floats:
    """Compute the least distance of a corner from a face that it is above."""
    least = np.full(len(p), np.inf)
    for corners, points, part in ((p, q, one), (q, p, other)):
        if not len(part.faces):
            continue
        a, b, c = (corners[:, part.faces[:, k], None] for k in range(3))
        normal, to = cross(b - a, c - a), points[:, None]
        height = ((to - a) * normal).sum(3) / np.linalg.norm(normal, axis=3)
        inside = np.ones_like(height, bool)
        for x, y in ((a, b), (b, c), (c, a)):
            inside &= (cross(y - x, to - x) * normal).sum(3) >= 0
        least = np.minimum(least, np.where(inside, np.abs(height), np.inf).min((1, 2)))
    return least


def least_gap(a: Body, b: Body, until: float = 1.0, samples: int = 256) -> tuple[float, float]:
    """Find the least gap up to a time, and when that is.

    By many samples, more finely where what moves no faster may have touched between two of them, and again and again
    where they are least.
    """
    turned = np.linalg.norm(a.turn) + np.linalg.norm(b.turn)
    fastest = np.linalg.norm(a.motion - b.motion) + np.linalg.norm(a.turn) * a.reach + np.linalg.norm(b.turn) * b.reach
    times = np.linspace(0.0, until, int(samples / 8 * (1 + turned / 3)))
    values = gaps(a, b, times)
    step = times[1]
    may_touch = np.flatnonzero((values[1:] + values[:-1]) / 2 - fastest * step / 2 <= max(values.min(), 0.0))
    finer = (times[may_touch, None] + step * np.arange(1, 8) / 8).ravel()
    if len(finer):
        times, values = np.concatenate([times, finer]), np.concatenate([values, gaps(a, b, finer)])
        order = np.argsort(times)
        times, values = times[order], values[order]
    best, at = values.min(), times[values.argmin()]
    inner = np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:])) + 1
    lows = np.unique(np.concatenate([inner, [0, len(times) - 1]]))
    middles, width = times[lows[values[lows] - fastest * step <= max(best, 0.0)]], step
    for _ in range(8):
        if not len(middles) or best < -1e-3 * (a.reach + b.reach):
            break
        near = np.clip(middles[:, None] + np.linspace(-width, width, 33), 0.0, until)
        found = gaps(a, b, near.ravel()).reshape(near.shape)
        middles, width = near[np.arange(len(near)), found.argmin(1)], width / 12
        if found.min() < best:
            best, at = found.min(), middles[found.min(1).argmin()]
        # A least gap elsewhere is not looked for where it cannot be.
        middles = middles[found.min(1) - 2 * fastest * width <= max(best, 0.0)]
    return float(best), float(at)
    return float(best), float(at)
