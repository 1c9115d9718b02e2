"""Scenes as points of a space of a few numbers, so that a search can climb towards those that cost most."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.testing.draws import Draws, exponential, root

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

LOG_OF_10 = 2.302585092994046
FAR = 1e30  # of the far boxes, on any scale of the others


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a scene is made of: boxes in clusters, and how unlike these are. Spreads are in decades."""

    dim: int  # 1 to 4
    clusters: int  # boxes are uniform in the cube of their cluster
    width_spread: float = 0.0  # of the widths of clusters
    place_spread: float = 0.0  # of their distances from the origin
    size_spread: float = 0.0  # between boxes of one cluster, two standard deviations apart
    axis_spread: float = 0.0  # between the shortest and the longest axis of a box
    shuffled: bool = False  # each box has its axes in an order of its own
    sizes_by_width: bool = False  # sizes are in proportion to the width of the cluster
    overlaps: float = 1.0  # about as many for each box, if clusters do not overlap
    copies: int = 1  # how often each box is present
    far: float = 0.0  # share of the boxes that are far away
    huge: float = 0.0  # share of those that reach far
    axis_order: bool = False  # boxes come in the order of their centers along the first axis

    def boxes(self, n: int, seed: int, dtype: DTypeLike) -> NDArray[Any]:
        """Make `n` boxes of the scene, the same on every machine; a new array of shape (n, 2, dim)."""
        rng = Draws(seed)
        dim, made = self.dim, -(-n // self.copies)
        chosen = rng.integers(0, self.clusters, made)
        widths = decades(rng, self.width_spread, self.clusters)
        places = rng.between(-3.0, 3.0, (self.clusters, dim)) * (
            self.clusters if dim == 1 else root(self.clusters, dim)
        )
        places *= decades(rng, self.place_spread, self.clusters)
        own = widths[chosen]
        centers = places[chosen] + own * rng.between(-0.5, 0.5, (made, dim))
        halves = exponential(0.5 * LOG_OF_10 * self.size_spread * rng.normal((made, 1))) * np.ones(dim)
        ranks = np.argsort(rng.random((made, dim)), axis=1) if self.shuffled else np.arange(dim)
        halves = halves * exponential(np.asarray(LOG_OF_10 * self.axis_spread * (ranks / max(1, dim - 1) - 0.5)))
        scale = own if self.sizes_by_width else np.sort(widths, axis=0)[self.clusters // 2]
        halves = halves * scale
        # By the mean volume that two boxes meet in, in a cluster of the middle size.
        volumes = np.ones(made)
        for side in (4.0 * halves / scale).T:
            volumes *= side
        halves *= root(self.overlaps * self.clusters / self.copies / max(fsum(volumes), 1e-300), dim)
        order = rng.permutation(made)
        far, huge = order[: int(self.far * made)], order[made - int(self.huge * made) :]
        centers[far] = rng.between(-FAR, FAR, (len(far), dim))
        halves[huge, rng.integers(0, dim, len(huge))] = FAR
        rows = rng.permutation(made * self.copies)[:n] % max(made, 1)
        if self.axis_order:
            rows = rows[np.argsort(centers[rows, 0], kind="stable")]
        return from_centers(centers[rows], halves[rows], dtype)


def decades(rng: Draws, spread: float, count: int) -> NDArray[np.float64]:
    """Draw `count` factors, log-uniform over `spread` decades around 1."""
    return exponential(LOG_OF_10 * spread * rng.between(-0.5, 0.5, (count, 1)))


def from_centers(centers: NDArray[Any], halves: NDArray[Any] | float, dtype: DTypeLike) -> NDArray[Any]:
    """Build `(n, 2, d)` boxes from centres `(n, d)` and half sizes, rounding each corner once to `dtype`."""
    boxes = np.empty((len(centers), 2, centers.shape[1]), dtype)
    np.subtract(centers, halves, out=boxes[:, 0], casting="same_kind")
    np.add(centers, halves, out=boxes[:, 1], casting="same_kind")
    return boxes
