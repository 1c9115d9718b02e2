# mypy: ignore-errors
# ruff: noqa: RUF046, UP018
"""Kernels of Warp: others' ways to the same results, as Warp's documentation shows them, and what counts and waits."""

import warp as wp

from broadphase.gpu.native import node_access

__all__ = ["append_near", "append_pairs", "count_visits", "first_hits", "spin"]

_ACCESS = node_access(wp.float32)
node_type, take = _ACCESS.type, _ACCESS.take


@wp.kernel(enable_backward=False)
def append_pairs(
    bvh: wp.uint64,
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    groups: wp.array(dtype=wp.int32),
    capacity: int,
    count: wp.array(dtype=wp.int32),
    found: wp.array(dtype=wp.vec2i),
):
    """Query a tree with each of its boxes, and append the pairs to an array of a fixed size."""
    i = wp.tid()
    root = int(-1)
    if groups:
        root = wp.bvh_get_group_root(bvh, groups[i])
    query = wp.bvh_query_aabb(bvh, lowers[i], uppers[i], root)
    j = int(0)
    while wp.bvh_query_next(query, j):
        if i < j:
            place = wp.atomic_add(count, 0, 1)
            if place < capacity:
                found[place] = wp.vec2i(i, j)


@wp.func
def entry(lower: wp.vec3, upper: wp.vec3, origin: wp.vec3, direction: wp.vec3) -> float:
    """Return how far along a ray a box begins; less than 0 where it is missed."""
    near = float(0.0)
    far = float(1.0e38)
    for axis in range(3):
        if direction[axis] == 0.0:
            if origin[axis] < lower[axis] or origin[axis] > upper[axis]:
                return -1.0
        else:
            a = (lower[axis] - origin[axis]) / direction[axis]
            b = (upper[axis] - origin[axis]) / direction[axis]
            near = wp.max(near, wp.min(a, b))
            far = wp.min(far, wp.max(a, b))
    if near > far:
        return -1.0
    return near


@wp.kernel(enable_backward=False)
def first_hits(
    bvh: wp.uint64,
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    origins: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    groups: wp.array(dtype=wp.int32),
    ignored: wp.array(dtype=wp.int32),
    rows: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=float),
):
    """Find the first box on each ray; the distance of the nearest one so far cuts the query off."""
    ray = wp.tid()
    root = int(-1)
    if groups:
        root = wp.bvh_get_group_root(bvh, groups[ray])
    own = int(-1)
    if ignored:
        own = ignored[ray]
    origin = origins[ray]
    direction = directions[ray]
    nearest = float(1.0e38)
    row = int(-1)
    query = wp.bvh_query_ray(bvh, origin, direction, root)
    j = int(0)
    while wp.bvh_query_next(query, j, nearest):
        if j != own:
            away = entry(lowers[j], uppers[j], origin, direction)
            if away >= 0.0 and (away < nearest or (away == nearest and j < row)):
                nearest = away
                row = j
    rows[ray] = row
    distances[ray] = nearest


@wp.kernel(enable_backward=False)
def append_near(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    side: float,
    cutoff: float,
    capacity: int,
    count: wp.array(dtype=wp.int32),
    pairs: wp.array(dtype=wp.vec2i),
    distances: wp.array(dtype=float),
    shifts: wp.array(dtype=wp.vec3i),
):
    """Append the pairs of near points of a periodic cube, which the cells of the grid fill, so that they repeat too."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    point = points[i]
    for j in wp.hash_grid_query(grid, point, cutoff):
        if i < j:
            vector = points[j] - point
            shift = wp.vec3i(
                -int(wp.round(vector[0] / side)), -int(wp.round(vector[1] / side)), -int(wp.round(vector[2] / side))
            )
            vector += side * wp.vec3(float(shift[0]), float(shift[1]), float(shift[2]))
            distance = wp.length(vector)
            if distance <= cutoff:
                place = wp.atomic_add(count, 0, 1)
                if place < capacity:
                    pairs[place] = wp.vec2i(i, j)
                    distances[place] = distance
                    shifts[place] = shift


@wp.kernel(enable_backward=False)
def count_visits(nodes: wp.array(dtype=node_type), leaf_count: int, visits: wp.array(dtype=wp.int32)):
    """Count the nodes that the walk of each leaf looks at, of float32 boxes; see `broadphase.gpu.pairs_kernels`."""
    place = wp.tid()
    inner = leaf_count - 1
    own = nodes[inner + place]
    number = take(own[7])
    at = place + 1
    count = int(0)
    while at < leaf_count:
        node = nodes[number]
        count += 1
        is_hit = bool(True)
        for axis in range(3):
            is_hit = is_hit and own[axis] <= node[axis + 3] and node[axis] <= own[axis + 3]
        if is_hit and number < inner:
            number = take(node[6])
        else:
            number = take(node[7])
            at = number
            if number >= inner:
                at = number - inner
    visits[place] = count


@wp.kernel(enable_backward=False)
def spin(rounds: int, result: wp.array(dtype=float)):
    """Keep the device busy for a while."""
    value = float(wp.tid())
    for _ in range(rounds):
        value = wp.sin(value) + 1.0
    result[wp.tid()] = value
