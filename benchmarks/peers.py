"""The libraries in use today to find all overlapping pairs: one row each.

Every adapter takes `(n, 2, d)` boxes as a NumPy array and gives every overlapping pair as an `(m, 2)` array of row
numbers, first < second. Making the library's own objects and turning its answer into an array is part of the job and
of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measuring import load, version_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FindPairs = Callable[[NDArray[Any]], NDArray[Any]]


BLOCK = 1 << 22  # candidate pairs at a time; keeps the working arrays at some tens of megabytes


def brute_force(boxes: NDArray[Any]) -> NDArray[Any]:
    """Test every box against all those after it, a row at a time."""
    lower, upper = np.ascontiguousarray(boxes[:, 0].T), np.ascontiguousarray(boxes[:, 1].T)
    found = []
    for row in range(len(boxes) - 1):
        meets = np.ones(len(boxes) - row - 1, bool)
        for low, high in zip(lower, upper, strict=True):
            meets &= (low[row + 1 :] <= high[row]) & (high[row + 1 :] >= low[row])
        after = np.nonzero(meets)[0] + row + 1
        found.append(np.stack([np.full(len(after), row), after], axis=1))
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def sort_and_sweep(boxes: NDArray[Any]) -> NDArray[Any]:
    """Sort along the axis of greatest spread; each box then meets a run of those that follow it."""
    middles = boxes[:, 0] / 2 + boxes[:, 1] / 2
    axis = int(np.argmax(np.ptp(middles, axis=0))) if len(boxes) else 0
    order = np.argsort(boxes[:, 0, axis], kind="stable")
    lower, upper = boxes[order, 0], boxes[order, 1]
    ends = np.searchsorted(lower[:, axis], upper[:, axis], side="right")
    runs = ends - np.arange(len(boxes)) - 1
    found, start = [], 0
    while start < len(boxes):
        stop = start + max(1, int(np.searchsorted(np.cumsum(runs[start:]), BLOCK)))
        i = np.repeat(np.arange(start, min(stop, len(boxes))), runs[start:stop])
        offsets = np.cumsum(runs[start:stop]) - runs[start:stop]
        j = np.arange(len(i)) - np.repeat(offsets, runs[start:stop]) + i + 1
        for other in (k for k in range(boxes.shape[2]) if k != axis):
            meets = (lower[i, other] <= upper[j, other]) & (lower[j, other] <= upper[i, other])
            i, j = i[meets], j[meets]
        found.append(np.sort(np.stack([order[i], order[j]], axis=1), axis=1))
        start = stop
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def first_below_second(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Keep each pair once: an index that is queried with every box returns both orders, and each box with itself."""
    once = first < second
    return np.stack([first[once], second[once]], axis=1)


def scipy_kd_tree(boxes: NDArray[Any]) -> NDArray[Any]:
    """Equal cubes overlap when their centres are no further apart than one edge in the maximum norm."""
    spatial = load("scipy.spatial", "scipy")
    lower, upper = boxes[:, 0].astype(np.float64), boxes[:, 1].astype(np.float64)
    edge = (upper - lower).max(initial=0.0)
    tree = spatial.cKDTree((lower + upper) / 2)
    return np.asarray(tree.query_pairs(edge * (1 + 1e-15), p=np.inf, output_type="ndarray"))


def shapely_str_tree(boxes: NDArray[Any]) -> NDArray[Any]:
    """Ask an STR-packed R-tree for what meets each rectangle, in one call."""
    shapely = load("shapely")
    rectangles = shapely.box(boxes[:, 0, 0], boxes[:, 0, 1], boxes[:, 1, 0], boxes[:, 1, 1])
    first, second = shapely.STRtree(rectangles).query(rectangles)
    return first_below_second(first, second)


def rtree_bulk(boxes: NDArray[Any]) -> NDArray[Any]:
    """Load an R-tree from arrays and query all boxes in one call."""
    index = load("rtree.index", "rtree")
    lower, upper = boxes[:, 0].astype(np.float64), boxes[:, 1].astype(np.float64)
    rows = np.arange(len(boxes))
    tree = index.Index((rows, lower, upper), properties=index.Property(dimension=boxes.shape[2]))
    second, counts = tree.intersection_v(lower, upper)
    return first_below_second(np.repeat(rows, counts.astype(np.int64)), second)


def geoindex(boxes: NDArray[Any]) -> NDArray[Any]:
    """Join a packed Hilbert R-tree with itself."""
    rtree = load("geoindex_rs.rtree", "geoindex-rs")
    builder = rtree.RTreeBuilder(len(boxes), 16, boxes.dtype.name)
    builder.add(*(np.ascontiguousarray(boxes[:, side, axis]) for side in (0, 1) for axis in (0, 1)))
    tree = builder.finish("hilbert")
    joined = rtree.tree_join(tree, tree)
    return first_below_second(joined["left"].to_numpy(), joined["right"].to_numpy())


def fast_quad_tree(boxes: NDArray[Any]) -> NDArray[Any]:
    """Fill a quadtree from an array and query each rectangle; there is no call for all of them."""
    module = load("fastquadtree")
    flat = np.ascontiguousarray(boxes.reshape(len(boxes), 4))
    low, high = boxes[:, 0].min(axis=0) - 1, boxes[:, 1].max(axis=0) + 1
    tree = module.RectQuadTree((*low.tolist(), *high.tolist()), 16, dtype="f32" if flat.itemsize == 4 else "f64")
    tree.insert_many_np(flat)
    answers = [tree.query_np(tuple(rectangle))[0] for rectangle in flat.tolist()]
    counts = [len(answer) for answer in answers]
    return first_below_second(np.repeat(np.arange(len(boxes)), counts), np.concatenate(answers))


def pr_tree(boxes: NDArray[Any]) -> NDArray[Any]:
    """Build a priority R-tree from an array and query all boxes in one call."""
    # The public class returns lists of lists; the class that it wraps returns arrays, twice as fast.
    tree_class = getattr(load("python_prtree.PRTree", "python-prtree"), f"_PRTree{boxes.shape[2]}D")
    flat, rows = np.ascontiguousarray(boxes.reshape(len(boxes), -1)), np.arange(len(boxes))
    counts, second = tree_class(rows, flat).batch_query_array(flat)
    return first_below_second(np.repeat(rows, counts), second)


def as_pairs(rows: list[Any]) -> NDArray[Any]:
    """Return a list of pairs, or of alternating first and second rows, as an array with first < second."""
    return np.sort(np.array(rows, np.int64).reshape(-1, 2), axis=1)


def ipctk_vertices(boxes: NDArray[Any], broad_phase: Any) -> NDArray[Any]:
    """Take each box as a vertex that moves from the lower corner to the upper one: its swept box is the box."""
    lower, upper = (np.asfortranarray(boxes[:, side], np.float64) for side in (0, 1))
    none = (np.zeros((0, size), np.int32, order="F") for size in (2, 3))
    broad_phase.build(lower, upper, *none)
    names = attrgetter("vertex0_id", "vertex1_id")
    return as_pairs([names(candidate) for candidate in broad_phase.detect_vertex_vertex_candidates()])


def ipctk_lbvh(boxes: NDArray[Any]) -> NDArray[Any]:
    """Linear bounding volume hierarchy of the IPC toolkit."""
    module = load("ipctk")
    module.set_num_threads(1)
    return ipctk_vertices(boxes, module.LBVH())


def ipctk_hash_grid(boxes: NDArray[Any]) -> NDArray[Any]:
    """Hash grid of the IPC toolkit."""
    module = load("ipctk")
    module.set_num_threads(1)
    return ipctk_vertices(boxes, module.HashGrid())


def fcl(boxes: NDArray[Any]) -> NDArray[Any]:
    """Dynamic AABB tree of FCL; its callback names objects only by where they are, so centres must differ."""
    module = load("fcl", "python-fcl")
    lower, upper = np.zeros((len(boxes), 3)), np.ones((len(boxes), 3))
    lower[:, : boxes.shape[2]], upper[:, : boxes.shape[2]] = boxes[:, 0], boxes[:, 1]
    centers, edges, upright = (lower + upper) / 2, upper - lower, np.eye(3)
    objects = [
        module.CollisionObject(module.Box(*edge), module.Transform(upright, center))
        for edge, center in zip(edges.tolist(), centers, strict=True)
    ]
    rows = {center.tobytes(): row for row, center in enumerate(centers)}
    manager = module.DynamicAABBTreeCollisionManager()
    manager.registerObjects(objects)
    manager.setup()
    found: list[int] = []

    def note(first: Any, second: Any, _: Any) -> bool:
        found.append(rows[first.getTranslation().tobytes()])
        found.append(rows[second.getTranslation().tobytes()])
        return False

    manager.collide(None, note)
    return as_pairs(found)


def pymunk(boxes: NDArray[Any]) -> NDArray[Any]:
    """Space of pymunk with one static shape per rectangle, queried with each."""
    module = load("pymunk")
    space, everything = module.Space(), module.ShapeFilter()
    bounds = [module.BB(*rectangle) for rectangle in boxes.reshape(len(boxes), 4).tolist()]
    rows = {module.Poly.create_box_bb(space.static_body, bound): row for row, bound in enumerate(bounds)}
    space.add(*rows)
    hits = ((row, rows[shape]) for row, bound in enumerate(bounds) for shape in space.bb_query(bound, everything))
    return as_pairs([pair for pair in hits if pair[0] < pair[1]])


def pygame(boxes: NDArray[Any]) -> NDArray[Any]:
    """Ask `FRect.collidelistall` of pygame-ce for each rectangle: what most games do."""
    rect = load("pygame", "pygame-ce").FRect
    rectangles = [rect(a, b, c - a, d - b) for a, b, c, d in boxes.reshape(len(boxes), 4).tolist()]
    hits = ((row, other) for row, one in enumerate(rectangles) for other in one.collidelistall(rectangles))
    return as_pairs([pair for pair in hits if pair[0] < pair[1]])


@dataclass(frozen=True, slots=True)
class Peer:
    """A library that finds overlapping boxes, and what it can do.

    Attributes
    ----------
    name : str
        Key on the command line.
    title : str
        Name in tables and plots.
    distribution : str
        What ``pip install`` calls it.
    find : callable
        ``find(boxes)`` gives the `(m, 2)` pairs.
    dimensions : tuple of int
        Numbers of axes that it takes.
    equal_cubes : bool
        True when every box must be the same cube.
    touching : bool
        False when boxes that only touch are no pair for it (the rule of pygame).
    largest : int
        More boxes than this are not tried: its time grows with the square of the count.
    remark : str
        What to know when reading its time.
    """

    name: str
    title: str
    distribution: str
    find: FindPairs
    dimensions: tuple[int, ...]
    equal_cubes: bool = False
    touching: bool = True
    largest: int = 10_000_000
    remark: str = ""


PEERS: tuple[Peer, ...] = (
    Peer("scipy", "SciPy cKDTree", "scipy", scipy_kd_tree, (1, 2, 3, 4), equal_cubes=True, remark="equal cubes"),
    Peer("shapely", "Shapely STRtree", "shapely", shapely_str_tree, (2,), remark="2D"),
    Peer("rtree", "rtree, bulk", "rtree", rtree_bulk, (2, 3, 4)),
    Peer("geoindex", "geoindex-rs", "geoindex-rs", geoindex, (2,), remark="2D"),
    Peer("fastquadtree", "fastquadtree", "fastquadtree", fast_quad_tree, (2,), remark="2D"),
    Peer("prtree", "python-prtree", "python-prtree", pr_tree, (2, 3, 4), remark="threads of its own"),
    Peer("ipctk_lbvh", "ipctk LBVH", "ipctk", ipctk_lbvh, (2, 3), remark="float32 nodes: a few extra pairs"),
    Peer("ipctk_hash_grid", "ipctk HashGrid", "ipctk", ipctk_hash_grid, (2, 3)),
    Peer("fcl", "python-fcl", "python-fcl", fcl, (2, 3), remark="distinct centres"),
    Peer("pymunk", "pymunk", "pymunk", pymunk, (2,), remark="2D"),
    Peer("pygame", "pygame-ce", "pygame-ce", pygame, (2,), touching=False, largest=3000, remark="2D, n²"),
    Peer("numpy_sweep", "NumPy sort and sweep", "numpy", sort_and_sweep, (1, 2, 3, 4)),
    Peer("numpy_brute", "NumPy brute force", "numpy", brute_force, (1, 2, 3, 4), largest=20_000, remark="n²"),
)


def peer(name: str) -> Peer:
    """Look up a peer by name; a `ValueError` names those that there are."""
    for candidate in PEERS:
        if candidate.name == name:
            return candidate
    raise ValueError(f"no peer is named {name!r}; the peers are {', '.join(row.name for row in PEERS)}")


def installed_version(which: Peer) -> str | None:
    """Return the version of a peer's distribution, or None when it is not installed."""
    return version_of(which.distribution)


def unsuited(which: Peer, boxes: NDArray[Any]) -> str:
    """Return why a peer cannot do a scene, or an empty string.

    Parameters
    ----------
    which : Peer
        A row of `PEERS`.
    boxes : ndarray, shape (n, 2, d)
        The scene.

    Returns
    -------
    reason : str
        Such as ``"not installed"`` or ``"equal cubes only"``.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.peers import peer, unsuited
    >>> unsuited(peer("numpy_sweep"), np.zeros((3, 2, 3)))
    ''
    >>> unsuited(peer("numpy_brute"), np.zeros((50_000, 2, 3)))
    'more than 20,000 boxes'
    """
    count, _, dimension = boxes.shape
    if installed_version(which) is None:
        return "not installed"
    if dimension not in which.dimensions:
        return f"no {dimension}D"
    if count > which.largest:
        return f"more than {which.largest:,} boxes"
    if not np.isfinite(boxes).all():
        return "finite boxes only" if which.distribution != "numpy" else ""
    if which.equal_cubes and count:
        extents = boxes[:, 1] - boxes[:, 0]
        rounding = 4 * np.finfo(boxes.dtype).eps * float(np.abs(boxes).max())
        if extents.max() - extents.min() > rounding:
            return "equal cubes only"
    return ""
