"""Other libraries that answer queries of boxes, points and rays: one row for each library and kind of query.

An adapter gets a `Setting` and returns a function that does one round: build and query, or, for boxes that move, take
over one frame and query. Making the library's own objects and turning its answer into arrays is part of the job and of
the time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import peers
from benchmarks.measuring import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.settings import Setting

    Pairs = NDArray[Any]
    Round = Callable[[int], tuple[Pairs, Pairs]]
    Hits = tuple[NDArray[Any], NDArray[Any]]


def sorted_pair_keys(first: Any, second: Any) -> NDArray[np.int64]:
    """Pack each pair of different rows, the smaller first, into one integer; each pair once, in order."""
    first, second = (np.asarray(rows, np.int64) for rows in (first, second))
    keys = (np.minimum(first, second) << 32) | np.maximum(first, second)
    return np.unique(keys[first != second])


def keys_of(pairs: Pairs) -> NDArray[np.int64]:
    """Pack pairs that are there once, the smaller row first, into one integer each, in order."""
    keys = (pairs[:, 0].astype(np.int64) << 32) | pairs[:, 1]
    keys.sort()
    return keys


def pairs_of(keys: NDArray[np.int64]) -> Pairs:
    """Take the integers apart again."""
    return np.stack([keys >> 32, keys & 0xFFFF_FFFF], axis=1)


def changed(before: NDArray[np.int64], now: NDArray[np.int64]) -> tuple[Pairs, Pairs]:
    """Return the enter and the exit pairs, of sorted distinct keys."""
    enter, exit = np.setdiff1d(now, before, assume_unique=True), np.setdiff1d(before, now, assume_unique=True)
    return pairs_of(enter), pairs_of(exit)


class FclScene:
    """Boxes in a manager of FCL, whose callback names objects only by where they are: centres must differ."""

    def __init__(self, boxes: NDArray[Any]) -> None:
        self.fcl = load("fcl", "python-fcl")
        lower, upper = boxes[:, 0].astype(np.float64), boxes[:, 1].astype(np.float64)
        self.centers, upright = (lower + upper) / 2, np.eye(3)
        self.objects = [
            self.fcl.CollisionObject(self.fcl.Box(*edge), self.fcl.Transform(upright, center))
            for edge, center in zip((upper - lower).tolist(), self.centers, strict=True)
        ]
        self.rows = {center.tobytes(): row for row, center in enumerate(self.centers)}
        self.manager = self.fcl.DynamicAABBTreeCollisionManager()
        self.manager.registerObjects(self.objects)
        self.manager.setup()
        self.found: list[int] = []

    def note(self, first: Any, second: Any, _: Any) -> bool:
        """Remember a pair; called by FCL."""
        self.found.append(self.rows[first.getTranslation().tobytes()])
        self.found.append(self.rows[second.getTranslation().tobytes()])
        return False

    def move(self, rows: Iterable[int], boxes: NDArray[Any]) -> None:
        """Put some boxes elsewhere; their sizes stay."""
        centers = (boxes[:, 0].astype(np.float64) + boxes[:, 1]) / 2
        moved = []
        for row, center in zip(rows, centers, strict=True):
            self.rows.pop(self.centers[row].tobytes(), None)
            self.objects[row].setTranslation(center)
            moved.append(self.objects[row])
        for row, center in zip(rows, centers, strict=True):
            self.rows[center.tobytes()] = row
            self.centers[row] = center
        self.manager.update(moved)

    def answer(self) -> tuple[Pairs, Pairs]:
        """Return what was noted since the last call, as first and second rows."""
        pairs = np.array(self.found, np.int64).reshape(-1, 2)
        self.found = []
        return pairs[:, 0], pairs[:, 1]

    def partners(self, rows: Iterable[int]) -> NDArray[np.int64]:
        """Return the pairs of some boxes."""
        for row in rows:
            self.manager.collide(self.objects[row], None, self.note)
        return sorted_pair_keys(*self.answer())


def fcl_few(setting: Setting) -> Round:
    """Query the partners of the moving boxes, move them, and query again."""
    scene = FclScene(setting.boxes)

    def step(number: int) -> tuple[Pairs, Pairs]:
        frame = setting.frames[number]
        rows = frame.rows.tolist()
        before = scene.partners(rows)
        scene.move(rows, frame.boxes)
        return changed(before, scene.partners(rows))

    return step


def fcl_all(setting: Setting) -> Round:
    """Move everything and find all pairs."""
    scene = FclScene(setting.boxes)

    def step(number: int) -> tuple[Pairs, Pairs]:
        frame = setting.frames[number]
        scene.move(frame.rows.tolist(), frame.boxes)
        scene.manager.collide(None, scene.note)
        first, second = scene.answer()
        return np.minimum(first, second), np.maximum(first, second)

    return step


def rtree_few(setting: Setting) -> Round:
    """Query the partners of the moving boxes, delete and insert them, and query again."""
    index, now = load("rtree.index", "rtree"), setting.boxes.astype(np.float64)
    properties = index.Property(dimension=now.shape[2])
    tree = index.Index((np.arange(len(now)), now[:, 0].copy(), now[:, 1].copy()), properties=properties)

    def partners(rows: NDArray[Any]) -> NDArray[np.int64]:
        found, counts = tree.intersection_v(now[rows, 0], now[rows, 1])
        return sorted_pair_keys(np.repeat(rows, counts.astype(np.int64)), found)

    def step(number: int) -> tuple[Pairs, Pairs]:
        frame = setting.frames[number]
        before = partners(frame.rows)
        old, new = now[frame.rows].reshape(len(frame.rows), -1), frame.boxes.astype(np.float64)
        for row, box, moved in zip(frame.rows.tolist(), old.tolist(), new.reshape(old.shape).tolist(), strict=True):
            tree.delete(row, box)
            tree.insert(row, moved)
        now[frame.rows] = new
        return changed(before, partners(frame.rows))

    return step


def rebuilding(find: Callable[[NDArray[Any]], Pairs]) -> tuple[Callable[[Setting], Round], Callable[[Setting], Round]]:
    """Make rounds of a function that finds all pairs of a frame: one returns what changed, one all pairs."""

    def few(setting: Setting) -> Round:
        last = keys_of(find(setting.boxes))

        def step(number: int) -> tuple[Pairs, Pairs]:
            nonlocal last
            before, last = last, keys_of(find(setting.frames[number].scene))
            return changed(before, last)

        return step

    def every(setting: Setting) -> Round:
        def step(number: int) -> tuple[Pairs, Pairs]:
            pairs = find(setting.frames[number].scene)
            return pairs[:, 0], pairs[:, 1]

        return step

    return few, every


# Corners of a box are numbered by bits: 1 for the upper one in x, 2 in y, 4 in z.
CORNERS = np.array(list(itertools.product((0, 1), repeat=3)))[:, ::-1]
TRIANGLES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
                      [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip


def shapely_str_tree(setting: Setting) -> Hits:
    """STR-packed R-tree, queried with all rectangles in one call."""
    shapely = load("shapely")
    rectangles, queries = (
        shapely.box(boxes[:, 0, 0], boxes[:, 0, 1], boxes[:, 1, 0], boxes[:, 1, 1])
        for boxes in (setting.boxes, setting.queries[0])
    )
    query_rows, rows = shapely.STRtree(rectangles).query(queries)
    return query_rows, rows


def geoindex(setting: Setting) -> Hits:
    """Join two packed Hilbert R-trees."""
    rtree = load("geoindex_rs.rtree", "geoindex-rs")
    trees = []
    for boxes in (setting.queries[0], setting.boxes):
        builder = rtree.RTreeBuilder(len(boxes), 16, boxes.dtype.name)
        builder.add(*(np.ascontiguousarray(boxes[:, side, axis]) for side in (0, 1) for axis in (0, 1)))
        trees.append(builder.finish("hilbert"))
    joined = rtree.tree_join(*trees)
    return joined["left"].to_numpy(), joined["right"].to_numpy()


def fast_quad_tree(setting: Setting) -> Hits:
    """Fill a quadtree from an array and query each rectangle; there is no call for all of them."""
    module = load("fastquadtree")
    flat, queries = (
        np.ascontiguousarray(boxes.reshape(len(boxes), 4)) for boxes in (setting.boxes, setting.queries[0])
    )
    low, high = setting.boxes[:, 0].min(axis=0) - 1, setting.boxes[:, 1].max(axis=0) + 1
    tree = module.RectQuadTree((*low.tolist(), *high.tolist()), 16, dtype="f32")
    tree.insert_many_np(flat)
    answers = [tree.query_np(tuple(rectangle))[0] for rectangle in queries.tolist()]
    counts = [len(answer) for answer in answers]
    return np.repeat(np.arange(len(queries)), counts), np.concatenate(answers)


def rtree_bulk(setting: Setting) -> Hits:
    """Load an R-tree from arrays and query all boxes in one call."""
    index = load("rtree.index", "rtree")
    lower, upper = (setting.boxes[:, side].astype(np.float64) for side in (0, 1))
    properties = index.Property(dimension=setting.boxes.shape[2])
    tree = index.Index((np.arange(len(lower)), lower, upper), properties=properties)
    rows, counts = tree.intersection_v(*(setting.queries[0][:, side].astype(np.float64) for side in (0, 1)))
    return np.repeat(np.arange(len(counts)), counts.astype(np.int64)), rows


def pr_tree(setting: Setting) -> Hits:
    """Build a priority R-tree from an array and query all boxes in one call."""
    # As for all pairs: the wrapped class returns arrays, twice as fast.
    tree_class = getattr(load("python_prtree.PRTree", "python-prtree"), f"_PRTree{setting.boxes.shape[2]}D")
    flat, queries = (
        np.ascontiguousarray(boxes.reshape(len(boxes), -1)) for boxes in (setting.boxes, setting.queries[0])
    )
    counts, rows = tree_class(np.arange(len(flat)), flat).batch_query_array(queries)
    return np.repeat(np.arange(len(queries)), counts), rows


def scipy_balls(setting: Setting) -> Hits:
    """`cKDTree.query_ball_point`, whose lists are chained into one array."""
    centres, radii = setting.queries
    answers = load("scipy.spatial", "scipy").cKDTree(setting.boxes[:, 0]).query_ball_point(centres, radii)
    counts = np.fromiter(map(len, answers), np.int64, len(answers))
    rows = np.fromiter(itertools.chain.from_iterable(answers), np.int64, int(counts.sum()))
    return np.repeat(np.arange(len(answers)), counts), rows


def scipy_equal_balls(setting: Setting) -> Hits:
    """`cKDTree.sparse_distance_matrix`, which returns arrays if all radii are equal."""
    tree = load("scipy.spatial", "scipy").cKDTree
    centres, radii = setting.queries
    near = tree(centres).sparse_distance_matrix(tree(setting.boxes[:, 0]), radii[0], output_type="ndarray")
    return near["i"], near["j"]


def scipy_nearest(count: int) -> Callable[[Setting], Hits]:
    """`cKDTree.query` for the `count` nearest."""

    def solve(setting: Setting) -> Hits:
        tree = load("scipy.spatial", "scipy").cKDTree(setting.boxes[:, 0])
        distances, rows = tree.query(setting.queries[0], count)
        return rows, distances

    return solve


def embree(setting: Setting) -> tuple[NDArray[Any]]:
    """Cast rays by Embree at boxes of twelve triangles each."""
    scenes, meshes = load("embreex.rtcore_scene", "embreex"), load("embreex.mesh_construction", "embreex")
    vertices = np.stack([setting.boxes[:, CORNERS[:, axis], axis] for axis in range(3)], axis=2)
    triangles = TRIANGLES + 8 * np.arange(len(setting.boxes))[:, None, None]
    scene = scenes.EmbreeScene()
    mesh = meshes.TriangleMesh(
        scene, vertices.reshape(-1, 3).astype(np.float32), triangles.reshape(-1, 3).astype(np.int32)
    )
    found = scene.run(*setting.queries)
    del mesh
    return (np.where(found >= 0, found // len(TRIANGLES), -1),)


def numpy_planes(setting: Setting) -> Hits:
    """Take the corner of each box that lies farthest inwards of each plane: six planes, and no more than that."""
    lower, upper = (np.ascontiguousarray(setting.boxes[:, side].T) for side in (0, 1))
    query_rows, found = [], []
    for number, planes in enumerate(setting.queries[0].astype(np.float32)):
        inside = np.ones(lower.shape[1], bool)
        for normal, distance in zip(planes[:, :3], planes[:, 3], strict=True):
            farthest = [(upper if part > 0 else lower)[axis] * part for axis, part in enumerate(normal)]
            inside &= farthest[0] + farthest[1] + farthest[2] >= -distance
        rows = np.flatnonzero(inside)
        query_rows.append(np.full(len(rows), number))
        found.append(rows)
    return np.concatenate(query_rows), np.concatenate(found)


def once(solve: Callable[[Setting], Any]) -> Callable[[Setting], Callable[[int], Any]]:
    """Make a round that builds and queries each time."""
    return lambda setting: lambda _: solve(setting)


@dataclass(frozen=True, slots=True)
class QueryPeer:
    """A library and one kind of query that it supports.

    Attributes
    ----------
    name : str
        Key on the command line; the same for all kinds of query.
    title : str
        Name in tables and plots.
    distribution : str
        What ``pip install`` calls it.
    tasks : tuple of str
        Names of `TASKS`.
    begin : callable
        ``begin(setting)`` returns ``round(number)``, which is timed and returns the answer.
    share : float
        Share of the queries, if all would take too long.
    remark : str
        What to know when reading its time.
    """

    name: str
    title: str
    distribution: str
    tasks: tuple[str, ...]
    begin: Callable[[Setting], Callable[[int], Any]]
    share: float = 1.0
    remark: str = ""


PLANE, BOTH = ("boxes_2d",), ("boxes_2d", "boxes_3d")
EQUAL = "equal cubes only"
SCIPY_FEW, SCIPY_ALL = rebuilding(peers.scipy_kd_tree)
_, RTREE_ALL = rebuilding(peers.rtree_bulk)
QUERY_PEERS: tuple[QueryPeer, ...] = (
    QueryPeer("shapely", "Shapely STRtree", "shapely", PLANE, once(shapely_str_tree)),
    QueryPeer("geoindex", "geoindex-rs", "geoindex-rs", PLANE, once(geoindex)),
    QueryPeer("fastquadtree", "fastquadtree", "fastquadtree", PLANE, once(fast_quad_tree)),
    QueryPeer("rtree", "rtree, bulk", "rtree", BOTH, once(rtree_bulk)),
    QueryPeer("prtree", "python-prtree", "python-prtree", BOTH, once(pr_tree), remark="threads of its own"),
    QueryPeer("scipy_sparse", "SciPy sparse_distance_matrix", "scipy", ("balls",), once(scipy_equal_balls),
              remark="equal radii only"),
    QueryPeer("scipy", "SciPy query_ball_point", "scipy", ("balls",), once(scipy_balls)),
    QueryPeer("scipy", "SciPy cKDTree", "scipy", ("nearest_1",), once(scipy_nearest(1))),
    QueryPeer("scipy", "SciPy cKDTree", "scipy", ("nearest_8",), once(scipy_nearest(8))),
    QueryPeer("embree", "Embree by embreex", "embreex", ("rays",), once(embree),
              remark="12 triangles a box, float32"),
    QueryPeer("numpy", "NumPy, six planes", "numpy", ("frustums",), once(numpy_planes),
              remark="boxes near an edge of the frustum are extra"),
    QueryPeer("fcl", "python-fcl", "python-fcl", ("few_move",), fcl_few),
    QueryPeer("rtree", "rtree, delete and insert", "rtree", ("few_move",), rtree_few),
    QueryPeer("scipy", "SciPy cKDTree, rebuilt", "scipy", ("few_move",), SCIPY_FEW, remark=EQUAL),
    QueryPeer("fcl", "python-fcl", "python-fcl", ("all_move",), fcl_all),
    QueryPeer("rtree", "rtree, bulk, rebuilt", "rtree", ("all_move",), RTREE_ALL),
    QueryPeer("scipy", "SciPy cKDTree, rebuilt", "scipy", ("all_move",), SCIPY_ALL, remark=EQUAL),
)  # fmt: skip
