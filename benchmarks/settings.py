"""What the benchmarks of queries ask: boxes, queries, and how they move."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Boxes: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """What has changed since the frame before: these rows are now at `boxes`; and the whole scene."""

    rows: NDArray[np.int32]
    boxes: Boxes
    scene: Boxes


@dataclass(frozen=True, slots=True)
class Setting:
    """Boxes and queries.

    Attributes
    ----------
    boxes : ndarray, shape (n, 2, d), float32
        The first frame of a moving scene. Points are boxes of no size.
    queries : tuple of ndarray
        Depends on the task: boxes; centres and radii; points; origins and directions; planes.
    frames : tuple of Frame
        Of a moving scene; all others have the same queries in each round.
    """

    boxes: Boxes
    queries: tuple[NDArray[Any], ...] = ()
    frames: tuple[Frame, ...] = field(default=(), repr=False)

    @property
    def count(self) -> int:
        """Number of queries; for a moving scene, number of boxes that move in a frame."""
        return len(self.frames[0].rows) if self.frames else len(self.queries[0])

    def part(self, share: float) -> Setting:
        """Return the same boxes with fewer queries."""
        most = max(1, round(share * self.count))
        return self if share >= 1 else Setting(self.boxes, tuple(array[:most] for array in self.queries))
