"""Results of the narrow phase: named tuples of new arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from broadphase import _native
from broadphase.arguments import as_whole
from broadphase.boxes.checking import as_integers, first_bad_row
from broadphase.index.results import RayHitsAll
from broadphase.representations import shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Contacts", "Impacts", "PaddedContacts", "ShapeRayHits", "ShapeRayHitsAll"]


@shown
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

    def padded(self, width: int, count: int, *, batch: ArrayLike | None = None) -> PaddedContacts:
        """Give the contacts of each body, or of each batch, in one shape, whatever touches.

        Parameters
        ----------
        width : int
            Room for contacts of each; the first ones are kept if there are more.
        count : int
            Number of bodies, such as ``len(world)``, or of batches.
        batch : array_like of int, shape (n,), optional
            The batch of each row, from 0 to count - 1. Contacts are then listed by batch.

        Returns
        -------
        PaddedContacts
            New arrays. Without `batch`, each contact is listed for both of its bodies.

        Raises
        ------
        ValueError, TypeError
            A body or batch that is not below `count`, with its row; a row without a batch; numbers that are not whole.

        Examples
        --------
        >>> import broadphase as bp
        >>> found = bp.contacts(bp.Shapes(bp.Circle(1), [[0, 0], [1.5, 0], [9, 9]]))
        >>> table = found.padded(2, 3)
        >>> table.pairs[:, :, 1].tolist(), table.normals[:, 0].tolist(), table.counts.tolist()
        ([[1, -1], [0, -1], [-1, -1]], [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]], [1, 1, 0])
        """
        columns, groups = as_whole(width, "width", 0, 2**63 - 1), as_whole(count, "count", 0, 2**63 - 1)
        pairs = np.array(self.pairs, order="C")
        if batch is None:
            group_of = pairs.ravel().astype(np.int64)  # member k: side k % 2 of contact k // 2
            name = "pairs"
        else:
            keys = as_integers(batch, "batch")
            if keys.ndim != 1 or (len(pairs) and pairs.max() >= len(keys)):
                raise ValueError(f"batch has shape {keys.shape}, and there is a contact of row {pairs.max(initial=0)}")
            group_of = keys[pairs[:, 0]].astype(np.int64)
            name = "batch"
        bad = first_bad_row((group_of < 0) | (group_of >= groups))
        if bad is not None:
            row = bad if batch is not None else bad // 2
            raise ValueError(f"{name}: contact {row} is of {group_of[bad]}, and count is {groups}")
        found: Any = _native.padded_groups(group_of, groups, columns)
        members, counts = found
        is_there = members >= 0
        contact, side = (members[is_there], 0) if batch is not None else np.divmod(members[is_there], 2)
        tables = PaddedContacts(
            np.full((groups, columns, 2), -1, np.int32),
            np.zeros((groups, columns, self.normals.shape[1])),
            np.zeros((groups, columns)),
            counts,
        )
        is_turned, normals = np.reshape(side, (-1, 1)) == 1, self.normals[contact]
        tables.pairs[is_there] = np.where(is_turned, pairs[contact, ::-1], pairs[contact])
        tables.normals[is_there] = np.where(is_turned, 0.0 - normals, normals)
        tables.depths[is_there] = self.depths[contact]
        return tables


@shown
class PaddedContacts(NamedTuple):
    """Contacts of g bodies, or g batches, in tables of a fixed shape; see `Contacts.padded`.

    Attributes
    ----------
    pairs : ndarray, shape (g, width, 2), int32
        Row numbers; -1 behind the last contact. Of bodies: the body itself, and its partner.
    normals : ndarray, shape (g, width, d), float64
        Unit vectors, from the first of the two to the second; 0 behind the last.
    depths : ndarray, shape (g, width), float64
        Penetration depths; 0 behind the last.
    counts : ndarray, shape (g,), int32
        How many contacts each body or batch has; more than `width` if some are missing.
    """

    pairs: NDArray[np.int32]
    normals: Floats
    depths: Floats
    counts: NDArray[np.int32]


@shown
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


@shown
class ShapeRayHitsAll(RayHitsAll):
    """Every point at which each of q rays crosses the surface of its shape: `RayHitsAll`, with normals and faces.

    ``hits[i]`` has the rows and the distances of ray i; the others are ``normals[offsets[i]:offsets[i + 1]]`` and so
    on.

    Attributes
    ----------
    rows : ndarray, shape (m,), int32
        Row of the shape, of all rays, one ray after another.
    offsets : ndarray, shape (q + 1,), int64
        The hits of ray i are those from ``offsets[i]`` to before ``offsets[i + 1]``.
    distances : ndarray, shape (m,), float64
        Distances along the ray, ascending for each; of several faces at one distance, the lower one first.
    normals : ndarray, shape (m, d), float64
        Unit vectors out of the shape: against the ray where it enters, along it where it leaves. Of a face of a mesh,
        to the side from which its vertices go round counterclockwise.
    faces : ndarray, shape (m,), int32
        The face that is crossed; -1 for shapes that are no `Mesh`.
    """

    __slots__ = ("faces", "normals")

    def __init__(
        self,
        rows: NDArray[np.int32],
        offsets: NDArray[np.int64],
        distances: Floats,
        normals: Floats,
        faces: NDArray[np.int32],
    ) -> None:
        super().__init__(rows, offsets, distances)
        self.normals = normals
        self.faces = faces


@shown
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
