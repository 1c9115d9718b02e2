"""Spheres around the objects of an octree, besides their boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from broadphase.boxes.forms import as_corners
from broadphase.boxes.making import from_spheres

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SphereBounds", "boxes_with_spheres"]


class SphereBounds:
    """The sphere of each row; an infinite radius where there is none."""

    def __init__(self, dimension: int) -> None:
        self._centers = np.zeros((0, dimension))
        self._radii = np.zeros(0)

    def set(self, rows: NDArray[np.int32], bounds: tuple[NDArray[Any], NDArray[Any]] | None) -> None:
        """Give rows these spheres, or none."""
        most = int(rows.max(initial=-1)) + 1
        if most > len(self._radii):
            added = max(most, 2 * len(self._radii)) - len(self._radii)
            self._centers = np.concatenate([self._centers, np.zeros((added, self._centers.shape[1]))])
            self._radii = np.concatenate([self._radii, np.full(added, np.inf)])
        if bounds is None:
            self._radii[rows] = np.inf
        else:
            self._centers[rows], self._radii[rows] = bounds

    def touch(self, pairs: NDArray[np.int32], corners: NDArray[Any]) -> NDArray[np.bool_]:
        """Say of each pair whether its spheres touch; `corners`, by row, are taken where there is no sphere."""
        first, second = pairs[:, 0], pairs[:, 1]
        radius = self._radii[first], self._radii[second]
        squared = _squared(self._centers[first] - self._centers[second])
        with np.errstate(over="ignore"):
            both: NDArray[np.bool_] = squared <= (radius[0] + radius[1]) ** 2
        for of, other, r in ((first, second, radius[0]), (second, first, radius[1])):
            alone = np.isinf(self._radii[other]) & np.isfinite(r)
            box = corners[other[alone]].astype(np.float64)
            center = self._centers[of[alone]]
            gap = np.maximum(np.maximum(box[:, 0] - center, center - box[:, 1]), 0)
            both[alone] = _squared(gap) <= r[alone] ** 2
        return both


def boxes_with_spheres(
    boxes: Any, spheres: tuple[ArrayLike, ArrayLike] | None
) -> tuple[Any, tuple[NDArray[Any], NDArray[Any]] | None]:
    """Give the box of every object, where it has only a sphere that of the sphere; and the spheres, checked."""
    if spheres is None:
        if boxes is None:
            raise ValueError("give boxes, or spheres")
        return boxes, None
    if not isinstance(spheres, tuple) or len(spheres) != 2:
        raise ValueError("spheres must be a tuple (centers, radii)")
    centers, radii = np.asarray(spheres[0]), np.asarray(spheres[1])
    if centers.ndim != 2 or radii.ndim > 1 or (radii.ndim == 1 and len(radii) != len(centers)):
        raise ValueError(f"spheres have shapes {centers.shape} and {radii.shape}; (n, d) and (n,) are needed")
    if not np.isfinite(centers).all():
        raise ValueError(
            f"spheres: the centre of row {int((~np.isfinite(centers)).any(axis=1).argmax())} is not finite"
        )
    radii = np.broadcast_to(radii, (len(centers),))
    if not (radii >= 0).all():
        raise ValueError(f"spheres: the radius of row {int((~(radii >= 0)).argmax())} is not 0 or more")
    has_sphere = np.isfinite(radii)
    around = from_spheres(centers, np.where(has_sphere, radii, 0))
    if boxes is None:
        if not has_sphere.all():
            raise ValueError(f"row {int((~has_sphere).argmax())} has neither a box nor a finite radius")
        return around, (centers, radii)
    lower, upper = as_corners(boxes)
    if lower.shape != centers.shape:
        raise ValueError(f"boxes are {lower.shape[0]} of {lower.shape[1]} dimensions, spheres {centers.shape}")
    only = has_sphere & (lower == -np.inf).all(axis=1) & (upper == np.inf).all(axis=1)
    boxes = np.stack([lower, upper], axis=1)
    if only.any():
        # In the wider dtype: a box rounded to a narrower one might not contain its sphere.
        boxes = boxes.astype(np.result_type(boxes, around))
        boxes[only] = around[only]
    return boxes, (centers, radii)


def _squared(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    squares: NDArray[np.float64] = (vectors * vectors).sum(axis=1)
    return squares
