"""Results of the narrow phase: named tuples of new arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from broadphase.representations import html_of_result, short_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Contacts", "Impacts", "ShapeRayHits"]


class Contacts(NamedTuple):
    """Contacts of shapes that overlap.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        Row numbers.
    normals : ndarray, shape (m, d), float64
        Unit vectors, from the first shape to the second.
    depths : ndarray, shape (m,), float64
        Penetration depth: moved so far along the normal, the second only touches the first; at least 0.
    points : ndarray, shape (m, 2, 2) in the plane, (m, 4, 3) in space, float64
        Contact points midway between the two surfaces, the deepest first; NaN beyond `counts`.
    counts : ndarray, shape (m,), int8
        Number of points of each: 1 or 2 in the plane, 1 to 4 in space.

    Examples
    --------
    >>> import broadphase as bp
    >>> found = bp.contacts(bp.Shapes(bp.Circle(1), [[0, 0], [1.5, 0], [9, 9]]))
    >>> found.pairs.tolist(), found.normals.tolist(), found.depths.tolist()
    ([[0, 1]], [[1.0, 0.0]], [0.5])
    >>> found.points[0, : found.counts[0]].tolist()
    [[0.75, 0.0]]
    """

    pairs: NDArray[np.int32]
    normals: Floats
    depths: Floats
    points: Floats
    counts: NDArray[np.int8]

    def __repr__(self) -> str:
        return short_repr(self)

    def _repr_html_(self) -> str:
        return html_of_result(self)


class ShapeRayHits(NamedTuple):
    """Where each of q rays enters its shape: the fields of `RayHits`, and normals.

    Attributes
    ----------
    rows : ndarray, shape (q,), int32
        Row of the shape; -1 for a miss.
    distances : ndarray, shape (q,), float64
        Distance along the ray; 0 for a ray that begins inside; infinite for a miss.
    normals : ndarray, shape (q, d), float64
        Unit vectors out of the surface there; against the ray for one that begins inside; NaN for a miss.
    """

    rows: NDArray[np.int32]
    distances: Floats
    normals: Floats

    def __repr__(self) -> str:
        return short_repr(self)

    def _repr_html_(self) -> str:
        return html_of_result(self)


class Impacts(NamedTuple):
    """Times of impact of pairs of shapes.

    Attributes
    ----------
    pairs : ndarray, shape (m, 2), int32
        Row numbers.
    times : ndarray, shape (m,), float64
        Fraction of the motion, or of the step, after which they touch: 0 at its start, 1 at its end; infinite if they
        do not.
    normals : ndarray, shape (m, d), float64
        Unit vectors from the first shape to the second, at that time; NaN if they do not touch.
    """

    pairs: NDArray[np.int32]
    times: Floats
    normals: Floats

    def __repr__(self) -> str:
        return short_repr(self)

    def _repr_html_(self) -> str:
        return html_of_result(self)
