"""Spatial indexes from Python: each is built over all boxes and asked for what meets each box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.bench.extras import load

if TYPE_CHECKING:
    from numpy.typing import NDArray


def first_below_second(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Keep each pair once: an index that is asked for every box names both orders, and each box with itself."""
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
    """Load an R-tree from arrays and ask for all boxes in one call."""
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
    """Fill a quadtree from an array and ask for each rectangle; there is no call for all of them."""
    module = load("fastquadtree")
    flat = np.ascontiguousarray(boxes.reshape(len(boxes), 4))
    low, high = boxes[:, 0].min(axis=0) - 1, boxes[:, 1].max(axis=0) + 1
    tree = module.RectQuadTree((*low.tolist(), *high.tolist()), 16, dtype="f32" if flat.itemsize == 4 else "f64")
    tree.insert_many_np(flat)
    answers = [tree.query_np(tuple(rectangle))[0] for rectangle in flat.tolist()]
    counts = [len(answer) for answer in answers]
    return first_below_second(np.repeat(np.arange(len(boxes)), counts), np.concatenate(answers))


def pr_tree(boxes: NDArray[Any]) -> NDArray[Any]:
    """Build a priority R-tree from an array and ask for all boxes in one call."""
    # The public class gives lists of lists; the array answer lives on the class that it wraps, and is twice as fast.
    tree_class = getattr(load("python_prtree.PRTree", "python-prtree"), f"_PRTree{boxes.shape[2]}D")
    flat, rows = np.ascontiguousarray(boxes.reshape(len(boxes), -1)), np.arange(len(boxes))
    counts, second = tree_class(rows, flat).batch_query_array(flat)
    return first_below_second(np.repeat(rows, counts), second)
