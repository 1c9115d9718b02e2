"""Rays against shapes in space, the textbook way: times and outward normals, infinite where there is no hit."""

import numpy as np

INF = np.inf


def dots(a, b):
    return (a * b).sum(axis=-1)


def units(a):
    length = np.linalg.norm(a, axis=-1, keepdims=True)
    return a / np.where(length > 0, length, 1)


def nearest_of(*answers):
    times = np.stack([answer[0] for answer in answers])
    normals = np.stack([answer[1] for answer in answers])
    first = times.argmin(axis=0)
    rows = np.arange(times.shape[1])
    return times[first, rows], normals[first, rows]


def ball(centres, radii, origins, directions):
    to = origins - centres
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = -dots(to, directions) / dots(directions, directions)
        aside = to + directions * middle[:, np.newaxis]
        half = np.sqrt(np.maximum(radii**2 - dots(aside, aside), 0) / dots(directions, directions))
        times = np.where((dots(aside, aside) <= radii**2) & (middle - half >= 0), middle - half, INF)
    hits = np.where(np.isfinite(times), times, 0)
    return times, units(to + directions * hits[:, np.newaxis])


def slabs(lower, upper, origins, directions):
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (lower - origins) / directions, (upper - origins) / directions
    within = (lower <= origins) & (origins <= upper)
    still = directions == 0
    begin = np.where(still, np.where(within, -INF, INF), np.minimum(one, two))
    end = np.where(still, np.where(within, INF, -INF), np.maximum(one, two))
    times = begin.max(axis=1)
    normals = np.zeros_like(origins)
    face = begin.argmax(axis=1)
    rows = np.arange(len(origins))
    normals[rows, face] = -np.sign(directions[rows, face])
    return np.where((times <= end.min(axis=1)) & (times >= 0), times, INF), normals


def cylinder(begin, end, radii, origins, directions):
    """The side alone."""
    along = units(end - begin)
    to = origins - begin
    flat_way = directions - along * dots(directions, along)[:, np.newaxis]
    flat_to = to - along * dots(to, along)[:, np.newaxis]
    times, normals = ball(np.zeros_like(begin), radii, flat_to, flat_way)
    at = dots(to + directions * np.where(np.isfinite(times), times, 0)[:, np.newaxis], along)
    return np.where((at >= 0) & (at <= np.linalg.norm(end - begin, axis=1)), times, INF), normals


def capsule(begin, end, radii, origins, directions):
    return nearest_of(
        cylinder(begin, end, radii, origins, directions),
        ball(begin, radii, origins, directions),
        ball(end, radii, origins, directions),
    )


def oriented_box(records, origins, directions):
    axes = records[:, 6:].reshape(-1, 3, 3)
    times, normals = slabs(
        -records[:, 3:6],
        records[:, 3:6],
        np.einsum("nkd,nd->nk", axes, origins - records[:, :3]),
        np.einsum("nkd,nd->nk", axes, directions),
    )
    return times, np.einsum("nkd,nk->nd", axes, normals)


def triangle(records, origins, directions):
    """Möller and Trumbore's."""
    corner, second, third = records[:, :3], records[:, 3:6], records[:, 6:]
    e, f = second - corner, third - corner
    across = np.cross(directions, f)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1 / dots(e, across)
        u = dots(origins - corner, across) * scale
        turned = np.cross(origins - corner, e)
        v = dots(directions, turned) * scale
        times = dots(f, turned) * scale
        hits = (u >= 0) & (v >= 0) & (u + v <= 1) & (times >= 0) & np.isfinite(times)
    normals = units(np.cross(e, f))
    return np.where(hits, times, INF), -normals * np.sign(dots(normals, directions))[:, np.newaxis]


def nothing(n):
    return np.zeros(n)


CLOSED_FORMS = {
    "POINT": lambda r, o, d: ball(r, nothing(len(r)), o, d),
    "BALL": lambda r, o, d: ball(r[:, :3], r[:, 3], o, d),
    "SEGMENT": lambda r, o, d: capsule(r[:, :3], r[:, 3:], nothing(len(r)), o, d),
    "CAPSULE": lambda r, o, d: capsule(r[:, :3], r[:, 3:6], r[:, 6], o, d),
    "BOX": lambda r, o, d: slabs(r[:, :3], r[:, 3:], o, d),
    "ORIENTED_BOX": oriented_box,
    "TRIANGLE": triangle,
}
