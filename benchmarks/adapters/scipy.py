"""Points: `broadphase.adapters.scipy` beside SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.adapters import faster
from benchmarks.measuring import load
from benchmarks.rows import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

CALLS = {
    "tree and query, k = 1": lambda module, points, radius: module.cKDTree(points).query(points),
    "tree and query, k = 8": lambda module, points, radius: module.cKDTree(points).query(points, 8),
    "tree and query_pairs, array": lambda module, points, radius: module.cKDTree(points).query_pairs(
        radius, output_type="ndarray"
    ),
    "tree and query_pairs, set": lambda module, points, radius: module.cKDTree(points).query_pairs(radius),
    "tree and query_ball_point": lambda module, points, radius: module.cKDTree(points).query_ball_point(points, radius),
    "tree and query_ball_point, lengths": lambda module, points, radius: module.cKDTree(points).query_ball_point(
        points, radius, return_length=True
    ),
    "tree and sparse_distance_matrix": lambda module, points, radius: (
        tree := module.cKDTree(points)
    ).sparse_distance_matrix(tree, radius, output_type="coo_matrix"),
    "tree and sparse_distance_matrix, dict of keys": lambda module, points, radius: (
        tree := module.cKDTree(points)
    ).sparse_distance_matrix(tree, radius),
    "tree and query_ball_tree": lambda module, points, radius: (tree := module.cKDTree(points)).query_ball_tree(
        tree, radius
    ),
    "tree and query, k = [1, 3]": lambda module, points, radius: module.cKDTree(points).query(points, [1, 3]),
    "tree and query with a bound": lambda module, points, radius: module.cKDTree(points).query(
        points, 3, distance_upper_bound=radius
    ),
}


def crowds(rng: np.random.Generator) -> Iterator[tuple[str, NDArray[np.float64], float]]:
    """Yield points that are not spread evenly, and a radius for them."""
    points = rng.random((20_000, 3))
    yield "2000 on one spot", np.full((2000, 3), 0.5), 0.1
    yield "20,000, one far away", np.concatenate((points[1:], [[1e9, 1e9, 1e9]])), 0.04
    yield "20,000 in 20 clusters", points[:20].repeat(1000, axis=0) + rng.normal(size=(20_000, 3)) * 1e-3, 2e-4
    yield "100", points[:100], 0.2


def rows(pace: float) -> Iterator[Row]:
    """Yield the rows; each takes some seconds times `pace`."""
    theirs, ours = load("scipy.spatial", "scipy"), load("broadphase.adapters.scipy", "scipy")
    rng = np.random.default_rng(0)
    for count, dimension, least in ((100_000, 2, 2.0), (100_000, 3, 2.0), (1000, 3, 1.0)):
        points = rng.random((count, dimension))
        radius = (5 / count / {2: 3.14, 3: 4.19}[dimension]) ** (1 / dimension)  # five others within it
        for name, call in CALLS.items():
            yield faster(
                f"{name}, {count:,} in {dimension}D",
                lambda call=call, points=points, radius=radius: call(theirs, points, radius),  # type: ignore[misc]
                lambda call=call, points=points, radius=radius: call(ours, points, radius),  # type: ignore[misc]
                least,
                pace,
            )
    for what, crowd, reach in crowds(rng):
        for name, call in CALLS.items():
            yield faster(
                f"{name}, {what}",
                lambda call=call, crowd=crowd, reach=reach: call(theirs, crowd, reach),  # type: ignore[misc]
                lambda call=call, crowd=crowd, reach=reach: call(ours, crowd, reach),  # type: ignore[misc]
                1.0,
                pace / 4,
            )
    their_tree, our_tree = theirs.cKDTree(points), ours.cKDTree(points)
    place = [0.5, 0.5, 0.5]
    for name in ("query", "query_ball_point"):
        arguments = (place,) if name == "query" else (place, radius)
        yield faster(
            f"{name}, one place in 1000",
            lambda name=name, arguments=arguments: getattr(their_tree, name)(*arguments),  # type: ignore[misc]
            lambda name=name, arguments=arguments: getattr(our_tree, name)(*arguments),  # type: ignore[misc]
            1.0,
            pace,
        )
