"""What a method's core object must be able to do for its index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from broadphase import _native

__all__ = ["Arrangement"]


class Arrangement(Protocol):
    """The rows of an index in the order that its method needs, such as a tree; made by ``_make_core`` of the class.

    It holds row numbers and, at most, rounded boxes. The exact corners stay in the index's `BoxStore`: every call gets
    them as ``lower`` and ``upper``, of shape (slots, d), and reads only the rows that it was given. So an arrangement
    can always be built again, and a failed change loses nothing.

    `build`, `insert` and `update` also take the index's ``_core_options`` by name, such as ``workers``.

    A ``_native.BlockIndex`` answers all queries of `broadphase.index.BoxIndex`. For others, the index class answers
    those that the registry lists, by its own ``_candidates``.
    """

    @property
    def memory_bytes(self) -> int:
        """Bytes that it takes."""

    def build(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> None:
        """Arrange these rows, ascending, and forget all others."""

    def insert(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> None:
        """Add rows that it does not have."""

    def update(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> None:
        """Follow rows whose corners have changed."""

    def remove(self, rows: NDArray[np.int32]) -> None:
        """Forget rows."""

    def pairs(
        self,
        lower: NDArray[Any],
        upper: NDArray[Any],
        touching: bool,
        filter: _native.PairFilter | None,
        workers: int,
        sort: bool,
        limit: int,
    ) -> Any:
        """Find all pairs, (m, 2) int32, first < second; ``_native.TooManyPairs`` if there are more than `limit`."""

    def count(
        self, lower: NDArray[Any], upper: NDArray[Any], touching: bool, filter: _native.PairFilter | None, workers: int
    ) -> int:
        """Count all pairs."""

    def stats(self) -> dict[str, Any]:
        """Return numbers that describe it; see `broadphase.index.IndexStats`."""

    def outline(self) -> tuple[Any, Any, Any]:
        """Return lower corners, upper corners and levels of its cells or nodes."""

    def validate(self, lower: NDArray[Any], upper: NDArray[Any], rows: NDArray[np.int32]) -> str:
        """Describe what is wrong with it; an empty string if nothing is."""
