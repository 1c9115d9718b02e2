"""The libraries that people use today for the same job: one row each, and how to tell whether one is installed.

Every adapter takes `(n, 2, d)` boxes as a NumPy array and gives every overlapping pair as an `(m, 2)` array of row
numbers, first < second. What lies between, making the library's own objects and turning its answer into an array, is
part of the job and of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.bench import peer_engines as engines
from broadphase.bench import peer_numpy as plain
from broadphase.bench import peer_trees as trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FindPairs = Callable[[NDArray[Any]], NDArray[Any]]

__all__ = ["PEERS", "Peer", "installed_version", "peer", "unsuited", "version_of"]


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
    Peer("scipy", "SciPy cKDTree", "scipy", trees.scipy_kd_tree, (1, 2, 3, 4), equal_cubes=True, remark="equal cubes"),
    Peer("shapely", "Shapely STRtree", "shapely", trees.shapely_str_tree, (2,), remark="2D"),
    Peer("rtree", "rtree, bulk", "rtree", trees.rtree_bulk, (2, 3, 4)),
    Peer("geoindex", "geoindex-rs", "geoindex-rs", trees.geoindex, (2,), remark="2D"),
    Peer("fastquadtree", "fastquadtree", "fastquadtree", trees.fast_quad_tree, (2,), remark="2D"),
    Peer("prtree", "python-prtree", "python-prtree", trees.pr_tree, (2, 3, 4), remark="threads of its own"),
    Peer("ipctk_lbvh", "ipctk LBVH", "ipctk", engines.ipctk_lbvh, (2, 3), remark="float32 nodes: a few extra pairs"),
    Peer("ipctk_hash_grid", "ipctk HashGrid", "ipctk", engines.ipctk_hash_grid, (2, 3)),
    Peer("fcl", "python-fcl", "python-fcl", engines.fcl, (2, 3), remark="distinct centres"),
    Peer("pymunk", "pymunk", "pymunk", engines.pymunk, (2,), remark="2D"),
    Peer("pygame", "pygame-ce", "pygame-ce", engines.pygame, (2,), touching=False, largest=3000, remark="2D, n²"),
    Peer("numpy_sweep", "NumPy sort and sweep", "numpy", plain.sort_and_sweep, (1, 2, 3, 4)),
    Peer("numpy_brute", "NumPy brute force", "numpy", plain.brute_force, (1, 2, 3, 4), largest=20_000, remark="n²"),
)


def peer(name: str) -> Peer:
    """Look up a peer by name; a `ValueError` names those that there are."""
    for candidate in PEERS:
        if candidate.name == name:
            return candidate
    raise ValueError(f"no peer is named {name!r}; the peers are {', '.join(row.name for row in PEERS)}")


def installed_version(which: Peer) -> str | None:
    """Give the version of a peer's distribution, or None when it is not installed."""
    return version_of(which.distribution)


def version_of(distribution: str) -> str | None:
    """Give the version of what ``pip install`` calls by that name, or None when it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def unsuited(which: Peer, boxes: NDArray[Any]) -> str:
    """Say why a peer cannot do a scene, or give an empty string when it can.

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
    >>> from broadphase.bench import peer, unsuited
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
