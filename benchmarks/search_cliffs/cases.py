"""What a case is called with: boxes that are spread in some way, their order, and what options take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import numpy as np

import broadphase as bp
from broadphase.testing.recipes import from_centers

Array = np.ndarray[Any, Any]

CROWD = 30  # overlaps of a box; where there are more, they are most of the time


@dataclass(frozen=True, slots=True)
class Case:
    """What is called, and what it is called with: all that is off the road is a feature."""

    subject: str
    seed: int
    n: int
    dim: int
    dtype: str = "float64"
    kind: str = ""
    density: float = 4.0
    features: dict[str, Any] = field(default_factory=dict)

    def rng(self, name: str) -> np.random.Generator:
        """Return a source of random numbers for one purpose, which does not depend on the features."""
        return np.random.default_rng((self.seed, crc32(name.encode())))

    def without(self, *names: str) -> Case:
        """Return the case without some features."""
        return replace(self, features={name: value for name, value in self.features.items() if name not in names})

    def __str__(self) -> str:
        """Name the features."""
        return ", ".join(f"{name}={value}" for name, value in sorted(self.features.items())) or "plain"


def spread(case: Case, name: str, n: int, density: float) -> tuple[Array, Array]:
    """Draw centers and half sizes of boxes, each with about `density` overlaps where they are even."""
    rng, d = case.rng("boxes"), case.dim
    width = 0.5 * (density / n) ** (1 / d)
    centers, halves = rng.random((n, d)), np.full((n, d), width / 2)
    some = rng.integers(0, n, max(1, n // 1000))
    ends = rng.integers(0, d, n)
    if name in ("line", "last line", "diagonal"):
        along = rng.random((n, 1))
        centers = np.full((n, d), 0.5) if name != "diagonal" else np.repeat(along, d, axis=1)
        centers[:, 0 if name == "line" else -1] = along[:, 0]
        halves[:] = density / n / 4
    elif name == "clusters":
        centers = centers[rng.integers(0, len(some), n)] + rng.normal(0, 0.03 * len(some) ** (-1 / d), (n, d))
        halves *= 0.1
    elif name in ("log-normal sizes", "wide sizes"):
        factor = np.exp(rng.normal(0, 1.0 if name == "log-normal sizes" else 3.0, (n, 1)))
        halves = halves * factor / np.mean((2 * factor) ** d) ** (1 / d) * 2
    elif name in ("sticks", "slabs", "parallel sticks"):
        factor = np.full((n, d), 0.2 if name != "slabs" else 4.0)
        factor[np.arange(n), 0 if name == "parallel sticks" else ends] = 6.0 if name != "slabs" else 0.002
        halves = halves * factor
    elif name in ("tiles", "jittered tiles"):
        side = int(np.ceil(n ** (1 / d)))
        cells = np.stack(np.unravel_index(np.arange(n), (side,) * d), axis=1)
        centers = (cells + (rng.random((n, d)) if name == "jittered tiles" else 0.5)) / side
        halves[:] = (0.4 if name == "jittered tiles" else 0.5) / side
    elif name == "equal":
        centers[:] = 0.5
    elif name == "copies":
        centers, halves = centers[np.arange(n) % max(1, n // 16)], halves * 0.3
    elif name == "few spots":
        centers, halves = centers[np.arange(n) % 20], halves * 0.3
    elif name == "nearly equal":
        centers = 0.5 + width * 1e-3 * centers
    elif name == "points":
        halves[:] = 0.0
    elif name == "one huge":
        centers[n // 2], halves[n // 2] = 0.5, 0.5
    elif name == "huge":
        centers[some], halves[some] = 0.5, 0.5
    elif name == "infinite":
        halves[some[:8], ends[: len(some[:8])]] = np.inf
    elif name == "far":
        centers[some] = 10.0 ** rng.uniform(1, 9, (len(some), 1))
    elif name == "far from origin":
        centers = centers + 1e5
    elif name == "decades":
        centers = 10.0 ** rng.uniform(-8, 8, (n, d))
        halves = centers * 1e-4
    elif name == "dense half":
        centers[: n // 2] *= 1e-3
        halves[: n // 2] *= 1e-3
    elif name == "corner":
        centers, halves = centers**6, halves * 0.1
    elif name == "tiny":
        centers, halves = centers * 1e-30, halves * 1e-30
    elif name == "cross bars":
        bars = np.arange(min(n // 4, int(np.sqrt(n * density / 2))))
        for axis in range(min(2, d)):
            rows = bars + axis * len(bars)
            centers[rows, axis], halves[rows, axis] = 0.5, 0.5
        halves = np.where(halves < 0.5, halves * 0.2, halves)
    return centers, halves


SCENES = (
    *("line", "last line", "diagonal", "clusters", "log-normal sizes", "wide sizes", "sticks", "slabs", "tiles"),
    *(
        "parallel sticks",
        "jittered tiles",
        "equal",
        "copies",
        "few spots",
        "nearly equal",
        "points",
        "one huge",
        "huge",
    ),
    *("infinite", "far", "far from origin", "decades", "dense half", "corner", "tiny", "cross bars"),
)


def boxes_of(case: Case, n: int = 0, crowds: bool = False) -> Array:
    """Make the boxes of a case: smaller, then fewer ones, where too many overlap and `crowds` are not asked for."""
    n = n or case.n
    density = case.density
    while True:
        boxes = from_centers(*spread(case, case.features.get("scene", "even"), n, density), case.dtype)
        try:
            if not crowds and "scene" in case.features:
                bp.pairs(boxes, max_pairs=CROWD * n, method="bvh")
            break
        except bp.errors.TooManyPairsError:
            density, n = (density / 16, n) if density > 0.01 else (density, n // 2)
    order = case.features.get("order")
    if order == "rows of cells":
        side = max(1, int(len(boxes) ** (1 / case.dim)))
        cells = np.floor(np.nan_to_num(np.clip(boxes.mean(axis=1), 0, 1), nan=0.5) * side)
        return boxes[np.lexsort(cells.T[::-1])]
    if order == "copy behind":
        return np.concatenate([boxes[: n // 2], boxes[: n // 2]])
    if order in ("ascending", "descending"):
        return boxes[np.argsort(boxes[:, 0, case.seed % case.dim])][:: 1 if order == "ascending" else -1]
    return boxes[case.rng("order").permutation(len(boxes))] if "scene" in case.features else boxes


def chosen(case: Case, name: str, boxes: Array) -> Array:
    """Return which rows a share of them is: one, few, half, or those in a corner."""
    share, n = case.features[name], len(boxes)
    if share == "corner":
        found: Array = boxes[:, 0, 0] <= np.quantile(boxes[:, 0, 0], 0.01)
        return found
    random = case.rng(name)
    count = {"none": 0, "one": 1, "few": max(1, n // 1000), "tenth": n // 10, "half": n // 2, "all": n}[share]
    marks = np.zeros(n, np.bool_)
    marks[random.permutation(n)[:count]] = True
    return marks


def layers_of(case: Case, boxes: Array) -> dict[str, Array]:
    """Return layers of rows: 2 for those that a mask of 2 finds."""
    return {"layer": np.where(chosen(case, "mask", boxes), 2, 1).astype(np.uint64)} if "mask" in case.features else {}


def keys_of(case: Case, n: int) -> dict[str, Array]:
    """Return keys of batches."""
    kinds = {"two": 2, "many": max(1, n // 16), "own": n}
    if "batch" not in case.features:
        return {}
    keys = (
        np.arange(n)
        if case.features["batch"] == "own"
        else case.rng("batch").integers(0, kinds[case.features["batch"]], n)
    )
    return {"batch": keys}


def pair_options(case: Case, boxes: Array) -> tuple[dict[str, Any], int]:
    """Return the options of a search for pairs, and how many numbers they hold."""
    n, off, options, given = len(boxes), case.features, dict[str, Any](), 0
    if "mask" in off:
        marks = np.where(chosen(case, "mask", boxes), 2, 1).astype(np.uint64)
        options |= {"layer": marks, "mask": np.full(n, 2, np.uint64)}
    if "group" in off:
        options["group"] = -case.rng("group").integers(1, 3 if off["group"] == "two" else n, n)
    if "static" in off:
        options["static"] = chosen(case, "static", boxes)
    if "ignore_pairs" in off:
        every = bp.pairs(boxes, max_pairs=10 * CROWD * n)
        every = case.rng("ignore_pairs").permutation(every)
        options["ignore_pairs"] = every[: {"few": 100, "half": len(every) // 2, "all": len(every)}[off["ignore_pairs"]]]
        given += len(options["ignore_pairs"])
    if "ignore_shared" in off:
        options["ignore_shared"] = case.rng("ignore_shared").integers(0, 1 << 30, (n, off["ignore_shared"]))
        given += options["ignore_shared"].size
    if "period" in off:
        options["period"] = [2.0 if off["period"] == "wide" else 1.0] * case.dim
    if "margin" in off:
        options["margin"] = (
            float(np.median(boxes[:, 1, 0] - boxes[:, 0, 0])) * {"tiny": 1e-6, "size": 1.0}[off["margin"]]
        )
    options |= {name: off[name] for name in ("touching", "sort", "chunk", "workers") if name in off}
    return options | keys_of(case, n), given
